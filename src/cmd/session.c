/* session.c - what the commands that run a trace do alike: files, progress, report, judgement. */
#include "cmd/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "cmd/exit_conditions.h"
#include "cmd/terminal.h"
#include "answers/report.h"

int frag_session_begin(struct frag_session *s, const struct frag_run_options *options,
		       const char *path, struct frag_error *err)
{
	s->options = options;
	s->outputs.steps.path = options->steps;
	s->outputs.steps.columns = &options->columns;
	s->outputs.placements.path = options->placements;
	s->outputs.json_path = options->json;
	s->outputs.html_path = options->html;
	s->outputs.profile_path = options->write_profile;
	if (options->profile_path && strcmp(path, "-") == 0
	    && strcmp(options->profile_path, "-") == 0)
		return frag_fail(err, FRAG_EUSAGE, "standard input can be read only once: the trace"
				 " or the profile");
	return frag_outputs_apart(&s->outputs, path, options->profile_path, err);
}

int frag_session_room(struct frag_session *s, uint32_t devices, struct frag_error *err)
{
	size_t count = s->options->choice_count;

	s->device_count = devices;
	s->sims = calloc(count, sizeof(*s->sims));
	s->charts = calloc(count * devices, sizeof(*s->charts));
	s->runs = calloc(count * devices, sizeof(*s->runs));
	return s->sims && s->charts && s->runs ? 0 : frag_fail_nomem(err);
}

int frag_session_add(struct frag_session *s, struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_observer chart = {
		.step = frag_chart_observe,
		.ctx = &s->charts[(size_t)s->sim_count * s->device_count],
	};

	s->sims[s->sim_count++] = sim;
	return s->options->report && frag_sim_observe(sim, &chart) ? frag_fail_nomem(err) : 0;
}

int frag_session_open(struct frag_session *s, struct frag_error *err)
{
	return frag_outputs_open(&s->outputs, s->sims, s->options->choices, s->sim_count,
				 s->device_count > 1, err);
}

void frag_session_warn(void *ctx, const char *message)
{
	struct frag_session *s = ctx;
	bool quiet = s->options->quiet;

	if (!quiet)
		frag_progress_end(&s->progress);
	frag_warn(&quiet, message);
}

void frag_session_progress(void *ctx, const struct frag_trace_info *info)
{
	struct frag_session *s = ctx;

	frag_progress_show(&s->progress, info);
}

/*
 * Results are taken from the simulations once, so that files, report and exit
 * status agree.
 */
void frag_session_collect(struct frag_session *s, bool interrupted)
{
	for (uint32_t i = 0; i < s->sim_count; i++) {
		uint32_t devices;
		const struct frag_result *results = frag_sim_results(s->sims[i], interrupted,
								     &devices);

		for (uint32_t d = 0; d < devices; d++, s->run_count++)
			s->runs[s->run_count] = (struct frag_report_run){
				.result = &results[d], .chart = &s->charts[s->run_count],
			};
	}
}

/* Of all policies the same marks are kept, but where an OOM ends one earlier. */
static void report_cut_marks(struct frag_session *s)
{
	char text[128];
	bool cut = false;

	for (uint32_t i = 0; i < s->run_count; i++)
		cut = cut || s->runs[i].result->marks_cut;
	snprintf(text, sizeof(text), "marks: the first %u of all %u devices are kept, and there"
		 " are more", FRAG_MARKS_ALL_MAX, s->device_count);
	if (cut)
		frag_session_warn(s, text);
}

/* Where there is no report that has it. */
static void report_beginnings(struct frag_session *s)
{
	char text[FRAG_BEGINNING_ROOM];

	for (uint32_t i = 0; i < s->run_count && !s->options->report; i++)
		if (frag_beginning_text(s->runs[i].result, i < s->device_count, text))
			frag_session_warn(s, text);
}

int frag_session_report(struct frag_session *s, const struct frag_trace *trace, int *status,
			struct frag_error *err)
{
	const struct frag_run_options *o = s->options;
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	struct frag_report report = {
		.colour = frag_terminal_colour(columns), .columns = columns,
		.summary = o->summary, .verbose = o->verbose, .answers = s->answers,
		.cut_short = s->cut_short,
		.by_default = o->by_default,
		.stacks = o->verbose || o->has_stacks,
		.trace = frag_trace_info(trace), .runs = s->runs, .gpu = &s->gpu,
	};
	int rc;

	FRAG_ASSERT(o);
	report.run_count = s->run_count;
	report_cut_marks(s);
	report_beginnings(s);
	rc = frag_outputs_finish(&s->outputs, &report, err);
	if (!rc && o->report) {
		frag_report_text(&report, stdout);
		rc = frag_flush_stdout(err);
	}
	/* no file takes its place before all that can fail has been done */
	rc = rc ? rc : frag_exit_status_of_runs(o, s->runs, s->run_count, status, err);
	return rc ? rc : frag_outputs_commit(&s->outputs, err);
}

void frag_session_fini(struct frag_session *s)
{
	frag_outputs_fini(&s->outputs);
	free(s->sims);
	free(s->charts);
	free(s->runs);
}
