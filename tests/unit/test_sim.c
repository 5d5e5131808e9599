/* test_sim.c - one policy over all devices of a trace: OOMs, marks, observers. */
#include <stdlib.h>
#include <string.h>

#include "support/faulty_device.h"
#include "support/play.h"
#include "support/unit.h"

#define KIB UINT64_C(1024)

static const struct frag_device_figures two[] = {
	{ .total = 10 * KIB, .granularity = 1 },
	{ .total = 20 * KIB, .context = 5 * KIB, .granularity = 1 },
};

static const struct frag_sim_options go_on = {
	.on_oom_continue = true, .check = true, .device = &faulty_device,
};

static void open_play(struct play *p, const char *policy, const struct frag_record *records,
		      uint32_t count, uint32_t devices, const struct frag_sim_options *options)
{
	struct frag_choice choice = play_choose(policy);

	faulty_begin(0, 0);
	assert_int_equal(play_open(p, &choice, records, count, two, devices, options), 0);
}

static void run(struct play *p)
{
	if (play_run(p))
		fail_msg("%s", p->error.message);
}

static const struct frag_result *results(struct play *p, uint32_t want)
{
	uint32_t count;
	const struct frag_result *r = frag_sim_results(p->sim, false, &count);

	assert_int_equal(count, want);
	return r;
}

static void expect_rows(const struct play *p, const uint64_t (*want)[3], uint32_t count)
{
	assert_int_equal(p->row_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(p->rows[i].step, want[i][0]);
		assert_int_equal(p->rows[i].device, want[i][1]);
		assert_int_equal(p->rows[i].status, want[i][2]);
	}
}

/* An OOM ends the run: that step is its last row. */
static void test_stop_at_oom(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 8 * KIB), ALLOC(2, 8 * KIB), FREE(1), ALLOC(3, 1),
	};
	static const uint64_t rows[][3] = { { 0, 0, FRAG_STEP_OK }, { 1, 0, FRAG_STEP_OOM } };
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 1, NULL);
	assert_false(frag_sim_stopped(p.sim));
	run(&p);
	assert_true(frag_sim_stopped(p.sim));
	expect_rows(&p, rows, LENGTH(rows));
	r = results(&p, 1);
	assert_int_equal(r->status, FRAG_RUN_OOM);
	assert_int_equal(r->steps, 2);
	assert_int_equal(r->counts.allocs, 2);
	assert_int_equal(r->counts.ooms, 1);
	play_close(&p);
}

/* With on_oom_continue what concerns the failed block is skipped, and the run goes on. */
static void test_go_on_after_oom(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 8 * KIB), ALLOC(2, 8 * KIB), RECORD_STREAM(2, 1), FREE_PENDING(2),
		COMPLETE(2), FREE(1), ALLOC(2, 8 * KIB), FREE(2),
	};
	static const uint64_t rows[][3] = {
		{ 0, 0, FRAG_STEP_OK }, { 1, 0, FRAG_STEP_OOM }, { 2, 0, FRAG_STEP_SKIPPED },
		{ 3, 0, FRAG_STEP_SKIPPED }, { 4, 0, FRAG_STEP_SKIPPED }, { 5, 0, FRAG_STEP_OK },
		{ 6, 0, FRAG_STEP_OK }, { 7, 0, FRAG_STEP_OK },
	};
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 1, &go_on);
	run(&p);
	expect_rows(&p, rows, LENGTH(rows));
	r = results(&p, 1);
	assert_int_equal(r->status, FRAG_RUN_OOM);
	assert_int_equal(r->counts.skipped, 3);
	assert_int_equal(r->counts.frees, 2);
	assert_int_equal(r->counts.allocs, 3);
	assert_int_equal(r->ooms[0].step, 1);
	assert_int_equal(r->ooms[0].size, 8 * KIB);
	assert_int_equal(r->peak.reserved, 8 * KIB);
	assert_int_equal(r->lower_bound, 8 * KIB);
	assert_int_equal(r->last.reserved, 0);
	play_close(&p);
}

