/* rng.c - seeded random numbers, the same on every machine. */
#include "base/rng.h"

#include "base/bug.h"

uint64_t frag_rng_below(struct frag_rng *r, uint64_t n)
{
	uint64_t short_of = (UINT64_C(0) - n) % n;      /* 2^64 mod n */
	uint64_t x;

	FRAG_ASSERT(n > 0);
	/* the first 2^64 mod n values would make some results likelier than others */
	do
		x = frag_rng_next(r);
	while (x < short_of);
	return x % n;
}

uint64_t frag_rng_between(struct frag_rng *r, uint64_t min, uint64_t max)
{
	FRAG_ASSERT(min <= max);
	return min + frag_rng_below(r, max - min + 1);
}

static uint32_t rng_log2_of(uint64_t x)
{
	uint32_t log = 0;

	while (x >>= 1)
		log++;
	return log;
}

uint64_t frag_rng_magnitude(struct frag_rng *r, uint64_t min, uint64_t max)
{
	uint64_t low = rng_log2_of(min), high = rng_log2_of(max), x;
	uint64_t whole = UINT64_C(1) << low;    /* the first power that is not below least */

	FRAG_ASSERT(0 < min && min <= max && max >> 63 == 0);
	whole = whole < min ? 2 * whole : whole;
	if (max < 2 * whole - 1)
		return frag_rng_between(r, min, max);
	do {
		uint64_t power = UINT64_C(1) << frag_rng_between(r, low, high);

		x = power + frag_rng_below(r, power);
	} while (x < min || x > max);
	return x;
}
