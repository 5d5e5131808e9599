/* table.h - an answer in each of its formats: a document, rows as CSV or Markdown, or text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fragsim/error.h"
#include "answers/text_style.h"
#include "documents/fields.h"

/* Text of a Markdown cell: characters that are markup are escaped. */
void frag_markdown_text(FILE *f, const char *text);

/* The same in buf, cut where it is full; returns buf. */
const char *frag_markdown_of(char *buf, size_t size, const char *text);

/* How rows are printed. */
enum frag_table_as { FRAG_NO_TABLE, FRAG_TABLE_CSV, FRAG_TABLE_MARKDOWN };

struct frag_format {
	const char *name;
	/* of `list`; a text apart from the rows that is Markdown has it too, as --top cuts its tables */
	enum frag_table_as table;
	/* what: the kind of answer that the format is of. Failures of the stream stay in the
	 * stream. -FRAG_ENOMEM */
	int (*print)(const void *what, const struct frag_text_style *style, FILE *f,
		     struct frag_error *err);
	/* the same, where nothing can fail */
	void (*text)(const void *what, const struct frag_text_style *to);
	/* or else it is made from one of these: its document, or a list of it whose elements are the rows */
	const struct frag_document_type *document;
	const struct frag_field *list;
};

#define FRAG_TEXT_FORM(put) &(const struct frag_format){ .name = "text", .text = (put) }
#define FRAG_CSV_FORM(its) \
	&(const struct frag_format){ .name = "csv", .table = FRAG_TABLE_CSV, .list = (its) }
#define FRAG_DOCUMENT_FORM(doc) &(const struct frag_format){ .name = "json", .document = &(doc) }
#define FRAG_MARKDOWN_FORM(its) \
	&(const struct frag_format){ .name = "markdown", .table = FRAG_TABLE_MARKDOWN, .list = (its) }
#define FRAG_MARKDOWN_TEXT_FORM(put) \
	&(const struct frag_format){ .name = "markdown", .table = FRAG_TABLE_MARKDOWN, .text = (put) }

/* What most answers have for programs and pages: the end of their table of formats. */
#define FRAG_ANSWER_FORMS(doc, its) \
	FRAG_CSV_FORM(its), FRAG_DOCUMENT_FORM(doc), FRAG_MARKDOWN_FORM(its), NULL

/* Prints it to f, however it is made; the stream of the style is not used. -FRAG_ENOMEM */
int frag_format_print(const struct frag_format *format, const void *what,
		      const struct frag_text_style *style, FILE *f, struct frag_error *err);

/* The rows of a list: their headings, then a line for each element. */
void frag_table_print(const struct frag_field *list, enum frag_table_as as, const void *what, FILE *f);
