/* series.c - the four percentages of every step, counted. */
#include "metrics/series.h"

#include <math.h>
#include <stdlib.h>

#include "metrics/fragmentation.h"

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
	return s;
}

/*
 * Counts the stretch in two histograms. Rounding to hundredths is that of frag_hundredths(): the
 * lowest bits of a double that has 1.5 * 2^52 added to it are the integer, if no value of the
 * stretch is near a tie or outside 0 to 100. Else the slow way decides, of each.
 */
static void count_stretch(struct frag_series *s, int half, const frag_pair *shifted, bool odd)
{
	struct frag_histogram *h = &s->histograms[2 * half];

	for (uint32_t i = 0; i < s->waiting_count && odd; i++) {
		frag_histogram_add(&h[0], s->waiting[i][half][0]);
		frag_histogram_add(&h[1], s->waiting[i][half][1]);
	}
	for (uint32_t i = 0; i < s->waiting_count && !odd; i++) {
		const frag_pair_bits bits = (frag_pair_bits)shifted[i];

		h[0].count[(uint32_t)bits[0]]++;
		h[1].count[(uint32_t)bits[1]]++;
	}
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* The figures of two series stay in registers; a least or a most is one instruction. */
static inline void flush_half(struct frag_series *s, int half)
{
	static const frag_pair_bits unsigned_bits = { INT64_MAX, INT64_MAX };
	double min0 = s->min[half][0], min1 = s->min[half][1];
	double max0 = s->max[half][0], max1 = s->max[half][1];
	frag_pair sum = s->sum[half], last = s->last[half];
	frag_pair weighted = s->weighted[half], shifted[FRAG_SERIES_WAITING];
	frag_pair_bits severe = s->severe[half], near_tie = { 0, 0 };

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const frag_pair value = s->waiting[i][half], product = value * 1e2;
		frag_pair rest;

		min0 = least(min0, value[0]);
		min1 = least(min1, value[1]);
		max0 = most(max0, value[0]);
		max1 = most(max1, value[1]);
		sum += value;
		weighted += last * s->weight[i];
		last = value;
		severe -= value > FRAG_SEVERE_PCT;      /* true is -1 */
		shifted[i] = product + 0x1.8p52;
		rest = product - (shifted[i] - 0x1.8p52);
		near_tie |= (frag_pair)((frag_pair_bits)rest & unsigned_bits) > 0.4999;
	}
	s->min[half] = (frag_pair){ min0, min1 };
	s->max[half] = (frag_pair){ max0, max1 };
	s->sum[half] = sum;
	s->last[half] = last;
	s->weighted[half] = weighted;
	s->severe[half] = severe;
	count_stretch(s, half, shifted, near_tie[0] || near_tie[1] || least(min0, min1) < 0
					|| most(max0, max1) > 100);
}

void frag_series_flush(struct frag_series *s)
{
	flush_half(s, 0);
	flush_half(s, 1);
	s->waiting_count = 0;
}

struct frag_distribution frag_series_describe(const struct frag_series *s, int i, uint64_t steps,
					      double time)
{
	const struct frag_histogram *h = &s->histograms[i];
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
		.severe_steps = (uint64_t)s->severe[half][k],
		.weighted = time > 0,
		.time_weighted_mean = time > 0 ? s->weighted[half][k] / time : 0,
	};
}
