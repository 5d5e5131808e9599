/*
 * kept_beginning.h - the state at the beginning of a trace that is made of devices of others.
 *
 * Its blocks are found by the number of their alloc. Where they are the first events of each
 * trace, and nothing else is, those of the new trace follow from their order alone.
 */
#pragma once

#include "fragsim/trace.h"

/* Are the blocks the first events of their trace, in their order? */
static inline bool frag_beginning_leads(const struct frag_first_state *b)
{
	return !b->block_count || b->blocks[b->block_count - 1].event == b->block_count - 1;
}

/*
 * Adds `count` devices of a trace from `first` on, as the next ones of sum, which is zeroed before
 * the first call; their blocks come after those of sum. b leads, and must outlive sum; NULL:
 * nothing exists there. False: out of memory.
 */
bool frag_beginning_add(struct frag_first_state *sum, const struct frag_first_state *b,
			uint32_t first, uint32_t count);

void frag_beginning_fini(struct frag_first_state *sum);
