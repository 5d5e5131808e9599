/* driver_latency.c - what calls of the driver cost in time, and segments in memory. */
#include "metrics/driver_latency.h"

#include <stdlib.h>

#define FINE_BITS 5
#define FINE (1u << FINE_BITS)          /* buckets a doubling */
#define BUCKETS ((64 - FINE_BITS + 1) * FINE)

/* Below FINE each value has its own bucket. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < FINE)
		return (uint32_t)ns;
	shift = 63 - (uint32_t)__builtin_clzll(ns) - FINE_BITS;
	return (shift << FINE_BITS) + (uint32_t)(ns >> shift);
}

/* The highest value of a bucket. */
static uint64_t bucket_max(uint32_t i)
{
	uint32_t shift = i < FINE ? 0 : (i >> FINE_BITS) - 1;

	return (((uint64_t)i - ((uint64_t)shift << FINE_BITS) + 1) << shift) - 1;
}

static bool has_buckets(struct frag_latency *l)
{
	if (!l->buckets)
		l->buckets = calloc(BUCKETS, sizeof(*l->buckets));
	return l->buckets != NULL;
}

bool frag_latency_add(struct frag_latency *l, uint64_t ns, bool refused)
{
	if (!has_buckets(l))
		return false;
	l->buckets[bucket_of(ns)]++;
	l->min_ns = l->count == 0 || ns < l->min_ns ? ns : l->min_ns;
	l->max_ns = ns > l->max_ns ? ns : l->max_ns;
	l->total_ns += ns;
	l->refused += refused;
	l->count++;
	return true;
}

bool frag_latency_merge(struct frag_latency *to, const struct frag_latency *from)
{
	if (from->count == 0)
		return true;
	if (!has_buckets(to))
		return false;
	for (uint32_t i = 0; i < BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	to->min_ns = to->count == 0 || from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
	to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
	to->total_ns += from->total_ns;
	to->refused += from->refused;
	to->count += from->count;
	return true;
}

uint64_t frag_latency_rank(const struct frag_latency *l, uint32_t percent)
{
	uint64_t rank = (l->count * percent + 99) / 100, seen = 0, value;

	if (l->count == 0)
		return 0;
	for (uint32_t i = 0; i < BUCKETS; i++) {
		seen += l->buckets[i];
		if (seen < rank || seen == 0)
			continue;
		value = bucket_max(i);
		return value < l->max_ns ? value : l->max_ns;
	}
	return l->max_ns;
}

bool frag_driver_costs_merge(struct frag_driver_costs *to, const struct frag_driver_costs *from)
{
	bool good = true;

	for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++) {
		for (uint32_t kind = 0; kind < FRAG_GPU_KINDS; kind++)
			good = frag_latency_merge(&to->calls[kind][i], &from->calls[kind][i])
			       && good;
		to->segments[i].count += from->segments[i].count;
		to->segments[i].requested += from->segments[i].requested;
		to->segments[i].predicted += from->segments[i].predicted;
		to->segments[i].taken += from->segments[i].taken;
	}
	return good;
}

void frag_driver_costs_fini(struct frag_driver_costs *costs)
{
	for (uint32_t kind = 0; kind < FRAG_GPU_KINDS; kind++)
		for (uint32_t i = 0; i < FRAG_SIZE_CLASSES; i++)
			free(costs->calls[kind][i].buckets);
}
