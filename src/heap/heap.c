/* heap.c - the heap as a whole: made, copied, deleted; and what a policy or the engine notes in it. */
#include "fragsim/heap.h"

#include <stdlib.h>
#include <string.h>

#include "heap/heap_inline.h"

/*
 * Lists and keys that the policy defines. The heap calls the policy once, when a block becomes
 * free or has changed, and stores list and key with the block. So the block is found again even if
 * the policy would return others then. Every number names a list, and every number is a key.
 */
void frag_heap_sort_by(struct frag_heap *h, const struct frag_sorter *by)
{
	h->sorter = *by;
	h->policy_sorts = by->which || by->key || h->index.order == FRAG_ORDER_KEY;
}

/* Creation, copies, deletion ------------------------------------------------ */

/* The end of the memory that begins with block b; *next is the unmapped block after it. */
static uint64_t mapped_end(const struct frag_heap *h, uint32_t b, uint32_t *next)
{
	uint64_t end = h->blocks[b].offset;

	for (; b != FRAG_NO_ENTRY && h->blocks[b].state != FRAG_UNMAPPED; b = h->blocks[b].next)
		end += h->blocks[b].bytes;
	*next = b;
	return end;
}

static void close_range(struct frag_heap *h, uint32_t s)
{
	const struct frag_heap_segment *g = &h->segments[s];
	uint32_t b = g->first;
	uint64_t cost;

	FRAG_ASSERT(g->in_use && g->page);
	while (b != FRAG_NO_ENTRY) {
		uint64_t offset = h->blocks[b].offset;
		uint32_t next;
		uint64_t end = mapped_end(h, b, &next);

		if (end > offset)
			h->dev->ops->unmap(h->dev, g->addr, offset, end - offset, g->page,
					   &cost);
		b = next != FRAG_NO_ENTRY ? h->blocks[next].next : FRAG_NO_ENTRY;
	}
	h->dev->ops->unreserve(h->dev, g->addr, g->bytes, &cost);
}

struct frag_heap *frag_heap_new(struct frag_device *dev, enum frag_order order)
{
	struct frag_heap *h = calloc(1, sizeof(*h));

	FRAG_ASSERT(dev);
	if (!h)
		return NULL;
	h->dev = dev;
	h->unused_block = h->unused_segment = FRAG_NO_ENTRY;
	h->policy_sorts = order == FRAG_ORDER_KEY;
	if (!frag_index_init(&h->index, order)
	    || !frag_index_init(&h->gaps, FRAG_ORDER_ADDRESS)) {
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
		if (h->segments[s].in_use && h->segments[s].page)
			close_range(h, s);
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

/*
 * Makes copies of the arrays that h still shares with its original. Unused capacity is not copied:
 * arrays grow again when they need to. The exception is the idle list, which keeps an entry for
 * each segment, because becoming idle must not fail.
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

/* Each member is named: what a later one owns is not shared by mistake. */
struct frag_heap *frag_heap_copy(const struct frag_heap *from, struct frag_device *dev)
{
	struct frag_heap *h = malloc(sizeof(*h));
	bool good;

	FRAG_ASSERT(dev != from->dev);
	FRAG_ASSERT(from->ready_count <= from->pending_count);
	if (!h)
		return NULL;
	*h = (struct frag_heap){
		.dev = dev, .totals = from->totals, .moves = from->moves, .sorter = from->sorter,
		.blocks = from->blocks, .segments = from->segments, .idle = from->idle,
		.pending = from->pending, .calls = from->calls, .moved = from->moved,
		.block_count = from->block_count, .unused_block = from->unused_block,
		.segment_count = from->segment_count, .unused_segment = from->unused_segment,
		.idle_count = from->idle_count, .pending_count = from->pending_count,
		.ready_count = from->ready_count, .deferred = from->deferred,
		.call_count = from->call_count, .moved_count = from->moved_count,
		.min_page = from->min_page, .next_ordinal = from->next_ordinal,
		.refused_bytes = from->refused_bytes, .policy_sorts = from->policy_sorts,
		.keeps_all = from->keeps_all, .checked = from->checked,
		.by_address = from->by_address, .ties = from->ties, .next_tie = from->next_tie,
		.places = from->places, .place_count = from->place_count,
		.reversed = from->reversed,
	};
	memcpy(h->refusal, from->refusal, sizeof(h->refusal));
	good = own_tables(h);
	good &= frag_index_copy(&h->index, &from->index);
	good &= frag_index_copy(&h->gaps, &from->gaps);
	if (good)
		return h;
	h->segment_count = 0;   /* nothing of it is the device's */
	frag_heap_del(h);
	return NULL;
}

/* What a policy or the engine notes ----------------------------------------- */

void frag_heap_by_address(struct frag_heap *h)
{
	FRAG_ASSERT(!h->segment_count);
	h->by_address = true;
}

void frag_heap_keep_all(struct frag_heap *h)
{
	FRAG_ASSERT(!h->segment_count);
	h->keeps_all = true;
}

void frag_heap_step(struct frag_heap *h)
{
	frag_heap_step_inline(h);
}

int frag_heap_list(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out)
{
	return frag_heap_list_unchecked(h, pool, which, out);
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
	if (frag_is_block(h, b))
		frag_heap_set_user_unchecked(h, b, user);
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

bool frag_heap_capacity_reaches(struct frag_heap *h, uint64_t bytes)
{
	const bool yes = !h->dev->total || h->dev->total >= bytes;

	frag_device_narrow(h->dev, yes ? bytes : 0, yes ? UINT64_MAX : bytes);
	return yes;
}

void frag_heap_pin_capacity(struct frag_heap *h)
{
	frag_device_narrow(h->dev, h->dev->total, h->dev->total + 1);
}

void frag_heap_count_retry(struct frag_heap *h)
{
	h->totals.retries++;
}

void frag_heap_note_tried(struct frag_heap *h, uint64_t bytes)
{
	h->totals.tried = bytes;
}
