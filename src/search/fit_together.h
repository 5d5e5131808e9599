/* fit_together.h - the smallest device on which several programs run at the same time. */
#pragma once

#include "search/fit_all.h"

/*
 * The clocks of the sources, recorded times where all have them, and the offset. -FRAG_EUSAGE: they are
 * not of one device, or the offset is more than a program takes.
 */
int frag_fit_together_prepare(struct frag_fits *f, struct frag_error *err);

/*
 * Fits the programs of joint[index] of a struct frag_fits at the same time; an interruption leaves
 * `reliable` proven.
 */
int frag_fit_together(void *fits, uint32_t index, struct frag_error *err);
