/*
 * parting.h - where simulations of one trace, side by side, stop being alike.
 *
 * Each is watched while it takes a batch; when all have taken it, they are
 * compared with the first, step by step. What is kept for it never exceeds a
 * batch, and a run that has parted is watched no more.
 */
#ifndef COMPARE_PARTING_H
#define COMPARE_PARTING_H

#include "compare/runs.h"

struct frag_parting;

/* count simulations on so many devices each. NULL: memory is short. */
struct frag_parting *frag_parting_new(uint32_t count, uint32_t devices);
void frag_parting_del(struct frag_parting *parting);

/* The observer of simulation i; it keeps the timelines, too. */
struct frag_observer frag_parting_observer(struct frag_parting *parting, uint32_t i);

/* Between two batches. */
void frag_parting_compare(struct frag_parting *parting);

/* Where simulation i parted from the first on the device, and its timeline. */
const struct frag_where *frag_parting_where(const struct frag_parting *parting, uint32_t i,
					    uint32_t device);
const struct frag_timeline *frag_parting_timeline(const struct frag_parting *parting, uint32_t i,
						  uint32_t device);

#endif
