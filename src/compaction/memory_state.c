/* memory_state.c - the memory of a device at a moment. */
#include "compaction/memory_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

struct painter {
	struct frag_memory_state *scene;
	const struct frag_scene_owner *owners;
	uint32_t owner_count;
	frag_block next;        /* the handle of the block that comes next */
	bool failed;            /* out of memory */
};

static void memory_state_add_segment(struct painter *p, const struct frag_segment_view *s)
{
	struct frag_memory_state *scene = p->scene;

	if (!FRAG_GROW(scene->segments, scene->segment_capacity, scene->segment_count)) {
		p->failed = true;
		return;
	}
	scene->segments[scene->segment_count++] = (struct frag_scene_segment){
		.bytes = s->mapped, .page = s->page, .slot_size = s->slot_size,
		.first = scene->block_count, .ordinal = s->ordinal, .pool = s->pool,
		.list = s->list, .kept = s->kept,
	};
}

/* The non-releasable bytes of a free block: those outside whole pages. */
static uint64_t held_back(const struct frag_block_view *b, uint64_t page)
{
	const uint64_t first = (b->offset + page - 1) / page * page;
	const uint64_t end = (b->offset + b->bytes) / page * page;

	return end > first ? b->bytes - (end - first) : b->bytes;
}

/* Copies a block to the last segment, and adds it to the totals of that segment. */
static void add_block(struct painter *p, const struct frag_block_view *b, frag_block at)
{
	struct frag_memory_state *scene = p->scene;
	struct frag_scene_segment *s = &scene->segments[scene->segment_count - 1];
	struct frag_scene_block *to;

	if (!FRAG_GROW(scene->blocks, scene->block_capacity, scene->block_count)) {
		p->failed = true;
		return;
	}
	to = &scene->blocks[scene->block_count++];
	*to = (struct frag_scene_block){
		.offset = b->offset, .bytes = b->bytes, .slot = FRAG_NO_SLOT,
		.block = at, .state = (uint8_t)b->state,
	};
	s->count++;
	if (b->state == FRAG_FREE) {
		s->free += b->bytes;
		s->non_releasable += s->page ? held_back(b, s->page) : b->bytes;
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
	s->pins++;
	s->fixed += !frag_is_movable(to);
}

static void memory_state_visit(void *ctx, const struct frag_segment_view *s,
			       const struct frag_block_view *b)
{
	struct painter *p = ctx;
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
	const struct frag_scene_segment *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/*
 * All free bytes of a segment without live blocks are releasable, except in an initial pool.
 * Puts segments by ordinal, and their blocks in the same order, so that it is that of addresses.
 */
static bool memory_state_settle(struct frag_memory_state *scene)
{
	struct frag_scene_block *blocks = malloc(((size_t)scene->block_count + 1) * sizeof(*blocks));
	uint32_t count = 0;

	if (!blocks)
		return false;
	for (uint32_t i = 0; i < scene->segment_count; i++) {
		struct frag_scene_segment *s = &scene->segments[i];

		if (!s->pins && !s->kept && !s->page)
			s->non_releasable = 0;
	}
	if (scene->segment_count)
		qsort(scene->segments, scene->segment_count, sizeof(*scene->segments),
		      memory_state_by_ordinal);
	for (uint32_t i = 0; i < scene->segment_count; i++) {
		struct frag_scene_segment *s = &scene->segments[i];

		if (s->count)
			memcpy(blocks + count, scene->blocks + s->first,
			       s->count * sizeof(*blocks));
		s->first = count;
		count += s->count;
	}
	free(scene->blocks);
	scene->blocks = blocks;
	return true;
}

int frag_scene_init(struct frag_memory_state *scene, const struct frag_heap *heap,
		    const struct frag_scene_owner *owners, uint32_t count)
{
	struct painter p = { .scene = scene, .owners = owners, .owner_count = count };

	*scene = (struct frag_memory_state){ .segment_count = 0 };
	frag_heap_walk(heap, &p, memory_state_visit);
	return p.failed || !memory_state_settle(scene) ? -FRAG_ENOMEM : 0;
}

void frag_scene_fini(struct frag_memory_state *scene)
{
	free(scene->segments);
	free(scene->blocks);
	*scene = (struct frag_memory_state){ .segment_count = 0 };
}
