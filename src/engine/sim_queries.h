/* sim_queries.h - what a run tells in its middle, unchanged by it; engine.h has the results. */
#pragma once

#include "fragsim/engine.h"

/* Requests that failed so far. */
uint64_t frag_sim_ooms(const struct frag_sim *sim, uint32_t device);

/*
 * The i-th of those that were kept, from 0 on, and the last one; NULL: none. Valid until the
 * simulation goes on.
 */
const struct frag_oom *frag_sim_oom(const struct frag_sim *sim, uint32_t device, uint32_t i);
const struct frag_oom *frag_sim_last_oom(const struct frag_sim *sim, uint32_t device);

/* The metrics of a device at present, at any level. */
struct frag_metrics frag_sim_metrics(const struct frag_sim *sim, uint32_t device);
