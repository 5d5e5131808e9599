/* match.h - matches patterns in a text without white space. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages/message.h"
#include "messages/stripped_text.h"

/* A place in a message that begins on some line. */
struct frag_cursor {
	const struct frag_stripped_text *in;
	size_t at;
	size_t head, body;      /* where that line begins, and where the message does */
	size_t passed;          /* the beginning of a line that was passed over */
};

struct frag_cursor frag_cursor_at(const struct frag_stripped_text *in, size_t at);

#define FRAG_MATCH_SIZES 8      /* most sizes of one pattern */

/*
 * Matches a pattern, and moves the cursor behind it. The pattern has no white space. Sizes are
 * stored in *size, one behind the other: %s has its unit, %t is one that was rounded down, %h is of
 * GiB without saying so, %M of MiB, %b of bytes, %z may be less than nothing, %e is a tensor's, of
 * "[64,3]andtypefloat". Numbers: %n, %N may be cut by the end of a line, %m is not 0, %d has a point
 * and is skipped, %p is a percentage in hundredths. %w is a word and a number such as GPU0; %l letters. %oX is an X that may be
 * missing, %!X something else than X, %~ any punctuation. %? skips to the text that follows it, up to the
 * next %. Behind %[ nothing must match. At the start of a line, prefixes of logs and quotes are
 * skipped.
 */
bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number);

/* The text of the line that has the byte at `at`, with a blank for white space. Returns its length. */
size_t frag_line_text(const struct frag_stripped_text *in, size_t at, char *to, size_t room);

/* Where the line behind that of `at` begins; in->used: nowhere. */
size_t frag_line_behind(const struct frag_stripped_text *in, size_t at);

/* A part of a message: the value that it has; or none, FRAG_SAID_ALL. */
struct frag_piece {
	const char *pattern;
	enum frag_said said;
};

/* The pieces that follow, in any order, ended by one without a pattern; how many they are. */
int frag_read_pieces(struct frag_cursor *c, const struct frag_piece *pieces, struct frag_message *m);

/* The first of the words from `at` on, before `limit`; SIZE_MAX: nowhere. */
size_t frag_text_behind(const struct frag_stripped_text *in, size_t at, size_t limit, const char *words);

/* Do the words end at `at`? Where are they in the 300 bytes before it; SIZE_MAX: nowhere. */
bool frag_text_ends_with(const struct frag_stripped_text *in, size_t at, const char *words);
size_t frag_text_before(const struct frag_stripped_text *in, size_t at, const char *words);
