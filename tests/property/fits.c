/*
 * fits.c - what a fit says of every capacity, against a run on each: by brute force.
 *
 *     fits [TRACES]
 *
 * Random traces are run, in full and watched, on every capacity of a lattice. What the walk says
 * of one must be what its run comes to, and smallest, reliable, the failing ranges and the rest are concluded here
 * once more, from those runs alone. tests/commands/fit does the same from outside, for fewer traces.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fragsim/engine.h"
#include "search/fit_all.h"
#include "support/play.h"
#include "support/random.h"
#include "support/random_events.h"
#include "support/records.h"
#include "support/unit.h"

#define POINTS 700              /* capacities of a lattice */
#define NONE UINT64_MAX
#define MIB (UINT64_C(1) << 20)
#define SMALL_PAGE (2 * MIB)
#define RANGES 4000
#define TRACES_MAX 3            /* of a joint fit */

static uint32_t traces;

static const char *const more_policies[] = {
	"bfc:garbage_collection=true,memory_limit=300MiB",
	"bfc:fragmentation_fraction=0.05,memory_limit=1GiB", "buddy:pool=8MiB", "sizeclass:slab=4MiB", "worstfit:pool=30MiB,release=false",
	"pytorch:roundup_power2_divisions=8",
	"pytorch:max_split_size_mb=32,large_segment_size_mb=32",
	("pytorch:expandable_segments=true,max_split_size_mb=64,garbage_collection_threshold=0.6,"
	 "per_process_memory_fraction=0.99"),
	"pytorch:expandable_segments=true,roundup_power2_divisions=16,large_segment_size_mb=64",
	"pytorch:version=2.12", "pytorch:version=2.12,expandable_segments=true",
	"pytorch:version=2.11", "pytorch:version=2.9,max_split_size_mb=32",
	"pytorch:version=2.3,roundup_power2_divisions=1",
};

/* Whose small requests can be simulated apart. */
static const char *const plain_policies[] = {
	"pytorch", "pytorch:max_split_size_mb=20", "pytorch:roundup_power2_divisions=8",
	"pytorch:max_split_size_mb=32,large_segment_size_mb=32",
	"pytorch:per_process_memory_fraction=0.9,large_segment_size_mb=64",
	("pytorch:max_split_size_mb=20,garbage_collection_threshold=0.6,"
	 "per_process_memory_fraction=0.8"),
	"pytorch:throw_on_cudamalloc_oom=true,per_process_memory_fraction=0.7",
};

/* One trace on one device under one policy, and all of its lattice. */
struct world {
	struct random_events events;
	struct records source;
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_choice choice;
	struct frag_device_figures figures[3];
	uint32_t devices, device;
	uint64_t taken, page;
	uint64_t peak;                  /* of what is requested at once */
	char what[400];                 /* for messages */
};

/* What a run comes to, counted by who watches it. */
struct end {
	bool fits;
	uint64_t oom_step, calls, retries, refused, peak_reserved;
};

struct watch {
	uint32_t device;
	uint64_t calls, large_page;
	uint64_t segments;              /* obtained in a step */
	uint64_t pages[RANGES];         /* of ranges, by ordinal; 0: nothing has been mapped yet */
};

/* Small requests need one page of 2 MiB at a time, and larger ones at least one larger page. */
static uint64_t pages_of(struct watch *w, const struct frag_call *call)
{
	assert_true(call->ordinal < RANGES);
	if (!w->pages[call->ordinal])
		w->pages[call->ordinal] = call->bytes == SMALL_PAGE ? SMALL_PAGE : w->large_page;
	assert_int_equal(call->bytes % w->pages[call->ordinal], 0);
	return call->bytes / w->pages[call->ordinal];
}

