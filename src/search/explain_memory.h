/*
 * explain_memory.h - explains a memory state: blocking blocks, tags, pools, and the main cause.
 */
#ifndef SEARCH_EXPLAIN_MEMORY_H
#define SEARCH_EXPLAIN_MEMORY_H

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
int frag_waits_find(struct frag_waits *waits, const struct frag_memory_state *memory,
		    uint32_t device, const struct frag_tape *tape, uint64_t until,
		    struct frag_error *err);
void frag_waits_fini(struct frag_waits *waits); /* one that is zeroed is fine */

/* What the pending blocks of a moment wait for, in an explanation's words. */
/* Fills in what is pending, and for whom it waits. -FRAG_ENOMEM */
int frag_explain_pending(struct frag_explained *m, const struct frag_memory_state *memory,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, struct frag_error *err);
void frag_pending_uses_fini(struct frag_explained *m);       /* what the first fills in */

/* Fills in segments, holders, pools; folded: holders by stack too. -FRAG_ENOMEM */
int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *memory,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, bool folded, struct frag_error *err);

/*
 * To be called after the moves are found: names the main cause of non-releasable memory, in the
 * segments that the first move leaves, else in all. Only segments of more than 2 MiB that are at
 * least a quarter free count, by the class of most of their live bytes: long-lived blocks that
 * were allocated in a segment reserved for others, or short-lived blocks.
 */
void frag_explain_main_cause(struct frag_explained *m);

void frag_account_fini(struct frag_explained *m);       /* what the first fills in */

#endif
