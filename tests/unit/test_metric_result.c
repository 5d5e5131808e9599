/* test_metric_result.c - the values of a result by their paths, and its release. */

#include <stdlib.h>
#include <string.h>

#include "metrics/metric.h"
#include "support/unit.h"

/* Every value is another one, so that no path can answer for its neighbour. */
static struct frag_result sample(void)
{
	return (struct frag_result){
		.steps = 1,
		.lower_bound = 2,
		.peak = {
			.requested = 11, .allocated = 12, .active = 13, .reserved = 14,
			.free = 15, .largest_free = 16, .releasable = 17, .non_releasable = 18,
			.waste = 19, .process_used = 20, .segments = 21, .blocks = 22,
			.device_free = -23, .limited = true, .holes = 24, .wasted = 25,
		},
		.last = {
			.requested = 31, .allocated = 32, .active = 33, .reserved = 34,
			.free = 35, .largest_free = 36, .releasable = 37, .non_releasable = 38,
			.waste = 39, .process_used = 40, .segments = 41, .blocks = 42,
			.device_free = 43, .limited = true,
			.fi = 44.5, .fi_device = 45.5, .internal = 46.5, .utilization = 47.5,
			.holes = 48, .wasted = 49,
		},
		.fi = {
			.steps = 1, .min = 51, .mean = 52, .p50 = 53, .p95 = 54, .p99 = 55,
			.max = 56, .last = 57, .weighted = true, .time_weighted_mean = 58,
			.severe_steps = 59,
		},
		.fi_device = { .steps = 1, .max = 61 },
		.internal = { .steps = 1, .max = 62 },
		.utilization = { .steps = 1, .max = 63 },
		.counts = {
			.allocs = 71, .frees = 72, .hits = 73, .segment_allocs = 74,
			.segment_frees = 75, .splits = 76, .merges = 77, .retries = 78,
			.ooms = 79, .skipped = 80,
		},
	};
}

static const struct {
	const char *path;
	double value;
} paths[] = {
	{ "steps", 1 }, { "lower_bound", 2 },
	{ "peak.requested", 11 }, { "peak.allocated", 12 }, { "peak.active", 13 },
	{ "peak.reserved", 14 }, { "peak.free", 15 }, { "peak.largest_free", 16 },
	{ "peak.releasable", 17 }, { "peak.non_releasable", 18 }, { "peak.waste", 19 },
	{ "peak.process_used", 20 }, { "peak.segments", 21 }, { "peak.blocks", 22 },
	{ "peak.device_free", -23 }, { "peak.holes", 24 }, { "peak.wasted", 25 },
	{ "last.holes", 48 }, { "last.wasted", 49 },
	{ "last.requested", 31 }, { "last.allocated", 32 }, { "last.active", 33 },
	{ "last.reserved", 34 }, { "last.free", 35 }, { "last.largest_free", 36 },
	{ "last.releasable", 37 }, { "last.non_releasable", 38 }, { "last.waste", 39 },
	{ "last.process_used", 40 }, { "last.segments", 41 }, { "last.blocks", 42 },
	{ "last.device_free", 43 }, { "last.fi", 44.5 }, { "last.fi_device", 45.5 },
	{ "last.internal", 46.5 }, { "last.utilization", 47.5 },
	{ "fi.min", 51 }, { "fi.mean", 52 }, { "fi.p50", 53 }, { "fi.p95", 54 },
	{ "fi.p99", 55 }, { "fi.max", 56 }, { "fi.last", 57 },
	{ "fi.time_weighted_mean", 58 }, { "fi.severe_steps", 59 },
	{ "fi_device.max", 61 }, { "internal.max", 62 }, { "utilization.max", 63 },
	{ "counts.allocs", 71 }, { "counts.frees", 72 }, { "counts.hits", 73 },
	{ "counts.segment_allocs", 74 }, { "counts.segment_frees", 75 },
	{ "counts.splits", 76 }, { "counts.merges", 77 }, { "counts.retries", 78 },
	{ "counts.ooms", 79 }, { "counts.skipped", 80 },
};

static void test_paths(void **state)
{
	const struct frag_result r = sample();

	(void)state;
	for (uint32_t i = 0; i < LENGTH(paths); i++) {
		double value = 0;
		bool absent = true;

		if (!frag_result_value(&r, paths[i].path, &value, &absent) || absent
		    || value != paths[i].value)
			fail_msg("%s is %g, absent: %d", paths[i].path, value, absent);
	}
}