static int count_calls(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct watch *w = ctx;

	(void)err;
	for (uint32_t i = 0; step->device == w->device && i < step->call_count; i++) {
		const struct frag_call *call = &step->calls[i];

		if (call->kind == FRAG_CALL_NEW || call->kind == FRAG_CALL_RELEASE)
			w->calls++;
		if (call->kind == FRAG_CALL_MAP || call->kind == FRAG_CALL_UNMAP)
			w->calls += pages_of(w, call);
	}
	return 0;
}

/* PyTorch does not count every second try, so that the device has to be listened to. */
static uint64_t refusals;
/* What a policy tries in a fork is no call: these are the run's own devices. */
static const struct frag_device *own[8];
static uint32_t own_count;

static void listen_ready(struct frag_device *dev)
{
	assert_true(own_count < sizeof(own) / sizeof(own[0]));
	own[own_count++] = dev;
}

static void count_refusal(const struct frag_device *dev, int rc)
{
	for (uint32_t i = 0; i < own_count && rc; i++) {
		if (own[i] != dev)
			continue;
		refusals++;
		return;
	}
}

static int listen_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	const int rc = frag_device_simulated.acquire(dev, bytes, addr, cost_ns);

	count_refusal(dev, rc);
	return rc;
}

static int listen_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		      uint64_t page, uint64_t *cost_ns)
{
	const int rc = frag_device_simulated.map(dev, addr, offset, bytes, page, cost_ns);

	count_refusal(dev, rc);
	return rc;
}

static uint64_t param_of(const struct frag_choice *choice, const char *name, uint64_t otherwise)
{
	const struct frag_param_spec *spec = choice->ops->params;

	for (uint32_t i = 0; spec && spec[i].name; i++)
		if (strcmp(spec[i].name, name) == 0)
			return choice->param[i];
	return otherwise;
}

/* With this capacity, of which others hold so much more. */
static struct end run(const struct world *w, uint64_t total, uint64_t other)
{
	struct frag_device_figures figures[3];
	struct frag_device_ops device = frag_device_simulated;
	const struct frag_sim_options options = { .devices = figures, .device = &device };
	static struct watch watch;
	const struct frag_observer observer = { .step = count_calls, .ctx = &watch };
	struct frag_error err = { .code = 0 };
	const struct frag_result *r;
	struct frag_sim *sim;
	struct end end;
	uint32_t count;

	memcpy(figures, w->figures, sizeof(figures));
	figures[w->device].total = total ? total : 1;
	figures[w->device].other += other;
	watch = (struct watch){
		.device = w->device,
		.large_page = param_of(&w->choice, "large_segment_size_mb", 20) * MIB,
	};
	device.ready = listen_ready;
	device.acquire = listen_acquire;
	device.map = listen_map;
	refusals = own_count = 0;
	assert_int_equal(frag_sim_on_tape(&sim, &w->choice, w->tape, &options, &err), 0);
	assert_int_equal(frag_sim_observe(sim, &observer), 0);
	play_tape(sim, w->tape, 0, UINT64_MAX);
	r = &frag_sim_results(sim, false, &count)[w->device];
	end = (struct end){
		.fits = r->status == FRAG_RUN_OK, .oom_step = r->oom_count ? r->ooms[0].step : 0,
		.calls = watch.calls, .retries = r->counts.retries, .refused = refusals,
		.peak_reserved = r->peak.reserved,
	};
	/* a pool is obtained before the first step */
	if (param_of(&w->choice, "pool", 0) && r->counts.segment_allocs)
		end.calls++;
	frag_sim_del(sim);
	return end;
}

/* What is requested at once, from the records; the same whatever happens. */
static uint64_t peak_of(const struct world *w)
{
	uint64_t *sizes = calloc(w->events.count + 1, sizeof(*sizes)), now = 0, peak = 0;

	assert_non_null(sizes);
	for (uint32_t i = 0; i < w->events.count; i++) {
		const struct frag_record *r = &w->events.records[i];
		const uint64_t id = r->id.number;

		if (r->op == FRAG_OP_ALLOC
		    && (r->members & FRAG_HAS_DEVICE ? r->device : 0) == w->device)
			sizes[id] = r->size;
		if (r->op == FRAG_OP_ALLOC)
			now += sizes[id];
		if (r->op == FRAG_OP_FREE)
			now -= sizes[id];
		peak = now > peak ? now : peak;
	}
	free(sizes);
	return peak;
}

