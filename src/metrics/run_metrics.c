/* run_metrics.c - metrics after each step, and what is kept of them over a run. */
#include "metrics/run_metrics.h"

#include <stdlib.h>

#include "base/grow.h"
#include "heap/inside.h"
#include "metrics/fragmentation.h"
#include "metrics/metric.h"

bool frag_run_metrics_init(struct frag_run_metrics *metrics, enum frag_level level)
{
	*metrics = (struct frag_run_metrics){ .level = level };
	if (level == FRAG_LEVEL_ALL)
		metrics->series = frag_series_new();
	return metrics->series || level != FRAG_LEVEL_ALL;
}

bool frag_run_metrics_copy(struct frag_run_metrics *metrics)
{
	return !metrics->series
	       || frag_array_copy(&metrics->series, 1, 0, sizeof(*metrics->series));
}

void frag_run_metrics_fini(struct frag_run_metrics *metrics)
{
	free(metrics->series);
}

/* The layout of a pool of the device's own is unknown, only how much there is. */
static void read_pool(struct frag_metrics *m, const struct frag_device_pool *pool)
{
	m->allocated = m->active = pool->used;
	m->reserved = pool->reserved;
	m->free = pool->reserved > pool->used ? pool->reserved - pool->used : 0;
	m->waste = 0;
	m->opaque = true;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->hidden)
			frag_metric_set(m, k, (union frag_metric_value){ .u = 0 });
}

/*
 * How each of the table's bytes and counts is read: X(name, value), from totals b, index and device
 * dev, in two parts. The first may change with every step; the second cannot without a call of the
 * device, and of those three count within a step too, so their highest is in the totals.
 */
#define CHANGING(X)                                                           \
	X(requested, b->requested)                                            \
	X(allocated, b->allocated)                                            \
	X(active, b->active)                                                  \
	X(free, b->free)                                                      \
	X(largest_free, frag_largest(heap))                                   \
	X(releasable, b->releasable)                                          \
	X(stranded, b->free > b->releasable ? b->free - b->releasable : 0)    \
	X(waste, b->reserved - b->active - b->free)                           \
	X(blocks, b->blocks)                                                  \
	X(holes, b->holes)                                                    \
	X(lost, b->reserved > b->requested + b->releasable                    \
		? b->reserved - b->requested - b->releasable : 0)
#define BY_CALLS(X)                                                           \
	X(reserved, b->reserved, b->step_peak_reserved)                       \
	X(segments, b->segments, b->step_peak_segments)                       \
	X(process_used, frag_device_process(dev), dev->context + b->step_peak_used) \
	X(device_free, dev->total ? frag_device_free(dev) : 0,                \
	  dev->total ? frag_device_free(dev) : 0)

#define ONE(...) 1 +
_Static_assert(CHANGING(ONE) BY_CALLS(ONE) FRAG_SERIES == FRAG_METRIC_ALL,
	       "each metric of the table is read here, or a percentage");

#define READ(name, value) m->name = value;
#define READ_AFTER(name, after, within) READ(name, after)

/* Bytes and counts. Inline: of those that nobody uses, nothing is left. */
static inline void read_totals(struct frag_metrics *m, const struct frag_heap *heap,
			       const struct frag_device *dev)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(READ)
	BY_CALLS(READ_AFTER)
	m->limited = dev->total != 0;
}

/* The same of a pool of the device's own too. */
static void read_heap(struct frag_metrics *m, const struct frag_heap *heap,
		      const struct frag_device *dev)
{
	*m = (struct frag_metrics){ .requested = 0 };
	read_totals(m, heap, dev);
	if (dev->pool)
		read_pool(m, dev->pool);
}

/* Of the device. */
static inline uint64_t left(const struct frag_metrics *m)
{
	return m->device_free > 0 ? (uint64_t)m->device_free : 0;
}

static inline void find_percentages(struct frag_metrics *m, bool opaque)
{
	m->fi = m->fi_device = 0;
	if (!opaque) {
		m->fi = frag_index_pct(m->largest_free, m->free);
		m->fi_device = frag_index_device_pct(m->largest_free, m->free, m->releasable,
						     left(m));
	}
	m->internal = frag_internal_pct(m->requested, m->allocated);
	m->utilization = frag_utilization_pct(m->allocated, m->reserved);
}

#define RAISE(name, value)                                                    \
	if ((value) > peak->name)                                             \
		peak->name = (value);
#define RAISE_WITHIN(name, after, within) RAISE(name, within)

/* After a step of a heap that knows its memory; within: there were calls. */
static inline void raise_peaks(struct frag_metrics *peak, const struct frag_heap *heap,
			       const struct frag_device *dev, bool within)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(RAISE)
	if (within) {
		BY_CALLS(RAISE_WITHIN)
	}
}

void frag_run_metrics_look(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev)
{
	read_heap(&metrics->now, heap, dev);
	find_percentages(&metrics->now, metrics->now.opaque);
}

void frag_run_metrics_begin(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev)
{
	frag_run_metrics_look(metrics, heap, dev);
	metrics->peak = (struct frag_metrics){
		.limited = metrics->now.limited, .opaque = metrics->now.opaque,
		.device_free = metrics->now.limited ? INT64_MIN : 0,
	};
}

