/* memory_state.c - the memory of a device at a moment. */
#include "compaction/memory_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

struct copier {
	struct frag_memory_state *memory;
	const struct frag_state_owner *owners;
	uint32_t owner_count;
	frag_block next;        /* the handle of the block that comes next */
	bool failed;            /* out of memory */
};

static void memory_state_add_segment(struct copier *p, const struct frag_segment_view *s)
{
	struct frag_memory_state *memory = p->memory;

	p->failed = !FRAG_GROW(memory->segments, memory->segment_capacity, memory->segment_count);
	if (p->failed)
		return;
	memory->segments[memory->segment_count++] = (struct frag_state_segment){
		.bytes = s->mapped, .page = s->page, .slot_size = s->slot_size,
		.first = memory->block_count, .ordinal = s->ordinal, .pool = s->pool,
		.list = s->list, .kept = s->kept,
	};
}

/* Copies a block to the last segment, and adds it to the totals of that segment. */
static void add_block(struct copier *p, const struct frag_block_view *b, frag_block at)
{
	struct frag_memory_state *memory = p->memory;
	struct frag_state_segment *s = &memory->segments[memory->segment_count - 1];
	struct frag_state_block *to;

	p->failed = !FRAG_GROW(memory->blocks, memory->block_capacity, memory->block_count);
	if (p->failed)
		return;
	to = &memory->blocks[memory->block_count++];
	*to = (struct frag_state_block){
		.offset = b->offset, .bytes = b->bytes, .slot = FRAG_NO_SLOT,
		.block = at, .state = (uint8_t)b->state,
	};
	s->count++;
	if (b->state == FRAG_FREE) {
		s->free += b->bytes;
		s->non_releasable += s->page ? frag_on_shared_pages(b, s->page) : b->bytes;
	}
	if (!frag_is_live(to))
		return;
	to->requested = b->requested;
	if (!p->owners) {
		to->slot = 0;
	} else if (at < p->owner_count && p->owners[at].slot) {
		to->slot = p->owners[at].slot - 1;
		to->birth = p->owners[at].birth;
		to->tag = p->owners[at].tag;
		to->stack = p->owners[at].stack;
	}
	s->live += b->bytes;
	s->live_blocks++;
	s->fixed += !frag_is_movable(to);
}

static void memory_state_visit(void *ctx, const struct frag_segment_view *s,
			       const struct frag_block_view *b)
{
	struct copier *p = ctx;
	const frag_block at = p->next;

	p->next = b ? b->next : s->first;
	if (p->failed)
		return;
	if (b)
		add_block(p, b, at);
	else
		memory_state_add_segment(p, s);
}

static int memory_state_by_ordinal(const void *a, const void *b)
{
	const struct frag_state_segment *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/*
 * All free bytes of a segment without live blocks are releasable, except in an initial pool.
 * Puts segments by ordinal, and their blocks in the same order, so that it is that of addresses.
 */
static bool memory_state_settle(struct frag_memory_state *memory)
{
	struct frag_state_block *blocks =
		malloc(((size_t)memory->block_count + 1) * sizeof(*blocks));
	uint32_t count = 0;

	if (!blocks)
		return false;
	for (uint32_t i = 0; i < memory->segment_count; i++) {
		struct frag_state_segment *s = &memory->segments[i];

		if (!s->live_blocks && !s->kept && !s->page)
			s->non_releasable = 0;
	}
	FRAG_SORT(memory->segments, memory->segment_count, memory_state_by_ordinal);
	for (uint32_t i = 0; i < memory->segment_count; i++) {
		struct frag_state_segment *s = &memory->segments[i];

		if (s->count)
			memcpy(blocks + count, memory->blocks + s->first,
			       s->count * sizeof(*blocks));
		s->first = count;
		count += s->count;
	}
	free(memory->blocks);
	memory->blocks = blocks;
	return true;
}

int frag_memory_state_init(struct frag_memory_state *memory, const struct frag_heap *heap,
			   const struct frag_state_owner *owners, uint32_t count)
{
	struct copier p = { .memory = memory, .owners = owners, .owner_count = count };

	*memory = (struct frag_memory_state){ .segment_count = 0 };
	frag_heap_walk(heap, &p, memory_state_visit);
	return p.failed || !memory_state_settle(memory) ? -FRAG_ENOMEM : 0;
}

void frag_memory_state_fini(struct frag_memory_state *memory)
{
	free(memory->segments);
	free(memory->blocks);
	*memory = (struct frag_memory_state){ .segment_count = 0 };
}
