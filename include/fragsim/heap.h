/*
 * heap.h - the one owner of segments, blocks and free space.
 *
 * A segment is what one device call obtained; its blocks tile it from offset 0.
 * A block is free, allocated, pending (freed, but still in use on a stream),
 * unmapped (address space without memory, in an expandable range), or for the
 * length of one decision detached, for the policy to work on. Free blocks are in free lists,
 * one for each (pool, which) that the policy asks for; `which` is the policy's
 * own number: a stream, a kind of slab, or just 0. They are in the list that
 * their segment was obtained for, unless the policy sorts them (frag_heap_sort_by),
 * and in each list in the order of the policy's index.
 *
 * Queries take a const heap and never change anything. Verbs are the only way to
 * change memory: each checks its arguments and updates the totals and the lists. A
 * verb returns 0, -FRAG_EPOLICY (the policy asked for the impossible; nothing
 * changed), -FRAG_EDEVMEM, -FRAG_EDEVICE or -FRAG_ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/device.h"
#include "fragsim/error.h"

typedef uint32_t frag_block;    /* a handle, never a pointer; recycled after a merge */
typedef uint32_t frag_segment;  /* likewise; recycled after a release */
typedef uint32_t frag_list;     /* a free list */

#define FRAG_NO_BLOCK UINT32_MAX
#define FRAG_NO_SEGMENT UINT32_MAX
#define FRAG_NO_LIST UINT32_MAX

enum frag_state {
	FRAG_FREE,
	FRAG_ALLOCATED,
	FRAG_PENDING,
	FRAG_UNMAPPED,
	FRAG_DETACHED,
};

struct frag_block_view {
	uint64_t offset, bytes; /* within the segment */
	uint64_t requested;     /* what the program requested; of allocated and pending blocks */
	frag_segment segment;
	frag_block prev, next;  /* adjacent blocks by address, or FRAG_NO_BLOCK */
	uint32_t user;          /* the policy's own */
	enum frag_state state;
};

struct frag_segment_view {
	uint64_t bytes, mapped; /* equal unless expandable */
	uint64_t slot_size;     /* slot size of a carved slab; else 0 */
	uint64_t page;          /* of an expandable range; else 0 */
	frag_block first;
	frag_list list;         /* of its free blocks, unless the policy sorts them */
	uint32_t ordinal;       /* order of creation, never reused */
	uint32_t pool;
	uint32_t live;          /* allocated and pending blocks */
	uint32_t user;          /* the policy's own */
	bool kept;              /* an initial pool, or of a policy that keeps all: never released */
};

/* What a policy has answered a request with. */
struct frag_allocation {
	uint64_t offset, bytes; /* within the segment */
	uint64_t requested;
	uint32_t ordinal, pool; /* of the segment */
};

struct frag_list_view {
	uint32_t pool, which;
	uint32_t count;         /* free blocks */
	uint64_t largest;       /* bytes, 0 if none */
	uint64_t user;          /* the policy's own */
	bool done;              /* frag_heap_pool_done() was called for its pool */
};

/*
 * The sums that the metrics of fragsim-result(5), Metrics are made of, kept by the verbs. The
 * step peaks of reserved, segments and device bytes are since the last
 * frag_heap_step(); the counters since the beginning.
 */
struct frag_totals {
	uint64_t requested, allocated, active, reserved, free, releasable;      /* bytes */
	uint64_t holes;         /* free blocks; of a carved slab, free slots */
	uint32_t segments, blocks;
	uint32_t step_peak_segments;
	uint64_t step_peak_reserved, step_peak_used;                            /* bytes */
	uint64_t splits, merges, retries, segment_allocs, segment_frees;
	uint64_t tried;         /* bytes that an OOM reports: refused last, or noted since */
};

enum frag_call_kind {
	FRAG_CALL_NEW,          /* a segment was obtained */
	FRAG_CALL_NEW_RANGE,    /* an expandable range was reserved */
	FRAG_CALL_MAP,
	FRAG_CALL_UNMAP,
	FRAG_CALL_RELEASE,      /* a segment */
	FRAG_CALL_RELEASE_RANGE,
};

struct frag_call {
	enum frag_call_kind kind;
	uint32_t ordinal;
	frag_list list;         /* of the segment, at that time */
	uint64_t offset, bytes;
};

/* The order of the blocks in a free list. */
enum frag_order {
	FRAG_ORDER_SIZE,           /* then by address */
	FRAG_ORDER_ADDRESS,
	FRAG_ORDER_KEY,            /* of the policy's, then by address */
};

struct frag_heap;

