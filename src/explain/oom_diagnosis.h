/* oom_diagnosis.h - judges a failed request, in copies of its simulation. */
#pragma once

#include "base/oom_verdict.h"
#include "explain/oom_past.h"
#include "explain/run_until_oom.h"

struct frag_oom_diagnosis {
	enum frag_oom_verdict verdict;
	bool nearly_full;               /* of fragmentation */
	bool waiting_succeeds;          /* the request succeeds after all pending frees */
	struct frag_oom_past past;
	struct frag_text past_tag;      /* of what the verdict names; the tape's; text NULL: none */
	struct frag_text requested_by;  /* likewise: the innermost own frame of the request, or */
	bool requested_before;          /* of the last one before it that has frames */
	struct frag_recorded_failures recorded;
};

/*
 * A simulation right after its failed request. request is NULL where the policy's initial pool
 * was refused; lower_bound: peak of the bytes that the whole trace requests, 0 where unknown.
 * history: NULL where it was not read.
 */
struct frag_failed_state {
	const struct frag_sim *after;
	uint32_t device;
	const struct frag_device_figures *figures;
	const struct frag_memory_state *memory;
	const struct frag_next *request;
	const struct frag_history *history;
	uint64_t lower_bound;
};

/* The verdict of the facts alone, with its qualifiers. */
struct frag_oom_diagnosis frag_oom_diagnosis_of(const struct frag_oom_facts *facts);

/* Judges a failed request; attempts it again in copies of the simulation. -FRAG_ENOMEM */
int frag_oom_diagnose(struct frag_oom_diagnosis *out, const struct frag_failed_state *state,
		      struct frag_error *err);
