/*
 * block_inline.h - inline verbs on blocks in plain segments.
 *
 * For block.c, whose verbs validate their arguments first, and for the policies of this program,
 * which pass blocks that they have just queried. In a checked run, and in segments that are not
 * plain, these functions call the verbs of block.c.
 */
#pragma once

#include "base/inline.h"
#include "heap/heap_inline.h"

FRAG_INLINE uint32_t frag_split_record(struct frag_heap *h, uint32_t b, uint64_t keep)
{
	const uint32_t upper = frag_new_block(h);
	struct frag_heap_block *k = &h->blocks[b], *u = &h->blocks[upper];

	FRAG_ASSERT(keep > 0 && keep < k->bytes);
	*u = (struct frag_heap_block){
		.offset = k->offset + keep, .bytes = k->bytes - keep,
		.segment = k->segment, .prev = b, .next = k->next,
		.user = k->user, .state = k->state, .tie = k->tie,
	};
	if (k->next != FRAG_NO_ENTRY)
		h->blocks[k->next].prev = upper;
	k->next = upper;
	k->bytes = keep;
	return upper;
}

FRAG_INLINE void frag_merge_records(struct frag_heap *h, uint32_t lower, uint32_t upper)
{
	struct frag_heap_block *k = &h->blocks[lower];

	FRAG_ASSERT(k->next == upper && k->segment == h->blocks[upper].segment);
	k->bytes += h->blocks[upper].bytes;
	k->next = h->blocks[upper].next;
	if (k->next != FRAG_NO_ENTRY)
		h->blocks[k->next].prev = lower;
	frag_release_record(h, upper);
}

/*
 * An allocated or pending block becomes detached, and its segment idle if that was its last one.
 * False: it is neither, and nothing changed.
 */
FRAG_INLINE bool frag_end_request(struct frag_heap *h, frag_block b)
{
	struct frag_heap_block *k = &h->blocks[b];

	if (k->state == FRAG_ALLOCATED) {
		h->totals.requested -= k->requested;
		h->totals.allocated -= k->bytes;
		h->totals.blocks--;
	} else if (k->state == FRAG_PENDING) {
		frag_pending_remove(h, b);
	} else {
		return false;
	}
	h->totals.active -= k->bytes;
	k->state = FRAG_DETACHED;
	if (--h->segments[k->segment].live == 0)
		frag_idle_enter(h, k->segment);
	return true;
}

/* A detached block becomes allocated; its segment is no longer idle. */
FRAG_INLINE void frag_begin_request(struct frag_heap *h, frag_block b, uint64_t requested)
{
	struct frag_heap_block *k = &h->blocks[b];

	k->state = FRAG_ALLOCATED;
	k->requested = requested;
	h->totals.requested += requested;
	h->totals.allocated += k->bytes;
	h->totals.active += k->bytes;
	h->totals.blocks++;
	if (h->segments[k->segment].live++ == 0)
		frag_idle_leave(h, k->segment);
}

/*
 * Most segments are plain: all their free blocks are in one list, one entry a block, and the
 * segment is released as a whole or not at all. There the entry of a free block is replaced by
 * another block's in the same list, and the totals are updated once.
 */
FRAG_INLINE bool frag_is_plain(const struct frag_heap *h, const struct frag_heap_segment *s)
{
	return !(h->policy_sorts | (s->slot_size != 0) | (s->page != 0));
}

FRAG_INLINE struct frag_entry frag_plain_entry(const struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];

	return (struct frag_entry){
		.size = k->bytes, .offset = k->offset, .tie = k->tie, .block = b,
	};
}

/* A free block becomes a detached one. */
FRAG_INLINE void frag_detach_plain(struct frag_heap *h, const struct frag_heap_segment *s, uint32_t b)
{
	const struct frag_entry e = frag_plain_entry(h, b);

	h->totals.free -= e.size;
	h->totals.holes--;
	frag_index_remove(&h->index, s->list, &e, e.size);
	h->blocks[b].state = FRAG_DETACHED;
}

