/* accumulation.h - the blocks of a line that pile up to a failure. */
#pragma once

#include "explain/history.h"

/* Blocks of one line or module that pile up. */
struct frag_accumulation {
	uint64_t bytes;         /* alive, minus the maximum before; 0: there is none */
	uint64_t since;         /* step of the oldest of them */
	uint32_t passes;        /* rounds in which they were made */
	uint32_t tag;           /* with most of the bytes; 0: none */
	bool after_step;        /* made since the last step of an optimizer; else over the last rounds */
	bool larger;            /* not more blocks, but larger ones */
	bool in_step;           /* `passes` are steps of an optimizer */
	bool forward;           /* most of the bytes were made in forward passes, */
	bool backward;          /* and backward passes ran since */
};

/* Less than this part of what is alive explains nothing. */
#define FRAG_PILED_SHARE 4
/* Blocks of a weight that one pass keeps, at most: more are of several passes. */
#define FRAG_BLOCKS_OF_WEIGHT 3

/* Of the history before the request at step `at`, which failed. -FRAG_ENOMEM */
int frag_find_accumulation(struct frag_accumulation *out, const struct frag_history *h, uint64_t at,
			   struct frag_error *err);
