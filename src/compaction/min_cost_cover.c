/*
 * min_cost_cover.c - the least-cost cover, by branch and bound.
 *
 * Items are taken or left in the order of gain for cost. What is still to be gained costs at
 * least what it would if the next items could be taken in parts, so a branch that comes to no
 * less than the best so far is given up. All in whole numbers: nothing is rounded.
 */
#include "compaction/min_cost_cover.h"

#include <stdlib.h>

#include "base/format.h"

struct search {
	const struct frag_cover_item *items;
	uint32_t count;
	uint64_t best_cost;
	uint32_t *best, *current;       /* indexes of items */
	uint32_t best_count;
	uint32_t nodes;
};

static int by_ratio(const void *a, const void *b)
{
	const struct frag_cover_item *x = a, *y = b;
	const frag_wide p = (frag_wide)x->gain * y->cost, q = (frag_wide)y->gain * x->cost;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The least that the rest costs from item i on, were there parts of one; UINT64_MAX: not enough. */
static uint64_t bound(const struct search *s, uint32_t i, uint64_t rest)
{
	uint64_t cost = 0;

	for (; i < s->count; i++) {
		const struct frag_cover_item *item = &s->items[i];

		if (item->gain >= rest)
			return cost + (uint64_t)((frag_wide)item->cost * rest / item->gain);
		cost += item->cost;
		rest -= item->gain;
	}
	return rest ? UINT64_MAX : cost;
}

static void keep(struct search *s, uint32_t depth, uint64_t cost)
{
	for (uint32_t i = 0; i < depth; i++)
		s->best[i] = s->current[i];
	s->best_count = depth;
	s->best_cost = cost;
}

/* No recursion, as there may be thousands: current is what is taken, and the way back. */
static void branch(struct search *s, uint64_t need)
{
	uint64_t cost = 0, gain = 0;
	uint32_t depth = 0, i = 0;

	for (;;) {
		const uint64_t rest = need > gain ? need - gain : 0;
		const uint64_t more = rest ? bound(s, i, rest) : 0;

		s->nodes++;
		if (!rest && cost < s->best_cost)
			keep(s, depth, cost);
		if (rest && s->nodes < FRAG_COVER_NODES && more != UINT64_MAX
		    && cost + more < s->best_cost) {
			s->current[depth++] = i;
			cost += s->items[i].cost;
			gain += s->items[i++].gain;
			continue;
		}
		if (!depth || s->nodes >= FRAG_COVER_NODES)
			return;
		/* without the one that was taken last */
		i = s->current[--depth];
		cost -= s->items[i].cost;
		gain -= s->items[i++].gain;
	}
}

bool frag_cover_find(struct frag_cover_item *items, uint32_t count, uint64_t need,
		     uint32_t *chosen, uint32_t *chosen_count, bool *exact)
{
	struct search s = {
		.items = items, .count = count, .best_cost = UINT64_MAX, .best = chosen,
		.current = chosen + count,
	};

	if (count)
		qsort(items, count, sizeof(*items), by_ratio);
	if (need)
		branch(&s, need);
	for (uint32_t i = 0; i < s.best_count; i++)
		chosen[i] = items[chosen[i]].number;
	*chosen_count = s.best_count;
	*exact = s.nodes < FRAG_COVER_NODES;
	return s.best_count > 0;
}
