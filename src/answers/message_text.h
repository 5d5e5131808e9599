/* message_text.h - what out-of-memory messages come to, for people. */
#ifndef ANSWERS_MESSAGE_TEXT_H
#define ANSWERS_MESSAGE_TEXT_H

#include "messages/groups.h"
#include "answers/formats.h"

/* There is one at least. */
void frag_report_messages(const struct frag_message_groups *groups,
			  const struct frag_text_style *paper, bool verbose, FILE *f);

#endif
