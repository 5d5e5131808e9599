/* max_fitting.h - the numbers at which a program fits a device. */
#ifndef SEARCH_MAX_FITTING_H
#define SEARCH_MAX_FITTING_H

#include "search/extrapolation.h"

/* The recordings at a number, as a tape that is the caller's; NULL: a size would be too large. */
int frag_extrapolation_tape(const struct frag_extrapolation *x, uint32_t number,
			    struct frag_tape **out, struct frag_error *err);

/* Fills in reaches, first, tried and bound, as far as it comes. -FRAG_ENOMEM, -FRAG_EINTERRUPTED */
int frag_find_max_fitting(struct frag_extrapolation *x, struct frag_error *err);

#endif
