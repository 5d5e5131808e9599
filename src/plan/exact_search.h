/*
 * exact_search.h - the window of time around the peak, placed within the bound by search.
 *
 * Where greedy placement leaves a gap, it is lost where nearly as much lives as at the peak. So
 * the buffers that live at such times are placed first, in the order of time, each at the bottom
 * or at the top of a free gap, the tightest gap first; what fails is taken back. States that were
 * seen before are known by a hash and not tried again. It ends after a number of nodes, so an
 * answer "no" proves nothing.
 */
#ifndef PLAN_EXACT_SEARCH_H
#define PLAN_EXACT_SEARCH_H

#include "plan/address_space.h"

struct frag_exact {
	uint32_t from, to;              /* times: the first and the last of the window */
	uint32_t *items;                /* that live there, in the order in which they are placed */
	uint32_t count;
	uint64_t nodes;
	bool found, stopped;
};

/*
 * The window of times where more than bound - gap lives. Where it is found, the items have their
 * offsets in the space. fini is due either way. -FRAG_ENOMEM
 */
int frag_exact_search(struct frag_exact *x, struct frag_space *s, uint64_t gap,
		      const struct frag_plan_stop *stop, struct frag_error *err);
void frag_exact_fini(struct frag_exact *x);

#endif
