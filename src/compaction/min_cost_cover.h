/* min_cost_cover.h - of things that cost something and gain something, the cheapest that gain enough. */
#ifndef COMPACTION_MIN_COST_COVER_H
#define COMPACTION_MIN_COST_COVER_H

#include <stdbool.h>
#include <stdint.h>

struct frag_cover_item {
	uint64_t cost, gain;    /* gain is not 0 */
	uint32_t number;        /* the caller's own */
};

/* Steps of the search: so many decide some hundred segments, in some milliseconds. */
#define FRAG_COVER_NODES 300000

/*
 * Branch and bound over subsets: chosen, with room for twice `count`, begins with the numbers of
 * those that together gain `need` at the least cost, *chosen_count of them; the items are put in
 * another order. *exact: no subset is cheaper; else the search ended after FRAG_COVER_NODES steps. False:
 * all of them are not enough.
 */
bool frag_cover_find(struct frag_cover_item *items, uint32_t count, uint64_t need,
		     uint32_t *chosen, uint32_t *chosen_count, bool *exact);

#endif
