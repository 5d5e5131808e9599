/* heap_tables.c - a block or a segment enters one of the heap's tables, and leaves it. */
#include "heap/heap_inline.h"

void frag_gap_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->segments[h->blocks[b].segment].list < h->gaps.count);
	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_insert(&h->gaps, h->segments[h->blocks[b].segment].list, &e, e.size);
}

void frag_gap_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_gap_entry(h, b);

	FRAG_ASSERT(h->blocks[b].state == FRAG_UNMAPPED);
	frag_index_remove(&h->gaps, h->segments[h->blocks[b].segment].list, &e, e.size);
}

void frag_sorted_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_sorter *by = &h->sorter;
	const struct frag_block_view view = frag_heap_look_unchecked(h, b);
	const struct frag_segment_view segment = frag_heap_look_segment_unchecked(h, view.segment);
	struct frag_heap_block *k = &h->blocks[b];
	struct frag_entry e;

	FRAG_ASSERT(h->policy_sorts);
	k->list = !by->which ? segment.list
		: frag_index_list(&h->index, segment.pool,
				  by->which(by->state, by->param, &segment, &view));
	k->key = by->key ? by->key(by->state, by->param, &segment, &view) : 0;
	FRAG_ASSERT(k->list < h->index.count);
	e = frag_sorted_entry(h, b);
	frag_index_insert(&h->index, k->list, &e, frag_fit_size(&h->segments[k->segment], k));
}

void frag_sorted_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_sorted_entry(h, b);
	const struct frag_heap_block *k = &h->blocks[b];

	FRAG_ASSERT(k->state == FRAG_FREE && k->list < h->index.count);
	frag_index_remove(&h->index, k->list, &e, frag_fit_size(&h->segments[k->segment], k));
}

void frag_pending_move(struct frag_heap *h, uint32_t from, uint32_t to)
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
		frag_pending_move(h, --h->ready_count, hole);
		hole = h->ready_count;
	}
	frag_pending_move(h, --h->pending_count, hole);
}

void frag_idle_enter(struct frag_heap *h, uint32_t s)
{
	if (h->segments[s].page || h->segments[s].kept)
		return;
	FRAG_ASSERT(!h->segments[s].live && h->segments[s].idle_at == FRAG_NO_ENTRY
		    && h->idle_count < h->idle_capacity);
	h->segments[s].idle_at = h->idle_count;
	h->idle[h->idle_count++] = s;   /* the array has an entry for every segment */
	h->totals.releasable += h->segments[s].bytes;
}

void frag_idle_leave(struct frag_heap *h, uint32_t s)
{
	uint32_t at = h->segments[s].idle_at;
	uint32_t last;

	if (at == FRAG_NO_ENTRY)
		return;
	FRAG_ASSERT(at < h->idle_count && h->idle[at] == s);
	last = h->idle[--h->idle_count];
	h->idle[at] = last;
	h->segments[last].idle_at = at;
	h->segments[s].idle_at = FRAG_NO_ENTRY;
	h->totals.releasable -= h->segments[s].bytes;
}
