/* session.c - what run, report and replay do alike. */
#include "cmd/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/report.h"
#include "base/bug.h"
#include "cmd/progress.h"
#include "documents/documents.h"
#include "engine/tape_run.h"
#include "scope/claim.h"

#define FILES(s) { &(s)->steps.file, &(s)->placements.file, &(s)->json, &(s)->html, &(s)->svg, \
	&(s)->profile }
#define FILE_COUNT 6

/*
 * The first policy writes into the file, the others into spools. A stream counts
 * its spools while it opens them, so that a failure releases only the opened ones.
 */
static int open_stream(struct frag_stream *s, const struct frag_session *of, struct frag_error *err)
{
	const uint32_t count = of->sim_count;
	size_t length;
	int rc;

	FRAG_ASSERT(count > 0);
	if (!s->path)
		return 0;
	s->spools = calloc(count, sizeof(*s->spools));
	s->rows = calloc(count, sizeof(*s->rows));
	if (!s->spools || !s->rows)
		return frag_fail_nomem(err);
	rc = frag_open_guarded(&s->file, s->path, err);
	rc = rc ? rc : frag_outfile_pack(&s->file, frag_packing_of(s->path, &length), err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		struct frag_outfile *out = i ? &s->spools[i - 1] : &s->file;
		const struct frag_observer observer = { .step = frag_rows_observe, .ctx = &s->rows[i] };

		s->count = i + 1;
		if (i)
			rc = frag_outfile_spool(out, &s->file, err);
		if (!rc && !frag_rows_init(&s->rows[i], out, s->form, s->columns,
					   count > 1 ? of->choices[i]->text : NULL,
					   of->device_count > 1, !i))
			rc = frag_fail_nomem(err);
		s->rows[i].follows = of->choices[i]->ops->moves;
		if (!rc)
			rc = frag_sim_observe(of->sims[i], &observer);
	}
	return rc;
}

/* All policies are there: opens the files, and lets them be written. */
static int session_open(struct frag_session *s, struct frag_error *err)
{
	const struct frag_run_options *o = s->options;
	int rc;

	s->steps.columns = &o->columns;
	rc = open_stream(&s->steps, s, err);
	rc = rc ? rc : open_stream(&s->placements, s, err);
	rc = rc ? rc : frag_open_guarded(&s->json, o->json, err);
	rc = rc ? rc : frag_open_guarded(&s->html, o->html, err);
	rc = rc ? rc : frag_open_guarded(&s->svg, o->svg, err);
	return rc ? rc : frag_open_guarded(&s->profile, o->write_profile, err);
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
static int write_documents(struct frag_session *s, const struct frag_report *report,
			   struct frag_error *err)
{
	const struct frag_result **runs = malloc((report->run_count + 1) * sizeof(*runs));
	int rc = 0;

	if (!runs)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < report->run_count; i++)
		runs[i] = report->runs[i].result;
	if (s->json.path)
		rc = frag_result_write(report->trace, runs, report->answers, s->claims,
				       report->run_count, &s->json, err);
	if (!rc && s->html.path)
		rc = frag_page_write(&s->section, 1, s->command, &s->html, err);
	if (!rc && s->svg.path)
		rc = frag_page_write(&s->section, 1, NULL, &s->svg, err);
	if (!rc && s->profile.path)
		rc = frag_profile_write(report->gpu, runs, report->run_count, &s->profile, err);
	free(runs);
	return rc;
}

