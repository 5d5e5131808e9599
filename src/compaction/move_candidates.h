/*
 * move_candidates.h - lists blocks whose relocation would satisfy a refused request. The
 * candidates are not tried.
 *
 * A window is a range of adjacent blocks in the pool of the request, large enough for it. An
 * evacuation empties whole segments, or pages of a range, which are then released: one of them,
 * or the cheapest several. Its gain is counted in two ways: only the free bytes, if the moved
 * blocks need new memory, and all bytes, if they fit in free blocks. The cost of a move is its
 * bytes, plus a constant for each block.
 */
#pragma once

#include "compaction/memory_state.h"

#define FRAG_MOVE_CANDIDATES_MAX 60
#define FRAG_BLOCK_COST (UINT64_C(4) << 20)

/* What a request lacked. Bytes. */
struct frag_move_target {
	frag_list list;         /* where it is searched for; FRAG_NO_LIST: anywhere in its pool */
	uint32_t pool;
	uint64_t need;          /* bytes of a block that satisfies it */
	uint64_t missing;       /* of what was requested of the device */
	uint64_t left;          /* what that had; UINT64_MAX: no limit */
	uint64_t block_cost;
	bool all;               /* with a last candidate: every block that can be moved */
};

struct frag_move_candidate {
	uint64_t cost, bytes;
	uint32_t *blocks;       /* indexes into the state's: the largest first, equals by address */
	uint32_t count;
};

/* The cheapest first, no two of the same blocks. */
struct frag_move_candidates {
	struct frag_move_candidate *candidates;
	uint32_t count;
};

/* Release what this fills in, also where it fails. -FRAG_ENOMEM */
int frag_move_candidates_find(struct frag_move_candidates *candidates,
			      const struct frag_memory_state *memory,
			      const struct frag_move_target *shortage, struct frag_error *err);
/* One that is zeroed is fine. */
void frag_move_candidates_fini(struct frag_move_candidates *candidates);
