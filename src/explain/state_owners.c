/* state_owners.c - whose the blocks of a device are in the middle of a run, and its memory with them. */
#include "explain/state_owners.h"

#include <stdlib.h>

#include "base/array_grow.h"

struct reading {
	const struct frag_sim *sim;
	struct frag_state_owners *out;
	bool failed;            /* out of memory */
};

static void note_owner(void *ctx, const struct frag_live *live)
{
	struct reading *r = ctx;
	struct frag_state_owners *o = r->out;
	const frag_block at = frag_sim_block(r->sim, live->slot);

	r->failed = r->failed || !FRAG_EXTEND(o->of, o->capacity, o->count, at);
	if (!r->failed)
		o->of[at] = (struct frag_state_owner){
			.birth = live->birth, .tag = live->tag, .stack = live->stack,
			.slot = live->slot + 1,
		};
}

int frag_state_owners_read(struct frag_state_owners *owners, const struct frag_sim *sim,
			   uint32_t device)
{
	struct reading r = { .sim = sim, .out = owners };

	*owners = (struct frag_state_owners){ .count = 0 };
	if (!frag_grow(&owners->of, &owners->capacity, 1, sizeof(*owners->of)))
		return -FRAG_ENOMEM;
	frag_sim_walk(sim, device, &r, note_owner);
	return r.failed ? -FRAG_ENOMEM : 0;
}

int frag_memory_state_read(struct frag_memory_state *memory, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err)
{
	struct frag_state_owners owners;
	int rc = frag_state_owners_read(&owners, sim, device);

	*memory = (struct frag_memory_state){ .segment_count = 0 };
	rc = rc ? rc : frag_memory_state_init(memory, frag_sim_heap(sim, device), owners.of,
					      owners.count);
	free(owners.of);
	return rc ? frag_fail_nomem(err) : 0;
}
