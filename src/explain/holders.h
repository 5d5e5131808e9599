/* holders.h - who holds memory at a moment of a run: its live blocks by tag, and by stack. */
#ifndef EXPLAIN_HOLDERS_H
#define EXPLAIN_HOLDERS_H

#include "explain/hole.h"
#include "fragsim/engine.h"

/* The blocks that the program holds on a device, allocated or pending. */
struct frag_scene {
	const struct frag_symbols *symbols;
	struct frag_live *live;
	uint32_t count, capacity;
};

/* As the simulation is now. -FRAG_ENOMEM; to be released in any case. */
int frag_scene_init(struct frag_scene *scene, const struct frag_sim *sim, uint32_t device);
void frag_scene_fini(struct frag_scene *scene);

/*
 * The tags that hold most, at most FRAG_HOLDERS_MAX, of all blocks or of those in the window.
 * Whose array it is releases what the holders own, also where this fails. -FRAG_ENOMEM
 */
int frag_scene_holders(const struct frag_scene *scene, const struct frag_window *window,
		       struct frag_holder *holders, uint32_t *count);

/* A tag as JSON text with its quotes. False: memory is short. *out is NULL where there is none. */
bool frag_tag_json(const struct frag_symbols *symbols, uint32_t tag, char **out);

#endif
