/*
 * prime_pool.h - the size of the block whose allocation and free, first of all in each private
 * pool, lowers the peak of reserved bytes most.
 *
 * The pool then has one large segment. The peak neither falls nor rises steadily with the size of
 * that block, so each size is simulated, in steps of FRAG_PRIME_STEP. Sizes above all that private
 * pools reserve without such blocks cannot lower the peak: a private pool keeps its segments, so
 * that it has more from its first event on.
 */
#pragma once

#include "base/job.h"
#include "events/tape.h"
#include "fragsim/engine.h"

#define FRAG_PRIME_STEP (UINT64_C(2) << 20)

/* Of one policy, on devices without a limit; reserved: the sum of the peaks of all devices. */
struct frag_primed {
	uint64_t without;               /* reserved without such blocks; UINT64_MAX: a request fails, likewise below */
	uint64_t bytes, reserved;       /* the smallest size with the lowest peak, if it is below
					 * `without`; 0: no size lowers it */
};

struct frag_prime_search {
	/* input, borrowed; of each private pool of the tape, the first alloc is the block */
	const struct frag_tape *tape;
	const struct frag_choice *choices;
	const struct frag_device_figures *devices;
	uint32_t choice_count;
	uint64_t runs;                  /* simulations of a policy at most */
	struct frag_job job;            /* shows "sizes" */
	/* results */
	struct frag_primed *of;         /* one a policy; NULL: nothing was simulated */
	uint64_t last;                  /* the largest size that was tried */
	uint64_t bound;                 /* no larger one lowers the peak */
};

/*
 * Fills in the results; the caller must release them with frag_prime_search_fini(), also on
 * failure. Results after -FRAG_EINTERRUPTED are of the sizes up to `last`. -FRAG_ENOMEM
 */
int frag_prime_search_run(struct frag_prime_search *s, struct frag_error *err);
void frag_prime_search_fini(struct frag_prime_search *s);       /* a zeroed one is fine */
