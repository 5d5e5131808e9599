/* run_metrics.c - metrics after each step, and what is kept of them over a run. */
#include "metrics/run_metrics.h"

#include <stdlib.h>

#include "base/grow.h"
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

/* Bytes and counts. */
static inline void read_heap(struct frag_metrics *m, const struct frag_heap *heap,
			     const struct frag_device *dev)
{
	const struct frag_totals *b = frag_heap_totals(heap);

	m->requested = b->requested;
	m->allocated = b->allocated;
	m->active = b->active;
	m->reserved = b->reserved;
	m->free = b->free;
	m->largest_free = frag_heap_largest(heap);
	m->releasable = b->releasable;
	m->stranded = b->free > b->releasable ? b->free - b->releasable : 0;
	m->waste = b->reserved - b->active - b->free;
	m->process_used = frag_device_process(dev);
	m->segments = b->segments;
	m->blocks = b->blocks;
	m->holes = b->holes;
	m->lost = b->reserved > b->requested + b->releasable
		  ? b->reserved - b->requested - b->releasable : 0;
	m->limited = dev->total != 0;
	m->device_free = m->limited ? frag_device_free(dev) : 0;
	if (dev->pool)
		read_pool(m, dev->pool);
}

static inline void find_percentages(struct frag_metrics *m)
{
	const uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;

	if (!m->opaque) {
		m->fi = frag_index_pct(m->largest_free, m->free);
		m->fi_device = frag_index_device_pct(m->largest_free, m->free, m->releasable,
						     device_free);
	}
	m->internal = frag_internal_pct(m->requested, m->allocated);
	m->utilization = frag_utilization_pct(m->allocated, m->reserved);
}

#define RAISE_NONE(name)
#define RAISE_WITHIN(name)
#define RAISE_STEP(name)                                                      \
	if (now->name > peak->name)                                           \
		peak->name = now->name;
#define RAISE(name, unit, since, how, ...) RAISE_##how(name)

static inline void raise(uint64_t *peak, uint64_t value)
{
	if (value > *peak)
		*peak = value;
}

/* After a step; those that count within a step too have their highest in the totals. */
static inline void raise_peaks(struct frag_metrics *peak, const struct frag_metrics *now,
			       const struct frag_totals *b, const struct frag_device *dev)
{
	FRAG_METRICS(RAISE)
	raise(&peak->reserved, dev->pool ? dev->pool->peak_reserved : b->step_peak_reserved);
	raise(&peak->segments, b->step_peak_segments);
	raise(&peak->process_used, dev->context + b->step_peak_used);
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
}

/* An unlimited device refuses nothing, and of few free bytes the index is noise, as early in a run, when little is reserved. */
static inline bool is_severe(const struct frag_metrics *m)
{
	const uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;

	return m->limited && m->fi_device > FRAG_SEVERE_PCT
	       && (double)(m->free + device_free) >= 0.01 * (double)m->reserved;
}

void frag_run_metrics_step(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev, uint64_t step, const double *t)
{
	const uint64_t highest = metrics->peak.reserved;
	double now = t ? *t : metrics->t;
	double weight = metrics->steps && now > metrics->t
		? now * FRAG_TIME_SCALE - metrics->t * FRAG_TIME_SCALE : 0;

	if (metrics->level == FRAG_LEVEL_SURVIVE) {
		metrics->steps++;
		return;
	}
	read_heap(&metrics->now, heap, dev);
	raise_peaks(&metrics->peak, &metrics->now, frag_heap_totals(heap), dev);
	if (metrics->peak.reserved > highest
	    || (metrics->now.reserved == highest
		&& metrics->now.allocated > metrics->at_peak.allocated)) {
		metrics->peak_step = step;
		metrics->at_peak = metrics->now;
	}
	if (metrics->level == FRAG_LEVEL_PEAKS) {
		metrics->steps++;
		return;
	}
	find_percentages(&metrics->now);
	metrics->severe += is_severe(&metrics->now);
	frag_series_add(metrics->series, &metrics->now, weight);
	metrics->time += weight;
	metrics->t = now;
	metrics->untimed |= !t;
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
