/*
 * memory_state.h - the memory of a device at one step: its segments, their blocks, and the tags
 * of the blocks.
 */
#pragma once

#include "fragsim/heap.h"

#define FRAG_NO_SLOT UINT32_MAX

struct frag_state_block {
	uint64_t offset, bytes; /* within the segment */
	uint64_t requested;     /* of a block with a slot */
	uint64_t birth;         /* step; likewise, as the next two */
	uint32_t tag, stack;    /* for frag_symbols_tag(), frag_symbols_frame() */
	uint32_t slot;          /* FRAG_NO_SLOT: unknown, or already freed */
	frag_block block;       /* its handle */
	uint8_t state;          /* enum frag_state */
};

struct frag_state_segment {
	uint64_t bytes;         /* of a range: what is mapped */
	uint64_t page;          /* of a range; else 0 */
	uint64_t slot_size;     /* of a carved slab; else 0 */
	uint64_t free;          /* bytes of free blocks */
	uint64_t non_releasable;      /* of them, those that live blocks keep reserved */
	uint64_t live;          /* bytes of allocated and pending blocks */
	uint32_t live_blocks;   /* their number */
	uint32_t fixed;         /* of them, pending ones and those without a slot: not moved */
	uint32_t first, count;  /* of its blocks, in the order of their offsets */
	uint32_t ordinal, pool;
	frag_list list;
	bool kept;              /* an initial pool */
};

struct frag_memory_state {
	struct frag_state_segment *segments;    /* by ordinal */
	struct frag_state_block *blocks;
	uint32_t segment_count, segment_capacity, block_count, block_capacity;
};

/* The allocation that a block belongs to. */
struct frag_state_owner {
	uint64_t birth;
	uint32_t tag, stack;
	uint32_t slot;          /* the slot plus 1; 0: unknown */
};

/*
 * Copies the present state of the heap. owners: `count` of them, by a block's handle; NULL: each
 * allocated block has an unknown owner. Call frag_memory_state_fini() also after a failure.
 * -FRAG_ENOMEM
 */
int frag_memory_state_init(struct frag_memory_state *memory, const struct frag_heap *heap,
			   const struct frag_state_owner *owners, uint32_t count);
void frag_memory_state_fini(struct frag_memory_state *memory); /* a zeroed one is valid */

static inline bool frag_is_live(const struct frag_state_block *b)
{
	return b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING;
}

/* May it be put elsewhere? */
static inline bool frag_is_movable(const struct frag_state_block *b)
{
	return b->state == FRAG_ALLOCATED && b->slot != FRAG_NO_SLOT;
}

/* Bytes of a free block of a range on pages that it does not fill: live blocks keep them. */
static inline uint64_t frag_on_shared_pages(const struct frag_block_view *b, uint64_t page)
{
	const uint64_t first = (b->offset + page - 1) / page * page;
	const uint64_t end = (b->offset + b->bytes) / page * page;

	return end > first ? b->bytes - (end - first) : b->bytes;
}
