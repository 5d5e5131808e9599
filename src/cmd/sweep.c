/* sweep.c - fragsim sweep: every policy and capacity on every trace, on many machines. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "cmd/progress.h"
#include "answers/answers.h"
#include "sweep/run_shard.h"
#include <errno.h>
#include <sys/stat.h>
#include "cmd/model.h"
#include "cmd/run_options.h"
#include "base/array_grow.h"

struct sweep {
	struct frag_run_options run;    /* its choices are the manifest's policies, */
	const char *grid;               /* or, before it is made, the given ones and this */
	uint64_t *totals;               /* of --device-bytes */
	uint32_t total_count, total_capacity;
	const char *folder;
	char **paths;                   /* of the traces; none: the manifest is there */
	uint32_t path_count;
	struct frag_sweep_plan plan;
	struct frag_source_reading reading;     /* of the traces, here and later */
	const struct frag_trace_info *shown;    /* the trace that is read */
	struct frag_progress progress;
	struct frag_shard shard;
	const char *shard_text;         /* NULL: there is one */
	const char *merge;
	uint64_t tasks;                 /* 0: not given */
	int script;                     /* of --plan; -1: none */
	bool resume;
};

#define MANIFEST "manifest.json"
#define TOTALS_MAX 1000

static int add_total(struct sweep *s, const char *text, struct frag_error *err)
{
	uint64_t total = 0;
	int rc = frag_option_capacity(&total, "device-bytes", text, err);

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

static int print_manifest(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	const struct frag_manifest *m = ctx;
	FILE *f = frag_outfile_stream(out);
	int rc = 0;

	if (f) {
		rc = frag_manifest_print(m, f, err);
		frag_outfile_stream_end(out, f);
	}
	return rc ? rc : frag_outfile_status(out, err);
}

/* Of several tasks that begin at the same time one creates the manifest; all others compare. */
static int put_manifest(struct sweep *s, const char *path, struct frag_error *err)
{
	struct frag_manifest there = { .runs = 0 };
	int rc = 0;

	if (mkdir(s->folder, 0777) != 0 && errno != EEXIST)
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", s->folder, strerror(errno));
	if (access(path, F_OK) != 0) {
		rc = frag_write_file(path, true, print_manifest, &s->plan.manifest, err);
		if (!rc || access(path, F_OK) != 0)
			return rc;
	}
	rc = frag_manifest_read(&there, path, err);
	if (!rc && there.id != s->plan.manifest.id)
		rc = frag_fail(err, FRAG_EUSAGE, "%s: it is of another sweep, with other traces,"
			       " policies or capacities: use another folder", path);
	frag_manifest_fini(&there);
	return rc;
}

static void sweep_show(void *ctx, const struct frag_trace_info *info)
{
	struct sweep *s = ctx;

	if (s->shown != info)
		frag_progress_part(&s->progress);
	s->shown = info;
	frag_progress_show(&s->progress, info);
}

/* The manifest of the given traces, policies and capacities; one that is there must be the same. */
static int make_manifest(struct sweep *s, const char *path, struct frag_error *err)
{
	struct frag_run_options *run = &s->run;
	int rc = s->grid ? frag_run_grid(run, s->grid, err) : 0;

	frag_progress_begin(&s->progress, !run->quiet);
	rc = rc ? rc : frag_sweep_plan_make(&s->plan, s->paths, s->path_count, run->choices,
					    &run->choice_count, s->totals, s->total_count,
					    &s->reading, err);
	frag_progress_end(&s->progress);
	/* each warning was printed by now */
	s->reading.log.warn = NULL;
	return rc ? rc : put_manifest(s, path, err);
}

/* What is simulated is what the manifest says, whoever made it. */
static int sweep_prepare(struct sweep *s, struct frag_error *err)
{
	const struct frag_manifest *m = &s->plan.manifest;
	char *path = frag_sweep_path(s->folder, MANIFEST);
	int rc = path ? 0 : frag_fail_nomem(err);

	s->reading = (struct frag_source_reading){
		.manifest = m, .log = { .warn = frag_warn, .ctx = &s->run.quiet }, .stop = frag_interrupted,
		.progress = sweep_show, .ctx = s,
	};
	if (!rc && s->path_count) {
		rc = make_manifest(s, path, err);
	} else if (!rc) {
		rc = frag_sweep_plan_read(&s->plan, path, err);
		for (uint32_t i = 0; i < m->policy_count && !rc; i++)
			rc = frag_run_add_policy(&s->run, NULL, m->policy[i], err);
	}
	s->reading.choices = s->run.choices;
	s->reading.choice_count = s->run.choice_count;
	free(path);
	return rc;
}

#define MERGED "merged.ndjson"
#define USUAL_TASKS 64

static int set_shard(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct sweep *s = at;

	(void)o;
	s->shard_text = value;
	return frag_shard_parse(&s->shard, value, err);
}

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROW(0, "placement policy, NAME[:key=value,...]; repeatable"),
	{ 0, "grid", "GRID", "settings of pytorch too: pytorch, short, or a file of lines",
	  .words = frag_grid_words, FRAG_TEXT(struct sweep, grid) },
	{ 0, "device-bytes", "LIST", "capacities, SIZE,... (0: unlimited; the trace's)",
	  FRAG_CALL(set_totals) },
	{ 'o', "output", "DIR", "the folder of manifest and runs",
	  FRAG_TEXT(struct sweep, folder) },
	{ 0, "shard", "SHARD", "I/N: every Nth run from I on; auto, auto/N: as the scheduler says",
	  .words = frag_shard_words, FRAG_CALL(set_shard) },
	{ 0, "resume", NULL, "go on with what is there", FRAG_FLAG(struct sweep, resume) },
	{ 0, "merge", "DIR", "put the runs of all shards into DIR/merged.ndjson",
	  FRAG_TEXT(struct sweep, merge) },
	{ 0, "plan", "WHAT", "print a script for many machines: slurm, parallel, kubernetes",
	  FRAG_WORD(struct sweep, script, frag_sweep_script_names) },
	{ 0, "tasks", "N", "shards of --plan (64), or those that --merge counts in",
	  FRAG_COUNT(struct sweep, tasks, 1, FRAG_SHARDS_MAX) },
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_SEARCH_THREADS_ROW,
	{ 0 },
};

