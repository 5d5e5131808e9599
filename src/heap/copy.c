/* copy.c - copies a heap in its current state, over another device. */
#include <stdlib.h>

#include "heap/heap_tables.h"

/*
 * Unused capacity is not copied: arrays grow again when they need to. The exception is the idle
 * list, which keeps an entry for each segment, because becoming idle must not fail.
 */
static bool own_tables(struct frag_heap *h)
{
	bool good = frag_array_copy(&h->blocks, h->block_count, 0, sizeof(*h->blocks));

	good &= frag_array_copy(&h->segments, h->segment_count, 0, sizeof(*h->segments));
	good &= frag_array_copy(&h->idle, h->idle_count, h->segment_count - h->idle_count,
				sizeof(*h->idle));
	good &= frag_array_copy(&h->pending, h->pending_count, 0, sizeof(*h->pending));
	good &= frag_array_copy(&h->calls, h->call_count, 0, sizeof(*h->calls));
	good &= frag_array_copy(&h->moved, h->moved_count, 0, sizeof(*h->moved));
	h->block_capacity = h->block_count;
	h->segment_capacity = h->idle_capacity = h->segment_count;
	h->pending_capacity = h->pending_count;
	h->call_capacity = h->call_count;
	h->moved_capacity = h->moved_count;
	return good;
}

struct frag_heap *frag_heap_copy(const struct frag_heap *from, struct frag_device *dev)
{
	struct frag_heap *h = malloc(sizeof(*h));
	bool good;

	FRAG_ASSERT(dev != from->dev);
	FRAG_ASSERT(from->ready_count <= from->pending_count);
	if (!h)
		return NULL;
	*h = *from;
	h->dev = dev;
	good = own_tables(h);
	good &= frag_index_copy(&h->index);
	good &= frag_index_copy(&h->gaps);
	if (good)
		return h;
	h->segment_count = 0;   /* nothing of it is the device's */
	frag_heap_del(h);
	return NULL;
}
