/*
 * policy_lists.c - free blocks in lists and in an order that the policy defines.
 *
 * The heap calls the policy once, when a block becomes free or has changed, and stores list and
 * key with the block. So the block is found again even if the policy would return others then.
 * No result is invalid: every number names a list, and every number is a key.
 */
#include "fragsim/heap.h"

#include "heap/heap_tables.h"

void frag_heap_sort_by(struct frag_heap *h, const struct frag_sorter *by)
{
	h->sorter = *by;
	h->sorted = by->which || by->key || h->index.order == FRAG_BY_KEY;
}

/* No verb creates more than two free blocks. */
bool frag_sorted_room(struct frag_heap *h)
{
	FRAG_ASSERT(h->sorted);
	return !h->sorter.which || frag_index_reserve_lists(&h->index, 2);
}

void frag_sorted_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_sorter *by = &h->sorter;
	const struct frag_block_view view = frag_heap_look(h, b);
	const struct frag_segment_view segment = frag_heap_look_segment(h, view.segment);
	struct block *k = &h->blocks[b];
	struct frag_entry e;

	FRAG_ASSERT(h->sorted);
	k->list = !by->which ? segment.list
		: frag_index_list(&h->index, segment.pool,
				  by->which(by->state, by->param, &segment, &view));
	k->key = by->key ? by->key(by->state, by->param, &segment, &view) : 0;
	FRAG_ASSERT(k->list < h->index.count);
	e = frag_sorted_entry(h, b);
	if (h->index.order == FRAG_BY_KEY)
		frag_index_insert_keyed(&h->index, k->list, &e,
					frag_fit_size(&h->segments[k->segment], k));
	else
		frag_index_insert(&h->index, k->list, &e);
}

void frag_sorted_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_entry e = frag_sorted_entry(h, b);

	FRAG_ASSERT(h->blocks[b].state == FRAG_FREE);
	FRAG_ASSERT(h->blocks[b].list < h->index.count);
	if (h->index.order == FRAG_BY_KEY)
		frag_index_remove_keyed(&h->index, h->blocks[b].list, &e);
	else
		frag_index_remove(&h->index, h->blocks[b].list, &e);
}
