/* live_by_tag.h - who holds memory at a moment of a run: its live blocks by tag, and by stack. */
#ifndef EXPLAIN_LIVE_BY_TAG_H
#define EXPLAIN_LIVE_BY_TAG_H

#include "explain/min_free_window.h"
#include "fragsim/engine.h"

/*
 * The tags that hold most on a device as the simulation is now, at most FRAG_HOLDERS_MAX, of all
 * blocks or of those in the window. The memory that it takes grows with tags and stacks, not
 * with blocks. Whose array it is releases what the holders own, also where this fails.
 * -FRAG_ENOMEM
 */
int frag_holders_find(const struct frag_sim *sim, uint32_t device,
		      const struct frag_block_window *window, struct frag_tag_usage *holders,
		      uint32_t *count);

/* A tag as JSON text with its quotes. False: out of memory. *out is NULL where there is none. */
bool frag_tag_json(const struct frag_symbols *symbols, uint32_t tag, char **out);

/*
 * The frames of a stack as the insides of JSON texts, each with a newline after it, the innermost
 * first. NULL: it has none, or out of memory.
 */
char *frag_frames_json(const struct frag_symbols *symbols, uint64_t at);

#endif
