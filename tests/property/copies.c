/*
 * copies.c - runs copied in mid-run end as those that were not.
 *
 * The judge is a run of the same trace from its beginning. A run is copied at random
 * moments, copies are copied, some go on alone and some are dropped half way; each step of
 * each of them, with its place and its metrics, must be that of the judge.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/engine.h"
#include "support/play.h"
#include "support/random.h"
#include "support/random_events.h"
#include "support/records.h"
#include "support/unit.h"

#define TRACES repeats(5, 20)               /* a policy */
#define COPIES 10               /* a trace */
#define EVENTS 800

struct row {
	uint64_t step, offset, bytes, requested, allocated, reserved, free, non_releasable, releasable;
	int64_t device_free;
	double fi_device;
	uint32_t segment, calls, status;
};

struct rows {
	struct row row[EVENTS];
	uint32_t count;
};

static int note(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct rows *rows = ctx;
	const struct frag_metrics *m = step->metrics;

	(void)err;
	rows->row[rows->count++] = (struct row){
		.step = step->event->step, .offset = step->offset, .bytes = step->bytes,
		.segment = step->segment, .calls = step->call_count, .status = step->status,
		.requested = m->requested, .allocated = m->allocated, .reserved = m->reserved,
		.free = m->free, .non_releasable = m->non_releasable, .releasable = m->releasable,
		.device_free = m->device_free, .fi_device = m->fi_device,
	};
	return 0;
}

static bool same_row(const struct row *a, const struct row *b)
{
	return a->step == b->step && a->offset == b->offset && a->bytes == b->bytes
	       && a->segment == b->segment && a->calls == b->calls && a->status == b->status
	       && a->requested == b->requested && a->allocated == b->allocated
	       && a->reserved == b->reserved && a->free == b->free && a->non_releasable == b->non_releasable
	       && a->releasable == b->releasable && a->device_free == b->device_free
	       && a->fi_device == b->fi_device;
}

static const struct frag_result *result_of(struct frag_sim *sim)
{
	uint32_t count;

	return frag_sim_results(sim, false, &count);
}

/* By members: the bytes between them are nobody's. */
static void same_spread(const struct frag_distribution *a, const struct frag_distribution *b)
{
	assert_memory_equal(a, b, offsetof(struct frag_distribution, weighted));
	assert_int_equal(a->weighted, b->weighted);
	assert_memory_equal(&a->time_weighted_mean, &b->time_weighted_mean, sizeof(double));
	assert_int_equal(a->severe_steps, b->severe_steps);
}

static void same_result(struct frag_sim *one, struct frag_sim *other)
{
	const struct frag_result *a = result_of(one), *b = result_of(other);
	struct frag_error err = { .code = 0 };

	assert_int_equal(a->status, b->status);
	assert_int_equal(a->steps, b->steps);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
	assert_memory_equal(&a->peak, &b->peak, sizeof(a->peak));
	same_spread(&a->fi, &b->fi);
	same_spread(&a->fi_device, &b->fi_device);
	same_spread(&a->internal, &b->internal);
	assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
	assert_int_equal(a->oom_count, b->oom_count);
	assert_int_equal(a->mark_count, b->mark_count);
	for (uint32_t i = 0; i < a->oom_count; i++) {
		assert_int_equal(a->ooms[i].tried, b->ooms[i].tried);
		assert_memory_equal(&a->ooms[i].metrics, &b->ooms[i].metrics,
				    sizeof(a->ooms[i].metrics));
	}
	for (uint32_t i = 0; i < a->mark_count; i++)
		assert_int_equal(a->marks[i].step, b->marks[i].step);
	if (frag_heap_check(frag_sim_heap(other, 0), &err))
		fail_msg("%s", err.message);
}

/* The copy goes on from `at`, where its original is, and must do what the judge did. */
static void go_on(const struct frag_sim *from, const struct frag_tape *tape, uint64_t at,
		  uint64_t until, struct frag_sim *judge, const struct rows *want)
{
	static struct rows rows;
	const struct frag_observer observer = { .step = note, .ctx = &rows };
	struct frag_error err = { .code = 0 };
	struct frag_sim *copy;

	rows.count = 0;
	if (frag_sim_copy(&copy, from, &err))
		fail_msg("%s", err.message);
	assert_int_equal(frag_sim_observe(copy, &observer), 0);
	play_tape(copy, tape, at, until);
	assert_true(rows.count <= want->count);
	for (uint32_t i = 0; i < rows.count; i++)
		assert_true(same_row(&rows.row[i], &want->row[at + i]));
	if (until >= EVENTS) {
		assert_int_equal(at + rows.count, want->count > at ? want->count : at);
		same_result(judge, copy);
	}
	frag_sim_del(copy);
}

static void copy_at_random(const struct frag_choice *choice, const struct frag_tape *tape,
			   const struct frag_sim_options *options, uint64_t *random,
			   struct frag_sim *judge, const struct rows *want)
{
	struct frag_error err = { .code = 0 };
	struct frag_sim *sim, *next;
	uint64_t at = 0;

	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, options, &err), 0);
	for (uint32_t i = 0; i < COPIES; i++) {
		const uint64_t to = at + random_below(random, 2 * EVENTS / COPIES);

		go_on(sim, tape, at, at + random_below(random, EVENTS), judge, want);
		go_on(sim, tape, at, UINT64_MAX, judge, want);
		play_tape(sim, tape, at, to);
		at = to < EVENTS ? to : EVENTS;
		/* the run itself is a copy of a copy, and its original is gone */
		assert_int_equal(frag_sim_copy(&next, sim, &err), 0);
		frag_sim_del(sim);
		sim = next;
	}
	play_tape(sim, tape, at, UINT64_MAX);
	same_result(judge, sim);
	frag_sim_del(sim);
}

static void test_copies(void **state)
{
	static struct rows want;
	const struct frag_observer observer = { .step = note, .ctx = &want };
	struct frag_error err = { .code = 0 };

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++) {
		for (uint64_t seed = 0; seed < TRACES; seed++) {
			uint64_t random = seed * 1000 + p;
			const struct frag_device_figures device = {
				.total = random_capacity(&random), .granularity = 2 << 20,
			};
			const struct frag_sim_options options = {
				.on_oom_continue = seed % 4, .on_oom = &frag_oom_explain,
			};
			struct random_events r;
			struct records source;
			struct frag_choice choice;
			struct frag_trace *trace;
			struct frag_tape *tape;
			struct frag_sim *judge;

			random_events_init(&r, random, EVENTS, 1);
			assert_int_equal(frag_choice_parse(&choice, random_policies[p], &err), 0);
			trace = random_events_open(&r, &source, &device);
			assert_int_equal(frag_tape_new(&tape, trace, NULL, &err), 0);
			assert_int_equal(frag_sim_on_tape(&judge, &choice, tape, &options, &err), 0);
			want.count = 0;
			assert_int_equal(frag_sim_observe(judge, &observer), 0);
			play_tape(judge, tape, 0, UINT64_MAX);
			copy_at_random(&choice, tape, &options, &random, judge, &want);
			frag_sim_del(judge);
			frag_tape_del(tape);
			frag_trace_close(trace);
			random_events_fini(&r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_copies) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
