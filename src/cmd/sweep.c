/* sweep.c - fragsim sweep: every policy and capacity on every trace, on many machines. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "cmd/interrupt.h"
#include "cmd/sweep_manifest.h"
#include "report/sweep_script.h"
#include "sweep/run_shard.h"
#include "sweep/shard_results.h"
#include "sweep/scheduler.h"

enum {
	OPT_GRID = FRAG_OPT_FIRST_OWN, OPT_SHARD, OPT_RESUME, OPT_MERGE, OPT_TASKS, OPT_PLAN,
};

static const struct frag_opt opts[] = {
	{ 'p', "policy", "NAME", "placement policy, NAME[:key=value,...]; repeatable",
	  FRAG_OPT_POLICY },
	{ 0, "grid", "GRID", "settings of pytorch too: pytorch, short, or a file of lines",
	  OPT_GRID },
	{ 0, "device-bytes", "LIST", "capacities, SIZE,... (0: unlimited; the trace's)",
	  FRAG_OPT_DEVICE_BYTES },
	{ 'o', "output", "DIR", "the folder of manifest and runs", FRAG_OPT_OUTPUT },
	{ 0, "shard", "SHARD", "I/N: every Nth run from I on; auto, auto/N: as the scheduler says",
	  OPT_SHARD },
	{ 0, "resume", NULL, "go on with what is there", OPT_RESUME },
	{ 0, "merge", "DIR", "put the runs of all shards into DIR/merged.ndjson", OPT_MERGE },
	{ 0, "plan", "WHAT", "print a script for many machines: slurm, parallel", OPT_PLAN },
	{ 0, "tasks", "N", "shards of --plan (64), or those that --merge counts in", OPT_TASKS },
	{ 'q', "quiet", NULL, "no text, warnings or progress", FRAG_OPT_QUIET },
	{ 0, "threads", "N", "simulations at a time (0: one a processor)", FRAG_OPT_THREADS },
	{ 0 },
};

const char *const frag_sweep_grids[] = { "pytorch", "short", NULL };

#define MERGED "merged.ndjson"
#define USUAL_TASKS 64

struct sweep {
	struct frag_sweep_task task;
	struct frag_shard shard;
	const char *shard_text;         /* NULL: there is one */
	const char *merge;
	uint64_t tasks;                 /* 0: not given */
	int plan;                       /* -1: none */
	bool resume;
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct sweep *s = ctx;

	switch (id) {
	case OPT_GRID:
		s->task.grid = value;
		return 0;
	case OPT_SHARD:
		s->shard_text = value;
		return frag_shard_parse(&s->shard, value, err);
	case OPT_RESUME:
		s->resume = true;
		return 0;
	case OPT_MERGE:
		s->merge = value;
		return 0;
	case OPT_TASKS:
		return frag_option_count(&s->tasks, "tasks", value, 1, FRAG_SHARDS_MAX, err);
	case OPT_PLAN:
		return frag_option_word(&s->plan, "plan", value, frag_sweep_script_names, err);
	case FRAG_OPT_OUTPUT:
		s->task.folder = value;
		return 0;
	case FRAG_OPT_DEVICE_BYTES:
		return frag_sweep_set_totals(&s->task, value, err);
	default:
		return frag_run_set_option(&s->task.run, id, value, err);
	}
}

static int check_merge(const struct sweep *s, const struct frag_cmd *cmd, struct frag_error *err)
{
	if (s->task.folder || s->task.path_count || s->task.run.choice_count || s->task.grid
	    || s->task.total_count || s->shard_text || s->resume || s->plan >= 0)
		return frag_usage(cmd, "--merge DIR takes --tasks N and nothing else: all is in the"
				  " folder", err);
	return 0;
}

