/* tie_break.c - decides which of two equal free blocks comes first. */
#include "heap/tie_break.h"

#include "base/array_grow.h"
#include "heap/heap_tables.h"

void frag_heap_set_ties(struct frag_heap *h, enum frag_ties ties)
{
	FRAG_ASSERT(!h->segment_count);
	h->ties = ties;
}

void frag_heap_set_places(struct frag_heap *h, const uint32_t *places, uint32_t count,
			  bool reversed)
{
	FRAG_ASSERT(places || !count);
	h->places = places;
	h->place_count = count;
	h->reversed = reversed;
}

void frag_heap_renew(struct frag_heap *h, frag_block b)
{
	FRAG_ASSERT(frag_is_block(h, b));
	frag_heap_renew_unchecked(h, b);
}

static int pending_by_seq(const void *a, const void *b)
{
	const struct frag_heap_pending *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/*
 * The caller removes the first entry each time, and the last one replaces it. So the earliest free
 * is first, and the others follow from the latest to the earliest.
 */
void frag_heap_order_ready(struct frag_heap *h, bool all)
{
	struct frag_heap_pending *p = h->pending;

	FRAG_ASSERT(h->ready_count <= h->pending_count);
	if (all)
		h->ready_count = h->pending_count;
	if (h->ready_count < 2)
		return;
	FRAG_SORT(p, h->ready_count, pending_by_seq);
	for (uint32_t i = 1, j = h->ready_count - 1; i < j; i++, j--) {
		const struct frag_heap_pending earlier = p[i];

		p[i] = p[j];
		p[j] = earlier;
	}
	for (uint32_t i = 0; i < h->ready_count; i++)
		h->blocks[p[i].block].pending_at = i;
}
