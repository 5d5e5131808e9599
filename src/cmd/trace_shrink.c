/* trace_shrink.c - fragsim trace shrink: finds the smallest part of a trace that still has the OOM. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/atomic_file.h"
#include "cmd/loaded_trace.h"
#include "cmd/transform_trace.h"
#include "search/shrink_search.h"

struct shrink {
	struct frag_run_options run;
	struct frag_rewrite rewrite;
	bool keeps_oom;                 /* in any case */
	const char *policy;             /* NULL: that of the trace's kind */
	struct frag_loaded_trace traced;
	struct frag_reduce reduce;
	struct frag_candidate candidate;
	struct frag_trace_info head;    /* of what is written */
	char *mark;                     /* its meta, where the trace has none */
};

static const char *const keep_words[] = { "oom", NULL };

static const struct frag_opt opts[] = {
	{ 0, "keep", "WHAT", "oom: the event to keep (oom)",
	  FRAG_TRUTH(struct shrink, keeps_oom, keep_words, 0) },
	{ 'p', "policy", "NAME", "the policy, NAME[:key=value,...] (by the trace)",
	  FRAG_TEXT(struct shrink, policy) },
	FRAG_TOTAL_ROWS(FRAG_MEMBER(struct shrink, run.capacity, struct frag_capacity),
			"capacity of each device (0: unlimited)", UINT64_MAX),
	{ 0, "time", "TIME", "end the search early, with the smallest trace so far (60s)",
	  FRAG_SECONDS(struct shrink, run.seconds), .usual = FRAG_TIME_USUAL },
	{ 0, "tries", "N", "simulations at most (10000)",
	  FRAG_COUNT(struct shrink, reduce.tries_max, 0, FRAG_COUNT_MAX), .usual = 10000 },
	FRAG_REWRITE_OPTS(offsetof(struct shrink, rewrite)),
	{ 0 },
};

static int shrink_read_trace(struct shrink *s, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(s->traced.trace, &batch, err);
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			if (!frag_reduce_add(&s->reduce, &batch.records[i], &batch.events[i]))
				rc = frag_fail_nomem(err);
	} while (!rc && batch.count && !frag_interrupted(NULL));
	return rc;
}

static int write_rest(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	const struct shrink *s = ctx;
	const struct frag_event ev = { .op = 0 };
	int rc = sink->ops->begin(sink, &s->head, err);

	for (uint32_t i = 0; i < s->reduce.count && !rc; i++)
		rc = sink->ops->event(sink, &s->reduce.events[i].copy->rec, &ev, err);
	return rc ? rc : sink->ops->end(sink, err);
}

/* Why the search ended before its end. */
static void report_end(struct shrink *s)
{
	const uint64_t tries = s->reduce.tries, events = s->reduce.simulated;
	char note[200];

	snprintf(note, sizeof(note),
		 "ended after %" PRIu64 " simulation%s of %" PRIu64 " event%s with the smallest"
		 " trace so far; a larger --%s continues", tries, frag_s(tries), events,
		 frag_s(events), tries < s->reduce.tries_max ? "time" : "tries");
	frag_warn(&s->rewrite.quiet, note);
}

/*
 * The trace is copied once; each trial then takes its events from memory. The
 * search ends early where --time or --tries say so, and what is left then is
 * written all the same.
 */
static int reduce(struct shrink *s, const char *to, struct frag_error *err)
{
	const struct frag_loaded_trace *t = &s->traced;
	bool failed, minimal;
	int rc;

	frag_time_begin(s->run.seconds);
	rc = shrink_read_trace(s, err);
	s->head = *frag_trace_info(t->trace);
	frag_drop_beginning(&s->head, "the simulations begin without it", &s->rewrite.quiet);
	/* what is written has the same default policy; notes have been said of the policy already */
	rc = rc ? rc : frag_mark_head(&s->head, &s->mark, (const struct frag_trace *[]){ t->trace },
				      1, false, &(const struct frag_log){ .warn = NULL }, err);
	if (rc)
		return rc;
	s->head.devices = t->devices.figures;
	s->candidate = (struct frag_candidate){
		.choice = t->choices, .devices = t->devices.figures,
		.device_count = t->devices.count, .job.stop = frag_interrupted,
	};
	s->reduce.try_ctx = &s->candidate;
	s->reduce.enough = frag_time_is_up;
	rc = frag_reduce(&s->reduce, &failed, &minimal, err);
	if (!rc && !failed)
		return frag_fail(err, FRAG_EUSAGE, "%s: no out-of-memory under %s; --device-bytes"
				 " makes the device smaller", frag_input_name(s->head.path),
				 t->choices->text);
	rc = rc ? rc : frag_rewrite_into(&s->rewrite, s->head.path, to, write_rest, s, err);
	/* who shrinks a recording may not have thought of a policy */
	if (!rc && !s->policy && s->head.pytorch && !s->rewrite.quiet)
		frag_print_message("shrunk under %s", t->choices->text);
	if (!rc && !minimal)
		report_end(s);
	return rc;
}

static int lossy_form(const char *name, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; frag_sinks()[i]; i++)
		if (frag_sinks()[i]->lossless)
			frag_listed_add(&names, frag_sinks()[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "--to %s: %s is required", name,
			 frag_listed_text(&names, " or "));
}

/*
 * Checks the format of the output before the search: a format that loses events might lose the
 * failure with them. Settings in the trace are checked for the policy while it is read, as the
 * trials would each stumble over them.
 */
static int shrink_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct shrink *s = own;
	struct frag_taped_reading reading = {
		.quiet = s->rewrite.quiet, .records = true, .capacity = true,
	};
	int rc = s->policy ? frag_run_add_policy(&s->run, NULL, s->policy, err) : 0;

	rc = rc ? rc : frag_rewrite_find_form(&s->rewrite, args->words[1], err);
	if (!rc && !s->rewrite.form->lossless)
		rc = lossy_form(s->rewrite.form->name, err);
	if (rc)
		return rc;
	s->run.lenient = s->rewrite.lenient;
	rc = frag_taped_open(&s->traced, args->words[0], &s->run, frag_usual_policy, &reading, err);
	rc = rc ? rc : reduce(s, args->words[1], err);
	return frag_or_interrupted(rc, err);
}

static void shrink_fini(void *own)
{
	struct shrink *s = own;

	frag_reduce_fini(&s->reduce);
	frag_taped_close(&s->traced, 1);
	free(s->mark);
}

const struct frag_cmd frag_cmd_trace_shrink = {
	.name = "trace shrink",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] IN OUT",
	.summary = "reduce a trace to what still runs out of memory",
	.opts = opts,
	.needs = FRAG_NEEDS_IN_OUT | FRAG_NEEDS_RUN,
	.size = sizeof(struct shrink),
	.exec = shrink_exec,
	.fini = shrink_fini,
};
