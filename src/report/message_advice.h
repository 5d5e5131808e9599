/* message_advice.h - what to do about an out-of-memory message. */
#ifndef REPORT_MESSAGE_ADVICE_H
#define REPORT_MESSAGE_ADVICE_H

#include "messages/message.h"
#include "report/formats.h"

/* What to do, with the line to paste where there is one. */
void frag_print_message_advice(const struct frag_message *m, const struct frag_text_style *paper,
			       FILE *f);

#endif