/* Rows belong to the event's device; an event for all is a row on each. */
static void test_two_devices(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 4 * KIB), ALLOC_ON(2, 12 * KIB, 1), EMPTY_CACHE(), FREE(1),
		EMPTY_CACHE_ON(1), MARK("end"),
	};
	static const uint64_t rows[][3] = {
		{ 0, 0, FRAG_STEP_OK }, { 1, 1, FRAG_STEP_OK }, { 2, 0, FRAG_STEP_OK },
		{ 2, 1, FRAG_STEP_OK }, { 3, 0, FRAG_STEP_OK }, { 4, 1, FRAG_STEP_OK },
		{ 5, 0, FRAG_STEP_OK }, { 5, 1, FRAG_STEP_OK },
	};
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "bestfit:segment=4K", records, LENGTH(records), 2, NULL);
	run(&p);
	expect_rows(&p, rows, LENGTH(rows));
	r = results(&p, 2);
	assert_int_equal(r[0].status, FRAG_RUN_OK);
	assert_int_equal(r[0].device, 0);
	assert_int_equal(r[1].device, 1);
	assert_int_equal(r[0].steps, 4);
	assert_int_equal(r[1].steps, 4);
	assert_int_equal(r[0].total, 10 * KIB);
	assert_int_equal(r[1].context, 5 * KIB);
	assert_int_equal(r[0].last.reserved, 4 * KIB);  /* empty_cache went to device 1 */
	assert_int_equal(r[1].last.reserved, 12 * KIB);
	assert_int_equal(r[1].last.process_used, 17 * KIB);
	assert_int_equal(r[1].peak.device_free, 3 * KIB);
	assert_int_equal(r[0].mark_count, 1);
	assert_int_equal(r[1].mark_count, 1);
	assert_int_equal(r[1].marks[0].metrics.reserved, 12 * KIB);
	play_close(&p);
}

/* An OOM on one device ends it there; the other goes on. */
static void test_oom_on_one_device(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(1, 11 * KIB), ALLOC_ON(2, 11 * KIB, 1), ALLOC(3, 1), MARK("m"),
	};
	static const uint64_t rows[][3] = {
		{ 0, 0, FRAG_STEP_OOM }, { 1, 1, FRAG_STEP_OK }, { 3, 1, FRAG_STEP_OK },
	};
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 2, NULL);
	run(&p);
	assert_false(frag_sim_stopped(p.sim));
	expect_rows(&p, rows, LENGTH(rows));
	r = results(&p, 2);
	assert_int_equal(r[0].status, FRAG_RUN_OOM);
	assert_int_equal(r[1].status, FRAG_RUN_OK);
	assert_int_equal(r[0].ooms[0].tried, 11 * KIB);
	assert_int_equal(r[0].ooms[0].metrics.device_free, r[0].total);
	play_close(&p);
}

/* A refused initial pool is an OOM at step 0, whatever on_oom_continue says. */
static void test_refused_pool(void **state)
{
	static const struct frag_record records[] = { MARK("begin"), ALLOC(1, 1), ALLOC(2, 1) };
	static const uint64_t rows[][3] = { { 0, 0, FRAG_STEP_OOM } };
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "bestfit:pool=11K", records, LENGTH(records), 1, &go_on);
	run(&p);
	assert_true(frag_sim_stopped(p.sim));
	expect_rows(&p, rows, LENGTH(rows));
	r = results(&p, 1);
	assert_int_equal(r->status, FRAG_RUN_OOM);
	assert_int_equal(r->counts.ooms, 1);
	assert_int_equal(r->counts.allocs, 0);
	assert_int_equal(r->ooms[0].step, 0);
	assert_int_equal(r->ooms[0].tried, 11 * KIB);
	assert_null(r->ooms[0].id);
	assert_int_equal(r->mark_count, 0);
	play_close(&p);
}

