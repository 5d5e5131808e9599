/*
 * range.c - expandable ranges: address space whose pages come and go.
 *
 * A range is tiled by blocks as every segment is; those in state unmapped have
 * out of memory. Free blocks are never next to each other, nor do unmapped ones.
 */
#include "fragsim/heap.h"

#include <inttypes.h>

#include "base/bug.h"
#include "heap/heap_tables.h"

#define NO_PAGES "has no whole pages that are %" PRIu64 " bytes at offset %" PRIu64

/* Does [offset, offset + bytes) consist of whole pages inside block b? */
static bool covers(const struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes)
{
	const struct block *k = &h->blocks[b];
	uint64_t page = h->segments[k->segment].page;

	return page && bytes && offset % page == 0 && bytes % page == 0 && offset >= k->offset
	       && bytes <= k->bytes && offset - k->offset <= k->bytes - bytes;
}

/* Cuts b, which is in no list, so that one piece is just [offset, offset + bytes). */
static uint32_t isolate(struct frag_heap *h, uint32_t b, uint64_t offset, uint64_t bytes)
{
	FRAG_ASSERT(covers(h, b, offset, bytes));
	if (offset > h->blocks[b].offset)
		b = frag_block_cut(h, b, offset - h->blocks[b].offset);
	if (bytes < h->blocks[b].bytes)
		frag_block_cut(h, b, bytes);
	return b;
}

static bool range_is(const struct frag_heap *h, uint32_t b, enum frag_state state)
{
	return exists(h, b) && h->blocks[b].state == state;
}

/* Merges b with adjacent blocks in this state, which are removed from their list first. */
static uint32_t join(struct frag_heap *h, uint32_t b, enum frag_state state,
		     void (*list_remove)(struct frag_heap *h, uint32_t b))
{
	const uint32_t next = h->blocks[b].next, prev = h->blocks[b].prev;

	if (range_is(h, next, state)) {
		list_remove(h, next);
		frag_block_merge(h, b, next);
	}
	if (!range_is(h, prev, state))
		return b;
	list_remove(h, prev);
	h->blocks[prev].order = h->blocks[b].order;
	frag_block_merge(h, prev, b);
	return prev;
}

/* Cuts the pages out of the unmapped block, then merges them with adjacent free blocks. */
int frag_heap_map(struct frag_heap *h, frag_block unmapped, uint64_t offset, uint64_t bytes,
		  frag_block *out)
{
	struct segment *s;
	uint32_t b, n;
	uint64_t cost;
	int rc;

	if (!range_is(h, unmapped, FRAG_UNMAPPED))
		return frag_refuse_block(h, __func__, unmapped, "is not unmapped");
	if (!covers(h, unmapped, offset, bytes))
		return frag_refuse_block(h, __func__, unmapped, NO_PAGES, bytes, offset);
	s = &h->segments[h->blocks[unmapped].segment];
	if (!frag_room(h, 2))
		return -FRAG_ENOMEM;
	rc = h->dev->ops->map(h->dev, s->addr, offset, bytes, s->page, &cost);
	if (rc) {
		h->totals.tried = h->refused = bytes;
		return rc;
	}
	frag_gap_remove(h, unmapped);
	b = isolate(h, unmapped, offset, bytes);
	n = h->blocks[b].next;
	if (range_is(h, n, FRAG_UNMAPPED)) {
		frag_renew(h, n);
		frag_gap_insert(h, n);
	}
	if (b != unmapped)
		frag_gap_insert(h, unmapped);
	h->blocks[b].state = FRAG_DETACHED;
	s->mapped += bytes;
	FRAG_ASSERT(s->mapped <= s->bytes);
	h->totals.reserved += bytes;
	frag_note_call(h, FRAG_CALL_MAP, s, offset, bytes);
	frag_note_step_peaks(h);
	*out = join(h, b, FRAG_FREE, frag_list_remove);
	frag_list_insert(h, *out);
	return 0;
}

