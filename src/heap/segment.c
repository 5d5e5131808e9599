/*
 * segment.c - verbs on whole segments: reserved, carved into slabs, mapped page by page, cached,
 * and released.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "fragsim/heap.h"
#include "heap/block_inline.h"
#include "heap/refusal.h"

/* Device calls --------------------------------------------------------------- */

static void note_device_call(struct frag_heap *h, enum frag_call_kind kind,
			     const struct frag_heap_segment *s,
			     uint64_t offset, uint64_t bytes)
{
	FRAG_ASSERT(h->call_count < h->call_capacity);
	h->calls[h->call_count++] = (struct frag_call){
		.kind = kind,
		.ordinal = s->ordinal,
		.list = s->list,
		.offset = offset,
		.bytes = bytes,
	};
}

static void note_step_peaks(struct frag_heap *h)
{
	if (h->totals.reserved > h->totals.step_peak_reserved)
		h->totals.step_peak_reserved = h->totals.reserved;
	if (h->totals.segments > h->totals.step_peak_segments)
		h->totals.step_peak_segments = h->totals.segments;
	if (h->dev->used > h->totals.step_peak_used)
		h->totals.step_peak_used = h->dev->used;
}

/* Segments ------------------------------------------------------------------ */

/*
 * Returns a segment record, with an entry reserved in the idle list; FRAG_NO_ENTRY where
 * the host is out of memory.
 */