/* On the larger device the same pool is given; it is ordinal 0 and stays. */
static void test_pool_refused_on_one(void **state)
{
	static const struct frag_record records[] = {
		ALLOC_ON(1, KIB, 1), FREE(1), EMPTY_CACHE(), ALLOC_ON(2, 12 * KIB, 1),
	};
	static const uint64_t rows[][3] = {
		{ 0, 1, FRAG_STEP_OK }, { 1, 1, FRAG_STEP_OK }, { 2, 1, FRAG_STEP_OK },
		{ 3, 1, FRAG_STEP_OOM },
	};
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "bestfit:pool=11K", records, LENGTH(records), 2, NULL);
	run(&p);
	expect_rows(&p, rows, LENGTH(rows));
	assert_int_equal(p.rows[0].segment, 0);
	assert_int_equal(p.rows[0].call_count, 0);
	assert_int_equal(p.rows[2].metrics.reserved, 11 * KIB);
	assert_int_equal(p.rows[2].metrics.releasable, 0);
	r = results(&p, 2);
	assert_int_equal(r[0].status, FRAG_RUN_OOM);
	assert_int_equal(r[0].steps, 0);
	assert_int_equal(r[0].ooms[0].tried, 11 * KIB);
	play_close(&p);
}

/* Of OOMs and marks only so many are kept; the count is of all. */
static void test_most_that_is_kept(void **state)
{
	const uint32_t marks = FRAG_MARKS_MAX + 5, ooms = FRAG_OOMS_MAX + 5;
	struct frag_record *records = calloc(marks + ooms, sizeof(*records));
	const struct frag_result *r;
	struct play p;

	(void)state;
	assert_non_null(records);
	for (uint32_t i = 0; i < ooms; i++)
		records[i] = (struct frag_record)ALLOC(i, 11 * KIB);
	for (uint32_t i = ooms; i < ooms + marks; i++)
		records[i] = (struct frag_record)MARK("m");
	open_play(&p, "direct", records, ooms + marks, 1,
		  &(struct frag_sim_options){ .on_oom_continue = true, .device = &faulty_device });
	run(&p);
	r = results(&p, 1);
	assert_int_equal(r->counts.ooms, ooms);
	assert_int_equal(r->oom_count, FRAG_OOMS_MAX);
	assert_int_equal(r->ooms[FRAG_OOMS_MAX - 1].step, FRAG_OOMS_MAX - 1);
	assert_int_equal(r->mark_count, FRAG_MARKS_MAX);
	assert_int_equal(r->marks[FRAG_MARKS_MAX - 1].step, ooms + FRAG_MARKS_MAX - 1);
	assert_string_equal(r->marks[0].name, "\"m\"");
	play_close(&p);
	free(records);
}

/*
 * One trace, two runs of it on other devices: what does not fit the first fits
 * the second, and the trace itself still suggests what it did.
 */
static void test_own_devices(void **state)
{
	static const struct frag_record records[] = { ALLOC(1, 8 * KIB), ALLOC(2, 8 * KIB) };
	const struct frag_device_figures larger = { .total = 17 * KIB, .granularity = 1 };
	const struct frag_choice choice = play_choose("direct");
	const struct frag_sim_options options = { .devices = &larger };
	struct frag_batch batch;
	struct frag_sim *other;
	struct play p;
	uint32_t count;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 1, NULL);
	assert_int_equal(frag_sim_new(&other, &choice, p.trace, &options, NULL), 0);
	assert_int_equal(frag_trace_next(p.trace, &batch, NULL), 0);
	assert_int_equal(batch.count, LENGTH(records));
	assert_int_equal(frag_sim_feed(p.sim, &batch, NULL), 0);
	assert_int_equal(frag_sim_feed(other, &batch, NULL), 0);
	assert_true(frag_sim_stopped(p.sim));
	assert_false(frag_sim_stopped(other));
	assert_int_equal(results(&p, 1)->total, 10 * KIB);
	assert_int_equal(frag_sim_results(other, false, &count)->total, 17 * KIB);
	assert_int_equal(frag_sim_devices(other)->figures[0].total, 17 * KIB);
	assert_int_equal(frag_trace_info(p.trace)->devices[0].total, 10 * KIB);
	frag_sim_del(other);
	play_close(&p);
}