/* Cuts the pages out of the free block, then merges them with adjacent unmapped blocks. */
int frag_heap_unmap(struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes,
		    frag_block *out)
{
	struct segment *s;
	uint32_t lower = b;
	bool rest;
	uint64_t cost;
	int rc;

	if (!range_is(h, b, FRAG_FREE))
		return frag_refuse_block(h, __func__, b, "is not free");
	if (!covers(h, b, offset, bytes))
		return frag_refuse_block(h, __func__, b, NO_PAGES, bytes, offset);
	s = &h->segments[h->blocks[b].segment];
	if (s->kept)
		return frag_refuse_block(h, __func__, b, "is of a segment that is kept");
	rest = offset + bytes < h->blocks[b].offset + h->blocks[b].bytes;
	if (!frag_room(h, 2))
		return -FRAG_ENOMEM;
	rc = h->dev->ops->unmap(h->dev, s->addr, offset, bytes, s->page, &cost);
	if (rc)
		return rc;
	frag_list_remove(h, b);
	b = isolate(h, b, offset, bytes);
	if (lower != b) {
		frag_renew(h, lower);
		frag_list_insert(h, lower);
	}
	if (rest) {
		frag_renew(h, h->blocks[b].next);
		frag_list_insert(h, h->blocks[b].next);
	}
	h->blocks[b].state = FRAG_UNMAPPED;
	FRAG_ASSERT(s->mapped >= bytes && h->totals.reserved >= bytes);
	s->mapped -= bytes;
	h->totals.reserved -= bytes;
	frag_note_call(h, FRAG_CALL_UNMAP, s, offset, bytes);
	*out = join(h, b, FRAG_UNMAPPED, frag_gap_remove);
	frag_gap_insert(h, *out);
	return 0;
}

/* The end of the memory that begins with block b; *next is the unmapped block after it. */
static uint64_t mapped_end(const struct frag_heap *h, uint32_t b, uint32_t *next)
{
	uint64_t end = h->blocks[b].offset;

	for (; b != NONE && h->blocks[b].state != FRAG_UNMAPPED; b = h->blocks[b].next)
		end += h->blocks[b].bytes;
	*next = b;
	return end;
}

void frag_range_close(struct frag_heap *h, uint32_t s)
{
	const struct segment *g = &h->segments[s];
	uint32_t b = g->first;
	uint64_t cost;

	FRAG_ASSERT(g->in_use && g->page);
	while (b != NONE) {
		uint64_t offset = h->blocks[b].offset;
		uint32_t next;
		uint64_t end = mapped_end(h, b, &next);

		if (end > offset)
			h->dev->ops->unmap(h->dev, g->addr, offset, end - offset, g->page,
					   &cost);
		b = next != NONE ? h->blocks[next].next : NONE;
	}
	h->dev->ops->unreserve(h->dev, g->addr, g->bytes, &cost);
}

/* The unmapped end of a range, which is in no list, goes. */
static void drop_end(struct frag_heap *h, uint32_t b)
{
	FRAG_ASSERT(h->blocks[b].prev != NONE && h->blocks[b].next == NONE);
	h->blocks[h->blocks[b].prev].next = NONE;
	frag_release_record(h, b);
}

static void range_resize(struct frag_heap *h, struct segment *s, uint32_t last, uint64_t bytes)
{
	const struct block *k = &h->blocks[last];

	if (bytes == s->bytes)
		return;
	FRAG_ASSERT(k->state == FRAG_UNMAPPED && bytes >= k->offset && bytes);
	frag_gap_remove(h, last);
	s->bytes = bytes;
	h->blocks[last].bytes = bytes - k->offset;
	if (k->bytes)
		frag_gap_insert(h, last);
	else
		drop_end(h, last);
}

void frag_heap_resize_ranges(struct frag_heap *h, void *ctx, frag_resized_fn *resized)
{
	for (uint32_t i = 0; i < h->segment_count; i++) {
		struct segment *s = &h->segments[i];
		uint32_t last = s->first;
		uint64_t end;

		if (!s->in_use || !s->page)
			continue;
		while (h->blocks[last].next != NONE)
			last = h->blocks[last].next;
		end = range_is(h, last, FRAG_UNMAPPED) ? h->blocks[last].offset : s->bytes;
		range_resize(h, s, last, resized(ctx, s->page, s->bytes, end));
	}
}