static int finish_files(struct frag_session *s, const struct frag_report *report,
			struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(s);
	int rc = outputs_gather(&s->steps, err);

	rc = rc ? rc : outputs_gather(&s->placements, err);
	rc = rc ? rc : write_documents(s, report, err);
	for (size_t i = 0; i < FILE_COUNT && !rc; i++)
		if (files[i]->path)
			rc = frag_outfile_finish(files[i], err);
	return rc;
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

static int stream_name(struct frag_stream *s, const char *path, const char *option,
		       enum frag_rows_form usual, struct frag_error *err)
{
	s->path = path;
	return path ? frag_rows_ending(option, path, usual, &s->form, err) : 0;
}

int frag_session_begin(struct frag_session *s, struct frag_run_options *options,
		       struct frag_error *err)
{
	int rc = stream_name(&s->steps, options->steps, "steps", FRAG_ROWS_CSV, err);

	s->options = options;
	s->reading.quiet = options->quiet;
	if (!rc)
		rc = stream_name(&s->placements, options->placements, "placements",
				 FRAG_ROWS_NDJSON, err);
	return rc ? rc : frag_run_read_profile(options, err);
}

/* Allocates the runs of N policies on M devices. */
static int session_room(struct frag_session *s, uint32_t policies, uint32_t devices,
			struct frag_error *err)
{
	const size_t count = (size_t)policies * devices;

	s->device_count = devices;
	s->sims = calloc(policies, sizeof(*s->sims));
	s->choices = calloc(policies, sizeof(*s->choices));
	s->charts = calloc(count, sizeof(*s->charts));
	s->runs = calloc(count, sizeof(*s->runs));
	return s->sims && s->choices && s->charts && s->runs ? 0 : frag_fail_nomem(err);
}

int frag_session_add(struct frag_session *s, struct frag_sim *sim, const struct frag_choice *choice,
		     uint32_t policies, uint32_t devices, struct frag_error *err)
{
	struct frag_observer chart = { .step = frag_chart_observe };
	const int rc = s->sims ? 0 : session_room(s, policies, devices, err);

	if (rc) {
		/* those of the session's own trace are its own; a replay keeps the others */
		if (s->traced.trace)
			frag_sim_del(sim);
		return rc;
	}
	chart.ctx = &s->charts[(size_t)s->sim_count * devices];
	s->choices[s->sim_count] = choice;
	s->sims[s->sim_count++] = sim;
	if (s->options->report && frag_sim_observe(sim, &chart))
		return frag_fail_nomem(err);
	return s->sim_count < policies ? 0 : session_open(s, err);
}

/*
 * Results are taken from the simulations once, after their ends, so that files, report and exit
 * status agree.
 */
static void session_collect(struct frag_session *s, bool interrupted)
{
	s->run_count = frag_report_runs_of(s->runs, s->sims, s->sim_count, interrupted);
	for (uint32_t i = 0; i < s->run_count; i++)
		s->runs[i].chart = &s->charts[i];
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
		frag_taped_warn(&s->reading, text);
}

/* Where there is no report that has it. */
static void report_beginnings(struct frag_session *s)
{
	char text[FRAG_BEGINNING_ROOM];

	for (uint32_t i = 0; i < s->run_count && !s->options->report; i++)
		if (frag_beginning_text(s->runs[i].result, i < s->device_count, text))
			frag_taped_warn(&s->reading, text);
}

static int judge_run(const struct frag_run_options *o, const struct frag_result *result,
		     unsigned parts, int *status, struct frag_error *err)
{
	struct frag_finding found;
	char who[600];

	snprintf(who, sizeof(who), "%s on device %u", result->choice.text, result->device);
	for (uint32_t k = 0; k < o->condition_count; k++) {
		int rc = frag_condition_holds(&o->conditions[k], result, NULL, parts, who,
					      &found, err);

		if (rc < 0)
			return rc;
		if (rc)
			frag_print_message("%s, device %u: %s", result->choice.text, result->device,
					   found.line);
		*status = rc ? 1 : *status;
	}
	return 0;
}

/* What the conditions were held to, where none holds. */
static int print_passed(const struct frag_run_options *o, const struct frag_report_run *runs,
			uint32_t count, struct frag_error *err)
{
	char line[1000], range[FRAG_RANGE_ROOM];
	struct frag_words w = FRAG_WORDS(line);
	struct frag_finding found;

	for (uint32_t k = 0; k < o->condition_count; k++) {
		struct frag_checked checked = { .runs = 0 };

		for (uint32_t i = 0; i < count; i++) {
			const int rc = frag_condition_holds(&o->conditions[k], runs[i].result, NULL,
							    0, "", &found, err);

			if (rc < 0)
				return rc;
			frag_checked_note(&checked, &found);
		}
		if (checked.runs)
			frag_add(&w, ", %s is %s", frag_condition_name(&o->conditions[k]),
				 frag_checked_range(range, &checked));
	}
	frag_print_message("passed: %u run%s%s", count, frag_s(count), line);
	return 0;
}

/*
 * *status becomes 3 where a run had an OOM, 1 where a condition holds, or cannot be judged of a part
 * of a program, and 4 where a policy failed; each such condition and policy is a line on standard
 * error.
 */
static int exit_status_of_runs(const struct frag_session *s, const struct frag_scope *scope,
			       int *status, struct frag_error *err)
{
	const struct frag_run_options *options = s->options;
	const struct frag_report_run *runs = s->runs;
	const uint32_t count = s->run_count;
	const unsigned parts = frag_scope_part(scope) != FRAG_PART_WHOLE && !options->partial
			       ? FRAG_PART_RUN : 0;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		if (runs[i].result->counts.ooms)
			*status = 3;
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = judge_run(options, runs[i].result, parts, status, err);
	for (uint32_t i = 0; i < s->sim_count; i++) {
		const char *why = frag_sim_failure(s->sims[i]);

		if (!why)
			continue;
		frag_print_message("%s", why);
		*status = frag_error_status(-FRAG_EPOLICY);
	}
	return rc || *status || options->quiet || !options->condition_count
	       ? rc : print_passed(options, runs, count, err);
}

/* Writes the files, prints the report, finds the exit status; then the files take their places. */
int frag_session_report(struct frag_session *s, const struct frag_trace *trace, int *status,
			struct frag_error *err)
{
	const struct frag_run_options *o = s->options;
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	struct frag_outfile *const files[] = FILES(s);
	struct frag_report report = {
		.to = { .f = stdout, .colour = frag_terminal_colour(columns), .columns = columns },
		.summary = o->summary, .verbose = o->verbose, .answers = s->answers,
		.cut_short = s->cut_short,
		.by_default = !o->choice_count,
		.stacks = o->verbose || o->stacks >= 0,
		.trace = frag_trace_info(trace), .runs = s->runs, .gpu = &s->gpu,
	};
	int rc;

	if (!s->run_count)
		session_collect(s, true);
	report.run_count = s->run_count;
	report_cut_marks(s);
	report_beginnings(s);
	rc = finish_files(s, &report, err);
	if (!rc && o->report) {
		frag_report_text(&report);
		rc = frag_flush_stdout(err);
	}
	/* no file is committed before everything that can fail is done */
	rc = rc ? rc : exit_status_of_runs(s, &frag_trace_info(trace)->scope, status, err);
	return rc ? rc : frag_outfile_commit_all(files, FILE_COUNT, err);
}

/* Of events that are kept: about ten million of them. */
#define TAPE_MAX (UINT64_C(256) << 20)

/* The host is the last device, where there is one. */
static void miss_host(struct frag_session *s)
{
	const struct frag_trace_info *info = frag_trace_info(s->traced.trace);

	if (!info->devices[info->device_count - 1].host)
		frag_taped_warn(&s->reading, "--host: the trace has no pinned host memory, which a"
				" snapshot of PyTorch does that was recorded with"
				" record_pinned_host_memory");
}

/* Without the option the program's own frames, where there is a place for them. */
static enum frag_stacks stacks_of(const struct frag_session *s)
{
	const struct frag_run_options *o = s->options;

	if (o->stacks >= 0)
		return (enum frag_stacks)o->stacks;
	/* the cause of an out-of-memory reads them */
	return o->json || s->draws || o->report ? FRAG_STACKS_PYTHON : FRAG_STACKS_TOP;
}

/*
 * Are answers searched for? Then a tape takes all of a trace: a pipe's producer is not kept busy
 * for a result alone.
 */
static bool has_answers(const struct frag_session *s)
{
	const struct frag_run_options *o = s->options;

	return s->draws || (!o->quiet && (o->report || o->json)
			    && (o->report || !frag_trace_is_stream(s->traced.trace)));
}

/* A document includes the growth of memory, which the whole trace shows. */
static bool has_tape(const struct frag_session *s)
{
	return has_answers(s) || (s->options->json && !frag_trace_is_stream(s->traced.trace));
}

static struct frag_sim_options sim_options(const struct frag_session *s)
{
	struct frag_sim_options options = s->options->sim;

	options.devices = s->traced.devices.figures;
	options.on_oom = &frag_oom_explain;
	return options;
}

/* One simulation a policy, which the page watches. */
static int make_sims(struct frag_session *s, struct frag_error *err)
{
	const struct frag_loaded_trace *t = &s->traced;
	const struct frag_sim_options options = sim_options(s);
	const uint32_t devices = frag_trace_info(t->trace)->device_count;
	int rc = s->draws ? frag_drawing_init(&s->drawing, t->choice_count, err) : 0;

	for (uint32_t i = 0; i < t->choice_count && !rc; i++) {
		struct frag_sim *sim;

		rc = frag_sim_new(&sim, &t->choices[i], t->trace, &options, err);
		rc = rc ? rc : frag_session_add(s, sim, &t->choices[i], t->choice_count, devices,
						err);
		if (!rc && s->draws)
			rc = frag_page_init(&s->drawing.pages[s->drawing.count++], sim, err);
	}
	if (!rc && has_tape(s)) {
		s->writer = frag_tape_writer_new(t->trace, TAPE_MAX);
		rc = s->writer ? 0 : frag_fail_nomem(err);
	}
	return rc;
}

static int read_trace(struct frag_session *s, struct frag_error *err)
{
	const struct frag_worker_options workers = {
		.threads = s->options->threads, .tape = s->writer,
		.read = { frag_interrupted, frag_taped_show, &s->reading },
	};
	int rc;

	frag_progress_begin(&s->reading.progress, !s->options->quiet);
	rc = frag_workers_run(s->sims, s->sim_count, s->traced.trace, &workers, err);
	if (!rc)
		frag_taped_show(&s->reading, frag_trace_info(s->traced.trace));
	frag_progress_end(&s->reading.progress);
	return rc;
}

/* No more than what is shown. */
static int find_answers(struct frag_session *s, struct frag_trials *trials, struct frag_error *err)
{
	const bool all = s->options->verbose || s->options->json;
	unsigned *wanted = calloc((size_t)s->run_count + 1, sizeof(*wanted));
	uint32_t failed = 0;
	int rc;

	if (!wanted)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->run_count; i++) {
		if (s->runs[i].result->oom_count && (failed++ < FRAG_REPORT_FAILED_MAX || all))
			wanted[i] |= FRAG_WANTED_DEVICE;
		/* what the result has of a run does not depend on the others */
		if (s->options->json || frag_report_has_fix(s->runs, s->run_count, i))
			wanted[i] |= FRAG_WANTED_FIX;
	}
	rc = frag_diagnose_runs(s->answers, trials, s->sims, s->sim_count, all || s->run_count == 1,
				wanted, err);
	free(wanted);
	return rc;
}

