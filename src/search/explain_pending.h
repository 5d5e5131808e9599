/* explain_pending.h - what the pending blocks of a moment wait for, in an explanation's words. */
#ifndef SEARCH_EXPLAIN_PENDING_H
#define SEARCH_EXPLAIN_PENDING_H

#include "search/explanation.h"
#include "search/pending_waits.h"

/* Fills in what is pending, and for whom it waits. -FRAG_ENOMEM */
int frag_explain_pending(struct frag_explained *m, const struct frag_memory_state *scene,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, struct frag_error *err);
/* After that: the waits of a pin that is the scene's block number `block`. */
void frag_awaited_pin(struct frag_blocking_block *pin, const struct frag_waits *waits,
		      uint32_t block);
void frag_awaited_fini(struct frag_explained *m);       /* what the first fills in */

#endif
