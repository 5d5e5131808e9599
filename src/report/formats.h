/* formats.h - the forms in which an answer is printed: a table for each kind of answer. */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

#include "fragsim/error.h"

/* Where it goes: on a terminal words are wrapped, and may have colours. */
struct frag_text_style {
	bool colour;
	int columns;            /* of the terminal; 0: it is none */
};

struct frag_format {
	const char *name;
	/* what: the kind of answer that the table is of. Failures of the stream stay in the
	 * stream. -FRAG_ENOMEM */
	int (*print)(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err);
};

#endif