static void drop_answers(struct frag_session *s)
{
	for (uint32_t i = 0; i < s->run_count && s->answers; i++)
		frag_device_state_fini(&s->answers[i].peak);
	free(s->answers);
	s->answers = NULL;
}

/*
 * What the runs prove of the device that the program needs. Of a whole program the smallest is known
 * only where it was searched for, after an out-of-memory. That search begins above the device of the
 * run, and a smaller one can fit, so of a part the blocks alone are proof.
 */
static int make_claims(struct frag_session *s, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_trace_info(s->traced.trace);
	int rc = 0;

	s->claims = calloc((size_t)s->run_count + 1, sizeof(*s->claims));
	if (!s->claims)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->run_count && !rc; i++) {
		const struct frag_diagnosis *a = s->answers ? &s->answers[i] : NULL;
		const uint32_t device = s->runs[i].result->device;
		const struct frag_claim_facts facts = {
			.scope = &info->scope, .tape = s->traced.tape,
			.choice = &s->runs[i].result->choice,
			.figures = &s->traced.devices.figures[device], .device = device,
			.smallest = UINT64_MAX,
		};

		s->claims[i].at_least = a && a->smallest ? a->smallest : UINT64_MAX;
		if (frag_scope_part(&info->scope) != FRAG_PART_WHOLE)
			rc = frag_claim_make(&s->claims[i], &facts, err);
	}
	return rc;
}

