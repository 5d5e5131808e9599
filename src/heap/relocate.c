/* relocate.c - live blocks that are put elsewhere. */
#include "heap/relocate.h"

#include "heap/heap_tables.h"
#include "heap/refusal.h"

/* Of a range; the tail of a slab is in no list. */
static bool is_gap(const struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];

	return k->state == FRAG_UNMAPPED && k->bytes && h->segments[k->segment].page;
}

/* A record on its way from one number to another: out of all lists that name it, and in again. */
static void unlink_record(struct frag_heap *h, uint32_t b)
{
	FRAG_ASSERT(frag_is_block(h, b));
	if (h->blocks[b].state == FRAG_FREE)
		frag_list_remove(h, b);
	else if (is_gap(h, b))
		frag_gap_remove(h, b);
}

/* The chain of unused records names the one that was `from`. */
static void relink_unused(struct frag_heap *h, uint32_t from, uint32_t to)
{
	uint32_t *at = &h->unused_block;

	while (*at != from && *at != FRAG_NO_ENTRY)
		at = &h->blocks[*at].next;
	if (*at == from)
		*at = to;
}

/* The record at b was at `from`: all that refer to it by that number get the new one. */
static void relink_record(struct frag_heap *h, uint32_t b, uint32_t from)
{
	struct frag_heap_block *k = &h->blocks[b];

	FRAG_ASSERT(k->state != FRAG_DETACHED);
	if (k->prev == FRAG_NO_ENTRY)
		h->segments[k->segment].first = b;
	else if (k->prev != from)
		h->blocks[k->prev].next = b;
	if (k->next != FRAG_NO_ENTRY && k->next != from)
		h->blocks[k->next].prev = b;
	if (k->state == FRAG_PENDING)
		h->pending[k->pending_at].block = b;
	if (is_gap(h, b))
		frag_gap_insert(h, b);
	else if (k->state == FRAG_FREE)
		frag_list_insert(h, b);
}

static uint32_t swapped(uint32_t x, uint32_t a, uint32_t b)
{
	return x == a ? b : x == b ? a : x;
}

/* The two records change places, and so do their numbers wherever those stand. */
int frag_heap_rename(struct frag_heap *h, frag_block b, frag_block as)
{
	struct frag_heap_block mine, other;
	bool unused;

	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_ALLOCATED)
		return frag_refuse_block(h, __func__, b, "is not allocated");
	if (!frag_is_block(h, as) || h->blocks[as].state == FRAG_DETACHED)
		return frag_refuse_block(h, __func__, as, "is no block, or detached");
	if (b == as)
		return 0;
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	unused = h->blocks[as].state == FRAG_UNMAPPED && !h->blocks[as].bytes;
	unlink_record(h, as);
	mine = h->blocks[b];
	other = h->blocks[as];
	mine.prev = swapped(mine.prev, b, as);
	mine.next = swapped(mine.next, b, as);
	if (!unused) {
		other.prev = swapped(other.prev, b, as);
		other.next = swapped(other.next, b, as);
	}
	h->blocks[as] = mine;
	h->blocks[b] = other;
	if (unused)
		relink_unused(h, as, b);
	else
		relink_record(h, b, as);
	relink_record(h, as, b);
	return 0;
}

struct frag_moves frag_heap_moves(const struct frag_heap *h)
{
	return h->moves;
}

int frag_heap_note_move(struct frag_heap *h, const frag_block *moved, uint32_t count,
			uint64_t bytes)
{
	FRAG_ASSERT(moved || !count);
	if (!frag_grow(&h->moved, &h->moved_capacity, count, sizeof(*h->moved)))
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		h->moved[i] = moved[i];
	h->moved_count = count;
	h->moves.moves++;
	h->moves.blocks += count;
	h->moves.bytes += bytes;
	return 0;
}
