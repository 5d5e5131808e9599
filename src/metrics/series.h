/*
 * series.h - the four percentages of every step, counted.
 *
 * Steps wait until there are 64 of them and are counted together, two series at
 * a time in one register: that takes a third of the time. Each series still adds
 * its values in the order of the steps, so its sums are those of a plain loop.
 */
#ifndef METRICS_SERIES_H
#define METRICS_SERIES_H

#include "fragsim/metrics.h"
#include "metrics/histogram.h"

/* The percentages in the order of the table of metrics: fi, fi_device, internal, utilization. */
#define FRAG_SERIES 4
#define FRAG_SERIES_WAITING 64

/* Two numbers side by side, a vector of GCC and clang. */
typedef double frag_pair __attribute__((vector_size(16)));
typedef int64_t frag_pair_bits __attribute__((vector_size(16)));

struct frag_series {
	frag_pair min[2], max[2], sum[2], last[2];
	frag_pair weighted[2];          /* sum of value * the time that it lasted */
	frag_pair_bits severe[2];
	frag_pair waiting[FRAG_SERIES_WAITING][2];
	double weight[FRAG_SERIES_WAITING];     /* how long the values before lasted */
	uint32_t waiting_count;
	struct frag_histogram histograms[FRAG_SERIES];
};

/* NULL where memory is short; free() ends it. */
struct frag_series *frag_series_new(void);

/* Counts those that wait; before anything below is asked. */
void frag_series_flush(struct frag_series *s);

/* A step's percentages, by twos; weight: how long those of the step before lasted. */
static inline void frag_series_add(struct frag_series *s, frag_pair first, frag_pair second,
				   double weight)
{
	const uint32_t at = s->waiting_count++;

	s->waiting[at][0] = first;
	s->waiting[at][1] = second;
	s->weight[at] = weight;
	if (at + 1 == FRAG_SERIES_WAITING)
		frag_series_flush(s);
}

/* Of series i over `steps` steps, at least one; time: the sum of the weights, 0 where unknown. */
struct frag_distribution frag_series_describe(const struct frag_series *s, int i, uint64_t steps,
					      double time);

#endif
