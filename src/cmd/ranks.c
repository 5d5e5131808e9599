/* ranks.c - fragsim ranks: which ranks of a distributed job stand out, and in what? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/escape.h"
#include "base/parallel.h"
#include "cmd/answer_page.h"
#include "cmd/interrupt.h"
#include "cmd/exit_conditions.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/pytorch_version.h"
#include "cmd/run_options.h"
#include "answers/answers.h"

enum { OPT_FLOOR = FRAG_OPT_FIRST_OWN, OPT_TOP, OPT_ALL, OPT_FAIL_IF };

static const struct frag_opt opts[] = {
	{ 'p', "policy", "NAME", "placement policy, NAME[:key=value,...] (by each trace)",
	  FRAG_OPT_POLICY },
	{ 0, "alloc-conf", "STRING", "settings as in PYTORCH_ALLOC_CONF, of all ranks",
	  FRAG_OPT_ALLOC_CONF },
	{ 0, "floor", "SIZE", "no difference below it stands out (1 % of the median)", OPT_FLOOR },
	{ 0, "top", "N", "tags that are shown of a rank that stands out (5)", OPT_TOP },
	{ 0, "all", NULL, "show every rank, however many there are", OPT_ALL },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'oom > 0'; repeatable",
	  OPT_FAIL_IF },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW(0),
	{ 0, "threads", "N", "concurrent ranks (0: one per processor)", FRAG_OPT_THREADS },
	{ 0 },
};

#define WARNED_MAX 8            /* ranks whose warnings are shown */

/* What is kept of one file. */
struct source {
	struct frag_ranked *rows;
	uint32_t count;
	char *warnings;         /* one a line; NULL: none */
};

struct ranks {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_answer_page page;
	struct frag_progress progress;
	uint64_t floor, top;
	bool all, named;
	struct frag_conditions conditions;
	const char *const *paths;
	uint32_t count;
	struct frag_owners owners;
	struct source *sources;
	struct frag_trace_info *traces;
	struct frag_choice *choices;
	uint64_t *numbers;
	struct frag_ranking ranking;
};

/* The figures by their names, then these. */
static const char *const paths[] = {
	[FRAG_RANK_RESERVED] = "reserved", [FRAG_RANK_REQUESTED] = "requested",
	[FRAG_RANK_LOST] = "wasted", "counts.ooms", "apart", "spread", NULL,
};

static int ranks_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct ranks *r = ctx;

	switch (id) {
	case OPT_FLOOR:
		return frag_option_size(&r->floor, "floor", value, 0, err);
	case OPT_TOP:
		return frag_option_count(&r->top, "top", value, 0, FRAG_RANK_DIFFERENCES, err);
	case OPT_ALL:
		r->all = true;
		return 0;
	case OPT_FAIL_IF:
		return frag_conditions_add(&r->conditions, value, paths, err);
	default:
		return frag_answer_set_option(&r->printed, &r->run, id, value, err);
	}
}

