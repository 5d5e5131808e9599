/*
 * rng.h - seeded random numbers, the same on every machine.
 *
 * The generator is SplitMix64 (Steele, Lea, Flood 2014): a counter that steps by
 * 0x9e3779b97f4a7c15, and a mix of it. All seeds are equally good. Results are computed in
 * integer arithmetic alone.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct frag_rng {
	uint64_t state;         /* the seed, to begin with */
};

static inline uint64_t frag_rng_next(struct frag_rng *r)
{
	uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* From 0 to n - 1, each as likely; n > 0. */
uint64_t frag_rng_below(struct frag_rng *r, uint64_t n);

/* From least to most, both included, each as likely. */
uint64_t frag_rng_between(struct frag_rng *r, uint64_t min, uint64_t max);

/*
 * From min to max, with small and large magnitudes as likely: chooses a power of two among
 * those in the range, then a number from there up to the next power, until the number is in the
 * range. If the range contains no full interval between two powers, each number is as likely. 0
 * < min <= max < 2^63.
 */
uint64_t frag_rng_magnitude(struct frag_rng *r, uint64_t min, uint64_t max);

/* True in `percent` of a hundred cases. */
static inline bool frag_rng_percent(struct frag_rng *r, uint64_t percent)
{
	return percent && frag_rng_below(r, 100) < percent;
}

#endif
