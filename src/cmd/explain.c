/* explain.c - fragsim explain: why memory ran out, and what to do. */
#include <limits.h>
#include <string.h>

#include "cmd/time_budget.h"
#include <stdbool.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cmd/command.h"
#include "base/output_path.h"
#include "cmd/exit_conditions.h"
#include "cmd/interrupt.h"
#include "cmd/terminal.h"
#include "documents/pytorch_oom_message.h"
#include "messages/groups.h"
#include "answers/answers.h"
#include "cmd/answer_page.h"
#include "cmd/output_formats.h"
#include "cmd/default_policy.h"
#include "cmd/loaded_trace.h"

/* Options of a trace alone, from `base` on. */
enum { FRAG_EXPLAIN_AT, FRAG_EXPLAIN_TOP, FRAG_EXPLAIN_MOVES, FRAG_EXPLAIN_BLOCK_COST,
       FRAG_EXPLAIN_FOLDED, FRAG_EXPLAIN_FAIL_IF, FRAG_EXPLAIN_OPTIONS };
#define FRAG_EXPLAIN_ROWS(base)                                                                \
	{ 0, "at", "WHEN", "oom, peak, worst, a step, or the name of a mark (oom)",              \
	  (base) + FRAG_EXPLAIN_AT },                                                              \
	{ 0, "top", "N", "with tables of N rows (5)", (base) + FRAG_EXPLAIN_TOP },                  \
	{ 0, "moves", "N", "continue after a move, up to N moves (1)", (base) + FRAG_EXPLAIN_MOVES }, \
	{ 0, "block-cost", "SIZE", "cost of each block of a move, in addition to its bytes (4MiB)",   \
	  (base) + FRAG_EXPLAIN_BLOCK_COST },                                                      \
	{ 0, "folded", "FILE", "write memory by tag as folded stacks, for flame graphs",  \
	  (base) + FRAG_EXPLAIN_FOLDED },                                                          \
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'free > 1GiB'; repeatable",              \
	  (base) + FRAG_EXPLAIN_FAIL_IF }

struct frag_explain_trace {
	struct frag_run_options run;
	const char *at;                 /* NULL: oom */
	uint64_t top, moves, block_cost;
	bool tables;                    /* --top was given */
	const char *folded;             /* path; NULL: none */
	struct frag_answer_page redraw;      /* of the page, where run has --html */
	struct frag_conditions conditions;
	int *status;
};

#define ROWS_MAX 100000

static const char *const moments[] = {
	[FRAG_MOMENT_OOM] = "oom", [FRAG_MOMENT_PEAK] = "peak", [FRAG_MOMENT_WORST] = "worst", NULL,
};

struct work {
	struct frag_explain_trace *how;
	const struct frag_cmd *cmd;
	const char *path;
	struct frag_answer_output printed;
	struct frag_outfile folded;
	struct frag_loaded_trace taped;
	struct frag_taped_reading reading;
	struct frag_devices devices;
	struct frag_explanation found;
	struct frag_progress progress;
	const char *counted;            /* what it shows; NULL: nothing so far */
	bool time_up;			/* the search ended for that */
};

static void frag_explain_trace_init(struct frag_explain_trace *how)
{
	*how = (struct frag_explain_trace){
		.top = 5, .moves = 1, .block_cost = FRAG_BLOCK_COST,
	};
	frag_run_options_init(&how->run);
}

static void frag_explain_trace_fini(struct frag_explain_trace *how)
{
	frag_redraw_fini(&how->redraw);
	frag_conditions_fini(&how->conditions);
	frag_run_options_fini(&how->run);
}

/* Of the explained step of a device. */
static const char *const paths[] = { "counts.ooms", "live", "free", "non_releasable", "missing", NULL };

/* One of the rows above, less `base`, or an option of run. */
static int frag_explain_trace_set(struct frag_explain_trace *how, int id, const char *value,
			   struct frag_error *err)
{
	switch (id) {
	case FRAG_EXPLAIN_AT:
		how->at = value;
		return 0;
	case FRAG_EXPLAIN_TOP:
		how->tables = true;
		return frag_option_count(&how->top, "top", value, 1, ROWS_MAX, err);
	case FRAG_EXPLAIN_MOVES:
		return frag_option_count(&how->moves, "moves", value, 0, ROWS_MAX, err);
	case FRAG_EXPLAIN_BLOCK_COST:
		return frag_option_size(&how->block_cost, "block-cost", value, 0, err);
	case FRAG_EXPLAIN_FAIL_IF:
		return frag_conditions_add(&how->conditions, value, paths, err);
	default:
		how->folded = value;
		return 0;
	}
}

