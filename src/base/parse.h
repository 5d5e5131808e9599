/* parse.h - sizes and numbers as people write them. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

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

static inline bool frag_text_equals(struct frag_text text, const char *word)
{
	return strlen(word) == text.length && memcmp(word, text.text, text.length) == 0;
}

/* Which of the words the text is; a NULL ends them, and its index is that of any other text. */
uint32_t frag_text_among(struct frag_text text, const char *const *words);

/*
 * Splits a line at its commas; nothing is quoted. How many fields there are,
 * also where these are more than `max`.
 */
uint32_t frag_text_split(struct frag_text line, struct frag_text *fields, uint32_t max);

#endif
