/* oom_cause.h - finds the cause of a failed request, for `run`, `explain` and the HTML report. */
#ifndef SEARCH_OOM_CAUSE_H
#define SEARCH_OOM_CAUSE_H

#include "base/oom_verdict.h"
#include "search/find_move.h"
#include "search/fit_intervals.h"

struct frag_oom_diagnosis {
	enum frag_oom_cause cause;
	bool nearly_full;               /* of fragmentation */
	bool waiting_succeeds;          /* the request succeeds after all pending frees */
};

/*
 * A simulation right after its failed request. request is NULL where the policy's initial pool
 * was refused; lower_bound: peak of the bytes that the whole trace requests, 0 where unknown.
 */
struct frag_failed_state {
	const struct frag_sim *after;
	uint32_t device;
	const struct frag_device_figures *figures;
	const struct frag_memory_state *memory;
	const struct frag_next *request;
	uint64_t lower_bound;
};

/* Judges a failed request; attempts it again in copies of the simulation. -FRAG_ENOMEM */
int frag_oom_diagnose(struct frag_oom_diagnosis *out, const struct frag_failed_state *state,
		      struct frag_error *err);

/* Judges by the OOM record alone, where nothing was simulated again. */
struct frag_oom_diagnosis frag_oom_diagnose_record(const struct frag_result *run);

/*
 * Simulates the case up to its first OOM and judges that; FRAG_CAUSE_NONE where it has none.
 * -FRAG_ENOMEM, -FRAG_EINTERRUPTED, a failure of the policy
 */
int frag_oom_find_cause(struct frag_oom_diagnosis *out, const struct frag_fit_case *subject,
			uint64_t lower_bound, struct frag_error *err);

#endif
