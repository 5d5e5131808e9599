/* block.c - the verbs on blocks: take, give, and the steps that they are made of. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/inline.h"
#include "fragsim/heap.h"
#include "heap/block_inline.h"
#include "heap/refusal.h"

#define TOO_SMALL "is smaller than %" PRIu64 " bytes"

/*
 * The steps in segments of any kind. Most are plain: those of block_inline.h do the same there,
 * with one change of the list where these make two.
 */

/* A free block becomes a detached one. */
static void detach(struct frag_heap *h, frag_block b)
{
	frag_list_remove(h, b);
	h->blocks[b].state = FRAG_DETACHED;
}

/* Cuts a free block in two: one part stays free, the other, detached, is returned. */
__attribute__((noinline)) static uint32_t split_any(struct frag_heap *h, uint32_t b, uint64_t keep,
						    bool upper)
{
	uint32_t other;

	FRAG_ASSERT(keep > 0 && keep < h->blocks[b].bytes);
	detach(h, b);
	other = frag_split_record(h, b, upper ? h->blocks[b].bytes - keep : keep);
	frag_list_insert(h, upper ? b : other);
	return upper ? other : b;
}

/* Merges the free adjacent block n with the detached block *b. */
static void merge_any(struct frag_heap *h, frag_block *b, uint32_t n)
{
	frag_list_remove(h, n);
	frag_absorb(h, b, n);
}

/* Makes a detached block a free one, together with free adjacent blocks: that block. */
__attribute__((noinline)) static uint32_t merge_adjacent(struct frag_heap *h, uint32_t b)
{
	const bool whole = !h->segments[h->blocks[b].segment].slot_size;
	const uint32_t prev = h->blocks[b].prev, next = h->blocks[b].next;

	FRAG_ASSERT(h->blocks[b].state == FRAG_DETACHED);
	if (next != FRAG_NO_ENTRY && h->blocks[next].state == FRAG_FREE) {
		merge_any(h, &b, next);
		h->totals.merges += whole;
	}
	if (prev != FRAG_NO_ENTRY && h->blocks[prev].state == FRAG_FREE) {
		merge_any(h, &b, prev);
		h->totals.merges += whole;
	}
	frag_list_insert(h, b);
	return b;
}

/* frag_take_plain() in any segment: of a carved slab a slot, which is no split. */
static void take_any(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep,
		     bool upper)
{
	if (keep == h->blocks[*b].bytes) {
		detach(h, *b);
	} else {
		*b = split_any(h, *b, keep, upper);
		h->totals.splits += !h->segments[h->blocks[*b].segment].slot_size;
	}
	frag_begin_request(h, *b, requested);
}

int frag_heap_detach_free(struct frag_heap *h, frag_block b)
{
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, b, "is not free");
	if (!frag_block_room(h, 0))
		return -FRAG_ENOMEM;
	detach(h, b);
	return 0;
}

int frag_heap_insert(struct frag_heap *h, frag_block b)
{
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (!frag_block_room(h, 0))
		return -FRAG_ENOMEM;
	frag_list_insert(h, b);
	return 0;
}

/* What detach_live does, and how give begins. */
FRAG_INLINE int detach_live(struct frag_heap *h, const char *verb, frag_block b)
{
	if (!frag_is_block(h, b))
		return frag_refuse_block(h, verb, b, "is no block");
	if (!frag_end_request(h, b))
		return frag_refuse_block(h, verb, b, "is neither allocated nor pending");
	return 0;
}

int frag_heap_detach_live(struct frag_heap *h, frag_block b)
{
	return detach_live(h, __func__, b);
}

int frag_heap_assign(struct frag_heap *h, frag_block b, uint64_t requested)
{
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (requested > h->blocks[b].bytes)
		return frag_refuse_block(h, __func__, b, TOO_SMALL, requested);
	frag_begin_request(h, b, requested);
	return 0;
}

int frag_heap_defer_free(struct frag_heap *h, frag_block b, uint32_t owner)
{
	struct frag_heap_block *k;

	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_ALLOCATED)
		return frag_refuse_block(h, __func__, b, "is not allocated");
	if (!FRAG_GROW(h->pending, h->pending_capacity, h->pending_count))
		return -FRAG_ENOMEM;
	k = &h->blocks[b];
	k->state = FRAG_PENDING;
	FRAG_ASSERT(h->ready_count <= h->pending_count);
	k->pending_at = h->pending_count;
	h->pending[h->pending_count++] = (struct frag_heap_pending){
		.block = b, .owner = owner, .seq = h->deferred++,
	};
	h->totals.requested -= k->requested;
	h->totals.allocated -= k->bytes;
	h->totals.blocks--;
	return 0;
}

