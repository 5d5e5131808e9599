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
#include "documents/manifest.h"
#include "base/array_grow.h"
#include "policy/configure_events.h"

struct sweep {
	struct frag_run_options run;    /* its choices are the manifest's policies, */
	const char *grid;               /* or, before it is made, the given ones and this */
	uint64_t *totals;               /* of --device-bytes */
	uint32_t total_count, total_capacity;
	const char *folder;
	char **paths;                   /* of the traces; none: the manifest is there */
	uint32_t path_count;
	struct frag_manifest manifest;
	struct frag_source *sources;    /* one a trace: some may be in memory */
	bool read_all;                  /* the traces have been read, and warned of */
	struct frag_progress progress;
	struct frag_shard shard;
	const char *shard_text;         /* NULL: there is one */
	const char *merge;
	uint64_t tasks;                 /* 0: not given */
	int plan;                       /* -1: none */
	bool resume;
};

#define MANIFEST "manifest.json"
#define KEEP_MAX ((uint64_t)1 << 30)    /* bytes of traces in memory for the runs */
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
	for (char *text = list; !rc && text;) {
		char *comma = strchr(text, ',');

		if (comma)
			*comma++ = '\0';
		rc = add_total(s, text, err);
		text = comma;
	}
	free(list);
	return rc;
}

static void sweep_warn(void *ctx, const char *message)
{
	struct sweep *s = ctx;

	/* they have been seen when the manifest was made */
	if (!s->read_all)
		frag_warn(&s->run.quiet, message);
}

static void sweep_show(void *ctx, const struct frag_trace_info *info)
{
	struct sweep *s = ctx;

	if (!s->read_all)
		frag_progress_show(&s->progress, info);
}

/* How the traces are read, here and later. */
static struct frag_source_reading frag_sweep_reading(struct sweep *s)
{
	bool sized = s->manifest.total_count > 0;

	for (uint32_t i = 0; i < s->manifest.total_count; i++)
		sized &= s->manifest.total[i] != UINT64_MAX;
	return (struct frag_source_reading){
		.choices = s->run.choices,
		.choice_count = s->run.choice_count,
		.sized = sized,
		.log = { .warn = sweep_warn, .ctx = s },
		.stop = frag_interrupted,
		.progress = sweep_show,
		.ctx = s,
	};
}

/* Reads one trace; its worker reads it again if all traces together need too much memory. */
static int sweep_read_trace(struct sweep *s, uint32_t i, uint64_t *kept,
			    struct frag_error *err)
{
	struct frag_manifest_trace *to = &s->manifest.trace[i];
	struct frag_source *source = &s->sources[i];
	const struct frag_source_reading reading = frag_sweep_reading(s);
	const struct frag_trace_info *info;
	int rc;

	to->path = strdup(s->paths[i]);
	if (!to->path)
		return frag_fail_nomem(err);
	frag_progress_begin(&s->progress, !s->run.quiet);
	rc = frag_source_open(source, to->path, &reading, err);
	frag_progress_end(&s->progress);
	if (rc)
		return rc;
	info = frag_tape_info(source->tape);
	to->content = info->content;
	to->events = info->events;
	to->allocs = info->allocs;
	to->frees = info->frees;
	*kept += frag_tape_bytes(source->tape);
	if (*kept > KEEP_MAX) {
		*kept -= frag_tape_bytes(source->tape);
		frag_source_close(source);
	}
	return 0;
}

/* A manifest names no input that could not be opened again. */
static int check_paths(const struct sweep *s, struct frag_error *err)
{
	for (uint32_t i = 0; i < s->path_count; i++) {
		if (strcmp(s->paths[i], "-") == 0)
			return frag_fail(err, FRAG_EUSAGE,
					 "standard input cannot be a trace of a sweep,"
					 " which reads it again");
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(s->paths[k], s->paths[i]) == 0)
				return frag_fail(err, FRAG_EUSAGE, "%s: specified more than once",
						 s->paths[i]);
	}
	return 0;
}

/* Writes all keys of the policy, if they fit in `size`. */
static void name_policy(const struct frag_choice *choice, char *text, size_t size)
{
	if (!frag_choice_keys(choice, text, size))
		snprintf(text, size, "%s", choice->text);
}

/*
 * Names the policies in a new manifest. One that is given twice, or is in the grid too, is
 * simulated once: the first stays.
 */
static int fill_policies(struct sweep *s, struct frag_error *err)
{
	struct frag_run_options *run = &s->run;
	char text[sizeof(run->choices->text)];
	const uint32_t count = run->choice_count;
	char **names = calloc((size_t)count + 1, sizeof(*names));
	uint32_t kept = 0;
	int rc = names ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < count && names; i++) {
		uint32_t k = 0;

		name_policy(&run->choices[i], text, sizeof(text));
		while (!rc && k < kept && strcmp(names[k], text) != 0)
			k++;
		if (rc || k < kept) {
			frag_choice_fini(&run->choices[i]);
			continue;
		}
		run->choices[kept] = run->choices[i];
		names[kept] = strdup(text);
		rc = names[kept++] ? 0 : frag_fail_nomem(err);
	}
	run->choice_count = names ? kept : count;
	rc = rc ? rc : frag_manifest_init(&s->manifest, s->path_count, kept,
					  s->total_count ? s->total_count : 1, err);
	for (uint32_t i = 0; i < kept; i++) {
		if (rc)
			free(names[i]);
		else
			s->manifest.policy[i] = names[i];
	}
	free(names);
	return rc;
}

