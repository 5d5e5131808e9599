/* heap_tables.h - the heap's own tables, for the files of this module only. */
#pragma once

#include "base/bug.h"
#include "base/array_grow.h"
#include "fragsim/heap.h"
#include "heap/index.h"
#include "heap/relocate.h"
#include "heap/tie_break.h"

#define FRAG_NO_ENTRY UINT32_MAX

/* One cache line. The fields that every event reads come first. */
struct frag_heap_block {
	uint64_t offset, bytes;
	uint64_t requested;     /* allocated and pending */
	uint32_t segment;
	uint32_t prev, next;    /* by address; next also chains unused records */
	uint32_t user;
	uint8_t state;          /* enum frag_state */
	uint32_t list;          /* free, if the policy chooses lists: its list and key there */
	uint64_t key;
	uint32_t pending_at;    /* pending: its place in heap.pending */
	uint32_t tie;           /* among equals: its segment's, or by creation its own */
};

_Static_assert(sizeof(struct frag_heap_block) == 64, "a block is one cache line");

/* A pending block. */
struct frag_heap_pending {
	uint32_t block;
	uint32_t owner;
	uint64_t seq;           /* how many blocks became pending earlier */
};

struct frag_heap_segment {
	uint64_t bytes, mapped, slot_size, page;
	frag_addr addr;
	uint32_t first;         /* block; also chains unused records */
	uint32_t list;
	uint32_t ordinal, pool;
	uint32_t tie;           /* among segments: as heap.ties says, or its address */
	uint32_t live;
	uint32_t user;
	uint32_t idle_at;       /* its place in heap.idle, or FRAG_NO_ENTRY */
	bool kept, in_use;
};

/*
 * What holds between two verbs; Σ and # are over the records that are in use. frag_heap_check()
 * checks each line, and tests/unit/test_check.c breaks each:
 *
 *     segment: Σ bytes of its blocks == bytes, from offset 0 without a gap or an overlap
 *              mapped == bytes - Σ unmapped pages;  live == # allocated + # pending
 *              in idle, at idle_at  <=>  live == 0, page == 0 and not kept
 *     block:   in one list of its segment's pool  <=>  free, by slots in a carved slab
 *              in the gaps of its segment's list  <=>  unmapped, in a range: whole pages
 *              in pending, at pending_at  <=>  pending;  requested <= bytes  where allocated
 *     totals:  requested, allocated, blocks == Σ, Σ, # of what is allocated
 *              active == allocated + Σ pending;  free, holes == Σ, # of what is free
 *              reserved == Σ mapped, which is active + free + tails of slabs
 *              releasable == Σ bytes of idle segments + Σ whole free pages of ranges not kept
 *              segments == # segments;  index.top[1] == the largest entry of all lists
 *     tables:  ready_count <= pending_count;  segment_count <= idle_capacity, so that a segment
 *              becomes idle without memory;  list i of the gaps has pool and which of list i
 *
 * A detached block is in no list and in no total but reserved: within a decision of the policy
 * that much is missing on the right.
 */
struct frag_heap {
	struct frag_device *dev;
	struct frag_index index;
	struct frag_index gaps; /* unmapped blocks of ranges, by address; the same lists */
	struct frag_totals totals;
	struct frag_heap_block *blocks;
	struct frag_heap_segment *segments;
	uint32_t *idle;         /* segments that could be released, in no order */
	struct frag_heap_pending *pending; /* pending blocks: the ready ones, then the others */
	struct frag_call *calls;        /* of this step */
	uint32_t *moved;        /* blocks that this step relocated: relocate.c */
	struct frag_moves moves;
	uint32_t block_count, block_capacity, unused_block;
	uint32_t segment_count, segment_capacity, unused_segment;
	uint32_t idle_count, idle_capacity;
	uint32_t pending_count, pending_capacity, ready_count;
	uint64_t deferred;      /* frees so far whose block became pending */
	uint32_t call_count, call_capacity;
	uint32_t moved_count, moved_capacity;
	uint64_t min_page;      /* of all ranges so far; 0: there was none */
	uint32_t next_ordinal;
	uint64_t refused_bytes; /* bytes that the device refused last in this step; 0: none */
	struct frag_sorter sorter;
	bool policy_sorts;      /* the policy chooses lists and keys of blocks */
	bool keeps_all;         /* no segment is ever released */
	bool checked;           /* the inline verbs validate their arguments too */
	bool by_address;        /* segments compare by the device's addresses */
	enum frag_ties ties;    /* else: how equals compare */
	uint32_t next_tie;      /* of a new block, by creation */
	const uint32_t *places; /* falling: of the first segments, among these; borrowed */
	uint32_t place_count;
	bool reversed;          /* where the order of addresses is unknown: assume the opposite */
	char refusal[320];      /* the last one of this step, or "" */
};

