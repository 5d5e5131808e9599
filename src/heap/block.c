/* block.c - the verbs on blocks: take, give, and the steps that they are made of. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/inline.h"
#include "fragsim/heap.h"
#include "heap/block_inline.h"

#define TOO_SMALL "is smaller than %" PRIu64 " bytes"

int frag_heap_detach_free(struct frag_heap *h, frag_block b)
{
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, b, "is not free");
	if (!frag_block_room(h, 0))
		return -FRAG_ENOMEM;
	frag_list_remove(h, b);
	h->blocks[b].state = FRAG_DETACHED;
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
	if (!end_request(h, b))
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
	begin_request(h, b, requested);
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

/* Overwrites an entry that is no longer needed. */
static void move_pending(struct frag_heap *h, uint32_t from, uint32_t to)
{
	FRAG_ASSERT(from < h->pending_capacity && to < h->pending_capacity);
	if (from == to)
		return;
	h->pending[to] = h->pending[from];
	h->blocks[h->pending[to].block].pending_at = to;
}

void frag_pending_remove(struct frag_heap *h, uint32_t b)
{
	uint32_t hole = h->blocks[b].pending_at;

	FRAG_ASSERT(hole < h->pending_count && h->pending[hole].block == b);
	if (hole < h->ready_count) {
		move_pending(h, --h->ready_count, hole);
		hole = h->ready_count;
	}
	move_pending(h, --h->pending_count, hole);
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
	move_pending(h, h->ready_count, at);
	h->pending[h->ready_count] = mine;
	h->blocks[b].pending_at = h->ready_count++;
	return 0;
}

static int pending_by_seq(const void *a, const void *b)
{
	const struct frag_heap_pending *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/*
 * The caller removes the first entry each time, and the last one replaces it. So the earliest free
 * is first, and the others follow from the latest to the earliest.
 */
void frag_heap_order_ready(struct frag_heap *h, bool all)
{
	struct frag_heap_pending *p = h->pending;

	FRAG_ASSERT(h->ready_count <= h->pending_count);
	if (all)
		h->ready_count = h->pending_count;
	if (h->ready_count < 2)
		return;
	FRAG_SORT(p, h->ready_count, pending_by_seq);
	for (uint32_t i = 1, j = h->ready_count - 1; i < j; i++, j--) {
		const struct frag_heap_pending earlier = p[i];

		p[i] = p[j];
		p[j] = earlier;
	}
	for (uint32_t i = 0; i < h->ready_count; i++)
		h->blocks[p[i].block].pending_at = i;
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
	frag_list_insert(h, split_record(h, b, keep));
	h->totals.splits++;
	return 0;
}

/* merge without its checks: merges the free adjacent block n with the detached block *b. */
static void block_merge(struct frag_heap *h, frag_block *b, uint32_t n)
{
	FRAG_ASSERT(h->blocks[*b].prev == n || h->blocks[*b].next == n);
	frag_list_remove(h, n);
	h->blocks[n].tie = h->blocks[*b].tie;
	if (h->blocks[n].offset < h->blocks[*b].offset) {
		merge_records(h, n, *b);
		*b = n;
		h->blocks[n].state = FRAG_DETACHED;
	} else {
		merge_records(h, *b, n);
	}
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
	block_merge(h, b, neighbour);
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

/* split_plain() of block_inline.h for any segment, as block_join() is merge_plain() for any. */
__attribute__((noinline)) static uint32_t block_part(struct frag_heap *h, uint32_t b, uint64_t keep,
						     bool upper)
{
	uint32_t other;

	FRAG_ASSERT(keep > 0 && keep < h->blocks[b].bytes);
	frag_list_remove(h, b);
	h->blocks[b].state = FRAG_DETACHED;
	other = split_record(h, b, upper ? h->blocks[b].bytes - keep : keep);
	frag_list_insert(h, upper ? b : other);
	return upper ? other : b;
}

/* take and take_upper. */
FRAG_INLINE int block_take(struct frag_heap *h, const char *verb, frag_block *b, uint64_t requested,
		   uint64_t keep, bool upper)
{
	const struct frag_heap_segment *s;
	uint64_t bytes;
	bool plain;

	if (!frag_is_block(h, *b) || h->blocks[*b].state != FRAG_FREE)
		return frag_refuse_block(h, verb, *b, "is not free");
	s = &h->segments[h->blocks[*b].segment];
	plain = is_plain(h, s);
	bytes = h->blocks[*b].bytes;
	if (keep > bytes || requested > keep || keep == 0 || (s->slot_size && keep != s->slot_size))
		return refuse_take(h, verb, *b, requested, keep);
	if (!frag_block_room(h, 1))
		return -FRAG_ENOMEM;
	if (keep == bytes && plain) {
		detach_plain(h, s, *b);
	} else if (keep == bytes) {
		frag_list_remove(h, *b);
		h->blocks[*b].state = FRAG_DETACHED;
	} else if (plain) {
		*b = split_plain(h, s, *b, keep, upper);
		h->totals.splits++;
	} else {
		*b = block_part(h, *b, keep, upper);
		h->totals.splits += !s->slot_size;
	}
	begin_request(h, *b, requested);
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

/* Makes a detached block a free one, together with free adjacent blocks: that block. */
__attribute__((noinline)) static uint32_t block_join(struct frag_heap *h, uint32_t b)
{
	const bool whole = !h->segments[h->blocks[b].segment].slot_size;
	const uint32_t prev = h->blocks[b].prev, next = h->blocks[b].next;

	FRAG_ASSERT(h->blocks[b].state == FRAG_DETACHED);
	if (next != FRAG_NO_ENTRY && h->blocks[next].state == FRAG_FREE) {
		block_merge(h, &b, next);
		h->totals.merges += whole;
	}
	if (prev != FRAG_NO_ENTRY && h->blocks[prev].state == FRAG_FREE) {
		block_merge(h, &b, prev);
		h->totals.merges += whole;
	}
	frag_list_insert(h, b);
	return b;
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
	b = is_plain(h, s) ? merge_plain(h, s, b) : block_join(h, b);
	if (out)
		*out = b;
	return 0;
}
