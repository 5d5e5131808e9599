/*
 * pytorch_stats.h - the statistics that PyTorch's allocator keeps of itself, as
 * torch.cuda.memory_stats() shows them.
 *
 * Every request and every free counts, so only values that cannot be derived later are kept: the
 * present value of each class, the peaks, and the sum of all increases. The totals of both
 * classes, and the sum of all decreases, are derived from these on request.
 */
#pragma once

#include "fragsim/policy.h"

/* A request served: the free block found, and what of it was taken. */
struct frag_stat_alloc {
	uint64_t requested, found, taken; /* bytes */
	bool large, range, oversize;
	bool split;             /* the block found was part of a segment */
	bool apart;             /* what is left of it is on both sides */
};

/* A block freed. */
struct frag_stat_free {
	bool large, range, oversize;
	bool split;             /* the free block that resulted is part of a segment */
	uint32_t merged;        /* free adjacent blocks that it took up */
};

/* All that ever was may be more than 64 bits hold. */
__extension__ typedef unsigned __int128 frag_sum;

/* Of one statistic: small and large pools, by the number of `large`. */
struct frag_pytorch_stat {
	int64_t current[2];
	int64_t peak[2], peak_all;
	frag_sum risen[2];
};

/* Of one that has no pools. */
struct frag_plain_gauge {
	int64_t current, peak;
	frag_sum risen;
};

/* `active` and `active_bytes` rise with `allocation` and `allocated_bytes`, and by as much. */
struct frag_pytorch_stats {
#define X(name) struct frag_pytorch_stat name;
	FRAG_POOL_STATS(X)
#undef X
#define X(name) struct frag_plain_gauge name;
	FRAG_PLAIN_STATS(X)
#undef X
#define X(name) uint64_t name;
	FRAG_STAT_COUNTS(X)
#undef X
};

/* Counts a call of the device; mapping memory into a range is no new segment. */
void frag_stats_call(struct frag_pytorch_stats *stats, const struct frag_call *call, bool large,
		     bool oversize);

/* The same in PyTorch's words. */
struct frag_memory_stats frag_stats_show(const struct frag_pytorch_stats *stats);

/* Sums are of unsigned numbers, as what overflows wraps. */
static inline void frag_gauge_raise_only(struct frag_pytorch_stat *g, bool large, uint64_t n)
{
	const int64_t now = g->current[large] = (int64_t)((uint64_t)g->current[large] + n);
	const int64_t all = (int64_t)((uint64_t)now + (uint64_t)g->current[!large]);

	if (now > g->peak[large])
		g->peak[large] = now;
	if (all > g->peak_all)
		g->peak_all = all;
}

static inline void frag_gauge_raise(struct frag_pytorch_stat *g, bool large, uint64_t n)
{
	g->risen[large] += n;
	frag_gauge_raise_only(g, large, n);
}

static inline void frag_gauge_lower(struct frag_pytorch_stat *g, bool large, uint64_t n)
{
	g->current[large] = (int64_t)((uint64_t)g->current[large] - n);
}

static inline void frag_gauge_change(struct frag_pytorch_stat *g, bool large, uint64_t from,
				     uint64_t to)
{
	if (to > from)
		frag_gauge_raise(g, large, to - from);
	else
		frag_gauge_lower(g, large, from - to);
}

static inline void frag_plain_raise(struct frag_plain_gauge *g)
{
	g->risen++;
	if (++g->current > g->peak)
		g->peak = g->current;
}

static inline void frag_stats_alloc(struct frag_pytorch_stats *stats,
				    const struct frag_stat_alloc *a)
{
	const uint64_t rest = a->found - a->taken;

	frag_gauge_raise(&stats->allocation, a->large, 1);
	frag_gauge_raise(&stats->allocated_bytes, a->large, a->taken);
	frag_gauge_raise(&stats->requested_bytes, a->large, a->requested);
	frag_gauge_raise_only(&stats->active, a->large, 1);
	frag_gauge_raise_only(&stats->active_bytes, a->large, a->taken);
	if (a->oversize)
		frag_plain_raise(&stats->oversize_allocations);
	if (a->range)
		return;
	frag_gauge_change(&stats->inactive_split_bytes, a->large, a->split ? a->found : 0, rest);
	frag_gauge_change(&stats->inactive_split, a->large, a->split,
			  (uint64_t)(rest != 0) + a->apart);
}

/* The program has freed it ... */
static inline void frag_stats_freed(struct frag_pytorch_stats *stats,
				    const struct frag_stat_free *f, uint64_t bytes)
{
	frag_gauge_lower(&stats->allocation, f->large, 1);
	frag_gauge_lower(&stats->allocated_bytes, f->large, bytes);
	stats->oversize_allocations.current -= f->oversize;
}

/* ... and nothing uses it any more; it is part of a free block of `now` bytes. */
static inline void frag_stats_ended(struct frag_pytorch_stats *stats,
				    const struct frag_stat_free *f, uint64_t requested,
				    uint64_t bytes, uint64_t now)
{
	frag_gauge_lower(&stats->requested_bytes, f->large, requested);
	frag_gauge_lower(&stats->active, f->large, 1);
	frag_gauge_lower(&stats->active_bytes, f->large, bytes);
	if (f->range)
		return;
	frag_gauge_change(&stats->inactive_split_bytes, f->large, now - bytes, f->split ? now : 0);
	frag_gauge_change(&stats->inactive_split, f->large, f->merged, f->split);
}