static void open_world(struct world *w, const char *policy, uint64_t seed, uint64_t page,
		       bool plain)
{
	uint64_t random = seed;
	struct frag_error err = { .code = 0 };

	*w = (struct world){ .devices = plain || random_below(&random, 4) ? 1 : 3 };
	if (plain)
		random_events_plain(&w->events, random, 60 + (uint32_t)random_below(&random, 400));
	else
		random_events_init(&w->events, random, 40 + (uint32_t)random_below(&random, 250),
				   w->devices);
	w->choice = play_choose(policy);
	w->device = (uint32_t)random_below(&random, w->devices);
	w->peak = peak_of(w);
	for (uint32_t d = 0; d < w->devices; d++) {
		w->figures[d] = (struct frag_device_figures){
			.granularity = page ? page : 1 + w->peak / (30 + random_below(&random, 150)),
			.context = random_below(&random, 3) ? 0 : random_below(&random, 9 * MIB),
			.other = random_below(&random, 4) ? 0 : 3 * MIB + 1,
		};
		if (!page && random_below(&random, 2))
			w->figures[d].granularity = w->peak < 200 * MIB ? MIB : 4 * MIB;
	}
	w->taken = w->figures[w->device].context + w->figures[w->device].other;
	w->page = w->figures[w->device].granularity;
	w->trace = random_events_open(&w->events, &w->source, w->figures);
	assert_int_equal(frag_tape_new(&w->tape, w->trace, NULL, &err), 0);
	snprintf(w->what, sizeof(w->what), "%s, seed %lu, device %u of %u", policy,
		 (unsigned long)seed, w->device, w->devices);
}

static void close_world(struct world *w)
{
	frag_tape_del(w->tape);
	frag_trace_close(w->trace);
	random_events_fini(&w->events);
}

static struct frag_fit_case subject_of(const struct world *w)
{
	return (struct frag_fit_case){
		.tape = w->tape, .choice = &w->choice, .devices = w->figures, .device = w->device,
	};
}

static uint64_t lattice(const struct world *w, uint64_t bytes)
{
	if (bytes <= w->taken)
		return w->taken;
	return w->taken + (bytes - w->taken + w->page - 1) / w->page * w->page;
}

static void same(const struct world *w, const char *what, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		fail_msg("%s: %s is %ld, not %ld", w->what, what, (long)got, (long)wanted);
}

static void compare(const struct world *w, uint64_t total, const struct frag_interval *k,
		    const struct end *end)
{
	char what[100];

	snprintf(what, sizeof(what), "on %lu, in [%lu, %lu): survives", (unsigned long)total,
		 (unsigned long)k->min_capacity, (unsigned long)k->end_capacity);
	same(w, what, k->outcome.fits, end->fits);
	same(w, "its step", k->outcome.oom_step, end->oom_step);
	same(w, "its calls", k->outcome.calls, end->calls);
	same(w, "its retries", k->outcome.retries, end->retries);
	same(w, "its refusals", k->outcome.refused, end->refused);
}

/* By the device, or by a limit of the program's own. */
static bool is_refused(const struct end *end)
{
	return end->refused || end->retries || !end->fits;
}

/* All capacities that were looked at, of one trace or of several. */
struct point {
	uint64_t total;
	bool fits, refused;
	struct end end;                 /* of the first trace */
};

struct points {
	struct point of[POINTS];
	uint32_t count;
};

