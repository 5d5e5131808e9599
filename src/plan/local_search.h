/*
 * local_search.h - a better order, from a good one: what reaches to the top is moved forward in it, and
 * what comes out no worse is kept.
 */
#ifndef PLAN_LOCAL_SEARCH_H
#define PLAN_LOCAL_SEARCH_H

#include "plan/greedy_placement.h"

#define FRAG_CLIMB_ALL 8        /* items, at most, of which all orders are tried */

/*
 * order: found with this fit. *height: before and after; the space has the offsets of the lowest
 * that is known, before and after. -FRAG_ENOMEM
 */
int frag_local_search(struct frag_greedy *shelf, const uint32_t *order, bool best, uint64_t *height,
	       uint64_t looks, struct frag_plan_climb *told, struct frag_error *err);

#endif
