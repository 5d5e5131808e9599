/*
 * placers.h - three ways to place the items of a space, and the search for lower placements.
 *
 * Canonical search: items are placed in the order of their offsets, each on top of the items
 * below it. Every placement can be lowered into one of this form, so an exhausted search is a
 * proof.
 */
#ifndef PLAN_PLACERS_H
#define PLAN_PLACERS_H

#include "plan/address_space.h"

/*
 * Each of these sets all offsets and *height, which is UINT64_MAX if `stop` ended the placement,
 * and adds the work to *looks. Returns -FRAG_ENOMEM on out of memory (host).
 */
/* In the order of offsets, without a search, in a time for very many items; none may be fixed. */
int frag_skyline_place(struct frag_space *s, const struct frag_plan_stop *stop, uint64_t *height,
		       uint64_t *looks, struct frag_error *err);
/* The most contended and longest items first, each at the lowest gap. */
int frag_first_fit(struct frag_space *s, const struct frag_plan_stop *stop, uint64_t *height,
		   uint64_t *looks, struct frag_error *err);

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
