/* heap.c - the tables of segments and blocks, free lists, and whole segments. */
#include "fragsim/heap.h"

#include <stdlib.h>

#include "base/grow.h"
#include "heap/store.h"

struct frag_heap *frag_heap_new(struct frag_device *dev, const struct frag_index_ops *index)
{
	struct frag_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->dev = dev;
	h->unused_block = h->unused_segment = NONE;
	if (!frag_index_init(&h->index, index->order)
	    || !frag_index_init(&h->gaps, FRAG_BY_ADDRESS)) {
		frag_heap_del(h);
		return NULL;
	}
	return h;
}

void frag_heap_del(struct frag_heap *h)
{
	uint64_t cost;

	if (!h)
		return;
	for (uint32_t s = 0; s < h->segment_count; s++) {
		if (h->segments[s].held && h->segments[s].page)
			frag_range_close(h, s);
		else if (h->segments[s].held)
			h->dev->ops->release(h->dev, h->segments[s].addr, h->segments[s].bytes,
					     &cost);
	}
	frag_index_fini(&h->index);
	frag_index_fini(&h->gaps);
	free(h->blocks);
	free(h->segments);
	free(h->idle);
	free(h->held);
	free(h->calls);
	free(h);
}

void frag_heap_by_address(struct frag_heap *h)
{
	h->by_address = true;
}

void frag_heap_step(struct frag_heap *h)
{
	h->call_count = 0;
	h->books.top_reserved = h->books.reserved;
	h->books.top_segments = h->books.segments;
	h->books.top_used = h->dev->used;
}

const struct frag_books *frag_heap_books(const struct frag_heap *h)
{
	return &h->books;
}

const struct frag_call *frag_heap_calls(const struct frag_heap *h, uint32_t *count)
{
	*count = h->call_count;
	return h->calls;
}

uint64_t frag_heap_largest(const struct frag_heap *h)
{
	return frag_index_largest(&h->index);
}

uint64_t frag_heap_total(const struct frag_heap *h)
{
	return h->dev->total;
}

uint64_t frag_heap_granularity(const struct frag_heap *h)
{
	return h->dev->granularity;
}

uint64_t frag_heap_round(const struct frag_heap *h, uint64_t bytes)
{
	return frag_device_round(h->dev, bytes);
}

struct frag_block_view frag_heap_look(const struct frag_heap *h, frag_block b)
{
	const struct block *k;

	if (!exists(h, b))
		return (struct frag_block_view){
			.segment = FRAG_NO_SEGMENT, .prev = FRAG_NO_BLOCK,
			.next = FRAG_NO_BLOCK, .state = FRAG_UNMAPPED,
		};
	k = &h->blocks[b];
	return (struct frag_block_view){
		.offset = k->offset, .bytes = k->bytes, .asked = k->asked,
		.segment = k->segment, .prev = k->prev, .next = k->next,
		.user = k->user, .state = (enum frag_state)k->state,
	};
}

struct frag_segment_view frag_heap_look_segment(const struct frag_heap *h, frag_segment s)
{
	const struct segment *g;

	if (s >= h->segment_count || !h->segments[s].held)
		return (struct frag_segment_view){ .first = FRAG_NO_BLOCK };
	g = &h->segments[s];
	return (struct frag_segment_view){
		.bytes = g->bytes, .mapped = g->mapped, .grain = g->grain, .page = g->page,
		.first = g->first, .list = g->list, .ordinal = g->ordinal, .pool = g->pool,
		.live = g->live, .user = g->user, .kept = g->kept,
	};
}

uint64_t frag_heap_page(const struct frag_heap *h, frag_block b)
{
	return exists(h, b) ? h->segments[h->blocks[b].segment].page : 0;
}

bool frag_heap_look_allocated(const struct frag_heap *h, frag_block b, struct frag_allocation *out)
{
	const struct segment *g;
	const struct block *k;

	if (!exists(h, b) || h->blocks[b].state != FRAG_ALLOCATED)
		return false;
	k = &h->blocks[b];
	g = &h->segments[k->segment];
	*out = (struct frag_allocation){
		.offset = k->offset, .bytes = k->bytes, .asked = k->asked,
		.ordinal = g->ordinal, .pool = g->pool,
	};
	return true;
}

struct frag_list_view frag_heap_look_list(const struct frag_heap *h, frag_list list)
{
	const struct frag_free_list *l;