#define OF_MERGE "--merge DIR takes --tasks N and nothing else: all is in the folder"
#define NO_TRACE "missing argument: TRACE; without policies and traces the manifest in the folder is used"

static const struct frag_refusal refusals[] = {
	{ "merge output|TRACE|policy|grid|device-bytes|shard|resume|plan", OF_MERGE },
	{ "!merge !output|output=", "missing option: -o DIR" },
	{ "policy|grid|device-bytes !TRACE", NO_TRACE },
	{ "TRACE !policy !grid", "missing option: -p NAME or --grid pytorch" },
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
		.program = frag_program_path(program) ? program : "fragsim", .work = getcwd(work, sizeof(work)),
		.folder = s->folder, .runs = s->plan.manifest.runs,
		.tasks = task_count(s, USUAL_TASKS),
	};

	if (!script.work)
		return frag_fail(err, FRAG_EOUTPUT, "the folder that we are in has no name");
	frag_sweep_script_write((uint32_t)s->script, &script, stdout);
	return frag_flush_stdout(err);
}

static void show_runs(void *ctx, uint32_t done, uint32_t count)
{
	struct sweep *s = ctx;

	frag_progress_count(&s->progress, "runs", done, count);
}

/* Simulates the runs of this shard that are not done yet, and prints how many there are. */
static int sweep_simulate(struct sweep *s, struct frag_shard_file *out, const char *path,
			  struct frag_error *err)
{
	uint32_t mine = 0, before = 0, finished = 0;
	bool *wanted = calloc((size_t)s->plan.manifest.runs + 1, sizeof(*wanted));
	struct frag_batch_options options = {
		.sources = s->plan.sources,
		.reading = s->reading, .wanted = wanted, .out = out,
		.threads = s->run.threads, .done = show_runs, .ctx = s,
	};
	int rc = wanted ? frag_shard_choose_runs(&s->shard, &s->plan.manifest, s->folder, s->resume,
						 wanted, &mine, &before, err) : frag_fail_nomem(err);

	if (!rc && s->resume)
		rc = frag_shard_cut_torn(out, err);
	/* one line shows how far it is, and it counts runs */
	options.reading.progress = NULL;
	if (!rc) {
		frag_progress_begin(&s->progress, !s->run.quiet);
		rc = frag_batch_run(&options, &finished, err);
		frag_progress_end(&s->progress);
	}
	if ((!rc || rc == -FRAG_EINTERRUPTED) && !s->run.quiet)
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
	path = frag_sweep_path(s->folder, name);
	if (!path)
		return frag_fail_nomem(err);
	if (s->shard.from && !s->run.quiet)
		frag_print_message("shard %" PRIu32 " of %" PRIu32 ", as %s says", s->shard.index,
				   s->shard.count, s->shard.from);
	rc = frag_shard_open(&out, path, s->resume, err);
	if (!rc) {
		rc = sweep_simulate(s, &out, path, err);
		closed = frag_shard_close(&out, &closing);
		if (closed && (!rc || rc == -FRAG_EINTERRUPTED)) {
			*err = closing;
			rc = closed;
		}
	}
	free(path);
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
	struct sweep *s = own;

	s->shard.count = 1;
	s->script = -1;
}

static int sweep_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct sweep *s = own;
	int rc;

	s->paths = args->words;
	s->path_count = args->count;
	if (s->merge)
		return merge(s, args->status, err);
	rc = sweep_prepare(s, err);
	if (rc)
		return rc;
	return s->script >= 0 ? print_plan(s, err) : run_shard(s, err);
}

static void sweep_fini(void *own)
{
	struct sweep *s = own;

	free(s->totals);
	frag_sweep_plan_fini(&s->plan);
}

const struct frag_cmd frag_cmd_sweep = {
	.name = "sweep",
	.job = FRAG_JOB_OTHER,
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
