/* sim_queries.h - what the middle of a run tells at no cost; engine.h has the results. */
#pragma once

#include "fragsim/engine.h"

/* Requests that failed so far. */
uint64_t frag_sim_ooms(const struct frag_sim *sim, uint32_t device);

/* The last one that was kept; NULL: none. Valid until the simulation goes on. */
const struct frag_oom *frag_sim_last_oom(const struct frag_sim *sim, uint32_t device);
