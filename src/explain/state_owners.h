/* state_owners.h - whose the blocks of a device are in the middle of a run, and its memory with them. */
#pragma once

#include "compaction/memory_state.h"
#include "fragsim/engine.h"

/* By the handle of a block; at least one, which has no slot. */
struct frag_state_owners {
	struct frag_state_owner *of;
	uint32_t count, capacity;
};

/* Of all blocks that the program holds. free() `of`, also where this fails. -FRAG_ENOMEM */
int frag_state_owners_read(struct frag_state_owners *owners, const struct frag_sim *sim,
			   uint32_t device);

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_memory_state_read(struct frag_memory_state *memory, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err);