static int check(const struct sweep *s, const struct frag_cmd *cmd, struct frag_error *err)
{
	const struct frag_sweep_task *t = &s->task;

	if (s->merge)
		return check_merge(s, cmd, err);
	if (!t->folder || !*t->folder)
		return frag_usage(cmd, "which folder? -o DIR", err);
	if (!t->path_count && (t->run.choice_count || t->grid || t->total_count))
		return frag_usage(cmd, "which traces? Without any, the manifest in the folder says all",
				  err);
	if (t->path_count && !t->run.choice_count && !t->grid)
		return frag_usage(cmd, "which policies? -p NAME or --grid pytorch", err);
	if (s->tasks && s->plan < 0)
		return frag_usage(cmd, "--tasks is for --plan and --merge; --shard I/N says which part"
				  " is simulated", err);
	if (s->plan >= 0 && (s->shard_text || s->resume))
		return frag_usage(cmd, "--plan prints a script and simulates nothing: --shard and"
				  " --resume are in there", err);
	return 0;
}

/* Tasks without a run would be begun for nothing. */
static uint32_t task_count(const struct sweep *s, uint64_t usual)
{
	const uint64_t tasks = s->tasks ? s->tasks : usual;

	return (uint32_t)(tasks < s->task.manifest.runs ? tasks : s->task.manifest.runs);
}

