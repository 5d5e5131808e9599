/* memory_state_read.h - a simulation's memory as a scene. */
#ifndef EXPLAIN_MEMORY_STATE_READ_H
#define EXPLAIN_MEMORY_STATE_READ_H

#include "fragsim/engine.h"
#include "compaction/memory_state.h"

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_memory_state_read(struct frag_memory_state *scene, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err);

/* What the device would take for so many bytes. */
uint64_t frag_sight_rounded(const struct frag_sim *sim, uint32_t device, uint64_t bytes);

#endif
