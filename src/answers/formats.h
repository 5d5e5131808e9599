/* formats.h - the forms in which an answer is printed: a table for each kind of answer. */
#ifndef ANSWERS_FORMATS_H
#define ANSWERS_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "fragsim/error.h"

/* Where it goes: on a terminal words are wrapped, and may have colours. */
struct frag_text_style {
	bool colour;
	int columns;            /* of the terminal; 0: it is none */
};

struct frag_table_rows;

struct frag_format {
	const char *name;
	/* what: the kind of answer that the table is of. Failures of the stream stay in the
	 * stream. -FRAG_ENOMEM */
	int (*print)(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err);
	/* or else it is made from one of these: its document, or its rows */
	void (*document)(struct frag_node_ref root, const void *what);
	const char *format;     /* of the document */
	const struct frag_table_rows *rows;
};

/* What all answers have for programs and pages: the ends of their tables of formats. */
#define FRAG_ANSWER_FORMS(kind, put, its_rows) \
	FRAG_ANSWER_FORMS_APART(kind, put, its_rows, its_rows)
#define FRAG_ANSWER_FORMS_APART(kind, put, csv_rows, its_rows)            \
	&(const struct frag_format){ .name = "csv", .rows = (csv_rows) }, \
		&(const struct frag_format){ .name = "json",              \
					     .format = "fragsim-" kind,   \
					     .document = (put) },         \
		&(const struct frag_format){ .name = "markdown", .rows = (its_rows) }, NULL

/* Prints it, however it is made. -FRAG_ENOMEM */
int frag_format_print(const struct frag_format *format, const void *what,
		      const struct frag_text_style *paper, FILE *f, struct frag_error *err);

#endif