int frag_heap_ready(struct frag_heap *h, frag_block b)
{
	struct frag_heap_pending mine;
	uint32_t at;

	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_PENDING)
		return frag_refuse_block(h, __func__, b, "is not pending");
	at = h->blocks[b].pending_at;
	FRAG_ASSERT(at < h->pending_count && h->pending[at].block == b);
	if (at < h->ready_count)
		return 0;
	mine = h->pending[at];
	frag_pending_move(h, h->ready_count, at);
	h->pending[h->ready_count] = mine;
	h->blocks[b].pending_at = h->ready_count++;
	return 0;
}

int frag_heap_split(struct frag_heap *h, frag_block b, uint64_t keep)
{
	uint64_t slot_size;

	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (keep == 0 || keep >= h->blocks[b].bytes)
		return frag_refuse_block(h, __func__, b, "cannot be split after %" PRIu64 " bytes",
					 keep);
	slot_size = h->segments[h->blocks[b].segment].slot_size;
	if (slot_size && keep % slot_size)
		return frag_refuse_block(h, __func__, b,
					 "is made of slots of %" PRIu64
					 " bytes: it cannot be split after %" PRIu64,
					 slot_size, keep);
	if (!frag_block_room(h, 1))
		return -FRAG_ENOMEM;
	frag_list_insert(h, frag_split_record(h, b, keep));
	h->totals.splits++;
	return 0;
}

int frag_heap_merge(struct frag_heap *h, frag_block *b, frag_block neighbour)
{
	if (!frag_is_block(h, *b) || h->blocks[*b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, *b, "is not detached");
	if (!frag_is_block(h, neighbour) || h->blocks[neighbour].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, neighbour, "is not free");
	if (h->blocks[*b].prev != neighbour && h->blocks[*b].next != neighbour)
		return frag_refuse_block(h, __func__, neighbour,
					 "is not adjacent to block %" PRIu32, *b);
	if (!frag_block_room(h, 0))
		return -FRAG_ENOMEM;
	merge_any(h, b, neighbour);
	h->totals.merges++;
	return 0;
}

/* Which of the sizes of a take does not fit. */
__attribute__((cold))
static int refuse_take(struct frag_heap *h, const char *verb, frag_block b, uint64_t requested,
		       uint64_t keep)
{
	uint64_t slot_size = h->segments[h->blocks[b].segment].slot_size;

	if (keep > h->blocks[b].bytes)
		return frag_refuse_block(h, verb, b, TOO_SMALL, keep);
	if (requested > keep || keep == 0)
		return frag_refuse_block(h, verb, b, "cannot serve a request of %" PRIu64
					 " bytes with %" PRIu64, requested, keep);
	return frag_refuse_block(h, verb, b, "is made of slots of %" PRIu64 " bytes: it cannot"
				 " keep %" PRIu64, slot_size, keep);
}

/* take and take_upper. */
FRAG_INLINE int block_take(struct frag_heap *h, const char *verb, frag_block *b, uint64_t requested,
		   uint64_t keep, bool upper)
{
	const struct frag_heap_segment *s;

	if (!frag_is_block(h, *b) || h->blocks[*b].state != FRAG_FREE)
		return frag_refuse_block(h, verb, *b, "is not free");
	s = &h->segments[h->blocks[*b].segment];
	if (keep > h->blocks[*b].bytes || requested > keep || keep == 0 || (s->slot_size && keep != s->slot_size))
		return refuse_take(h, verb, *b, requested, keep);
	if (!frag_block_room(h, 1))
		return -FRAG_ENOMEM;
	if (frag_is_plain(h, s))
		frag_take_plain(h, s, b, requested, keep, upper);
	else
		take_any(h, b, requested, keep, upper);
	return 0;
}

int frag_heap_take(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep)
{
	return block_take(h, __func__, b, requested, keep, false);
}

int frag_heap_take_upper(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep)
{
	return block_take(h, __func__, b, requested, keep, true);
}

int frag_heap_give(struct frag_heap *h, frag_block b, frag_block *out)
{
	const struct frag_heap_segment *s;
	int rc;

	if (!frag_block_room(h, 0))
		return -FRAG_ENOMEM;
	rc = detach_live(h, __func__, b);
	if (rc)
		return rc;
	s = &h->segments[h->blocks[b].segment];
	b = frag_is_plain(h, s) ? frag_merge_plain(h, s, b) : merge_adjacent(h, b);
	if (out)
		*out = b;
	return 0;
}
