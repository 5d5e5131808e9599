/* sight.h - a simulation's memory as a scene. */
#ifndef EXPLAIN_SIGHT_H
#define EXPLAIN_SIGHT_H

#include "fragsim/engine.h"
#include "relief/scene.h"

/* As the simulation is now; to be released also where this fails. -FRAG_ENOMEM */
int frag_sight(struct frag_scene *scene, const struct frag_sim *sim, uint32_t device,
	       struct frag_error *err);

/* What the device would take for so many bytes. */
uint64_t frag_sight_rounded(const struct frag_sim *sim, uint32_t device, uint64_t bytes);

#endif
