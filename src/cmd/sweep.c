/* sweep.c - fragsim sweep: every policy and capacity on every trace, on many machines. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/answers.h"
#include "base/array_grow.h"
#include "base/format.h"
#include "base/platform.h"
#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "sweep/run_shard.h"
#include "sweep/shard_results.h"
#include "verify/log_check.h"

struct sweep {
	struct frag_run_options run;    /* its choices are the manifest's policies, */
	const char *grid;               /* or, before it is made, the given ones and this */
	uint64_t *totals;               /* of --device-bytes */
	uint32_t total_count, total_capacity;
	struct frag_sweep_plan plan;
	const struct frag_trace_info *shown;    /* the trace that is read */
	struct frag_progress progress;
	struct frag_shard_run shard;
	const char *merge;
	uint64_t tasks;                 /* 0: not given */
	int script;                     /* of --plan; -1: none */
};

#define TOTALS_MAX 1000

static int add_total(struct sweep *s, const char *text, struct frag_error *err)
{
	static const struct frag_opt one = { .name = "device-bytes", .kind = FRAG_OPT_CAPACITY };
	uint64_t total = 0;
	int rc = frag_option_set(&total, &one, text, err);

	for (uint32_t i = 0; i < s->total_count && !rc; i++)
		if (s->totals[i] == total)
			rc = frag_fail(err, FRAG_EUSAGE, "--device-bytes %.60s: it is there twice",
				       text);
	if (!rc && s->total_count == TOTALS_MAX)
		rc = frag_fail(err, FRAG_EUSAGE, "--device-bytes: more than %d capacities",
			       TOTALS_MAX);
	if (!rc && !FRAG_GROW(s->totals, s->total_capacity, s->total_count))
		rc = frag_fail_nomem(err);
	if (!rc)
		s->totals[s->total_count++] = total;
	return rc;
}

/* --device-bytes SIZE,... */
static int set_totals(void *at, const struct frag_opt *o, const char *value,
		      struct frag_error *err)
{
	struct sweep *s = at;
	char *list = strdup(value);
	int rc = list ? 0 : frag_fail_nomem(err);

	(void)o;
	for (char *rest = list, *text; !rc && (text = strsep(&rest, ",")) != NULL;)
		rc = add_total(s, text, err);
	free(list);
	return rc;
}

/* Of several tasks that begin at the same time one creates the manifest; all others compare. */
static int put_manifest(struct frag_sweep_plan *p, struct frag_error *err)
{
	int rc;

	if (mkdir(p->folder, 0777) != 0 && errno != EEXIST)
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", p->folder, strerror(errno));
	if (access(p->path, F_OK) != 0) {
		rc = frag_write_file(p->path, true, frag_manifest_write, &p->manifest, err);
		if (!rc || access(p->path, F_OK) != 0)
			return rc;
	}
	return frag_sweep_plan_check(p, err);
}

static void sweep_show(void *ctx, const struct frag_trace_info *info)
{
	struct sweep *s = ctx;

	if (s->shown != info)
		frag_progress_part(&s->progress);
	s->shown = info;
	frag_progress_show(&s->progress, info);
}

/*
 * The manifest of the given traces, policies and capacities, or the one in the folder: what is
 * simulated is what the manifest says, whoever made it.
 */
static int sweep_prepare(struct sweep *s, const struct frag_args *args, struct frag_error *err)
{
	struct frag_run_options *run = &s->run;
	struct frag_sweep_plan *p = &s->plan;
	const bool none = s->grid && strcmp(s->grid, "none") == 0;
	int rc = args->count && s->grid && !none ? frag_run_grid(run, s->grid, err) : 0;

	if (args->count && none && !run->choice_count)
		rc = frag_run_add_policy(run, NULL, "pytorch", err);

	p->log = (struct frag_log){ .warn = frag_warn, .ctx = &run->quiet };
	p->opened = frag_check_log_warn;
	p->read = (struct frag_read_job){ frag_interrupted, sweep_show, s };
	if (rc)
		return rc;
	p->choices = run->choices;
	p->choice_count = run->choice_count;
	frag_progress_begin(&s->progress, !run->quiet);
	rc = frag_sweep_plan_make(p, args->words, args->count, s->totals, s->total_count, err);
	frag_progress_end(&s->progress);
	run->choice_count = p->choice_count;
	if (args->count)
		return rc ? rc : put_manifest(p, err);
	for (uint32_t i = 0; i < p->manifest.policy_count && !rc; i++)
		rc = frag_run_add_policy(run, NULL, p->manifest.policy[i], err);
	p->choices = run->choices;
	p->choice_count = run->choice_count;
	return rc;
}

