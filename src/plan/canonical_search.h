/*
 * canonical_search.h - a placement within a capacity, or the proof that there is none.
 *
 * Items are placed in the order of their offsets, each on top of the items below it. Every
 * placement can be lowered into one of this form, so an exhausted search is a proof.
 */
#ifndef PLAN_CANONICAL_SEARCH_H
#define PLAN_CANONICAL_SEARCH_H

#include "plan/address_space.h"

#define FRAG_CANONICAL_ORDERS 6 /* in which items of equal offset are tried */

enum frag_canonical_result { FRAG_CANONICAL_FOUND, FRAG_CANONICAL_NONE, FRAG_CANONICAL_LIMIT };

struct frag_canonical {
	const struct frag_space *space; /* borrowed */
	uint64_t capacity;
	uint32_t order;                 /* below FRAG_CANONICAL_ORDERS */
	uint64_t nodes_max, looks_max;  /* limits of the work, which is counted, not timed */
	const struct frag_plan_stop *stop;      /* called from the thread of the search */
	uint64_t *offset;               /* by item, owned by the caller; set where FOUND */
	enum frag_canonical_result result;
	uint64_t nodes, looks;          /* placements tried; list entries looked at */
};

/* Returns -FRAG_ENOMEM on out of memory (host). */
int frag_canonical_search(struct frag_canonical *c, struct frag_error *err);

#endif
