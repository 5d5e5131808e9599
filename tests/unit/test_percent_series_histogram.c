/*
 * test_percent_series_histogram.c - nearest-rank percentiles of percentages in hundredths.
 *
 * The judge prints every value with %.2f, sorts, and takes the value at rank
 * ceil(p / 100 * n).
 */
#include "metrics/percent_series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/unit.h"

#define MAX 5000

struct fixture {
	struct frag_histogram h;
	struct frag_histogram_range range;
	double values[MAX];
	uint32_t count;
};

static void reset(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	/* nothing may be read that was not covered */
	memset(&f->h, 0x5a, sizeof(f->h));
}

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	if (*state)
		reset(*state);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	free(*state);
	return 0;
}

static void add(struct fixture *f, double value)
{
	char text[32];

	frag_histogram_cover(&f->h, &f->range, value, value);
	frag_histogram_add(&f->h, value);
	snprintf(text, sizeof(text), "%.2f", value);
	f->values[f->count++] = strtod(text, NULL);
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void expect_ranks(struct fixture *f)
{
	static const uint32_t percents[] = { 1, 50, 95, 99, 100 };

	qsort(f->values, f->count, sizeof(f->values[0]), ascending);
	for (uint32_t i = 0; i < LENGTH(percents); i++) {
		uint32_t rank = 1;

		/* the least rank with rank / n >= percent / 100, by trying each */
		while ((uint64_t)rank * 100 < (uint64_t)percents[i] * f->count)
			rank++;
		assert_true(fabs(frag_histogram_rank(&f->h, &f->range, f->count, percents[i])
				 - f->values[rank - 1]) < 1e-9);
	}
}

static void test_one(void **state)
{
	struct fixture *f = *state;

	add(f, 33.333333333);
	expect_ranks(f);
	assert_true(fabs(frag_histogram_rank(&f->h, &f->range, 1, 50) - 33.33) < 1e-9);
}

/* Of 1..100 the p-th percentile is p. */
static void test_hundred(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 100; i > 0; i--)
		add(f, i);
	for (uint32_t p = 1; p <= 100; p++)
		assert_true(frag_histogram_rank(&f->h, &f->range, 100, p) == p);
}

/* Ties in the third decimal go to the even hundredth where the double is exact. */
static void test_half_even(void **state)
{
	static const struct {
		double value, rounded;
	} cases[] = {
		{ 0.125, 0.12 }, { 0.375, 0.38 }, { 3.125, 3.12 }, { 99.875, 99.88 },
		{ 99.995, 100.0 },      /* as a double a little above 99.995 */
		{ 1.005, 1.0 },         /* and this a little below 1.005 */
		{ 0, 0 }, { 100, 100 }, { 0.004999, 0 }, { 0.005001, 0.01 },
	};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		reset(f);
		add(f, cases[i].value);
		assert_true(fabs(frag_histogram_rank(&f->h, &f->range, 1, 50) - cases[i].rounded) < 1e-9);
		expect_ranks(f);
	}
}

/* Every eighth of a hundredth: half of the ties, and no others, fall on exact doubles. */
static void test_ties(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i <= 80000; i += 7) {
		reset(f);
		add(f, i / 800.0);
		expect_ranks(f);
	}
}

static void test_random(void **state)
{
	struct fixture *f = *state;
	uint64_t random = 11;

	for (uint32_t round = 0; round < 200; round++) {
		uint32_t n = 1 + (uint32_t)random_below(&random, round < 100 ? 120 : MAX);
		uint64_t few = 1 + random_below(&random, 50);

		reset(f);
		for (uint32_t i = 0; i < n; i++)
			add(f, round % 2
			       ? (double)random_below(&random, 1000001) / 10000
			       : 100.0 * (double)random_below(&random, few) / (double)few);
		expect_ranks(f);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_one), T(test_hundred), T(test_half_even), T(test_ties), T(test_random),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
