/* extrapolate.c - fragsim extrapolate: a program at batch sizes that nobody has recorded. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "cmd/answer_page.h"
#include "cmd/exit_conditions.h"
#include "cmd/time_budget.h"
#include "cmd/output_formats.h"
#include "cmd/trace_provenance.h"
#include "cmd/transform_trace.h"
#include "cmd/loaded_trace.h"
#include "answers/answers.h"
#include "transform/meta.h"

enum {
	OPT_AT = FRAG_OPT_FIRST_OWN, OPT_LARGEST, OPT_UP_TO, OPT_STEP, OPT_RUNS, OPT_TRACE, OPT_TO,
};

static const struct frag_opt opts[] = {
	{ 0, "at", "NUMBERS", "numbers to extrapolate to, as 8,16,32: batch sizes, lengths; repeatable",
	  OPT_AT },
	{ 0, "largest", NULL, "the largest number that fits --device-bytes", OPT_LARGEST },
	{ 0, "up-to", "N", "of --largest: the last number that is tried (as far as any may fit)",
	  OPT_UP_TO },
	{ 0, "step", "N", "of --largest: multiples of N only (1)", OPT_STEP },
	{ 0, "runs", "N", "simulations of a policy at most, for a number and for --largest (10000)",
	  OPT_RUNS },
	{ 'o', "output", "FILE", "write the trace at the number of --at", OPT_TRACE },
	{ 't', "to", "FORM", "its form: lines, object, fsb, minimalloc or rmm (by FILE's ending)",
	  OPT_TO },
	{ 'p', "policy", "NAME",
	  "placement policy, NAME[:key=value,...]; repeatable (pytorch twice)", FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "fail-if", "CONDITION",
	  "exit with 1 if it is true: 'reliable > 24GiB', 'largest < 16'; repeatable",
	  FRAG_OPT_FAIL_IF },
	{ 0, "format", "FORMAT", "text, markdown, json or csv (text)", FRAG_OPT_FORMAT },
	FRAG_HTML_ROW(0),
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	FRAG_PROFILE_ROW(0),
	FRAG_DEVICE_ROWS(0),
	FRAG_TIME_ROW(0),
	{ 0, "threads", "N", "concurrent simulations (0: one per processor)", FRAG_OPT_THREADS },
	{ 0 },
};

struct extrapolate {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page page;
	struct frag_rewrite rewrite;    /* the form of the trace that is written */
	const char *out;                /* its path; NULL: none is */
	uint32_t *at, at_count, at_capacity;
	uint64_t up_to, step, runs;
	bool largest;
	struct frag_conditions of_points, of_reaches;
	/* the recordings */
	char *paths[FRAG_RECORDINGS_MAX];
	uint32_t numbers[FRAG_RECORDINGS_MAX], count;
	struct frag_loaded_trace taped[FRAG_RECORDINGS_MAX];
	struct frag_taped_reading reading;
	struct frag_recordings recordings;
	struct frag_extrapolation found;
	struct frag_progress progress;
	struct frag_sink *sink;         /* while a trace is written */
	int *status;
	int interrupted;
};

