/*
 * pytorch_oom_message.h - an out-of-memory in PyTorch's words.
 *
 * The sentence is a member of the result, as fragsim-result(5) promises it, so it is made here;
 * the text report quotes it, and adds words of its own.
 */
#ifndef DOCUMENTS_PYTORCH_OOM_MESSAGE_H
#define DOCUMENTS_PYTORCH_OOM_MESSAGE_H

#include "base/atomic_file.h"
#include "fragsim/metrics.h"
#include "messages/message.h"

#define FRAG_OOM_MESSAGE_ROOM 512

/*
 * The message of one of the run's out-of-memories, in buf; returns buf. Of a run that was
 * simulated here: one that was read from a file has not the figures.
 */
const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom,
			     char buf[FRAG_OOM_MESSAGE_ROOM]);

/*
 * The same as PyTorch says it from version 2.2 on, which is what is in people's logs. It is
 * no member of the result.
 */
const char *frag_oom_message_now(const struct frag_result *run, const struct frag_oom *oom,
				 char buf[FRAG_OOM_MESSAGE_ROOM]);

/* Out-of-memory messages as JSON, one by one: fragsim-explain(1). */
/*
 * There may be any number of them, so none is kept. count: how many came before; the first one
 * begins the document. Failures stay in the file.
 */
void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out);

/* Ends the document of one message or more. */
void frag_message_write_end(struct frag_outfile *out);

#endif
