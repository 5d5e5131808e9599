/* awaited.h - what the pending blocks of a moment wait for, in an explanation's words. */
#ifndef SEARCH_AWAITED_H
#define SEARCH_AWAITED_H

#include "search/explanation.h"
#include "search/waits.h"

/* Fills in what is pending, and for whom it waits. -FRAG_ENOMEM */
int frag_awaited_fill(struct frag_explained *m, const struct frag_scene *scene,
		      const struct frag_lifetimes *lifetimes, const struct frag_waits *waits,
		      const struct frag_tape *tape, struct frag_error *err);
/* After that: the waits of a pin that is the scene's block number `block`. */
void frag_awaited_pin(struct frag_pinning *pin, const struct frag_waits *waits, uint32_t block);
void frag_awaited_fini(struct frag_explained *m);       /* what the first fills in */

#endif
