/*
 * relocate.h - relocation of live blocks, for policies that move them.
 *
 * A move is tried in a fork first (fork.h). The handle of a block stays valid: after the move it is the
 * handle of the block at its new address.
 */
#pragma once

#include "fragsim/heap.h"

/*
 * Exchanges the handles of the allocated block b and of `as`, whatever that is now. -FRAG_EPOLICY
 * where b is not allocated, or `as` is detached or was never a block; -FRAG_ENOMEM. A free `as` is
 * inserted again: where the policy sorts, its hooks place it again.
 */
int frag_heap_rename(struct frag_heap *h, frag_block b, frag_block as);

/* How often blocks were moved since the beginning; how many; and their bytes before. */
struct frag_moves {
	uint64_t moves, blocks, bytes;
};
struct frag_moves frag_heap_moves(const struct frag_heap *h);

/* Notes a move of these blocks, which are where they are now; one a step. -FRAG_ENOMEM */
int frag_heap_note_move(struct frag_heap *h, const frag_block *moved, uint32_t count,
			uint64_t bytes);
