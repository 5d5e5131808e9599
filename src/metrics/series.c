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

/* Where the mask is set a, else b. */
static inline frag_pair choose(frag_pair_bits mask, frag_pair a, frag_pair b)
{
	return (frag_pair)((mask & (frag_pair_bits)a) | (~mask & (frag_pair_bits)b));
}

/*
 * One step of two series. Rounding to hundredths is that of frag_hundredths(): the
 * lowest bits of a double that has 1.5 * 2^52 added to it are the integer. Near a
 * tie, and outside 0 to 100, the slow way decides.
 */
static inline void count_pair(struct frag_histogram h[2], frag_pair value)
{
	const frag_pair product = value * 1e2;
	const frag_pair shifted = product + 0x1.8p52;
	const frag_pair rest = product - (shifted - 0x1.8p52);
	const frag_pair_bits odd = (rest > 0.4999) | (rest < -0.4999) | (value > 100.0)
				   | (value < 0.0);
	const frag_pair_bits at = (frag_pair_bits)shifted - INT64_C(0x4338000000000000);
	const int64_t any = odd[0] | odd[1];

	if (any == 0) {
		h[0].count[at[0]]++;
		h[1].count[at[1]]++;
	} else {
		frag_histogram_add(&h[0], value[0]);
		frag_histogram_add(&h[1], value[1]);
	}
}

/* The figures of two series stay in registers through the loop. */
static void flush_half(struct frag_series *s, int half)
{
	frag_pair min = s->min[half], max = s->max[half], sum = s->sum[half];
	frag_pair last = s->last[half], weighted = s->weighted[half];
	frag_pair_bits severe = s->severe[half];

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const frag_pair value = s->waiting[i][half];

		min = choose(value < min, value, min);
		max = choose(value > max, value, max);
		sum += value;
		weighted += last * s->weight[i];
		last = value;
		severe -= value > FRAG_SEVERE_PCT;      /* true is -1 */
		count_pair(&s->histograms[2 * half], value);
	}
	s->min[half] = min;
	s->max[half] = max;
	s->sum[half] = sum;
	s->last[half] = last;
	s->weighted[half] = weighted;
	s->severe[half] = severe;
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
