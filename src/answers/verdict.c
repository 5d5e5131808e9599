/* verdict.c - recorded and simulated decisions compared, for people. */
#include "answers/report.h"

#include <inttypes.h>

#include "events/recording_info.h"
#include "verify/verifier.h"

#define SHOWN_MAX 3             /* differences */
#define EVENTS_BEFORE 3
#define EVENTS_BEHIND 1

static const char *const decision_names[] = {
	[FRAG_DECIDED_ADDRESS] = "a block's address",
	[FRAG_DECIDED_ALLOC] = "a segment obtained",
	[FRAG_DECIDED_FREE] = "a segment released",
	[FRAG_DECIDED_MAP] = "pages mapped",
	[FRAG_DECIDED_UNMAP] = "pages unmapped",
	[FRAG_DECIDED_OOM] = "an out-of-memory",
};

static struct frag_match_count sum(const struct frag_match_count *score, enum frag_decision a,
			     enum frag_decision b)
{
	return (struct frag_match_count){ .agree = score[a].agree + score[b].agree,
				    .of = score[a].of + score[b].of };
}

static void put_scores(const struct frag_match_count *score, FILE *f)
{
	const struct frag_match_count gains = sum(score, FRAG_DECIDED_ALLOC, FRAG_DECIDED_MAP);
	const struct frag_match_count losses = sum(score, FRAG_DECIDED_FREE, FRAG_DECIDED_UNMAP);
	const struct frag_match_count *where = &score[FRAG_DECIDED_ADDRESS];
	const struct frag_match_count *ooms = &score[FRAG_DECIDED_OOM];

	fprintf(f, "%" PRIu64 " of %" PRIu64 " addresses, %" PRIu64 " of %" PRIu64
		" device allocations agree\n", where->agree, where->of, gains.agree, gains.of);
	if (losses.of)
		fprintf(f, "%" PRIu64 " of %" PRIu64 " device frees agree\n", losses.agree,
			losses.of);
	if (ooms->of)
		fprintf(f, "%" PRIu64 " of %" PRIu64 " out-of-memory agree\n", ooms->agree,
			ooms->of);
}

static void put_side(const char *who, bool made, uint64_t address, uint64_t bytes, FILE *f)
{
	fprintf(f, "  %-10s", who);
	if (!made)
		fputs("nothing", f);
	else if (address != FRAG_NOWHERE)
		fprintf(f, "0x%" PRIx64, address);
	else
		fputs("a place that the log does not have", f);
	if (made && bytes)
		fprintf(f, ", %s", SIZE(bytes));
	fputc('\n', f);
}

static void verdict_put_event(const struct frag_snap_device *d, uint32_t i, bool this, FILE *f)
{
	const struct frag_logged *e = &d->log[i];

	fprintf(f, "  %c [%" PRIu32 "] %-14s 0x%" PRIx64 " %s", this ? '>' : ' ', i,
		frag_action_names[e->action], e->addr, SIZE(e->size));
	if (e->stream)
		fprintf(f, ", stream 0x%" PRIx64, e->stream);
	if (e->pool && e->pool != FRAG_NO_POOL)
		fprintf(f, ", private pool %" PRIu32, e->pool);
	fputc('\n', f);
}

static void put_difference(const struct frag_difference *d, uint32_t number,
			   const struct frag_snapshot *s, FILE *f)
{
	const struct frag_snap_device *dev = &s->devices[d->device];
	uint32_t first = d->event > EVENTS_BEFORE ? d->event - EVENTS_BEFORE : 0;

	fprintf(f, "\ndifference %" PRIu32 ": %s, event %" PRIu64 ", device_traces[%" PRIu32 "][%"
		PRIu32 "]\n", number, decision_names[d->decision], d->step, d->device, d->event);
	if (d->decision == FRAG_DECIDED_OOM) {
		fputs("  recorded  OOM\n  simulated a block\n", f);
	} else {
		put_side("recorded", d->in_log, d->recorded, d->recorded_bytes, f);
		put_side("simulated", d->in_run, d->simulated, d->simulated_bytes, f);
	}
	for (uint32_t i = first; i < dev->log_count && i <= d->event + EVENTS_BEHIND; i++)
		verdict_put_event(dev, i, i == d->event, f);
}

/*
 * Private pools are listed apart, as their decisions do not count: see
 * fragsim-verify(1).
 */
void frag_report_verdict(const struct frag_verification *v, const struct frag_trace *trace,
			 const char *settings, FILE *f)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	const struct frag_log_check *log = &frag_trace_info(trace)->log;
	uint64_t apart = 0;

	fprintf(f, "%s under %s, of equal blocks %s first\n",
		SHOWN(frag_input_name(frag_trace_info(trace)->path)),
		*settings ? SHOWN(settings) : "default settings",
		v->by_creation ? "the one created"
		: v->by_age ? "that of the older segment" : "that of the lower segment");
	if (log->changed_to)
		fprintf(f, "and under %s from event %" PRIu64 " on, as the log shows\n",
			SHOWN(log->changed_to), log->changed_at);
	if (v->guessed)
		fprintf(f,
			"the age of %" PRIu64 " segment%s from before the history is derived from"
			" where blocks went\n", v->guessed, frag_s(v->guessed));
	put_scores(v->score, f);
	for (int i = 0; i < FRAG_DECISIONS; i++)
		apart += v->apart[i].of;
	if (apart) {
		fputs("in private pools, which do not count: ", f);
		put_scores(v->apart, f);
	}
	if (v->not_restored)
		fprintf(f, "%" PRIu64 " block%s from before the history could not be"
			" restored at %s\n", v->not_restored, frag_s(v->not_restored),
			v->not_restored == 1 ? "its address" : "their addresses");
	for (uint32_t i = 0; i < v->difference_count && i < SHOWN_MAX; i++)
		put_difference(&v->differences[i], i + 1, s, f);
	if (v->difference_count > SHOWN_MAX)
		fprintf(f, "\nand %" PRIu64 " difference%s more; one wrong block often moves those"
			" after it\n", v->difference_count - SHOWN_MAX,
			frag_s(v->difference_count - SHOWN_MAX));
}