/*
 * Was this handle ever created? The record of a block that has ended is an unmapped block of
 * 0 bytes, which every verb refuses.
 */
static inline bool frag_is_block(const struct frag_heap *h, frag_block b)
{
	return b < h->block_count;
}

/* The largest request that a free block can hold: in a carved slab, one slot. */
static inline uint64_t frag_fit_size(const struct frag_heap_segment *s,
				     const struct frag_heap_block *b)
{
	return s->slot_size ? s->slot_size : b->bytes;
}

/* The number of free blocks that a free block stands for: of a carved slab, its slots. */
static inline uint64_t frag_holes_of(const struct frag_heap_segment *s,
				     const struct frag_heap_block *b)
{
	return s->slot_size ? b->bytes / s->slot_size : 1;
}

/* Bytes of the whole pages within [offset, offset + bytes) of an expandable segment. */
static inline uint64_t frag_whole_page_bytes(const struct frag_heap_segment *s, uint64_t offset,
					     uint64_t bytes)
{
	uint64_t first = (offset + s->page - 1) / s->page * s->page;
	uint64_t last = (offset + bytes) / s->page * s->page;

	return last > first ? last - first : 0;
}

/* Returns a new block record, for which the caller has reserved memory. */
static inline uint32_t frag_new_block(struct frag_heap *h)
{
	const uint32_t b = h->unused_block;

	if (b == FRAG_NO_ENTRY) {
		FRAG_ASSERT(h->block_count < h->block_capacity);
		return h->block_count++;
	}
	h->unused_block = h->blocks[b].next;
	return b;
}

/* By creation, b counts as new: it is in no list, or not free. */
static inline void frag_heap_renew_unchecked(struct frag_heap *h, uint32_t b)
{
	if (h->ties == FRAG_TIES_CREATION)
		h->blocks[b].tie = h->next_tie++;
}

/*
 * Where the next segment is among all: below those whose places are known, one below the other;
 * reversed: above, one above the other.
 */
#define FRAG_KNOWN_PLACES (UINT32_C(1) << 31)

static inline uint32_t frag_segment_tie(const struct frag_heap *h, frag_addr addr)
{
	if (h->by_address)
		return (uint32_t)addr;
	if (h->ties != FRAG_TIES_FALLING)
		return h->reversed ? FRAG_KNOWN_PLACES - 1 - h->next_ordinal : h->next_ordinal;
	if (h->next_ordinal < h->place_count)
		return FRAG_KNOWN_PLACES + h->places[h->next_ordinal];
	if (h->reversed)
		return FRAG_KNOWN_PLACES + h->next_ordinal;
	return FRAG_KNOWN_PLACES - 1 - (h->next_ordinal - h->place_count);
}

static inline void frag_release_record(struct frag_heap *h, uint32_t b)
{
	h->blocks[b] = (struct frag_heap_block){
		.segment = h->blocks[b].segment, .next = h->unused_block, .state = FRAG_UNMAPPED,
	};
	h->unused_block = b;
}

/*
 * For policies that sort: inserts a free block into the list that the policy chooses, or removes
 * it, without updating the totals.
 */
void frag_sorted_insert(struct frag_heap *h, uint32_t b);
void frag_sorted_remove(struct frag_heap *h, uint32_t b);

/*
 * Reserves memory for more blocks and two list insertions, so that the caller's changes
 * cannot fail half way.
 */