/* A detached block becomes a free one. */
FRAG_INLINE void frag_insert_plain(struct frag_heap *h, const struct frag_heap_segment *s, uint32_t b)
{
	const struct frag_entry e = frag_plain_entry(h, b);

	h->totals.free += e.size;
	h->totals.holes++;
	h->blocks[b].state = FRAG_FREE;
	frag_index_insert(&h->index, s->list, &e, e.size);
}

/* Cuts a free block in two: one part stays free, the other, detached, is returned. */
FRAG_INLINE uint32_t frag_split_plain(struct frag_heap *h, const struct frag_heap_segment *s, uint32_t b,
				 uint64_t keep, bool upper)
{
	const struct frag_entry whole = frag_plain_entry(h, b);
	const uint32_t other = frag_split_record(h, b, upper ? whole.size - keep : keep);
	const uint32_t rest = upper ? b : other, taken = upper ? other : b;
	struct frag_entry e;

	h->blocks[rest].state = FRAG_FREE;
	h->blocks[taken].state = FRAG_DETACHED;
	h->totals.free -= keep;
	e = frag_plain_entry(h, rest);
	frag_index_replace(&h->index, s->list, &whole, &e);
	return taken;
}

/* take and take_upper, whose arguments are good and whose memory is reserved. */
FRAG_INLINE void frag_take_plain(struct frag_heap *h, const struct frag_heap_segment *s, frag_block *b,
			    uint64_t requested, uint64_t keep, bool upper)
{
	if (keep == h->blocks[*b].bytes) {
		frag_detach_plain(h, s, *b);
	} else {
		*b = frag_split_plain(h, s, *b, keep, upper);
		h->totals.splits++;
	}
	frag_begin_request(h, *b, requested);
}

/* The adjacent block n, which is in no list any more, becomes part of the detached block *b. */
FRAG_INLINE void frag_absorb(struct frag_heap *h, frag_block *b, uint32_t n)
{
	const bool lower = h->blocks[*b].prev == n;

	FRAG_ASSERT(lower || h->blocks[*b].next == n);
	h->blocks[n].tie = h->blocks[*b].tie;
	frag_merge_records(h, lower ? n : *b, lower ? *b : n);
	*b = lower ? n : *b;
	h->blocks[*b].state = FRAG_DETACHED;
}

/*
 * Makes a detached block a free one, together with free adjacent blocks: the entry of one of them
 * becomes that of the result.
 */
FRAG_INLINE uint32_t frag_merge_plain(struct frag_heap *h, const struct frag_heap_segment *s, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];
	const uint32_t prev = k->prev, next = k->next;
	const bool lower = prev != FRAG_NO_ENTRY && h->blocks[prev].state == FRAG_FREE;
	const bool upper = next != FRAG_NO_ENTRY && h->blocks[next].state == FRAG_FREE;
	struct frag_entry was, e;

	h->totals.free += k->bytes;
	h->totals.holes += UINT64_C(1) - lower - upper;
	h->totals.merges += (uint64_t)lower + upper;
	if (upper) {
		was = frag_plain_entry(h, next);
		frag_merge_records(h, b, next);
		if (lower)
			frag_index_remove(&h->index, s->list, &was, was.size);
	}
	if (lower) {
		was = frag_plain_entry(h, prev);
		h->blocks[prev].tie = h->blocks[b].tie;
		frag_merge_records(h, prev, b);
		b = prev;
	}
	h->blocks[b].state = FRAG_FREE;
	e = frag_plain_entry(h, b);
	if (lower | upper)
		frag_index_replace(&h->index, s->list, &was, &e);
	else
		frag_index_insert(&h->index, s->list, &e, e.size);
	return b;
}

/* frag_block_room() where the policy does not sort. */
FRAG_INLINE bool frag_plain_room(struct frag_heap *h, uint32_t blocks)
{
	return frag_index_reserve(&h->index)
	       && (!blocks || frag_grow(&h->blocks, &h->block_capacity,
					(uint64_t)h->block_count + blocks, sizeof(*h->blocks)));
}

/* The segment of a block if it is plain and arguments are not checked; else NULL. */
FRAG_INLINE const struct frag_heap_segment *frag_plain_segment(const struct frag_heap *h, frag_block b)
{
	const struct frag_heap_segment *s;

	if (h->checked)
		return NULL;
	s = &h->segments[h->blocks[b].segment];
	return frag_is_plain(h, s) ? s : NULL;
}

