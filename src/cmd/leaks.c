/* leaks.c - fragsim leaks: does a program hold more after each iteration, and who holds it? */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cmd/answer_page.h"
#include "cmd/interrupt.h"
#include "cmd/exit_conditions.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "answers/answers.h"

enum { OPT_MARK = FRAG_OPT_FIRST_OWN, OPT_TOP, OPT_FAIL_IF, OPT_INFERRED };

static const struct frag_opt opts[] = {
	{ 0, "mark", "NAME",
	  "an iteration begins at this mark, whatever its numbers (the most usual)", OPT_MARK },
	{ 0, "top", "N", "leaks of a device that are shown (10)", OPT_TOP },
	{ 0, "fail-if", "CONDITION", "exit with 1 if leak or growth is so large; repeatable",
	  OPT_FAIL_IF },
	{ 0, "inferred", NULL, "--fail-if also judges iterations that no mark shows", OPT_INFERRED },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW(0),
	{ 0 },
};

struct leaks {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page page;
	struct frag_progress progress;
	const char *path, *mark;
	uint64_t top;
	bool inferred;          /* --fail-if judges iterations without marks too */
	struct frag_conditions conditions;
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_devices devices;
	struct frag_leaks found;
};

static const char *const paths[] = { "leak", "growth", NULL };

static int leaks_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct leaks *l = ctx;

	switch (id) {
	case OPT_MARK:
		l->mark = value;
		return 0;
	case OPT_TOP:
		return frag_option_count(&l->top, "top", value, 0, FRAG_COUNT_MAX, err);
	case OPT_INFERRED:
		l->inferred = true;
		return 0;
	case OPT_FAIL_IF:
		return frag_conditions_add(&l->conditions, value, paths, err);
	default:
		return frag_answer_set_option(&l->printed, &l->run, id, value, err);
	}
}

static void leaks_warn(void *ctx, const char *message)
{
	struct leaks *l = ctx;

	frag_progress_end(&l->progress);
	frag_warn(&l->run.quiet, message);
}

static void show_reading(void *ctx, const struct frag_trace_info *info)
{
	struct leaks *l = ctx;

	frag_progress_show(&l->progress, info);
}

static int leaks_read_trace(struct leaks *l, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = l->run.lenient,
		.stacks = FRAG_STACKS_PYTHON,
		.sized = l->run.total != UINT64_MAX,
		.log = { .warn = leaks_warn, .ctx = l },
	};
	const struct frag_tape_options tape = {
		.stop = frag_interrupted, .progress = show_reading, .ctx = l,
	};
	int rc = frag_trace_open(&l->trace, l->path, &options, err);

	frag_progress_begin(&l->progress, !l->run.quiet);
	rc = rc ? rc : frag_tape_new(&l->tape, l->trace, &tape, err);
	frag_progress_end(&l->progress);
	rc = rc ? rc : frag_run_devices(&l->run, l->trace, &l->devices, err);
	return frag_or_interrupted(rc, err);
}

/* What each device has for blocks. */
static int leaks_find(struct leaks *l, struct frag_error *err)
{
	uint64_t *rooms = calloc(l->devices.count + 1, sizeof(*rooms));
	int rc;

	if (!rooms)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < l->devices.count; d++) {
		const struct frag_device_figures *f = &l->devices.figures[d];

		if (f->total > f->context + f->other)
			rooms[d] = f->total - f->context - f->other;
	}
	rc = frag_leaks_find(&l->found, l->tape, l->mark, rooms, err);
	free(rooms);
	return rc;
}

/* A condition that holds is a no. */
static double value_at(const void *ctx, const char *path)
{
	const struct frag_leaking *found = ctx;

	return strcmp(path, "leak") == 0 ? (double)found->leak : found->growth;
}

static void leaks_judge(const struct leaks *l, int *status)
{
	char who[PATH_MAX + 40];

	if (!l->found.iterations.mark && !l->inferred && l->conditions.count) {
		frag_print_message("%s: --fail-if is not judged: no mark shows the iterations;"
				   " add marks, or --inferred", l->path);
		return;
	}
	for (uint32_t d = 0; d < l->devices.count; d++) {
		snprintf(who, sizeof(who), "%s, device %u", l->path, d);
		frag_conditions_judge(&l->conditions, value_at, &l->found.devices[d], who, status);
	}
}

static int leaks_find_leaks(struct leaks *l, int *status, struct frag_error *err)
{
	struct frag_leaks_answer answer = { .leaks = &l->found, .top = (uint32_t)l->top };
	int rc = frag_run_read_profile(&l->run, err);

	rc = rc ? rc : frag_printed_open(&l->printed, err);
	rc = rc ? rc : leaks_read_trace(l, err);
	rc = rc ? rc : leaks_find(l, err);
	if (rc)
		return rc;
	answer.trace = frag_trace_info(l->trace);
	answer.devices = l->devices.figures;
	l->page.what = &answer;
	l->page.bad = l->found.leak_count > 0;
	rc = frag_printed_write(&l->printed, &answer, err);
	if (!rc)
		leaks_judge(l, status);
	return rc;
}

static int leaks_check(struct leaks *l, const struct frag_cmd *cmd, struct frag_error *err)
{
	int rc;

	l->printed.quiet = l->run.quiet;
	rc = frag_answer_page_set_path(&l->page, l->run.html, &l->printed, err);
	rc = rc ? rc : frag_answer_output_check_input(&l->printed, l->run.profile_path, "the profile", err);
	return rc ? rc : frag_printed_apart(&l->printed, cmd, &l->path, 1, "the trace", err);
}

static int leaks_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		      struct frag_error *err)
{
	struct leaks l = { .printed = { .formats = frag_leaks_formats, .has_page = true }, .top = 10 };
	int rest, rc;

	frag_run_options_init(&l.run);
	rc = frag_redraw_init(&l.page, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &l, leaks_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	if (argc - rest != 1) {
		rc = frag_usage(cmd, argc == rest ? "missing argument: TRACE"
					       : "too many arguments: one TRACE", err);
		goto out;
	}
	l.path = argv[rest];
	rc = leaks_check(&l, cmd, err);
	rc = rc ? rc : leaks_find_leaks(&l, status, err);
out:
	frag_printed_fini(&l.printed);
	frag_redraw_fini(&l.page);
	frag_leaks_fini(&l.found);
	frag_tape_del(l.tape);
	frag_devices_fini(&l.devices);
	frag_trace_close(l.trace);
	frag_conditions_fini(&l.conditions);
	frag_run_options_fini(&l.run);
	return rc;
}

const struct frag_cmd frag_cmd_leaks = {
	.name = "leaks",
	.job = FRAG_JOB_HOLDERS,
	.args = "[options] TRACE",
	.summary = "report memory that grows with each iteration",
	.opts = opts,
	.exec = leaks_exec,
};
