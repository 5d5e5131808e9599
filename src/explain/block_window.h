/* block_window.h - the adjacent blocks with the fewest live bytes that a failed request would need. */
#pragma once

#include "fragsim/heap.h"

/* The request, and its pool and list. */
struct frag_failed_request {
	uint64_t bytes;         /* of the program */
	uint32_t pool;
	frag_list list;         /* of the segments where it is searched for; FRAG_NO_LIST: any */
	uint64_t demand;        /* of the device, for a segment or pages */
	uint64_t left;          /* bytes that the device had, or would with what is releasable */
};

/* Adjacent blocks in a segment. */
struct frag_block_window {
	frag_segment segment;
	uint32_t ordinal;
	uint64_t offset, bytes; /* whole blocks */
	uint64_t live;          /* bytes of those that are allocated or pending */
	bool whole;             /* the window is the segment, to be released */
};

/*
 * Finds the window with the fewest live bytes: a range of adjacent blocks in a segment of the pool
 * that is large enough, or a whole segment whose release leaves enough device memory. Of equal
 * ones the range wins, then the lowest. False if no window exists, or if one has no live bytes, so
 * that only the policy refuses it.
 */
bool frag_window_find(const struct frag_heap *h, const struct frag_failed_request *request,
		      struct frag_block_window *out);
