/* tally.h - metrics after each step, and what is kept of them over a run. */
#ifndef METRICS_TALLY_H
#define METRICS_TALLY_H

#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "metrics/series.h"

struct frag_tally {
	struct frag_metrics now, peak;
	struct frag_series *series;
	uint64_t steps;
	double   t;             /* of the last step */
	double   time;          /* microseconds weighted so far */
	bool     untimed;       /* a step had no t */
};

bool frag_tally_init(struct frag_tally *tally);
void frag_tally_fini(struct frag_tally *tally);

/* Reads the heap as it is before the first step. */
void frag_tally_begin(struct frag_tally *tally, const struct frag_heap *heap,
		      const struct frag_device *dev);

/* A step has ended, at time *t (microseconds; NULL where the trace has none). */
void frag_tally_step(struct frag_tally *tally, const struct frag_heap *heap,
		     const struct frag_device *dev, const double *t);

/* Fills the result's peak, last, steps and distributions. */
void frag_tally_result(const struct frag_tally *tally, struct frag_result *result);

#endif
