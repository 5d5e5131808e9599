/*
 * divergence.h - where simulations of one trace, side by side, stop being the same.
 *
 * Each is watched while it takes a batch; when all have taken it, they are
 * compared with the first, step by step. What is kept for it never exceeds a
 * batch, and a run that has diverged is watched no more.
 */
#ifndef COMPARE_DIVERGENCE_H
#define COMPARE_DIVERGENCE_H

#include "compare/runs.h"

struct frag_divergence;

/* count simulations on so many devices each. NULL: out of memory. */
struct frag_divergence *frag_divergence_new(uint32_t count, uint32_t devices);
void frag_divergence_del(struct frag_divergence *divergence);

/* The observer of simulation i; it keeps the timelines, too. */
struct frag_observer frag_divergence_observer(struct frag_divergence *divergence, uint32_t i);

/* Between two batches. */
void frag_divergence_compare(struct frag_divergence *divergence);

/* Where simulation i diverged from the first on the device, and its timeline. */
const struct frag_divergence_point *frag_divergence_where(const struct frag_divergence *divergence,
							  uint32_t i, uint32_t device);
const struct frag_timeline *frag_divergence_timeline(const struct frag_divergence *divergence,
						     uint32_t i, uint32_t device);

#endif
