/* oom_verdict.c - names the cause of an out-of-memory error. */
#include "base/oom_verdict.h"

#include <stddef.h>

const char *const frag_oom_cause_names[] = {
	[FRAG_CAUSE_NONE] = NULL, [FRAG_CAUSE_TOO_LARGE] = "request_too_large",
	[FRAG_CAUSE_FAILED_ATTEMPT] = "failed_attempt",
	[FRAG_CAUSE_ACCUMULATION] = "accumulation", [FRAG_CAUSE_LEAK] = "leak",
	[FRAG_CAUSE_CAPACITY] = "capacity", [FRAG_CAUSE_TRANSIENT] = "transient",
	[FRAG_CAUSE_LIMIT] = "limit", [FRAG_CAUSE_PENDING] = "pending",
	[FRAG_CAUSE_FRAGMENTATION] = "fragmentation", [FRAG_CAUSE_OUTSIDE] = "outside",
	[FRAG_CAUSE_REFUSED] = "refused", [FRAG_CAUSE_CONTRADICTION] = "contradiction",
	[FRAG_CAUSE_NOT_DEVICE_MEMORY] = "not_device_memory",
	[FRAG_CAUSE_UNKNOWN] = "unknown", NULL,
};

const char *frag_oom_cause_name(enum frag_oom_cause cause)
{
	return frag_oom_cause_names[cause];
}

enum frag_oom_cause frag_oom_cause_of(const struct frag_oom_facts *f)
{
	const bool limited = f->usable >= 0, exceeds = limited && f->live + f->need > f->usable;
	const bool without_pending = exceeds && f->live - f->pending + f->need <= f->usable;

	if (limited && f->need > f->usable)
		return FRAG_CAUSE_TOO_LARGE;
	/* what the program did explains more than how full the device is */
	if (!f->retry_succeeds && !f->waiting_succeeds && !without_pending) {
		if (f->failed_attempt)
			return FRAG_CAUSE_FAILED_ATTEMPT;
		if (f->accumulation)
			return FRAG_CAUSE_ACCUMULATION;
		if (f->leak)
			return FRAG_CAUSE_LEAK;
	}
	if (limited && f->lower_bound > f->usable)
		return FRAG_CAUSE_CAPACITY;
	if (exceeds && !without_pending)
		return FRAG_CAUSE_CAPACITY;
	if (f->retry_succeeds)
		return FRAG_CAUSE_TRANSIENT;
	if (f->limited)
		return FRAG_CAUSE_LIMIT;
	return f->waiting_succeeds || without_pending ? FRAG_CAUSE_PENDING
						      : FRAG_CAUSE_FRAGMENTATION;
}

bool frag_oom_is_nearly_full(const struct frag_oom_facts *f)
{
	/* 95 hundredths in whole numbers: sizes are below 2^53 */
	return f->usable >= 0 && 20 * (f->live + f->need) > 19 * f->usable;
}