/* frag_heap_take() of a free block that holds the request. */
FRAG_INLINE int frag_heap_take_unchecked(struct frag_heap *h, frag_block *b, uint64_t requested,
				 uint64_t keep)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, *b);

	if (!s)
		return frag_heap_take(h, b, requested, keep);
	FRAG_ASSERT(h->blocks[*b].state == FRAG_FREE && requested <= keep
		    && keep <= h->blocks[*b].bytes);
	if (!frag_plain_room(h, 1))
		return -FRAG_ENOMEM;
	frag_take_plain(h, s, b, requested, keep, false);
	return 0;
}

/* frag_heap_give() of an allocated or a pending block. */
FRAG_INLINE int frag_heap_give_unchecked(struct frag_heap *h, frag_block b, frag_block *out)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, b);

	if (!s)
		return frag_heap_give(h, b, out);
	FRAG_ASSERT(h->blocks[b].state == FRAG_ALLOCATED || h->blocks[b].state == FRAG_PENDING);
	if (!frag_plain_room(h, 0))
		return -FRAG_ENOMEM;
	frag_end_request(h, b);
	b = frag_merge_plain(h, s, b);
	if (out)
		*out = b;
	return 0;
}

/* The steps that take and give are made of, likewise. */
FRAG_INLINE int frag_heap_detach_free_unchecked(struct frag_heap *h, frag_block b)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, b);

	if (!s)
		return frag_heap_detach_free(h, b);
	FRAG_ASSERT(h->blocks[b].state == FRAG_FREE);
	if (!frag_plain_room(h, 0))
		return -FRAG_ENOMEM;
	frag_detach_plain(h, s, b);
	return 0;
}

FRAG_INLINE int frag_heap_detach_live_unchecked(struct frag_heap *h, frag_block b)
{
	if (!frag_plain_segment(h, b))
		return frag_heap_detach_live(h, b);
	FRAG_ASSERT(h->blocks[b].state == FRAG_ALLOCATED || h->blocks[b].state == FRAG_PENDING);
	frag_end_request(h, b);
	return 0;
}

FRAG_INLINE int frag_heap_split_unchecked(struct frag_heap *h, frag_block b, uint64_t keep)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, b);

	if (!s)
		return frag_heap_split(h, b, keep);
	FRAG_ASSERT(h->blocks[b].state == FRAG_DETACHED);
	if (!frag_plain_room(h, 1))
		return -FRAG_ENOMEM;
	frag_insert_plain(h, s, frag_split_record(h, b, keep));
	h->totals.splits++;
	return 0;
}

FRAG_INLINE int frag_heap_merge_unchecked(struct frag_heap *h, frag_block *b, frag_block neighbour)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, neighbour);

	if (!s)
		return frag_heap_merge(h, b, neighbour);
	FRAG_ASSERT(h->blocks[*b].state == FRAG_DETACHED && h->blocks[neighbour].state == FRAG_FREE);
	if (!frag_plain_room(h, 0))
		return -FRAG_ENOMEM;
	frag_detach_plain(h, s, neighbour);
	frag_absorb(h, b, neighbour);
	h->totals.merges++;
	return 0;
}

FRAG_INLINE int frag_heap_insert_unchecked(struct frag_heap *h, frag_block b)
{
	const struct frag_heap_segment *s = frag_plain_segment(h, b);

	if (!s)
		return frag_heap_insert(h, b);
	FRAG_ASSERT(h->blocks[b].state == FRAG_DETACHED);
	if (!frag_plain_room(h, 0))
		return -FRAG_ENOMEM;
	frag_insert_plain(h, s, b);
	return 0;
}

FRAG_INLINE int frag_heap_assign_unchecked(struct frag_heap *h, frag_block b, uint64_t requested)
{
	if (!frag_plain_segment(h, b))
		return frag_heap_assign(h, b, requested);
	FRAG_ASSERT(h->blocks[b].state == FRAG_DETACHED && requested <= h->blocks[b].bytes);
	frag_begin_request(h, b, requested);
	return 0;
}
