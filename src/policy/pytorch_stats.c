/*
 * pytorch_stats.c - the statistics that PyTorch's allocator keeps of itself.
 *
 * "Inactive split" is free memory in segments that hold live blocks too; ranges
 * do not count there, nor as segments.
 */
#include "policy/pytorch_stats.h"

/* All that ever was may be more than 64 bits hold: what is too much stays the most. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void up(struct frag_stat *s, uint64_t n)
{
	s->current += (int64_t)n;
	s->allocated = sum(s->allocated, n);
	if (s->current > (int64_t)s->peak)
		s->peak = (uint64_t)s->current;
}

static void down(struct frag_stat *s, uint64_t n)
{
	s->current -= (int64_t)n;
	s->freed = sum(s->freed, n);
}

static void raise(struct frag_pool_stat *s, bool large, uint64_t n)
{
	up(&s->all, n);
	up(large ? &s->large : &s->small, n);
}

static void lower(struct frag_pool_stat *s, bool large, uint64_t n)
{
	down(&s->all, n);
	down(large ? &s->large : &s->small, n);
}

static void change(struct frag_pool_stat *s, bool large, uint64_t from, uint64_t to)
{
	if (to > from)
		raise(s, large, to - from);
	else
		lower(s, large, from - to);
}

void frag_stats_alloc(struct frag_memory_stats *stats, const struct frag_stat_alloc *a)
{
	uint64_t rest = a->found - a->taken;

	raise(&stats->allocation, a->large, 1);
	raise(&stats->allocated_bytes, a->large, a->taken);
	raise(&stats->requested_bytes, a->large, a->requested);
	raise(&stats->active, a->large, 1);
	raise(&stats->active_bytes, a->large, a->taken);
	if (a->oversize)
		up(&stats->oversize_allocations, 1);
	if (a->range)
		return;
	change(&stats->inactive_split_bytes, a->large, a->split ? a->found : 0, rest);
	change(&stats->inactive_split, a->large, a->split, (uint64_t)(rest != 0) + a->apart);
}

void frag_stats_freed(struct frag_memory_stats *stats, const struct frag_stat_free *f,
		      uint64_t bytes)
{
	lower(&stats->allocation, f->large, 1);
	lower(&stats->allocated_bytes, f->large, bytes);
	if (f->oversize)
		down(&stats->oversize_allocations, 1);
}

void frag_stats_ended(struct frag_memory_stats *stats, const struct frag_stat_free *f,
		      uint64_t requested, uint64_t bytes, uint64_t now)
{
	lower(&stats->requested_bytes, f->large, requested);
	lower(&stats->active, f->large, 1);
	lower(&stats->active_bytes, f->large, bytes);
	if (f->range)
		return;
	change(&stats->inactive_split_bytes, f->large, now - bytes, f->split ? now : 0);
	change(&stats->inactive_split, f->large, f->merged, f->split);
}

void frag_stats_call(struct frag_memory_stats *stats, const struct frag_call *call, bool large,
		     bool oversize)
{
	switch (call->kind) {
	case FRAG_CALL_NEW:
		raise(&stats->segment, large, 1);
		if (oversize)
			up(&stats->oversize_segments, 1);
		/* fall through */
	case FRAG_CALL_MAP:
		raise(&stats->reserved_bytes, large, call->bytes);
		stats->num_device_alloc++;
		break;
	case FRAG_CALL_RELEASE:
		lower(&stats->segment, large, 1);
		if (oversize)
			down(&stats->oversize_segments, 1);
		/* fall through */
	case FRAG_CALL_UNMAP:
		lower(&stats->reserved_bytes, large, call->bytes);
		stats->num_device_free++;
		break;
	case FRAG_CALL_NEW_RANGE:
	case FRAG_CALL_RELEASE_RANGE:
		break;
	}
}
