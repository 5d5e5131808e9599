/* csv_lines.h - lines of a CSV file through the window, and the fields between their commas. */
#pragma once

#include "fragsim/error.h"
#include "input/input.h"

struct frag_csv_file {
	struct frag_input in;
	size_t at;              /* the window is used up to here */
	size_t begin;           /* of the line given last, in the window */
	uint64_t line;          /* its number, from 1 */
};

/* The next line without its end, valid until the next call: 1; 0 at the end; or -FRAG_E... */
int frag_csv_next_line(struct frag_csv_file *f, struct frag_text *line, struct frag_error *err);

/* -FRAG_ETRACE with "PATH:LINE:COLUMN: ..."; at is within the line given last. */
int frag_csv_bad(struct frag_csv_file *f, const char *at, struct frag_error *err,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same: "WANTED is required, not FIELD". */
int frag_csv_wanted(struct frag_csv_file *f, struct frag_text field, const char *wanted,
		    struct frag_error *err);

/* Fields between commas; nothing is quoted. How many there are, also where that exceeds `max`. */
uint32_t frag_csv_split(struct frag_text line, struct frag_text *fields, uint32_t max);

/* For messages: at most 40 bytes of it, printable; buf. */
const char *frag_csv_show(struct frag_text field, char buf[48]);

/* Decimal digits with or without a sign, below 2^53. */
bool frag_csv_integer(struct frag_text field, int64_t *out);

/* Characters only: no control characters, and UTF-8 where it is not ASCII. */
bool frag_csv_is_text(struct frag_text field);
