/* csv_lines.h - lines of a text file through the window, and fields between commas. */
#ifndef INPUT_CSV_LINES_H
#define INPUT_CSV_LINES_H

#include "fragsim/error.h"
#include "input/input.h"

struct frag_rowfile {
	struct frag_input in;
	size_t at;              /* the window is used up to here */
	size_t begin;           /* of the line given last, in the window */
	uint64_t line;          /* its number, from 1 */
};

/* The next line without its end, valid until the next call: 1; 0 at the end. */
int frag_rowfile_next(struct frag_rowfile *f, struct frag_text *line, struct frag_error *err);

/* -FRAG_ETRACE with "PATH:LINE:COLUMN: ..."; at is within the line given last. */
int frag_rowfile_bad(struct frag_rowfile *f, const char *at, struct frag_error *err,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Splits a line at its commas; nothing is quoted. How many fields there are,
 * also where these are more than `max`.
 */
uint32_t frag_rowfile_split(struct frag_text line, struct frag_text *fields, uint32_t max);

/* Decimal digits with or without a sign, below 2^53. */
bool frag_rowfile_integer(struct frag_text field, int64_t *out);

/* Characters only: no control characters, and UTF-8 where it is not ASCII. */
bool frag_rowfile_is_text(struct frag_text field);

/* For messages: at most 40 bytes, printable. */
const char *frag_rowfile_show(struct frag_text field, char buf[48]);

#endif
