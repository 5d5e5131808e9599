/* oom_past.h - what of the history before a failed request explains its failure. */
#pragma once

#include "base/oom_verdict.h"
#include "explain/accumulation.h"
#include "explain/failed_attempt.h"
#include "explain/larger_blocks.h"
#include "explain/past_leak.h"

/* A failed attempt counts that would have sufficed, and is a tenth of what is alive. */
struct frag_oom_past {
	struct frag_accumulation accumulation;
	struct frag_past_leak leak;     /* where nothing accumulates */
	struct frag_failed_attempt attempt;
	struct frag_larger larger;
};

/* The tag that a verdict names; 0: none. */
static inline uint32_t frag_oom_past_tag(const struct frag_oom_past *past, enum frag_oom_verdict verdict)
{
	return verdict == FRAG_VERDICT_FAILED_ATTEMPT ? past->attempt.tag
	       : verdict == FRAG_VERDICT_ACCUMULATION ? past->accumulation.tag
	       : verdict == FRAG_VERDICT_LEAK	  ? past->leak.tag : 0;
}

/*
 * need: bytes of a block for the request; left: on the device; free: in segments. A leak counts that
 * is larger than both together: else free memory that is not contiguous explains more. -FRAG_ENOMEM
 */
int frag_oom_past_find(struct frag_oom_past *out, const struct frag_history *h, uint64_t at,
		       uint64_t need, uint64_t left, uint64_t free, struct frag_error *err);

/*
 * The failure that ended the program, where several were recorded: the last request, or the last
 * failure for which earlier attempts had left enough behind. Else FRAG_FIRST_FAILURE.
 */
#define FRAG_FIRST_FAILURE UINT64_MAX   /* as a step: that of the first failure, which is not known */
int frag_oom_past_last_failure(const struct frag_history *h, uint64_t *step, struct frag_error *err);
