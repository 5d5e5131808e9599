/*
 * curve.h - a size as a function of a number that a program was recorded at.
 *
 * Two recordings give a line, three a line or a parabola, exactly. What a program requests is
 * made of products of such numbers, so a size that falls, or grows more slowly than a line, is
 * not explained, and neither is one that would be no whole number of bytes.
 */
#ifndef TRANSFORM_CURVE_H
#define TRANSFORM_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#define FRAG_RECORDINGS_MAX 3
/* Of a size, a number and the square of one there are sums and differences in 128 bits. */
#define FRAG_NUMBER_MAX ((UINT32_C(1) << 24) - 1)

/* The numbers, rising: 2 or 3. */
struct frag_numbers {
	uint32_t at[FRAG_RECORDINGS_MAX];
	uint32_t count;
};

enum frag_growth { FRAG_CONSTANT, FRAG_LINEAR, FRAG_QUADRATIC, FRAG_UNEXPLAINED };

/* How a size with these values at the numbers grows; each is below FRAG_SIZE_LIMIT. */
enum frag_growth frag_growth_of(const struct frag_numbers *n, const uint64_t *sizes);

/*
 * The size at another number, FRAG_SIZE_LIMIT where it would not be below that. True: it is
 * explained. Where it is not, a line or parabola is rounded up and ends at 0; a size whose growth
 * is not explained follows the straight line through the two nearest recordings, and beyond the
 * last of them does not fall. So from the last number on no size falls, explained or not.
 */
bool frag_size_at(const struct frag_numbers *n, const uint64_t *sizes, uint32_t x,
		  uint64_t *size);

#endif
