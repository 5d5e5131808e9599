/*
 * pytorch_oom_message.h - formats an OOM like PyTorch.
 *
 * The message is a member of the result, see fragsim-result(5), so this module formats it; the text
 * report quotes it.
 */
#ifndef DOCUMENTS_PYTORCH_OOM_MESSAGE_H
#define DOCUMENTS_PYTORCH_OOM_MESSAGE_H

#include "base/atomic_file.h"
#include "fragsim/metrics.h"
#include "messages/message.h"

#define FRAG_OOM_MESSAGE_ROOM 512

/*
 * Formats the message of one OOM of the run in buf; returns buf. The run must be simulated in
 * this process: a run that was read from a file lacks the sizes.
 */
const char *frag_oom_message(const struct frag_result *run, const struct frag_oom *oom,
			     char buf[FRAG_OOM_MESSAGE_ROOM]);

/*
 * The same as PyTorch says it from version 2.2 on, which is what is in people's logs. It is
 * no member of the result.
 */
const char *frag_oom_message_now(const struct frag_result *run, const struct frag_oom *oom,
				 char buf[FRAG_OOM_MESSAGE_ROOM]);

/* OOM messages as JSON, a record for each message: see fragsim-explain(1). */
/*
 * There may be any number of them, so none is kept. count: how many came before; the first one
 * begins the document. Failures stay in the file.
 */
void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out);

/* Ends the document of one message or more. */
void frag_message_write_end(struct frag_outfile *out);

#endif