/* From those alone: what the fit is to be; -1 where there is none. */
static void conclude(const struct world *w, const struct points *p, const struct frag_fit *fit)
{
	uint64_t smallest = NONE, safe = NONE, no_refusal = NONE, from = NONE;
	uint32_t holes = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct point *k = &p->of[i];

		if (k->refused)
			no_refusal = NONE;
		else if (no_refusal == NONE)
			no_refusal = k->total;
		if (k->fits && from != NONE) {
			assert_true(holes < fit->failing_count);
			same(w, "the beginning of a hole", fit->failing[holes].from, from);
			same(w, "its end", fit->failing[holes++].to, k->total);
			from = NONE;
		} else if (!k->fits && safe != NONE) {
			from = k->total;
		}
		if (!k->fits)
			safe = NONE;
		else if (safe == NONE)
			safe = k->total;
		if (k->fits && smallest == NONE)
			smallest = k->total;
	}
	if (from != NONE) {
		same(w, "holes", fit->failing_count, holes + 1);
		same(w, "the beginning of the last hole", fit->failing[holes].from, from);
		same(w, "its end", fit->failing[holes].to, fit->examined_to);
	} else {
		same(w, "holes", fit->failing_count, holes);
	}
	same(w, "smallest", fit->smallest, smallest);
	same(w, "safe", fit->reliable, safe);
	same(w, "no_refusal", fit->no_refusal, no_refusal);
}

static const struct point *point_at(const struct points *p, uint64_t total)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->of[i].total == total)
			return &p->of[i];
	return NULL;
}

/* The walk: each interval's capacities, and where it ended by the rules. */
static void check_walk(const struct world *w, const struct frag_fit_intervals *s,
		       const struct frag_fit *fit, const struct frag_fit_bounds *bounds)
{
	static struct points points;
	uint64_t total = lattice(w, w->taken + w->peak), smallest = NONE, runs = 0;
	struct end end;

	points.count = 0;
	same(w, "floor", fit->lower_bound, total);
	same(w, "examined_to", fit->examined_to, s->count ? s->intervals[s->count - 1].end_capacity
							  : total);
	for (uint32_t i = 0; i < s->count; i++, runs++) {
		const struct frag_interval *k = &s->intervals[i];
		const uint64_t up_to = bounds->up_to ? bounds->up_to
				       : smallest == NONE ? NONE : smallest + smallest / 2;
		const uint64_t most = k->end_capacity == NONE ? total + 3 * w->page : k->end_capacity;
		bool first = true;

		if (total > up_to || total < k->min_capacity || total >= k->end_capacity)
			fail_msg("%s: %lu is next, up to %lu: [%lu, %lu)", w->what,
				 (unsigned long)total, (unsigned long)up_to,
				 (unsigned long)k->min_capacity, (unsigned long)k->end_capacity);
		for (; total < most; total += w->page) {
			/* all of a stretch that is long are the same, and need not all be tried */
			if (points.count > POINTS / 2 && !first && total + w->page < most)
				continue;
			first = false;
			assert_true(points.count < POINTS);
			end = run(w, total, 0);
			compare(w, total, k, &end);
			points.of[points.count++] = (struct point){
				.total = total, .fits = end.fits,
				.refused = is_refused(&end), .end = end,
			};
			if (end.fits && smallest == NONE)
				smallest = total;
		}
		if (k->end_capacity == NONE) {
			end = run(w, total * 11, 0);
			compare(w, total * 11, k, &end);
		}
	}
	same(w, "runs", fit->runs, runs);
	if (fit->examined_to != NONE && runs < bounds->runs
	    && total <= (bounds->up_to ? bounds->up_to : smallest + smallest / 2))
		fail_msg("%s: ended before %lu", w->what, (unsigned long)total);
	conclude(w, &points, fit);
	if (fit->smallest != NONE)
		same(w, "peak at smallest", fit->at_smallest.peak_reserved,
		     point_at(&points, fit->smallest)->end.peak_reserved);
	if (fit->reliable != NONE)
		same(w, "calls at safe", fit->at_reliable.calls,
		     point_at(&points, fit->reliable)->end.calls);
	if (fit->lower_bound > w->taken) {
		end = run(w, fit->lower_bound - w->page, 0);
		same(w, "intervals below the floor", end.fits, false);
	}
}

