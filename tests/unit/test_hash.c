/* test_hash.c - the map against a plain array that is walked for every answer. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "support/random.h"
#include "support/unit.h"

#define ENTRIES 400

struct pair {
	uint64_t key;
	uint32_t value;
};

struct model {
	struct pair pairs[ENTRIES];
	uint32_t count;
};

/* Does frag_map_next() give exactly the values that the model has for the key? */
static void compare_key(const struct frag_map *map, const struct model *m, uint64_t key)
{
	uint32_t at = frag_map_home(map, key), value, wanted = 0, found = 0;
	bool given[ENTRIES] = { false };

	for (uint32_t i = 0; i < m->count; i++)
		wanted += m->pairs[i].key == key;
	while ((value = frag_map_next(map, key, &at)) != FRAG_MAP_NONE) {
		uint32_t i = 0;

		while (i < m->count && (m->pairs[i].key != key || m->pairs[i].value != value
					|| given[i]))
			i++;
		assert_true(i < m->count);
		given[i] = true;
		found++;
	}
	assert_int_equal(found, wanted);
}

static void compare(const struct frag_map *map, const struct model *m, const uint64_t *keys,
		    uint32_t key_count)
{
	assert_int_equal(map->count, m->count);
	for (uint32_t i = 0; i < key_count; i++)
		compare_key(map, m, keys[i]);
}

static void random_maps(const uint64_t *keys, uint32_t key_count, uint64_t seed)
{
	struct model m = { .count = 0 };
	struct frag_map map;
	uint64_t random = seed;

	assert_true(frag_map_init(&map, seed));
	for (uint32_t step = 0; step < 1500; step++) {
		/* now mostly more, now mostly fewer */
		bool add = random_below(&random, 10) < (step / 300 % 2 ? 3 : 7);

		if (add && m.count < ENTRIES) {
			struct pair p = { keys[random_below(&random, key_count)], step };

			m.pairs[m.count++] = p;
			assert_true(frag_map_add(&map, p.key, p.value));
		} else if (m.count) {
			struct pair *p = &m.pairs[random_below(&random, m.count)];

			frag_map_remove(&map, p->key, p->value);
			*p = m.pairs[--m.count];
		}
		if (step % 25 == 0)
			compare(&map, &m, keys, key_count);
	}
	compare(&map, &m, keys, key_count);
	frag_map_fini(&map);
}

static void test_random(void **state)
{
	uint64_t keys[100], random = 9;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(keys); i++)
		keys[i] = i % 2 ? i : random_u64(&random);
	for (uint64_t seed = 0; seed < 10; seed++)
		random_maps(keys, LENGTH(keys), seed);
}

/* Few keys, many entries of each: all in one run, which removing must not tear. */
static void test_equal_keys(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX };

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++)
		random_maps(keys, LENGTH(keys), seed);
}

/* Keys whose home is one of the last two places of the first table: runs go round its end. */
static void test_round_the_end(void **state)
{
	uint64_t keys[40], key = 0;
	struct frag_map map;

	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		assert_true(frag_map_init(&map, seed));
		for (uint32_t i = 0; i < LENGTH(keys); key++)
			if (frag_map_home(&map, key) + 2 > map.mask)
				keys[i++] = key;
		frag_map_fini(&map);
		random_maps(keys, LENGTH(keys), seed);
	}
}

/* What was reserved is there: the table stays where it is, however many are in it before. */
static void test_reserve(void **state)
{
	(void)state;
	for (uint32_t before = 0; before < 200; before++) {
		for (uint32_t n = 1; n < 200; n += 7) {
			const struct frag_map_entry *entries;
			struct frag_map map;

			assert_true(frag_map_init(&map, 3));
			for (uint32_t i = 0; i < before; i++)
				assert_true(frag_map_add(&map, i, i));
			assert_true(frag_map_reserve(&map, n));
			entries = map.entries;
			for (uint32_t i = before; i < before + n; i++)
				assert_true(frag_map_add(&map, i, i));
			assert_ptr_equal(map.entries, entries);
			for (uint32_t i = 0; i < before + n; i++)
				assert_int_equal(frag_map_get(&map, i), i);
			frag_map_fini(&map);
		}
	}
}

