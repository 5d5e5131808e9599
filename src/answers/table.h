/* table.h - an answer in each of its formats: a document, rows as CSV or Markdown, or text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "fragsim/error.h"
#include "answers/text_style.h"
#include "documents/fields.h"

/* Text of a Markdown cell: characters that are markup are escaped. */
void frag_markdown_text(FILE *f, const char *text);

struct frag_column;
struct frag_table;

struct frag_format {
	const char *name;
	/* what: the kind of answer that the table is of. Failures of the stream stay in the
	 * stream. -FRAG_ENOMEM */
	int (*print)(const void *what, const struct frag_text_style *style, FILE *f,
		     struct frag_error *err);
	/* the same, where nothing can fail */
	void (*text)(const void *what, const struct frag_text_style *to);
	/* or else it is made from one of these: its document, or its rows */
	void (*document)(struct frag_node_ref root, const void *what);
	const char *format;     /* of the document */
	const struct frag_column *columns;      /* of the rows, ended by one without names */
	void (*fill)(struct frag_table *table, const void *what);
	const struct frag_document_type *declared;   /* the same by rows: the document, */
	const struct frag_field *list;            /* and the list of it whose elements are the rows */
};

/* An answer that is declared: its document, and the list of it whose elements are the rows. */
#define FRAG_LIST_FORM(as, its) &(const struct frag_format){ .name = (as), .list = (its) }
#define FRAG_DOCUMENT_FORM(doc) &(const struct frag_format){ .name = "json", .declared = &(doc) }
#define FRAG_DECLARED_FORMS(doc, its) \
	FRAG_LIST_FORM("csv", its), FRAG_DOCUMENT_FORM(doc), FRAG_LIST_FORM("markdown", its)

#define FRAG_TEXT_FORM(as, print) &(const struct frag_format){ .name = (as), .text = (print) }
#define FRAG_ROWS_FORM(as, of, put) \
	&(const struct frag_format){ .name = (as), .columns = (of), .fill = (put) }
#define FRAG_JSON_FORM(kind, put) \
	&(const struct frag_format){ .name = "json", .format = "fragsim-" kind, .document = (put) }

/* What most answers have for programs and pages: the end of their table of formats. */
#define FRAG_ANSWER_FORMS(kind, put, of, rows)                             \
	FRAG_ROWS_FORM("csv", of, rows), FRAG_JSON_FORM(kind, put),        \
		FRAG_ROWS_FORM("markdown", of, rows), NULL

/* Prints it to f, however it is made; the stream of the style is not used. -FRAG_ENOMEM */
int frag_format_print(const struct frag_format *format, const void *what,
		      const struct frag_text_style *style, FILE *f, struct frag_error *err);

enum frag_cell {
	FRAG_CELL_TEXT,
	FRAG_CELL_WORD,         /* text that needs no escape */
	FRAG_CELL_COUNT,
	FRAG_CELL_CAPACITY,     /* bytes; for people exact: 2692 MiB */
	FRAG_CELL_SIZE,         /* bytes; for people rounded: 2.63 GiB */
	FRAG_CELL_PERCENT,
};

struct frag_column {
	const char *csv, *head;         /* its names in CSV and in Markdown; NULL: not there */
	enum frag_cell kind;
};

struct frag_table {
	const struct frag_column *columns, *at;
	FILE *f;
	bool csv;
};

/* The next cell of the row; the last one ends it. NULL, or not there: "-", and nothing in CSV. */
void frag_cell_text(struct frag_table *t, const char *text);
void frag_cell(struct frag_table *t, bool there, uint64_t value);
void frag_cell_percent(struct frag_table *t, bool there, double value);
/* UINT64_MAX: not there. */
void frag_cell_bytes(struct frag_table *t, uint64_t bytes);
/* A cell without a value that is empty in every format. */
void frag_cell_none(struct frag_table *t);

/* Its name, and then its rows. */
void frag_table_begin(struct frag_table *t, const struct frag_column *columns, bool csv, FILE *f);
