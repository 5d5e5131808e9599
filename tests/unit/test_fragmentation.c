/* test_fragmentation.c - the measures of fragsim-result(5), Metrics, from arithmetic on paper. */
#include "metrics/fragmentation.h"

#include <math.h>

#include "support/random.h"
#include "support/unit.h"

#define GIB (UINT64_C(1) << 30)

static void expect_near(double got, double want)
{
	if (fabs(got - want) > 1e-9)
		fail_msg("%.12f, not %.12f", got, want);
}

static void test_fi(void **state)
{
	(void)state;
	expect_near(frag_index_pct(0, 0), 0);
	expect_near(frag_index_pct(GIB, GIB), 0);
	expect_near(frag_index_pct(GIB / 4, GIB), 75);
	expect_near(frag_index_pct(1, 3), 200.0 / 3);
	/* the largest sums that there can be lose no more than a double does */
	expect_near(frag_index_pct(UINT64_C(1) << 52, UINT64_C(1) << 53), 50);
}

/* largest_free, free, releasable, device_free */
static void test_fi_device(void **state)
{
	static const struct {
		uint64_t largest, free, releasable, device;
		double want;
	} cases[] = {
		{ 0, 0, 0, 0, 0 },
		{ 0, 0, 0, GIB, 0 },                    /* all of it is in one piece */
		{ 100, 100, 100, 0, 0 },
		{ 100, 400, 0, 0, 75 },                 /* unlimited: as fi */
		{ 100, 400, 300, 0, 25 },               /* two segments can go */
		{ 100, 400, 0, 400, 50 },               /* R = 400 of 800 */
		{ 100, 400, 200, 400, 25 },
		{ 300, 400, 0, 100, 40 },               /* the hole is larger than R */
		{ 10, 100, 500, 100, 0 },               /* R at most all there is */
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		expect_near(frag_index_device_pct(cases[i].largest, cases[i].free,
						  cases[i].releasable, cases[i].device),
			    cases[i].want);
}

static void test_internal_and_utilization(void **state)
{
	(void)state;
	expect_near(frag_internal_pct(0, 0), 0);
	expect_near(frag_internal_pct(512, 512), 0);
	expect_near(frag_internal_pct(516, 1024), 49.609375);
	expect_near(frag_internal_pct(33554432, UINT64_C(4294967296)), 99.21875);
	expect_near(frag_utilization_pct(0, 0), 100);
	expect_near(frag_utilization_pct(0, 512), 0);
	expect_near(frag_utilization_pct(512, 2048), 25);
}

/* All of them lie from 0 to 100, and what can be given back never makes it worse. */
static void test_bounds(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		uint64_t free = random_size(&random, 52), device = random_size(&random, 52);
		uint64_t largest = 1 + random_below(&random, free);
		uint64_t releasable = random_below(&random, free + 1);
		double fi = frag_index_pct(largest, free);
		double worse = frag_index_device_pct(largest, free, releasable / 2, device);
		double it = frag_index_device_pct(largest, free, releasable, device);

		assert_true(fi >= 0 && fi <= 100 && it >= 0 && it <= 100);
		assert_true(it <= worse);
		assert_true(frag_index_device_pct(largest, free, 0, 0) == fi);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fi),
		cmocka_unit_test(test_fi_device),
		cmocka_unit_test(test_internal_and_utilization),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