#define MERGED "merged.ndjson"
#define USUAL_TASKS 64

static int set_shard(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct sweep *s = at;

	(void)o;
	return frag_shard_parse(&s->shard.shard, value, err);
}

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROW("placement policy, NAME[:key=value,...]; repeatable"),
	{ 0, "settings", "WHICH", "settings of pytorch too: short, all, none, or a file of lines",
	  .words = frag_grid_words, FRAG_TEXT(struct sweep, grid) },
	{ 0, "device-bytes", "LIST", "capacities, SIZE,... (0: unlimited; the trace's)",
	  FRAG_CALL(set_totals) },
	{ 'o', "output", "DIR", "the folder of manifest and runs",
	  FRAG_TEXT(struct sweep, plan.folder) },
	{ 0, "shard", "SHARD", "I/N: every Nth run from I on; auto, auto/N: as the scheduler says",
	  .words = frag_shard_words, FRAG_CALL(set_shard) },
	{ 0, "resume", NULL, "go on with what is there", FRAG_FLAG(struct sweep, shard.resume) },
	{ 0, "merge", "DIR", "put the runs of all shards into DIR/merged.ndjson",
	  FRAG_TEXT(struct sweep, merge) },
	{ 0, "plan", "WHAT", "print a script for many machines: slurm, parallel, kubernetes",
	  FRAG_WORD(struct sweep, script, frag_sweep_script_names), .usual = UINT64_MAX },
	{ 0, "tasks", "N", "shards of --plan (64), or those that --merge counts in",
	  FRAG_COUNT(struct sweep, tasks, 1, FRAG_SHARDS_MAX) },
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_SEARCH_THREADS_ROW,
	{ 0 },
};

#define OF_MERGE "--merge DIR takes --tasks N and nothing else: all is in the folder"
#define NO_TRACE "missing argument: TRACE; without policies and traces the manifest in the folder is used"

static const struct frag_refusal refusals[] = {
	{ "merge output|TRACE|policy|settings|device-bytes|shard|resume|plan", OF_MERGE },
	{ "!merge !output|output=", "missing option: -o DIR" },
	{ "policy|settings|device-bytes !TRACE", NO_TRACE },
	{ "TRACE !policy !settings", "missing option: -p NAME or --settings all" },
	{ "tasks !plan !merge", "--tasks is for --plan and --merge; --shard I/N selects the part to"
				" simulate" },
	{ "plan shard|resume", "--plan prints a script and simulates nothing: --shard and --resume are"
			       " in there" },
	{ 0 },
};

/* Tasks without a run would be begun for nothing. */
static uint32_t task_count(const struct sweep *s, uint64_t usual)
{
	const uint64_t tasks = s->tasks ? s->tasks : usual;

	return (uint32_t)(tasks < s->plan.manifest.runs ? tasks : s->plan.manifest.runs);
}

static int print_plan(struct sweep *s, struct frag_error *err)
{
	char program[PATH_MAX], work[PATH_MAX];
	const struct frag_sweep_script script = {
		.program = frag_executable_path(program) ? program : "fragsim", .work = getcwd(work, sizeof(work)),
		.folder = s->plan.folder, .runs = s->plan.manifest.runs,
		.tasks = task_count(s, USUAL_TASKS),
	};

	if (!script.work)
		return frag_fail(err, FRAG_EOUTPUT, "the folder that we are in has no name");
	frag_sweep_script_write((uint32_t)s->script, &script, stdout);
	return frag_flush_stdout(err);
}

