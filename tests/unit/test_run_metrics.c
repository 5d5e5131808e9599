/*
 * test_run_metrics.c - metrics after each step, and what is kept of a run, against
 * counts over all blocks and formulas of fragsim-result(5), Metrics written down again.
 */
#include "metrics/run_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/rig.h"

#define STEPS 600
#define SEGMENT 4096
#define CONTEXT 3000
#define OTHER 1000

struct series {
	double value[STEPS];
};

struct fixture {
	struct rig rig;
	struct frag_run_metrics metrics;
	struct frag_metrics want, peak;
	struct series fi, fi_device, internal, utilization;
	double t[STEPS];
	uint32_t steps;
	frag_block live[64];
	uint32_t live_count;
	uint64_t random;
};

static void open_metrics(struct fixture *f, uint64_t total)
{
	memset(f, 0, sizeof(*f));
	rig_begin(&f->rig, total, 1024, FRAG_ORDER_SIZE);
	f->rig.dev.context = CONTEXT;
	f->rig.dev.other = OTHER;
	assert_true(frag_run_metrics_init(&f->metrics, FRAG_LEVEL_ALL));
	frag_run_metrics_begin(&f->metrics, f->rig.heap, &f->rig.dev);
}

static void close_metrics(struct fixture *f)
{
	free(f->metrics.series);
	rig_end(&f->rig);
}

static void add_block(void *ctx, const struct frag_segment_view *s,
		      const struct frag_block_view *b)
{
	struct frag_metrics *m = ctx;

	if (!b) {
		m->reserved += s->mapped;
		m->segments++;
		m->releasable += s->live == 0 ? s->bytes : 0;
		m->process_used += (s->bytes + 1023) / 1024 * 1024;
		return;
	}
	if (b->state == FRAG_ALLOCATED) {
		m->requested += b->requested;
		m->allocated += b->bytes;
		m->blocks++;
	}
	if (b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING)
		m->active += b->bytes;
	if (b->state == FRAG_FREE) {
		m->holes++;
		m->free += b->bytes;
		m->largest_free = b->bytes > m->largest_free ? b->bytes : m->largest_free;
	}
}

/* Written down here once more: what the table of metrics says is what is tested. */
#define SUMS(X)                                                               \
	X(requested) X(allocated) X(active) X(reserved) X(free)               \
	X(largest_free) X(releasable) X(non_releasable) X(waste) X(blocks) X(holes) X(wasted)
#define PERCENTAGES(X) X(fi) X(fi_device) X(internal) X(utilization)

/* The metrics of fragsim-result(5), Metrics by a walk over everything. */
static struct frag_metrics count(struct fixture *f)
{
	struct frag_metrics m = { .process_used = CONTEXT };
	double d, r, all;

	frag_heap_walk(f->rig.heap, &m, add_block);
	m.non_releasable = m.free > m.releasable ? m.free - m.releasable : 0;
	m.waste = m.reserved - m.active - m.free;
	m.wasted = m.reserved > m.requested + m.releasable
		 ? m.reserved - m.requested - m.releasable : 0;
	m.limited = f->rig.dev.total != 0;
	m.device_free = m.limited ? (int64_t)f->rig.dev.total - OTHER - (int64_t)m.process_used : 0;
	d = m.device_free > 0 ? (double)m.device_free : 0;
	all = (double)m.free + d;
	r = fmin(d + (double)m.releasable, all);
	m.fi = m.free ? 100 * (1 - (double)m.largest_free / (double)m.free) : 0;
	m.fi_device = all > 0 ? 100 * (1 - fmax((double)m.largest_free, r) / all) : 0;
	m.internal = m.allocated ? 100 * (1 - (double)m.requested / (double)m.allocated) : 0;
	m.utilization = m.reserved ? 100 * (double)m.allocated / (double)m.reserved : 100;
	return m;
}

static void raise(uint64_t *peak, uint64_t value)
{
	*peak = value > *peak ? value : *peak;
}

/* These three count within a step too. */
static void raise_within(struct fixture *f)
{
	const struct frag_metrics m = count(f);

	raise(&f->peak.reserved, m.reserved);
	raise(&f->peak.segments, m.segments);
	raise(&f->peak.process_used, m.process_used);
}

