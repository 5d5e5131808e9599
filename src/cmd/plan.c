/* plan.c - fragsim plan: the lowest placement of all that a trace requests, and the policies beside it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c_locale.h"
#include "cmd/answer_page.h"
#include "cmd/exit_conditions.h"
#include "cmd/interrupt.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/loaded_trace.h"
#include "plan/plan_file.h"
#include "answers/answers.h"

enum {
	OPT_BETWEEN = FRAG_OPT_FIRST_OWN, OPT_ALIGN, OPT_CAPACITY, OPT_TIME, OPT_FILE, OPT_CHECK,
	OPT_ALONE, OPT_SLOTS, OPT_FAIL_IF,
};

static const struct frag_opt opts[] = {
	{ 0, "between", "MARK MARK",
	  "the window from the first mark of a name to the next of the other", OPT_BETWEEN },
	{ 0, "slots", "WHAT", "max: plan for all such windows, the k-th request at its largest",
	  OPT_SLOTS },
	{ 0, "align", "SIZE", "what sizes are rounded up to (512)", OPT_ALIGN },
	{ 0, "capacity", "SIZE", "exit with 1 if the plan is higher", OPT_CAPACITY },
	{ 0, "time", "TIME", "budget of all searches: 30s, 500ms, 5m (10s)",
	  OPT_TIME },
	{ 'o', "output", "FILE", "write the plan: JSON, or CSV where the name ends in .csv",
	  OPT_FILE },
	{ 0, "check", "FILE", "check this plan, JSON or CSV, and search for none", OPT_CHECK },
	{ 'p', "policy", "NAME",
	  "a policy to compare with the plan, NAME[:key=value,...]; repeatable (pytorch twice, bestfit)",
	  FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "alone", NULL, "the plan only, without policies", OPT_ALONE },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'height > 24GiB'; repeatable",
	  OPT_FAIL_IF },
	{ 0, "format", "FORMAT", "text, markdown, json or csv (text)", FRAG_OPT_FORMAT },
	FRAG_HTML_ROW(0),
	{ 0, "json", "FILE", "write the answer as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	{ 0, "context-bytes", "SIZE", "bytes that the CUDA context uses", FRAG_OPT_CONTEXT_BYTES },
	{ 0, "other-bytes", "SIZE", "bytes that other processes use", FRAG_OPT_OTHER_BYTES },
	{ 0, "granularity", "SIZE", "pages in which the device gives memory",
	  FRAG_OPT_GRANULARITY },
	{ 0, "threads", "N", "concurrent searches and simulations (0: one per processor)",
	  FRAG_OPT_THREADS },
	{ 0 },
};

struct planning {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page page;
	struct frag_progress progress;
	const char *path, *out_path, *check_path;
	struct frag_stretch_marks marks;
	uint64_t align, capacity;       /* capacity UINT64_MAX: nobody asks */
	double seconds, until;          /* of the search; a time of the clock */
	bool slots;
	bool alone, timed;              /* timed: the clock ended the policies */
	struct frag_outfile out;
	struct frag_loaded_trace taped;
	struct frag_fit_source source;
	struct frag_fits fits;
	struct frag_plan plan;
	struct frag_conditions conditions;
};

static const char *const paths[] = { "height", "bound", NULL };

/* Seconds, with s, ms or m behind them. */
static int set_time(double *out, const char *value, struct frag_error *err)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 } };
	char *end = NULL;
	const double number = *value >= '0' && *value <= '9' ? frag_strtod(value, &end) : -1;

	for (uint32_t i = 0; number >= 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].name) == 0) {
			*out = number * units[i].seconds;
			return 0;
		}
	return frag_fail(err, FRAG_EUSAGE, "--time %.60s: a time such as 30s, 500ms or 5m is"
			 " required", value);
}

const char *const frag_slots_words[] = { "max", NULL };

static int plan_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct planning *p = ctx;
	int slots;

	switch (id) {
	case OPT_BETWEEN:
		/* both of its values come here, one after the other */
		if (p->marks.to)
			return frag_fail(err, FRAG_EUSAGE, "--between is specified more than once");
		*(p->marks.from ? &p->marks.to : &p->marks.from) = value;
		return 0;
	case OPT_FAIL_IF:
		return frag_conditions_add(&p->conditions, value, paths, err);
	case OPT_SLOTS:
		p->slots = true;
		return frag_option_word(&slots, "slots", value, frag_slots_words, err);
	case OPT_ALIGN:
		return frag_option_size(&p->align, "align", value, 1, err);
	case OPT_CAPACITY:
		return frag_option_capacity(&p->capacity, "capacity", value, err);
	case OPT_TIME:
		return set_time(&p->seconds, value, err);
	case OPT_FILE:
		p->out_path = value;
		return 0;
	case OPT_CHECK:
		p->check_path = value;
		return 0;
	case OPT_ALONE:
		p->alone = true;
		return 0;
	default:
		return frag_answer_set_option(&p->printed, &p->run, id, value, err);
	}
}

