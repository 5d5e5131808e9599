/* parse.h - sizes and numbers as people write them. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAG_SIZE_LIMIT (UINT64_C(1) << 53)     /* sizes, ids, ordinals are below */

/*
 * Bytes below 2^53: decimal digits, then K, M, G or T with or without iB
 * (powers of 1024). With `fraction` also 4.5GiB, where it comes to whole bytes.
 */
bool frag_parse_size(const char *text, size_t length, bool fraction, uint64_t *out);

/*
 * What to write in place of a text that is no such size, where that can be told:
 * "use 80GiB, or bytes" of 80GB; "" where it cannot. It is buf.
 */
#define FRAG_ADVICE_ROOM 128
const char *frag_size_advice(char buf[FRAG_ADVICE_ROOM], const char *text, size_t length);

/* Decimal digits only, the value below 2^53. */
bool frag_parse_count(const char *text, size_t length, uint64_t *out);

#endif