/*
 * A step's percentages wait in the series, with the time for which those before it lasted. They
 * are severe where the device has a limit, as one without refuses nothing, and where enough is
 * free: of few bytes the index is noise, as early in a run, when little is reserved.
 */
static inline void add_percentages(struct frag_run_metrics *metrics, const struct frag_metrics *m,
				   double weight)
{
	metrics->severe += m->limited && m->fi_device > FRAG_SEVERE_PCT
			   && frag_real(m->free + left(m)) >= 0.01 * frag_real(m->reserved);
	frag_series_add(metrics->series, (frag_pair){ m->fi, m->fi_device },
			(frag_pair){ m->internal, m->utilization }, weight);
}

/* The step's own time has come; how long the one before it lasted. */
static inline double pass_time(struct frag_run_metrics *metrics, const double *t)
{
	const double at = t ? *t : metrics->t;
	const double weight = metrics->steps && at > metrics->t
		? at * FRAG_TIME_SCALE - metrics->t * FRAG_TIME_SCALE : 0;

	metrics->time += weight;
	metrics->t = at;
	metrics->untimed |= !t;
	return weight;
}

static inline void raise(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

/* After a step in a pool of the device's own: by the table, as some values are hidden there. */
__attribute__((noinline))
static void raise_pool_peaks(struct frag_metrics *peak, const struct frag_metrics *now,
			     const struct frag_totals *b, const struct frag_device *dev)
{
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		const union frag_metric_value value = frag_metric_get(now, k);
		const union frag_metric_value highest = frag_metric_get(peak, k);

		if (k->peak == FRAG_PEAK_STEP && (k->unit == FRAG_METRIC_SIGNED
						  ? value.i > highest.i : value.u > highest.u))
			frag_metric_set(peak, k, value);
	}
	raise(&peak->reserved, dev->pool->peak_reserved);
	raise(&peak->segments, b->step_peak_segments);
	raise(&peak->process_used, dev->context + b->step_peak_used);
}

/* Of the steps with the highest reserved, the one with the most allocated. */
static inline void note_peak(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			     const struct frag_device *dev, uint64_t step, uint64_t highest)
{
	const struct frag_device_pool *pool = dev->pool;
	const uint64_t reserved = pool ? pool->reserved : heap->totals.reserved;
	const uint64_t allocated = pool ? pool->used : heap->totals.allocated;

	if (metrics->peak.reserved == highest
	    && (reserved != highest || allocated <= metrics->at_peak.allocated))
		return;
	metrics->peak_step = step;
	read_heap(&metrics->at_peak, heap, dev);
}

/*
 * What a step leaves. Nothing is written but what is the highest yet; `now` is for who looks, and
 * the percentages are of totals that are read again, as they are near.
 */
void frag_run_metrics_step(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev, uint64_t step, const double *t)
{
	const uint64_t highest = metrics->peak.reserved;
	struct frag_metrics now;

	if (metrics->level == FRAG_LEVEL_SURVIVE) {
		metrics->steps++;
		return;
	}
	if (dev->pool) {
		frag_run_metrics_look(metrics, heap, dev);
		raise_pool_peaks(&metrics->peak, &metrics->now, &heap->totals, dev);
	} else {
		raise_peaks(&metrics->peak, heap, dev,
			    frag_call_count(heap) || !metrics->steps);
	}
	note_peak(metrics, heap, dev, step, highest);
	if (metrics->level == FRAG_LEVEL_ALL && dev->pool) {
		add_percentages(metrics, &metrics->now, pass_time(metrics, t));
	} else if (metrics->level == FRAG_LEVEL_ALL) {
		read_totals(&now, heap, dev);
		find_percentages(&now, false);
		add_percentages(metrics, &now, pass_time(metrics, t));
	}
	metrics->steps++;
}

static struct frag_distribution distribution(const struct frag_run_metrics *metrics, uint32_t i)
{
	if (!metrics->steps || !metrics->series)
		return (struct frag_distribution){ .steps = 0 };
	return frag_series_describe(metrics->series, (int)i, metrics->steps,
				    metrics->untimed ? 0 : metrics->time);
}

void frag_run_metrics_result(const struct frag_run_metrics *metrics, struct frag_result *result)
{
	uint32_t series = 0;

	if (metrics->series)
		frag_series_flush(metrics->series);
	result->level = metrics->level;
	result->steps = metrics->steps;
	result->peak_step = metrics->peak_step;
	result->at_peak = metrics->at_peak;
	result->severe_steps = metrics->severe;
	result->last = metrics->now;
	if (metrics->level == FRAG_LEVEL_SURVIVE)
		result->peak = (struct frag_metrics){ .limited = metrics->now.limited };
	else
		result->peak = metrics->steps ? metrics->peak : metrics->now;
	result->lower_bound = result->peak.requested;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		if (k->unit != FRAG_METRIC_PERCENT)
			continue;
		*frag_metric_distribution(result, k) = distribution(metrics, series++);
		if (!frag_metric_known(&metrics->now, k))
			*frag_metric_distribution(result, k) =
				(struct frag_distribution){ .steps = 0 };
	}
}
