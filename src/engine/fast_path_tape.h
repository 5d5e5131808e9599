/* fast_path_tape.h - a tape's record of a plain event into a simulation, without an event made of it. */
#ifndef ENGINE_FAST_PATH_TAPE_H
#define ENGINE_FAST_PATH_TAPE_H

#include "engine/fast_path.h"
#include "engine/sim.h"
#include "events/tape.h"

__attribute__((always_inline))
static inline int frag_slot_room(struct frag_sim *sim, uint32_t slot, struct frag_error *err)
{
	return slot < sim->slot_count ? 0 : frag_sim_make_slot(sim, slot, err);
}

/* The record of an alloc is its request; what it has in common with others is its site's. */
__attribute__((always_inline))
static inline int frag_play_alloc(struct frag_sim *sim, struct frag_engine *e,
				  const struct frag_tape_event *ev,
				  const struct frag_tape_site *site, struct frag_error *err)
{
	const struct frag_request rq = {
		.bytes = ev->word >> FRAG_TAPE_VALUE_SHIFT, .stream = site->stream,
		.pool = site->pool, .tick = sim->step, .stream_order = site->stream_order,
	};
	const int rc = frag_slot_room(sim, ev->slot, err);

	return rc ? rc : frag_plain_alloc(e, &rq, site->tag, site->stack, site->device,
					  &sim->slots[ev->slot]);
}

__attribute__((always_inline))
static inline void frag_begin_record(struct frag_sim *sim, struct frag_engine *e, uint64_t step)
{
	sim->step = step;
	frag_begin_plain(e);
}

#endif
