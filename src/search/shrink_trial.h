/* shrink_trial.h - what is left of a trace that is being reduced, simulated. */
#ifndef SEARCH_SHRINK_TRIAL_H
#define SEARCH_SHRINK_TRIAL_H

#include "search/shrink_search.h"
#include "fragsim/engine.h"

struct frag_candidate {
	const struct frag_choice *choice;       /* borrowed, as is the next */
	const struct frag_device_figures *devices;
	uint32_t device_count;
	bool (*stop)(void *ctx);        /* optional; its ctx is NULL: -FRAG_EINTERRUPTED */
};

/* The `try` of a search; ctx is a struct frag_candidate. */
int frag_candidate_try(void *ctx, const struct frag_reduce *r, struct frag_shrink_trial *trial,
		       struct frag_error *err);

#endif