static uint32_t new_segment(struct frag_heap *h)
{
	uint32_t s = h->unused_segment;

	if (h->next_ordinal == FRAG_NO_ENTRY)
		return FRAG_NO_ENTRY;
	if (s == FRAG_NO_ENTRY) {
		if (!FRAG_GROW(h->segments, h->segment_capacity, h->segment_count)
		    || !FRAG_GROW(h->idle, h->idle_capacity, h->segment_count))
			return FRAG_NO_ENTRY;
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
	struct frag_heap_segment *g = &h->segments[s];

	FRAG_ASSERT(bytes > 0 && (!page || bytes % page == 0));
	FRAG_ASSERT(b != FRAG_NO_ENTRY && list < h->index.count);
	*g = (struct frag_heap_segment){
		.bytes = bytes, .mapped = page ? 0 : bytes, .page = page, .addr = addr,
		.first = b, .list = list, .pool = h->index.lists[list].pool,
		.tie = frag_segment_tie(h, addr),
		.ordinal = h->next_ordinal, .idle_at = FRAG_NO_ENTRY, .in_use = true,
		.kept = h->keeps_all,
	};
	h->next_ordinal++;
	h->blocks[b] = (struct frag_heap_block){
		.bytes = bytes, .segment = s, .prev = FRAG_NO_ENTRY, .next = FRAG_NO_ENTRY,
		.state = FRAG_UNMAPPED, .tie = g->tie,
	};
	frag_heap_renew_unchecked(h, b);
	h->totals.segments++;
	h->totals.segment_allocs++;
	h->totals.reserved += g->mapped;
	note_device_call(h, page ? FRAG_CALL_NEW_RANGE : FRAG_CALL_NEW, g, 0, bytes);
	if (page) {
		frag_gap_insert(h, b);
		if (page < h->min_page || h->min_page == 0)
			h->min_page = page;
	} else {
		frag_list_insert(h, b);
		frag_idle_enter(h, s);
	}
	note_step_peaks(h);
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
	s = frag_room(h, 1) ? new_segment(h) : FRAG_NO_ENTRY;
	if (s == FRAG_NO_ENTRY)
		return -FRAG_ENOMEM;
	rc = page ? h->dev->ops->reserve(h->dev, bytes, &addr, &cost)
		  : h->dev->ops->acquire(h->dev, bytes, &addr, &cost);
	if (rc) {
		drop_segment(h, s);
		h->totals.tried = h->refused_bytes = bytes;
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

	if (!frag_is_block(h, whole))
		return frag_refuse_block(h, __func__, whole, "is no block");
	s = h->blocks[whole].segment;
	if (h->segments[s].live || h->blocks[whole].bytes != h->segments[s].bytes)
		return frag_refuse_block(h, __func__, whole, "is not all of a segment, and free");
	frag_idle_leave(h, s);
	if (h->segments[s].page && !h->segments[s].kept && h->blocks[whole].state == FRAG_FREE)
		h->totals.releasable -= frag_whole_page_bytes(&h->segments[s], 0,
							      h->segments[s].bytes);
	h->segments[s].kept = true;
	return 0;
}

/*
 * Only a block that spans its segment can be released: a free one, or an unmapped one of an
 * expandable segment.
 */
static const char *why_not_release(const struct frag_heap_segment *g,
				   const struct frag_heap_block *k)
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
	struct frag_heap_segment *g;
	uint64_t cost;
	uint32_t s;
	int rc;

	if (!frag_is_block(h, whole))
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
	if (h->blocks[whole].next != FRAG_NO_ENTRY)
		frag_merge_records(h, whole, h->blocks[whole].next);     /* a slab's tail */
	frag_idle_leave(h, s);
	h->totals.segments--;
	h->totals.segment_frees++;
	h->totals.reserved -= g->mapped;
	note_device_call(h, g->page ? FRAG_CALL_RELEASE_RANGE : FRAG_CALL_RELEASE, g, 0, g->bytes);
	frag_release_record(h, whole);
	drop_segment(h, s);
	return 0;
}

/* Slabs -------------------------------------------------------------------- */

/*
 * Free slots next to each other are kept as one run, so that carving a slab of a million slots
 * costs no more than one of two; the lists know a run under the size of its slots. The tail after
 * the last slot is in no list: it is unmapped to policies, and waste in the totals.
 */
#define NO_LIST "there is no list %" PRIu32 " of pool %" PRIu32

/* Does the list exist, for the pool of this segment? */
static bool list_suits(const struct frag_heap *h, frag_list list, const struct frag_heap_segment *s)
{
	FRAG_ASSERT(s->in_use);
	return list < h->index.count && h->index.lists[list].pool == s->pool;
}

/* Divides a free segment into slots of one size: all its blocks are multiples of it from now on. */
int frag_heap_carve(struct frag_heap *h, frag_block whole, uint64_t slot_size, frag_list list,
		    frag_block *out)
{
	struct frag_heap_segment *s;
	uint64_t slots;

	if (!frag_is_block(h, whole) || h->blocks[whole].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, whole, "is not free");
	s = &h->segments[h->blocks[whole].segment];
	if (h->blocks[whole].bytes != s->bytes || s->page || s->slot_size)
		return frag_refuse_block(h, __func__, whole, "is no segment that is in one piece");
	if (slot_size == 0 || slot_size > s->bytes)
		return frag_refuse_block(h, __func__, whole, "has no slots of %" PRIu64 " bytes",
					 slot_size);
	if (!list_suits(h, list, s))
		return frag_refuse(h, __func__, NO_LIST, list, s->pool);
	if (!frag_room(h, 1))
		return -FRAG_ENOMEM;
	frag_list_remove(h, whole);
	slots = s->bytes / slot_size * slot_size;
	if (slots < s->bytes)
		h->blocks[frag_split_record(h, whole, slots)].state = FRAG_UNMAPPED;
	s->slot_size = slot_size;
	s->list = list;
	frag_list_insert(h, whole);
	*out = whole;
	return 0;
}

/* Merges the slots of an empty slab, and its tail, into one free block. */
int frag_heap_uncarve(struct frag_heap *h, frag_segment seg, frag_list list)
{
	struct frag_heap_segment *s;
	uint32_t b;

	if (seg >= h->segment_count || !h->segments[seg].in_use || !h->segments[seg].slot_size)
		return frag_refuse(h, __func__, "segment handle %" PRIu32 " is no carved slab",
				   seg);
	s = &h->segments[seg];
	if (!list_suits(h, list, s))
		return frag_refuse(h, __func__, NO_LIST, list, s->pool);
	b = s->first;
	if (h->blocks[b].state != FRAG_FREE
	    || h->blocks[b].bytes != s->bytes / s->slot_size * s->slot_size)
		return frag_refuse_block(h, __func__, b, "is not all of its slab, and free");
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	frag_list_remove(h, b);
	if (h->blocks[b].next != FRAG_NO_ENTRY)
		frag_merge_records(h, b, h->blocks[b].next);
	s->slot_size = 0;
	s->list = list;
	frag_list_insert(h, b);
	return 0;
}

/* Expandable segments -------------------------------------------------------- */

/*
 * An expandable segment is tiled by blocks as every segment is; an unmapped one is address space
 * alone. Free blocks are never adjacent, nor are unmapped ones.
 */
#define NO_PAGES "has no whole pages that are %" PRIu64 " bytes at offset %" PRIu64

/* Does [offset, offset + bytes) consist of whole pages inside block b? */
static bool covers(const struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes)
{
	const struct frag_heap_block *k = &h->blocks[b];
	uint64_t page = h->segments[k->segment].page;

	return page && bytes && offset % page == 0 && bytes % page == 0 && offset >= k->offset
	       && bytes <= k->bytes && offset - k->offset <= k->bytes - bytes;
}

/* Cuts b, which is in no list, so that one piece is just [offset, offset + bytes). */
static uint32_t isolate(struct frag_heap *h, uint32_t b, uint64_t offset, uint64_t bytes)
{
	FRAG_ASSERT(covers(h, b, offset, bytes));
	if (offset > h->blocks[b].offset)
		b = frag_split_record(h, b, offset - h->blocks[b].offset);
	if (bytes < h->blocks[b].bytes)
		frag_split_record(h, b, bytes);
	return b;
}

static bool has_state(const struct frag_heap *h, uint32_t b, enum frag_state state)
{
	return frag_is_block(h, b) && h->blocks[b].state == state;
}

/* Merges b with adjacent blocks in this state, which are removed from their list first. */
static uint32_t merge_in_state(struct frag_heap *h, uint32_t b, enum frag_state state,
		     void (*list_remove)(struct frag_heap *h, uint32_t b))
{
	const uint32_t next = h->blocks[b].next, prev = h->blocks[b].prev;

	if (has_state(h, next, state)) {
		list_remove(h, next);
		frag_merge_records(h, b, next);
	}
	if (!has_state(h, prev, state))
		return b;
	list_remove(h, prev);
	h->blocks[prev].tie = h->blocks[b].tie;
	frag_merge_records(h, prev, b);
	return prev;
}

/* Cuts the pages out of the unmapped block, then merges them with adjacent free blocks. */
int frag_heap_map(struct frag_heap *h, frag_block unmapped, uint64_t offset, uint64_t bytes,
		  frag_block *out)
{
	struct frag_heap_segment *s;
	uint32_t b, n;
	uint64_t cost;
	int rc;

	if (!has_state(h, unmapped, FRAG_UNMAPPED))
		return frag_refuse_block(h, __func__, unmapped, "is not unmapped");
	if (!covers(h, unmapped, offset, bytes))
		return frag_refuse_block(h, __func__, unmapped, NO_PAGES, bytes, offset);
	s = &h->segments[h->blocks[unmapped].segment];
	if (!frag_room(h, 2))
		return -FRAG_ENOMEM;
	rc = h->dev->ops->map(h->dev, s->addr, offset, bytes, s->page, &cost);
	if (rc) {
		h->totals.tried = h->refused_bytes = bytes;
		return rc;
	}
	frag_gap_remove(h, unmapped);
	b = isolate(h, unmapped, offset, bytes);
	n = h->blocks[b].next;
	if (has_state(h, n, FRAG_UNMAPPED)) {
		frag_heap_renew_unchecked(h, n);
		frag_gap_insert(h, n);
	}
	if (b != unmapped)
		frag_gap_insert(h, unmapped);
	h->blocks[b].state = FRAG_DETACHED;
	s->mapped += bytes;
	FRAG_ASSERT(s->mapped <= s->bytes);
	h->totals.reserved += bytes;
	note_device_call(h, FRAG_CALL_MAP, s, offset, bytes);
	note_step_peaks(h);
	*out = merge_in_state(h, b, FRAG_FREE, frag_list_remove);
	frag_list_insert(h, *out);
	return 0;
}

/* Cuts the pages out of the free block, then merges them with adjacent unmapped blocks. */
int frag_heap_unmap(struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes,
		    frag_block *out)
{
	struct frag_heap_segment *s;
	uint32_t lower = b;
	bool rest;
	uint64_t cost;
	int rc;

	if (!has_state(h, b, FRAG_FREE))
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
		frag_heap_renew_unchecked(h, lower);
		frag_list_insert(h, lower);
	}
	if (rest) {
		frag_heap_renew_unchecked(h, h->blocks[b].next);
		frag_list_insert(h, h->blocks[b].next);
	}
	h->blocks[b].state = FRAG_UNMAPPED;
	FRAG_ASSERT(s->mapped >= bytes && h->totals.reserved >= bytes);
	s->mapped -= bytes;
	h->totals.reserved -= bytes;
	note_device_call(h, FRAG_CALL_UNMAP, s, offset, bytes);
	*out = merge_in_state(h, b, FRAG_UNMAPPED, frag_gap_remove);
	frag_gap_insert(h, *out);
	return 0;
}

