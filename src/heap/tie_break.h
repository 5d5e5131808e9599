/*
 * tie_break.h - decides which of two equal free blocks comes first.
 *
 * Usually the block of the older segment comes first, as segments compare by their ordinals.
 * Some allocators compare addresses; where the addresses are unknown, each new segment is
 * assumed to be below all others. Others compare the creation order, which is then a number
 * stored in the block: a split gives both parts the number, and the policy renews the part that
 * it takes; a merge keeps that of the block that was freed.
 */
#pragma once

#include "fragsim/heap.h"

enum frag_ties { FRAG_TIES_AGE, FRAG_TIES_FALLING, FRAG_TIES_CREATION };

/* Before the first segment. Where the device's addresses decide, they still do. */
void frag_heap_set_ties(struct frag_heap *h, enum frag_ties ties);

/*
 * For FRAG_TIES_FALLING where the addresses of the first segments are known: places[i] is the rank
 * of the i-th segment among them, each a different one; borrowed. Later segments are below all.
 * reversed: where the order is unknown, assumes the opposite: later segments are above all, and
 * by age the newest comes first.
 */
void frag_heap_set_places(struct frag_heap *h, const uint32_t *places, uint32_t count,
			  bool reversed);

/* By creation: b, which is in no list, has just been created. */
void frag_heap_renew(struct frag_heap *h, frag_block b);

/*
 * Sorts the ready blocks so that frag_heap_find_ready() returns them in the order of their frees,
 * until another block is ready. By creation a merged block has the number of the block that was
 * freed last, so this order matters. all: makes all pending blocks ready first.
 */
void frag_heap_order_ready(struct frag_heap *h, bool all);
