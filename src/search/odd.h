/* odd.h - whose sizes the recordings do not explain. */
#ifndef SEARCH_ODD_H
#define SEARCH_ODD_H

#include "search/extrapolation.h"

/* Fills in unexplained, odd, odd_allocs and odd_tags. -FRAG_ENOMEM */
int frag_odd_find(struct frag_extrapolation *x, struct frag_error *err);

#endif