/* The policy that `run` would take. */
static int explain_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
			 const struct frag_trace *trace, const struct frag_log *log,
			 struct frag_error *err)
{
	*count = 1;
	return frag_choose_policy(&choices[0], trace, log, err);
}

static bool is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int explain_check(struct work *w, struct frag_error *err)
{
	struct frag_run_options *run = &w->how->run;
	int rc;

	w->printed.quiet = run->quiet || is_standard(w->how->folded);
	rc = frag_run_settings(run, true, err);
	if (!rc && run->choice_count > 1)
		return frag_usage(w->cmd, "too many policies: explain takes one", err);
	if (!rc && run->json)
		rc = frag_printed_json(&w->printed, run->json, err);
	rc = rc ? rc : frag_answer_page_set_path(&w->how->redraw, run->html, &w->printed, err);
	if (!rc && is_standard(w->how->folded)
	    && (is_standard(run->json) || is_standard(run->html)))
		return frag_usage(w->cmd, "two outputs to standard output: only one can be -", err);
	if (!rc && w->how->folded && frag_same_file(w->how->folded, w->path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the trace",
				 w->how->folded);
	rc = rc ? rc
		: frag_answer_output_check_input(&w->printed, run->profile_path, "the profile",
						 err);
	rc = rc ? rc
		: frag_answer_output_check_input(&w->printed, w->how->folded, "another output",
						 err);
	return rc ? rc : frag_printed_apart(&w->printed, w->cmd, &w->path, 1, "the trace", err);
}

/* A number is a step, whatever marks are called. */
static int set_moment(struct work *w, struct frag_error *err)
{
	const char *at = w->how->at;
	struct frag_explanation *x = &w->found;
	int i = 0;

	x->at = FRAG_MOMENT_OOM;
	if (!at)
		return 0;
	for (i = 0; moments[i]; i++)
		if (strcmp(at, moments[i]) == 0) {
			x->at = (enum frag_moment_kind)i;
			return 0;
		}
	x->at = FRAG_MOMENT_MARK;
	x->at_mark = at;
	if (!*at || at[strspn(at, "0123456789")])
		return 0;
	x->at = FRAG_MOMENT_STEP;
	return frag_option_count(&x->at_step, "at", at, 0, FRAG_COUNT_MAX, err);
}

static int explain_read_trace(struct work *w, struct frag_error *err)
{
	const struct frag_run_options *run = &w->how->run;
	const struct frag_tape_options tape = {
		.stop = frag_interrupted, .progress = frag_taped_show, .ctx = &w->reading,
	};
	int rc;

	w->reading = (struct frag_taped_reading){
		.quiet = run->quiet, .tags = true, .capacity = true,
		.stacks = w->how->folded ? FRAG_STACKS_ALL
			  : run->html ? FRAG_STACKS_PYTHON : FRAG_STACKS_TOP,
	};
	frag_progress_begin(&w->reading.progress, !run->quiet);
	rc = frag_taped_open(&w->taped, w->path, run, explain_usual, &w->reading, err);
	rc = rc ? rc : frag_tape_new(&w->taped.tape, w->taped.trace, &tape, err);
	frag_progress_end(&w->reading.progress);
	return rc ? rc : frag_run_devices(run, w->taped.trace, &w->devices, err);
}

/* A line a stack, of all moments: "outer;inner bytes". */
static int write_folded(struct work *w, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(&w->folded);

	if (!f)
		return frag_outfile_status(&w->folded, err);
	for (uint32_t i = 0; i < w->found.count; i++)
		for (uint32_t k = 0; k < w->found.moments[i].folded_count; k++)
			fprintf(f, "%s %" PRIu64 "\n", w->found.moments[i].folded[k].line,
				w->found.moments[i].folded[k].bytes);
	frag_outfile_stream_end(&w->folded, f);
	return frag_outfile_finish(&w->folded, err);
}

static void explain_show(void *ctx, const char *what, uint32_t done, uint32_t count)
{
	struct work *w = ctx;

	if (!w->counted || !done || strcmp(w->counted, what) != 0)
		frag_progress_part(&w->progress);
	w->counted = what;
	frag_progress_count(&w->progress, what, done, count);
}

static int explain_trace_explain(struct work *w, struct frag_error *err)
{
	struct frag_explanation *x = &w->found;
	int rc;

	x->tape = w->taped.tape;
	x->choice = &w->taped.choices[0];
	x->devices = w->devices.figures;
	x->moves = (uint32_t)w->how->moves;
	x->block_cost = w->how->block_cost;
	x->folded = w->how->folded != NULL;
	x->threads = w->how->run.threads;
	x->stop = frag_time_is_up;
	x->progress = explain_show;
	x->ctx = w;
	frag_progress_begin(&w->progress, !w->how->run.quiet);
	frag_time_begin(w->how->run.seconds);
	rc = frag_explanation_run(x, err);
	frag_progress_end(&w->progress);
	w->time_up = frag_time_ended(rc);
	rc = w->time_up ? 0 : rc;
	return rc || !x->folded ? rc : write_folded(w, err);
}

/* The run again, on what it was explained on, and its first moment. */
static int explain_draw(struct work *w, struct frag_error *err)
{
	struct frag_answer_page *r = &w->how->redraw;
	struct frag_redrawn x;
	int rc = frag_redraw_room(r, 1, err);

	if (rc)
		return rc;
	rc = frag_redrawn_begin(&x, &w->taped, err);
	if (w->found.count) {
		x.look = w->found.moments[0].step;
		r->bad = w->found.moments[0].cause != FRAG_CAUSE_NONE;
	}
	rc = rc ? rc : frag_redrawn_run(&x, &w->taped.choices[0], w->devices.figures, err);
	rc = rc ? rc : frag_redrawn_end(&x, r, err);
	frag_redrawn_fini(&x);
	return rc;
}

static double explain_value_at(const void *ctx, const char *path)
{
	const struct frag_explained *m = ctx;
	const bool oom = m->kind == FRAG_MOMENT_OOM;

	if (strcmp(path, "counts.ooms") == 0)
		return oom;
	if (strcmp(path, "missing") == 0)
		return oom ? (double)m->missing : 0;
	return (double)(strcmp(path, "live") == 0   ? m->live
			: strcmp(path, "free") == 0 ? m->free
						    : m->non_releasable);
}

static void explain_judge(const struct work *w)
{
	char who[PATH_MAX + 40];

	for (uint32_t i = 0; i < w->found.count; i++) {
		snprintf(who, sizeof(who), "%s, device %u", w->path, w->found.moments[i].device);
		frag_conditions_judge(&w->how->conditions, explain_value_at, &w->found.moments[i],
				      who, w->how->status);
	}
}

static int explain_print(struct work *w, struct frag_error *err)
{
	const struct frag_explain_answer answer = {
		.trace = frag_trace_info(w->taped.trace),
		.found = &w->found,
		.top = (uint32_t)w->how->top,
		.verbose = w->how->run.verbose || w->how->tables,
		.time_up = w->time_up,
	};
	int rc = 0;

	if (w->how->folded)
		w->printed.beside = &w->folded;
	w->how->redraw.what = &answer;
	if (w->how->redraw.path)
		rc = explain_draw(w, err);
	rc = rc ? rc : frag_printed_write(&w->printed, &answer, err);
	if (!rc)
		explain_judge(w);
	return rc;
}

static int frag_explain_trace(struct frag_explain_trace *how, const struct frag_cmd *cmd,
		       const char *path, struct frag_error *err)
{
	struct work w = {
		.how = how, .cmd = cmd, .path = path,
		.printed = { .formats = frag_explain_formats },
	};
	int rc = explain_check(&w, err);

	rc = rc ? rc : set_moment(&w, err);
	rc = rc ? rc : frag_run_read_profile(&how->run, err);
	rc = rc ? rc : frag_printed_open(&w.printed, err);
	if (!rc && how->folded)
		rc = frag_outfile_open(&w.folded, how->folded, err);
	rc = rc ? rc : explain_read_trace(&w, err);
	rc = rc ? rc : explain_trace_explain(&w, err);
	rc = rc ? rc : explain_print(&w, err);
	frag_explanation_fini(&w.found);
	frag_printed_fini(&w.printed);
	frag_outfile_abandon(&w.folded);
	frag_devices_fini(&w.devices);
	frag_taped_close(&w.taped, 1);
	return rc;
}

struct frag_explain_message {
	const char *path;       /* "-": standard input */
	const char *json;       /* NULL: none */
	bool quiet, verbose;
};

struct explained {
	const struct frag_explain_message *how;
	struct frag_message_groups groups;
	struct frag_outfile json;       /* written as they are found */
	uint64_t count;
	struct frag_error *err;
};

static int found(void *ctx, const struct frag_message *m)
{
	struct explained *e = ctx;

	if (!frag_message_groups_add(&e->groups, m))
		return frag_fail_nomem(e->err);
	if (!e->how->json)
		return 0;
	frag_message_write(m, e->count++, &e->json);
	return frag_outfile_status(&e->json, e->err);
}

static int none(const struct frag_message_log *log, struct frag_error *err)
{
	if (log->bare)
		return frag_fail(err, FRAG_ETRACE, "%s:%" PRIu64 ": out of memory, but no sizes in"
				 " the message: nothing to explain", frag_input_name(log->path),
				 log->bare_line);
	return frag_fail(err, FRAG_ETRACE, "%s: no out-of-memory message was found",
			 frag_input_name(log->path));
}

static int explain_report(struct explained *e, struct frag_error *err)
{
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	const struct frag_text_style paper = {
		.colour = frag_terminal_colour(columns), .columns = columns,
	};

	if (e->how->json)
		frag_message_write_end(&e->json);
	if (!e->how->quiet && !(e->how->json && strcmp(e->how->json, "-") == 0))
		frag_report_messages(&e->groups, &paper, e->how->verbose, stdout);
	return e->how->json ? frag_outfile_commit(&e->json, err) : 0;
}

/* The JSON is opened first and written as messages come; without one nothing is left of it. */
static int frag_explain_message(const struct frag_explain_message *how, struct frag_error *err)
{
	struct explained e = { .how = how, .err = err };
	struct frag_message_log log = {
		.path = how->path, .stop = frag_interrupted, .found = found, .ctx = &e,
	};
	int rc = 0;

	if (how->json) {
		frag_register_partial_file(&e.json);
		rc = frag_outfile_open(&e.json, how->json, err);
	}
	if (!rc && !how->quiet && strcmp(how->path, "-") == 0 && isatty(STDIN_FILENO))
		frag_print_message("enter the error or the log, then press Ctrl-D on an empty"
				   " line");
	rc = rc ? rc : frag_message_log_read(&log, err);
	if (!rc && !e.groups.messages)
		rc = none(&log, err);
	rc = rc ? rc : explain_report(&e, err);
	if (how->json) {
		frag_outfile_abandon(&e.json);
		frag_register_partial_file(NULL);
	}
	frag_message_groups_fini(&e.groups);
	return frag_or_interrupted(rc, err);
}

enum { OPT_MESSAGE = FRAG_OPT_FIRST_OWN, OPT_OF_TRACE };

static const struct frag_opt opts[] = {
	{ 0, "message", NULL, "explain the out-of-memory messages of a text or a log",
	  OPT_MESSAGE },
	{ 'p', "policy", "NAME", "placement policy, NAME[:key=value,...] (by the trace)",
	  FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	FRAG_EXPLAIN_ROWS(OPT_OF_TRACE),
	FRAG_RESULT_ROWS("write the answer to a file, .json or .html; repeatable"),
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_OPT_JSON },
	FRAG_HTML_ROW(0),
	FRAG_COLOR_ROW(FRAG_OPT_COLOR),
	{ 'v', "verbose", NULL, "with tables of segments, tags and pools", FRAG_OPT_VERBOSE },
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	FRAG_LENIENT_ROW(FRAG_OPT_LENIENT),
	FRAG_PROFILE_ROW(0),
	FRAG_DEVICE_ROWS(0),
	FRAG_TIME_ROW(0),
	{ 0, "threads", "N", "concurrent simulations (0: one per processor)", FRAG_OPT_THREADS },
	{ 0 },
};

struct explain {
	struct frag_explain_trace trace;
	bool message;
	const char *of_trace;           /* an option that only a trace has; NULL: none */
};

static const char *explain_name_of(int id)
{
	const struct frag_opt *o = opts;

	while (o->id != id)
		o++;
	return o->name;
}

static int explain_set_output(struct explain *explain, const char *value, struct frag_error *err)
{
	struct frag_run_options *run = &explain->trace.run;
	int rc = frag_run_set_option(run, FRAG_OPT_OUTPUT, value, err);

	if (!rc && run->steps)
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: no such format; valid endings:"
				 " .json, .html", value);
	if (run->html)
		explain->of_trace = "html";
	return rc;
}

