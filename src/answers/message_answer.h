/* message_answer.h - the verdict on pasted out-of-memory messages. */
#pragma once

#include "answers/table.h"
#include "base/atomic_file.h"
#include "documents/fields.h"
#include "messages/message_log.h"

/* Prints what out-of-memory messages say, for people; without any, the memory values. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *paper, bool verbose, FILE *f);

/* As JSON: at most `top` of the messages, and the memory values. */
int frag_messages_write(const struct frag_message_groups *groups, uint32_t top,
			struct frag_outfile *out, struct frag_error *err);
extern const struct frag_document_type frag_message_document;
