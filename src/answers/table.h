/*
 * table.h - the rows of an answer, said once: as CSV, as Markdown, and for people.
 *
 * An answer has columns and a function that fills them, row by row, cell by cell, in their
 * order. Each form takes the columns that it has a name for, and words the cells itself.
 */
#ifndef ANSWERS_TABLE_H
#define ANSWERS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "answers/formats.h"

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

struct frag_table_rows {
	const struct frag_column *columns;      /* ended by one without names */
	void (*fill)(struct frag_table *table, const void *what);
};

/* The next cell of the row; the last one ends it. NULL, or not there: "-", and nothing in CSV. */
void frag_cell_text(struct frag_table *t, const char *text);
void frag_cell(struct frag_table *t, bool there, uint64_t value);
void frag_cell_percent(struct frag_table *t, bool there, double value);
/* UINT64_MAX: not there. */
void frag_cell_bytes(struct frag_table *t, uint64_t bytes);
/* What other columns of the row are beside: nothing at all. */
void frag_cell_none(struct frag_table *t);

/* Its name, and then its rows. */
void frag_table_begin(struct frag_table *t, const struct frag_column *columns, bool csv, FILE *f);

#endif