/* The unmapped end of a range, which is in no list, goes. */
static void drop_end(struct frag_heap *h, uint32_t b)
{
	FRAG_ASSERT(h->blocks[b].prev != FRAG_NO_ENTRY && h->blocks[b].next == FRAG_NO_ENTRY);
	h->blocks[h->blocks[b].prev].next = FRAG_NO_ENTRY;
	frag_release_record(h, b);
}

static void range_resize(struct frag_heap *h, struct frag_heap_segment *s, uint32_t last,
			 uint64_t bytes)
{
	const struct frag_heap_block *k = &h->blocks[last];

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
		struct frag_heap_segment *s = &h->segments[i];
		uint32_t last = s->first;
		uint64_t end;

		if (!s->in_use || !s->page)
			continue;
		while (h->blocks[last].next != FRAG_NO_ENTRY)
			last = h->blocks[last].next;
		end = has_state(h, last, FRAG_UNMAPPED) ? h->blocks[last].offset : s->bytes;
		range_resize(h, s, last, resized(ctx, s->page, s->bytes, end));
	}
}

/* Cached memory -------------------------------------------------------------- */

/* A free block whose segment, or whole pages, can be released. */
struct cached {
	uint64_t rank[FRAG_RANKS];
	uint64_t offset;
	uint32_t tie;
	uint32_t block;
};

