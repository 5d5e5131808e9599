/* oom.h - what is told of a request that found no memory (SPEC 9). */
#ifndef ENGINE_OOM_H
#define ENGINE_OOM_H

#include "engine/engine.h"

/*
 * Fills message, cause and advice from the state after the last refusal, and
 * who holds the device's memory, by tag; and the hole that was nearest to the
 * request. ev: the request; NULL: of an initial pool. -FRAG_ENOMEM
 */
int frag_oom_explain(struct frag_oom *oom, const struct frag_engine *e, uint32_t device,
		     const struct frag_event *ev,
		     const struct frag_slot *slots, uint32_t slot_count,
		     const struct frag_trace *trace, struct frag_error *err);

#endif
