/* alternatives.h - what the whole trace needs, and which other policies and settings survive. */
#ifndef SEARCH_ALTERNATIVES_H
#define SEARCH_ALTERNATIVES_H

#include "search/explanation.h"

/*
 * Fills in whether the blocks of the whole trace fit at their peak; and where a request has
 * failed, the others that survive on the same device, each simulated. Where the trace ends with
 * the failure nothing tells either: then neither is looked for.
 */
int frag_find_alternatives(const struct frag_explanation *x, struct frag_explained *m,
		     struct frag_error *err);

#endif
