/* pending_waits.h - what the pending blocks of a moment wait for. */
#ifndef SEARCH_PENDING_WAITS_H
#define SEARCH_PENDING_WAITS_H

#include "compaction/memory_state.h"
#include "events/tape.h"
#include "search/explanation.h"

/* A pending block, and one thing that it waits for. */
struct frag_wait {
	uint32_t block;         /* index into the scene's */
	uint32_t stream;        /* dense; FRAG_ALL: its `complete`, whatever stream that is of */
};

/* By block, then by stream. */
struct frag_waits {
	struct frag_wait *of;
	uint32_t count, capacity;
};

/*
 * Of a scene after step `until`. Reads the tape up to there where a block is pending. Release
 * what this fills in, also where it fails. -FRAG_ENOMEM
 */
int frag_waits_find(struct frag_waits *waits, const struct frag_memory_state *scene,
		    uint32_t device, const struct frag_tape *tape, uint64_t until,
		    struct frag_error *err);
void frag_waits_fini(struct frag_waits *waits); /* one that is zeroed is fine */

/* What the pending blocks of a moment wait for, in an explanation's words. */
/* Fills in what is pending, and for whom it waits. -FRAG_ENOMEM */
int frag_explain_pending(struct frag_explained *m, const struct frag_memory_state *scene,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, struct frag_error *err);
/* After that: the waits of a pin that is the scene's block number `block`. */
void frag_awaited_pin(struct frag_blocking_block *pin, const struct frag_waits *waits,
		      uint32_t block);
void frag_awaited_fini(struct frag_explained *m);       /* what the first fills in */

#endif