/* Makes the manifest of the given traces, policies and capacities; reads each trace once. */
static int sweep_make(struct sweep *s, struct frag_error *err)
{
	uint64_t kept = 0;
	int rc = check_paths(s, err);

	if (!rc && s->grid)
		rc = frag_grid_choices(&s->run,
				       strcmp(s->grid, "pytorch") == 0 ? "default" : s->grid, err);
	rc = rc ? rc : fill_policies(s, err);
	if (rc)
		return rc;
	s->manifest.total[0] = UINT64_MAX;
	for (uint32_t i = 0; i < s->total_count; i++)
		s->manifest.total[i] = s->totals[i];
	s->sources = calloc((size_t)s->path_count + 1, sizeof(*s->sources));
	rc = s->sources ? 0 : frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->path_count && !rc; i++)
		rc = sweep_read_trace(s, i, &kept, err);
	s->read_all = true;
	return rc ? rc : frag_manifest_number(&s->manifest, err);
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
		rc = frag_write_file(path, true, print_manifest, &s->manifest, err);
		if (!rc || access(path, F_OK) != 0)
			return rc;
	}
	rc = frag_manifest_read(&there, path, err);
	if (!rc && there.id != s->manifest.id)
		rc = frag_fail(err, FRAG_EUSAGE, "%s: it is of another sweep, with other traces,"
			       " policies or capacities: use another folder", path);
	frag_manifest_fini(&there);
	return rc;
}

/* What is simulated is what the manifest says, whoever made it. */
static int read_back(struct sweep *s, const char *path, struct frag_error *err)
{
	const struct frag_manifest *m = &s->manifest;
	int rc = frag_manifest_read(&s->manifest, path, err);

	for (uint32_t i = 0; i < m->policy_count && !rc; i++)
		rc = frag_run_add_policy(&s->run, NULL, m->policy[i], err);
	s->sources = calloc((size_t)m->trace_count + 1, sizeof(*s->sources));
	return rc || s->sources ? rc : frag_fail_nomem(err);
}

/*
 * Makes the manifest where traces are given, and puts it into the folder; one that is there must
 * be the same. Else reads it. Then the choices are the manifest's.
 */
static int frag_sweep_prepare(struct sweep *s, struct frag_error *err)
{
	char *path = frag_sweep_path(s->folder, MANIFEST);
	int rc;

	if (!path)
		return frag_fail_nomem(err);
	if (s->path_count) {
		rc = sweep_make(s, err);
		rc = rc ? rc : put_manifest(s, path, err);
	} else {
		rc = read_back(s, path, err);
	}
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
	  FRAG_WORD(struct sweep, plan, frag_sweep_script_names) },
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

	return (uint32_t)(tasks < s->manifest.runs ? tasks : s->manifest.runs);
}

static int print_plan(struct sweep *s, struct frag_error *err)
{
	char program[PATH_MAX], work[PATH_MAX];
	const struct frag_sweep_script script = {
		.program = frag_program_path(program) ? program : "fragsim", .work = getcwd(work, sizeof(work)),
		.folder = s->folder, .runs = s->manifest.runs,
		.tasks = task_count(s, USUAL_TASKS),
	};

	if (!script.work)
		return frag_fail(err, FRAG_EOUTPUT, "the folder that we are in has no name");
	frag_sweep_script_write((uint32_t)s->plan, &script, stdout);
	return frag_flush_stdout(err);
}

static void show_runs(void *ctx, uint32_t done, uint32_t count)
{
	struct sweep *s = ctx;

	frag_progress_count(&s->progress, "runs", done, count);
}

/* What is done before, in whichever shard, is not done again. */
static int choose_runs(const struct sweep *s, bool *wanted, uint32_t *mine, uint32_t *before,
		       struct frag_error *err)
{
	const struct frag_manifest *m = &s->manifest;
	struct frag_collection there = { .count = 0 };
	const int rc = s->resume ? frag_collection_read(&there, m, s->folder, err) : 0;

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

/* Simulates the runs of this shard that are not done yet, and prints how many there are. */
static int sweep_simulate(struct sweep *s, struct frag_shard_file *out, const char *path,
			  struct frag_error *err)
{
	uint32_t mine = 0, before = 0, finished = 0;
	bool *wanted = calloc((size_t)s->manifest.runs + 1, sizeof(*wanted));
	struct frag_batch_options options = {
		.manifest = &s->manifest, .choices = s->run.choices, .sources = s->sources,
		.reading = frag_sweep_reading(s), .wanted = wanted, .out = out,
		.threads = s->run.threads, .done = show_runs, .ctx = s,
	};
	int rc = wanted ? choose_runs(s, wanted, &mine, &before, err) : frag_fail_nomem(err);

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
	struct frag_manifest *m = &s->manifest;
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
	s->plan = -1;
}

static int sweep_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct sweep *s = own;
	int rc;

	s->paths = args->words;
	s->path_count = args->count;
	if (s->merge)
		return merge(s, args->status, err);
	rc = frag_sweep_prepare(s, err);
	if (rc)
		return rc;
	return s->plan >= 0 ? print_plan(s, err) : run_shard(s, err);
}

static void sweep_fini(void *own)
{
	struct sweep *s = own;

	for (uint32_t i = 0; s->sources && i < s->manifest.trace_count; i++)
		frag_source_close(&s->sources[i]);
	free(s->sources);
	free(s->totals);
	frag_manifest_fini(&s->manifest);
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