/* A trace of no events: no rows, but the pool is there, and so are the results. */
static void test_empty_trace(void **state)
{
	const struct frag_result *r;
	struct play p;

	(void)state;
	open_play(&p, "bestfit:pool=4K", NULL, 0, 2, NULL);
	run(&p);
	assert_int_equal(p.row_count, 0);
	r = results(&p, 2);
	assert_int_equal(r[0].steps, 0);
	assert_int_equal(r[0].status, FRAG_RUN_OK);
	assert_int_equal(r[1].last.reserved, 4 * KIB);
	play_close(&p);
}

static void test_interrupted(void **state)
{
	static const struct frag_record records[] = { ALLOC(1, 11 * KIB), ALLOC_ON(2, 1, 1) };
	const struct frag_result *r;
	struct play p;
	uint32_t count;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 2, NULL);
	run(&p);
	r = frag_sim_results(p.sim, true, &count);
	assert_int_equal(r[0].status, FRAG_RUN_OOM);    /* it had stopped before */
	assert_int_equal(r[1].status, FRAG_RUN_INTERRUPTED);
	play_close(&p);
}

static int object(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	uint32_t *steps = ctx;

	(*steps)++;
	return step->event->step == 1 ? frag_fail(err, FRAG_EOUTPUT, "full") : 0;
}

/* What an observer says ends the simulation. */
static void test_observers(void **state)
{
	static const struct frag_record records[] = { ALLOC(1, 1), FREE(1), ALLOC(2, 1) };
	uint32_t steps = 0;
	const struct frag_observer observer = { .step = object, .ctx = &steps };
	struct play p;

	(void)state;
	open_play(&p, "direct", records, LENGTH(records), 1, NULL);
	for (uint32_t i = 1; i < FRAG_OBSERVERS_MAX; i++)
		assert_int_equal(frag_sim_observe(p.sim, &observer), 0);
	assert_int_equal(frag_sim_observe(p.sim, &observer), -FRAG_ENOMEM);
	assert_int_equal(play_run(&p), -FRAG_EOUTPUT);
	assert_string_equal(p.error.message, "full");
	assert_int_equal(p.row_count, 2);
	/* all at step 0; at step 1 the first to object is the last to be asked */
	assert_int_equal(steps, FRAG_OBSERVERS_MAX - 1 + 1);
	play_close(&p);
}

/* A device that does not open: those before it are closed again. */
static void test_device_does_not_open(void **state)
{
	struct frag_choice choice = play_choose("direct");
	struct play p;

	(void)state;
	faulty_begin(2, -FRAG_EDEVICE);
	assert_int_equal(play_open(&p, &choice, NULL, 0, two, 2, NULL), -FRAG_EDEVICE);
	assert_string_equal(p.error.message, "device faulty did not open");
	assert_int_equal(faulty.opened, 1);
	play_close(&p);
}

#define MIB (KIB * KIB)

/* A recording that begins with two segments of 20 MiB, in each a block of 12 MiB. */
struct begun {
	struct frag_initial initial[2];
	struct frag_first_state first;
	struct frag_spot places[2];
	uint32_t at;
};

static int begun_refill(void *state, struct frag_error *err)
{
	(void)err;
	return ((struct begun *)state)->at == 0;
}

static int begun_next(void *state, struct frag_record *rec, const char **kind,
		      struct frag_error *err)
{
	struct begun *b = state;

