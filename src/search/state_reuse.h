/*
 * state_reuse.h - runs on many capacities, of which each begins where it parts from those before it, and
 * ends where it joins one.
 *
 * Runs part where a capacity decides, and many come together again soon: what one has cached the
 * other gives back a little later. Now and then along a run its state is looked up among those
 * that were there at the same event. A *stretch* is what a run did from one such *knot* to the
 * next, with the capacities for which it would have been the same; a run is a row of stretches,
 * and only what none has is simulated. That states are equal is never concluded from a hash: they
 * are compared word by word.
 */
#ifndef SEARCH_STATE_REUSE_H
#define SEARCH_STATE_REUSE_H

#include "base/hash.h"
#include "engine/small_requests.h"

struct frag_interval;
struct frag_saved_state;

/* Zeroed: none. Of one subject. */
struct frag_state_reuse {
	struct frag_saved_state **knots;
	uint32_t count, capacity;
	uint32_t unused;                /* the first that has been dropped; UINT32_MAX: none */
	struct frag_map by_state;       /* numbers of knots */
	struct frag_state_key here, there;  /* scratch */
	uint64_t bytes;                 /* about what the knots take */
	uint64_t most;                  /* that they may take; 0: as much as is worth it */
	uint64_t runs, made;            /* runs and knots so far */
	uint64_t stride;                /* events from one to the next; 0: as is worth it */
};

struct frag_fit_case;

/*
 * A run with this total, small requests apart. As frag_survival_at() says; its outcome is what
 * that has of an outcome at FRAG_LEVEL_SURVIVE.
 */
int frag_joins_run(struct frag_state_reuse *joins, const struct frag_fit_case *subject,
		   uint64_t total, struct frag_interval *out, struct frag_error *err);
void frag_state_reuse_clear(struct frag_state_reuse *joins);

#endif
