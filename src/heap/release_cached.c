/* release_cached.c - releases cached memory to the device, in a policy's order. */
#include <stdlib.h>

#include "base/array_grow.h"
#include "fragsim/heap.h"
#include "heap/heap_tables.h"

/* A free block whose segment, or whole pages, can be released. */
struct cached {
	uint64_t rank[FRAG_RANKS];
	uint64_t offset;
	uint32_t ordinal;
	uint32_t block;
};

struct cached_list {
	struct cached *blocks;
	uint32_t count, capacity;
	frag_rank_fn *rank;
	void *ctx;
};

static int release_cached_by_rank(const void *a, const void *b)
{
	const struct cached *x = a, *y = b;

	for (uint32_t i = 0; i < FRAG_RANKS; i++)
		if (x->rank[i] != y->rank[i])
			return x->rank[i] < y->rank[i] ? -1 : 1;
	return frag_order_two(x->ordinal, y->ordinal, x->offset, y->offset);
}

static bool release_cached_by_ordinal(const struct frag_heap *h, frag_block b, void *ctx,
				      uint64_t rank[FRAG_RANKS])
{
	(void)h;
	(void)b;
	(void)ctx;
	(void)rank;
	return true;
}

static bool release_cached_add(const struct frag_heap *h, struct cached_list *t, uint32_t b)
{
	struct cached block = {
		.offset = h->blocks[b].offset, .block = b,
		.ordinal = h->blocks[b].order,
	};

	FRAG_ASSERT(h->blocks[b].state == FRAG_FREE);
	if (!t->rank(h, b, t->ctx, block.rank))
		return true;
	if (!FRAG_GROW(t->blocks, t->capacity, t->count))
		return false;
	t->blocks[t->count++] = block;
	return true;
}

static bool has_whole_pages(const struct frag_heap *h, uint32_t b)
{
	const struct block *k = &h->blocks[b];
	const struct segment *s = &h->segments[k->segment];

	FRAG_ASSERT(k->state == FRAG_FREE);
	return s->page && !s->kept && frag_whole_pages(s, k->offset, k->bytes);
}

/* Only blocks of a page or more can hold a whole one. */
static bool release_cached_add_pages(const struct frag_heap *h, struct cached_list *t, uint32_t list)
{
	const struct frag_entry key = {
		.size = h->index.order == FRAG_BY_SIZE ? h->min_page : 0,
	};
	const struct frag_entry *e = frag_index_lower_bound(&h->index, list, &key);
	uint32_t b = e ? e->block : NONE;

	for (; b != NONE; b = frag_heap_after(h, b))
		if (has_whole_pages(h, b) && !release_cached_add(h, t, b))
			return false;
	return true;
}

/* Unmaps the whole pages of b; a range without mapped pages is then released. */
static int unmap_whole_pages(struct frag_heap *h, uint32_t b)
{
	const struct block *k = &h->blocks[b];
	const struct segment *s = &h->segments[k->segment];
	uint64_t first = (k->offset + s->page - 1) / s->page * s->page;
	int rc = frag_heap_unmap(h, b, first, frag_whole_pages(s, k->offset, k->bytes), &b);

	if (!rc && h->blocks[b].prev == NONE && h->blocks[b].next == NONE)
		rc = frag_heap_release(h, b);
	return rc;
}

/* Lists idle segments and whole free pages, sorts them by rank, and releases them in that order. */
int frag_heap_release_unused(struct frag_heap *h, frag_rank_fn *rank, void *ctx)
{
	struct cached_list t = { .rank = rank, .ctx = ctx };
	/* free blocks of a range are in its own list, or wherever the policy sorts them */
	const uint32_t lists = h->sorted && h->gaps.count ? h->index.count : h->gaps.count;
	bool room = true;
	int rc = 0;

	FRAG_ASSERT(rank);
	for (uint32_t i = 0; i < h->idle_count && room; i++)
		room = release_cached_add(h, &t, h->segments[h->idle[i]].first);
	for (uint32_t i = 0; i < lists && room; i++)
		room = release_cached_add_pages(h, &t, i);
	if (!room)
		rc = -FRAG_ENOMEM;
	if (t.count > 1)
		qsort(t.blocks, t.count, sizeof(*t.blocks), release_cached_by_rank);
	for (uint32_t i = 0; i < t.count && !rc; i++)
		rc = h->segments[h->blocks[t.blocks[i].block].segment].page
			? unmap_whole_pages(h, t.blocks[i].block)
			: frag_heap_release(h, t.blocks[i].block);
	free(t.blocks);
	return rc;
}

int frag_heap_release_idle(struct frag_heap *h)
{
	return frag_heap_release_unused(h, release_cached_by_ordinal, NULL);
}
