/*
 * address_space.h - the buffers of one address space as arrays of numbers, and what places them.
 *
 * Time is counted in sections: runs of allocations without a free between them. Two buffers
 * overlap in time if they share a section, because all buffers of a section are allocated at its
 * last step.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"
#include "plan/plan.h"

/* Sections in which an item is in use: all of its life, or the parts between its gaps. */
struct frag_space_run {
	uint32_t from, to;              /* half open, at least one */
};

struct frag_space {
	uint32_t count, times;          /* items, by their first section; sections */
	uint32_t *from, *to;            /* by item: sections of its life, half open */
	uint32_t *run_at;               /* by item: its first run, up to that of the next item */
	struct frag_space_run *runs;
	uint32_t *first_from;           /* by section: the first item that begins there or later */
	double *life;                   /* by item: in times of the trace, or steps */
	uint64_t *size;                 /* by item */
	uint64_t *offset;               /* by item; set by whoever places them */
	uint64_t *contention;           /* by item: the peak of live bytes during its life, once summed */
	uint64_t *live;                 /* by section */
	uint64_t *align, *fixed;        /* by item: at least 1; its offset, or UINT64_MAX */
	uint64_t *hint;                 /* by item: the offset to try first, or UINT64_MAX */
	uint32_t *buffer;               /* by item: of the plan */
	bool has_fixed, gapped, hinted; /* an item is fixed; has a gap; a hint */
	bool constrained;               /* an item is fixed or aligned */
	uint64_t unit;                  /* all sizes are multiples of it, so heights are */
	uint64_t bound, lower;          /* lower: also by fixed offsets and alignments */
	uint64_t peak_step;             /* the first one at which that lives */
	uint32_t *list_at, *list;       /* by section: items in use there; the planner sets both */
	void *memory;                   /* of all other arrays */
};

/* An item and what it is sorted by, the highest first, with qsort(). */
struct frag_space_key {
	uint64_t of[3];
	uint32_t item;
};
int frag_space_by_key(const void *one, const void *other);

/* Are two items in use at the same time? Their lives share a section. */
bool frag_space_meet(const struct frag_space *s, uint32_t a, uint32_t b);

/* The lowest offset of an item at or above `low`; UINT64_MAX: it is fixed below. */
static inline uint64_t frag_space_offset(const struct frag_space *s, uint32_t item, uint64_t low)
{
	const uint64_t rest = s->constrained && low != UINT64_MAX ? low % s->align[item] : 0;

	if (s->constrained && s->fixed[item] != UINT64_MAX)
		return low <= s->fixed[item] ? s->fixed[item] : UINT64_MAX;
	return rest ? low + (s->align[item] - rest) : low;
}

/* -FRAG_ETRACE for a buffer that is never in use, -FRAG_ENOMEM. Call fini in each case. */
int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err);
void frag_space_fini(struct frag_space *s);
/* Sets the contention of the items. -FRAG_ENOMEM */
int frag_space_sum_contention(struct frag_space *s, struct frag_error *err);

/*
 * Memory for several arrays at once: with base NULL it is measured, in a second pass it is given
 * out, zeroed.
 */
struct frag_arena {
	char *base;
	size_t used;
};

static inline void *frag_arena_take(struct frag_arena *a, size_t count, size_t size)
{
	const size_t at = a->used;

	a->used += (count * size + 15) / 16 * 16;
	return a->base ? a->base + at : NULL;
}

/* Sets the highest end of fixed items, by section. Returns -FRAG_ENOMEM */
int frag_space_fixed_tops(const struct frag_space *s, uint64_t *out, struct frag_error *err);

/*
 * -FRAG_ETRACE with the path and two buffers that overlap in time and share a byte at these offsets,
 * by item; UINT64_MAX: it is not placed. -FRAG_ENOMEM
 */
int frag_space_check(const struct frag_space *s, const struct frag_plan *plan,
		     const uint64_t *offset, const char *path, struct frag_error *err);

/* The items placed by one order, without a search, in a time for very many of them. */
struct frag_placing {
	const struct frag_space *space; /* borrowed */
	uint32_t order;                 /* which item is the best; below FRAG_SKYLINES */
	const struct frag_job *stop;      /* called from the thread of the placement */
	uint64_t *offset;               /* by item, owned by the caller */
	bool always;                    /* a skyline that is stopped places all others by their class */
	uint64_t looks;                 /* list entries that were inspected */
	uint64_t asked;                 /* how many they were when `stop` was called last */
	bool stopped;                   /* `stop` ended it; without `always` some are not placed */
};
#define FRAG_PLAN_POLL (UINT64_C(1) << 20)      /* looks between two calls of `stop`, about */

/* Calls `stop` where it is time for that. */
static inline void frag_placing_poll(struct frag_placing *own)
{
	if (own->looks - own->asked < FRAG_PLAN_POLL)
		return;
	own->asked = own->looks;
	own->stopped = frag_plan_is_over(own->stop);
}

#define FRAG_SKYLINES 16
extern const char *const frag_skyline_names[FRAG_SKYLINES];

/* In the order of offsets, on top of fixed items. Returns -FRAG_ENOMEM */
int frag_skyline_place(struct frag_placing *w, struct frag_error *err);

/* By class alone, on top of fixed items, in one pass: where there is no time to sort them. -FRAG_ENOMEM */
int frag_class_place(struct frag_placing *w, struct frag_error *err);

#define FRAG_CANONICAL_ORDERS 6 /* in which items of equal offset are tried */

enum frag_canonical_result { FRAG_CANONICAL_FOUND, FRAG_CANONICAL_NONE, FRAG_CANONICAL_LIMIT };

/*
 * Items within a capacity, in the order of their offsets, each on top of the items below it. Every
 * placement can be lowered into one of this form, so an exhausted search is a proof.
 */
struct frag_canonical {
	const struct frag_space *space; /* borrowed */
	uint64_t capacity;
	uint32_t order;                 /* below FRAG_CANONICAL_ORDERS */
	uint64_t nodes_max, looks_max;  /* limits of the work, which is counted, not timed */
	const struct frag_job *stop;      /* called from the thread of the search */
	uint64_t *offset;               /* by item, owned by the caller; set where FOUND */
	enum frag_canonical_result result;
	uint64_t nodes, looks;          /* placements tried; list entries looked at */
};

/* Returns -FRAG_ENOMEM on out of memory (host). */
int frag_canonical_search(struct frag_canonical *c, struct frag_error *err);
