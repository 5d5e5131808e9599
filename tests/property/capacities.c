/*
 * capacities.c - for which capacities a run is the same run: by brute force.
 *
 * Random traces are run on many capacities, and what was decided in each is summed up in one
 * number. A run says [min_capacity, end_capacity): every capacity within must have its number; where
 * nothing but the device's answers counts, every one outside must have another.
 */
#include <stdlib.h>
#include <string.h>

#include "fragsim/engine.h"
#include "support/play.h"
#include "support/random.h"
#include "support/random_events.h"
#include "support/records.h"
#include "support/unit.h"

#define TRACES repeats(4, 12)               /* a policy */
#define CAPACITIES 120          /* a trace */
#define EVENTS 300
#define MIB (UINT64_C(1) << 20)

struct outcome {
	uint64_t total, min_capacity, end_capacity;
	uint64_t sum;           /* of all decisions */
};

static void mix(uint64_t *sum, uint64_t value)
{
	*sum = (*sum ^ value) * UINT64_C(0x100000001b3);
	*sum ^= *sum >> 29;
}

/* Of a new range all but its length, which is the total's and decides nothing by itself. */
static int sum_up(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	uint64_t *sum = ctx;

	(void)err;
	mix(sum, step->event->step);
	mix(sum, step->status);
	mix(sum, step->placed);
	mix(sum, step->segment);
	mix(sum, step->offset);
	mix(sum, step->bytes);
	for (uint32_t i = 0; i < step->call_count; i++) {
		mix(sum, step->calls[i].kind);
		mix(sum, step->calls[i].ordinal);
		mix(sum, step->calls[i].offset);
		if (step->calls[i].kind != FRAG_CALL_NEW_RANGE
		    && step->calls[i].kind != FRAG_CALL_RELEASE_RANGE)
			mix(sum, step->calls[i].bytes);
	}
	return 0;
}

static struct outcome run(const struct frag_choice *choice, const struct frag_tape *tape,
			  const struct frag_device_figures *device, bool goes_on)
{
	const struct frag_sim_options options = { .devices = device, .on_oom_continue = goes_on };
	struct outcome o = { .total = device->total, .sum = UINT64_C(0xcbf29ce484222325) };
	const struct frag_observer observer = { .step = sum_up, .ctx = &o.sum };
	struct frag_error err = { .code = 0 };
	const struct frag_result *result;
	struct frag_sim *sim;
	uint32_t count;

	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, &options, &err), 0);
	assert_int_equal(frag_sim_observe(sim, &observer), 0);
	play_tape(sim, tape, 0, UINT64_MAX);
	result = frag_sim_results(sim, false, &count);
	o.min_capacity = result->min_capacity;
	o.end_capacity = result->end_capacity;
	/* an initial pool, granted or refused, is no step's */
	mix(&o.sum, result->counts.ooms);
	mix(&o.sum, result->peak.reserved);
	frag_sim_del(sim);
	return o;
}

/* What one run says of all others. `exact`: its bounds cannot be wider. */
static void compare(const struct outcome *o, const struct outcome *all, bool exact,
		    const char *policy, uint64_t seed)
{
	if (o->total && (o->total < o->min_capacity || o->total >= o->end_capacity))
		fail_msg("%s, seed %lu: %lu is not in its own [%lu, %lu)", policy,
			 (unsigned long)seed, (unsigned long)o->total, (unsigned long)o->min_capacity,
			 (unsigned long)o->end_capacity);
	for (uint32_t i = 0; i < CAPACITIES; i++) {
		const bool within = all[i].total >= o->min_capacity
				    && all[i].total < o->end_capacity;
		const bool same = all[i].sum == o->sum;

		if (within ? !same : exact && same)
			fail_msg("%s, seed %lu: a run on %lu says [%lu, %lu), and on %lu it is %s",
				 policy, (unsigned long)seed, (unsigned long)o->total,
				 (unsigned long)o->min_capacity, (unsigned long)o->end_capacity,
				 (unsigned long)all[i].total, same ? "the same" : "another");
	}
}

static void test_intervals(void **state)
{
	struct frag_error err = { .code = 0 };
	static struct outcome all[CAPACITIES];

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++) {
		/* that PyTorch goes by its fraction before the device answers is not exact, nor
		 * that what can be moved goes by what the device has left, nor that BFC obtains
		 * the rest of a total in one */
		const bool exact = strncmp(random_policies[p], "pytorch", 7) != 0
				   && strncmp(random_policies[p], "compact", 7) != 0
				   && strncmp(random_policies[p], "bfc", 3) != 0;
		uint32_t others = 0;

		for (uint64_t seed = 0; seed < TRACES; seed++) {
			uint64_t random = seed * 77 + p;
			struct frag_device_figures device = {
				.granularity = random_below(&random, 4) ? 2 * MIB : 1,
				.context = random_below(&random, 3) * 5000000,
				.other = random_below(&random, 2) * 3 * MIB,
			};
			const bool goes_on = seed % 3;
			struct random_events r;
			struct records source;
			struct frag_choice choice;
			struct frag_trace *trace;
			struct frag_tape *tape;
			struct outcome unlimited;

			random_events_init(&r, random, EVENTS, 1);
			assert_int_equal(frag_choice_parse(&choice, random_policies[p], &err), 0);
			trace = random_events_open(&r, &source, &device);
			assert_int_equal(frag_tape_new(&tape, trace, NULL, &err), 0);
			unlimited = run(&choice, tape, &device, goes_on);
			for (uint32_t i = 0; i < CAPACITIES; i++) {
				device.total = device.context + device.other
					       + (1 + random_below(&random, 200)) * 2 * MIB;
				if (i % 3 == 0)
					device.total += random_below(&random, MIB);
				/* the very edges of what others said */
				if (i % 3 == 1 && all[i - 1].end_capacity != UINT64_MAX)
					device.total = all[i - 1].end_capacity - (i & 2) / 2;
				if (i % 3 == 2 && all[i - 2].min_capacity > 1)
					device.total = all[i - 2].min_capacity - (i & 1);
				if (device.total <= device.context + device.other)
					device.total = device.context + device.other + 1;
				all[i] = run(&choice, tape, &device, goes_on);
			}
			for (uint32_t i = 0; i < CAPACITIES; i++) {
				compare(&all[i], all, exact, random_policies[p], seed);
				others += all[i].sum != all[0].sum;
			}
			if (unlimited.end_capacity == UINT64_MAX)
				compare(&unlimited, all, exact, random_policies[p], seed);
			frag_tape_del(tape);
			frag_trace_close(trace);
			random_events_fini(&r);
		}
		/* runs that never differ would prove nothing */
		assert_true(others > TRACES * CAPACITIES / 4);
	}
}

