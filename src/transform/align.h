/*
 * align.h - which allocations of two recordings of one program correspond, where one has more of them.
 *
 * Kernels take workspaces from some size on, so a recording at a larger number has insertions. Both
 * recordings are sequences of allocations and marks. They are compared by greedy O(ND) differences
 * in four passes, each in the gaps of the one before. The first pairs allocations of equal names,
 * with sizes that are constant or proportional to the number, that live equally briefly; the second
 * ignores their lives; the third accepts sizes up to quadratic ones; the last compares names alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"

struct frag_align_item {
	uint64_t name;          /* hash of tag, stream, pool and device, or of a mark's name */
	uint64_t own_name;      /* the same, without the number of its recording in the texts */
	uint64_t bytes;
	uint32_t alloc;         /* its number; FRAG_NO_ALLOC: a mark */
	bool brief;             /* freed within one operation */
};
#define FRAG_NO_ALLOC UINT32_MAX

struct frag_align_side {
	const struct frag_align_item *items;
	uint32_t count;
	uint32_t number;        /* that it was recorded at */
};

/*
 * Stores for each item of the recording at the larger number the index of the one of the other
 * that corresponds; UINT32_MAX: none does. -FRAG_ENOMEM
 */
int frag_align(const struct frag_align_side *small, const struct frag_align_side *large,
	       uint32_t *twins, struct frag_error *err);
