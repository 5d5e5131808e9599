/* test_series.c - percentages counted in stretches are those of a plain loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics/series.h"
#include "support/unit.h"

#define STEPS_MAX 1000

struct steps {
	double value[FRAG_SERIES][STEPS_MAX];
	double weight[STEPS_MAX];
	uint32_t count;
};

/* Rounded as printf does it; outside 0 to 100 counts as 100. */
static double hundredths(double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.2f", value);
	return value < 0 || value > 100 ? 100 : strtod(text, NULL);
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void expect_series(const struct steps *steps, const struct frag_series *s, int i)
{
	const double *value = steps->value[i];
	double min = INFINITY, max = -INFINITY, sum = 0, weighted = 0, time = 0;
	double sorted[STEPS_MAX];
	uint64_t severe = 0;
	struct frag_distribution d;

	for (uint32_t k = 0; k < steps->count; k++) {
		min = fmin(min, value[k]);
		max = fmax(max, value[k]);
		sum += value[k];
		weighted += k ? value[k - 1] * steps->weight[k] : 0;
		time += steps->weight[k];
		severe += value[k] > 70;
		sorted[k] = hundredths(value[k]);
	}
	qsort(sorted, steps->count, sizeof(sorted[0]), ascending);
	d = frag_series_describe(s, i, steps->count, time);
	assert_int_equal(d.steps, steps->count);
	assert_true(d.min == min);
	assert_true(d.max == max);
	assert_true(d.mean == sum / steps->count);
	assert_true(d.last == value[steps->count - 1]);
	assert_true(d.severe_steps == severe);
	assert_true(fabs(d.p50 - sorted[(steps->count * 50 + 99) / 100 - 1]) < 1e-9);
	assert_true(fabs(d.p95 - sorted[(steps->count * 95 + 99) / 100 - 1]) < 1e-9);
	assert_true(fabs(d.p99 - sorted[(steps->count * 99 + 99) / 100 - 1]) < 1e-9);
	assert_int_equal(d.weighted, time > 0);
	if (time > 0)
		assert_true(d.time_weighted_mean == weighted / time);
}

static void expect_all(const struct steps *steps)
{
	struct frag_series *s = frag_series_new();

	assert_non_null(s);
	for (uint32_t k = 0; k < steps->count; k++) {
		const frag_pair first = { steps->value[0][k], steps->value[1][k] };
		const frag_pair second = { steps->value[2][k], steps->value[3][k] };

		frag_series_add(s, first, second, steps->weight[k]);
	}
	frag_series_flush(s);
	for (int i = 0; i < FRAG_SERIES; i++)
		expect_series(steps, s, i);
	free(s);
}

/*
 * Exact ties, values next to them, decimals that end in 5 (of 1.115 the double is
 * below it, and a hundred times that above 111.5), the ends, and what lies outside.
 */
static double odd_value(uint32_t k)
{
	static const double others[] = { 0, 100, 69.995, 70, 70.005, -0.25, 100.5, 250, -3 };
	double tie = (double)(k % 800) / 8;

	switch (k % 4) {
	case 0:
		return tie;
	case 1:
		return nextafter(tie, 200);
	case 2:
		return (double)(k % 10000 * 10 + 5) / 1000;
	default:
		return others[k / 4 % (sizeof(others) / sizeof(others[0]))];
	}
}

/* Of each length about a stretch of 64, and of several. */
static void test_lengths(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 63, 64, 65, 127, 128, 129, STEPS_MAX };
	struct steps *steps = calloc(1, sizeof(*steps));

	(void)state;
	assert_non_null(steps);
	for (uint32_t k = 0; k < STEPS_MAX; k++) {
		for (uint32_t i = 0; i < FRAG_SERIES; i++)
			steps->value[i][k] = odd_value(k * (i + 1) + i);
		steps->weight[k] = k ? (double)(k % 5) : 0;
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		steps->count = lengths[i];
		expect_all(steps);
	}
	free(steps);
}

/* Without a time there is no mean over it. */
static void test_untimed(void **state)
{
	struct steps *steps = calloc(1, sizeof(*steps));

	(void)state;
	assert_non_null(steps);
	for (steps->count = 0; steps->count < 100; steps->count++)
		for (uint32_t i = 0; i < FRAG_SERIES; i++)
			steps->value[i][steps->count] = (double)(steps->count * 7 % 101);
	expect_all(steps);
	free(steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_untimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
