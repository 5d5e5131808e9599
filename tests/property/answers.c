/*
 * answers.c - what a report says beyond the figures of a run: by brute force.
 *
 * Random traces are run on devices that some of them run out of. The smallest larger device is
 * looked for page by page; what the whole trace needs, from its events; who pins free memory, by
 * going through all pairs of blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "explain/diagnose_run.h"
#include "support/play.h"
#include "support/random.h"
#include "support/random_events.h"
#include "support/records.h"
#include "support/unit.h"

#define TRACES 16               /* a policy */
#define EVENTS 300
#define MIB (UINT64_C(1) << 20)
#define PAGE (2 * MIB)
#define BLOCKS_MAX 512
#define TAGS_MAX 64

struct outcome {
	enum frag_run_status status;
	uint64_t peak_reserved;
};

static struct outcome run(const struct frag_choice *choice, const struct frag_tape *tape,
			  const struct frag_device_figures *device)
{
	const struct frag_sim_options options = { .devices = device, .level = FRAG_LEVEL_PEAKS };
	struct frag_error err = { .code = 0 };
	struct outcome o;
	struct frag_sim *sim;
	uint32_t count;

	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, &options, &err), 0);
	play_tape(sim, tape, 0, UINT64_MAX);
	o.status = frag_sim_results(sim, false, &count)->status;
	o.peak_reserved = frag_sim_results(sim, false, &count)->peak.reserved;
	frag_sim_del(sim);
	return o;
}

/* The most bytes that are requested at a time; a pending block is none any more. */
static uint64_t requested_peak(const struct frag_tape *tape)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	uint64_t *bytes = calloc(EVENTS + 1, sizeof(*bytes)), now = 0, max = 0;
	struct frag_batch batch;

	assert_non_null(reader);
	assert_non_null(bytes);
	do {
		frag_tape_next(reader, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count; i++) {
			const struct frag_event *ev = &batch.events[i];

			if (ev->op == FRAG_OP_ALLOC) {
				bytes[ev->slot] = ev->bytes;
				now += ev->bytes;
			} else if (ev->op == FRAG_OP_FREE) {
				now -= bytes[ev->slot];
			}
			max = now > max ? now : max;
		}
	} while (batch.count);
	free(bytes);
	frag_tape_reader_del(reader);
	return max;
}

struct block {
	uint64_t bytes;
	uint32_t ordinal, tag;
	bool live, free, range, kept;
};

struct picture {
	const struct frag_sim *sim;
	struct block block[BLOCKS_MAX];
	uint32_t count;
};

struct lookup {
	const struct frag_block_view *view;
	uint32_t tag;
};

static void find_tag(void *ctx, const struct frag_live *live)
{
	struct lookup *l = ctx;

	if (live->block.segment == l->view->segment && live->block.offset == l->view->offset)
		l->tag = live->tag;
}

static void draw(void *ctx, const struct frag_segment_view *seg, const struct frag_block_view *b)
{
	struct picture *p = ctx;
	struct lookup l = { .view = b };
	bool live;

	if (!b)
		return;
	assert_true(p->count < BLOCKS_MAX);
	live = b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING;
	if (live)
		frag_sim_walk(p->sim, 0, &l, find_tag);
	p->block[p->count++] = (struct block){
		.bytes = b->bytes, .ordinal = seg->ordinal, .tag = l.tag, .live = live,
		.free = b->state == FRAG_FREE,
		.range = seg->page != 0, .kept = seg->kept,
	};
}

/* Free bytes in segments that have live blocks, and those that one tag alone pins. */
static void expect_pins(const struct frag_sim *sim, const struct frag_device_state *m)
{
	static struct picture p;
	uint64_t non_releasable = 0, alone[TAGS_MAX] = { 0 }, best = 0;

	p = (struct picture){ .sim = sim };
	frag_heap_walk(frag_sim_heap(sim, 0), &p, draw);
	for (uint32_t i = 0; i < p.count; i++) {
		uint32_t tag = UINT32_MAX;
		bool pinned = false, shared = false;

		if (p.block[i].range)
			return;         /* by pages: test_moment has those */
		if (!p.block[i].free || p.block[i].kept)
			continue;
		for (uint32_t k = 0; k < p.count; k++) {
			const struct block *other = &p.block[k];

			if (other->ordinal != p.block[i].ordinal || !other->live)
				continue;
			shared = shared || (pinned && tag != other->tag);
			pinned = true;
			tag = other->tag;
		}
		non_releasable += pinned ? p.block[i].bytes : 0;
		assert_true(!pinned || tag < TAGS_MAX);
		if (pinned && !shared)
			alone[tag] += p.block[i].bytes;
	}
	assert_int_equal(m->non_releasable, non_releasable);
	for (uint32_t t = 0; t < TAGS_MAX; t++)
		best = alone[t] > best ? alone[t] : best;
	if (!non_releasable) {
		assert_int_equal(m->blocking_count, 0);
		return;
	}
	assert_true(m->blocking_count > 0);
	assert_int_equal(m->blocking[0].alone, best > 0);
	if (best)
		assert_int_equal(m->blocking[0].non_releasable, best);
	for (uint32_t i = 1; i < m->blocking_count; i++)
		assert_true(m->blocking[i].non_releasable <= m->blocking[i - 1].non_releasable);
}

