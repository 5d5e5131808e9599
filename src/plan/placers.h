/*
 * placers.h - three ways to place the items of a space within its capacity.
 *
 * Canonical search: items are placed in the order of their offsets, each on top of the items
 * below it. Every placement can be lowered into one of this form, so an exhausted search is a
 * proof.
 */
#ifndef PLAN_PLACERS_H
#define PLAN_PLACERS_H

#include "plan/address_space.h"

/*
 * In the order of offsets without a search, in a time for very many items; none may be fixed.
 * Sets the offsets and the height, which is UINT64_MAX if `stop` ended the placement.
 */
struct frag_skyline {
	const struct frag_space *space; /* borrowed */
	uint32_t order;                 /* below FRAG_SKYLINE_ORDERS: which item is the best */
	const struct frag_plan_stop *stop;      /* called from the thread of the placement */
	uint64_t *offset;               /* by item, owned by the caller */
	uint64_t height, looks;         /* looks: list entries that were inspected */
};
#define FRAG_SKYLINE_ORDERS 6
extern const char *const frag_skyline_names[FRAG_SKYLINE_ORDERS];

/* Returns -FRAG_ENOMEM on out of memory (host). */
int frag_skyline_place(struct frag_skyline *w, struct frag_error *err);

/*
 * The most contended and longest items first, each at the lowest gap. Sets the offsets of the
 * space, and the height as above.
 */
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
