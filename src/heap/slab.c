/*
 * slab.c - slabs: segments carved into slots of one size.
 *
 * Free slots next to each other are kept as one run, so that carving a slab of
 * a million slots costs no more than one of two; the lists know a run under the
 * size of its slots. What does not fill a slot stays after the last one as a
 * piece that is in no list: it is unmapped to policies, and waste in the totals.
 */
#include "fragsim/heap.h"

#include <inttypes.h>

#include "heap/heap_tables.h"

#define NO_LIST "there is no list %" PRIu32 " of pool %" PRIu32

/* Does the list exist, for the pool of this segment? */
static bool suits(const struct frag_heap *h, frag_list list, const struct segment *s)
{
	FRAG_ASSERT(s->in_use);
	return list < h->index.count && h->index.lists[list].pool == s->pool;
}

/* Divides a free segment into slots of one size: all its blocks are multiples of it from now on. */
int frag_heap_carve(struct frag_heap *h, frag_block whole, uint64_t slot_size, frag_list list,
		    frag_block *out)
{
	struct segment *s;
	uint64_t slots;

	if (!exists(h, whole) || h->blocks[whole].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, whole, "is not free");
	s = &h->segments[h->blocks[whole].segment];
	if (h->blocks[whole].bytes != s->bytes || s->page || s->slot_size)
		return frag_refuse_block(h, __func__, whole, "is no segment that is in one piece");
	if (slot_size == 0 || slot_size > s->bytes)
		return frag_refuse_block(h, __func__, whole, "has no slots of %" PRIu64 " bytes",
					 slot_size);
	if (!suits(h, list, s))
		return frag_refuse(h, __func__, NO_LIST, list, s->pool);
	if (!frag_room(h, 1))
		return -FRAG_ENOMEM;
	frag_list_remove(h, whole);
	slots = s->bytes / slot_size * slot_size;
	if (slots < s->bytes)
		h->blocks[frag_block_cut(h, whole, slots)].state = FRAG_UNMAPPED;
	s->slot_size = slot_size;
	s->list = list;
	frag_list_insert(h, whole);
	*out = whole;
	return 0;
}

/* Joins the slots of an empty slab, and its tail, into one free block. */
int frag_heap_uncarve(struct frag_heap *h, frag_segment seg, frag_list list)
{
	struct segment *s;
	uint32_t b;

	if (seg >= h->segment_count || !h->segments[seg].in_use || !h->segments[seg].slot_size)
		return frag_refuse(h, __func__, "segment handle %" PRIu32 " is no carved slab",
				   seg);
	s = &h->segments[seg];
	if (!suits(h, list, s))
		return frag_refuse(h, __func__, NO_LIST, list, s->pool);
	b = s->first;
	if (h->blocks[b].state != FRAG_FREE
	    || h->blocks[b].bytes != s->bytes / s->slot_size * s->slot_size)
		return frag_refuse_block(h, __func__, b, "is not all of its slab, and free");
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	frag_list_remove(h, b);
	if (h->blocks[b].next != NONE)
		frag_block_merge(h, b, h->blocks[b].next);
	s->slot_size = 0;
	s->list = list;
	frag_list_insert(h, b);
	return 0;
}
