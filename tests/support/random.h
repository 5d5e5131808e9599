/* random.h - seeded random numbers for tests: the same on every machine. */
#pragma once

#include <stdint.h>

/* SplitMix64: any state will do as a seed. */
static inline uint64_t random_u64(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* From 0 to n - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_u64(state) % n;
}

/* A size with a random number of bits: all magnitudes are equally likely. */
static inline uint64_t random_size(uint64_t *state, uint32_t bits)
{
	uint32_t keep = 1 + (uint32_t)random_below(state, bits);

	return 1 + random_u64(state) % (UINT64_C(1) << keep);
}
