/* leaks.c - fragsim leaks: lists the memory that each iteration leaves allocated, by tag. */
#include <limits.h>
#include <stdio.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/answers.h"
#include "cmd/frame.h"

struct leaks {
	struct frag_question q;
	const char *mark;
	uint64_t top;
	bool inferred;          /* --fail-if judges iterations without marks too */
	struct frag_trace *trace;
	struct frag_tape *tape;
	struct frag_devices devices;
	struct frag_leaks found;
};

static const char *const paths[] = { "leak", "growth", NULL };

static const struct frag_opt opts[] = {
	{ 0, "mark", "NAME",
	  "an iteration begins at this mark, whatever its numbers (the most usual)",
	  FRAG_TEXT(struct leaks, mark) },
	{ 0, "top", "N", "leaks of a device that are shown (10)",
	  FRAG_COUNT(struct leaks, top, 0, FRAG_COUNT_MAX), .usual = 10 },
	FRAG_FAIL_IF_ROW("exit with 1 if leak or growth is so large; repeatable", paths),
	{ 0, "inferred", NULL, "--fail-if also judges iterations that no mark shows",
	  FRAG_FLAG(struct leaks, inferred) },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW,
	{ 0 },
};

static void leaks_warn(void *ctx, const char *message)
{
	struct leaks *l = ctx;

	frag_progress_end(&l->q.progress);
	frag_warn(&l->q.run.quiet, message);
}

static void show_reading(void *ctx, const struct frag_trace_info *info)
{
	struct leaks *l = ctx;

	frag_progress_show(&l->q.progress, info);
}

static int leaks_read(struct frag_question *q, struct frag_sink *sink, struct frag_error *err)
{
	struct leaks *l = (struct leaks *)q;
	const struct frag_trace_options options = {
		.lenient = l->q.run.lenient,
		.stacks = FRAG_STACKS_PYTHON,
		.sized = l->q.run.total != UINT64_MAX,
		.log = { .warn = leaks_warn, .ctx = l },
	};
	const struct frag_tape_options tape = {
		.stop = frag_interrupted, .progress = show_reading, .ctx = l,
	};
	int rc = frag_trace_open(&l->trace, q->paths[0], &options, err);

	(void)sink;
	frag_progress_begin(&l->q.progress, !l->q.run.quiet);
	rc = rc ? rc : frag_tape_new(&l->tape, l->trace, &tape, err);
	frag_progress_end(&l->q.progress);
	rc = rc ? rc : frag_run_devices(&l->q.run, l->trace, &l->devices, err);
	return frag_or_interrupted(rc, err);
}

/* What each device has for blocks. */
static int leaks_search(struct frag_question *q, struct frag_error *err)
{
	struct leaks *l = (struct leaks *)q;
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

static void leaks_judge(const struct leaks *l)
{
	const char *path = l->q.paths[0];
	char who[PATH_MAX + 40];

	if (!l->found.iterations.mark && !l->inferred && l->q.conditions.count) {
		frag_print_message("%s: --fail-if is not judged: no mark shows the iterations;"
				   " add marks, or --inferred", path);
		return;
	}
	for (uint32_t d = 0; d < l->devices.count; d++) {
		snprintf(who, sizeof(who), "%s, device %u", path, d);
		frag_conditions_judge(&l->q.conditions, value_at, &l->found.devices[d], who,
				      l->q.status);
	}
}

static int leaks_print(struct frag_question *q, struct frag_error *err)
{
	struct leaks *l = (struct leaks *)q;
	const struct frag_leaks_answer answer = {
		.leaks = &l->found, .top = (uint32_t)l->top, .trace = frag_trace_info(l->trace),
		.devices = l->devices.figures,
	};
	int rc;

	q->redraw.bad = l->found.leak_count > 0;
	rc = frag_question_answer(q, &answer, err);
	if (!rc)
		leaks_judge(l);
	return rc;
}

static const struct frag_question_ops question = {
	.whole = true,
	.read = leaks_read,
	.search = leaks_search,
	.print = leaks_print,
};

static int leaks_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	return frag_question_run(own, &question, args, err);
}

static void leaks_fini(void *own)
{
	struct leaks *l = own;

	frag_leaks_fini(&l->found);
	frag_tape_del(l->tape);
	frag_devices_fini(&l->devices);
	frag_trace_close(l->trace);
}

const struct frag_cmd frag_cmd_leaks = {
	.name = "leaks",
	.job = FRAG_JOB_HOLDERS,
	.args = "[options] TRACE",
	.summary = "report memory that grows with each iteration",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_ANSWER,
	.formats = frag_leaks_formats,
	.size = sizeof(struct leaks),
	.exec = leaks_exec,
	.fini = leaks_fini,
};