static int print_plan(struct sweep *s, struct frag_error *err)
{
	char program[PATH_MAX] = "", work[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const struct frag_sweep_script script = {
		.program = n > 0 ? program : "fragsim", .work = getcwd(work, sizeof(work)),
		.folder = s->task.folder, .runs = s->task.manifest.runs,
		.tasks = task_count(s, USUAL_TASKS),
	};

	if (!script.work)
		return frag_fail(err, FRAG_EOUTPUT, "the folder that we are in has no name");
	frag_sweep_script_write((uint32_t)s->plan, &script, stdout);
	return frag_flush_stdout(err);
}

static void show_runs(void *ctx, uint32_t done, uint32_t count)
{
	struct frag_sweep_task *t = ctx;

	frag_progress_count(&t->progress, "runs", done, count);
}

/* What is done before, in whichever shard, is not done again. */
static int choose_runs(const struct sweep *s, bool *wanted, uint32_t *mine, uint32_t *before,
		       struct frag_error *err)
{
	const struct frag_manifest *m = &s->task.manifest;
	struct frag_collection there = { .count = 0 };
	const int rc = s->resume ? frag_collection_read(&there, m, s->task.folder, err) : 0;

	*mine = *before = 0;
	for (uint32_t k = 0; k < m->runs && !rc; k++) {
		const bool is_mine = k % s->shard.count == s->shard.index;
		const bool done = s->resume && there.run[k].length;

		wanted[k] = is_mine && !done;
		*mine += is_mine;
		*before += is_mine && done;
	}
	frag_collection_fini(&there);
	return rc;
}

static int simulate(struct sweep *s, struct frag_shard_file *out, const char *path,
		    struct frag_error *err)
{
	struct frag_sweep_task *t = &s->task;
	uint32_t mine = 0, before = 0, finished = 0;
	bool *wanted = calloc((size_t)t->manifest.runs + 1, sizeof(*wanted));
	struct frag_batch_options options = {
		.manifest = &t->manifest, .choices = t->run.choices, .sources = t->sources,
		.reading = frag_sweep_reading(t), .wanted = wanted, .out = out,
		.threads = t->run.threads, .done = show_runs, .ctx = t,
	};
	int rc = wanted ? choose_runs(s, wanted, &mine, &before, err) : frag_fail_nomem(err);

	/* one line shows how far it is, and it counts runs */
	options.reading.progress = NULL;
	if (!rc) {
		frag_progress_begin(&t->progress, !t->run.quiet);
		rc = frag_batch_run(&options, &finished, err);
		frag_progress_end(&t->progress);
	}
	if ((!rc || rc == -FRAG_EINTERRUPTED) && !t->run.quiet)
		printf("%s: %" PRIu32 " of %" PRIu32 " run%s: %" PRIu32 " now, %" PRIu32
		       " before\n", path, before + finished, mine, frag_s(mine), finished, before);
	free(wanted);
	return rc;
}

/* The manifest says all: from here on it is the same whether it was made or read. */
static int run_shard(struct sweep *s, struct frag_error *err)
{
	struct frag_shard_file out;
	struct frag_error closing;
	char name[80], *path;
	int rc, closed;

	snprintf(name, sizeof(name), FRAG_SHARD_BEGIN "%" PRIu32 "-of-%" PRIu32 FRAG_SHARD_END,
		 s->shard.index, s->shard.count);
	path = frag_sweep_path(s->task.folder, name);
	if (!path)
		return frag_fail_nomem(err);
	if (s->shard.from && !s->task.run.quiet)
		frag_print_message("shard %" PRIu32 " of %" PRIu32 ", as %s says", s->shard.index,
				   s->shard.count, s->shard.from);
	rc = frag_shard_open(&out, path, s->resume, err);
	if (!rc) {
		rc = simulate(s, &out, path, err);
		closed = frag_shard_close(&out, &closing);
		if (closed && (!rc || rc == -FRAG_EINTERRUPTED)) {
			*err = closing;
			rc = closed;
		}
	}
	free(path);
	return rc ? rc : frag_flush_stdout(err);
}

static int print_merged(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	return frag_collection_write(ctx, out, err);
}

static int say_missing(const struct sweep *s, const struct frag_collection *c,
		       struct frag_error *err)
{
	const uint32_t missing = c->manifest->runs - c->count;
	char *list = frag_collection_missing(c, s->tasks ? task_count(s, 0) : 0);

	if (!list)
		return frag_fail_nomem(err);
	printf("--array=%s\n", list);
	if (!s->task.run.quiet)
		frag_print_message("%s: %" PRIu32 " of %" PRIu32 " runs %s missing", s->merge, missing,
				   c->manifest->runs, missing == 1 ? "is" : "are");
	free(list);
	return 0;
}

static int merge(struct sweep *s, int *status, struct frag_error *err)
{
	struct frag_collection c = { .count = 0 };
	struct frag_manifest *m = &s->task.manifest;
	char *path = frag_sweep_path(s->merge, "manifest.json");
	int rc = path ? frag_manifest_read(m, path, err) : frag_fail_nomem(err);

	free(path);
	path = frag_sweep_path(s->merge, MERGED);
	if (!rc && !path)
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_collection_read(&c, m, s->merge, err);
	if (!rc && c.count < m->runs) {
		*status = 1;
		rc = say_missing(s, &c, err);
	} else if (!rc) {
		rc = frag_write_file(path, print_merged, &c, err);
		if (!rc && !s->task.run.quiet)
			printf("%s: %" PRIu32 " run%s of %" PRIu32 " file%s\n", path, m->runs,
			       frag_s(m->runs), c.file_count, frag_s(c.file_count));
	}
	frag_collection_fini(&c);
	free(path);
	return rc ? rc : frag_flush_stdout(err);
}

static int sweep_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		      struct frag_error *err)
{
	struct sweep s = { .shard = { .count = 1 }, .plan = -1 };
	int rest, rc;

	frag_run_options_init(&s.task.run);
	rc = frag_options(cmd, argc, argv, &s, set_option, &rest, err);
	if (rc || !rest)
		goto out;
	s.task.paths = argv + rest;
	s.task.path_count = (uint32_t)(argc - rest);
	rc = check(&s, cmd, err);
	if (!rc && s.merge) {
		rc = merge(&s, status, err);
		goto out;
	}
	rc = rc ? rc : frag_sweep_prepare(&s.task, err);
	if (!rc)
		rc = s.plan >= 0 ? print_plan(&s, err) : run_shard(&s, err);
out:
	frag_sweep_task_fini(&s.task);
	return rc;
}

const struct frag_cmd frag_cmd_sweep = {
	.name = "sweep",
	.job = FRAG_JOB_COMPARE,
	.args = "[options] -o DIR [TRACE...]; or --merge DIR",
	.summary = "thousands of runs, on every core and on a cluster",
	.opts = opts,
	.exec = sweep_exec,
};