static uint32_t failed, fitting, found, lucky, at_end;

/* From the smallest on, half of it up: the least device from which it survives on all of them. */
static void expect_safe(const struct frag_diagnosis *a, const struct frag_choice *choice,
			const struct frag_tape *tape, struct frag_device_figures device)
{
	const uint64_t first = device.total;
	uint64_t safe = first;

	for (; (double)device.total < 1.5 * (double)first; device.total += PAGE)
		if (run(choice, tape, &device).status == FRAG_RUN_OOM)
			safe = device.total + PAGE;
	/* a stretch that fails may go on beyond */
	if ((double)safe < 1.5 * (double)first)
		assert_int_equal(a->reliable, safe);
	lucky += safe != first;
}

/* One trace under one policy on one device. */
static void compare(const struct frag_choice *choice, const struct frag_tape *tape,
		    struct frag_device_figures device)
{
	const struct frag_sim_options options = { .devices = &device };
	struct frag_device_figures unlimited = device;
	struct frag_trials trials = { .tape = tape, .options = &options };
	const unsigned wanted = FRAG_WANTED_DEVICE | FRAG_WANTED_FIX;
	struct frag_error err = { .code = 0 };
	const struct frag_result *result;
	struct frag_diagnosis a = { .requested = 0 };
	struct frag_sim *sim;
	uint32_t count;

	unlimited.total = 0;
	if (run(choice, tape, &unlimited).status == FRAG_RUN_OOM)
		return;         /* by a limit of the policy's own: no device is large enough */
	assert_int_equal(frag_sim_on_tape(&sim, choice, tape, &options, &err), 0);
	play_tape(sim, tape, 0, UINT64_MAX);
	result = frag_sim_results(sim, false, &count);
	assert_int_equal(frag_diagnose_runs(&a, &trials, &sim, 1, true, &wanted, &err), 0);
	at_end += a.has_peak
		  && frag_tape_event(tape, result->peak_step) + 1 >= frag_tape_info(tape)->events;
	assert_int_equal(a.requested, requested_peak(tape));
	if (result->status == FRAG_RUN_OOM) {
		struct outcome o;

		failed++;
		do {
			device.total += PAGE;
			o = run(choice, tape, &device);
		} while (o.status == FRAG_RUN_OOM);
		assert_int_equal(a.smallest, device.total);
		expect_safe(&a, choice, tape, device);
		assert_false(a.has_peak);
	} else {
		struct frag_sim *then;

		fitting++;
		assert_true(a.has_peak);
		assert_int_equal(frag_sim_on_tape(&then, choice, tape, &options, &err), 0);
		play_tape(then, tape, 0, frag_tape_event(tape, result->peak_step) + 1);
		expect_pins(then, &a.peak);
		frag_sim_del(then);
	}
	if (a.fix.found) {
		struct outcome o;

		found++;
		device.total = result->total;
		o = run(&a.fix.choice, tape, &device);
		assert_int_equal(o.status, FRAG_RUN_OK);
		assert_int_equal(o.peak_reserved, a.fix.reserved);
	}
	frag_device_state_fini(&a.peak);
	frag_sim_del(sim);
}

static void test_answers(void **state)
{
	struct frag_error err = { .code = 0 };

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++) {
		for (uint64_t seed = 0; seed < TRACES; seed++) {
			uint64_t random = seed * 91 + p;
			struct frag_device_figures device = {
				.granularity = PAGE, .context = random_below(&random, 3) * 5000000,
			};
			struct random_events r;
			struct records source;
			struct frag_choice choice;
			struct frag_trace *trace;
			struct frag_tape *tape;

			random_events_init(&r, random, EVENTS, 1);
			assert_int_equal(frag_choice_parse(&choice, random_policies[p], &err), 0);
			trace = random_events_open(&r, &source, &device);
			assert_int_equal(frag_tape_new(&tape, trace, NULL, &err), 0);
			device.total = device.context + (1 + random_below(&random, 700)) * PAGE;
			compare(&choice, tape, device);
			frag_tape_del(tape);
			frag_trace_close(trace);
			random_events_fini(&r);
		}
	}
	/* else this would prove nothing */
	print_message("# %u failed, %u fit, %u remedies, %u holes, %u at their end\n", failed,
		      fitting, found, lucky, at_end);
	assert_true(failed > 50 && fitting > 50 && found > 3 && at_end > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
