/*
 * hash.h - a map from 64-bit keys to 32-bit values, open addressing, seeded; random numbers.
 *
 * Keys may be equal in their 64 bits and yet different (hashes of strings): the
 * map then holds several entries of one key, distinguished by the caller through
 * frag_map_next().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bug.h"

struct frag_map_entry {
	uint64_t key;
	uint32_t value;
	uint32_t full;
};

struct frag_map {
	struct frag_map_entry *entries;         /* power of two, at most 3/4 full */
	uint32_t mask;
	uint32_t count;
	uint64_t seed;
};

#define FRAG_MAP_NONE UINT32_MAX

/* A seed that an input's author cannot know. */
uint64_t frag_hash_seed(void);

/* 64 bits of a string, for a table: who does not know the seed cannot make two collide. */
uint64_t frag_hash_text(const char *text, size_t length, uint64_t seed);
/* The same with a fixed salt: equal on every machine and in every release, but open to
 * collisions that an input's author chooses. */
uint64_t frag_hash_content(const char *text, size_t length, uint64_t salt);

bool frag_map_init(struct frag_map *map, uint64_t seed);
void frag_map_fini(struct frag_map *map);

/* Adds an entry, also where the key is there already. False: out of memory. */
bool frag_map_add(struct frag_map *map, uint64_t key, uint32_t value);
/* Makes sure that n more can be added without memory. False: it is short. */
bool frag_map_reserve(struct frag_map *map, uint32_t n);
/* Removes the entry of this key and value, which must be there. */
void frag_map_remove(struct frag_map *map, uint64_t key, uint32_t value);

static inline uint64_t frag_hash_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

/* A factor that only the seed's owner knows. */
static inline uint64_t frag_hash_factor(uint64_t seed)
{
	return (seed ^ UINT64_C(0xa0761d6478bd642f)) * UINT64_C(0xe7037ed1a0b428db) | 1;
}

/* Both halves of the product: each bit of a moves many of the result, which ones b decides. */
static inline uint64_t frag_hash_fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	const wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t frag_hash_key(uint64_t key, uint64_t seed)
{
	return frag_hash_fold(key ^ seed, frag_hash_factor(seed));
}

/* The place where the search for a key begins. */
static inline uint32_t frag_map_home(const struct frag_map *map, uint64_t key)
{
	return (uint32_t)frag_hash_key(key, map->seed) & map->mask;
}

/*
 * The value of the first entry of the key at or after *at, which starts as
 * frag_map_home() and moves after it; FRAG_MAP_NONE where there is no more.
 */
static inline uint32_t frag_map_next(const struct frag_map *map, uint64_t key, uint32_t *at)
{
	uint32_t i = *at;

	while (map->entries[i].full) {
		if (map->entries[i].key == key) {
			*at = (i + 1) & map->mask;
			return map->entries[i].value;
		}
		i = (i + 1) & map->mask;
	}
	*at = i;
	return FRAG_MAP_NONE;
}

/* For keys that are there at most once. */
static inline uint32_t frag_map_get(const struct frag_map *map, uint64_t key)
{
	uint32_t at = frag_map_home(map, key);

	return frag_map_next(map, key, &at);
}

/*
 * Seeded random numbers, the same on every machine.
 *
 * The generator is SplitMix64 (Steele, Lea, Flood 2014): a counter that steps by
 * 0x9e3779b97f4a7c15, and a mix of it. All seeds are equally good. Results are computed in
 * integer arithmetic alone.
 */
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
static inline uint64_t frag_rng_below(struct frag_rng *r, uint64_t n)
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
