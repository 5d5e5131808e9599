/* block.c - the verbs on blocks: take, give, and the steps that they are made of. */
#include <inttypes.h>

#include "base/bug.h"
#include "base/grow.h"
#include "fragsim/heap.h"
#include "heap/store.h"

/* Of takes and gives, which are most of the verbs, each has its own copy. */
#define HOT static inline __attribute__((always_inline))

#define TOO_SMALL "is smaller than %" PRIu64 " bytes"

uint32_t frag_cut(struct frag_heap *h, uint32_t b, uint64_t keep)
{
	uint32_t upper = frag_new_block(h);
	struct block *k = &h->blocks[b];

	/* the caller has made room */
	FRAG_ASSERT(upper != NONE && keep > 0 && keep < k->bytes);
	h->blocks[upper] = (struct block){
		.offset = k->offset + keep, .bytes = k->bytes - keep,
		.segment = k->segment, .prev = b, .next = k->next,
		.user = k->user, .state = k->state,
	};
	if (k->next != NONE)
		h->blocks[k->next].prev = upper;
	k->next = upper;
	k->bytes = keep;
	return upper;
}

void frag_fuse(struct frag_heap *h, uint32_t lower, uint32_t upper)
{
	struct block *k = &h->blocks[lower];

	FRAG_ASSERT(k->next == upper && k->segment == h->blocks[upper].segment);
	k->bytes += h->blocks[upper].bytes;
	k->next = h->blocks[upper].next;
	if (k->next != NONE)
		h->blocks[k->next].prev = lower;
	frag_release_record(h, upper);
}

int frag_heap_detach_free(struct frag_heap *h, frag_block b)
{
	if (!exists(h, b) || h->blocks[b].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, b, "is not free");
	frag_list_out(h, b);
	h->blocks[b].state = FRAG_DETACHED;
	return 0;
}

