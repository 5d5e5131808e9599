/* failure_text.c - what is said of a failed request, the same in every answer. */
#include "answers/failure_text.h"

#include <inttypes.h>

#include "base/parse.h"

/* "1.23 GiB of model.py:24 forward since the last optimizer step, 4 passes, none freed" */
static void add_past_accumulation(struct frag_words *w, const struct frag_accumulation *a, const char *tag)
{
	frag_add(w, "%s of %s ", SIZE(a->bytes), tag);
	if (a->after_step)
		frag_add(w, "since the last optimizer step, %" PRIu32 " passes", a->passes);
	else
		frag_add(w, "over the last %" PRIu32 " %s", a->passes,
			 a->in_step ? "optimizer steps" : "rounds");
	frag_add(w, a->larger ? ", in blocks that grow" : ", none freed");
}

/* "the attempt that failed at event 571 left 800.00 MiB behind (5 blocks of model.py:24 step)" */
static void add_past_attempt(struct frag_words *w, const struct frag_failed_attempt *a, const char *tag)
{
	frag_add(w, "the attempt that failed at event %" PRIu64 " left %s behind (%" PRIu64
		 " block%s of %s)", a->failed_at, SIZE(a->bytes), a->blocks, frag_s(a->blocks),
		 tag);
}

/* "733.96 MiB of model.py:26 run, 2.12 MiB per iteration over 346 iterations, none freed" */
static void add_past_leak(struct frag_words *w, const struct frag_past_leak *leak, const char *tag)
{
	frag_add(w, "%s of %s, %s per iteration over %" PRIu32 " iterations, none freed",
		 SIZE(leak->bytes), tag, SIZE(leak->an_iteration), leak->rounds);
}

static bool add_past(struct frag_words *w, enum frag_oom_verdict verdict,
		     const struct frag_oom_past *past, const char *tag)
{
	if (verdict == FRAG_VERDICT_FAILED_ATTEMPT)
		add_past_attempt(w, &past->attempt, tag);
	else if (verdict == FRAG_VERDICT_ACCUMULATION)
		add_past_accumulation(w, &past->accumulation, tag);
	else if (verdict == FRAG_VERDICT_LEAK)
		add_past_leak(w, &past->leak, tag);
	else
		return false;
	return true;
}

/* What was requested, and what there was, by the verdict. False: nothing is to be said. */
static bool add_sum(struct frag_words *w, const struct frag_failure *x)
{
	switch (x->verdict) {
	case FRAG_VERDICT_FAILED_ATTEMPT:
	case FRAG_VERDICT_ACCUMULATION:
	case FRAG_VERDICT_LEAK:
		return add_past(w, x->verdict, x->past, x->tag);
	case FRAG_VERDICT_TOO_LARGE:
		frag_add(w, "%s requested, %s usable", SIZE(x->need), SIZE(x->usable));
		return true;
	case FRAG_VERDICT_CAPACITY:
		if (x->active + x->need > x->usable)
			frag_add(w, "%s short of %s usable (%s active)",
				 SIZE(x->active + x->need - x->usable), SIZE(x->usable),
				 SIZE(x->active));
		else if (x->lower_bound > x->usable)
			frag_add(w, "the whole trace requests %s at its peak, %s usable",
				 SIZE(x->lower_bound), SIZE(x->usable));
		else
			frag_add(w, "%s requested, %s free in total", SIZE(x->demand), SIZE(x->free));
		return true;
	case FRAG_VERDICT_TRANSIENT:
		frag_add(w, "the same request succeeds at a second attempt");
		return true;
	case FRAG_VERDICT_PENDING:
		frag_add(w, "%s freed but still used by a stream, %s requested",
			 SIZE(x->pending), SIZE(x->need));
		return true;
	case FRAG_VERDICT_LIMIT:
		frag_add(w, "%s refused", SIZE(x->demand));
		if (x->limit != UINT64_MAX)
			frag_add(w, ": %s allows %s in total", x->limit_key ? x->limit_key
				 : "a fraction set by the program", SIZE(x->limit));
		return true;
	case FRAG_VERDICT_FRAGMENTATION:
		if (x->largest >= x->demand)
			frag_add(w, "%s free, contiguous, but the policy does not release it",
				 SIZE(x->largest));
		else
			frag_add(w, "%s free, largest contiguous block %s", SIZE(x->free),
				 SIZE(x->largest));
		return true;
	case FRAG_VERDICT_OUTSIDE:
	case FRAG_VERDICT_REFUSED:
	case FRAG_VERDICT_CONTRADICTION:
	case FRAG_VERDICT_NOT_DEVICE_MEMORY:
	case FRAG_VERDICT_UNKNOWN:
	case FRAG_VERDICT_NONE:
		return false;
	}
	return false;
}

void frag_put_failure(const struct frag_text_style *to, const struct frag_failure *x)
{
	struct frag_words w = WORDS(600);

	if (x->initial)
		frag_add(&w, "initial pool of %s requested, %s free", SIZE(x->demand), SIZE(x->free));
	else if (!add_sum(&w, x))
		return;
	frag_put_row(to, "verdict", "%s%s: %s", frag_oom_verdict_name(x->verdict),
		     !x->initial && x->verdict == FRAG_VERDICT_FRAGMENTATION && x->nearly_full
		     ? ", nearly full" : "", w.text);
}

void frag_put_gain(const struct frag_text_style *to, const char *setting, uint64_t left,
		   enum frag_oom_verdict verdict, const struct frag_oom_past *past)
{
	const struct frag_accumulation *a = &past->accumulation;
	const bool leak = verdict == FRAG_VERDICT_LEAK;
	const uint64_t each = leak ? past->leak.an_iteration
				   : a->bytes / (a->passes ? a->passes : 1);
	const char *one = leak ? "iteration" : a->in_step ? "optimizer step" : "pass";
	const char *several = leak ? "iterations" : a->in_step ? "optimizer steps" : "passes";

	if (left < 2 * each)
		frag_put_row(to, "set", "no setting helps: %s leaves %s, one more %s needs ~%s",
			     setting, SIZE(left), one, SIZE(each));
	else
		frag_put_row(to, "set", "no setting is a fix: %s leaves %s, for about %" PRIu64
			     " more %s", setting, SIZE(left), left / (each ? each : 1), several);
}

void frag_put_no_setting(const struct frag_text_style *to, uint32_t tried, enum frag_oom_verdict verdict)
{
	frag_put_row(to, "set", "no setting helps (%" PRIu32 " simulated)%s", tried,
		     frag_oom_is_size(verdict) ? "" : ": fragsim fit --settings all tries more");
}
