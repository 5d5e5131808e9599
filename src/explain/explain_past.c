/* explain_past.c - what a program did before a failure, in an explanation. */
#include "explain/explain_past.h"

#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "events/tape.h"
#include "live_blocks/live_blocks.h"

/* The stack of the alloc at this step, as the tape numbers it. */
static uint32_t stack_at(const struct frag_tape *tape, uint64_t step)
{
	const uint64_t event = frag_tape_event(tape, step);

	return event < tape->count ? tape->sites[tape->events[event].site].stack : 0;
}

int frag_explain_request(struct frag_explained *m, const struct frag_history *h,
			 const struct frag_tape *tape, struct frag_error *err)
{
	const struct frag_symbols *symbols = frag_tape_symbols(tape);
	const uint32_t i = frag_history_framed(h, m->step);

	m->recorded = frag_history_failures(h);
	if (i == FRAG_ALL)
		return 0;
	m->frames_at = h->requests[i].born;
	return frag_own_frames_json(symbols, stack_at(tape, m->frames_at), &m->frames)
	       && frag_tag_json(symbols, h->requests[i].tag, &m->requested_by)
	       ? 0 : frag_fail_nomem(err);
}

int frag_explain_past(struct frag_explained *m, const struct frag_oom_past *past,
		      const struct frag_tape *tape, struct frag_error *err)
{
	const uint32_t tag = frag_oom_past_tag(past, m->verdict);

	m->past = *past;
	return frag_tag_json(frag_tape_symbols(tape), tag, &m->past_tag) ? 0 : frag_fail_nomem(err);
}

static bool is_recorded_failure(const struct frag_history *h, uint64_t step)
{
	const uint32_t i = frag_history_find(h, step);

	return i < h->request_count && h->requests[i].born == step && h->requests[i].failed;
}

/* Goes on over recorded failures before the target; *passed: the last of them, or UINT64_MAX. */
static int play_over(struct frag_run_until_oom *run, const struct frag_history *h, uint64_t target,
		     uint64_t *passed, bool *halted, struct frag_error *err)
{
	int rc;

	*passed = UINT64_MAX;
	while (!(rc = frag_until_oom_play(run, UINT64_MAX, halted, err)) && *halted) {
		const uint64_t step = frag_until_oom_next(run).event.step;

		if (target == FRAG_FIRST_FAILURE || step >= target || !is_recorded_failure(h, step))
			break;
		*passed = step;
		rc = frag_until_oom_pass(run, err);
		if (rc)
			break;
	}
	return rc;
}

int frag_play_to_failure(struct frag_run_until_oom *run, const struct frag_fit_case *on,
			 const struct frag_history *h, uint64_t target, bool *halted,
			 struct frag_error *err)
{
	const struct frag_job job = run->job;
	uint64_t passed;
	int rc = play_over(run, h, target, &passed, halted, err);

	if (rc || *halted || passed == UINT64_MAX)
		return rc;
	frag_until_oom_fini(run);
	rc = frag_until_oom_begin(run, on, err);
	run->job = job;
	return rc ? rc : play_over(run, h, passed, &passed, halted, err);
}
