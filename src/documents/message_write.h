/* message_write.h - out-of-memory messages as JSON, one by one: fragsim-explain(1). */
#ifndef DOCUMENTS_MESSAGE_WRITE_H
#define DOCUMENTS_MESSAGE_WRITE_H

#include "base/atomic_file.h"
#include "messages/message.h"

/*
 * There may be any number of them, so none is kept. count: how many came before; the first one
 * begins the document. Failures stay in the file.
 */
void frag_message_write(const struct frag_message *m, uint64_t count, struct frag_outfile *out);

/* Ends the document of one message or more. */
void frag_message_write_end(struct frag_outfile *out);

#endif
