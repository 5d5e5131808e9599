/* percent_series.c - the four percentages of every step, counted. */
#include "metrics/percent_series.h"

#include <math.h>
#include <stdlib.h>

#include "metrics/fragmentation.h"
#include "metrics/percent_batch.h"

#define IS_BYTES 0
#define IS_SIGNED 0
#define IS_COUNT 0
#define IS_PERCENT 1
#define PERCENTAGE(name, unit, ...) IS_##unit +
_Static_assert(FRAG_METRICS(PERCENTAGE) 0 == FRAG_SERIES,
	       "frag_series_add() takes every percentage of the table, in its order");

struct frag_series *frag_series_new(void)
{
	struct frag_series *s = calloc(1, sizeof(*s));

	for (int i = 0; s && i < 2; i++) {
		s->min[i] = (frag_pair){ INFINITY, INFINITY };
		s->max[i] = (frag_pair){ -INFINITY, -INFINITY };
	}
	if (!s)
		return NULL;
	s->last_t = INFINITY;   /* nothing lasted until the first step */
	s->count = frag_stretch_count();
	return s;
}

/* How long the step before each one lasted; a clock that goes back is one that stands. */
static void pass_time(struct frag_series *s, double *weight)
{
	double last = s->last_t * FRAG_TIME_SCALE, time = s->time;

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const double now = s->t[i] * FRAG_TIME_SCALE, passed = now - last;

		weight[i] = passed > 0 ? passed : 0;
		time += weight[i];
		last = now;
	}
	s->time = time;
	if (s->waiting_count)
		s->last_t = s->t[s->waiting_count - 1];
}

/*
 * Steps are severe where the device has a limit, as one without refuses nothing, and where enough
 * is free: of few bytes the index is noise, as early in a run, when little is reserved.
 */
static void count_severe(struct frag_series *s)
{
	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const struct frag_sums *m = &s->waiting[i];

		s->severe += frag_real(m->free + m->left) >= 0.01 * frag_real(m->reserved)
			     && frag_share_pct(m, 0)[1] > FRAG_SEVERE_PCT;
	}
}

void frag_series_flush(struct frag_series *s)
{
	const int64_t above = s->above[0][1];
	double weight[FRAG_SERIES_WAITING];

	if (!s->untimed)
		pass_time(s, weight);
	s->count(s, s->untimed ? NULL : weight);
	if (s->limited && s->above[0][1] != above)
		count_severe(s);
	s->waiting_count = 0;
}

struct frag_distribution frag_series_describe(const struct frag_series *s, int i, uint64_t steps)
{
	const struct frag_histogram *h = &s->histograms[i];
	const double time = s->untimed ? 0 : s->time;
	const int half = i / 2, k = i % 2;

	return (struct frag_distribution){
		.steps = steps,
		.min = s->min[half][k],
		.max = s->max[half][k],
		.mean = s->sum[half][k] / (double)steps,
		.last = s->last[half][k],
		.p50 = frag_histogram_rank(h, steps, 50),
		.p95 = frag_histogram_rank(h, steps, 95),
		.p99 = frag_histogram_rank(h, steps, 99),
		.severe_steps = (uint64_t)s->above[half][k],
		.weighted = time > 0,
		.time_weighted_mean = time > 0 ? s->weighted[half][k] / time : 0,
	};
}
