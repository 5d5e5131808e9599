/* pending_waits.h - what the pending blocks of a moment wait for. */
#ifndef SEARCH_PENDING_WAITS_H
#define SEARCH_PENDING_WAITS_H

#include "compaction/memory_state.h"
#include "events/tape.h"
#include "search/explanation.h"

/* A pending block, and one thing that it waits for. */
struct frag_wait {
	uint32_t block;         /* index into the memory state's */
	uint32_t stream;        /* dense; FRAG_ALL: its `complete`, whatever stream that is of */
};

/* By block, then by stream. */
struct frag_waits {
	struct frag_wait *of;
	uint32_t count, capacity;
};

/*
 * Finds the waits in a memory state after step `until`. Reads the tape up to there if a block is
 * pending. The caller must release the result, also on failure. -FRAG_ENOMEM
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
/*
 * To be called after that: sets the waits of the blocking block with the index `block` in the
 * memory state.
 */
void frag_awaited_pin(struct frag_blocking_block *pin, const struct frag_waits *waits,
		      uint32_t block);
void frag_awaited_fini(struct frag_explained *m);       /* what the first fills in */

#endif
