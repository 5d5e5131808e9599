/*
 * small_requests.h - the small requests of a tape, simulated once for runs on many capacities.
 *
 * What becomes of requests that a policy serves from segments of their own (policy/small_pool.h)
 * depends on the device only where it refuses something and unused segments go back. So they are
 * simulated once, without a limit, as a *timeline* of the events at which one segment more comes
 * into use, or one becomes empty. A run plays the large requests alone, and at each such event two
 * requests that fill a small segment, or their frees. Where a refusal takes empty small segments
 * away, the timeline branches; runs with the same refusals share a branch.
 *
 * The reference is the plain way, frag_sim_play(): the results are the same. The gain is that of
 * `tune` on traces of many small requests: two to six times.
 */
#ifndef ENGINE_SMALL_REQUESTS_H
#define ENGINE_SMALL_REQUESTS_H

#include "fragsim/engine.h"

/* What is known of the small requests of a tape; for any number of runs and threads. */
struct frag_smallreq;
struct frag_smallreq_timeline;

/* How far a run has come; zeroed: it has not begun. */
struct frag_smallreq_cursor {
	struct frag_smallreq_timeline *line;    /* borrowed; NULL: the first */
	uint32_t event;                 /* the next */
	uint32_t next;                  /* the first change of the timeline that it has not had */
	uint32_t used, held;            /* small segments: in use, and with the empty ones */
};

/* Those of several tapes and choices. Zeroed: none. */
struct frag_smallreq_cache {
	struct frag_smallreq_entry {
		const struct frag_tape *tape;           /* borrowed, as the next */
		const struct frag_choice *choice;
		struct frag_smallreq *small;
	} *entries;
	uint32_t count, capacity;
};

/*
 * *out belongs to the cache, and is the same for choices that round alike. NULL: the policy serves
 * no requests separately, or too few, or the tape contains more than allocs and frees of one
 * device. -FRAG_ENOMEM
 */
int frag_smallreq_of(struct frag_smallreq_cache *cache, struct frag_smallreq **out,
		     const struct frag_choice *choice, const struct frag_tape *tape,
		     const struct frag_device_figures *figures, struct frag_error *err);
void frag_smallreq_fini(struct frag_smallreq_cache *cache);

/* For tests: simulates so many events ahead of the runs. Before the first run. */
void frag_smallreq_set_ahead(struct frag_smallreq *small, uint32_t events);

/* False: the timelines take the memory that they may, and no more runs should begin. */
bool frag_smallreq_has_room(struct frag_smallreq *small);

/*
 * As frag_sim_play() at FRAG_LEVEL_SURVIVE, up to event `until`. The outcome of the run is the
 * same; only the counts of its blocks differ.
 */
int frag_smallreq_play(struct frag_smallreq *small, struct frag_smallreq_cursor *cursor,
		       struct frag_sim *sim, uint64_t until, struct frag_error *err);

#endif
