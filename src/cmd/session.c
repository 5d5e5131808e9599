/* session.c - what run, report and replay do alike: files, answers, report, exit status. */
#include "cmd/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "policy/policies.h"
#include "cmd/interrupt.h"
#include "documents/documents.h"
#include "answers/page_write.h"
#include "cmd/run_options.h"
#include "cmd/progress.h"
#include "answers/report.h"

#define FILES(o) { &(o)->steps.file, &(o)->placements.file, &(o)->json, &(o)->html, &(o)->profile }

static enum frag_rows_form form_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".ndjson") == 0 || strcmp(dot, ".jsonl") == 0)
		? FRAG_ROWS_NDJSON : FRAG_ROWS_CSV;
}

/*
 * The first policy writes into the file, the others into spools. A stream counts
 * its spools while it opens them, so that a failure releases only the opened ones.
 */
static int open_stream(struct frag_stream *s, struct frag_sim *const *sims,
		       const struct frag_choice *choices, uint32_t count, bool many_devices,
		       int (*observe)(void *, const struct frag_step *, struct frag_error *),
		       struct frag_error *err)
{
	int rc;

	FRAG_ASSERT(count > 0);
	if (!s->path)
		return 0;
	s->spools = calloc(count, sizeof(*s->spools));
	s->rows = calloc(count, sizeof(*s->rows));
	if (!s->spools || !s->rows)
		return frag_fail_nomem(err);
	frag_register_partial_file(&s->file);
	rc = frag_outfile_open(&s->file, s->path, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		struct frag_outfile *out = i ? &s->spools[i - 1] : &s->file;
		struct frag_observer observer = { .step = observe, .ctx = &s->rows[i] };

		s->count = i + 1;
		if (i)
			rc = frag_outfile_spool(out, &s->file, err);
		if (!rc && !frag_rows_init(&s->rows[i], out, s->form, s->columns,
					   count > 1 ? choices[i].text : NULL, many_devices))
			rc = frag_fail_nomem(err);
		if (frag_compact_is(choices[i].ops))
			frag_rows_keep_ids(&s->rows[i]);
		if (!rc)
			rc = frag_sim_observe(sims[i], &observer);
	}
	return rc;
}

static int open_document(struct frag_outfile *f, const char *path, struct frag_error *err)
{
	if (!path)
		return 0;
	frag_register_partial_file(f);
	return frag_outfile_open(f, path, err);
}

static int outputs_open(struct frag_outputs *o, struct frag_sim *const *sims,
		      const struct frag_choice *choices, uint32_t count, bool many_devices,
		      struct frag_error *err)
{
	int rc;

	if (o->steps.path)
		o->steps.form = form_of(o->steps.path);
	o->placements.form = FRAG_ROWS_NDJSON;
	rc = open_stream(&o->steps, sims, choices, count, many_devices, frag_steps_observe, err);
	if (!rc && o->steps.path && o->steps.form == FRAG_ROWS_CSV)
		frag_steps_header(&o->steps.file, o->steps.columns, count > 1);
	rc = rc ? rc : open_stream(&o->placements, sims, choices, count, many_devices,
				   frag_placements_observe, err);
	rc = rc ? rc : open_document(&o->json, o->json_path, err);
	rc = rc ? rc : open_document(&o->html, o->html_path, err);
	return rc ? rc : open_document(&o->profile, o->profile_path, err);
}

/* Brings the policies' rows together. */
static int outputs_gather(struct frag_stream *s, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 1; i < s->count && !rc; i++)
		rc = frag_outfile_append(&s->file, &s->spools[i - 1], err);
	return rc;
}

/* Writes the documents with the results of all runs. */
static int write_documents(struct frag_outputs *o, const struct frag_report *report,
			   struct frag_error *err)
{
	const struct frag_result **runs = malloc((report->run_count + 1) * sizeof(*runs));
	int rc = 0;

	if (!runs)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < report->run_count; i++)
		runs[i] = report->runs[i].result;
	if (o->json.path)
		rc = frag_result_write(report->trace, runs, report->answers, report->run_count,
				       &o->json, err);
	if (!rc && o->html.path)
		rc = frag_page_write(o->section, 1, o->command, &o->html, err);
	if (!rc && o->profile.path)
		rc = frag_profile_write(report->gpu, runs, report->run_count, &o->profile, err);
	free(runs);
	return rc;
}

static int outputs_finish(struct frag_outputs *o, const struct frag_report *report,
			struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(o);
	int rc = outputs_gather(&o->steps, err);

	rc = rc ? rc : outputs_gather(&o->placements, err);
	rc = rc ? rc : write_documents(o, report, err);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++)
		if (files[i]->path)
			rc = frag_outfile_finish(files[i], err);
	return rc;
}

static int outputs_commit(struct frag_outputs *o, struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(o);

	return frag_outfile_commit_all(files, sizeof(files) / sizeof(files[0]), err);
}

static void stream_fini(struct frag_stream *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		frag_rows_fini(&s->rows[i]);
	for (uint32_t i = 1; i < s->count; i++)
		frag_outfile_abandon(&s->spools[i - 1]);
	frag_outfile_abandon(&s->file);
	free(s->spools);
	free(s->rows);
}

static void outputs_fini(struct frag_outputs *o)
{
	stream_fini(&o->steps);
	stream_fini(&o->placements);
	frag_outfile_abandon(&o->json);
	frag_outfile_abandon(&o->html);
	frag_outfile_abandon(&o->profile);
	frag_register_partial_file(NULL);
}

