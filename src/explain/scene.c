/* scene.c - the memory of a device at a moment. */
#include "explain/scene.h"

#include <stdlib.h>

#include "base/grow.h"

/* Whose a block is, by its handle. */
struct owner {
	uint64_t birth;
	uint32_t tag, stack;
	uint32_t slot;          /* one more than it is; 0: nobody's */
};

struct painter {
	struct frag_scene *scene;
	const struct frag_sim *sim;
	struct owner *owners;
	uint32_t owner_capacity, owner_count;
	frag_block next;        /* the handle of the block that comes next */
	bool failed;            /* memory is short */
};

static void note_owner(void *ctx, const struct frag_live *live)
{
	struct painter *p = ctx;
	const frag_block at = frag_sim_block(p->sim, live->slot);

	if (p->failed)
		return;
	if (!frag_grow(&p->owners, &p->owner_capacity, (uint64_t)at + 1, sizeof(*p->owners))) {
		p->failed = true;
		return;
	}
	while (p->owner_count <= at)
		p->owners[p->owner_count++] = (struct owner){ .slot = 0 };
	p->owners[at] = (struct owner){
		.birth = live->birth, .tag = live->tag, .stack = live->stack,
		.slot = live->slot + 1,
	};
}

static void add_segment(struct painter *p, const struct frag_segment_view *s)
{
	struct frag_scene *scene = p->scene;

	if (!frag_grow(&scene->segments, &scene->segment_capacity,
		       (uint64_t)scene->segment_count + 1, sizeof(*scene->segments))) {
		p->failed = true;
		return;
	}
	scene->segments[scene->segment_count++] = (struct frag_scene_segment){
		.bytes = s->mapped, .page = s->page, .slot_size = s->slot_size,
		.first = scene->block_count, .ordinal = s->ordinal, .pool = s->pool,
		.list = s->list, .kept = s->kept,
	};
}

/* Bytes of a free block that cannot go back by themselves. */
static uint64_t held_back(const struct frag_block_view *b, uint64_t page)
{
	const uint64_t first = (b->offset + page - 1) / page * page;
	const uint64_t end = (b->offset + b->bytes) / page * page;

	return end > first ? b->bytes - (end - first) : b->bytes;
}

static void add_block(struct painter *p, const struct frag_block_view *b, frag_block at)
{
	struct frag_scene *scene = p->scene;
	struct frag_scene_segment *s = &scene->segments[scene->segment_count - 1];
	struct frag_scene_block *to;

	if (!frag_grow(&scene->blocks, &scene->block_capacity, (uint64_t)scene->block_count + 1,
		       sizeof(*scene->blocks))) {
		p->failed = true;
		return;
	}
	to = &scene->blocks[scene->block_count++];
	*to = (struct frag_scene_block){
		.offset = b->offset, .bytes = b->bytes, .slot = FRAG_NO_SLOT,
		.state = (uint8_t)b->state,
	};
	s->count++;
	if (b->state == FRAG_FREE) {
		s->free += b->bytes;
		s->stranded += s->page ? held_back(b, s->page) : b->bytes;
	}
	if (!frag_is_live(to))
		return;
	to->requested = b->requested;
	if (at < p->owner_count && p->owners[at].slot) {
		to->slot = p->owners[at].slot - 1;
		to->birth = p->owners[at].birth;
		to->tag = p->owners[at].tag;
		to->stack = p->owners[at].stack;
	}
	s->live += b->bytes;
	s->pins++;
	s->fixed += !frag_is_movable(to);
}

static void visit(void *ctx, const struct frag_segment_view *s, const struct frag_block_view *b)
{
	struct painter *p = ctx;
	const frag_block at = p->next;

	p->next = b ? b->next : s->first;
	if (p->failed)
		return;
	if (b)
		add_block(p, b, at);
	else
		add_segment(p, s);
}

static int by_ordinal(const void *a, const void *b)
{
	const struct frag_scene_segment *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* A segment without live blocks goes back, all of it; but an initial pool never does. */
static void settle(struct frag_scene *scene)
{
	for (uint32_t i = 0; i < scene->segment_count; i++) {
		struct frag_scene_segment *s = &scene->segments[i];

		if (!s->pins && !s->kept && !s->page)
			s->stranded = 0;
	}
	if (scene->segment_count)
		qsort(scene->segments, scene->segment_count, sizeof(*scene->segments), by_ordinal);
}

int frag_scene_init(struct frag_scene *scene, const struct frag_sim *sim, uint32_t device,
		    struct frag_error *err)
{
	struct painter p = { .scene = scene, .sim = sim };

	*scene = (struct frag_scene){ .segment_count = 0 };
	frag_sim_walk(sim, device, &p, note_owner);
	if (!p.failed)
		frag_heap_walk(frag_sim_heap(sim, device), &p, visit);
	free(p.owners);
	if (p.failed)
		return frag_fail_nomem(err);
	settle(scene);
	return 0;
}

uint64_t frag_scene_rounded(const struct frag_sim *sim, uint32_t device, uint64_t bytes)
{
	return frag_heap_round(frag_sim_heap(sim, device), bytes);
}

void frag_scene_fini(struct frag_scene *scene)
{
	free(scene->segments);
	free(scene->blocks);
	*scene = (struct frag_scene){ .segment_count = 0 };
}