static int ranks_check(struct ranks *r, const struct frag_cmd *cmd, struct frag_error *err)
{
	struct frag_run_options *run = &r->run;
	uint32_t standard = run->profile_path && strcmp(run->profile_path, "-") == 0;
	int rc = 0;

	if (!r->count)
		return frag_usage(cmd, "missing argument: TRACE, one per rank", err);
	for (uint32_t i = 0; i < r->count; i++)
		standard += strcmp(r->paths[i], "-") == 0;
	if (standard > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	r->printed.quiet = run->quiet;
	rc = frag_answer_page_set_path(&r->page, run->html, &r->printed, err);
	rc = rc ? rc : frag_run_settings(run, true, err);
	if (!rc && run->choice_count > 1)
		return frag_usage(cmd, "too many policies: ranks takes one", err);
	rc = rc ? rc
		: frag_answer_output_check_input(&r->printed, run->profile_path, "the profile",
						 err);
	return rc ? rc : frag_printed_apart(&r->printed, cmd, r->paths, r->count, "a rank's trace",
					    err);
}

/* Side by side with others: they are shown at the end, in the order of the ranks. */
static void gather_warning(void *ctx, const char *message)
{
	struct source *s = ctx;
	char shown[FRAG_PRINTABLE_ROOM];
	const char *line = frag_printable(shown, message);
	const size_t old = s->warnings ? strlen(s->warnings) : 0;
	char *more = realloc(s->warnings, old + strlen(line) + 2);

	if (!more)
		return;
	snprintf(more + old, strlen(line) + 2, "%s\n", line);
	s->warnings = more;
}

/* A trace while it is worked on. */
struct job {
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_tape *tape;
	struct frag_devices devices;
};

/* Its own policy, as `run` takes it, or that of the options. */
static int ranks_open_trace(struct job *job, struct ranks *r, uint32_t i, struct frag_error *err)
{
	const struct frag_log log = { .warn = gather_warning, .ctx = &r->sources[i] };
	const struct frag_trace_options options = {
		.lenient = r->run.lenient, .log = log, .stacks = FRAG_STACKS_TOP,
		.sized = r->run.total != UINT64_MAX || r->run.profile_path,
		.configured = frag_configured_next, .configured_ctx = &job->configured,
	};
	struct frag_release release;
	int rc = frag_trace_open(&job->trace, r->paths[i], &options, err);

	rc = frag_or_interrupted(rc, err);
	if (!rc && r->run.choice_count) {
		r->choices[i] = r->run.choices[0];
		rc = frag_follow_release(&r->choices[i], &r->run, job->trace, &release, err);
	} else {
		rc = rc ? rc : frag_choose_policy(&r->choices[i], job->trace, &log, err);
	}
	if (!rc && !frag_configured_init(&job->configured, &r->choices[i], 1))
		rc = frag_fail_nomem(err);
	return rc ? rc : frag_run_devices(&r->run, job->trace, &job->devices, err);
}

static int work_on(struct job *job, struct ranks *r, uint32_t i, struct frag_error *err)
{
	const struct frag_tape_options tape = { .stop = frag_interrupted };
	struct frag_rank_work work = {
		.choice = &r->choices[i], .source = i, .owners = &r->owners,
		.stop = frag_interrupted,
	};
	int rc = ranks_open_trace(job, r, i, err);

	rc = rc ? rc : frag_tape_new(&job->tape, job->trace, &tape, err);
	if (rc)
		return rc;
	work.tape = job->tape;
	work.devices = job->devices.figures;
	rc = frag_ranked_run(&r->sources[i].rows, &r->sources[i].count, &work, err);
	r->traces[i] = *frag_trace_info(job->trace);
	/* what would go with the trace */
	r->traces[i].path = r->paths[i];
	r->traces[i].devices = NULL;
	r->traces[i].meta = (struct frag_text){ .text = NULL };
	return rc;
}

/* One rank, of which only figures and holders stay. */
static int work(void *ctx, uint32_t i, struct frag_error *err)
{
	struct job job = { .trace = NULL };
	int rc;

	if (frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	rc = work_on(&job, ctx, i, err);
	frag_tape_del(job.tape);
	frag_devices_fini(&job.devices);
	frag_trace_close(job.trace);
	frag_configured_fini(&job.configured);
	return rc;
}

static void ranks_show_progress(void *ctx, uint32_t done, uint32_t count)
{
	struct ranks *r = ctx;

	frag_progress_count(&r->progress, "ranks", done, count);
}

/* Of a thousand ranks all may say the same. */
static void report_warnings(struct ranks *r)
{
	uint32_t warned = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const char *line = r->sources[i].warnings;

		if (!line || warned++ >= WARNED_MAX)
			continue;
		for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
			if (!r->run.quiet)
				frag_print_message("warning: %.*s", (int)(end - line), line);
	}
	if (warned > WARNED_MAX && !r->run.quiet)
		frag_print_message(
			"warning: there are warnings of %u more ranks, as run has them of"
			" each",
			warned - WARNED_MAX);
}

static int by_number(const void *one, const void *other)
{
	const struct frag_ranked *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

/* The rows of all, in order; they are the ranking's from here on. */
static int gather_rows(struct ranks *r, struct frag_error *err)
{
	struct frag_ranking *k = &r->ranking;
	size_t all = 0;

	for (uint32_t i = 0; i < r->count; i++)
		all += r->sources[i].count;
	k->rows = calloc(all + 1, sizeof(*k->rows));
	if (!k->rows)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->count; i++) {
		memcpy(k->rows + k->count, r->sources[i].rows,
		       r->sources[i].count * sizeof(*k->rows));
		k->count += r->sources[i].count;
		r->sources[i].count = 0;
	}
	for (uint32_t i = 0; i < k->count; i++)
		k->rows[i].number = r->numbers[k->rows[i].source];
	qsort(k->rows, k->count, sizeof(*k->rows), by_number);
	k->floor = r->floor;
	return 0;
}

static int run_ranks(struct ranks *r, struct frag_error *err)
{
	const struct frag_tasks tasks = {
		.count = r->count,
		.threads = r->run.threads,
		.task = work,
		.progress = ranks_show_progress,
		.ctx = r,
	};
	int rc;

	frag_progress_begin(&r->progress, !r->run.quiet);
	rc = frag_tasks_run(&tasks, err);
	frag_progress_end(&r->progress);
	report_warnings(r);
	rc = rc ? rc : gather_rows(r, err);
	return rc ? rc : frag_ranking_compare(&r->ranking, &r->owners, err);
}

static double ranks_value_of(const void *ctx, const char *path)
{
	const struct frag_ranking *k = ctx;

	for (int i = 0; i < FRAG_RANK_FIGURES; i++)
		if (strcmp(path, paths[i]) == 0)
			return (double)frag_ranking_most(k, i);
	if (strcmp(path, "counts.ooms") == 0)
		return k->ooms;
	if (strcmp(path, "apart") == 0)
		return k->apart;
	return (double)(k->most[FRAG_RANK_RESERVED] - k->least[FRAG_RANK_RESERVED]);
}

/* A condition that holds is a no. */
static void ranks_judge(const struct ranks *r, int *status)
{
	char who[40];

	snprintf(who, sizeof(who), "%u rank%s", r->count, frag_s(r->count));
	frag_conditions_judge(&r->conditions, ranks_value_of, &r->ranking, who, status);
}

static int ranks_make_room(struct ranks *r, struct frag_error *err)
{
	r->sources = calloc(r->count, sizeof(*r->sources));
	r->traces = calloc(r->count, sizeof(*r->traces));
	r->choices = calloc(r->count, sizeof(*r->choices));
	r->numbers = calloc(r->count, sizeof(*r->numbers));
	return r->sources && r->traces && r->choices && r->numbers ? 0 : frag_fail_nomem(err);
}

static int compare_ranks(struct ranks *r, int *status, struct frag_error *err)
{
	struct frag_ranks_answer answer;
	int rc = frag_run_read_profile(&r->run, err);

	rc = rc ? rc : ranks_make_room(r, err);
	rc = rc ? rc : frag_printed_open(&r->printed, err);
	if (rc)
		return rc;
	r->named = frag_rank_numbers(r->paths, r->count, r->numbers);
	rc = run_ranks(r, err);
	if (rc)
		return rc;
	answer = (struct frag_ranks_answer){
		.traces = r->traces,
		.choices = r->choices,
		.source_count = r->count,
		.numbers = r->numbers,
		.ranking = &r->ranking,
		.named = r->named,
		.all = r->all,
		.top = (uint32_t)r->top,
	};
	r->page.what = &answer;
	r->page.bad = r->ranking.ooms || r->ranking.apart;
	rc = frag_printed_write(&r->printed, &answer, err);
	if (!rc)
		ranks_judge(r, status);
	return rc;
}

static void ranks_release(struct ranks *r)
{
	for (uint32_t i = 0; r->sources && i < r->count; i++) {
		for (uint32_t k = 0; k < r->sources[i].count; k++)
			frag_ranked_fini(&r->sources[i].rows[k]);
		free(r->sources[i].rows);
		free(r->sources[i].warnings);
	}
	free(r->sources);
	free(r->traces);
	free(r->choices);
	free(r->numbers);
	frag_conditions_fini(&r->conditions);
	frag_ranking_fini(&r->ranking);
	frag_owners_fini(&r->owners);
	frag_printed_fini(&r->printed);
	frag_redraw_fini(&r->page);
	frag_run_options_fini(&r->run);
}

static int ranks_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		      struct frag_error *err)
{
	struct ranks r = {
		.printed = { .formats = frag_ranks_formats, .has_page = true }, .top = 5, .floor = UINT64_MAX,
	};
	int rest, rc;

	if (!frag_owners_init(&r.owners))
		return frag_fail_nomem(err);
	frag_run_options_init(&r.run);
	rc = frag_redraw_init(&r.page, cmd->name, argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &r, ranks_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	r.paths = (const char *const *)argv + rest;
	r.count = (uint32_t)(argc - rest);
	rc = ranks_check(&r, cmd, err);
	rc = rc ? rc : compare_ranks(&r, status, err);
out:
	ranks_release(&r);
	return rc;
}

const struct frag_cmd frag_cmd_ranks = {
	.name = "ranks",
	.job = FRAG_JOB_HOLDERS,
	.args = "[options] TRACE...",
	.summary = "find the ranks of a distributed job that differ",
	.opts = opts,
	.exec = ranks_exec,
};
