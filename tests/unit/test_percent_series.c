/* test_percent_series.c - percentages counted in stretches are those of a plain loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics/percent_series.h"
#include "support/unit.h"

#define STEPS_MAX 1000

struct steps {
	struct frag_sums sums[STEPS_MAX];
	double t[STEPS_MAX];            /* NAN: it has none */
	double value[FRAG_SERIES][STEPS_MAX];   /* by expect_all() */
	double weight[STEPS_MAX];       /* likewise */
	uint32_t count;
	bool limited;
};

/* Rounded as printf does it; outside 0 to 100 counts as the nearer end. */
static double hundredths(double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.2f", value < 0 ? 0 : value > 100 ? 100 : value);
	return strtod(text, NULL);
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The formulas of fragsim-result(5), Metrics. */
static void find_percentages(struct steps *steps, uint32_t k)
{
	const struct frag_sums *m = &steps->sums[k];
	const double largest = (double)m->largest_free, all = (double)(m->free + m->left);
	const double piece = fmin((double)(m->releasable + m->left), all);

	steps->value[0][k] = m->free ? 100 * (1 - largest / (double)m->free) : 0;
	steps->value[1][k] = all > 0 ? 100 * (1 - fmax(largest, piece) / all) : 0;
	steps->value[2][k] = m->allocated
		? 100 * (1 - (double)m->requested / (double)m->allocated) : 0;
	steps->value[3][k] = m->reserved ? 100 * (double)m->allocated / (double)m->reserved : 100;
}

/* How long the step before lasted; time that goes back is no time. */
static double find_weight(const struct steps *steps, uint32_t k)
{
	const double passed = k ? steps->t[k] - steps->t[k - 1] : 0;

	return passed > 0 ? passed * FRAG_TIME_SCALE : 0;
}

static uint64_t count_severe(const struct steps *steps)
{
	uint64_t severe = 0;

	for (uint32_t k = 0; k < steps->count && steps->limited; k++)
		severe += steps->value[1][k] > 70
			  && (double)(steps->sums[k].free + steps->sums[k].left)
			     >= 0.01 * (double)steps->sums[k].reserved;
	return severe;
}

static void expect_series(const struct steps *steps, const struct frag_series *s, int i)
{
	const double *value = steps->value[i];
	double min = INFINITY, max = -INFINITY, sum = 0, weighted = 0, time = 0;
	double sorted[STEPS_MAX];
	uint64_t severe = 0;
	bool timed = true;
	struct frag_distribution d;

	for (uint32_t k = 0; k < steps->count; k++) {
		min = fmin(min, value[k]);
		max = fmax(max, value[k]);
		sum += value[k];
		weighted += k ? value[k - 1] * steps->weight[k] : 0;
		time += steps->weight[k];
		timed &= !isnan(steps->t[k]);
		severe += value[k] > 70;
		sorted[k] = hundredths(value[k]);
	}
	qsort(sorted, steps->count, sizeof(sorted[0]), ascending);
	d = frag_series_describe(s, i, steps->count);
	assert_int_equal(d.steps, steps->count);
	assert_true(d.min == min);
	assert_true(d.max == max);
	assert_true(d.mean == sum / steps->count);
	assert_true(d.last == value[steps->count - 1]);
	assert_true(d.severe_steps == severe);
	assert_true(fabs(d.p50 - sorted[(steps->count * 50 + 99) / 100 - 1]) < 1e-9);
	assert_true(fabs(d.p95 - sorted[(steps->count * 95 + 99) / 100 - 1]) < 1e-9);
	assert_true(fabs(d.p99 - sorted[(steps->count * 99 + 99) / 100 - 1]) < 1e-9);
	assert_int_equal(d.weighted, timed && time > 0);
	if (d.weighted)
		assert_true(d.time_weighted_mean == weighted / time);
}

/* By the way that is the faster one here, or by the one that every processor has. */
static void expect_counted(struct steps *steps, bool by_two)
{
	struct frag_series *s = frag_series_new();

	assert_non_null(s);
	s->limited = steps->limited;
	s->count = by_two ? frag_percent_batch_x2 : s->count;
	for (uint32_t k = 0; k < steps->count; k++) {
		find_percentages(steps, k);
		steps->weight[k] = find_weight(steps, k);
		*frag_series_add(s, isnan(steps->t[k]) ? NULL : &steps->t[k]) = steps->sums[k];
	}
	frag_series_flush(s);
	for (int i = 0; i < FRAG_SERIES; i++)
		expect_series(steps, s, i);
	assert_int_equal(s->severe, count_severe(steps));
	free(s);
}

static void expect_all(struct steps *steps)
{
	expect_counted(steps, false);
	expect_counted(steps, true);
}

/* So many bytes of a whole that the percentage is an odd one, and the whole. */
struct share {
	uint64_t part, whole;
};

/*
 * Exact ties, values about as near to one as doubles go, decimals that end in 5 (of 1.115 the
 * double is below it, and a hundred times that above 111.5), the ends, nothing of nothing.
 */
static struct share odd_share(uint32_t k)
{
	static const struct share others[] = {
		{ 0, 0 }, { 0, 1 }, { 1, 1 }, { 30, 100 }, { 29999, 100000 }, { 30001, 100000 },
		{ 1, 3 }, { 5, UINT64_C(1) << 51 },
	};
	const uint64_t much = UINT64_C(1) << 48;

	switch (k % 4) {
	case 0:
		return (struct share){ k % 801, 800 };
	case 1:
		return (struct share){ much / 800 * (k % 800) + k % 3, much };
	case 2:
		return (struct share){ k * 10 % 100000 + 5, 100000 };
	default:
		return others[k / 4 % (sizeof(others) / sizeof(others[0]))];
	}
}

/* Each of the four is odd at other steps. */
static struct frag_sums odd_sums(uint32_t k)
{
	const struct share fi = odd_share(k), internal = odd_share(k * 3 + 1);
	const struct share used = odd_share(k * 5 + 2);
	struct frag_sums m = {
		.largest_free = fi.part, .free = fi.whole, .releasable = k % 7 ? 0 : fi.whole,
		.left = k % 3 ? 0 : fi.part * 2, .requested = internal.part,
		.allocated = internal.whole, .reserved = internal.whole, .unused = k,
	};

	if (k % 2) {
		m.allocated = used.part;
		m.reserved = used.whole;
		m.requested = used.part / 2;
	}
	return m;
}

static struct steps *make_steps(bool timed)
{
	struct steps *steps = calloc(1, sizeof(*steps));

	assert_non_null(steps);
	for (uint32_t k = 0; k < STEPS_MAX; k++) {
		steps->sums[k] = odd_sums(k);
		steps->t[k] = timed ? (double)(k * 7 - k % 5 * 10) : NAN;
	}
	return steps;
}

/* Of each length about a stretch of 64, and of several. */
static void expect_lengths(struct steps *steps)
{
	static const uint32_t lengths[] = { 1, 2, 63, 64, 65, 127, 128, 129, STEPS_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		steps->count = lengths[i];
		steps->limited = false;
		expect_all(steps);
		steps->limited = true;
		expect_all(steps);
	}
	free(steps);
}

static void test_lengths(void **state)
{
	(void)state;
	expect_lengths(make_steps(true));
}

/* Without a time there is no mean over it. */
static void test_untimed(void **state)
{
	(void)state;
	expect_lengths(make_steps(false));
}

/* One step without a time is enough. */
static void test_untimed_once(void **state)
{
	struct steps *steps = make_steps(true);

	(void)state;
	steps->t[0] = NAN;
	expect_lengths(steps);
}

/* What no heap has, but arithmetic may: a part that is larger than its whole. */
static void test_outside(void **state)
{
	struct steps *steps = make_steps(true);

	(void)state;
	for (uint32_t k = 3; k < STEPS_MAX; k += 100) {
		steps->sums[k].largest_free = steps->sums[k].free * 3;
		steps->sums[k].requested = steps->sums[k].allocated * 2;
	}
	for (uint32_t k = 70; k < STEPS_MAX; k += 130)
		steps->sums[k].reserved = steps->sums[k].allocated / 2 + 1;
	expect_lengths(steps);
}

/* Bytes of which doubles do not have every one: now and then, so some stretches have none. */
static void test_wide(void **state)
{
	struct steps *steps = make_steps(true);

	(void)state;
	for (uint32_t k = 5; k < STEPS_MAX; k += 90) {
		struct frag_sums *m = &steps->sums[k];

		m->free = (UINT64_C(1) << (52 + k % 9)) + 1 + k;
		m->largest_free = m->free / 3;
		m->allocated = m->free - 2 * k;
		m->requested = m->allocated / 5 * 4 + 1;
		m->reserved = m->free + m->allocated;
	}
	expect_lengths(steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_untimed),
		cmocka_unit_test(test_untimed_once),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
