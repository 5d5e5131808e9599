/*
 * fit_together.h - finds the smallest device on which several programs run at the same time.
 *
 * Each program has its own context and its own allocator; memory of the others is in use by other
 * processes. So a refused request releases the cache of that program only. A program keeps its
 * memory after its last event. The programs run on one clock, and each next one begins a number of
 * ticks, the offset, after the one before it; of events at the same time those of the first program
 * come first.
 *
 * Programs affect each other by calls of the device alone. So a run is the same, event for event,
 * for all offsets that leave these calls in their order, and every offset of two programs can be
 * simulated. Where no request is refused, the order does not matter: the sum of the memory that
 * each program reserves alone is enough whatever they do.
 */
#ifndef SEARCH_FIT_TOGETHER_H
#define SEARCH_FIT_TOGETHER_H

#include "search/fit_all.h"

struct frag_together {
	const struct frag_fit_case *programs;   /* borrowed; of one granularity and other memory */
	/* of each program: when its events happen, rising; NULL: at 0, 1, 2 */
	const int64_t *const *clocks;
	uint32_t count;
	bool every;                     /* every offset; of three programs and more only bounds */
	/* the only one; or a result: the last that fails below the smallest device */
	int64_t offset;
};

/*
 * When the events of a tape happen: recorded nanoseconds since the first one, never backwards.
 * *out is owned by the caller, and NULL where an event has no time. -FRAG_ENOMEM
 */
int frag_together_clock(int64_t **out, const struct frag_tape *tape, struct frag_error *err);

/* Fills in *fit, as frag_fit_walk() does; `reliable` is proven also after an interruption. */
int frag_together_fit(struct frag_fit *fit, struct frag_together *t,
		      const struct frag_fit_bounds *bounds, struct frag_error *err);

#endif
