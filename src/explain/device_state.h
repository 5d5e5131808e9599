/*
 * device_state.h - a device in the middle of a run: its top tags, and those that block free
 * memory.
 *
 * Free memory is non-releasable if live blocks prevent its release: in a segment that has live
 * blocks, and in an expandable segment on pages that have live blocks.
 */
#pragma once

#include "fragsim/engine.h"

/* What the blocks of one tag keep from being released. */
struct frag_blocking_tag {
	char    *tag;           /* as JSON text with its quotes; NULL: blocks without one */
	uint64_t bytes, blocks; /* of them, in the segments or pages concerned */
	uint64_t non_releasable;      /* free bytes there */
	uint32_t places;        /* segments; in a range, free blocks */
	bool     alone;         /* no other tag has blocks there; else others block them as well */
};
#define FRAG_BLOCKING_MAX 3

struct frag_device_state {
	struct frag_tag_usage holders[FRAG_HOLDERS_MAX];   /* the largest first */
	uint32_t holder_count;
	/* the tags that alone block the most bytes; without any, those that block with others */
	struct frag_blocking_tag blocking[FRAG_BLOCKING_MAX];
	uint32_t blocking_count;
	uint64_t non_releasable;      /* free bytes that live blocks keep reserved */
	bool     ranges;        /* expandable segments have some of them */
};

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_device_state_init(struct frag_device_state *state, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err);
void frag_device_state_fini(struct frag_device_state *state);  /* zeroed is fine */