static bool parse_number(const char *text, size_t length, uint32_t *out)
{
	uint64_t number;

	if (!frag_parse_count(text, length, &number) || number > FRAG_NUMBER_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool has_number(const uint32_t *numbers, uint32_t count, uint32_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* "8,16,32"; one that is there already is no second one. */
static int add_numbers(struct extrapolate *e, const char *value, struct frag_error *err)
{
	const char *text = value;

	for (;;) {
		const size_t length = strcspn(text, ",");
		uint32_t number;

		if (!parse_number(text, length, &number))
			return frag_fail(err, FRAG_EUSAGE, "--at %.60s: numbers from 0 to %" PRIu32
					 " are required, with commas between them", value,
					 FRAG_NUMBER_MAX);
		if (!frag_grow(&e->at, &e->at_capacity, (uint64_t)e->at_count + 1, sizeof(*e->at)))
			return frag_fail_nomem(err);
		if (!has_number(e->at, e->at_count, number))
			e->at[e->at_count++] = number;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* Of each number of --at, and then of --largest. */
static const char *const paths[] = {
	"smallest", "reliable", "reserved", "requested", "unexplained", "largest", "all", NULL,
};

static bool is_of_reach(const char *path)
{
	return strcmp(path, "largest") == 0 || strcmp(path, "all") == 0;
}

static int extrapolate_add_condition(struct extrapolate *e, const char *text,
				     struct frag_error *err)
{
	int rc = frag_conditions_add(&e->of_points, text, paths, err);

	if (rc || !is_of_reach(e->of_points.of[e->of_points.count - 1].path))
		return rc;
	e->of_points.count--;
	return frag_conditions_add(&e->of_reaches, text, paths, err);
}

static int extrapolate_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct extrapolate *e = ctx;

	switch (id) {
	case OPT_AT:
		return add_numbers(e, value, err);
	case OPT_LARGEST:
		e->largest = true;
		return 0;
	case OPT_UP_TO:
		return frag_option_count(&e->up_to, "up-to", value, 1, FRAG_NUMBER_MAX, err);
	case OPT_STEP:
		return frag_option_count(&e->step, "step", value, 1, FRAG_NUMBER_MAX, err);
	case OPT_RUNS:
		return frag_option_count(&e->runs, "runs", value, 1, FRAG_COUNT_MAX, err);
	case OPT_TRACE:
		e->out = value;
		return 0;
	case OPT_TO:
		return frag_rewrite_set(&e->rewrite, FRAG_REWRITE_TO, value, err);
	case FRAG_OPT_FAIL_IF:
		return extrapolate_add_condition(e, value, err);
	default:
		return frag_answer_set_option(&e->printed, &e->run, id, value, err);
	}
}

/* TRACE=N: what follows the last equals sign is the number. */
static int add_recording(struct extrapolate *e, const struct frag_cmd *cmd, const char *operand,
			 struct frag_error *err)
{
	const char *equals = strrchr(operand, '=');
	uint32_t number;

	if (!equals || equals == operand)
		return frag_fail(err, FRAG_EUSAGE, "%.300s: TRACE=N is required, as in %.300s=8: at"
				 " which batch size or length was it recorded?", operand, operand);
	if (!parse_number(equals + 1, strlen(equals + 1), &number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: after the = a number from 0 to %" PRIu32
				 " is required", operand, FRAG_NUMBER_MAX);
	if (has_number(e->numbers, e->count, number))
		return frag_fail(err, FRAG_EUSAGE, "%.300s: two recordings at %" PRIu32
				 "; each needs another number", operand, number);
	if (e->count == FRAG_RECORDINGS_MAX)
		return frag_usage(cmd, "two or three recordings are possible", err);
	e->numbers[e->count] = number;
	e->paths[e->count] = strndup(operand, (size_t)(equals - operand));
	return e->paths[e->count++] ? 0 : frag_fail_nomem(err);
}

static int check_largest(const struct extrapolate *e, const struct frag_cmd *cmd,
			 struct frag_error *err)
{
	if (e->largest && (e->run.total == UINT64_MAX || !e->run.total))
		return frag_usage(cmd, "--largest requires --device-bytes SIZE",
				  err);
	if (!e->largest && (e->up_to || e->step))
		return frag_usage(cmd, e->up_to ? "--up-to is for --largest"
						: "--step is for --largest", err);
	if (e->run.total == 0)
		return frag_usage(cmd, "--device-bytes 0 is no limit: without it the smallest"
				  " device is searched for", err);
	return 0;
}

static int check_conditions(const struct extrapolate *e, struct frag_error *err)
{
	if (e->of_points.count && !e->at_count)
		return frag_fail(err, FRAG_EUSAGE, "--fail-if '%.100s' requires --at NUMBERS: at"
				 " which?", e->of_points.of[0].text);
	if (e->of_reaches.count && !e->largest)
		return frag_fail(err, FRAG_EUSAGE, "--fail-if '%.100s' requires --largest",
				 e->of_reaches.of[0].text);
	return 0;
}

/* One trace, of one number; standard output has one thing at most. */
static int check_out(struct extrapolate *e, const struct frag_cmd *cmd, struct frag_error *err)
{
	const bool standard = e->out && strcmp(e->out, "-") == 0;

	if (!e->out && e->rewrite.form)
		return frag_usage(cmd, "--to is for --output FILE", err);
	if (!e->out)
		return 0;
	if (e->at_count != 1)
		return frag_usage(cmd, "--output requires one number of --at: it is one trace",
				  err);
	if (standard && e->printed.format)
		return frag_usage(cmd, "two outputs to standard output: only one can be -", err);
	for (uint32_t i = 0; i < e->count; i++)
		if (frag_same_file(e->out, e->paths[i]))
			return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the trace",
					 e->out);
	if (e->run.profile_path && frag_same_file(e->out, e->run.profile_path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the profile",
				 e->out);
	for (uint32_t i = 0; i < e->printed.count; i++) {
		if (standard && strcmp(e->printed.outputs[i].path, "-") == 0)
			return frag_usage(cmd, "two outputs to standard output: only one can be -",
					  err);
		if (frag_same_file(e->out, e->printed.outputs[i].path))
			return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file", e->out);
	}
	e->printed.quiet = e->printed.quiet || standard;
	return frag_rewrite_find_form(&e->rewrite, e->out, err);
}

static int extrapolate_check(struct extrapolate *e, const struct frag_cmd *cmd,
			     struct frag_error *err)
{
	uint32_t standard = e->run.profile_path && strcmp(e->run.profile_path, "-") == 0;
	int rc;

	if (e->count < 2)
		return frag_usage(cmd, "two or three recordings are required, TRACE=N each", err);
	if (!e->at_count && !e->largest)
		return frag_usage(cmd, "missing option: --at NUMBERS or --largest", err);
	for (uint32_t i = 0; i < e->count; i++)
		standard += strcmp(e->paths[i], "-") == 0;
	if (standard > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	e->printed.quiet = e->rewrite.quiet = e->run.quiet;
	rc = frag_answer_page_set_path(&e->page, e->run.html, &e->printed, err);
	if (rc)
		return rc;
	rc = check_largest(e, cmd, err);
	rc = rc ? rc : check_conditions(e, err);
	rc = rc ? rc : check_out(e, cmd, err);
	rc = rc ? rc : frag_run_settings(&e->run, true, err);
	rc = rc ? rc
		: frag_answer_output_check_input(&e->printed, e->run.profile_path, "the profile",
						 err);
	return rc ? rc : frag_printed_apart(&e->printed, cmd, (const char *const *)e->paths,
					    e->count, "the trace", err);
}

static int write_event(void *ctx, const struct frag_record *rec, const struct frag_event *ev,
		       struct frag_error *err)
{
	struct extrapolate *e = ctx;

	return e->sink->ops->event(e->sink, rec, ev, err);
}

static void show_reading(void *ctx, const struct frag_trace_info *info)
{
	struct extrapolate *e = ctx;

	frag_taped_show(&e->reading, info);
}

static int open_recordings(struct extrapolate *e, struct frag_error *err)
{
	struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	int rc = 0;

	e->reading = (struct frag_taped_reading){
		.quiet = e->run.quiet, .records = true, .meta = e->out != NULL, .tags = true,
	};
	for (uint32_t i = 0; i < e->count && !rc; i++) {
		rc = frag_taped_open(&e->taped[i], e->paths[i], &e->run, frag_usual_settings,
				     &e->reading, err);
		traces[i] = e->taped[i].trace;
	}
	return rc ? rc : frag_recordings_init(&e->recordings, traces, e->numbers, e->count, err);
}

/* Recordings that have no `meta`, as snapshots, still say who recorded them. */
static int begin_trace(struct extrapolate *e, struct frag_error *err)
{
	const struct frag_log log = { .warn = frag_warn, .ctx = &e->run.quiet };
	const struct frag_trace *traces[FRAG_RECORDINGS_MAX];
	struct frag_text meta = frag_trace_info(e->taped[0].trace)->meta;
	char *mark = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < e->count; i++)
		traces[i] = e->taped[i].trace;
	if (!meta.text)
		rc = frag_recorded_mark(&mark, traces, e->count, false, &log, err);
	if (mark)
		meta = (struct frag_text){ .text = mark, .length = (uint32_t)strlen(mark) };
	rc = rc ? rc : frag_grown_begin(e->sink, &e->recordings, e->at[0], meta, err);
	free(mark);
	return rc;
}

/* Side by side, the first onto its tape; what is written is written on the way. */
static int read_recordings(struct extrapolate *e, struct frag_error *err)
{
	struct frag_recordings_options o = {
		.stop = frag_interrupted, .progress = show_reading, .ctx = e,
		.event = e->sink ? write_event : NULL,
	};
	int rc = 0;

	if (e->sink) {
		o.number = e->at[0];
		rc = begin_trace(e, err);
	}
	o.tape = frag_tape_writer_new(e->taped[0].trace, 0);
	if (!rc && !o.tape)
		rc = frag_fail_nomem(err);
	frag_progress_begin(&e->reading.progress, !e->run.quiet);
	rc = rc ? rc : frag_recordings_read(&e->recordings, &o, err);
	frag_progress_end(&e->reading.progress);
	if (!rc)
		e->taped[0].tape = frag_tape_finish(o.tape);
	frag_tape_writer_del(o.tape);
	if (!rc && e->sink)
		rc = e->sink->ops->end(e->sink, err);
	return frag_or_interrupted(rc, err);
}

static void show_search(void *ctx, uint32_t done, uint32_t count)
{
	struct extrapolate *e = ctx;

	frag_progress_count(&e->progress, "simulations", done, count);
}

static int extrapolate_search(struct extrapolate *e, struct frag_error *err)
{
	const struct frag_loaded_trace *first = &e->taped[0];
	int rc;

	e->found = (struct frag_extrapolation){
		.recordings = &e->recordings,
		.tape = first->tape,
		.choices = first->choices,
		.devices = first->devices.figures,
		.choice_count = first->choice_count,
		.at = e->at,
		.at_count = e->at_count,
		.largest = e->largest,
		.total = e->run.total == UINT64_MAX ? 0 : e->run.total,
		.up_to = (uint32_t)e->up_to,
		.stride = e->step ? (uint32_t)e->step : 1,
		.runs = e->runs,
		.model = e->run.sim.model,
		.threads = e->run.threads,
		.stop = frag_time_is_up,
		.hurry = frag_time_is_short,
		.progress = show_search,
		.ctx = e,
	};
	frag_progress_begin(&e->progress, !e->run.quiet);
	frag_time_begin(e->run.seconds);
	rc = frag_extrapolation_run(&e->found, err);
	frag_progress_end(&e->progress);
	return rc;
}

struct point {
	const struct frag_extrapolation *x;
	const struct frag_fitted *fitted;
};

static double bytes_or_none(bool there, uint64_t bytes)
{
	return there && bytes != UINT64_MAX ? (double)bytes : INFINITY;
}

static double point_value(const void *ctx, const char *path)
{
	const struct point *point = ctx;
	const struct frag_fitted *one = point->fitted;

	if (strcmp(path, "requested") == 0)
		return (double)one->unlimited.peak_requested;
	if (strcmp(path, "unexplained") == 0)
		return (double)point->x->unexplained[one->source];
	if (strcmp(path, "reserved") == 0)
		return bytes_or_none(one->unlimited.survives, one->unlimited.peak_reserved);
	return bytes_or_none(true, strcmp(path, "reliable") == 0     ? one->fit.safe
				   : one->fit.smallest == UINT64_MAX ? one->fit.at_most
								     : one->fit.smallest);
}

/* A number that is none is less than any. */
static double reach_value(const void *ctx, const char *path)
{
	const struct frag_reach *reach = ctx;
	const uint32_t number = strcmp(path, "all") == 0 ? reach->safe : reach->largest;

	return number == FRAG_NO_NUMBER ? -INFINITY : (double)number;
}

static void judge_conditions(const struct extrapolate *e)
{
	const struct frag_extrapolation *x = &e->found;
	char who[sizeof(x->choices->text) + 80];

	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct point point = { .x = x, .fitted = &x->fits.fitted[i] };

		snprintf(who, sizeof(who), "at %" PRIu32 ", %s, device %" PRIu32,
			 x->at[point.fitted->source],
			 frag_choice_label(&x->choices[point.fitted->choice]),
			 point.fitted->device);
		frag_conditions_judge(&e->of_points, point_value, &point, who, e->status);
	}
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		frag_conditions_judge(&e->of_reaches, reach_value, &x->reaches[i],
				      frag_choice_label(&x->choices[i]), e->status);
}

/* A policy that survives nowhere, or not where it is to, is a no; so is no number at all. */
static void extrapolate_judge(const struct extrapolate *e)
{
	const struct frag_extrapolation *x = &e->found;

	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fit *fit = &x->fits.fitted[i].fit;

		if ((fit->smallest == UINT64_MAX && fit->at_most == UINT64_MAX)
		    || (x->total && fit->headroom == UINT64_MAX))
			*e->status = 1;
	}
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		if (x->reaches[i].largest == FRAG_NO_NUMBER)
			*e->status = 1;
	judge_conditions(e);
}

/* Conditions are read too. */
static bool anybody_reads(const struct extrapolate *e)
{
	return e->of_points.count || e->of_reaches.count || e->printed.count || e->printed.format
	       || !e->printed.quiet || !e->out;
}

/* Where only the trace is asked for, nothing is simulated. */
static int extrapolate_answer(struct extrapolate *e, struct frag_error *err)
{
	const struct frag_trace_info *traces[FRAG_RECORDINGS_MAX];
	struct frag_extrapolate_answer what = { .traces = traces, .found = &e->found };
	int rc;

	if (!anybody_reads(e))
		return 0;
	rc = extrapolate_search(e, err);
	if (rc && rc != -FRAG_EINTERRUPTED)
		return rc;
	what.time_up = frag_time_ended(rc);
	what.interrupted = rc != 0;
	e->interrupted = what.time_up ? 0 : rc;
	for (uint32_t i = 0; i < e->count; i++)
		traces[i] = frag_trace_info(e->taped[i].trace);
	e->page.what = &what;
	rc = frag_printed_write(&e->printed, &what, err);
	if (!rc && !e->interrupted)
		extrapolate_judge(e);
	return rc;
}

/* The trace takes its place with what is printed, or alone where nothing is. */
static int extrapolate_write_trace(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct extrapolate *e = ctx;
	int rc;

	e->sink = sink;
	e->printed.beside = sink->out;
	rc = read_recordings(e, err);
	return rc ? rc : extrapolate_answer(e, err);
}

static int extrapolate(struct extrapolate *e, struct frag_error *err)
{
	int rc = frag_run_read_profile(&e->run, err);

	rc = rc ? rc : open_recordings(e, err);
	rc = rc ? rc : frag_printed_open(&e->printed, err);
	if (e->out)
		rc = rc ? rc
			: frag_rewrite_into(&e->rewrite, e->paths[0], e->out,
					    extrapolate_write_trace, e, err);
	else
		rc = rc ? rc : read_recordings(e, err);
	if (!e->out)
		rc = rc ? rc : extrapolate_answer(e, err);
	return rc ? rc : e->interrupted ? frag_fail(err, FRAG_EINTERRUPTED, "interrupted") : 0;
}

static int extrapolate_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			    struct frag_error *err)
{
	struct extrapolate e = {
		.printed = { .formats = frag_extrapolate_formats, .has_page = true }, .status = status,
	};
	int rest, rc;

	frag_run_options_init(&e.run);
	rc = frag_redraw_init(&e.page, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &e, extrapolate_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	for (int i = rest; i < argc && !rc; i++)
		rc = add_recording(&e, cmd, argv[i], err);
	rc = rc ? rc : extrapolate_check(&e, cmd, err);
	rc = rc ? rc : extrapolate(&e, err);
out:
	frag_printed_fini(&e.printed);
	frag_redraw_fini(&e.page);
	frag_extrapolation_fini(&e.found);
	frag_recordings_fini(&e.recordings);
	frag_taped_close(e.taped, FRAG_RECORDINGS_MAX);
	for (uint32_t i = 0; i < e.count; i++)
		free(e.paths[i]);
	free(e.at);
	frag_conditions_fini(&e.of_points);
	frag_conditions_fini(&e.of_reaches);
	frag_run_options_fini(&e.run);
	return rc;
}

const struct frag_cmd frag_cmd_extrapolate = {
	.name = "extrapolate",
	.job = FRAG_JOB_SIZE,
	.args = "[options] TRACE=N TRACE=N [TRACE=N]",
	.summary = "predict memory at a batch size that was not recorded",
	.opts = opts,
	.exec = extrapolate_exec,
};