static int search_answers(struct frag_session *s, struct frag_error *err)
{
	const struct frag_sim_options options = sim_options(s);
	struct frag_trials trials = { .options = &options, .job.stop = frag_interrupted };
	int rc;

	s->answers = calloc((size_t)s->run_count + 1, sizeof(*s->answers));
	if (!s->answers)
		return frag_fail_nomem(err);
	trials.tape = s->traced.tape;
	rc = find_answers(s, &trials, err);
	if (rc)
		drop_answers(s);
	s->cut_short = rc == -FRAG_EINTERRUPTED;
	return rc;
}

/*
 * What of the whole tape goes into reports and documents. A trace that was too long for its tape
 * has nothing of it, which is not a failure.
 */
static int use_tape(struct frag_session *s, struct frag_error *err)
{
	int rc;

	s->traced.tape = s->writer ? frag_tape_finish(s->writer) : NULL;
	if (!s->traced.tape)
		return 0;
	rc = frag_growth_find(s->traced.trace, s->traced.tape, err);
	if (!rc && has_answers(s))
		rc = search_answers(s, err);
	return rc || !s->options->json ? rc : make_claims(s, err);
}

/*
 * Before the report, which writes it. Of a single run the one with its fix is drawn, too; an
 * interruption leaves it out.
 */