/* From event `at` on, which may have been reached with another total. */
static struct outcome rest_of(struct frag_sim *sim, const struct frag_tape *tape, uint64_t at)
{
	struct outcome o = { .sum = 0 };
	const struct frag_observer observer = { .step = sum_up, .ctx = &o.sum };
	struct frag_error err = { .code = 0 };
	const struct frag_result *result;
	uint32_t count;

	assert_int_equal(frag_sim_observe(sim, &observer), 0);
	play_tape(sim, tape, at, UINT64_MAX);
	result = frag_sim_results(sim, false, &count);
	o.min_capacity = result->min_capacity;
	o.end_capacity = result->end_capacity;
	mix(&o.sum, result->calls);
	mix(&o.sum, result->refused);
	mix(&o.sum, result->counts.ooms);
	mix(&o.sum, result->counts.retries);
	if (frag_heap_check(frag_sim_heap(sim, 0), &err))
		fail_msg("%s", err.message);
	frag_sim_del(sim);
	return o;
}

static struct frag_sim *run_until(const struct frag_choice *choice, const struct frag_tape *tape,
				  struct frag_device_figures device, uint64_t total, uint64_t at)
{
	const struct frag_sim_options options = {
		.devices = &device, .level = FRAG_LEVEL_SURVIVE, .on_oom_continue = true,
		.check = true,
	};
	struct frag_error err = { .code = 0 };
	struct frag_sim *sim;

	device.total = total;
	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, &options, &err), 0);
	play_tape(sim, tape, 0, at);
	return sim;
}

/* A total for which all so far is the same, mostly at an edge; 0: there is no other. */
static uint64_t another_total(const struct frag_sim *sim, uint64_t was, uint64_t *random)
{
	uint64_t min_capacity, end_capacity;

	frag_sim_interval(sim, 0, &min_capacity, &end_capacity);
	assert_true(was >= min_capacity && was < end_capacity);
	end_capacity = end_capacity < was + 400 * MIB ? end_capacity : was + 400 * MIB;
	min_capacity = min_capacity ? min_capacity : 1;
	switch (random_below(random, 3)) {
	case 0:
		return min_capacity;
	case 1:
		return end_capacity - 1;
	default:
		return min_capacity + random_below(random, end_capacity - min_capacity);
	}
}

/* A run that goes on with another total, against one that had it from the beginning. */
static void test_retotals(void **state)
{
	struct frag_error err = { .code = 0 };
	uint32_t differ = 0;

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++)
		for (uint64_t seed = 0; seed < 20 * TRACES; seed++) {
			uint64_t random = seed * 991 + p, total;
			const struct frag_device_figures device = {
				.granularity = random_below(&random, 4) ? 2 * MIB : 1,
				.context = random_below(&random, 3) * 5000000,
			};
			const uint64_t at = random_below(&random, EVENTS);
			const uint64_t was = device.context
					     + (1 + random_below(&random, 200)) * 2 * MIB;
			struct random_events r;
			struct records source;
			struct frag_choice choice;
			struct frag_trace *trace;
			struct frag_tape *tape;
			struct frag_sim *sim, *copy;
			struct outcome went_on, fresh;

			random_events_init(&r, random, EVENTS, 1);
			assert_int_equal(frag_choice_parse(&choice, random_policies[p], &err), 0);
			trace = random_events_open(&r, &source, &device);
			assert_int_equal(frag_tape_new(&tape, trace, NULL, &err), 0);
			sim = run_until(&choice, tape, device, was, at);
			assert_int_equal(frag_sim_copy(&copy, sim, &err), 0);
			total = another_total(sim, was, &random);
			assert_true(frag_sim_retotal(copy, 0, total));
			differ += total != was;
			went_on = rest_of(copy, tape, at);
			fresh = rest_of(run_until(&choice, tape, device, total, at), tape, at);
			/* what went on may know more totals for which it is the same: a range
			 * was once as long as what was mapped, and has been shorter since */
			if (went_on.sum != fresh.sum || went_on.min_capacity > fresh.min_capacity
			    || went_on.end_capacity < fresh.end_capacity)
				fail_msg("%s, seed %lu: event %lu was reached with %lu, then %lu is"
					 " not the same", random_policies[p], (unsigned long)seed,
					 (unsigned long)at, (unsigned long)was,
					 (unsigned long)total);
			frag_sim_del(sim);
			frag_tape_del(tape);
			frag_trace_close(trace);
			random_events_fini(&r);
		}
	assert_true(differ > TRACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intervals), cmocka_unit_test(test_retotals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
