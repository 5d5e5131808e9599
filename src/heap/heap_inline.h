/*
 * heap_inline.h - inline queries of the heap.
 *
 * For engine, metrics and the policies of this program, which call several of them per event. A
 * handle must be valid: of an existing block, segment or list. Plug-ins call the same queries
 * through fragsim/heap.h, which validates handles first.
 */
#pragma once

#include "base/bug.h"
#include "base/inline.h"
#include "heap/heap_tables.h"

/*
 * Inline frag_heap_look() and the like. Views are returned by value, so that the compiler drops
 * the reads of unused members.
 */
static inline struct frag_block_view frag_heap_look_unchecked(const struct frag_heap *h,
							      frag_block b)
{
	const struct frag_heap_block *k;

	FRAG_ASSERT(frag_is_block(h, b));
	k = &h->blocks[b];
	return (struct frag_block_view){
		.offset = k->offset, .bytes = k->bytes, .requested = k->requested,
		.segment = k->segment, .prev = k->prev, .next = k->next,
		.user = k->user, .state = (enum frag_state)k->state,
	};
}

static inline struct frag_segment_view frag_heap_look_segment_unchecked(const struct frag_heap *h,
									frag_segment s)
{
	const struct frag_heap_segment *g;

	FRAG_ASSERT(s < h->segment_count && h->segments[s].in_use);
	g = &h->segments[s];
	return (struct frag_segment_view){
		.bytes = g->bytes, .mapped = g->mapped, .slot_size = g->slot_size, .page = g->page,
		.first = g->first, .list = g->list, .ordinal = g->ordinal, .pool = g->pool,
		.live = g->live, .user = g->user, .kept = g->kept,
	};
}

static inline struct frag_list_view frag_heap_look_list_unchecked(const struct frag_heap *h,
								  frag_list list)
{
	const struct frag_free_list *l;

	FRAG_ASSERT(list < h->index.count);
	l = &h->index.lists[list];
	return (struct frag_list_view){
		.pool = l->pool, .which = l->which, .count = l->count, .largest = l->largest,
		.user = l->user, .done = l->done,
	};
}

static inline uint64_t frag_heap_page_unchecked(const struct frag_heap *h, frag_block b)
{
	FRAG_ASSERT(frag_is_block(h, b));
	return h->segments[h->blocks[b].segment].page;
}

/* frag_heap_list(), frag_heap_find() */
static inline int frag_heap_list_unchecked(struct frag_heap *h, uint32_t pool, uint32_t which,
					   frag_list *out)
{
	*out = frag_index_list(&h->index, pool, which);
	return *out == FRAG_NO_LIST ? -FRAG_ENOMEM : 0;
}

static inline frag_block frag_heap_find_unchecked(const struct frag_heap *h, frag_list list,
						  uint64_t bytes)
{
	const struct frag_entry *e = frag_index_find(&h->index, list, bytes);

	return e ? e->block : FRAG_NO_BLOCK;
}

/* frag_heap_find_ready(), frag_heap_set_user() */
static inline frag_block frag_heap_find_ready_unchecked(const struct frag_heap *h)
{
	return h->ready_count ? h->pending[0].block : FRAG_NO_BLOCK;
}

static inline void frag_heap_set_user_unchecked(struct frag_heap *h, frag_block b, uint32_t user)
{
	FRAG_ASSERT(frag_is_block(h, b));
	h->blocks[b].user = user;
}

static inline uint64_t frag_heap_largest_inline(const struct frag_heap *h)
{
	return frag_index_largest(&h->index);
}

/* Device calls of this step so far. */
static inline uint32_t frag_heap_call_count(const struct frag_heap *h)
{
	return h->call_count;
}

/*
 * Hints, while earlier events still run: block b will be freed. First its record is fetched, then
 * what that names. Always inline: a function that does nothing else is pure to GCC, which leaves
 * a call of it out.
 */

FRAG_INLINE void frag_heap_prefetch_inline(const struct frag_heap *h, frag_block b)
{
	if (frag_is_block(h, b))
		__builtin_prefetch(&h->blocks[b]);
}

FRAG_INLINE void frag_heap_prefetch_neighbours(const struct frag_heap *h, frag_block b)
{
	if (!frag_is_block(h, b))
		return;
	__builtin_prefetch(&h->segments[h->blocks[b].segment]);
	if (h->blocks[b].prev != FRAG_NO_ENTRY)
		__builtin_prefetch(&h->blocks[h->blocks[b].prev]);
	if (h->blocks[b].next != FRAG_NO_ENTRY)
		__builtin_prefetch(&h->blocks[h->blocks[b].next]);
}

/* frag_heap_step() */
static inline void frag_heap_step_inline(struct frag_heap *h)
{
	h->call_count = h->moved_count = 0;
	h->refusal[0] = '\0';
	h->refused_bytes = 0;
	h->totals.step_peak_reserved = h->totals.reserved;
	h->totals.step_peak_segments = h->totals.segments;
	h->totals.step_peak_used = h->dev->used;
}
