/* test_metric.c - the table of metrics: that it is sound, and what is known where. */
#include "metrics/metric.h"

#include <stdio.h>

#include "support/unit.h"

static void test_entries(void **state)
{
	const struct frag_metric *table = frag_metric_table();

	(void)state;
	assert_null(table[FRAG_METRIC_ALL].name);
	for (uint32_t i = 0; i < FRAG_METRIC_ALL; i++) {
		const struct frag_metric *k = &table[i];

		assert_int_equal(k->index, i);
		assert_true(strlen(k->name) && strlen(k->text));
		assert_ptr_equal(frag_metric_find(k->name, strlen(k->name)), k);
		/* a new one goes to the end, and is no column that the first edition had */
		assert_true(k->since >= (i ? table[i - 1].since : 1));
		assert_int_equal(k->requested, k->since > 1);
		/* a percentage has a distribution, everything else a peak */
		assert_int_equal(k->unit == FRAG_METRIC_PERCENT, k->peak == FRAG_PEAK_NONE);
		assert_int_equal(k->unit == FRAG_METRIC_PERCENT, k->distribution != 0);
		assert_true(!k->figure || k->unit == FRAG_METRIC_BYTES
			    || k->unit == FRAG_METRIC_COUNT);
	}
	assert_null(frag_metric_find("free", 3));
	assert_null(frag_metric_find("fre", 3));
}

/* Each entry is about the member of its name and no other. */
static void test_members(void **state)
{
	const struct frag_metrics m = {
		.requested = 1, .allocated = 2, .active = 3, .reserved = 4, .free = 5,
		.largest_free = 6, .releasable = 7, .non_releasable = 8, .waste = 9, .device_free = -10,
		.process_used = 11, .fi = 12.5, .fi_device = 13.5, .internal = 14.5,
		.utilization = 15.5, .segments = 16, .blocks = 17, .holes = 18, .wasted = 19,
	};
	const double values[FRAG_METRIC_ALL] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, -10, 11, 12.5, 13.5, 14.5, 15.5, 16, 17, 18, 19,
	};
	struct frag_metrics copy = { .requested = 0 };

	(void)state;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		assert_true(frag_metric_number(&m, k) == values[k->index]);
		frag_metric_set(&copy, k, frag_metric_get(&m, k));
		assert_true(frag_metric_number(&copy, k) == values[k->index]);
	}
}

static void test_distributions(void **state)
{
	struct frag_result r = {
		.fi = { .max = 1 }, .fi_device = { .max = 2 }, .internal = { .max = 3 },
		.utilization = { .max = 4 },
	};
	double wanted = 1;

	(void)state;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->unit == FRAG_METRIC_PERCENT)
			assert_true(frag_metric_distribution(&r, k)->max == wanted++);
	assert_true(wanted == 5);
}

/* Names of those that have no value here, in the order of the table. */
static void expect_unknown(const struct frag_metrics *m, const char *wanted)
{
	char got[256] = "";

	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (!frag_metric_known(m, k))
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %s", k->name);
	assert_string_equal(got, wanted);
}

static void test_known(void **state)
{
	const struct frag_metric *fi = frag_metric_find("fi", 2);
	struct frag_metrics m = { .limited = true };

	(void)state;
	expect_unknown(&m, "");
	m.unread = frag_metric_bit(fi);
	expect_unknown(&m, " fi");
	m = (struct frag_metrics){ .limited = false };
	expect_unknown(&m, " device_free");
	m.opaque = true;
	expect_unknown(&m, " largest_free releasable non_releasable device_free fi fi_device holes wasted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