	(void)kind;
	(void)err;
	if (b->at == 2)
		return 0;
	*rec = (struct frag_record)ALLOC(b->at, 12 * MIB);
	rec->members |= FRAG_HAS_PLACE;
	rec->place = &b->places[b->at++];
	return 1;
}

static struct frag_first_state *begun_first(void *state)
{
	struct begun *b = state;

	b->first = (struct frag_first_state){ .segments = b->initial, .segment_count = 2 };
	return &b->first;
}

static const struct frag_source_ops begun_ops = {
	.form = "begun", .refill = begun_refill, .next = begun_next, .beginning = begun_first,
};

/* The result of pytorch on a device of so many MiB, or of a copy that is made halfway. */
static struct frag_result run_begun(uint64_t mib, bool copied)
{
	const struct frag_device_figures device = { .total = mib * MIB, .granularity = 2 * MIB };
	const struct frag_choice choice = play_choose("pytorch");
	struct begun b = { .at = 0 };
	struct frag_trace *trace;
	struct frag_sim *sim, *copy = NULL;
	struct frag_result result;
	struct frag_batch batch;
	struct frag_error err;
	uint32_t count;

	for (uint32_t i = 0; i < 2; i++) {
		b.initial[i] = (struct frag_initial){ .bytes = 20 * MIB, .large = true,
						      .live = 12 * MIB };
		b.places[i] = (struct frag_spot){ .initial = i, .bytes = 12 * MIB,
						  .room = 20 * MIB };
	}
	assert_int_equal(frag_trace_from(&trace, &begun_ops, &b, &device, 1, NULL, &err), 0);
	assert_int_equal(frag_sim_new(&sim, &choice, trace, NULL, &err), 0);
	assert_int_equal(frag_sim_begin(sim, &err), 0);
	if (copied)
		assert_int_equal(frag_sim_copy(&copy, sim, &err), 0);
	assert_int_equal(frag_trace_next(trace, &batch, &err), 0);
	assert_int_equal(batch.count, 2);
	assert_int_equal(frag_sim_feed(copied ? copy : sim, &batch, &err), 0);
	result = *frag_sim_results(copied ? copy : sim, false, &count);
	assert_int_equal(result.beginning.segments, 40 * MIB);
	assert_int_equal(result.beginning.live, 24 * MIB);
	assert_int_equal(result.status, FRAG_RUN_OK);
	assert_int_equal(result.counts.retries, 0);
	frag_sim_del(sim);
	frag_sim_del(copy);
	frag_trace_close(trace);
	return result;
}

/* Where the segments do not fit, the blocks take 12 MiB each, up to where the segments would. */
static void test_beginning_that_does_not_fit(void **state)
{
	struct frag_result r = run_begun(40, false);

	(void)state;
	assert_false(r.beginning.as_requests);
	assert_int_equal(r.last.reserved, 40 * MIB);
	assert_int_equal(r.min_capacity, 40 * MIB);
	for (int copied = 0; copied < 2; copied++) {
		r = run_begun(38, copied);
		assert_true(r.beginning.as_requests);
		assert_int_equal(r.peak.reserved, 24 * MIB);
		assert_int_equal(r.counts.segment_allocs, 2);
		assert_int_equal(r.min_capacity, 24 * MIB);
		assert_int_equal(r.end_capacity, 40 * MIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_at_oom),
		cmocka_unit_test(test_go_on_after_oom),
		cmocka_unit_test(test_two_devices),
		cmocka_unit_test(test_oom_on_one_device),
		cmocka_unit_test(test_refused_pool),
		cmocka_unit_test(test_pool_refused_on_one),
		cmocka_unit_test(test_most_that_is_kept),
		cmocka_unit_test(test_own_devices),
		cmocka_unit_test(test_empty_trace),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_observers),
		cmocka_unit_test(test_device_does_not_open),
		cmocka_unit_test(test_beginning_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