/* The best that a policy without segments does is beside them. */
static int plan_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		      const struct frag_trace *trace, const struct frag_log *log,
		      struct frag_error *err)
{
	const int rc = frag_usual_settings(choices, count, trace, log, err);

	return rc ? rc : frag_choice_parse(&choices[(*count)++], "bestfit", err);
}

/* No output is another one's file, or that of an input. */
static int check_files(struct planning *p, const struct frag_cmd *cmd, struct frag_error *err)
{
	const char *const inputs[] = { p->path, p->check_path };
	int rc = frag_printed_apart(&p->printed, cmd, inputs, p->check_path ? 2 : 1, "an input",
				    err);

	if (rc || !p->out_path)
		return rc;
	for (uint32_t i = 0; i < (p->check_path ? 2U : 1U); i++)
		if (frag_same_file(p->out_path, inputs[i]))
			return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace an input",
					 p->out_path);
	for (uint32_t i = 0; i < p->printed.count; i++)
		if (frag_same_file(p->out_path, p->printed.outputs[i].path)
		    || (strcmp(p->out_path, "-") == 0
			&& strcmp(p->printed.outputs[i].path, "-") == 0))
			return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file",
					 p->out_path);
	return 0;
}

static int plan_check(struct planning *p, const struct frag_cmd *cmd, struct frag_error *err)
{
	int rc;

	if (p->check_path && strcmp(p->check_path, "-") == 0 && strcmp(p->path, "-") == 0)
		return frag_usage(cmd, "standard input can be read only once", err);
	if (p->slots && !p->marks.from)
		return frag_usage(cmd,
				  "--slots requires --between: the marks where periods begin and"
				  " end",
				  err);
	if (p->slots && p->check_path)
		return frag_usage(cmd,
				  "--slots makes a plan, and --check takes one of a trace's own"
				  " buffers",
				  err);
	if (p->alone && (p->run.choice_count || p->run.setting_count))
		return frag_usage(cmd, "--alone compares no policies, but -p or --alloc-conf"
				  " names some", err);
	if (p->marks.from && (p->run.choice_count || p->run.setting_count))
		return frag_usage(cmd,
				  "-p and --alloc-conf are for whole traces: fragsim slice writes"
				  " a window as a trace",
				  err);
	p->alone = p->alone || p->marks.from;
	p->printed.quiet = p->run.quiet || (p->out_path && strcmp(p->out_path, "-") == 0);
	rc = frag_answer_page_set_path(&p->page, p->run.html, &p->printed, err);
	rc = rc ? rc : frag_run_settings(&p->run, true, err);
	return rc ? rc : check_files(p, cmd, err);
}

