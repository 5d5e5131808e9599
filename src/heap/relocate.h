/*
 * relocate.h - relocation of live blocks, for policies that move them.
 *
 * A move is tried in a fork first. The handle of a block stays valid: after the move it is the
 * handle of the block at its new address.
 */
#pragma once

#include "fragsim/heap.h"

/*
 * A copy of a heap, over a simulated copy of its device, which grants and refuses as the first
 * would.
 */
struct frag_fork {
	struct frag_device device;
	struct frag_heap *heap;
};

/*
 * Can the heap be forked? Not over a device that is not plain, such as a real one.
 * frag_heap_fork() only where it can: 0 or -FRAG_ENOMEM. The struct must stay where it is until
 * its heap is deleted, which releases nothing to the first device.
 */
bool frag_heap_can_fork(const struct frag_heap *h);
int frag_heap_fork(struct frag_fork *fork, const struct frag_heap *h);

/*
 * The last refusal, in the device's accounting: bytes that the device has left (UINT64_MAX: no
 * limit), and bytes that are missing. own: a limit of the policy's, or UINT64_MAX. Callers
 * decide by the result, so the run so far is valid for this capacity only.
 */
struct frag_shortfall {
	uint64_t left, missing;
};
struct frag_shortfall frag_heap_shortfall(struct frag_heap *h, uint64_t own);

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
