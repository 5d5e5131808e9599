/*
 * test_driver_latency.c - costs in buckets: exact sums, percentiles that are near.
 *
 * The judge sorts all values and takes the one at rank ceil(p / 100 * n).
 */
#include "metrics/driver_latency.h"

#include <stdlib.h>

#include "support/random.h"
#include "support/unit.h"

#define MAX 3000

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* At most 1/32 above the true value, never below it, never above the maximum. */
static void judge(const struct frag_latency *l, uint64_t *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	assert_int_equal(l->count, n);
	assert_int_equal(l->min_ns, values[0]);
	assert_int_equal(l->max_ns, values[n - 1]);
	for (uint32_t percent = 1; percent <= 100; percent++) {
		uint64_t want = values[(n * percent + 99) / 100 - 1];
		uint64_t got = frag_latency_rank(l, percent);

		assert_true(got >= want && got <= l->max_ns && got - want <= want / 32);
	}
}

static void test_random(void **state)
{
	static uint64_t values[MAX];
	uint64_t random = 7;

	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n = 1 + (uint32_t)random_below(&random, MAX);
		uint32_t bits = 1 + round % 60;
		struct frag_latency l = { .count = 0 };
		uint64_t sum = 0;

		for (uint32_t i = 0; i < n; i++) {
			values[i] = random_below(&random, UINT64_C(1) << bits);
			sum += values[i];
			assert_true(frag_latency_add(&l, values[i], i % 3 == 0));
		}
		assert_true(l.total_ns == sum);
		assert_int_equal(l.refused, (n + 2) / 3);
		judge(&l, values, n);
		free(l.buckets);
	}
}

static void test_merge(void **state)
{
	static uint64_t values[MAX];
	struct frag_latency sum = { .count = 0 }, part = { .count = 0 };
	uint64_t random = 8;

	(void)state;
	assert_true(frag_latency_merge(&sum, &part));
	assert_int_equal(frag_latency_rank(&sum, 50), 0);
	for (uint32_t i = 0; i < 500; i++) {
		values[i] = random_below(&random, 100000) + 50;
		assert_true(frag_latency_add(i < 200 ? &sum : &part, values[i], false));
	}
	assert_true(frag_latency_merge(&sum, &part));
	judge(&sum, values, 500);
	free(sum.buckets);
	free(part.buckets);
}

static void test_extremes(void **state)
{
	struct frag_latency l = { .count = 0 };

	(void)state;
	assert_true(frag_latency_add(&l, UINT64_MAX, true));
	assert_true(frag_latency_rank(&l, 50) == UINT64_MAX);
	assert_true(frag_latency_add(&l, 0, false));
	assert_int_equal(frag_latency_rank(&l, 50), 0);
	assert_int_equal(l.min_ns, 0);
	free(l.buckets);
}

static void test_classes(void **state)
{
	static const struct {
		uint64_t bytes;
		uint32_t which;
	} cases[] = {
		{ 0, 0 }, { 1 << 20, 0 }, { (1 << 20) + 1, 1 }, { 2 << 20, 1 }, { 20 << 20, 5 },
		{ UINT64_C(1) << 30, 10 }, { UINT64_C(1) << 40, 20 },
		{ (UINT64_C(1) << 40) + 1, 21 }, { UINT64_MAX, 21 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(frag_size_class(cases[i].bytes), cases[i].which);
		assert_true(frag_size_class_max(cases[i].which) >= cases[i].bytes);
	}
	assert_int_equal(frag_size_class_max(3), 8 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
