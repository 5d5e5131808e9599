/* segment.c - whole segments: reserved, cached, and released. */
#include <inttypes.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "fragsim/heap.h"
#include "heap/heap_tables.h"

/*
 * Returns a segment record, with an entry reserved in the idle list; NONE where the host is out
 * of memory.
 */
static uint32_t new_segment(struct frag_heap *h)
{
	uint32_t s = h->unused_segment;

	if (h->next_ordinal == NONE)
		return NONE;
	if (s == NONE) {
		if (!FRAG_GROW(h->segments, h->segment_capacity, h->segment_count)
		    || !FRAG_GROW(h->idle, h->idle_capacity, h->segment_count))
			return NONE;
		return h->segment_count++;
	}
	FRAG_ASSERT(!h->segments[s].in_use);
	h->unused_segment = h->segments[s].first;
	return s;
}

static void drop_segment(struct frag_heap *h, uint32_t s)
{
	FRAG_ASSERT(s < h->segment_count);
	h->segments[s].in_use = false;
	h->segments[s].first = h->unused_segment;
	h->unused_segment = s;
}

/*
 * Adds a segment that the device granted; its only block is free, or unmapped in an expandable
 * segment. The caller has reserved memory for one block with frag_room().
 */
static frag_block segment_enter(struct frag_heap *h, uint32_t s, frag_addr addr, frag_list list,
				uint64_t bytes, uint64_t page)
{
	uint32_t b = frag_new_block(h);
	struct segment *g = &h->segments[s];

	FRAG_ASSERT(bytes > 0 && (!page || bytes % page == 0));
	FRAG_ASSERT(b != NONE && list < h->index.count);
	*g = (struct segment){
		.bytes = bytes, .mapped = page ? 0 : bytes, .page = page, .addr = addr,
		.first = b, .list = list, .pool = h->index.lists[list].pool,
		.order = frag_next_order(h, addr),
		.ordinal = h->next_ordinal, .idle_at = NONE, .in_use = true,
		.kept = h->keeps_all,
	};
	h->next_ordinal++;
	h->blocks[b] = (struct block){
		.bytes = bytes, .segment = s, .prev = NONE, .next = NONE,
		.state = FRAG_UNMAPPED, .order = g->order,
	};
	frag_renew(h, b);
	h->totals.segments++;
	h->totals.segment_allocs++;
	h->totals.reserved += g->mapped;
	frag_note_call(h, page ? FRAG_CALL_NEW_RANGE : FRAG_CALL_NEW, g, 0, bytes);
	if (page) {
		frag_gap_insert(h, b);
		if (page < h->min_page || h->min_page == 0)
			h->min_page = page;
	} else {
		frag_list_insert(h, b);
		frag_idle_enter(h, s);
	}
	frag_note_step_peaks(h);
	return b;
}

/* grow and reserve differ in what they ask of the device only. */
static int segment_obtain(struct frag_heap *h, const char *verb, frag_list list, uint64_t bytes,
			  uint64_t page, frag_block *out)
{
	uint64_t cost;
	frag_addr addr;
	uint32_t s;
	int rc;

	if (list >= h->index.count)
		return frag_refuse(h, verb, "there is no list %" PRIu32, list);
	if (bytes == 0 || (page && bytes % page))
		return frag_refuse(h, verb, "%" PRIu64 " bytes are no segment%s", bytes,
				   page ? " of whole pages" : "");
	s = frag_room(h, 1) ? new_segment(h) : NONE;
	if (s == NONE)
		return -FRAG_ENOMEM;
	rc = page ? h->dev->ops->reserve(h->dev, bytes, &addr, &cost)
		  : h->dev->ops->acquire(h->dev, bytes, &addr, &cost);
	if (rc) {
		drop_segment(h, s);
		h->totals.tried = h->refused = bytes;
		return rc;
	}
	*out = segment_enter(h, s, addr, list, bytes, page);
	return 0;
}

int frag_heap_grow(struct frag_heap *h, frag_list list, uint64_t bytes, frag_block *out)
{
	return segment_obtain(h, __func__, list, bytes, 0, out);
}

int frag_heap_reserve(struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t page,
		      frag_block *out)
{
	if (page == 0 || !h->dev->ops->reserve)
		return frag_refuse(h, __func__, page ? "this device has no expandable ranges"
						     : "a page of 0 bytes");
	while (list < h->index.count && h->gaps.count <= list) {
		const struct frag_free_list *l = &h->index.lists[h->gaps.count];

		if (frag_index_list(&h->gaps, l->pool, l->which) == UINT32_MAX)
			return -FRAG_ENOMEM;
	}
	return segment_obtain(h, __func__, list, bytes, page, out);
}

int frag_heap_keep(struct frag_heap *h, frag_block whole)
{
	uint32_t s;

	if (!exists(h, whole))
		return frag_refuse_block(h, __func__, whole, "is no block");
	s = h->blocks[whole].segment;
	if (h->segments[s].live || h->blocks[whole].bytes != h->segments[s].bytes)
		return frag_refuse_block(h, __func__, whole, "is not all of a segment, and free");
	frag_idle_leave(h, s);
	h->segments[s].kept = true;
	return 0;
}

/*
 * Only a block that spans its segment can be released: a free one, or an unmapped one of an
 * expandable segment.
 */
static const char *why_not_release(const struct segment *g, const struct block *k)
{
	uint64_t whole = g->slot_size ? g->bytes / g->slot_size * g->slot_size : g->bytes;

	if (k->bytes != whole)
		return "is not all of its segment";
	if (k->state != (g->page ? FRAG_UNMAPPED : FRAG_FREE))
		return g->page ? "has memory mapped" : "is not free";
	return g->kept ? "is of a segment that is kept" : NULL;
}

/* Returns a segment to the device, a range with its addresses, and frees its entries. */
int frag_heap_release(struct frag_heap *h, frag_block whole)
{
	const char *why;
	struct segment *g;
	uint64_t cost;
	uint32_t s;
	int rc;

	if (!exists(h, whole))
		return frag_refuse_block(h, __func__, whole, "is no block");
	s = h->blocks[whole].segment;
	g = &h->segments[s];
	why = why_not_release(g, &h->blocks[whole]);
	if (why)
		return frag_refuse_block(h, __func__, whole, "%s", why);
	FRAG_ASSERT(!g->live && h->totals.reserved >= g->mapped);
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	rc = g->page ? h->dev->ops->unreserve(h->dev, g->addr, g->bytes, &cost)
		     : h->dev->ops->release(h->dev, g->addr, g->bytes, &cost);
	if (rc)
		return rc;
	if (g->page)
		frag_gap_remove(h, whole);
	else
		frag_list_remove(h, whole);
	if (h->blocks[whole].next != NONE)
		frag_block_merge(h, whole, h->blocks[whole].next);     /* a slab's tail */
	frag_idle_leave(h, s);
	h->totals.segments--;
	h->totals.segment_frees++;
	h->totals.reserved -= g->mapped;
	frag_note_call(h, g->page ? FRAG_CALL_RELEASE_RANGE : FRAG_CALL_RELEASE, g, 0, g->bytes);
	frag_release_record(h, whole);
	drop_segment(h, s);
	return 0;
}
