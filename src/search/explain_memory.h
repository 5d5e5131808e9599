/*
 * explain_memory.h - a scene in an explanation's words: pins, holders, pools, and who it usually
 * is.
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
 * After the moves: who keeps free memory, in the segments that the first move leaves, else in
 * all. Counted are segments of more than 2 MiB of which a quarter or more is free, by whose
 * blocks most is live in them: long-lived ones that were born when the segment was there for
 * others, or ones that do not live long.
 */
void frag_explain_main_cause(struct frag_explained *m);

void frag_account_fini(struct frag_explained *m);       /* what the first fills in */

#endif