	if (list >= h->index.count)
		return (struct frag_list_view){ .count = 0 };
	l = &h->index.lists[list];
	return (struct frag_list_view){
		.pool = l->pool, .which = l->which, .count = l->count, .largest = l->largest,
		.user = l->user,
	};
}

frag_addr frag_heap_address(const struct frag_heap *h, frag_block b)
{
	return h->segments[h->blocks[b].segment].addr;
}

void frag_heap_expect(const struct frag_heap *h, frag_block b)
{
	if (b < h->block_count)
		__builtin_prefetch(&h->blocks[b]);
}

int frag_heap_list(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out)
{
	*out = frag_index_list(&h->index, pool, which);
	return *out == UINT32_MAX ? -FRAG_ENOMEM : 0;
}

static frag_block block_of(const struct frag_entry *e)
{
	return e ? e->block : FRAG_NO_BLOCK;
}

frag_block frag_heap_find(const struct frag_heap *h, frag_list list, uint64_t bytes)
{
	return list < h->index.count ? block_of(frag_index_find(&h->index, list, bytes))
				     : FRAG_NO_BLOCK;
}

frag_block frag_heap_find_from(const struct frag_heap *h, frag_list list, uint64_t bytes,
			       uint32_t ordinal, uint64_t offset)
{
	const struct frag_entry from = { .ordinal = ordinal, .offset = offset };

	if (list >= h->index.count || h->index.order != FRAG_BY_ADDRESS)
		return FRAG_NO_BLOCK;
	return block_of(frag_index_find_from(&h->index, list, bytes, &from));
}

frag_block frag_heap_find_largest(const struct frag_heap *h, frag_list list)
{
	if (list >= h->index.count)
		return FRAG_NO_BLOCK;
	return block_of(frag_index_find(&h->index, list, h->index.lists[list].largest));
}

frag_block frag_heap_after(const struct frag_heap *h, frag_block b)
{
	struct frag_entry key;

	if (!exists(h, b))
		return FRAG_NO_BLOCK;
	key = frag_entry_of(h, b);
	key.offset++;
	return block_of(frag_index_at_least(&h->index, h->segments[h->blocks[b].segment].list,
					    &key));
}

frag_block frag_heap_before(const struct frag_heap *h, frag_block b)
{
	struct frag_entry key;

	if (!exists(h, b))
		return FRAG_NO_BLOCK;
	key = frag_entry_of(h, b);
	return block_of(frag_index_before(&h->index, h->segments[h->blocks[b].segment].list,
					  &key));
}

frag_block frag_heap_find_smaller(const struct frag_heap *h, frag_list list, uint64_t bytes)
{
	const struct frag_entry key = { .size = bytes };

	return list < h->index.count ? block_of(frag_index_before(&h->index, list, &key))
				     : FRAG_NO_BLOCK;
}

frag_block frag_heap_find_unmapped(const struct frag_heap *h, frag_list list, frag_block b)
{
	struct frag_entry key = { .ordinal = 0 };

	if (list >= h->gaps.count || (b != FRAG_NO_BLOCK && !exists(h, b)))
		return FRAG_NO_BLOCK;
	if (b != FRAG_NO_BLOCK) {
		key = frag_entry_of(h, b);
		key.offset++;
	}
	return block_of(frag_index_at_least(&h->gaps, list, &key));
}

frag_segment frag_heap_find_idle(const struct frag_heap *h, uint32_t i)
{
	return i < h->idle_count ? h->idle[i] : FRAG_NO_SEGMENT;
}

uint32_t frag_new_block(struct frag_heap *h)
{
	uint32_t b = h->unused_block;

	if (b != NONE) {
		h->unused_block = h->blocks[b].next;
		return b;
	}
	if (!frag_grow(&h->blocks, &h->block_capacity, (uint64_t)h->block_count + 1,
		       sizeof(*h->blocks)))
		return NONE;
	return h->block_count++;
}

void frag_drop_block(struct frag_heap *h, uint32_t b)
{
	h->blocks[b] = (struct block){
		.segment = h->blocks[b].segment, .next = h->unused_block, .state = FRAG_UNMAPPED,
	};
	h->unused_block = b;
}

void frag_note_call(struct frag_heap *h, enum frag_call_kind kind, const struct segment *s,
		    uint64_t offset, uint64_t bytes)
{
	h->calls[h->call_count++] = (struct frag_call){
		.kind = kind, .ordinal = s->ordinal, .list = s->list, .offset = offset, .bytes = bytes,
	};
}

