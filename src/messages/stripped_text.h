/*
 * stripped_text.h - any bytes without white space, colours and markup.
 *
 * Terminals and logs wrap a message anywhere, colour it and indent it. The stripped text does
 * not depend on that: it has the other bytes, with the line of each, and the beginnings of
 * lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frag_stripped_text {
	char *text;             /* owned by the caller, as the next two; each has this many bytes */
	uint32_t *line;         /* twice that a byte is from, plus 1 behind white space, modulo 2^32 */
	bool *begins;           /* a line of the text, or of a string within it that is escaped */
	size_t capacity, used;
	uint64_t lines;         /* line ends so far */
	bool fresh;             /* the next byte begins a line */
	bool blank;             /* white space is before it */
	uint8_t state;          /* of an escape sequence, or of escaped text */
	uint8_t matched;        /* of what is escaped */
	const char *escaped;
	char held[12];          /* of what may be a tag or an entity of HTML */
	uint8_t held_count;
	uint16_t passed;        /* bytes of a tag so far */
};

/* Consumes bytes until the arrays are full, and returns how many. */
size_t frag_stripped_text(struct frag_stripped_text *to, const char *bytes, size_t n);

/* The input ends: bytes that were held back are text. */
void frag_stripped_end(struct frag_stripped_text *to);
