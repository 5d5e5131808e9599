/* heap.c - the heap as a whole: its begin and end, its steps, and what a policy notes in it. */
#include "fragsim/heap.h"

#include <stdlib.h>

#include "heap/heap_inline.h"

struct frag_heap *frag_heap_new(struct frag_device *dev, const struct frag_index_ops *index)
{
	struct frag_heap *h = calloc(1, sizeof(*h));

	FRAG_ASSERT(dev && index);
	if (!h)
		return NULL;
	h->dev = dev;
	h->unused_block = h->unused_segment = NONE;
	h->sorted = index->order == FRAG_BY_KEY;
	if (!frag_index_init(&h->index, index->order)
	    || !frag_index_init(&h->gaps, FRAG_BY_ADDRESS)) {
		frag_heap_del(h);
		return NULL;
	}
	return h;
}

/* Releases all segments to the device, then the tables. NULL is allowed. */
void frag_heap_del(struct frag_heap *h)
{
	uint64_t cost;

	if (!h)
		return;
	for (uint32_t s = 0; s < h->segment_count; s++) {
		if (h->segments[s].in_use && h->segments[s].page)
			frag_range_close(h, s);
		else if (h->segments[s].in_use)
			h->dev->ops->release(h->dev, h->segments[s].addr, h->segments[s].bytes,
					     &cost);
	}
	frag_index_fini(&h->index);
	frag_index_fini(&h->gaps);
	free(h->blocks);
	free(h->segments);
	free(h->idle);
	free(h->pending);
	free(h->calls);
	free(h->moved);
	free(h);
}

void frag_heap_by_address(struct frag_heap *h)
{
	h->by_address = true;
}

void frag_heap_keep_all(struct frag_heap *h)
{
	h->keeps_all = true;
}

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
	FRAG_ASSERT(exists(h, b));
	frag_renew(h, b);
}

void frag_heap_step(struct frag_heap *h)
{
	frag_begin_step(h);
}

int frag_heap_list(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out)
{
	return frag_list_for(h, pool, which, out);
}

void frag_heap_set_list_user(struct frag_heap *h, frag_list list, uint64_t user)
{
	if (list < h->index.count)
		h->index.lists[list].user = user;
}

void frag_heap_pool_done(struct frag_heap *h, uint32_t pool)
{
	for (uint32_t i = 0; i < h->index.count; i++)
		h->index.lists[i].done |= h->index.lists[i].pool == pool;
}

void frag_heap_set_user(struct frag_heap *h, frag_block b, uint32_t user)
{
	if (exists(h, b))
		frag_set_user(h, b, user);
}

void frag_heap_set_segment_user(struct frag_heap *h, frag_segment s, uint32_t user)
{
	if (s < h->segment_count)
		h->segments[s].user = user;
}

void frag_heap_limit(struct frag_heap *h, double fraction)
{
	frag_device_limit(h->dev, fraction);
}

void frag_heap_count_retry(struct frag_heap *h)
{
	h->totals.retries++;
}

void frag_heap_tried(struct frag_heap *h, uint64_t bytes)
{
	h->totals.tried = bytes;
}
