/* fit_cards.h - which of the cards that are known would do. */
#ifndef REPORT_FIT_CARDS_H
#define REPORT_FIT_CARDS_H

#include "documents/documents.h"
#include "report/formats.h"

/* Of the setting that needs the smallest device, over all traces and devices; a row or two. */
void frag_fit_print_cards(const struct frag_fit_answer *answer, const struct frag_text_style *paper,
			  FILE *f);

#endif
