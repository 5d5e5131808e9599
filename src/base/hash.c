/* hash.c - a map from 64-bit keys to 32-bit values, open addressing, seeded; random numbers. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bug.h"

#define FIRST_SIZE 64

uint64_t frag_hash_seed(void)
{
	uint64_t seed = 0;

	if (getentropy(&seed, sizeof(seed)) != 0)
		seed = (uint64_t)(uintptr_t)&seed ^ (uint64_t)getpid() << 32;
	return seed;
}

/* Fewer than 8 bytes as one word, another one for each other text of this length. */
static inline uint64_t short_word(const char *text, size_t length)
{
	uint32_t first, last;

	if (length >= 4) {
		memcpy(&first, text, 4);
		memcpy(&last, text + length - 4, 4);
		return (uint64_t)last << 32 | first;
	}
	if (length == 0)
		return 0;
	return (uint64_t)(unsigned char)text[0] | (uint64_t)(unsigned char)text[length / 2] << 8
	       | (uint64_t)(unsigned char)text[length - 1] << 16;
}

uint64_t frag_hash_text(const char *text, size_t length, uint64_t seed)
{
	const uint64_t factor = frag_hash_factor(seed);
	uint64_t hash = seed ^ (uint64_t)length * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	for (; length >= 8; length -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = frag_hash_fold(hash ^ word, factor);
	}
	return frag_hash_fold(hash ^ short_word(text, length), factor);
}

uint64_t frag_hash_content(const char *text, size_t length, uint64_t salt)
{
	uint64_t hash = salt ^ (uint64_t)length * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	for (; length >= 8; length -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, length);
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 29;
}

bool frag_map_init(struct frag_map *map, uint64_t seed)
{
	map->entries = calloc(FIRST_SIZE, sizeof(*map->entries));
	map->mask = FIRST_SIZE - 1;
	map->count = 0;
	map->seed = seed;
	return map->entries != NULL;
}

void frag_map_fini(struct frag_map *map)
{
	free(map->entries);
	map->entries = NULL;
}

static void hash_place(struct frag_map *map, uint64_t key, uint32_t value)
{
	uint32_t i = frag_map_home(map, key);

	while (map->entries[i].full)
		i = (i + 1) & map->mask;
	map->entries[i] = (struct frag_map_entry){ .key = key, .value = value, .full = 1 };
}

static bool rehash(struct frag_map *map)
{
	struct frag_map old = *map;
	uint64_t size = ((uint64_t)old.mask + 1) * 2;

	if (size > UINT32_MAX)
		return false;
	map->entries = calloc((size_t)size, sizeof(*map->entries));
	if (!map->entries) {
		*map = old;
		return false;
	}
	map->mask = (uint32_t)(size - 1);
	for (uint64_t i = 0; i <= old.mask; i++)
		if (old.entries[i].full)
			hash_place(map, old.entries[i].key, old.entries[i].value);
	free(old.entries);
	return true;
}

bool frag_map_reserve(struct frag_map *map, uint32_t n)
{
	/* as frag_map_add() sees it at the last of them */
	while (((uint64_t)map->count + n - 1) * 4 >= ((uint64_t)map->mask + 1) * 3)
		if (!rehash(map))
			return false;
	return true;
}

bool frag_map_add(struct frag_map *map, uint64_t key, uint32_t value)
{
	FRAG_ASSERT(map->entries && value != FRAG_MAP_NONE);
	if ((uint64_t)map->count * 4 >= ((uint64_t)map->mask + 1) * 3 && !rehash(map))
		return false;
	hash_place(map, key, value);
	map->count++;
	return true;
}

/*
 * Linear probing without tombstones (Knuth, TAOCP 3, 6.4, algorithm R): the gap is
 * closed at once, so a search still ends at the first empty place.
 */
void frag_map_remove(struct frag_map *map, uint64_t key, uint32_t value)
{
	uint32_t hole = frag_map_home(map, key);
	uint32_t i;

	FRAG_ASSERT(map->count > 0);
	while (map->entries[hole].key != key || map->entries[hole].value != value
	       || !map->entries[hole].full)
		hole = (hole + 1) & map->mask;
	/* close the gap: an entry may move back as far as its home */
	for (i = (hole + 1) & map->mask; map->entries[i].full; i = (i + 1) & map->mask) {
		uint32_t home = frag_map_home(map, map->entries[i].key);

		if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
			map->entries[hole] = map->entries[i];
			hole = i;
		}
	}
	map->entries[hole].full = 0;
	map->count--;
}

uint64_t frag_rng_between(struct frag_rng *r, uint64_t min, uint64_t max)
{
	FRAG_ASSERT(min <= max);
	return min + frag_rng_below(r, max - min + 1);
}

uint64_t frag_rng_magnitude(struct frag_rng *r, uint64_t min, uint64_t max)
{
	const uint64_t low = 63 - (uint64_t)__builtin_clzll(min);
	const uint64_t high = 63 - (uint64_t)__builtin_clzll(max);
	uint64_t whole = UINT64_C(1) << low, x; /* the first power that is not below least */

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
