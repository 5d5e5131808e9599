/*
 * failure_text.h - what is said of a failed request, the same in every answer: the sentence of its
 * verdict, what a setting gains, and that none helps.
 */
#pragma once

#include "answers/text_style.h"
#include "explain/oom_past.h"

/* The failure, in bytes; a value that its verdict has no use for may be 0. */
struct frag_failure {
	enum frag_oom_verdict verdict;
	bool nearly_full;               /* of fragmentation */
	bool initial;                   /* the policy's initial pool was refused: no request */
	const struct frag_oom_past *past;
	const char *tag;                /* what the past is about */
	uint64_t need;                  /* of a block that satisfies the request */
	uint64_t demand;                /* last requested from the device */
	uint64_t active, pending;       /* pending: freed, but still used by a stream */
	uint64_t free;                  /* in segments, and of the device */
	uint64_t largest;               /* frag_oom_piece() */
	uint64_t usable;                /* of the device */
	uint64_t lower_bound;           /* what the whole trace requests at its peak; 0: unknown */
	uint64_t limit;                 /* UINT64_MAX: none */
	const char *limit_key;          /* the setting that sets it; NULL: a fraction does */
};

/* The row of the verdict; none where the verdict is none, or is known from a message alone. */
void frag_put_failure(const struct frag_text_style *to, const struct frag_failure *failure);

/* Does memory grow on, so that a setting only moves the failure? */
static inline bool frag_verdict_grows(enum frag_oom_verdict verdict)
{
	return verdict == FRAG_VERDICT_ACCUMULATION || verdict == FRAG_VERDICT_LEAK;
}
/* Then: what a setting leaves, and how much further that lasts. */
void frag_put_gain(const struct frag_text_style *to, const char *setting, uint64_t left,
		   enum frag_oom_verdict verdict, const struct frag_oom_past *past);

/* None of that many settings fits. */
void frag_put_no_setting(const struct frag_text_style *to, uint32_t tried, enum frag_oom_verdict verdict);