int frag_heap_insert(struct frag_heap *h, frag_block b)
{
	if (!exists(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	frag_list_in(h, b);
	return 0;
}

/* What detach_live does, and how give begins. */
static int detach_live(struct frag_heap *h, const char *verb, frag_block b)
{
	struct block *k;

	if (!exists(h, b))
		return frag_refuse_block(h, verb, b, "is no block");
	k = &h->blocks[b];
	if (k->state == FRAG_ALLOCATED) {
		h->totals.requested -= k->requested;
		h->totals.allocated -= k->bytes;
		h->totals.blocks--;
	} else if (k->state == FRAG_PENDING) {
		frag_pending_remove(h, b);
	} else {
		return frag_refuse_block(h, verb, b, "is neither allocated nor pending");
	}
	h->totals.active -= k->bytes;
	k->state = FRAG_DETACHED;
	if (--h->segments[k->segment].live == 0)
		frag_idle_enter(h, k->segment);
	return 0;
}

int frag_heap_detach_live(struct frag_heap *h, frag_block b)
{
	return detach_live(h, __func__, b);
}

int frag_heap_assign(struct frag_heap *h, frag_block b, uint64_t requested)
{
	struct block *k;

	if (!exists(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (requested > h->blocks[b].bytes)
		return frag_refuse_block(h, __func__, b, TOO_SMALL, requested);
	k = &h->blocks[b];
	k->state = FRAG_ALLOCATED;
	k->requested = requested;
	h->totals.requested += requested;
	h->totals.allocated += k->bytes;
	h->totals.active += k->bytes;
	h->totals.blocks++;
	if (h->segments[k->segment].live++ == 0)
		frag_idle_leave(h, k->segment);
	return 0;
}

int frag_heap_defer_free(struct frag_heap *h, frag_block b, uint32_t owner)
{
	struct block *k;

	if (!exists(h, b) || h->blocks[b].state != FRAG_ALLOCATED)
		return frag_refuse_block(h, __func__, b, "is not allocated");
	if (!frag_grow(&h->pending, &h->pending_capacity, (uint64_t)h->pending_count + 1,
		       sizeof(*h->pending)))
		return -FRAG_ENOMEM;
	k = &h->blocks[b];
	k->state = FRAG_PENDING;
	k->pending_at = h->pending_count;
	h->pending[h->pending_count++] = (struct pending){ .block = b, .owner = owner };
	h->totals.requested -= k->requested;
	h->totals.allocated -= k->bytes;
	h->totals.blocks--;
	return 0;
}

/* Over an entry that nobody needs any more. */
static void move_pending(struct frag_heap *h, uint32_t from, uint32_t to)
{
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
		move_pending(h, --h->ready_count, hole);
		hole = h->ready_count;
	}
	move_pending(h, --h->pending_count, hole);
}

int frag_heap_ready(struct frag_heap *h, frag_block b)
{
	struct pending mine;
	uint32_t at;

	if (!exists(h, b) || h->blocks[b].state != FRAG_PENDING)
		return frag_refuse_block(h, __func__, b, "is not pending");
	at = h->blocks[b].pending_at;
	if (at < h->ready_count)
		return 0;
	mine = h->pending[at];
	move_pending(h, h->ready_count, at);
	h->pending[h->ready_count] = mine;
	h->blocks[b].pending_at = h->ready_count++;
	return 0;
}

int frag_heap_split(struct frag_heap *h, frag_block b, uint64_t keep)
{
	uint64_t slot_size;

	if (!exists(h, b) || h->blocks[b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, b, "is not detached");
	if (keep == 0 || keep >= h->blocks[b].bytes)
		return frag_refuse_block(h, __func__, b, "cannot be split after %" PRIu64 " bytes",
					 keep);
	slot_size = h->segments[h->blocks[b].segment].slot_size;
	if (slot_size && keep % slot_size)
		return frag_refuse_block(h, __func__, b,
					 "is made of slots of %" PRIu64
					 " bytes: it cannot be split after %" PRIu64,
					 slot_size, keep);
	if (!frag_room(h, 1))
		return -FRAG_ENOMEM;
	frag_list_in(h, frag_cut(h, b, keep));
	h->totals.splits++;
	return 0;
}

/* merge without its checks: joins free neighbour n to the detached block *b. */
static void merge(struct frag_heap *h, frag_block *b, uint32_t n)
{
	FRAG_ASSERT(h->blocks[*b].prev == n || h->blocks[*b].next == n);
	frag_list_out(h, n);
	if (h->blocks[n].offset < h->blocks[*b].offset) {
		frag_fuse(h, n, *b);
		*b = n;
		h->blocks[n].state = FRAG_DETACHED;
	} else {
		frag_fuse(h, *b, n);
	}
}

int frag_heap_merge(struct frag_heap *h, frag_block *b, frag_block neighbour)
{
	if (!exists(h, *b) || h->blocks[*b].state != FRAG_DETACHED)
		return frag_refuse_block(h, __func__, *b, "is not detached");
	if (!exists(h, neighbour) || h->blocks[neighbour].state != FRAG_FREE)
		return frag_refuse_block(h, __func__, neighbour, "is not free");
	if (h->blocks[*b].prev != neighbour && h->blocks[*b].next != neighbour)
		return frag_refuse_block(h, __func__, neighbour, "is no neighbour of block %" PRIu32,
					 *b);
	merge(h, b, neighbour);
	h->totals.merges++;
	return 0;
}

/* Which of the sizes of a take does not fit. */
__attribute__((cold))
static int refuse_take(struct frag_heap *h, const char *verb, frag_block b, uint64_t requested,
		       uint64_t keep)
{
	uint64_t slot_size = h->segments[h->blocks[b].segment].slot_size;

	if (keep > h->blocks[b].bytes)
		return frag_refuse_block(h, verb, b, TOO_SMALL, keep);
	if (requested > keep || keep == 0)
		return frag_refuse_block(h, verb, b, "cannot serve a request of %" PRIu64
					 " bytes with %" PRIu64, requested, keep);
	return frag_refuse_block(h, verb, b, "is made of slots of %" PRIu64 " bytes: it cannot"
				 " keep %" PRIu64, slot_size, keep);
}

/* part, and below join, where the policy sorts. */
__attribute__((noinline))
static uint32_t part_sorted(struct frag_heap *h, uint32_t b, uint64_t cut, bool upper)
{
	uint32_t other;

	frag_list_out(h, b);
	h->blocks[b].state = FRAG_DETACHED;
	other = frag_cut(h, b, cut);
	frag_list_in(h, upper ? b : other);
	return upper ? other : b;
}

__attribute__((noinline))
static void join_sorted(struct frag_heap *h, uint32_t lower, uint32_t upper, uint32_t listed)
{
	frag_list_out(h, listed);
	frag_fuse(h, lower, upper);
	frag_list_in(h, lower);
}

/* Cuts a free block in two: one part is free then, the other, detached, is returned. */
HOT uint32_t part(struct frag_heap *h, uint32_t b, uint64_t keep, bool upper)
{
	const uint64_t cut = upper ? h->blocks[b].bytes - keep : keep;
	struct lifted whole;
	uint32_t other;

	if (h->sorted)
		return part_sorted(h, b, cut, upper);
	whole = frag_list_lift(h, b);
	h->blocks[b].state = FRAG_DETACHED;
	other = frag_cut(h, b, cut);
	frag_list_land(h, &whole, upper ? b : other);
	return upper ? other : b;
}

/* take and take_upper. */
HOT int take(struct frag_heap *h, const char *verb, frag_block *b, uint64_t requested,
		       uint64_t keep, bool upper)
{
	const struct segment *s;
	uint64_t bytes;

	if (!exists(h, *b) || h->blocks[*b].state != FRAG_FREE)
		return frag_refuse_block(h, verb, *b, "is not free");
	s = &h->segments[h->blocks[*b].segment];
	bytes = h->blocks[*b].bytes;
	if (keep > bytes || requested > keep || keep == 0 || (s->slot_size && keep != s->slot_size))
		return refuse_take(h, verb, *b, requested, keep);
	if (!frag_room(h, 1))
		return -FRAG_ENOMEM;
	if (keep < bytes) {
		*b = part(h, *b, keep, upper);
		h->totals.splits += !s->slot_size;
	} else {
		frag_list_out(h, *b);
		h->blocks[*b].state = FRAG_DETACHED;
	}
	return frag_heap_assign(h, *b, requested);
}

int frag_heap_take(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep)
{
	return take(h, __func__, b, requested, keep, false);
}

int frag_heap_take_upper(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep)
{
	return take(h, __func__, b, requested, keep, true);
}

/* Fuses two neighbours, one of them free, into a free block in the place of that one. */
HOT void join(struct frag_heap *h, uint32_t lower, uint32_t upper, uint32_t listed)
{
	struct lifted place;

	if (h->sorted) {
		join_sorted(h, lower, upper, listed);
		return;
	}
	place = frag_list_lift(h, listed);
	frag_fuse(h, lower, upper);
	frag_list_land(h, &place, lower);
}

int frag_heap_give(struct frag_heap *h, frag_block b, frag_block *out)
{
	const struct segment *s;
	uint32_t prev, next;
	int rc;

	if (!frag_room(h, 0))
		return -FRAG_ENOMEM;
	rc = detach_live(h, __func__, b);
	if (rc)
		return rc;
	s = &h->segments[h->blocks[b].segment];
	prev = h->blocks[b].prev;
	next = h->blocks[b].next;
	if (prev != NONE && h->blocks[prev].state == FRAG_FREE) {
		if (next != NONE && h->blocks[next].state == FRAG_FREE) {
			merge(h, &b, next);
			h->totals.merges += !s->slot_size;
		}
		join(h, prev, b, prev);
		b = prev;
		h->totals.merges += !s->slot_size;
	} else if (next != NONE && h->blocks[next].state == FRAG_FREE) {
		join(h, b, next, next);
		h->totals.merges += !s->slot_size;
	} else {
		frag_list_in(h, b);
	}
	if (out)
		*out = b;
	return 0;
}
