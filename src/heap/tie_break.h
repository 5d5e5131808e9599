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

/* By creation: b, which is in no list, has just been created. */
void frag_heap_renew(struct frag_heap *h, frag_block b);

/*
 * Sorts the ready blocks so that frag_heap_find_ready() returns them in the order of their frees,
 * until another block is ready. By creation a merged block has the number of the block that was
 * freed last, so this order matters. all: makes all pending blocks ready first.
 */
void frag_heap_order_ready(struct frag_heap *h, bool all);
