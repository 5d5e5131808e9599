/*
 * address_space.h - the buffers of one address space as arrays of numbers.
 *
 * Time is counted in sections: runs of allocations without a free between them. Two buffers
 * overlap in time if they share a section, because all buffers of a section are allocated at its
 * last step.
 */
#ifndef PLAN_ADDRESS_SPACE_H
#define PLAN_ADDRESS_SPACE_H

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
	uint64_t *size, *offset;        /* by item */
	uint64_t *contention;           /* by item: the peak of live bytes during its life */
	uint64_t *live;                 /* by section */
	uint64_t *align, *fixed;        /* by item: at least 1; its offset, or UINT64_MAX */
	uint64_t *hint;                 /* by item: the offset to try first, or UINT64_MAX */
	uint32_t *buffer;               /* by item: of the plan */
	uint32_t fixed_count;
	uint64_t fixed_end;             /* the highest end of a fixed item */
	bool constrained, gapped, hinted;       /* an item is fixed or aligned; has a gap; a hint */
	bool placed;                    /* the hints are a placement of all items */
	uint64_t unit;                  /* all sizes are multiples of it, so heights are */
	uint64_t bound, lower;          /* lower: also by fixed offsets and alignments */
	uint64_t peak_step;             /* the first one at which that lives */
	uint32_t *list_at, *list;       /* by section: items in use there; see frag_space_list() */
	void *memory;                   /* of all other arrays */
};

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

/* Returns -FRAG_ENOMEM. The caller must call fini in each case. */
int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err);
void frag_space_fini(struct frag_space *s);
/* Lists the items of each section. Returns -FRAG_ENOMEM on out of memory (host). */
int frag_space_list(struct frag_space *s, struct frag_error *err);

/* An allocation or a free, also at the ends of a gap; at one time, frees come first. */
struct frag_space_change {
	uint64_t time;                  /* step times plan->scale, or a time between two steps */
	uint32_t buffer;
	bool birth;
};

/* All changes of a plan in order, owned by the caller; NULL: out of memory (host). */
struct frag_space_change *frag_plan_changes(const struct frag_plan *plan, size_t *count);

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

/*
 * Ranges of bytes that are allocated at the same time, by offset, and the gaps between them.
 *
 * A binary tree that is balanced by chance: each range has a fixed random weight, and none is
 * above a heavier one. Each knows the gap in front of it, and the largest one below it, so the
 * lowest gap of a size is found on one way down.
 */
#define FRAG_NO_RANGE UINT32_MAX

struct frag_range {
	uint64_t offset, end;
	uint64_t gap, largest;          /* in front of it; of all below and itself */
	uint32_t left, right;
};

struct frag_ranges {
	struct frag_range *of;          /* by the number of their buffer */
	uint32_t root;
};

/* For buffers below this count. -FRAG_ENOMEM */
int frag_ranges_init(struct frag_ranges *r, uint32_t count, struct frag_error *err);
void frag_ranges_fini(struct frag_ranges *r);

/* One that shares a byte with [offset, end); FRAG_NO_RANGE: none does. */
uint32_t frag_ranges_meet(const struct frag_ranges *r, uint64_t offset, uint64_t end);
/* The lowest offset at which `bytes` bytes are free. */
uint64_t frag_ranges_lowest(const struct frag_ranges *r, uint64_t bytes);
/* It is not there, and shares no byte with one that is. */
void frag_ranges_add(struct frag_ranges *r, uint32_t buffer, uint64_t offset, uint64_t end);
void frag_ranges_remove(struct frag_ranges *r, uint32_t buffer);

#endif
