/*
 * address_space.h - the buffers of one address space as numbers, side by side, for who places them again
 * and again.
 *
 * Time is counted in births: two buffers live at a time if they do at the birth of one of them.
 */
#ifndef PLAN_ADDRESS_SPACE_H
#define PLAN_ADDRESS_SPACE_H

#include "plan/plan.h"

struct frag_space {
	uint32_t count, times;          /* items; births at different steps */
	uint32_t *from, *to;            /* by item: times, half open, at least one */
	uint64_t *size, *offset;        /* by item */
	uint64_t *contention;           /* by item: the most that lives at any of its times */
	uint64_t *live;                 /* by time */
	uint64_t *step;                 /* by time */
	uint32_t *buffer;               /* by item: of the plan */
	uint64_t bound;
	uint32_t peak;                  /* the first time where that lives */
};

/* -FRAG_ENOMEM; fini is due either way. */
int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err);
void frag_space_fini(struct frag_space *s);

#endif
