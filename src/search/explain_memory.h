/*
 * explain_memory.h - explains a memory state: blocking blocks, tags, pools, and the main cause.
 */
#ifndef SEARCH_EXPLAIN_MEMORY_H
#define SEARCH_EXPLAIN_MEMORY_H

#include "search/explanation.h"
#include "search/pending_waits.h"

/* Fills in segments, holders, pools; folded: holders by stack too. -FRAG_ENOMEM */
int frag_explain_memory(struct frag_explained *m, const struct frag_memory_state *scene,
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