/* Every multiple of the page, one after the other. */
static void check_room(const struct world *w, uint64_t total)
{
	const struct frag_fit_case subject = subject_of(w);
	struct frag_error err = { .code = 0 };
	uint64_t got, wanted = NONE;

	assert_int_equal(frag_fit_headroom(&subject, total, &got, &err), 0);
	for (uint64_t room = 0; w->taken + room <= total && run(w, total, room).fits;
	     room += w->page)
		wanted = room;
	same(w, "static room", got, wanted);
}

static struct frag_fit_bounds random_bounds(uint64_t *random, const struct world *w)
{
	struct frag_fit_bounds b = { .up_to = 0, .runs = FRAG_FIT_RUNS };

	if (random_below(random, 4) == 0)
		b.runs = 1 + random_below(random, 12);
	if (random_below(random, 4) == 0)
		b.up_to = w->taken + w->peak / 2 + random_below(random, 2 * w->peak + 2);
	return b;
}

struct seen {
	uint64_t holes, nowhere, rooms;
};

static void try_one(const char *policy, uint64_t seed, struct seen *seen)
{
	struct frag_error err = { .code = 0 };
	struct frag_fit_intervals intervals, *list[] = { &intervals };
	struct frag_fit_bounds bounds;
	struct frag_fit_case subject;
	struct frag_fit fit;
	struct world w;
	uint64_t random = seed;

	open_world(&w, policy, seed, 0, false);
	subject = subject_of(&w);
	assert_int_equal(frag_fit_intervals_init(&intervals, &subject, NULL, NULL, &err), 0);
	intervals.checkpoints.stride = 1 + random_below(&random, 60);
	bounds = random_bounds(&random, &w);
	assert_int_equal(frag_fit_walk(&fit, list, 1, w.taken + w.peak, &bounds, &err), 0);
	assert_int_equal(frag_fit_peaks(&fit, &subject, &err), 0);
	check_walk(&w, &intervals, &fit, &bounds);
	if (seed % 2 && fit.smallest != NONE) {
		check_room(&w, fit.smallest + random_below(&random, 40 * w.page));
		seen->rooms++;
	}
	seen->holes += fit.failing_count;
	seen->nowhere += fit.smallest == NONE;
	free(fit.failing);
	frag_fit_intervals_fini(&intervals);
	close_world(&w);
}

static void try_policy(const char *policy, uint64_t number, struct seen *seen)
{
	for (uint64_t seed = 0; seed < traces; seed++)
		try_one(policy, seed * 1000 + number, seen);
}

static void test_every_capacity(void **state)
{
	struct seen seen = { .holes = 0 };
	uint64_t number = 0;

	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++)
		try_policy(random_policies[p], number++, &seen);
	for (uint32_t p = 0; p < LENGTH(more_policies); p++)
		try_policy(more_policies[p], number++, &seen);
	print_message("# %lu holes, %lu that survive nowhere, %lu rooms\n",
		      (unsigned long)seen.holes, (unsigned long)seen.nowhere,
		      (unsigned long)seen.rooms);
	/* what never happened would not have been tested */
	assert_true(seen.holes && seen.nowhere && seen.rooms);
}