static int explain_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct explain *explain = ctx;

	switch (id) {
	case OPT_MESSAGE:
		explain->message = true;
		return 0;
	case FRAG_OPT_JSON:
	case FRAG_OPT_FORMAT:
		return frag_run_set_option(&explain->trace.run, id, value, err);
	case FRAG_OPT_OUTPUT:
		return explain_set_output(explain, value, err);
	case FRAG_OPT_COLOR:
		return frag_option_color(value, err);
	case FRAG_OPT_QUIET:
		explain->trace.run.quiet = true;
		return 0;
	case FRAG_OPT_VERBOSE:
		explain->trace.run.verbose = true;
		return 0;
	default:
		explain->of_trace = explain_name_of(id);
		if (id < OPT_OF_TRACE)
			return frag_run_set_option(&explain->trace.run, id, value, err);
		return frag_explain_trace_set(&explain->trace, id - OPT_OF_TRACE, value, err);
	}
}

/* Without a file, what is pasted or piped. */
static int explain_message(const struct explain *explain, const struct frag_cmd *cmd,
			   char *const *operands, int count, struct frag_error *err)
{
	const struct frag_explain_message how = {
		.path = count ? operands[0] : "-", .json = explain->trace.run.json,
		.quiet = explain->trace.run.quiet, .verbose = explain->trace.run.verbose,
	};

	if (explain->of_trace)
		return frag_fail(err, FRAG_EUSAGE, "--%s is for a trace, and --message reads a"
				 " message", explain->of_trace);
	if (count > 1)
		return frag_usage(cmd, "too many arguments: one FILE", err);
	if (how.json && strcmp(how.path, "-") != 0 && frag_same_file(how.json, how.path))
		return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace the message",
				 how.json);
	return frag_explain_message(&how, err);
}

