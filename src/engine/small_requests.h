/*
 * small_requests.h - simulates the small requests of a tape once for runs on many capacities.
 *
 * The device affects requests with separate segments (policy/small_pool.h) only when it
 * refuses memory and unused segments are released. They are simulated once, without a limit: the
 * *timeline* is the list of events at which one more segment comes into use, or one less. A run
 * plays the large requests alone, and at each such event two requests that fill a small segment,
 * or their frees. When a refusal releases empty small segments, the timeline branches.
 *
 * This is the fast way; the reference is frag_sim_play(), which gives the same results
 * (tests/property/fits.c). A search of settings takes half the time on traces of many small requests.
 */
#pragma once

#include "base/job.h"
#include "fragsim/engine.h"

/* The timelines of one tape and one rule of what is small; for any number of runs and threads. */
struct frag_smallreq;
struct frag_smallreq_timeline;

/* How far a run has come. Zeroed, it is at the first event. */
struct frag_smallreq_cursor {
	struct frag_smallreq_timeline *line;    /* borrowed; NULL: the first */
	uint32_t event;                         /* the next one to play */
	uint32_t next;                          /* the next change of the timeline */
	uint32_t used, held;            /* small segments in use; the same with the empty ones */
	bool branches;                  /* the last event released the empty ones */
};

/* All timelines of a search. Zeroed: none. Released with frag_smallreq_fini(). */
struct frag_smallreq_cache {
	struct frag_smallreq *newest;
	uint32_t ahead;                 /* events simulated ahead of the runs; 0: the default */
	struct frag_job job;            /* of the search; asked by whoever makes a timeline */
};

/*
 * Sets *out, which is owned by the cache, and the same for choices that round alike. NULL: the
 * policy has no separate small requests, or the tape too few, or the tape contains more than
 * allocs and frees of one device. The cache borrows tape and choice. -FRAG_ENOMEM
 * Devices of one tape may differ in the total alone. Not from two threads at once.
 */
int frag_smallreq_of(struct frag_smallreq_cache *cache, struct frag_smallreq **out,
		     const struct frag_choice *choice, const struct frag_tape *tape,
		     const struct frag_device_figures *figures, struct frag_error *err);
void frag_smallreq_fini(struct frag_smallreq_cache *cache);

/* False: the timelines have reached their limit of memory; new runs use frag_sim_play(). */
bool frag_smallreq_has_room(struct frag_smallreq *small);

/*
 * Plays the run from the cursor to event `until`, as frag_sim_play() does at FRAG_LEVEL_SURVIVE.
 * The outcome is the same; only the counts of blocks differ. -FRAG_EINTERRUPTED where the search is
 * stopped meanwhile.
 */
int frag_smallreq_play(struct frag_smallreq *small, struct frag_smallreq_cursor *cursor,
		       struct frag_sim *sim, uint64_t until, struct frag_error *err);