/* The device is borrowed and must outlive the heap. NULL where the host is out of memory. */
struct frag_heap *frag_heap_new(struct frag_device *dev, enum frag_order order);
/*
 * Copies a heap: blocks, segments and lists have the same numbers, and the totals are equal. dev
 * is a copy of the first one's device, and borrowed. NULL where the host is out of memory.
 */
struct frag_heap *frag_heap_copy(const struct frag_heap *from, struct frag_device *dev);
/*
 * For a copy whose device has another total than the original's: sets the length of each range to
 * what resized() returns. `end` is the end of the mapped part; a range without an unmapped end
 * must keep its length. Address space must cost nothing on the device.
 */
typedef uint64_t frag_resized_fn(void *ctx, uint64_t page, uint64_t bytes, uint64_t end);
void frag_heap_resize_ranges(struct frag_heap *h, void *ctx, frag_resized_fn *resized);
/* Releases everything to the device. NULL is fine. */
void frag_heap_del(struct frag_heap *h);

/*
 * Before the first segment: from now on segments compare by the addresses that the device gives,
 * all below 2^32, instead of their ordinals.
 */
void frag_heap_by_address(struct frag_heap *h);

/* Before the first segment: none will be released, as if each were given to frag_heap_keep(). */
void frag_heap_keep_all(struct frag_heap *h);

/*
 * How a policy sorts free blocks: which of the lists of its segment's pool a free block
 * is in, and its key (FRAG_ORDER_KEY). The heap calls both when a block becomes free, and again
 * when a free block has other bytes or another offset: after a merge, and for the remainder of a
 * split or a take. It calls them in the middle of a verb, so they receive copies and no heap;
 * state and param are the policy's own. Every result is valid: a list (pool, which) that does not
 * exist is created. Both results must depend on the arguments alone, such as the block or a
 * counter in the state.
 */
typedef uint32_t frag_which_fn(const void *state, const uint64_t *param,
			       const struct frag_segment_view *s, const struct frag_block_view *b);
typedef uint64_t frag_key_fn(const void *state, const uint64_t *param,
			     const struct frag_segment_view *s, const struct frag_block_view *b);
struct frag_sorter {
	frag_which_fn *which;   /* NULL: the segment's list */
	frag_key_fn *key;       /* NULL: 0; only FRAG_ORDER_KEY uses it */
	const void *state;      /* borrowed, as is the next */
	const uint64_t *param;
};

/*
 * Before the first segment, and on a copy before its first verb, with the same hooks: the
 * engine does so for the policy's `which` and `key`.
 */
void frag_heap_sort_by(struct frag_heap *h, const struct frag_sorter *by);

/* Begins a step: clears the device calls and the peaks of the last one. */
void frag_heap_step(struct frag_heap *h);

/* Queries. */
/* Borrowed, and kept up to date by every verb. */
const struct frag_totals *frag_heap_totals(const struct frag_heap *h);
/* The device calls of this step, *count of them, in their order; until the next verb. */
const struct frag_call *frag_heap_calls(const struct frag_heap *h, uint32_t *count);
uint64_t frag_heap_largest(const struct frag_heap *h);          /* free block, 0 if none */
uint64_t frag_heap_capacity(const struct frag_heap *h);         /* the device's; 0: unlimited */
/* The capacities, [*min_capacity, *end_capacity), for which all so far would have been the same. */
void frag_heap_capacity_range(const struct frag_heap *h, uint64_t *min_capacity,
			      uint64_t *end_capacity);
uint64_t frag_heap_granularity(const struct frag_heap *h);      /* the device's */
/*
 * Returns the size of a segment of `bytes` bytes, rounded by the device; small ones can have a
 * finer granularity.
 */
uint64_t frag_heap_round(const struct frag_heap *h, uint64_t bytes);
/* What is known of a block, a segment, a list. A handle of none: 0 bytes. */
struct frag_block_view frag_heap_look(const struct frag_heap *h, frag_block b);
struct frag_segment_view frag_heap_look_segment(const struct frag_heap *h, frag_segment s);
/* Of the expandable range that b is in; 0 where it is in none. */
uint64_t frag_heap_page(const struct frag_heap *h, frag_block b);
/* False where b is no allocated block. */
bool frag_heap_look_allocated(const struct frag_heap *h, frag_block b, struct frag_allocation *out);
struct frag_list_view frag_heap_look_list(const struct frag_heap *h, frag_list list);

/* What the device calls the segment of b, which must be a block. */
frag_addr frag_heap_address(const struct frag_heap *h, frag_block b);

/* The free list for (pool, which), once a verb has made it; FRAG_NO_LIST before. */
frag_list frag_heap_find_list(const struct frag_heap *h, uint32_t pool, uint32_t which);

