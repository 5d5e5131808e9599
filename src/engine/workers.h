/* workers.h - several simulations over one reading of a trace, event for event. */
#pragma once

#include "fragsim/engine.h"

/*
 * frag_workers_run() where between, if it is not NULL, is called when all simulations have had a
 * batch and none has begun the next: they wait for it. With ctx, by any thread.
 */
int frag_workers_in_step(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
			 const struct frag_worker_options *options, void (*between)(void *ctx),
			 void *ctx, struct frag_error *err);