void frag_note_tops(struct frag_heap *h)
{
	if (h->books.reserved > h->books.top_reserved)
		h->books.top_reserved = h->books.reserved;
	if (h->books.segments > h->books.top_segments)
		h->books.top_segments = h->books.segments;
	if (h->dev->used > h->books.top_used)
		h->books.top_used = h->dev->used;
}

void frag_gap_in(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_entry_of(h, b);

	frag_index_insert(&h->gaps, h->segments[h->blocks[b].segment].list, &e);
}

void frag_gap_out(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_entry_of(h, b);

	frag_index_remove(&h->gaps, h->segments[h->blocks[b].segment].list, &e);
}

void frag_idle_enter(struct frag_heap *h, uint32_t s)
{
	if (h->segments[s].page || h->segments[s].kept)
		return;
	h->segments[s].idle_at = h->idle_count;
	h->idle[h->idle_count++] = s;   /* there is room for every segment */
	h->books.releasable += h->segments[s].bytes;
}

void frag_idle_leave(struct frag_heap *h, uint32_t s)
{
	uint32_t at = h->segments[s].idle_at;
	uint32_t last;

	if (at == NONE)
		return;
	last = h->idle[--h->idle_count];
	h->idle[at] = last;
	h->segments[last].idle_at = at;
	h->segments[s].idle_at = NONE;
	h->books.releasable -= h->segments[s].bytes;
}

/* A segment record with room for it among the idle ones; NONE where memory is short. */
static uint32_t new_segment(struct frag_heap *h)
{
	uint32_t s = h->unused_segment;

	if (h->next_ordinal == NONE)
		return NONE;
	if (s == NONE) {
		if (!frag_grow(&h->segments, &h->segment_capacity, (uint64_t)h->segment_count + 1,
			       sizeof(*h->segments))
		    || !frag_grow(&h->idle, &h->idle_capacity, (uint64_t)h->segment_count + 1,
				  sizeof(*h->idle)))
			return NONE;
		return h->segment_count++;
	}
	h->unused_segment = h->segments[s].first;
	return s;
}

static void drop_segment(struct frag_heap *h, uint32_t s)
{
	h->segments[s].held = false;
	h->segments[s].first = h->unused_segment;
	h->unused_segment = s;
}

/*
 * Enters a segment that the device gave; its only block is free, or unmapped
 * where it is a range of pages. frag_room() was asked for one block.
 */
static frag_block enter(struct frag_heap *h, uint32_t s, frag_addr addr, frag_list list,
			uint64_t bytes, uint64_t page)
{
	uint32_t b = frag_new_block(h);
	struct segment *g = &h->segments[s];

	*g = (struct segment){
		.bytes = bytes, .mapped = page ? 0 : bytes, .page = page, .addr = addr,
		.first = b, .list = list, .pool = h->index.lists[list].pool,
		.order = h->by_address ? (uint32_t)addr : h->next_ordinal,
		.ordinal = h->next_ordinal, .idle_at = NONE, .held = true,
	};
	h->next_ordinal++;
	h->blocks[b] = (struct block){
		.bytes = bytes, .segment = s, .prev = NONE, .next = NONE,
		.state = FRAG_UNMAPPED,
	};
	h->books.segments++;
	h->books.segment_allocs++;
	h->books.reserved += g->mapped;
	frag_note_call(h, page ? FRAG_CALL_NEW_RANGE : FRAG_CALL_NEW, g, 0, bytes);
	if (page) {
		frag_gap_in(h, b);
		if (page < h->least_page || h->least_page == 0)
			h->least_page = page;
	} else {
		frag_list_in(h, b);
		frag_idle_enter(h, s);
	}
	frag_note_tops(h);
	return b;
}

/* grow and reserve differ in what they ask of the device only. */
static int obtain(struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t page,
		  frag_block *out)
{
	uint64_t cost;
	frag_addr addr;
	uint32_t s;
	int rc;

	if (list >= h->index.count || bytes == 0 || (page && bytes % page))
		return -FRAG_EPOLICY;
	s = frag_room(h, 1) ? new_segment(h) : NONE;
	if (s == NONE)
		return -FRAG_ENOMEM;
	rc = page ? h->dev->ops->reserve(h->dev, bytes, &addr, &cost)
		  : h->dev->ops->acquire(h->dev, bytes, &addr, &cost);
	if (rc) {
		drop_segment(h, s);
		h->books.tried = bytes;
		return rc;
	}
	*out = enter(h, s, addr, list, bytes, page);
	return 0;
}