static void test_grows(void **state)
{
	struct frag_map map;

	(void)state;
	assert_true(frag_map_init(&map, 3));
	for (uint32_t i = 0; i < 100000; i++) {
		assert_int_equal(frag_map_get(&map, i * UINT64_C(4096)), FRAG_MAP_NONE);
		assert_true(frag_map_add(&map, i * UINT64_C(4096), i));
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(frag_map_get(&map, i * UINT64_C(4096)), i);
	/* at most three quarters full, or a search for what is not there never ends */
	assert_true((uint64_t)map.count * 4 <= ((uint64_t)map.mask + 1) * 3);
	for (uint32_t i = 0; i < 100000; i++)
		frag_map_remove(&map, i * UINT64_C(4096), i);
	assert_int_equal(map.count, 0);
	assert_int_equal(frag_map_get(&map, 0), FRAG_MAP_NONE);
	frag_map_fini(&map);
}

/* Strings that are alike but not equal have different hashes, with any seed. */
static void test_texts(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} texts[] = {
		{ "", 0 }, { "\0", 1 }, { "\0\0", 2 }, { "\0\0\0\0\0\0\0", 7 },
		{ "\0\0\0\0\0\0\0\0", 8 }, { "\0\0\0\0\0\0\0\0\0", 9 }, { "a", 1 }, { "b", 1 },
		{ "a\0", 2 }, { "1234567", 7 }, { "12345678", 8 }, { "123456789", 9 },
		{ "12345678a", 9 }, { "0x7f0000000000", 14 }, { "0x7f0000000200", 14 },
	};

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++)
		for (uint32_t i = 0; i < LENGTH(texts); i++)
			for (uint32_t k = 0; k < LENGTH(texts); k++) {
				uint64_t a = frag_hash_text(texts[i].text, texts[i].length, seed);
				uint64_t b = frag_hash_text(texts[k].text, texts[k].length, seed);

				assert_int_equal(a == b, i == k);
			}
}

/* The bytes count, not where they stand; and nothing behind them. */
static void test_text_at_any_address(void **state)
{
	char room[64];
	uint64_t random = 4;

	(void)state;
	for (size_t length = 0; length <= 20; length++) {
		const char *text = "abcdefghijklmnopqrstuvwxyz";
		uint64_t want = frag_hash_text(text, length, 77);

		for (size_t shift = 0; shift < 9; shift++) {
			for (size_t i = 0; i < sizeof(room); i++)
				room[i] = (char)random_u64(&random);
			memcpy(room + shift, text, length);
			assert_true(frag_hash_text(room + shift, length, 77) == want);
		}
	}
}

#define NUMBERS 500
#define HOMES ((uint32_t)1 << 16)

static uint32_t homes_of(const uint64_t *numbers, uint64_t seed)
{
	const struct frag_map map = { .mask = HOMES - 1, .seed = seed };
	unsigned char *taken = calloc(HOMES, 1);
	uint32_t count = 0;

	assert_non_null(taken);
	for (uint32_t i = 0; i < NUMBERS; i++) {
		unsigned char *home = &taken[frag_map_home(&map, numbers[i])];

		count += !*home;
		*home = 1;
	}
	free(taken);
	return count;
}

/*
 * Numbers that all have one home under a seed that is known have not under another,
 * and the seed of each trace that is opened is another. The worst of 20,000 seeds
 * left them 300 homes of 500.
 */
static void test_collisions_on_purpose(void **state)
{
	const struct frag_map known = { .mask = HOMES - 1, .seed = 12345 };
	uint64_t numbers[NUMBERS], seeds[8];
	uint32_t count = 0;

	(void)state;
	for (uint64_t x = 0; count < NUMBERS; x++)
		if (frag_map_home(&known, x) == 7)
			numbers[count++] = x;
	assert_int_equal(homes_of(numbers, known.seed), 1);
	for (uint32_t i = 0; i < LENGTH(seeds); i++) {
		seeds[i] = frag_hash_seed();
		assert_in_range(homes_of(numbers, seeds[i]), NUMBERS / 5, NUMBERS);
		for (uint32_t k = 0; k < i; k++)
			assert_true(seeds[i] != seeds[k]);
	}
}

/*
 * Numbers that differ in two bits 32 apart: a hash that only shifts and multiplies
 * lets the one undo the other under every seed. 500 at random in 65,536 homes would
 * have 498 of them.
 */
static void test_pairs_of_bits(void **state)
{
	uint64_t numbers[NUMBERS];

	(void)state;
	for (uint32_t i = 0; i < NUMBERS; i++)
		numbers[i] = (uint64_t)i << 11 ^ (uint64_t)i << 43;
	for (uint64_t seed = 0; seed < 200; seed++)
		assert_in_range(homes_of(numbers, seed * UINT64_C(0x9e3779b97f4a7c15)),
				NUMBERS * 4 / 5, NUMBERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_equal_keys),
		cmocka_unit_test(test_round_the_end),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_text_at_any_address),
		cmocka_unit_test(test_collisions_on_purpose),
		cmocka_unit_test(test_pairs_of_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