/* The trace and the profile are the inputs, every file that the options name is an output. */
int frag_session_begin(struct frag_session *s, const struct frag_run_options *options,
		       const char *path, struct frag_error *err)
{
	const char *const outputs[] = {
		options->steps, options->placements, options->json, options->html,
		options->write_profile,
	};
	struct frag_files files = { .input_count = 0 };

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
	frag_files_read(&files, &path, 1, "the trace");
	frag_files_read(&files, &options->profile_path, 1, "the profile");
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		frag_files_write(&files, outputs[i]);
	return frag_files_check(&files, NULL, err);
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
	return outputs_open(&s->outputs, s->sims, s->options->choices, s->sim_count,
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

static int judge_run(const struct frag_run_options *o, const struct frag_result *result,
		     int *status, struct frag_error *err)
{
	struct frag_finding found;
	char who[600];

	snprintf(who, sizeof(who), "%s on device %u", result->choice.text, result->device);
	for (uint32_t k = 0; k < o->condition_count; k++) {
		int rc = frag_condition_holds(&o->conditions[k], result, NULL, who, &found, err);

		if (rc < 0)
			return rc;
		if (rc)
			frag_print_message("%s, device %u: %s", result->choice.text, result->device,
					   found.line);
		*status = rc ? 1 : *status;
	}
	return 0;
}

/*
 * *status becomes 3 where a run had an OOM, and 1 where a condition holds; each such condition is a
 * line on standard error.
 */
static int exit_status_of_runs(const struct frag_run_options *options,
			       const struct frag_report_run *runs, uint32_t count, int *status,
			       struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i].result->counts.ooms)
			*status = 3;
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = judge_run(options, runs[i].result, status, err);
	return rc;
}

/* Writes the files, prints the report, finds the exit status; then the files take their places. */
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
	rc = outputs_finish(&s->outputs, &report, err);
	if (!rc && o->report) {
		frag_report_text(&report, stdout);
		rc = frag_flush_stdout(err);
	}
	/* no file is committed before everything that can fail is done */
	rc = rc ? rc : exit_status_of_runs(o, s->runs, s->run_count, status, err);
	return rc ? rc : outputs_commit(&s->outputs, err);
}

void frag_session_fini(struct frag_session *s)
{
	outputs_fini(&s->outputs);
	free(s->sims);
	free(s->charts);
	free(s->runs);
}

/* Of events that are kept: about ten million of them. */
#define TAPE_MAX (UINT64_C(256) << 20)

int frag_answers_begin(struct frag_answers *a, const struct frag_session *s,
		       const struct frag_trace *trace, struct frag_error *err)
{
	*a = (struct frag_answers){ .count = 0 };
	if (!s->options->html
	    && (s->options->quiet || !(s->options->report || s->options->json)))
		return 0;
	/* a tape takes all of a trace: a pipe's producer is not kept busy for a result alone */
	if (!s->options->report && !s->options->html && frag_trace_is_stream(trace))
		return 0;
	a->writer = frag_tape_writer_new(trace, TAPE_MAX);
	return a->writer ? 0 : frag_fail_nomem(err);
}

/* The runs of policy i, one a device. */
static const struct frag_result *runs_of(const struct frag_session *s, uint32_t i)
{
	return s->runs[(size_t)i * s->device_count].result;
}

static int find_peaks(struct frag_answers *a, const struct frag_session *s, bool by_run,
		      struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->sim_count && !rc; i++)
		rc = frag_answer_peaks(&a->answer[(size_t)i * s->device_count], &a->trials,
				       by_run ? s->sims[i] : NULL, runs_of(s, i), s->device_count,
				       err);
	return rc;
}

/*
 * No more than what is shown. The simulations go before others are made, which need as much
 * memory.
 */
static int find_answers(struct frag_answers *a, const struct frag_session *s,
			      struct frag_error *err)
{
	const bool all = s->options->verbose || s->options->json;
	int rc = find_peaks(a, s, true, err);
	uint32_t failed = 0;

	for (uint32_t i = 0; i < s->sim_count && !rc; i++) {
		frag_sim_retire(s->sims[i], false);
		rc = frag_trials_add(&a->trials, runs_of(s, i), err);
	}
	if (!rc && (all || s->run_count == 1))
		rc = find_peaks(a, s, false, err);
	for (uint32_t i = 0; i < s->run_count && !rc; i++) {
		const struct frag_result *run = s->runs[i].result;
		unsigned wanted = 0;

		if (run->oom_count && (failed++ < FRAG_REPORT_FAILED_MAX || all))
			wanted |= FRAG_WANTED_DEVICE;
		/* what the result has of a run does not depend on the others */
		if (s->options->json || frag_report_has_remedy(s->runs, s->run_count, i))
			wanted |= FRAG_WANTED_REMEDY;
		rc = frag_answer_find(&a->answer[i], &a->trials, wanted, run, err);
	}
	return rc;
}

/* A trace that was too long for its tape has no answers, which is not a failure. */
int frag_answers_find(struct frag_answers *a, struct frag_session *s,
		      const struct frag_sim_options *options, struct frag_error *err)
{
	int rc;

	if (!a->writer)
		return 0;
	a->tape = frag_tape_finish(a->writer);
	if (!a->tape)
		return 0;
	a->answer = calloc((size_t)s->run_count + 1, sizeof(*a->answer));
	if (!a->answer)
		return frag_fail_nomem(err);
	a->count = s->run_count;
	a->trials = (struct frag_trials){
		.tape = a->tape,
		.options = options,
		.stop = frag_interrupted,
	};
	rc = find_answers(a, s, err);
	if (!rc)
		s->answers = a->answer;
	s->cut_short = rc == -FRAG_EINTERRUPTED;
	return rc;
}

void frag_answers_fini(struct frag_answers *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		frag_answer_fini(&a->answer[i]);
	free(a->answer);
	frag_trials_fini(&a->trials);
	frag_tape_del(a->tape);
	frag_tape_writer_del(a->writer);
}
