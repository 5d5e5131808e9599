/* unexplained_sizes.h - whose sizes the recordings do not explain. */
#ifndef SEARCH_UNEXPLAINED_SIZES_H
#define SEARCH_UNEXPLAINED_SIZES_H

#include "search/extrapolation.h"

/* Fills in unexplained, odd, odd_allocs and odd_tags. -FRAG_ENOMEM */
int frag_find_unexplained_sizes(struct frag_extrapolation *x, struct frag_error *err);

#endif
