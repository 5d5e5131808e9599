/* run_metrics.h - metrics after each step, and what is kept of them over a run. */
#ifndef METRICS_RUN_METRICS_H
#define METRICS_RUN_METRICS_H

#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "metrics/percent_series.h"

struct frag_run_metrics {
	struct frag_metrics now;        /* as of the last frag_run_metrics_look() */
	struct frag_metrics peak;
	struct frag_series *series;     /* NULL below the level of everything */
	enum frag_level level;
	uint64_t steps;
	uint64_t peak_step;     /* see frag_result */
	struct frag_metrics at_peak;    /* no percentages */
};

bool frag_run_metrics_init(struct frag_run_metrics *metrics, enum frag_level level);
/* *metrics is a borrowed copy of another one's struct, and becomes one of its own. */
bool frag_run_metrics_copy(struct frag_run_metrics *metrics);
void frag_run_metrics_fini(struct frag_run_metrics *metrics);

/* Reads the heap as it is before the first step. */
void frag_run_metrics_begin(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev);

/* The trace's step has ended, at time *t (microseconds; NULL where the trace has none). */
void frag_run_metrics_step(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev, uint64_t step, const double *t);

/* For keep.h: peaks that a step raises; a step in a pool of the device's own. */
void frag_run_metrics_raise(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev, uint64_t step);
void frag_run_metrics_step_in_pool(struct frag_run_metrics *metrics, const struct frag_heap *heap,
				   const struct frag_device *dev, uint64_t step, const double *t);

/* Reads the heap into `now`: after a step that somebody looks at, whatever the level. */
void frag_run_metrics_look(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev);

/* Fills the result's level, peak, last, steps and distributions. */
void frag_run_metrics_result(const struct frag_run_metrics *metrics, struct frag_result *result);

#endif