static inline bool frag_block_room(struct frag_heap *h, uint32_t blocks)
{
	const uint64_t count = (uint64_t)h->block_count + blocks;

	return frag_index_reserve(&h->index)
	       && frag_grow(&h->blocks, &h->block_capacity, count, sizeof(*h->blocks))
	       && (!h->policy_sorts || !h->sorter.which || frag_index_reserve_lists(&h->index, 2));
}

/* The same, and for two unmapped blocks in the gaps, and two device calls. */
static inline bool frag_room(struct frag_heap *h, uint32_t blocks)
{
	return frag_block_room(h, blocks) && frag_index_reserve(&h->gaps)
	       && frag_grow(&h->calls, &h->call_capacity, (uint64_t)h->call_count + 2,
			    sizeof(*h->calls));
}

/* Insert an unmapped block of a range, which it stays, into the gaps of its list, and remove it. */
void frag_gap_insert(struct frag_heap *h, uint32_t b);
void frag_gap_remove(struct frag_heap *h, uint32_t b);

/*
 * Removes a block from the table of pending blocks; and moves an entry over one that is no longer
 * needed.
 */
void frag_pending_remove(struct frag_heap *h, uint32_t b);
void frag_pending_move(struct frag_heap *h, uint32_t from, uint32_t to);

static inline struct frag_entry frag_entry_of(const struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_block *k = &h->blocks[b];
	const struct frag_heap_segment *s = &h->segments[k->segment];

	return (struct frag_entry){
		.size = frag_fit_size(s, k), .offset = k->offset,
		.tie = k->tie, .block = b,
	};
}

/* Update the totals for a free block that is inserted, and for one that is removed. */
static inline void frag_totals_add_free(struct frag_heap *h, const struct frag_heap_segment *s,
					const struct frag_heap_block *k)
{
	h->totals.free += k->bytes;
	h->totals.holes += frag_holes_of(s, k);
	if (s->page && !s->kept)
		h->totals.releasable += frag_whole_page_bytes(s, k->offset, k->bytes);
}

static inline void frag_totals_remove_free(struct frag_heap *h, const struct frag_heap_segment *s,
					   const struct frag_heap_block *k)
{
	h->totals.free -= k->bytes;
	h->totals.holes -= frag_holes_of(s, k);
	if (s->page && !s->kept)
		h->totals.releasable -= frag_whole_page_bytes(s, k->offset, k->bytes);
}

/* Gaps are by address, whatever decides between equal blocks. */
static inline struct frag_entry frag_gap_entry(const struct frag_heap *h, uint32_t b)
{
	struct frag_entry e = frag_entry_of(h, b);

	e.tie = h->segments[h->blocks[b].segment].tie;
	return e;
}

/* The entry of a free block in the policy's order. */
static inline struct frag_entry frag_sorted_entry(const struct frag_heap *h, uint32_t b)
{
	struct frag_entry e = frag_entry_of(h, b);

	if (h->index.order == FRAG_ORDER_KEY)
		e.size = h->blocks[b].key;
	return e;
}

/*
 * Insert a free block into its list, and remove it; both update the totals. Insertion makes the
 * block free; after removal its state is still FRAG_FREE, for the caller to change.
 */
static inline void frag_list_insert(struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_segment *s = &h->segments[h->blocks[b].segment];

	h->blocks[b].state = FRAG_FREE;
	frag_totals_add_free(h, s, &h->blocks[b]);
	if (h->policy_sorts) {
		frag_sorted_insert(h, b);
	} else {
		const struct frag_entry e = frag_entry_of(h, b);

		frag_index_insert(&h->index, s->list, &e, e.size);
	}
}

static inline void frag_list_remove(struct frag_heap *h, uint32_t b)
{
	const struct frag_heap_segment *s = &h->segments[h->blocks[b].segment];

	frag_totals_remove_free(h, s, &h->blocks[b]);
	if (h->policy_sorts) {
		frag_sorted_remove(h, b);
	} else {
		const struct frag_entry e = frag_entry_of(h, b);

		frag_index_remove(&h->index, s->list, &e, e.size);
	}
}

/* A segment has no live blocks any more, or has one again. */
void frag_idle_enter(struct frag_heap *h, uint32_t s);
void frag_idle_leave(struct frag_heap *h, uint32_t s);
