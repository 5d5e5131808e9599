/* fork.h - before live blocks are moved: a fork of the heap to try it in, and what is missing. */
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