int frag_heap_grow(struct frag_heap *h, frag_list list, uint64_t bytes, frag_block *out)
{
	return obtain(h, list, bytes, 0, out);
}

int frag_heap_reserve(struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t page,
		      frag_block *out)
{
	if (page == 0 || !h->dev->ops->reserve || list >= h->index.count)
		return -FRAG_EPOLICY;
	while (h->gaps.count <= list) {
		const struct frag_free_list *l = &h->index.lists[h->gaps.count];

		if (frag_index_list(&h->gaps, l->pool, l->which) == UINT32_MAX)
			return -FRAG_ENOMEM;
	}
	return obtain(h, list, bytes, page, out);
}

int frag_heap_keep(struct frag_heap *h, frag_block whole)
{
	uint32_t s;

	if (!exists(h, whole))
		return -FRAG_EPOLICY;
	s = h->blocks[whole].segment;
	if (h->segments[s].live || h->blocks[whole].bytes != h->segments[s].bytes)
		return -FRAG_EPOLICY;
	frag_idle_leave(h, s);
	h->segments[s].kept = true;
	return 0;
}

/* Is k all of the segment: free, or of a range without memory? */
static bool releasable(const struct segment *g, const struct block *k)
{
	uint64_t whole = g->grain ? g->bytes / g->grain * g->grain : g->bytes;

	return !g->kept && k->bytes == whole && k->state == (g->page ? FRAG_UNMAPPED : FRAG_FREE);
}

int frag_heap_release(struct frag_heap *h, frag_block whole)
{
	struct segment *g;
	uint64_t cost;
	uint32_t s;
	int rc;

	if (!exists(h, whole))
		return -FRAG_EPOLICY;
	s = h->blocks[whole].segment;
	g = &h->segments[s];
	if (!releasable(g, &h->blocks[whole]))
		return -FRAG_EPOLICY;
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	rc = g->page ? h->dev->ops->unreserve(h->dev, g->addr, g->bytes, &cost)
		     : h->dev->ops->release(h->dev, g->addr, g->bytes, &cost);
	if (rc)
		return rc;
	if (g->page)
		frag_gap_out(h, whole);
	else
		frag_list_out(h, whole);
	if (h->blocks[whole].next != NONE)
		frag_fuse(h, whole, h->blocks[whole].next);     /* a slab's tail */
	frag_idle_leave(h, s);
	h->books.segments--;
	h->books.segment_frees++;
	h->books.reserved -= g->mapped;
	frag_note_call(h, g->page ? FRAG_CALL_RELEASE_RANGE : FRAG_CALL_RELEASE, g, 0, g->bytes);
	frag_drop_block(h, whole);
	drop_segment(h, s);
	return 0;
}

void frag_heap_retried(struct frag_heap *h)
{
	h->books.retries++;
}

void frag_heap_limit(struct frag_heap *h, uint64_t bytes)
{
	h->dev->limit = bytes;
}

void frag_heap_tried(struct frag_heap *h, uint64_t bytes)
{
	h->books.tried = bytes;
}

void frag_heap_set_list_user(struct frag_heap *h, frag_list list, uint64_t user)
{
	if (list < h->index.count)
		h->index.lists[list].user = user;
}

void frag_heap_set_user(struct frag_heap *h, frag_block b, uint32_t user)
{
	if (exists(h, b))
		h->blocks[b].user = user;
}

void frag_heap_set_segment_user(struct frag_heap *h, frag_segment s, uint32_t user)
{
	if (s < h->segment_count)
		h->segments[s].user = user;
}

void frag_heap_walk(const struct frag_heap *h, void *ctx,
		    void (*visit)(void *ctx, const struct frag_segment_view *s,
				  const struct frag_block_view *b))
{
	for (uint32_t s = 0; s < h->segment_count; s++) {
		struct frag_segment_view g;

		if (!h->segments[s].held)
			continue;
		g = frag_heap_look_segment(h, s);
		visit(ctx, &g, NULL);
		for (uint32_t b = g.first; b != NONE; b = h->blocks[b].next) {
			struct frag_block_view k = frag_heap_look(h, b);

			visit(ctx, &g, &k);
		}
	}
}
