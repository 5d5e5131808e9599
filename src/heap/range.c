/*
 * range.c - expandable ranges: address space whose pages come and go.
 *
 * A range is tiled by blocks as every segment is; those in state unmapped have
 * no memory. Free blocks never stand next to each other, nor do unmapped ones.
 */
#include "fragsim/heap.h"
#include "heap/store.h"

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
	if (offset > h->blocks[b].offset)
		b = frag_cut(h, b, offset - h->blocks[b].offset);
	if (bytes < h->blocks[b].bytes)
		frag_cut(h, b, bytes);
	return b;
}

static bool is(const struct frag_heap *h, uint32_t b, enum frag_state state)
{
	return b != NONE && h->blocks[b].state == state;
}

int frag_heap_map(struct frag_heap *h, frag_block unmapped, uint64_t offset, uint64_t bytes,
		  frag_block *out)
{
	struct segment *s = &h->segments[h->blocks[unmapped].segment];
	uint32_t b, n;
	uint64_t cost;
	int rc;

	if (h->blocks[unmapped].state != FRAG_UNMAPPED || !covers(h, unmapped, offset, bytes))
		return -FRAG_EPOLICY;
	if (!frag_room(h, 2))
		return -FRAG_ENOMEM;
	rc = h->dev->ops->map(h->dev, s->addr, offset, bytes, s->page, &cost);
	if (rc) {
		h->books.tried = bytes;
		return rc;
	}
	frag_gap_out(h, unmapped);
	b = isolate(h, unmapped, offset, bytes);
	n = h->blocks[b].next;
	if (is(h, n, FRAG_UNMAPPED))
		frag_gap_in(h, n);
	if (b != unmapped)
		frag_gap_in(h, unmapped);
	h->blocks[b].state = FRAG_IN_HAND;
	s->mapped += bytes;
	h->books.reserved += bytes;
	frag_note_call(h, FRAG_CALL_MAP, s, offset, bytes);
	frag_note_tops(h);
	n = h->blocks[b].next;
	if (is(h, n, FRAG_FREE)) {
		frag_list_out(h, n);
		frag_fuse(h, b, n);
	}
	n = h->blocks[b].prev;
	if (is(h, n, FRAG_FREE)) {
		frag_list_out(h, n);
		frag_fuse(h, n, b);
		b = n;
	}
	frag_list_in(h, b);
	*out = b;
	return 0;
}

int frag_heap_unmap(struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes,
		    frag_block *out)
{
	struct segment *s = &h->segments[h->blocks[b].segment];
	uint32_t lower, upper, n;
	uint64_t cost;
	int rc;

	if (h->blocks[b].state != FRAG_FREE || !covers(h, b, offset, bytes))
		return -FRAG_EPOLICY;
	if (!frag_room(h, 2))
		return -FRAG_ENOMEM;
	rc = h->dev->ops->unmap(h->dev, s->addr, offset, bytes, s->page, &cost);
	if (rc)
		return rc;
	frag_list_out(h, b);
	lower = b;
	b = isolate(h, b, offset, bytes);
	upper = h->blocks[b].next;
	if (lower != b)
		frag_list_in(h, lower);
	if (is(h, upper, FRAG_FREE))
		frag_list_in(h, upper);
	h->blocks[b].state = FRAG_UNMAPPED;
	s->mapped -= bytes;
	h->books.reserved -= bytes;
	frag_note_call(h, FRAG_CALL_UNMAP, s, offset, bytes);
	n = h->blocks[b].next;
	if (is(h, n, FRAG_UNMAPPED)) {
		frag_gap_out(h, n);
		frag_fuse(h, b, n);
	}
	n = h->blocks[b].prev;
	if (is(h, n, FRAG_UNMAPPED)) {
		frag_gap_out(h, n);
		frag_fuse(h, n, b);
		b = n;
	}
	frag_gap_in(h, b);
	*out = b;
	return 0;
}
