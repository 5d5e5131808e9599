/* page_blocks.h - request, class, stream, pool, stacks, recorded address and time of each block of a page. */
#pragma once

#include "answers/page_pack.h"
#include "answers/page_stacks.h"
#include "fragsim/error.h"

/* An alloc of the tape. */
struct frag_page_alloc {
	uint64_t step;
	uint64_t requested;     /* bytes */
	uint32_t queue;         /* of the queues below */
	uint32_t whole;         /* stack, for frag_page_stack_whole() */
};

/* A stream and a pool, as the tape numbers them. */
struct frag_page_queue {
	uint32_t stream, pool;
};

/* One that is zeroed has no allocs: then a page says nothing of its blocks. */
struct frag_page_allocs {
	const struct frag_tape *tape;           /* borrowed */
	const struct frag_snapshot *snapshot;   /* whose records are the tape's events; borrowed. NULL: none */
	struct frag_page_alloc *at;             /* by rising step */
	uint8_t *classes;                       /* enum frag_life_class; as many */
	struct frag_page_queue *queues;
	uint32_t count, queue_count, queue_capacity;
};

/* Reads the tape: NULL has none. Release it also after a failure. -FRAG_ENOMEM */
int frag_page_allocs_init(struct frag_page_allocs *allocs, const struct frag_tape *tape, struct frag_error *err);
void frag_page_allocs_fini(struct frag_page_allocs *allocs);

/* Adds the names of classes and queues to a section. */
void frag_page_allocs_put_names(const struct frag_page_allocs *allocs, struct frag_node_ref in);

#define FRAG_PAGE_ORIGINS (UINT32_C(4) << 20)   /* bytes; no more begin then */
/*
 * Adds `origins` of a snapshot, where it has any: a line of JSON each, the compilation and the lines of the stack of the forward
 * pass.
 */
void frag_page_put_origins(const struct frag_page_allocs *allocs, struct frag_page_pack *pack, struct frag_node_ref in);

#define FRAG_ADDRESS_UNIT 21    /* bits of bytes: no segment of PyTorch is smaller */
/*
 * Adds columns for the blocks, which are sorted by allocation step: `rounding` (bytes that the block has more than were
 * requested), `life_class` and `queue`; of a snapshot `time`, in milliseconds since the
 * first event, which was at `first_time` (microseconds), and `address`, in units of 1 << address_shift bytes: how much
 * higher it is above the place on the map than that of the block before in the same FRAG_ADDRESS_UNIT of the
 * map, else of the block before, folded as the differences of a column. A run that repeats the recording has zeros.
 * `made_by` is the stack of the allocation, `freed_by` that of the free, `origin` a number of what
 * frag_page_put_origins() writes, less 1. values: as long as the blocks are many.
 */
void frag_page_allocs_pack(const struct frag_page_allocs *allocs, struct frag_page_stacks *stacks,
			   struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *blocks,
			   uint64_t *values);

/* The stack of the request of an event of the recording; 0: none is known. */
uint32_t frag_page_event_stack(const struct frag_page_allocs *allocs, struct frag_page_stacks *stacks, uint64_t step);
