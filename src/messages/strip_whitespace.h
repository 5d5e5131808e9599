/*
 * strip_whitespace.h - any bytes as text without white space.
 *
 * Terminals and logs wrap a message where they like, colour it and indent it. What is left here
 * does not depend on that: the other bytes, with the line that each is from, and whether a line
 * begins there.
 */
#ifndef MESSAGES_STRIP_WHITESPACE_H
#define MESSAGES_STRIP_WHITESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frag_stripped_text {
	char *text;             /* owned by the caller, as the next two; each has this many bytes */
	uint32_t *line;         /* that a byte is from, modulo 2^32 */
	bool *begins;           /* a line of the text, or of a string within it that is escaped */
	size_t capacity, used;
	uint64_t lines;         /* line ends so far */
	bool fresh;             /* the next byte begins a line */
	uint8_t state;          /* of an escape sequence, or of escaped text */
	uint8_t matched;        /* of what is escaped */
	const char *escaped;
};

/* Consumes bytes until the arrays are full, and returns how many. */
size_t frag_stripped_text(struct frag_stripped_text *to, const char *bytes, size_t n);

/* The input ends: bytes that were held back are text. */
void frag_squeeze_end(struct frag_stripped_text *to);

#endif
