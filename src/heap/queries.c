/* queries.c - queries of the heap: they return copies and change nothing. */
#include "fragsim/heap.h"

#include "heap/heap_inline.h"

const struct frag_totals *frag_heap_totals(const struct frag_heap *h)
{
	return &h->totals;
}

const struct frag_call *frag_heap_calls(const struct frag_heap *h, uint32_t *count)
{
	*count = h->call_count;
	return h->calls;
}

uint64_t frag_heap_largest(const struct frag_heap *h)
{
	return frag_heap_largest_inline(h);
}

uint64_t frag_heap_capacity(const struct frag_heap *h)
{
	return h->dev->total;
}

void frag_heap_capacity_range(const struct frag_heap *h, uint64_t *min_capacity,
			      uint64_t *end_capacity)
{
	*min_capacity = h->dev->min_capacity;
	*end_capacity = h->dev->end_capacity;
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
	if (!frag_is_block(h, b))
		return (struct frag_block_view){
			.segment = FRAG_NO_SEGMENT, .prev = FRAG_NO_BLOCK,
			.next = FRAG_NO_BLOCK, .state = FRAG_UNMAPPED,
		};
	return frag_heap_look_unchecked(h, b);
}

struct frag_segment_view frag_heap_look_segment(const struct frag_heap *h, frag_segment s)
{
	if (s >= h->segment_count || !h->segments[s].in_use)
		return (struct frag_segment_view){ .first = FRAG_NO_BLOCK };
	return frag_heap_look_segment_unchecked(h, s);
}

uint64_t frag_heap_page(const struct frag_heap *h, frag_block b)
{
	return frag_is_block(h, b) ? frag_heap_page_unchecked(h, b) : 0;
}

bool frag_heap_look_allocated(const struct frag_heap *h, frag_block b, struct frag_allocation *out)
{
	const struct frag_heap_segment *g;
	const struct frag_heap_block *k;

	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_ALLOCATED)
		return false;
	k = &h->blocks[b];
	g = &h->segments[k->segment];
	*out = (struct frag_allocation){
		.offset = k->offset, .bytes = k->bytes, .requested = k->requested,
		.ordinal = g->ordinal, .pool = g->pool,
	};
	return true;
}

struct frag_list_view frag_heap_look_list(const struct frag_heap *h, frag_list list)
{
	if (list >= h->index.count)
		return (struct frag_list_view){ .count = 0 };
	return frag_heap_look_list_unchecked(h, list);
}

frag_addr frag_heap_address(const struct frag_heap *h, frag_block b)
{
	FRAG_ASSERT(frag_is_block(h, b));
	return h->segments[h->blocks[b].segment].addr;
}

static frag_block queries_block_of(const struct frag_entry *e)
{
	return e ? e->block : FRAG_NO_BLOCK;
}

frag_block frag_heap_find(const struct frag_heap *h, frag_list list, uint64_t bytes)
{
	return list < h->index.count ? frag_heap_find_unchecked(h, list, bytes) : FRAG_NO_BLOCK;
}

frag_block frag_heap_find_from(const struct frag_heap *h, frag_list list, uint64_t bytes,
			       uint32_t ordinal, uint64_t offset)
{
	const struct frag_entry from = { .tie = ordinal, .offset = offset };

	if (list >= h->index.count || h->index.order != FRAG_ORDER_ADDRESS)
		return FRAG_NO_BLOCK;
	return queries_block_of(frag_index_find_from(&h->index, list, bytes, &from));
}

frag_block frag_heap_find_key(const struct frag_heap *h, frag_list list, uint64_t bytes,
			      uint64_t key)
{
	const struct frag_entry from = { .size = key };

	if (list >= h->index.count || h->index.order != FRAG_ORDER_KEY)
		return FRAG_NO_BLOCK;
	return queries_block_of(frag_index_find_from(&h->index, list, bytes, &from));
}

frag_block frag_heap_find_last(const struct frag_heap *h, frag_list list, uint64_t bytes)
{
	return list < h->index.count
		       ? queries_block_of(frag_index_find_last(&h->index, list, bytes))
		       : FRAG_NO_BLOCK;
}

frag_block frag_heap_find_largest(const struct frag_heap *h, frag_list list)
{
	if (list >= h->index.count)
		return FRAG_NO_BLOCK;
	return frag_heap_find_unchecked(h, list, h->index.lists[list].largest);
}

