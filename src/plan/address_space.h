/*
 * address_space.h - the buffers of one address space as numbers, side by side, for who places them again
 * and again.
 *
 * Time is counted in sections: runs of births without an end between them. Two buffers live at a
 * time if they share a section, as at the last birth of it all of its buffers live.
 */
#ifndef PLAN_ADDRESS_SPACE_H
#define PLAN_ADDRESS_SPACE_H

#include "plan/plan.h"

struct frag_space {
	uint32_t count, times;          /* items; sections */
	uint32_t *from, *to;            /* by item: sections, half open, at least one */
	double *life;                   /* by item: in times of the trace, or steps */
	uint64_t *size, *offset;        /* by item */
	uint64_t *contention;           /* by item: the most that lives at any of its times */
	uint64_t *live;                 /* by time */
	uint32_t *beside;               /* by time: items that live */
	uint64_t unit;                  /* all sizes are multiples of it, so heights are */
	uint64_t *step, *last;          /* by time: its first and its last birth */
	uint32_t *buffer;               /* by item: of the plan */
	uint64_t bound;
	uint32_t peak;                  /* the first time where that lives */
};

/* The lowest offset of an item at or above `low`. */
static inline uint64_t frag_space_offset(const struct frag_space *s, uint32_t item, uint64_t low)
{
	(void)s;
	(void)item;
	return low;
}

/* -FRAG_ENOMEM; fini is due either way. */
int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err);
void frag_space_fini(struct frag_space *s);
/* These items of a space, in their order, with the same sections. Also -FRAG_ENOMEM. */
int frag_space_part(struct frag_space *part, const struct frag_space *of, const uint32_t *items,
		    uint32_t count, struct frag_error *err);

#endif
