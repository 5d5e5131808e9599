/*
 * match.h - strips white space from any bytes, and matches patterns in the result.
 *
 * Terminals and logs wrap a message anywhere, colour it and indent it. The stripped text does
 * not depend on that: it has the other bytes, with the line of each, and the beginnings of
 * lines.
 */
#pragma once

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
void frag_stripped_end(struct frag_stripped_text *to);

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
 * GiB without saying so, %b of bytes, %z may be less than nothing, %e is a tensor's, of
 * "[64,3]andtypefloat". Numbers: %n, %N may be cut by the end of a line, %m is not 0, %d has a point
 * and is skipped. %w is a word and a number such as GPU0; %l letters. %oX is an X that may be
 * missing, %!X something else than X, %~ any punctuation. %? skips to the text that follows it, up to the
 * next %. Behind %[ nothing must match. At the start of a line, prefixes of logs and quotes are
 * skipped.
 */
bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number);

/* What a form is for. */
enum frag_form_role {
	FRAG_FORM_FAILS,        /* a message */
	FRAG_FORM_BEFORE,       /* a line whose values belong to a message of that program behind it */
	FRAG_FORM_AFTER,        /* to the message before it */
	FRAG_FORM_AROUND        /* to either */
};

/* A wording of a program: the words that are searched for, and the pattern behind them. */
struct frag_form {
	const char *words;      /* squeezed; rows of the same words are next to each other */
	const char *near;       /* what must be somewhere before them; NULL: nothing */
	const char *pattern;
	enum frag_wording wording;
	enum frag_form_role role;
	uint8_t said[6];        /* what each size is; those behind them are of no interest */
	uint8_t sizes;
	bool device;            /* a device such as CUDA0 is right before the words */
	bool starts;            /* except the total, what was said before is of an earlier time */
	bool adds;              /* several lines add up */
	bool list;              /* one size for each device */
	bool bare;              /* where no pattern matches, the words still say that memory ran out */
	/* instead of a pattern, of words that occur in every message of some wordings */
	bool (*read)(const struct frag_stripped_text *in, size_t at, struct frag_message *m,
		     size_t *end);
};

/* Those with a function first; ended by one without words. */
extern const struct frag_form frag_forms[];
#define FRAG_FORM_WORDS_MAX 128

/*
 * Reads the form whose words are at `at`: tries it, and the rows of the same words behind it. NULL:
 * none matches. Otherwise m has its values. *end is where to go on, if there is more to skip.
 */
const struct frag_form *frag_form_read(const struct frag_stripped_text *in, size_t at,
				       const struct frag_form *form, struct frag_message *m,
				       size_t *end);