#define SNIFFED (UINT32_C(1) << 20)     /* bytes in which a message is searched for */

/*
 * Does a file look like a log with an out-of-memory message? Traces and snapshots begin with a
 * bracket or a byte that is no text; a log contains the words.
 */
static bool is_message(const char *path)
{
	char *text = NULL;
	size_t length = 0;
	bool found = false;
	struct stat st;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	text = f ? malloc(SNIFFED + 1) : NULL;
	if (text)
		length = fread(text, 1, SNIFFED, f);
	if (length && !strchr("{(\037\200", text[0]) && !memchr(text, '\0', length)) {
		text[length] = '\0';
		found = strstr(text, "out of memory") || strstr(text, "Out of memory")
			|| strstr(text, "OutOfMemory") || strstr(text, "RESOURCE_EXHAUSTED");
	}
	if (f)
		fclose(f);
	free(text);
	return found;
}

static int explain_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct explain explain = { .message = false };
	int rest, rc;

	frag_explain_trace_init(&explain.trace);
	explain.trace.status = status;
	rc = frag_redraw_init(&explain.trace.redraw, "explain", argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &explain, explain_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	if (explain.message || (argc - rest == 1 && is_message(argv[rest])))
		rc = explain_message(&explain, cmd, argv + rest, argc - rest, err);
	else if (argc - rest != 1)
		rc = frag_usage(cmd, argc == rest ? "missing argument: TRACE or a log"
					       : "too many arguments: one TRACE", err);
	else
		rc = frag_explain_trace(&explain.trace, cmd, argv[rest], err);
out:
	frag_explain_trace_fini(&explain.trace);
	return rc;
}

const struct frag_cmd frag_cmd_explain = {
	.name = "explain",
	.job = FRAG_JOB_FAILURE,
	.args = "[options] TRACE | --message [options] [FILE]",
	.summary = "explain an error message, a snapshot or a trace",
	.opts = opts,
	.exec = explain_exec,
};
