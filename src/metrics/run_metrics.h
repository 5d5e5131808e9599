/* run_metrics.h - metrics after each step, and what is kept of them over a run. */
#pragma once

#include "base/inline.h"
#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "heap/heap_inline.h"
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

/* False: out of memory. The series is for free(). */
static inline bool frag_run_metrics_init(struct frag_run_metrics *metrics, enum frag_level level)
{
	*metrics = (struct frag_run_metrics){ .level = level };
	if (level == FRAG_LEVEL_ALL)
		metrics->series = frag_series_new();
	return metrics->series || level != FRAG_LEVEL_ALL;
}

/* Likewise a copy, with a series that is its own. */
bool frag_run_metrics_copy(struct frag_run_metrics *metrics, const struct frag_run_metrics *from);

/* Reads the initial heap, before the first step. */
void frag_run_metrics_begin(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev);

/* For frag_run_metrics_keep(): peaks that a step raises; a step in a pool of the device's own. */
void frag_run_metrics_raise(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev, uint64_t step);
void frag_run_metrics_step_in_pool(struct frag_run_metrics *metrics, const struct frag_heap *heap,
				   const struct frag_device *dev, uint64_t step, const double *t);

/* The metrics of a heap on its device at present. */
void frag_metrics_read(struct frag_metrics *out, const struct frag_heap *heap,
		       const struct frag_device *dev);

/* The same into `now`, after a step with an observer, at any level. */
void frag_run_metrics_look(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev);

/* Fills the result's level, peak, last, steps and distributions; counts the last steps of these. */
void frag_run_metrics_result(struct frag_run_metrics *metrics, struct frag_result *result);

/*
 * What a run keeps of a step, without a call where that is little: nothing is written but what is
 * the highest yet, and the bytes that percentages are made of.
 *
 * How each of the table's bytes and counts is read: X(name, value), from totals b, heap and device
 * dev, in three parts. The first may change with every step, as may the second, of what is more in
 * one sum than in another: D(name, one, other). The third cannot change without a call of the
 * device, and three of it count within a step too, so their highest is in the totals.
 */
#define CHANGING(X)                                                           \
	X(requested, b->requested)                                            \
	X(allocated, b->allocated)                                            \
	X(active, b->active)                                                  \
	X(free, b->free)                                                      \
	X(largest_free, frag_heap_largest_inline(heap))                                   \
	X(releasable, b->releasable)                                          \
	X(blocks, b->blocks)                                                  \
	X(holes, b->holes)
#define CHANGING_BY_TWO(D)                                                    \
	D(non_releasable, b->free, b->releasable)                                   \
	D(waste, b->reserved, b->active + b->free)                            \
	D(wasted, b->reserved, b->requested + b->releasable)
#define BY_CALLS(X)                                                           \
	X(reserved, b->reserved, b->step_peak_reserved)                       \
	X(segments, b->segments, b->step_peak_segments)                       \
	X(process_used, frag_device_process(dev), dev->context + b->step_peak_used) \
	X(device_free, dev->total ? frag_device_free(dev) : 0,                \
	  dev->total ? frag_device_free(dev) : 0)

/*
 * Is any of the first two parts a new maximum? All are below 2^63, so the highest bit of a
 * difference is set for the larger one, and one test covers the bits of all differences.
 */
#define RISE(name, value) | (peak->name - (value))
#define RISE_BY_TWO(name, one, other) | (peak->name + (other) - (one))
static inline bool frag_peak_may_rise(const struct frag_metrics *peak, const struct frag_heap *heap)
{
	const struct frag_totals *b = &heap->totals;

	return (0 CHANGING(RISE) CHANGING_BY_TWO(RISE_BY_TWO)) >> 63;
}

/* Can the peaks stay? Of the steps with the peak of reserved, one has the most allocated. */
static inline bool frag_keeps_peaks(const struct frag_run_metrics *metrics,
				    const struct frag_heap *heap)
{
	const struct frag_totals *b = &heap->totals;

	return metrics->steps && !frag_heap_call_count(heap)
	       && !frag_peak_may_rise(&metrics->peak, heap)
	       && (b->allocated <= metrics->at_peak.allocated
		   || b->reserved != metrics->peak.reserved);
}

static inline void frag_keep_sums(struct frag_sums *sums, const struct frag_heap *heap,
				  const struct frag_device *dev)
{
	const struct frag_totals *b = &heap->totals;
	const int64_t left = dev->total ? frag_device_free(dev) : 0;

	sums->largest_free = frag_heap_largest_inline(heap);
	sums->left = left > 0 ? (uint64_t)left : 0;
	sums->free = b->free;
	sums->releasable = b->releasable;
	sums->requested = b->requested;
	sums->allocated = b->allocated;
	sums->unused = b->active;
	sums->reserved = b->reserved;
}

/*
 * The trace's step has ended, at time *t (microseconds; NULL where the trace has none). level: that
 * of the metrics, as a constant where the caller can.
 */
FRAG_INLINE void frag_run_metrics_keep(struct frag_run_metrics *metrics,
					 const struct frag_heap *heap,
					 const struct frag_device *dev, uint64_t step,
					 const double *t, enum frag_level level)
{
	if (level != FRAG_LEVEL_SURVIVE && dev->pool) {
		frag_run_metrics_step_in_pool(metrics, heap, dev, step, t);
	} else if (level != FRAG_LEVEL_SURVIVE) {
		if (!frag_keeps_peaks(metrics, heap))
			frag_run_metrics_raise(metrics, heap, dev, step);
		if (level == FRAG_LEVEL_ALL)
			frag_keep_sums(frag_series_add(metrics->series, t), heap, dev);
	}
	metrics->steps++;
}
