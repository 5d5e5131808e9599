/* check.c - the invariants that stand at struct frag_heap, recomputed from the blocks alone. */
#include <inttypes.h>
#include <stdlib.h>

#include "fragsim/heap.h"
#include "heap/heap_tables.h"

struct recount {
	struct frag_totals sum;
	uint64_t largest;
	uint32_t *listed;       /* free blocks of each list */
	uint32_t *gaps;         /* unmapped blocks of its ranges */
	uint32_t idle, pending;
};

static int check_wrong(struct frag_error *err, const struct frag_heap_segment *s,
		       const struct frag_heap_block *b,
		       const char *what)
{
	return frag_fail(err, FRAG_ECHECK, "segment %u, offset %" PRIu64 ", %" PRIu64 " bytes: %s",
			 s->ordinal, b->offset, b->bytes, what);
}

/* Checks that a free block is found in its list, before higher ones of its size, and counts it. */
static int check_free(const struct frag_heap *h, const struct frag_heap_segment *s, uint32_t at,
		      struct recount *r, struct frag_error *err)
{
	const struct frag_heap_block *b = &h->blocks[at];
	const uint64_t size = frag_fit_size(s, b);
	const uint32_t list = h->policy_sorts ? b->list : s->list;
	const struct frag_entry key = h->policy_sorts ? frag_sorted_entry(h, at)
						      : frag_entry_of(h, at);
	const bool exact = h->policy_sorts || h->index.order != FRAG_ORDER_SIZE;
	const struct frag_entry *e;

	if (list >= h->index.count || h->index.lists[list].pool != s->pool)
		return check_wrong(err, s, b, "a free block in a list of another pool");
	if (b->tie != s->tie && h->ties != FRAG_TIES_CREATION)
		return check_wrong(err, s, b,
				   "a free block that is not where its segment is among all");
	if (!exact)
		e = frag_index_find(&h->index, list, size);
	else if (h->index.order == FRAG_ORDER_SIZE)
		e = frag_index_near(&h->index, list, &key, false);
	else
		e = frag_index_find_from(&h->index, list, size, &key);
	if (!e || e->size < key.size || (exact && e->block != at))
		return check_wrong(err, s, b, "a free block that its list does not find");
	if (e->size == key.size && e->tie == b->tie && e->offset > b->offset)
		return check_wrong(err, s, b, "a lower free block that its list does not find");
	r->sum.free += b->bytes;
	r->sum.holes += frag_holes_of(s, b);
	r->listed[list]++;
	if (size > r->largest)
		r->largest = size;
	if (s->page && !s->kept)
		r->sum.releasable += frag_whole_page_bytes(s, b->offset, b->bytes);
	return 0;
}

/* A block without memory: whole pages of a range, or what slots leave of a slab. */
static int check_unmapped(const struct frag_heap *h, const struct frag_heap_segment *s, uint32_t at,
			  struct recount *r, struct frag_error *err)
{
	const struct frag_heap_block *b = &h->blocks[at];
	const struct frag_entry key = { .offset = b->offset, .tie = s->tie };
	const struct frag_entry *e;

	if (!s->page && !s->slot_size)
		return check_wrong(err, s, b, "unmapped in a segment that is no range");
	if (s->page && (b->offset % s->page || b->bytes % s->page))
		return check_wrong(err, s, b, "unmapped in parts of pages");
	if (s->slot_size
	    && (b->offset != s->bytes / s->slot_size * s->slot_size || b->next != FRAG_NO_ENTRY))
		return check_wrong(err, s, b, "a slab's tail where no tail can be");
	if (!s->page)
		return 0;
	e = s->list < h->gaps.count ? frag_index_find_from(&h->gaps, s->list, b->bytes, &key)
				    : NULL;
	if (!e || e->block != at || e->size != b->bytes)
		return check_wrong(err, s, b, "an unmapped block that the gaps do not know");
	r->gaps[s->list]++;
	return 0;
}

/* Checks a block by its state, and adds it to the sums of the recount. */
static int check_block(const struct frag_heap *h, const struct frag_heap_segment *s, uint32_t at,
		       struct recount *r, struct frag_error *err)
{
	const struct frag_heap_block *b = &h->blocks[at];

	if (b->state != FRAG_UNMAPPED && s->slot_size && b->bytes % s->slot_size)
		return check_wrong(err, s, b, "no whole number of slots");
	switch ((enum frag_state)b->state) {
	case FRAG_FREE:
		return check_free(h, s, at, r, err);
	case FRAG_ALLOCATED:
		if (b->requested > b->bytes)
			return check_wrong(err, s, b, "requested more than the block has");
		r->sum.requested += b->requested;
		r->sum.allocated += b->bytes;
		r->sum.active += b->bytes;
		r->sum.blocks++;
		break;
	case FRAG_PENDING:
		if (b->pending_at >= h->pending_count || h->pending[b->pending_at].block != at)
			return check_wrong(err, s, b,
					   "pending, but not in the table of pending blocks");
		r->sum.active += b->bytes;
		r->pending++;
		break;
	case FRAG_UNMAPPED:
		return check_unmapped(h, s, at, r, err);
	case FRAG_DETACHED:
		return check_wrong(err, s, b, "left detached");
	}
	return 0;
}

/* Checks that the blocks of a segment tile it, and that their sums are those of the segment. */
static int check_segment(const struct frag_heap *h, const struct frag_heap_segment *s,
			 struct recount *r,
			 struct frag_error *err)
{
	uint64_t offset = 0, unmapped = 0;
	uint32_t prev = FRAG_NO_ENTRY, live = 0;

