/* run_metrics.c - metrics after each step, and what is kept of them over a run. */
#include "metrics/run_metrics.h"

#include <stdlib.h>

#include "base/array_grow.h"
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

#define ONE(...) 1 +
_Static_assert(CHANGING(ONE) CHANGING_BY_TWO(ONE) BY_CALLS(ONE) FRAG_SERIES == FRAG_METRIC_ALL,
	       "each metric of the table is read here, or a percentage");

#define READ(name, value) m->name = value;
#define READ_MORE(name, one, other) m->name = more(one, other);
#define READ_AFTER(name, after, within) READ(name, after)

/* How much more the one is than the other. */
static uint64_t more(uint64_t one, uint64_t other)
{
	return one > other ? one - other : 0;
}

/* Bytes and counts. */
static void read_totals(struct frag_metrics *m, const struct frag_heap *heap,
			       const struct frag_device *dev)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(READ)
	CHANGING_BY_TWO(READ_MORE)
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

static void find_percentages(struct frag_metrics *m)
{
	const uint64_t left = m->device_free > 0 ? (uint64_t)m->device_free : 0;

	m->fi = m->fi_device = 0;
	if (!m->opaque) {
		m->fi = frag_index_pct(m->largest_free, m->free);
		m->fi_device = frag_index_device_pct(m->largest_free, m->free, m->releasable,
						     left);
	}
	m->internal = frag_internal_pct(m->requested, m->allocated);
	m->utilization = frag_utilization_pct(m->allocated, m->reserved);
}

#define RAISE(name, value)                                                    \
	if ((value) > peak->name)                                             \
		peak->name = (value);
#define RAISE_MORE(name, one, other) RAISE(name, more(one, other))
#define RAISE_WITHIN(name, after, within) RAISE(name, within)

/* After a step of a heap that knows its memory; within: there were calls. */
static void raise_peaks(struct frag_metrics *peak, const struct frag_heap *heap,
			       const struct frag_device *dev, bool within)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(RAISE)
	CHANGING_BY_TWO(RAISE_MORE)
	if (within) {
		BY_CALLS(RAISE_WITHIN)
	}
}

void frag_run_metrics_look(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev)
{
	read_heap(&metrics->now, heap, dev);
	find_percentages(&metrics->now);
}

void frag_run_metrics_begin(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev)
{
	frag_run_metrics_look(metrics, heap, dev);
	metrics->peak = (struct frag_metrics){
		.limited = metrics->now.limited, .opaque = metrics->now.opaque,
		.device_free = metrics->now.limited ? INT64_MIN : 0,
	};
	if (metrics->series)
		metrics->series->limited = metrics->now.limited;
}

static void raise(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

/* After a step in a pool of the device's own: by the table, as some values are hidden there. */
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
static void run_metrics_note_peak(struct frag_run_metrics *metrics, const struct frag_heap *heap,
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

void frag_run_metrics_raise(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev, uint64_t step)
{
	const uint64_t highest = metrics->peak.reserved;

	raise_peaks(&metrics->peak, heap, dev, frag_call_count(heap) || !metrics->steps);
	run_metrics_note_peak(metrics, heap, dev, step, highest);
}

void frag_run_metrics_step_in_pool(struct frag_run_metrics *metrics, const struct frag_heap *heap,
				   const struct frag_device *dev, uint64_t step, const double *t)
{
	const uint64_t highest = metrics->peak.reserved;

	frag_run_metrics_look(metrics, heap, dev);
	raise_pool_peaks(&metrics->peak, &metrics->now, &heap->totals, dev);
	run_metrics_note_peak(metrics, heap, dev, step, highest);
	if (metrics->level == FRAG_LEVEL_ALL)
		*frag_series_add(metrics->series, t) = (struct frag_sums){
			.requested = metrics->now.requested, .allocated = metrics->now.allocated,
			.reserved = metrics->now.reserved,
		};
}

void frag_run_metrics_step(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev, uint64_t step, const double *t)
{
	frag_run_metrics_keep(metrics, heap, dev, step, t, metrics->level);
}

static struct frag_distribution distribution(const struct frag_run_metrics *metrics, uint32_t i)
{
	if (!metrics->steps || !metrics->series)
		return (struct frag_distribution){ .steps = 0 };
	return frag_series_describe(metrics->series, (int)i, metrics->steps);
}

/* A metric that the run could not measure has a distribution without steps. */
void frag_run_metrics_result(const struct frag_run_metrics *metrics, struct frag_result *result)
{
	uint32_t series = 0;

	if (metrics->series)
		frag_series_flush(metrics->series);
	result->level = metrics->level;
	result->steps = metrics->steps;
	result->peak_step = metrics->peak_step;
	result->at_peak = metrics->at_peak;
	result->severe_steps = metrics->series ? metrics->series->severe : 0;
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
