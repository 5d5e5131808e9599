/*
 * match.h - strips white space from any bytes, and matches patterns in the result.
 *
 * Terminals and logs wrap a message anywhere, colour it and indent it. The stripped text does
 * not depend on that: it has the other bytes, with the line of each, and the beginnings of
 * lines.
 */
#ifndef MESSAGES_MATCH_H
#define MESSAGES_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages/message.h"

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

/* A place in a message that begins on some line. */
struct frag_cursor {
	const struct frag_stripped_text *in;
	size_t at;
	size_t head, body;      /* where that line begins, and where the message does */
	size_t passed;          /* the beginning of a line that was passed over */
};

struct frag_cursor frag_cursor_at(const struct frag_stripped_text *in, size_t at);

/*
 * Matches a pattern, and moves the cursor behind it. The pattern has no white space. %s is a
 * size with its unit, stored in *size; %n a number, %N one that the end of a line may cut; %w a
 * word and a number such as GPU0; %l letters. At the start of a line, prefixes of logs and
 * quotes are skipped.
 */
bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number);

/* Phrases that occur in every message of some wordings, and the function that reads around
 * them. */
struct frag_pattern_anchor {
	const char *words;      /* squeezed */
	unsigned rare;          /* the byte of them that is searched for */
	/* The words are at `at`. *end is where to go on. True: m is a message. */
	bool (*read)(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end);
};

/* Ended by one without words. */
extern const struct frag_pattern_anchor frag_cues[];
#define FRAG_CUES_MAX 16

#endif
