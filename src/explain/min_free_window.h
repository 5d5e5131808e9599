/* min_free_window.h - what a request lacked: the least that would have to be freed for it. */
#ifndef EXPLAIN_MIN_FREE_WINDOW_H
#define EXPLAIN_MIN_FREE_WINDOW_H

#include "fragsim/heap.h"

/* What was requested, and of whom. */
struct frag_failed_request {
	uint64_t bytes;         /* of the program */
	uint32_t pool;
	frag_list list;         /* of the segments where it is searched for; FRAG_NO_LIST: any */
	uint64_t tried;         /* of the device, for a segment or pages */
	uint64_t left;          /* bytes that the device had, or would with what is releasable */
};

/* Neighbours in a segment. */
struct frag_block_window {
	frag_segment segment;
	uint32_t ordinal;
	uint64_t offset, bytes; /* whole blocks */
	uint64_t live;          /* bytes of those that are allocated or pending */
	bool whole;             /* the segment, to be given back */
};

/*
 * Of all runs of neighbours in a segment of the pool that come to the bytes, and of
 * all segments that would be enough for the device if they were given back, the one
 * with the fewest live bytes; of equal ones a run, and the lowest. False where there
 * is none, and where one needs nothing but the policy's consent.
 */
bool frag_window_find(const struct frag_heap *h, const struct frag_failed_request *wish,
		      struct frag_block_window *out);

#endif