/* Where a free block is, and its key (0 without keys). Else FRAG_NO_LIST, and 0. */
frag_list frag_heap_list_of(const struct frag_heap *h, frag_block b);
uint64_t frag_heap_key(const struct frag_heap *h, frag_block b);

/*
 * The first block of the list, in the order of its index, that holds bytes:
 * the smallest and among equals the lowest (FRAG_ORDER_SIZE), the lowest
 * (FRAG_ORDER_ADDRESS), or that of the minimum key and among equals the lowest
 * (FRAG_ORDER_KEY). A slot of a carved slab counts as a block. 0 bytes: the first
 * of all.
 */
frag_block frag_heap_find(const struct frag_heap *h, frag_list list, uint64_t bytes);

/*
 * The last block, in that order, that holds bytes: the largest and among equals the
 * highest, the highest, or that of the highest key and among equals the highest. Of
 * carved slabs it may be a run of slots: frag_heap_take_upper() takes the last one.
 */
frag_block frag_heap_find_last(const struct frag_heap *h, frag_list list, uint64_t bytes);

/* The same among addresses at or after (ordinal, offset); FRAG_ORDER_ADDRESS only. */
frag_block frag_heap_find_from(const struct frag_heap *h, frag_list list, uint64_t bytes,
			       uint32_t ordinal, uint64_t offset);

/* The same among keys of at least `key`; FRAG_ORDER_KEY only. */
frag_block frag_heap_find_key(const struct frag_heap *h, frag_list list, uint64_t bytes,
			      uint64_t key);

/* The largest block of the list, the first of equals in the order of its index. */
frag_block frag_heap_find_largest(const struct frag_heap *h, frag_list list);

/*
 * In the order of its list: the block after b, and before it. Where the policy sorts, b
 * must be free; else it may be any block, then one that is not counts as being where it would be
 * if it were free.
 */
frag_block frag_heap_after(const struct frag_heap *h, frag_block b);
frag_block frag_heap_before(const struct frag_heap *h, frag_block b);
/* The last one smaller than bytes; FRAG_ORDER_SIZE only. */
frag_block frag_heap_find_smaller(const struct frag_heap *h, frag_list list, uint64_t bytes);

/* Of the list's ranges, by address: the first unmapped block after b, or of all. */
frag_block frag_heap_find_unmapped(const struct frag_heap *h, frag_list list, frag_block b);

/*
 * The i-th segment without live blocks that is neither a range nor kept, in no order;
 * FRAG_NO_SEGMENT after the last.
 */
frag_segment frag_heap_find_idle(const struct frag_heap *h, uint32_t i);

/*
 * Pending blocks: those that are ready (see below) come first, else there is no
 * order. FRAG_NO_BLOCK where there is none.
 */
frag_block frag_heap_find_pending(const struct frag_heap *h);
frag_block frag_heap_find_ready(const struct frag_heap *h);
/* Is b still the pending block of this owner? */
bool frag_heap_is_pending(const struct frag_heap *h, frag_block b, uint32_t owner);

/* A verb: the free list for (pool, which), which the first call creates. -FRAG_ENOMEM */
int frag_heap_list(struct frag_heap *h, uint32_t pool, uint32_t which, frag_list *out);

/*
 * Verbs for decisions that depend on the device's capacity: they narrow the capacities for which
 * the run is valid (frag_heap_capacity_range()). reaches compares the capacity with a number of
 * bytes, and leaves all capacities on the same side of it. pin leaves the exact one alone; of an
 * unlimited device none, with the end 1. A policy calls one of them before each such decision, and may
 * then use frag_heap_capacity() in sums.
 */
bool frag_heap_capacity_reaches(struct frag_heap *h, uint64_t bytes);
void frag_heap_pin_capacity(struct frag_heap *h);

/* Verbs on whole segments. */
/* *out: all of a new segment of at least `bytes`, one free block on the list. */
int frag_heap_grow(struct frag_heap *h, frag_list list, uint64_t bytes, frag_block *out);
int frag_heap_keep(struct frag_heap *h, frag_block whole);      /* never release it */
int frag_heap_release(struct frag_heap *h, frag_block whole);   /* segment -> device */
/* Releases idle segments, and whole free pages of ranges, in the order of equal blocks. */
int frag_heap_release_idle(struct frag_heap *h);

/*
 * The same for policies with their own order: releases segments without live blocks, and unmaps
 * the whole pages of free blocks of ranges; a range that is empty then is released. rank sets
 * the order: the smallest first, equals by address. Where it returns false, the block stays.
 */
