/* tally.c - metrics after each step, and what is kept of them over a run. */
#include "metrics/tally.h"

#include <stdlib.h>

#include "base/grow.h"
#include "metrics/fragmentation.h"
#include "metrics/metric.h"

bool frag_tally_init(struct frag_tally *tally, enum frag_level level)
{
	*tally = (struct frag_tally){ .level = level };
	if (level == FRAG_LEVEL_ALL)
		tally->series = frag_series_new();
	return tally->series || level != FRAG_LEVEL_ALL;
}

bool frag_tally_copy(struct frag_tally *tally)
{
	return !tally->series || frag_array_copy(&tally->series, 1, 0, sizeof(*tally->series));
}

void frag_tally_fini(struct frag_tally *tally)
{
	free(tally->series);
}

/* How memory lies in a pool of the device's own nobody knows, only how much there is. */
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
	const struct frag_books *b = frag_heap_books(heap);

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

/* After a step; those that count within a step too have their highest in the books. */
static inline void raise_peaks(struct frag_metrics *peak, const struct frag_metrics *now,
			       const struct frag_books *b, const struct frag_device *dev)
{
	FRAG_METRICS(RAISE)
	raise(&peak->reserved, dev->pool ? dev->pool->top_reserved : b->top_reserved);
	raise(&peak->segments, b->top_segments);
	raise(&peak->process_used, dev->context + b->top_used);
}

void frag_tally_look(struct frag_tally *tally, const struct frag_heap *heap,
		     const struct frag_device *dev)
{
	read_heap(&tally->now, heap, dev);
	find_percentages(&tally->now);
}

void frag_tally_begin(struct frag_tally *tally, const struct frag_heap *heap,
		      const struct frag_device *dev)
{
	frag_tally_look(tally, heap, dev);
	tally->peak = (struct frag_metrics){
		.limited = tally->now.limited, .opaque = tally->now.opaque,
		.device_free = tally->now.limited ? INT64_MIN : 0,
	};
}

/* Of few free bytes the index is noise, as early in a run, when little is reserved. */
static inline bool is_severe(const struct frag_metrics *m)
{
	const uint64_t device_free = m->device_free > 0 ? (uint64_t)m->device_free : 0;

	return m->fi_device > FRAG_SEVERE_PCT
	       && (double)(m->free + device_free) >= 0.01 * (double)m->reserved;
}

void frag_tally_step(struct frag_tally *tally, const struct frag_heap *heap,
		     const struct frag_device *dev, uint64_t step, const double *t)
{
	const uint64_t highest = tally->peak.reserved;
	double now = t ? *t : tally->t;
	double weight = tally->steps && now > tally->t
		? now * FRAG_TIME_SCALE - tally->t * FRAG_TIME_SCALE : 0;

	if (tally->level == FRAG_LEVEL_SURVIVE) {
		tally->steps++;
		return;
	}
	read_heap(&tally->now, heap, dev);
	raise_peaks(&tally->peak, &tally->now, frag_heap_books(heap), dev);
	if (tally->peak.reserved > highest
	    || (tally->now.reserved == highest && tally->now.allocated > tally->at_peak.allocated)) {
		tally->peak_step = step;
		tally->at_peak = tally->now;
	}
	if (tally->level == FRAG_LEVEL_PEAKS) {
		tally->steps++;
		return;
	}
	find_percentages(&tally->now);
	tally->severe += is_severe(&tally->now);
	frag_series_add(tally->series, &tally->now, weight);
	tally->time += weight;
	tally->t = now;
	tally->untimed |= !t;
	tally->steps++;
}

static struct frag_distribution distribution(const struct frag_tally *tally, uint32_t i)
{
	if (!tally->steps || !tally->series)
		return (struct frag_distribution){ .steps = 0 };
	return frag_series_describe(tally->series, (int)i, tally->steps,
				    tally->untimed ? 0 : tally->time);
}

void frag_tally_result(const struct frag_tally *tally, struct frag_result *result)
{
	uint32_t series = 0;

	if (tally->series)
		frag_series_settle(tally->series);
	result->level = tally->level;
	result->steps = tally->steps;
	result->peak_step = tally->peak_step;
	result->at_peak = tally->at_peak;
	result->severe_steps = tally->severe;
	result->last = tally->now;
	if (tally->level == FRAG_LEVEL_SURVIVE)
		result->peak = (struct frag_metrics){ .limited = tally->now.limited };
	else
		result->peak = tally->steps ? tally->peak : tally->now;
	result->lower_bound = result->peak.requested;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		if (k->unit != FRAG_METRIC_PERCENT)
			continue;
		*frag_metric_distribution(result, k) = distribution(tally, series++);
		if (!frag_metric_known(&tally->now, k))
			*frag_metric_distribution(result, k) =
				(struct frag_distribution){ .steps = 0 };
	}
}
