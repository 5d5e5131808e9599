/* oom_verdict.c - the verdict on an out-of-memory error. */
#include "base/oom_verdict.h"

#include <stddef.h>

const char *const frag_oom_verdict_names[] = {
	[FRAG_VERDICT_NONE] = NULL, [FRAG_VERDICT_TOO_LARGE] = "request_too_large",
	[FRAG_VERDICT_FAILED_ATTEMPT] = "failed_attempt",
	[FRAG_VERDICT_ACCUMULATION] = "accumulation", [FRAG_VERDICT_LEAK] = "leak",
	[FRAG_VERDICT_CAPACITY] = "capacity", [FRAG_VERDICT_TRANSIENT] = "transient",
	[FRAG_VERDICT_LIMIT] = "limit", [FRAG_VERDICT_PENDING] = "pending",
	[FRAG_VERDICT_FRAGMENTATION] = "fragmentation", [FRAG_VERDICT_OUTSIDE] = "outside",
	[FRAG_VERDICT_REFUSED] = "refused", [FRAG_VERDICT_CONTRADICTION] = "contradiction",
	[FRAG_VERDICT_NOT_DEVICE_MEMORY] = "not_device_memory",
	[FRAG_VERDICT_UNKNOWN] = "unknown", NULL,
};

const char *frag_oom_verdict_name(enum frag_oom_verdict verdict)
{
	return frag_oom_verdict_names[verdict];
}

enum frag_oom_verdict frag_oom_verdict_of(const struct frag_oom_facts *f)
{
	const bool limited = f->usable >= 0, exceeds = limited && f->live + f->need > f->usable;
	const bool without_pending = exceeds && f->live - f->pending + f->need <= f->usable;

	if (limited && f->need > f->usable)
		return FRAG_VERDICT_TOO_LARGE;
	/* what the program did explains more than how full the device is */
	if (!f->retry_succeeds && !f->waiting_succeeds && !without_pending) {
		if (f->failed_attempt)
			return FRAG_VERDICT_FAILED_ATTEMPT;
		if (f->accumulation)
			return FRAG_VERDICT_ACCUMULATION;
		if (f->leak)
			return FRAG_VERDICT_LEAK;
	}
	if (limited && f->lower_bound > f->usable)
		return FRAG_VERDICT_CAPACITY;
	if (exceeds && !without_pending)
		return FRAG_VERDICT_CAPACITY;
	if (f->retry_succeeds)
		return FRAG_VERDICT_TRANSIENT;
	if (f->limited)
		return FRAG_VERDICT_LIMIT;
	return f->waiting_succeeds || without_pending ? FRAG_VERDICT_PENDING
						      : FRAG_VERDICT_FRAGMENTATION;
}

bool frag_oom_is_nearly_full(const struct frag_oom_facts *f)
{
	/* 95 hundredths in whole numbers: sizes are below 2^53 */
	return f->usable >= 0 && 20 * (f->live + f->need) > 19 * f->usable;
}