#define FRAG_RANKS 3
typedef bool frag_rank_fn(const struct frag_heap *h, frag_block b, void *ctx,
			  uint64_t rank[FRAG_RANKS]);
int frag_heap_release_unused(struct frag_heap *h, frag_rank_fn *rank, void *ctx);

void frag_heap_count_retry(struct frag_heap *h);        /* counts a second try */
void frag_heap_note_tried(struct frag_heap *h, uint64_t bytes); /* that an OOM is to report */
void frag_heap_limit(struct frag_heap *h, double fraction);     /* of the device's total */

/*
 * Verbs on blocks. take allocates the lower `keep` bytes of a free block and leaves the
 * remainder free; of a carved slab it takes one slot, the first. take_upper is the same at the
 * other end: *b is afterwards the upper part, and what is left below keeps the handle that *b
 * was. give frees an allocated or pending block and merges it with its free adjacent blocks;
 * *out (may be NULL) is the free block that resulted. defer_free turns an allocated block into a
 * pending one, for an owner known to the caller; ready notes that what it waited for is over,
 * for a policy that frees it later.
 */
int frag_heap_take(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep);
int frag_heap_take_upper(struct frag_heap *h, frag_block *b, uint64_t requested, uint64_t keep);
int frag_heap_defer_free(struct frag_heap *h, frag_block b, uint32_t owner);
int frag_heap_ready(struct frag_heap *h, frag_block b);
int frag_heap_give(struct frag_heap *h, frag_block b, frag_block *out);

/*
 * The single steps of take and give, for policies with their own rules: detach_free and
 * detach_live take a block out, from free and from allocated or pending; split cuts a detached
 * block, the upper part becomes free; merge merges a free adjacent block with the detached
 * block, whose handle afterwards is *b; assign and insert end it, as allocated and as free.
 * Where the policy sorts, detach and insert make the heap call `which` and `key` again.
 */
int frag_heap_detach_free(struct frag_heap *h, frag_block b);
int frag_heap_detach_live(struct frag_heap *h, frag_block b);
int frag_heap_split(struct frag_heap *h, frag_block b, uint64_t keep);
int frag_heap_merge(struct frag_heap *h, frag_block *b, frag_block neighbour);
int frag_heap_assign(struct frag_heap *h, frag_block b, uint64_t requested);
int frag_heap_insert(struct frag_heap *h, frag_block b);

/*
 * carve turns a segment that is one free block into equal slots of
 * `slot_size` bytes (the tail is waste) on the given list; uncarve makes a segment whose
 * slots are all free one block again, on the given list.
 */
int frag_heap_carve(struct frag_heap *h, frag_block whole, uint64_t slot_size, frag_list list,
		    frag_block *out);
int frag_heap_uncarve(struct frag_heap *h, frag_segment s, frag_list list);

/*
 * Expandable ranges: reserve obtains address space as one unmapped block; map
 * gives memory to `bytes` at `offset` of an unmapped block, in whole pages, and
 * leaves a free block (merged with free adjacent blocks); unmap takes the pages of a
 * part of a free block away again, and leaves an unmapped one. A range without
 * mapped pages is released with frag_heap_release.
 */
int frag_heap_reserve(struct frag_heap *h, frag_list list, uint64_t bytes, uint64_t page,
		      frag_block *out);
int frag_heap_map(struct frag_heap *h, frag_block unmapped, uint64_t offset, uint64_t bytes,
		  frag_block *out);
int frag_heap_unmap(struct frag_heap *h, frag_block b, uint64_t offset, uint64_t bytes,
		    frag_block *out);

/* The policy's own bits. */
/* They are shown in the views, and mean nothing to the heap; 0 at first. */
void frag_heap_set_list_user(struct frag_heap *h, frag_list list, uint64_t user);
/* The program is done with a trace pool: noted in its lists, for a policy that asks. */
void frag_heap_pool_done(struct frag_heap *h, uint32_t pool);
void frag_heap_set_user(struct frag_heap *h, frag_block b, uint32_t user);
void frag_heap_set_segment_user(struct frag_heap *h, frag_segment s, uint32_t user);

/*
 * Recomputes everything from the blocks alone and compares it with the totals
 * and the lists: 0, or -FRAG_ECHECK with the first difference. Slow.
 */
int frag_heap_check(const struct frag_heap *h, struct frag_error *err);

/* Calls visit for each segment held, then for each of its blocks (s, b in address order). */
void frag_heap_walk(const struct frag_heap *h, void *ctx,
		    void (*visit)(void *ctx, const struct frag_segment_view *s,
				  const struct frag_block_view *b));
