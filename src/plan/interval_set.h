/*
 * interval_set.h - ranges of bytes that live at a time, by offset, and the gaps between them.
 *
 * A binary tree that is balanced by chance: each range has a fixed random weight, and none is
 * above a heavier one. Each knows the gap in front of it, and the largest one below it, so the
 * lowest gap of a size is found on one way down.
 */
#ifndef PLAN_INTERVAL_SET_H
#define PLAN_INTERVAL_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"

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
/* The lowest offset where so many bytes are free. */
uint64_t frag_ranges_lowest(const struct frag_ranges *r, uint64_t bytes);
/* It is not there, and shares no byte with one that is. */
void frag_ranges_add(struct frag_ranges *r, uint32_t buffer, uint64_t offset, uint64_t end);
void frag_ranges_remove(struct frag_ranges *r, uint32_t buffer);

#endif
