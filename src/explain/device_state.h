/*
 * device_state.h - a device in the middle of a run: its top tags, and those that block free
 * memory.
 *
 * Free memory is non-releasable if live blocks prevent its release: in a segment that has live
 * blocks, and in an expandable segment on pages that have live blocks.
 */
#pragma once

#include "compaction/memory_state.h"
#include "fragsim/engine.h"
#include "fragsim/heap.h"
#include "metrics/metric.h"

/* The request, and its pool and list. */
struct frag_failed_request {
	uint64_t bytes;         /* of the program */
	uint32_t pool;
	frag_list list;         /* of the segments where it is searched for; FRAG_NO_LIST: any */
	uint64_t tried;         /* of the device, for a segment or pages */
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
bool frag_window_find(const struct frag_heap *h, const struct frag_failed_request *wish,
		      struct frag_block_window *out);

/* What the blocks of one tag keep from being released. */
struct frag_blocking_tag {
	char    *tag;           /* as JSON text with its quotes; NULL: blocks without one */
	uint64_t bytes, blocks; /* of them, in the segments or pages concerned */
	uint64_t non_releasable;      /* free bytes there */
	uint32_t places;        /* segments; in a range, free blocks */
	bool     alone;         /* no other tag has blocks there; else others block them as well */
};
#define FRAG_PINS_MAX 3

struct frag_device_state {
	struct frag_tag_usage holders[FRAG_HOLDERS_MAX];   /* the largest first */
	uint32_t holder_count;
	/* the tags that alone block the most bytes; without any, those that block with others */
	struct frag_blocking_tag blocking[FRAG_PINS_MAX];
	uint32_t blocking_count;
	uint64_t non_releasable;      /* free bytes that live blocks keep reserved */
	bool     ranges;        /* expandable segments have some of them */
};

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_device_state_init(struct frag_device_state *state, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err);
/* One that is zeroed is fine. */
static inline void frag_device_state_fini(struct frag_device_state *state)
{
	frag_holders_fini(state->holders, state->holder_count);
	for (uint32_t i = 0; i < state->blocking_count; i++)
		free(state->blocking[i].tag);
	*state = (struct frag_device_state){ .holder_count = 0 };
}

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_memory_state_read(struct frag_memory_state *memory, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err);

