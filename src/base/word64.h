/* word64.h - four and eight bytes at once, the first of them the lowest. */
#pragma once

#include <stdint.h>
#include <string.h>

#define FRAG_WORD_ONES UINT64_C(0x0101010101010101)     /* times a byte: eight of it */

static inline uint64_t frag_word_at(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static inline uint32_t frag_load32(const void *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/*
 * Counts the decimal digits at the start of the eight bytes, and computes their value. Digits
 * are recognised and joined in pairs, without a branch for each, because a processor cannot
 * predict the lengths of a trace's numbers.
 */
static inline uint32_t frag_word_digits(uint64_t w, uint64_t *value)
{
	const uint64_t digits = w ^ FRAG_WORD_ONES * '0';       /* 0 to 9 each */
	const uint64_t others = (digits | (digits + FRAG_WORD_ONES * 0x76)) & FRAG_WORD_ONES * 0x80;
	const uint32_t n = others ? (uint32_t)__builtin_ctzll(others) / 8 : 8;
	uint64_t x;

	if (n == 0) {
		*value = 0;
		return 0;
	}
	x = digits << (64 - 8 * n);     /* zeros come before them */
	/* each times ten and the next one, in the upper byte of the two; likewise pairs of these */
	x = x * (10 << 8 | 1) >> 8 & UINT64_C(0x00ff00ff00ff00ff);
	x = x * (100 << 16 | 1) >> 16 & UINT64_C(0x0000ffff0000ffff);
	*value = x * (UINT64_C(10000) << 32 | 1) >> 32;
	return n;
}
