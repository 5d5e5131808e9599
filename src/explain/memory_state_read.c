/* memory_state_read.c - a simulation's memory as a scene: who has which block is known here. */
#include "explain/memory_state_read.h"

#include <stdlib.h>

#include "base/array_grow.h"

struct sight {
	const struct frag_sim *sim;
	struct frag_scene_owner *owners;        /* by the handle of the block */
	uint32_t capacity, count;
	bool failed;            /* out of memory */
};

static void note_owner(void *ctx, const struct frag_live *live)
{
	struct sight *s = ctx;
	const frag_block at = frag_sim_block(s->sim, live->slot);

	if (s->failed)
		return;
	if (!frag_grow(&s->owners, &s->capacity, (uint64_t)at + 1, sizeof(*s->owners))) {
		s->failed = true;
		return;
	}
	while (s->count <= at)
		s->owners[s->count++] = (struct frag_scene_owner){ .slot = 0 };
	s->owners[at] = (struct frag_scene_owner){
		.birth = live->birth, .tag = live->tag, .stack = live->stack,
		.slot = live->slot + 1,
	};
}

int frag_memory_state_read(struct frag_memory_state *scene, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err)
{
	struct sight s = { .sim = sim };
	int rc = -FRAG_ENOMEM;

	*scene = (struct frag_memory_state){ .segment_count = 0 };
	/* nobody has a block: there are owners all the same, none of them anybody */
	if (frag_grow(&s.owners, &s.capacity, 1, sizeof(*s.owners)))
		frag_sim_walk(sim, device, &s, note_owner);
	if (s.owners && !s.failed)
		rc = frag_scene_init(scene, frag_sim_heap(sim, device), s.owners, s.count);
	free(s.owners);
	return rc ? frag_fail_nomem(err) : 0;
}

uint64_t frag_sight_rounded(const struct frag_sim *sim, uint32_t device, uint64_t bytes)
{
	return frag_heap_round(frag_sim_heap(sim, device), bytes);
}
