/*
 * small_requests.h - the small requests of a run, apart from the others.
 *
 * What becomes of requests that a policy serves apart (policy/small_pool.h) depends on the device only
 * where it refuses something, and unused segments go back. So runs on many capacities have them
 * in common: small requests are simulated once, on a device without a limit, as a *way* that tells
 * when one segment more comes into use, and when one has nothing in it any more. That is all that
 * a run feeds its own policy of them: two requests that fill a segment, and that they are freed.
 * Where a refusal takes unused segments away, a way parts in two, and runs from which the same
 * refusals took some go on together.
 */
#ifndef ENGINE_SMALL_REQUESTS_H
#define ENGINE_SMALL_REQUESTS_H

#include "fragsim/engine.h"

/* What is known of the small requests of a tape; for any number of runs and threads. */
struct frag_smallreq;
struct frag_smallreq_timeline;

/* How far a run has come; zeroed: it has not begun. */
struct frag_smallreq_cursor {
	struct frag_smallreq_timeline *way;           /* owned by what is known */
	uint32_t event;                 /* the next */
	uint32_t next;                  /* the first change of the way that it has not had */
	uint32_t used, held;            /* small segments: in use, and with those that are unused */
};

/* Are small requests of both choices the same, so that they can have one? */
bool frag_smallreq_same(const struct frag_choice *a, const struct frag_choice *b);

/*
 * *out is NULL where the policy serves none apart, or too few, or the tape has more to it than
 * allocs and frees of one device. All is borrowed but the figures. -FRAG_ENOMEM
 */
int frag_apart_new(struct frag_smallreq **out, const struct frag_choice *choice,
		   const struct frag_tape *tape, const struct frag_device_figures *figures,
		   struct frag_error *err);
void frag_apart_del(struct frag_smallreq *apart);          /* NULL is fine */

/* Simulates so many events ahead of the runs, not as many as is worth it. Before the first. */
void frag_apart_set_ahead(struct frag_smallreq *apart, uint32_t events);

/* Is there room left for what more runs would make known? */
bool frag_apart_has_room(struct frag_smallreq *apart);

/*
 * As frag_sim_play() at FRAG_LEVEL_SURVIVE, up to event `until`, of a choice that is alike; what
 * the run has come to is the same, but for what is counted of its blocks.
 */
int frag_apart_play(struct frag_smallreq *apart, struct frag_smallreq_cursor *place,
		    struct frag_sim *sim, uint64_t until, struct frag_error *err);

/*
 * All that the future of such a run depends on beside its capacity, if its policy forgets
 * (policy/small_pool.h): equal words, equal future. Of ages only the order counts, of small segments
 * only how many there are.
 */
struct frag_state_key {
	uint64_t *words;
	uint32_t count, capacity;
};

/* A zeroed one, or one to be overwritten. False: memory is short. */
bool frag_apart_outline(const struct frag_smallreq *apart, const struct frag_smallreq_cursor *place,
		        const struct frag_sim *sim, struct frag_state_key *outline);

/* From here on frag_sim_interval() says of what comes alone for which totals it is the same. */
void frag_apart_begin_stretch(struct frag_sim *sim);

#endif
