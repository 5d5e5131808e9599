/*
 * test_hash_rng.c - the generator against its published numbers, and what is drawn
 * from it against its bounds and, roughly, its promised shape.
 */
#include "base/hash.h"
#include "support/unit.h"

/* SplitMix64 from seed 1234567, as its authors' C code prints them. */
static void test_known_numbers(void **state)
{
	static const uint64_t known[] = {
		UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	struct frag_rng rng = { .state = 1234567 };

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++)
		assert_int_equal(frag_rng_next(&rng), known[i]);
}

static void test_bounds(void **state)
{
	static const uint64_t ranges[][2] = {
		{ 1, 1 }, { 7, 7 }, { 1, 2 }, { 3, 5 }, { 512, 1024 }, { 1000, 1023 },
		{ 1, UINT64_C(1) << 53 }, { (UINT64_C(1) << 62) - 3, (UINT64_C(1) << 62) + 3 },
	};
	struct frag_rng rng = { .state = 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(ranges); i++) {
		for (int k = 0; k < 2000; k++) {
			uint64_t a = frag_rng_between(&rng, ranges[i][0], ranges[i][1]);
			uint64_t b = frag_rng_magnitude(&rng, ranges[i][0], ranges[i][1]);

			assert_in_range(a, ranges[i][0], ranges[i][1]);
			assert_in_range(b, ranges[i][0], ranges[i][1]);
		}
	}
	for (int k = 0; k < 2000; k++)
		assert_true(frag_rng_below(&rng, UINT64_C(1) << 63) < UINT64_C(1) << 63);
}

/*
 * 60,000 draws over six values: 10,000 each; four standard deviations are
 * 4 * sqrt(60000 * 1/6 * 5/6) = 365. Over the powers 1, 2..3, ..., 32..63, for
 * magnitudes, the same.
 */
static void test_shape(void **state)
{
	struct frag_rng rng = { .state = 99 };
	uint32_t below[6] = { 0 }, magnitude[6] = { 0 }, percent = 0;

	(void)state;
	for (int k = 0; k < 60000; k++) {
		uint64_t x = frag_rng_magnitude(&rng, 1, 63);
		uint32_t log = 0;

		below[frag_rng_below(&rng, 6)]++;
		while (x >>= 1)
			log++;
		magnitude[log]++;
		percent += frag_rng_percent(&rng, 17);
	}
	for (int i = 0; i < 6; i++) {
		assert_in_range(below[i], 10000 - 365, 10000 + 365);
		assert_in_range(magnitude[i], 10000 - 365, 10000 + 365);
	}
	/* 17 %: 10,200, and 4 * sqrt(60000 * 0.17 * 0.83) = 368 */
	assert_in_range(percent, 10200 - 368, 10200 + 368);
}

static void test_never_and_always(void **state)
{
	struct frag_rng rng = { .state = 5 };

	(void)state;
	for (int k = 0; k < 1000; k++) {
		assert_false(frag_rng_percent(&rng, 0));
		assert_true(frag_rng_percent(&rng, 100));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_numbers),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_never_and_always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
