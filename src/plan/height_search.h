/*
 * height_search.h - lower and lower placements: a search at the goal, then at heights between what
 * is proven impossible and the best, again and again with doubled limits.
 */
#ifndef PLAN_HEIGHT_SEARCH_H
#define PLAN_HEIGHT_SEARCH_H

#include "plan/canonical_search.h"

struct frag_height_search {
	const struct frag_space *space; /* borrowed: the items that are searched */
	uint64_t goal;                  /* the search ends at this height or below it */
	uint64_t lower;                 /* in and out: no placement of the items is lower */
	uint64_t height;                /* in and out: of the best placement */
	uint64_t unit;                  /* heights are multiples of it */
	uint64_t looks_left;            /* the budget, in list entries looked at */
	uint32_t threads;
	const struct frag_plan_stop *stop;
	/* A placement was found: returns its height, of the items around it too. */
	uint64_t (*found)(void *ctx, const uint64_t *offset);
	void *ctx;
	uint32_t searches, proofs;      /* out: heights tried; of them proven impossible */
	uint64_t nodes;                 /* placements of one item that were tried */
	bool spent, stopped;            /* out: the budget, or `stop`, ended it */
};

/* -FRAG_ENOMEM */
int frag_height_search(struct frag_height_search *h, struct frag_error *err);

#endif
