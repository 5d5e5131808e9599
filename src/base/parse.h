/* parse.h - sizes, numbers, words and names as people write them; suggestions; old names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fragsim/error.h"

#define FRAG_SIZE_LIMIT (UINT64_C(1) << 53)     /* sizes, ids, ordinals are below */

/*
 * Parses bytes below 2^53: decimal digits, then K, M, G or T with or without iB (powers of
 * 1024). With `fraction` also 4.5GiB, where the product is a whole number of bytes.
 */
bool frag_parse_size(const char *text, size_t length, bool fraction, uint64_t *out);

/*
 * Suggests the correct spelling of a text that is not a valid size: "use 80GiB, or bytes" for 80GB,
 * or "" where none can be derived. Returns buf.
 */
#define FRAG_ADVICE_ROOM 128
const char *frag_size_advice(char buf[FRAG_ADVICE_ROOM], const char *text, size_t length);

/* Decimal digits only, the value below 2^53. */
bool frag_parse_count(const char *text, size_t length, uint64_t *out);

/* In ASCII, whatever the locale. */
static inline bool frag_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool frag_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool frag_text_equals(struct frag_text text, const char *word)
{
	return strlen(word) == text.length && memcmp(word, text.text, text.length) == 0;
}

/* Which of the words the text is; a NULL ends them, and its index is that of any other text. */
uint32_t frag_text_among(struct frag_text text, const char *const *words);

/* Where the part first begins in the text; NULL: nowhere. */
const char *frag_text_find(struct frag_text text, const char *part);

/* How much of the text fits into `max` bytes, without a part of a character at the end. */
size_t frag_text_cut(const char *text, size_t length, size_t max);

/* In the pattern * is any characters, or none, and ? one byte; all else is itself. */
bool frag_glob_fits(const char *pattern, const char *text, size_t length);

struct frag_name_list {
	char text[256];         /* longer text is cut */
	size_t used;
	const char *last;       /* borrowed; added with its joint by the next call */
};

void frag_listed_add(struct frag_name_list *l, const char *name);

/* All that was added; before the last one of several is `joint`, as " or ". */
const char *frag_listed_text(struct frag_name_list *l, const char *joint);

#define FRAG_HINT_ROOM 96

struct frag_suggestion {
	const char *word;       /* as it was written; not ended by a NUL */
	size_t length;
	const char *best;       /* of the words offered; NULL: none is near enough */
	uint32_t distance;      /* its distance */
};

/*
 * Counts the letters to insert, delete, replace or swap with the next one to turn one word into
 * the other. Ignores case and the difference of - and _. Uses the first 63 letters of a longer
 * word.
 */
uint32_t frag_distance(const char *a, size_t a_length, const char *b, size_t b_length);

struct frag_suggestion frag_near_to(const char *word, size_t length);

/*
 * Near enough is a distance of a third of the word's letters, 3 at most, or a
 * word of 3 letters and more that the name only continues. Of two equally near
 * ones the first remains. The name is kept, not copied.
 */
void frag_near_offer(struct frag_suggestion *near, const char *name);

/* " did you mean BEFOREname?", or "" where nothing was near enough. Returns buf. */
const char *frag_near_hint(const struct frag_suggestion *near, const char *before,
			   char buf[FRAG_HINT_ROOM]);

/* Returns the name that version 1 had for a name of version 2, or NULL if the name is the same. */
const char *frag_old_name(const char *name);

/* Writes `path` with each part between dots ("peak.non_releasable") translated to version 2.
 * Cuts the result to fit. */
void frag_new_path(const char *path, char *out, size_t room);

/* Are these characters just that word? */
static inline bool frag_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}