static void test_no_such_path(void **state)
{
	static const char *const none[] = {
		"", ".", "peak", "peak.", "peak.fi", "peak.utilization", "peak.nothing",
		"peakreserved", "peak.reserved.more", "last", "last.p50", "fi", "fi.", "fi.median",
		"fi.steps", "fi_devic.max", "counts", "counts.", "counts.oom", "step", "steps.",
		"Steps", " steps", "status", "device", "lower_bound.x",
	};
	const struct frag_result r = sample();

	(void)state;
	for (uint32_t i = 0; i < LENGTH(none); i++) {
		double value;
		bool absent;

		if (frag_result_value(&r, none[i], &value, &absent))
			fail_msg("there is a path \"%s\"", none[i]);
	}
}

static bool is_absent(const struct frag_result *r, const char *path)
{
	double value;
	bool absent = false;

	assert_true(frag_result_value(r, path, &value, &absent));
	return absent;
}

static void test_absent(void **state)
{
	struct frag_result r = sample();

	(void)state;
	r.peak.limited = r.last.limited = false;
	assert_true(is_absent(&r, "peak.device_free"));
	assert_true(is_absent(&r, "last.device_free"));
	assert_false(is_absent(&r, "last.process_used"));
	r.fi.weighted = false;
	assert_true(is_absent(&r, "fi.time_weighted_mean"));
	assert_false(is_absent(&r, "fi.mean"));
	r.fi = (struct frag_distribution){ .steps = 0 };
	assert_true(is_absent(&r, "fi.mean"));
	assert_true(is_absent(&r, "fi.last"));
	assert_true(is_absent(&r, "fi.time_weighted_mean"));
	assert_false(is_absent(&r, "fi.severe_steps"));
}

static uint32_t bit(const char *name)
{
	return frag_metric_bit(frag_metric_find(name, strlen(name)));
}

/* What the file that a result is from does not have: in the object where it is missing only. */
static void test_unread(void **state)
{
	struct frag_result r = sample();

	(void)state;
	assert_false(frag_result_unread(&r, "peak.holes"));
	r.peak.unread = bit("holes");
	r.last.unread = bit("wasted") | bit("fi");
	assert_true(frag_result_unread(&r, "peak.holes"));
	assert_true(is_absent(&r, "peak.holes"));
	assert_false(frag_result_unread(&r, "peak.wasted"));
	assert_false(is_absent(&r, "peak.wasted"));
	assert_true(frag_result_unread(&r, "last.wasted"));
	assert_false(frag_result_unread(&r, "last.holes"));
	assert_true(frag_result_unread(&r, "fi.max"));
	assert_false(frag_result_unread(&r, "fi_device.max"));
	assert_false(frag_result_unread(&r, "counts.ooms"));
	assert_false(frag_result_unread(&r, "steps"));
}

/* In a pool of the driver's own. */
static void test_opaque(void **state)
{
	struct frag_result r = sample();

	(void)state;
	r.last.opaque = true;
	assert_true(is_absent(&r, "last.holes"));
	assert_true(is_absent(&r, "last.wasted"));
	assert_true(is_absent(&r, "last.fi"));
	assert_false(is_absent(&r, "last.reserved"));
	assert_false(frag_result_unread(&r, "last.holes"));
}

static void test_status_names(void **state)
{
	(void)state;
	assert_string_equal(frag_run_status_name(FRAG_RUN_OK), "fits");
	assert_string_equal(frag_run_status_name(FRAG_RUN_OOM), "oom");
	assert_string_equal(frag_run_status_name(FRAG_RUN_INTERRUPTED), "interrupted");
}

/* All that a result owns goes with it (sanitizers see to it). */
static void test_fini(void **state)
{
	struct frag_result r = { .steps = 0 };

	(void)state;
	frag_result_fini(&r);
	r.oom_count = 2;
	r.mark_count = 1;
	r.ooms = calloc(2, sizeof(*r.ooms));
	r.marks = calloc(1, sizeof(*r.marks));
	assert_non_null(r.ooms);
	assert_non_null(r.marks);
	r.ooms[0].id = strdup("7");
	r.ooms[0].holder_count = 2;
	r.ooms[0].holders[1].tag = strdup("\"tag\"");
	r.marks[0].name = strdup("\"epoch\"");
	frag_result_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_no_such_path),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_opaque),
		cmocka_unit_test(test_status_names),
		cmocka_unit_test(test_fini),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