/* Several traces: the lattice is the first's, and each of its capacities is looked at. */
static void try_joint(const char *policy, uint64_t seed)
{
	struct frag_fit_intervals intervals[TRACES_MAX], *list[TRACES_MAX];
	static struct points points;
	struct frag_error err = { .code = 0 };
	struct world w[TRACES_MAX];
	uint64_t random = seed, floor = 0;
	const uint32_t count = 2 + (uint32_t)random_below(&random, 2);
	struct frag_fit_bounds bounds;
	struct frag_fit fit;

	for (uint32_t i = 0; i < count; i++) {
		struct frag_fit_case subject;

		open_world(&w[i], policy, seed * 10 + i, 2 * MIB, false);
		subject = subject_of(&w[i]);
		assert_int_equal(frag_fit_intervals_init(&intervals[i], &subject, NULL, NULL, &err),
				 0);
		intervals[i].checkpoints.stride = 16;
		list[i] = &intervals[i];
		floor = w[i].taken + w[i].peak > floor ? w[i].taken + w[i].peak : floor;
	}
	bounds = random_bounds(&random, &w[0]);
	assert_int_equal(frag_fit_walk(&fit, list, count, floor, &bounds, &err), 0);
	points.count = 0;
	for (uint64_t total = lattice(&w[0], floor); points.count < POINTS
	     && total < fit.examined_to; total += w[0].page) {
		struct point *p = &points.of[points.count++];

		*p = (struct point){ .total = total, .fits = true };
		for (uint32_t i = 0; i < count; i++) {
			const struct end end = run(&w[i], total, 0);

			p->fits = p->fits && end.fits;
			p->refused = p->refused || is_refused(&end);
		}
		/* what goes on for ever was the same for long */
		if (fit.examined_to == NONE && fit.reliable != NONE
		    && total > fit.reliable + 20 * w[0].page && total > fit.no_refusal)
			break;
	}
	conclude(&w[0], &points, &fit);
	free(fit.failing);
	for (uint32_t i = 0; i < count; i++) {
		frag_fit_intervals_fini(&intervals[i]);
		close_world(&w[i]);
	}
}

static void test_joint(void **state)
{
	(void)state;
	for (uint32_t p = 0; random_policies[p]; p++)
		for (uint64_t seed = 0; seed < traces / 4 + 1; seed++)
			try_joint(random_policies[p], seed * 1000 + p);
}

/*
 * Small requests, simulated a few events at a time and once for all capacities, with checkpoints
 * everywhere.
 */
static void try_small(const char *policy, uint64_t seed, uint64_t *holes, uint64_t *runs)
{
	struct frag_error err = { .code = 0 };
	struct frag_fit_intervals intervals, *list[] = { &intervals };
	struct frag_smallreq_cache smalls = { .ahead = 0 };
	struct frag_fit_bounds bounds;
	struct frag_fit_case subject;
	struct frag_fit fit;
	struct world w;
	uint64_t random = seed;

	open_world(&w, policy, seed, random_below(&random, 2) * 2 * MIB, true);
	subject = subject_of(&w);
	smalls.ahead = 1 + (uint32_t)random_below(&random, 90);
	assert_int_equal(frag_fit_intervals_init(&intervals, &subject, NULL, &smalls, &err), 0);
	assert_non_null(intervals.subject.small);
	intervals.checkpoints.stride = 1 + random_below(&random, 40);
	bounds = random_bounds(&random, &w);
	assert_int_equal(frag_fit_walk(&fit, list, 1, w.taken + w.peak, &bounds, &err), 0);
	assert_int_equal(frag_fit_peaks(&fit, &subject, &err), 0);
	check_walk(&w, &intervals, &fit, &bounds);
	*holes += fit.failing_count;
	*runs += intervals.runs;
	free(fit.failing);
	frag_fit_intervals_fini(&intervals);
	frag_smallreq_fini(&smalls);
	close_world(&w);
}

static void test_small_requests(void **state)
{
	uint64_t holes = 0, runs = 0;

	(void)state;
	for (uint64_t seed = 0; seed < traces * 4; seed++)
		for (uint32_t p = 0; p < LENGTH(plain_policies); p++)
			try_small(plain_policies[p], seed * 1000 + p, &holes, &runs);
	print_message("# %lu holes, %lu runs\n", (unsigned long)holes, (unsigned long)runs);
	assert_true(holes && runs);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_capacity), cmocka_unit_test(test_joint),
		cmocka_unit_test(test_small_requests),
	};

	traces = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : repeats(3, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
