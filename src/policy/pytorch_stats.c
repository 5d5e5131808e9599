/*
 * pytorch_stats.c - the statistics that PyTorch's allocator keeps of itself, as
 * torch.cuda.memory_stats() shows them.
 */
#include "policy/pytorch_stats.h"

void frag_stats_call(struct frag_pytorch_stats *stats, const struct frag_call *call, bool large,
		     bool oversize)
{
	switch (call->kind) {
	case FRAG_CALL_NEW:
		frag_gauge_raise(&stats->segment, large, 1);
		if (oversize)
			frag_plain_raise(&stats->oversize_segments);
		/* fall through */
	case FRAG_CALL_MAP:
		frag_gauge_raise(&stats->reserved_bytes, large, call->bytes);
		stats->num_device_alloc++;
		break;
	case FRAG_CALL_RELEASE:
		frag_gauge_lower(&stats->segment, large, 1);
		stats->oversize_segments.current -= oversize;
		/* fall through */
	case FRAG_CALL_UNMAP:
		frag_gauge_lower(&stats->reserved_bytes, large, call->bytes);
		stats->num_device_free++;
		break;
	case FRAG_CALL_NEW_RANGE:
	case FRAG_CALL_RELEASE_RANGE:
		break;
	}
}

/* What is too much stays the most. */
static uint64_t clamp(frag_sum sum)
{
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

/* All that rose and is there no more has been freed; there may be less than nothing. */
static struct frag_stat stat_of(int64_t current, int64_t peak, frag_sum risen)
{
	return (struct frag_stat){
		.current = current, .peak = (uint64_t)peak, .allocated = clamp(risen),
		.freed = clamp(current < 0 ? risen + (0 - (uint64_t)current)
					   : risen - (uint64_t)current),
	};
}

/* risen: of the statistic that rises as this one does. */
static struct frag_pool_stat show_pools(const struct frag_pytorch_stat *g, const frag_sum risen[2])
{
	return (struct frag_pool_stat){
		.all = stat_of(
			(int64_t)((uint64_t)g->current[0] + (uint64_t)g->current[1]), g->peak_all,
			risen[0] + risen[1]),
		.large = stat_of(g->current[1], g->peak[1], risen[1]),
		.small = stat_of(g->current[0], g->peak[0], risen[0]),
	};
}

struct frag_memory_stats frag_stats_show(const struct frag_pytorch_stats *stats)
{
	struct frag_memory_stats to;

#define X(name) to.name = show_pools(&stats->name, stats->name.risen);
	FRAG_POOL_STATS(X)
#undef X
	to.active = show_pools(&stats->active, stats->allocation.risen);
	to.active_bytes = show_pools(&stats->active_bytes, stats->allocated_bytes.risen);
#define X(name) \
	to.name = stat_of(stats->name.current, stats->name.peak, stats->name.risen);
	FRAG_PLAIN_STATS(X)
#undef X
#define X(name) to.name = stats->name;
	FRAG_STAT_COUNTS(X)
#undef X
	return to;
}