struct cached_list {
	struct cached *blocks;
	uint32_t count, capacity;
	frag_rank_fn *rank;
	void *ctx;
};

static int cached_by_rank(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	for (uint32_t i = 0; i < FRAG_RANKS; i++)
		if (x->rank[i] != y->rank[i])
			return x->rank[i] < y->rank[i] ? -1 : 1;
	return frag_order_two(x->tie, y->tie, x->offset, y->offset);
}

static bool cached_add(const struct frag_heap *h, struct cached_list *t, uint32_t b)
{
	struct cached block = {
		.offset = h->blocks[b].offset, .block = b,
		.tie = h->blocks[b].tie,
	};

	FRAG_ASSERT(h->blocks[b].state == FRAG_FREE);
	if (t->rank && !t->rank(h, b, t->ctx, block.rank))
		return true;
	if (!FRAG_GROW(t->blocks, t->capacity, t->count))
		return false;
	t->blocks[t->count++] = block;
	return true;
}

static bool has_whole_pages(const struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];
	const struct frag_heap_segment *s = &h->segments[k->segment];

	FRAG_ASSERT(k->state == FRAG_FREE);
	return s->page && !s->kept && frag_whole_page_bytes(s, k->offset, k->bytes);
}

/* Only blocks of a page or more can hold a whole one. */
static bool cached_add_pages(const struct frag_heap *h, struct cached_list *t, uint32_t list)
{
	const struct frag_entry key = {
		.size = h->index.order == FRAG_ORDER_SIZE ? h->min_page : 0,
	};
	const struct frag_entry *e = frag_index_near(&h->index, list, &key, false);
	uint32_t b = e ? e->block : FRAG_NO_ENTRY;

	for (; b != FRAG_NO_ENTRY; b = frag_heap_after(h, b))
		if (has_whole_pages(h, b) && !cached_add(h, t, b))
			return false;
	return true;
}

/* Unmaps the whole pages of b; a range without mapped pages is then released. */
static int unmap_whole_pages(struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];
	const struct frag_heap_segment *s = &h->segments[k->segment];
	uint64_t first = (k->offset + s->page - 1) / s->page * s->page;
	int rc = frag_heap_unmap(h, b, first, frag_whole_page_bytes(s, k->offset, k->bytes), &b);

	if (!rc && h->blocks[b].prev == FRAG_NO_ENTRY && h->blocks[b].next == FRAG_NO_ENTRY)
		rc = frag_heap_release(h, b);
	return rc;
}

/*
 * Lists idle segments and whole free pages, sorts them by rank, and releases them in that order.
 * rank NULL: all are equal. Equals are in the order of heap.ties, then by offset.
 */
static int release_cached(struct frag_heap *h, frag_rank_fn *rank, void *ctx)
{
	struct cached_list t = { .rank = rank, .ctx = ctx };
	/* free blocks of a range are in its own list, or wherever the policy sorts them */
	const uint32_t lists = h->policy_sorts && h->gaps.count ? h->index.count : h->gaps.count;
	bool room = true;
	int rc = 0;

	for (uint32_t i = 0; i < h->idle_count && room; i++) {
		const struct frag_heap_segment *s = &h->segments[h->idle[i]];

		/* its one block may be detached, or several */
		if (!why_not_release(s, &h->blocks[s->first]))
			room = cached_add(h, &t, s->first);
	}
	for (uint32_t i = 0; i < lists && room; i++)
		room = cached_add_pages(h, &t, i);
	if (!room)
		rc = -FRAG_ENOMEM;
	FRAG_SORT(t.blocks, t.count, cached_by_rank);
	for (uint32_t i = 0; i < t.count && !rc; i++)
		rc = h->segments[h->blocks[t.blocks[i].block].segment].page
			? unmap_whole_pages(h, t.blocks[i].block)
			: frag_heap_release(h, t.blocks[i].block);
	free(t.blocks);
	return rc;
}

int frag_heap_release_unused(struct frag_heap *h, frag_rank_fn *rank, void *ctx)
{
	FRAG_ASSERT(rank);
	return release_cached(h, rank, ctx);
}

int frag_heap_release_idle(struct frag_heap *h)
{
	return release_cached(h, NULL, NULL);
}
