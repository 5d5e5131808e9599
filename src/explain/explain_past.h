/* explain_past.h - what a program did before a failure, in an explanation. */
#pragma once

#include "explain/explanation.h"
#include "explain/oom_past.h"

/*
 * Names the code that requested what failed: m->step is set. -FRAG_ENOMEM
 */
int frag_explain_request(struct frag_explained *m, const struct frag_history *h,
			 const struct frag_tape *tape, struct frag_error *err);

/* Takes over what the past explains, with its tag. -FRAG_ENOMEM */
int frag_explain_past(struct frag_explained *m, const struct frag_oom_past *past,
		      const struct frag_tape *tape, struct frag_error *err);

/*
 * Plays a run from its begin to the failure at step `target`, over the recorded failures before
 * it; FRAG_FIRST_FAILURE: to the first. *halted: the next request fails; where that is not the
 * target, the last failure before it that does, or the first one that was not recorded as one.
 */
int frag_play_to_failure(struct frag_run_until_oom *run, const struct frag_fit_case *on,
			 const struct frag_history *h, uint64_t target, bool *halted,
			 struct frag_error *err);