/*
 * Sets the list of a block and its key there. Returns false if the block is in no list: where
 * the policy sorts, only free blocks are in lists.
 */
static bool position(const struct frag_heap *h, frag_block b, frag_list *list,
		     struct frag_entry *key)
{
	if (!frag_is_block(h, b) || (h->policy_sorts && h->blocks[b].state != FRAG_FREE))
		return false;
	*list = h->policy_sorts ? h->blocks[b].list : h->segments[h->blocks[b].segment].list;
	*key = h->policy_sorts ? frag_sorted_entry(h, b) : frag_entry_of(h, b);
	return true;
}

frag_block frag_heap_after(const struct frag_heap *h, frag_block b)
{
	struct frag_entry key;
	frag_list list;

	if (!position(h, b, &list, &key))
		return FRAG_NO_BLOCK;
	key.offset++;
	return queries_block_of(frag_index_near(&h->index, list, &key, false));
}

frag_block frag_heap_before(const struct frag_heap *h, frag_block b)
{
	struct frag_entry key;
	frag_list list;

	if (!position(h, b, &list, &key))
		return FRAG_NO_BLOCK;
	return queries_block_of(frag_index_near(&h->index, list, &key, true));
}

frag_list frag_heap_find_list(const struct frag_heap *h, uint32_t pool, uint32_t which)
{
	return frag_index_find_list(&h->index, pool, which);
}

frag_list frag_heap_list_of(const struct frag_heap *h, frag_block b)
{
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_FREE)
		return FRAG_NO_LIST;
	return h->policy_sorts ? h->blocks[b].list : h->segments[h->blocks[b].segment].list;
}

uint64_t frag_heap_key(const struct frag_heap *h, frag_block b)
{
	return frag_is_block(h, b) && h->blocks[b].state == FRAG_FREE && h->policy_sorts
		       ? h->blocks[b].key : 0;
}

frag_block frag_heap_find_smaller(const struct frag_heap *h, frag_list list, uint64_t bytes)
{
	const struct frag_entry key = { .size = bytes };

	if (list >= h->index.count || h->index.order != FRAG_ORDER_SIZE)
		return FRAG_NO_BLOCK;
	return queries_block_of(frag_index_near(&h->index, list, &key, true));
}

frag_block frag_heap_find_unmapped(const struct frag_heap *h, frag_list list, frag_block b)
{
	struct frag_entry key = { .tie = 0 };

	if (list >= h->gaps.count || (b != FRAG_NO_BLOCK && !frag_is_block(h, b)))
		return FRAG_NO_BLOCK;
	if (b != FRAG_NO_BLOCK) {
		key = frag_gap_entry(h, b);
		key.offset++;
	}
	return queries_block_of(frag_index_near(&h->gaps, list, &key, false));
}

frag_segment frag_heap_find_idle(const struct frag_heap *h, uint32_t i)
{
	return i < h->idle_count ? h->idle[i] : FRAG_NO_SEGMENT;
}

frag_block frag_heap_find_pending(const struct frag_heap *h)
{
	return h->pending_count ? h->pending[0].block : FRAG_NO_BLOCK;
}

frag_block frag_heap_find_ready(const struct frag_heap *h)
{
	return frag_heap_find_ready_unchecked(h);
}

bool frag_heap_is_pending(const struct frag_heap *h, frag_block b, uint32_t owner)
{
	return frag_is_block(h, b) && h->blocks[b].state == FRAG_PENDING
	       && h->pending[h->blocks[b].pending_at].owner == owner;
}

void frag_heap_walk(const struct frag_heap *h, void *ctx,
		    void (*visit)(void *ctx, const struct frag_segment_view *s,
				  const struct frag_block_view *b))
{
	for (uint32_t s = 0; s < h->segment_count; s++) {
		struct frag_segment_view g;

		if (!h->segments[s].in_use)
			continue;
		g = frag_heap_look_segment(h, s);
		visit(ctx, &g, NULL);
		for (uint32_t b = g.first; b != FRAG_NO_ENTRY; b = h->blocks[b].next) {
			struct frag_block_view k = frag_heap_look(h, b);

			visit(ctx, &g, &k);
		}
	}
}