static void raise_after(struct fixture *f)
{
#define X(name)                                                               \
	if (strcmp(#name, "reserved") != 0)                                   \
		raise(&f->peak.name, f->want.name);
	SUMS(X)
#undef X
	if (f->steps == 0 || f->want.device_free > f->peak.device_free)
		f->peak.device_free = f->want.device_free;
}

static void expect_same(const struct frag_metrics *got, const struct frag_metrics *want,
			bool percents)
{
#define X(name) assert_true(got->name == want->name);
	SUMS(X)
	X(segments) X(process_used) X(device_free)
	if (percents) {
		PERCENTAGES(X)
	}
#undef X
}

/* Ends a step: the run metrics's metrics are just those of the walk. */
static void finish_step(struct fixture *f, double t)
{
	frag_run_metrics_keep(&f->metrics, f->rig.heap, &f->rig.dev, 0, isnan(t) ? NULL : &t,
			      f->metrics.level);
	frag_run_metrics_look(&f->metrics, f->rig.heap, &f->rig.dev);
	f->want = count(f);
	expect_same(&f->metrics.now, &f->want, true);
	assert_int_equal(f->metrics.now.limited, f->rig.dev.total != 0);
	raise_after(f);
#define X(name) f->name.value[f->steps] = f->want.name;
	PERCENTAGES(X)
#undef X
	f->t[f->steps++] = t;
}

static void allocate(struct fixture *f)
{
	uint64_t requested = 1 + random_below(&f->random, 3 * SEGMENT / 2);
	uint64_t keep = (requested + 255) / 256 * 256;
	frag_block b = frag_heap_find(f->rig.heap, f->rig.list, keep);

	if (f->live_count == LENGTH(f->live))
		return;
	if (b == FRAG_NO_BLOCK && frag_heap_grow(f->rig.heap, f->rig.list,
						 keep > SEGMENT ? keep : SEGMENT, &b))
		return;
	f->live[f->live_count++] = rig_take(&f->rig, b, requested, keep);
}

static void give_or_defer(struct fixture *f)
{
	uint32_t at;

	if (!f->live_count)
		return;
	at = (uint32_t)random_below(&f->random, f->live_count);
	if (random_below(&f->random, 3) == 0 && !frag_heap_defer_free(f->rig.heap, f->live[at], 0))
		return;
	rig_give(&f->rig, f->live[at]);
	f->live[at] = f->live[--f->live_count];
}

static void random_step(struct fixture *f)
{
	frag_heap_step(f->rig.heap);
	raise_within(f);
	for (uint64_t n = random_below(&f->random, 4); n > 0; n--) {
		uint64_t what = random_below(&f->random, 20);

		if (what < 10)
			allocate(f);
		else if (what < 19)
			give_or_defer(f);
		else
			assert_int_equal(frag_heap_release_idle(f->rig.heap), 0);
		raise_within(f);
	}
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double hundredths(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", value);
	return strtod(text, NULL);
}

static void expect_near(double got, double want)
{
	if (fabs(got - want) > 1e-9)
		fail_msg("%.12f, not %.12f", got, want);
}

static void expect_distribution(const struct fixture *f, const struct series *s,
				const struct frag_distribution *d)
{
	double sorted[STEPS], sum = 0, weighted = 0, time = 0;
	uint32_t n = f->steps, severe = 0;
	bool timed = true;

	for (uint32_t i = 0; i < n; i++) {
		double wait = i + 1 < n ? f->t[i + 1] - f->t[i] : 0;

		sum += s->value[i];
		severe += s->value[i] > 70;
		sorted[i] = hundredths(s->value[i]);
		timed &= !isnan(f->t[i]);
		weighted += wait > 0 ? wait * s->value[i] : 0;
		time += wait > 0 ? wait : 0;
	}
	qsort(sorted, n, sizeof(sorted[0]), ascending);
	assert_int_equal(d->steps, n);
	assert_true(hundredths(d->min) == sorted[0]);
	assert_true(hundredths(d->max) == sorted[n - 1]);
	assert_true(d->mean == sum / n);
	assert_true(d->last == s->value[n - 1]);
	assert_int_equal(d->severe_steps, severe);
	expect_near(d->p50, sorted[(n * 50 + 99) / 100 - 1]);
	expect_near(d->p95, sorted[(n * 95 + 99) / 100 - 1]);
	expect_near(d->p99, sorted[(n * 99 + 99) / 100 - 1]);
	assert_int_equal(d->weighted, timed && time > 0);
	if (d->weighted)
		expect_near(d->time_weighted_mean, weighted / time);
}

static void expect_result(struct fixture *f)
{
	struct frag_result r = { .steps = 0 };

	frag_run_metrics_result(&f->metrics, &r);
	assert_int_equal(r.steps, f->steps);
	expect_same(&r.peak, &f->peak, false);
	expect_same(&r.last, &f->want, true);
	assert_int_equal(r.lower_bound, f->peak.requested);
	expect_distribution(f, &f->fi, &r.fi);
	expect_distribution(f, &f->fi_device, &r.fi_device);
	expect_distribution(f, &f->internal, &r.internal);
	expect_distribution(f, &f->utilization, &r.utilization);
}

/* How the trace tells the time. */
enum clock { FORWARD, BACKWARD_TOO, STANDING, ABSENT, ABSENT_ONCE };

static double tick(struct fixture *f, enum clock clock)
{
	double before = f->steps ? f->t[f->steps - 1] : 50;

	if (clock == ABSENT || (clock == ABSENT_ONCE && f->steps == 7))
		return NAN;
	if (clock == STANDING || isnan(before))
		return 50;
	return before + (double)random_below(&f->random, 1000) / 8
	       - (clock == BACKWARD_TOO ? 60 : 0);
}

static void run(uint64_t total, enum clock clock, uint64_t seed)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	open_metrics(f, total);
	f->random = seed;
	while (f->steps < STEPS) {
		random_step(f);
		finish_step(f, tick(f, clock));
	}
	expect_result(f);
	close_metrics(f);
	free(f);
}

static void test_random(void **state)
{
	(void)state;
	run(0, ABSENT, 1);
	run(0, FORWARD, 2);
	run(20 * SEGMENT, FORWARD, 3);
	run(20 * SEGMENT, BACKWARD_TOO, 4);
	run(50 * SEGMENT, STANDING, 5);
	run(50 * SEGMENT, ABSENT_ONCE, 6);
	run(3 * SEGMENT, FORWARD, 7);
	run(CONTEXT, FORWARD, 8);       /* the device is over-full, and gives nothing */
}

/* A run of no steps: the metrics before the first, and no distributions. */
static void test_no_steps(void **state)
{
	struct fixture f;
	struct frag_result r = { .steps = 0 };

	(void)state;
	open_metrics(&f, 20 * SEGMENT);
	rig_grow(&f.rig, SEGMENT);
	frag_run_metrics_begin(&f.metrics, f.rig.heap, &f.rig.dev);
	frag_run_metrics_result(&f.metrics, &r);
	assert_int_equal(r.steps, 0);
	assert_int_equal(r.last.reserved, SEGMENT);
	assert_int_equal(r.peak.reserved, SEGMENT);
	assert_int_equal(r.peak.process_used, CONTEXT + SEGMENT);
	assert_int_equal(r.peak.device_free, 20 * SEGMENT - CONTEXT - OTHER - SEGMENT);
	assert_int_equal(r.fi.steps, 0);
	assert_int_equal(r.utilization.steps, 0);
	close_metrics(&f);
}

/* A segment obtained and released in one step counts for the peaks of that step. */
static void test_within_a_step(void **state)
{
	struct fixture f;
	struct frag_result r = { .steps = 0 };

	(void)state;
	open_metrics(&f, 0);
	frag_heap_step(f.rig.heap);
	assert_int_equal(frag_heap_release(f.rig.heap, rig_grow(&f.rig, 3 * SEGMENT)), 0);
	frag_run_metrics_keep(&f.metrics, f.rig.heap, &f.rig.dev, 0, NULL, f.metrics.level);
	frag_heap_step(f.rig.heap);
	frag_run_metrics_keep(&f.metrics, f.rig.heap, &f.rig.dev, 0, NULL, f.metrics.level);
	frag_run_metrics_result(&f.metrics, &r);
	assert_int_equal(r.peak.reserved, 3 * SEGMENT);
	assert_int_equal(r.peak.segments, 1);
	assert_int_equal(r.peak.process_used, CONTEXT + 3 * SEGMENT);
	assert_int_equal(r.peak.free, 0);
	assert_int_equal(r.last.reserved, 0);
	close_metrics(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_steps),
		cmocka_unit_test(test_within_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
