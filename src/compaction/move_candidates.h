/*
 * move_candidates.h - what could be moved so that a refused request is served: candidates, none
 * of them tried.
 *
 * A window is a run of neighbours on the list where the request is searched for, large enough for
 * it. An evacuation is of whole segments, or pages of a range, that go back to the device then:
 * one of them, or the cheapest several. What it gains is counted in two ways: the free bytes, for
 * what is moved takes as much elsewhere, and all of it, for what is moved may find holes. What a
 * move costs is the bytes, and so many for each block.
 */
#ifndef COMPACTION_MOVE_CANDIDATES_H
#define COMPACTION_MOVE_CANDIDATES_H

#include "compaction/memory_state.h"

#define FRAG_RELIEFS_MAX 60
#define FRAG_BLOCK_COST (UINT64_C(4) << 20)

/* What a request lacked. Bytes. */
struct frag_move_target {
	frag_list list;         /* where it is searched for; FRAG_NO_LIST: anywhere in its pool */
	uint32_t pool;
	uint64_t need;          /* of a block that serves it */
	uint64_t missing;       /* of what was requested of the device */
	uint64_t left;          /* what that had; UINT64_MAX: no limit */
	uint64_t block_cost;
};

struct frag_move_candidate {
	uint64_t cost, bytes;
	uint32_t *blocks;       /* indexes into the scene's: the largest first, equals by address */
	uint32_t count;
};

/* The cheapest first, no two of the same blocks. */
struct frag_reliefs {
	struct frag_move_candidate *reliefs;
	uint32_t count;
};

/* Release what this fills in, also where it fails. -FRAG_ENOMEM */
int frag_reliefs_find(struct frag_reliefs *reliefs, const struct frag_memory_state *scene,
		      const struct frag_move_target *shortage, struct frag_error *err);
void frag_reliefs_fini(struct frag_reliefs *reliefs);   /* one that is zeroed is fine */

#endif
