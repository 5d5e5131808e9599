/* skyline.h - places very many items in the order of their offsets, without a search. */
#ifndef PLAN_SKYLINE_H
#define PLAN_SKYLINE_H

#include "plan/address_space.h"

/*
 * Sets all offsets and *height, which is UINT64_MAX if `stop` ended the placement. Adds the work
 * to *looks. Returns -FRAG_ENOMEM on out of memory (host).
 */
int frag_skyline_place(struct frag_space *s, const struct frag_plan_stop *stop, uint64_t *height,
		       uint64_t *looks, struct frag_error *err);

#endif