static int draw_section(struct frag_session *s, struct frag_error *err)
{
	const bool cured = s->run_count == 1 && s->answers && s->answers->fix.found;
	const struct frag_report report = {
		.trace = frag_trace_info(s->traced.trace), .runs = s->runs,
		.run_count = s->run_count, .answers = s->answers,
		.by_default = !s->options->choice_count,
	};
	struct frag_page_trace made = {
		.report = &report, .symbols = frag_trace_symbols(s->traced.trace),
		.look = UINT64_MAX,
	};
	struct frag_redrawn x;
	uint32_t devices;
	int rc, drawn = frag_redrawn_init(&x, &s->traced, err);

	x.sim = &s->options->sim;
	if (cured && !drawn)
		drawn = frag_redrawn_run(&x, &s->answers->fix.choice, s->traced.devices.figures,
					 err);
	drawn = drawn ? drawn : frag_drawing_end(&x.drawing, err);
	if (cured && !drawn) {
		made.cured = x.drawing.pages;
		made.cured_runs = frag_sim_results(x.sims[0], false, &devices);
	}
	rc = drawn && drawn != -FRAG_EINTERRUPTED
	     ? drawn : frag_drawing_section(&s->drawing, &made, s->traced.tape, &s->section, err);
	frag_redrawn_fini(&x);
	return rc ? rc : drawn;
}

/* A signal during the search for answers does not discard the results. */
int frag_session_simulate(struct frag_session *s, const char *path, struct frag_error *err)
{
	int rc, drawn;

	s->reading.stacks = stacks_of(s);
	s->reading.host = s->options->host;
	s->reading.capacity = true;
	rc = frag_taped_open(&s->traced, path, s->options, frag_usual_policy, &s->reading, err);
	if (!rc && s->options->host)
		miss_host(s);
	rc = rc ? rc : make_sims(s, err);
	if (rc)
		return rc;
	rc = read_trace(s, err);
	if (rc && rc != -FRAG_EINTERRUPTED)
		return rc;
	drawn = frag_drawing_end(&s->drawing, err);
	if (drawn)
		return drawn;
	session_collect(s, rc != 0);
	s->cut_short = rc != 0;
	rc = rc ? rc : use_tape(s, err);
	if ((rc && rc != -FRAG_EINTERRUPTED) || !s->draws)
		return rc;
	drawn = draw_section(s, err);
	return drawn ? drawn : rc;
}

/* Simulations go before the trace that they borrow. */
void frag_session_fini(struct frag_session *s)
{
	struct frag_outfile *const files[] = FILES(s);

	for (uint32_t i = 0; i < s->sim_count && s->traced.trace; i++)
		frag_sim_del(s->sims[i]);
	stream_fini(&s->steps);
	stream_fini(&s->placements);
	for (size_t i = 0; i < FILE_COUNT; i++)
		frag_outfile_abandon(files[i]);
	frag_register_partial_file(NULL);
	frag_drawing_fini(&s->drawing);
	frag_page_section_fini(&s->section);
	drop_answers(s);
	free(s->claims);
	frag_tape_writer_del(s->writer);
	free(s->sims);
	free(s->choices);
	free(s->charts);
	free(s->runs);
	frag_taped_close(&s->traced, 1);
}
