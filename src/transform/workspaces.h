/*
 * workspaces.h - blocks that kernels of PyTorch take from some size on, which no smaller recording has.
 *
 * They are found in a trace as it would be at a number, and are added to it. workspaces.c
 * has the thresholds and sizes, each with its source.
 */
#pragma once

#include "events/tape.h"
#include "transform/recordings.h"

struct frag_workspaces {
	struct frag_tape_block *blocks; /* by rising event of the tape */
	uint32_t count;
	uint32_t sums;                  /* of them, those of sums: not every kernel that sums takes one */
	bool rows_unknown;              /* a gradient of an embedding may be sorted, over rows that nothing shows */
};

/*
 * What may start between the largest recording and the number; tape: the one at the number, of
 * r->template. multiprocessors: of the GPU, 0: enough for the largest workspaces. sizes: NULL, or those of
 * r->sizes at the number; those of recorded workspaces of sums are set to what such a GPU has.
 * The caller releases *out with frag_workspaces_fini(), also after a failure. False: out of memory
 */
bool frag_workspaces_find(struct frag_workspaces *out, const struct frag_recordings *r,
			  const struct frag_tape *tape, uint32_t number, uint32_t multiprocessors,
			  uint64_t *sizes);
void frag_workspaces_fini(struct frag_workspaces *w);   /* a zeroed one is fine */
