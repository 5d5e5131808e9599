/* word.h - eight bytes at a time, the first of them the lowest. */
#ifndef BASE_WORD_H
#define BASE_WORD_H

#include <stdint.h>
#include <string.h>

#define FRAG_WORD_ONES UINT64_C(0x0101010101010101)     /* times a byte: eight of it */

static inline uint64_t frag_word_at(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

#endif