	FRAG_ASSERT(s->in_use);
	if (s->list >= h->index.count || h->index.lists[s->list].pool != s->pool)
		return frag_fail(err, FRAG_ECHECK, "segment %u: its free list is of another pool",
				 s->ordinal);
	for (uint32_t at = s->first; at != FRAG_NO_ENTRY; prev = at, at = h->blocks[at].next) {
		const struct frag_heap_block *b = &h->blocks[at];
		int rc;

		if (b->offset != offset || b->prev != prev || b->bytes == 0
		    || &h->segments[b->segment] != s)
			return check_wrong(err, s, b, "blocks do not tile the segment");
		rc = check_block(h, s, at, r, err);
		if (rc)
			return rc;
		live += b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING;
		unmapped += b->state == FRAG_UNMAPPED && s->page ? b->bytes : 0;
		offset += b->bytes;
	}
	if (offset != s->bytes || live != s->live || s->mapped != s->bytes - unmapped)
		return frag_fail(err, FRAG_ECHECK, "segment %u: its blocks do not add up",
				 s->ordinal);
	if ((s->idle_at != FRAG_NO_ENTRY) != (!live && !s->kept && !s->page)
	    || (s->idle_at != FRAG_NO_ENTRY && (s->idle_at >= h->idle_count
				       || &h->segments[h->idle[s->idle_at]] != s)))
		return frag_fail(err, FRAG_ECHECK,
				 "segment %u: it is idle and not listed so, or the reverse",
				 s->ordinal);
	if (s->idle_at != FRAG_NO_ENTRY) {
		r->sum.releasable += s->bytes;
		r->idle++;
	}
	r->sum.reserved += s->mapped;
	r->sum.segments++;
	return 0;
}

/* What arrays must have, so that a verb does not fail half way. */
static int check_tables(const struct frag_heap *h, struct frag_error *err)
{
	if (h->ready_count > h->pending_count)
		return frag_fail(err, FRAG_ECHECK, "%u pending blocks are ready, of %u",
				 h->ready_count, h->pending_count);
	if (h->segment_count > h->idle_capacity)
		return frag_fail(err, FRAG_ECHECK, "%u segments could be idle, and %u have a place",
				 h->segment_count, h->idle_capacity);
	if (h->gaps.count > h->index.count)
		return frag_fail(err, FRAG_ECHECK, "%u lists have gaps, of %u", h->gaps.count,
				 h->index.count);
	for (uint32_t i = 0; i < h->gaps.count; i++)
		if (h->gaps.lists[i].pool != h->index.lists[i].pool
		    || h->gaps.lists[i].which != h->index.lists[i].which)
			return frag_fail(err, FRAG_ECHECK, "list %u has the gaps of another", i);
	return 0;
}

static int differs(struct frag_error *err, const char *what, uint64_t kept, uint64_t counted)
{
	if (kept == counted)
		return 0;
	return frag_fail(err, FRAG_ECHECK, "%s is %" PRIu64 " in the totals and %" PRIu64
			 " by count", what, kept, counted);
}

static int check_compare(const struct frag_heap *h, const struct recount *r, struct frag_error *err)
{
	const struct frag_totals *kept = &h->totals, *sum = &r->sum;
	int rc = differs(err, "requested", kept->requested, sum->requested);

	rc = rc ? rc : differs(err, "allocated", kept->allocated, sum->allocated);
	rc = rc ? rc : differs(err, "active", kept->active, sum->active);
	rc = rc ? rc : differs(err, "reserved", kept->reserved, sum->reserved);
	rc = rc ? rc : differs(err, "free", kept->free, sum->free);
	rc = rc ? rc : differs(err, "number of free blocks", kept->holes, sum->holes);
	rc = rc ? rc : differs(err, "largest_free", frag_index_largest(&h->index), r->largest);
	rc = rc ? rc : differs(err, "releasable", kept->releasable, sum->releasable);
	rc = rc ? rc : differs(err, "segments", kept->segments, sum->segments);
	rc = rc ? rc : differs(err, "blocks", kept->blocks, sum->blocks);
	rc = rc ? rc : differs(err, "number of idle segments", h->idle_count, r->idle);
	rc = rc ? rc : differs(err, "number of pending blocks", h->pending_count, r->pending);
	for (uint32_t i = 0; i < h->index.count && !rc; i++)
		rc = differs(err, "length of a free list", h->index.lists[i].count, r->listed[i]);
	for (uint32_t i = 0; i < h->gaps.count && !rc; i++)
		rc = differs(err, "number of gaps", h->gaps.lists[i].count, r->gaps[i]);
	return rc;
}

int frag_heap_check(const struct frag_heap *h, struct frag_error *err)
{
	struct recount r = { .listed = NULL };
	int rc = check_tables(h, err);

	if (rc)
		return rc;
	r.listed = calloc((size_t)h->index.count * 2 + 1, sizeof(uint32_t));
	if (!r.listed)
		return frag_fail_nomem(err);
	r.gaps = r.listed + h->index.count;
	for (uint32_t s = 0; s < h->segment_count && !rc; s++)
		if (h->segments[s].in_use)
			rc = check_segment(h, &h->segments[s], &r, err);
	if (!rc)
		rc = check_compare(h, &r, err);
	free(r.listed);
	return rc;
}