static void show_runs(void *ctx, const char *what, uint32_t done, uint32_t count)
{
	struct sweep *s = ctx;

	frag_progress_count(&s->progress, what, done, count);
}

/* Simulates the runs of this shard that are not done yet, and prints how many there are. */
static int simulate_shard(struct sweep *s, struct frag_error *err)
{
	struct frag_shard_run *run = &s->shard;
	int rc;

	if (run->shard.from && !s->run.quiet)
		frag_print_message("shard %" PRIu32 " of %" PRIu32 ", as %s says", run->shard.index,
				   run->shard.count, run->shard.from);
	run->job = (struct frag_job){
		.stop = frag_interrupted, .progress = show_runs, .ctx = s, .threads = s->run.threads,
	};
	frag_progress_begin(&s->progress, !s->run.quiet);
	rc = frag_shard_run(run, &s->plan, err);
	frag_progress_end(&s->progress);
	if (run->ended && !s->run.quiet)
		printf("%s: %" PRIu32 " of %" PRIu32 " run%s: %" PRIu32 " now, %" PRIu32
		       " before\n", run->path, run->before + run->finished, run->mine,
		       frag_s(run->mine), run->finished, run->before);
	return rc ? rc : frag_flush_stdout(err);
}

static int say_missing(const struct sweep *s, const struct frag_collection *c,
		       struct frag_error *err)
{
	const uint32_t missing = c->manifest->runs - c->count;
	char *list = frag_collection_missing(c, s->tasks ? task_count(s, 0) : 0);

	if (!list)
		return frag_fail_nomem(err);
	printf("--array=%s\n", list);
	if (!s->run.quiet)
		frag_print_message("%s: %" PRIu32 " of %" PRIu32 " runs %s missing", s->merge,
				   missing, c->manifest->runs, missing == 1 ? "is" : "are");
	free(list);
	return 0;
}

/* Writes the runs of all shards as one file, or prints the shards whose runs are missing. */
static int merge(struct sweep *s, int *status, struct frag_error *err)
{
	struct frag_collection c = { .count = 0 };
	struct frag_manifest *m = &s->plan.manifest;
	char *path = frag_sweep_path(s->merge, MERGED);
	int rc = path ? 0 : frag_fail_nomem(err);

	s->plan.folder = s->merge;
	rc = rc ? rc : frag_sweep_plan_make(&s->plan, NULL, 0, NULL, 0, err);
	rc = rc ? rc : frag_collection_read(&c, m, s->merge, err);
	if (!rc && c.count < m->runs) {
		*status = 1;
		rc = say_missing(s, &c, err);
	} else if (!rc) {
		rc = frag_write_file(path, false, frag_collection_write, &c, err);
		if (!rc && !s->run.quiet)
			printf("%s: %" PRIu32 " run%s of %" PRIu32 " file%s\n", path, m->runs,
			       frag_s(m->runs), c.file_count, frag_s(c.file_count));
	}
	frag_collection_fini(&c);
	free(path);
	return rc ? rc : frag_flush_stdout(err);
}

static void sweep_init(void *own)
{
	((struct sweep *)own)->shard.shard.count = 1;
}

static int sweep_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct sweep *s = own;
	int rc;

	if (s->merge)
		return merge(s, args->status, err);
	rc = sweep_prepare(s, args, err);
	if (rc)
		return rc;
	return s->script >= 0 ? print_plan(s, err) : simulate_shard(s, err);
}

static void sweep_fini(void *own)
{
	struct sweep *s = own;

	free(s->totals);
	free(s->shard.path);
	frag_sweep_plan_fini(&s->plan);
}

const struct frag_cmd frag_cmd_sweep = {
	.name = "sweep",
	.group = FRAG_GROUP_OTHER,
	.args = "[options] -o DIR [TRACE...]; or --merge DIR",
	.summary = "thousands of runs, on every core and on a cluster",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_RUN,
	.size = sizeof(struct sweep),
	.init = sweep_init,
	.exec = sweep_exec,
	.fini = sweep_fini,
};