static double clock_seconds(void)
{
	struct timespec t = { .tv_sec = 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool enough(void *ctx)
{
	const struct planning *p = ctx;

	return clock_seconds() >= p->until || frag_interrupted(NULL);
}

/* Found, or taken from the file that is to be checked. */
static int plan_place(struct planning *p, struct frag_error *err)
{
	const double begun = clock_seconds();
	const double seconds = p->alone ? p->seconds : p->seconds / 2;
	const double looks = seconds * (double)FRAG_PLAN_LOOKS_PER_SECOND;
	const struct frag_plan_stop stop = { .stop = enough, .ctx = p };
	const struct frag_plan_effort effort = {
		.looks = looks < 1e18 ? (uint64_t)looks : UINT64_C(1000000000000000000),
		.goal = p->capacity == UINT64_MAX ? 0 : p->capacity, .threads = p->run.threads,
		.stop = &stop,
	};
	struct frag_plan_file file;
	int rc = (p->slots ? frag_plan_slots : frag_plan_buffers)(&p->plan, p->taped.tape, p->align,
								  &p->marks, err);

	if (rc)
		return rc;
	if (!p->check_path) {
		/* the policies have the other half, and what is left of this one */
		p->until = begun + seconds;
		rc = frag_plan_place(&p->plan, &effort, err);
		p->until = begun + p->seconds;
		if (!rc && p->slots)
			frag_plan_slots_by_request(&p->plan);
		return rc;
	}
	p->until = begun + p->seconds;
	rc = frag_plan_file_read(&file, p->check_path, err);
	rc = rc ? rc : frag_plan_take(&p->plan, &file, err);
	frag_plan_file_fini(&file);
	return rc;
}

static void show_fits(void *ctx, uint32_t done, uint32_t count)
{
	struct planning *p = ctx;

	frag_progress_count(&p->progress, "policies", done, count);
}

/* What the policies need of the same trace: without a limit, and of the smallest device. */
static int look_beside(struct planning *p, struct frag_error *err)
{
	int rc;

	p->source = (struct frag_fit_source){
		.tape = p->taped.tape, .choices = p->taped.choices,
		.devices = p->taped.devices.figures,
	};
	p->fits = (struct frag_fits){
		.sources = &p->source, .source_count = 1, .choice_count = p->taped.choice_count,
		.unlimited = true, .threads = p->run.threads, .stop = enough,
		.progress = show_fits, .ctx = p,
	};
	frag_progress_begin(&p->progress, !p->run.quiet);
	rc = frag_fits_run(&p->fits, err);
	frag_progress_end(&p->progress);
	p->timed = rc == -FRAG_EINTERRUPTED && !frag_interrupted(NULL);
	return p->timed ? 0 : rc;
}

static int write_plan(struct planning *p, struct frag_error *err)
{
	const size_t length = p->out_path ? strlen(p->out_path) : 0;
	const bool csv = length >= 4 && strcmp(p->out_path + length - 4, ".csv") == 0;

	if (!p->out_path)
		return 0;
	if (csv && p->plan.space_count > 1)
		return frag_fail(err, FRAG_EUSAGE,
				 "%s: a CSV describes one device and one pool, and"
				 " this trace has %u; write JSON, to a name without .csv",
				 p->out_path, p->plan.space_count);
	p->printed.beside = &p->out;
	return csv ? frag_plan_csv(&p->plan, &p->out, err) : frag_plan_json(&p->plan, &p->out, err);
}

/* The policies on a device without a limit. */
static int plan_draw(struct planning *p, struct frag_error *err)
{
	int rc = frag_redraw_room(&p->page, 1, err);

	return rc ? rc : frag_answer_page_draw(&p->page, &p->taped, err);
}

static double plan_value_at(const void *ctx, const char *path)
{
	const struct frag_plan_needs needs = frag_plan_needs(ctx);

	return (double)(strcmp(path, "height") == 0 ? needs.height : needs.bound);
}

/* What is there after an interruption is written all the same. */
static int plan_answer(struct planning *p, int *status, struct frag_error *err)
{
	struct frag_plan_answer what = {
		.trace = frag_trace_info(p->taped.trace), .plan = &p->plan,
		.devices = p->taped.devices.figures, .capacity = p->capacity,
		.checked = p->check_path, .marks = p->marks,
	};
	int rc = 0, interrupted = 0;

	if (!p->plan.complete)
		what.ended_by = !p->plan.stopped ? "budget"
				: frag_interrupted(NULL) ? "interrupt" : "time";
	if (!p->alone)
		interrupted = frag_interrupted(NULL) ? -FRAG_EINTERRUPTED : look_beside(p, err);
	if (interrupted && interrupted != -FRAG_EINTERRUPTED)
		return interrupted;
	what.fits = p->alone || interrupted ? NULL : &p->fits;
	what.timed = p->timed;
	rc = write_plan(p, err);
	p->page.what = &what;
	if (!rc && p->page.path && !p->alone && !interrupted)
		rc = plan_draw(p, err);
	rc = rc ? rc : frag_printed_write(&p->printed, &what, err);
	if (!rc && p->capacity != UINT64_MAX && frag_plan_needs(&p->plan).height > p->capacity)
		*status = 1;
	if (!rc)
		frag_conditions_judge(&p->conditions, plan_value_at, &p->plan, p->path, status);
	return rc ? rc : frag_or_interrupted(interrupted, err);
}

static int plan_trace(struct planning *p, int *status, struct frag_error *err)
{
	int rc = frag_printed_open(&p->printed, err);

	if (!rc && p->out_path) {
		frag_register_partial_file(&p->out);
		rc = frag_outfile_open(&p->out, p->out_path, err);
	}
	rc = rc ? rc : frag_taped_read(&p->taped, &p->path, 1, &p->run, plan_usual, err);
	rc = rc ? rc : plan_place(p, err);
	return rc ? rc : plan_answer(p, status, err);
}

static int plan_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err)
{
	struct planning p = {
		.printed = { .formats = frag_plan_formats, .has_page = true }, .align = 512, .capacity = UINT64_MAX,
		.seconds = 10,
	};
	int rest, rc;

	frag_run_options_init(&p.run);
	rc = frag_redraw_init(&p.page, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &p, plan_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	if (argc - rest != 1) {
		rc = frag_usage(cmd, argc == rest ? "missing argument: TRACE"
					       : "too many arguments: one TRACE", err);
		goto out;
	}
	p.path = argv[rest];
	rc = plan_check(&p, cmd, err);
	rc = rc ? rc : plan_trace(&p, status, err);
out:
	frag_outfile_abandon(&p.out);
	frag_printed_fini(&p.printed);
	frag_redraw_fini(&p.page);
	frag_plan_fini(&p.plan);
	frag_conditions_fini(&p.conditions);
	frag_fits_fini(&p.fits);
	frag_taped_close(&p.taped, 1);
	frag_run_options_fini(&p.run);
	return rc;
}

const struct frag_cmd frag_cmd_plan = {
	.name = "plan",
	.job = FRAG_JOB_OTHER,
	.args = "[options] TRACE",
	.summary = "find the lowest placement, and how far policies are from it",
	.opts = opts,
	.exec = plan_exec,
};
