/* oom_past.c - what of the history before a failed request explains its failure. */
#include "explain/oom_past.h"

#include "fragsim/metrics.h"

#define ATTEMPT_SHARE 10        /* a tenth of what is alive */

int frag_oom_past_find(struct frag_oom_past *out, const struct frag_history *h, uint64_t at,
		       uint64_t need, uint64_t left, uint64_t free, struct frag_error *err)
{
	int rc = frag_find_accumulation(&out->accumulation, h, at, err);

	out->leak = (struct frag_past_leak){ .bytes = 0 };
	if (!rc && !out->accumulation.bytes)
		rc = frag_find_leak(&out->leak, h, at, err);
	rc = rc ? rc : frag_find_failed_attempt(&out->attempt, h, at, err);
	rc = rc ? rc : frag_find_larger(&out->larger, h, at, err);
	if (!rc && (out->attempt.bytes + left < need
		    || out->attempt.bytes < frag_history_live(h, at) / ATTEMPT_SHARE))
		out->attempt = (struct frag_failed_attempt){ .bytes = 0 };
	if (out->leak.bytes <= left + free)
		out->leak = (struct frag_past_leak){ .bytes = 0 };
	return rc;
}

int frag_oom_past_last_failure(const struct frag_history *h, uint64_t *step, struct frag_error *err)
{
	const uint32_t failures = frag_history_failures(h).count;
	int rc = 0;

	*step = FRAG_FIRST_FAILURE;
	if (failures < 2 || failures >= FRAG_OOMS_MAX)
		return 0;
	for (uint32_t i = h->request_count; i-- > 0 && *step == FRAG_FIRST_FAILURE && !rc;) {
		struct frag_failed_attempt attempt = { .bytes = 0 };

		if (!h->requests[i].failed)
			continue;
		if (i + 1 < h->request_count)
			rc = frag_find_failed_attempt(&attempt, h, h->requests[i].born, err);
		if (i + 1 == h->request_count
		    || attempt.bytes > frag_history_live(h, h->requests[i].born) / ATTEMPT_SHARE)
			*step = h->requests[i].born;
	}
	return rc;
}
