/* sweep_manifest.c - the manifest of a sweep, made of options and traces or read back. */
#include "cmd/sweep_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "cmd/grid_choices.h"
#include "cmd/interrupt.h"
#include "policy/alloc_conf_text.h"
#include "sweep/shard_results.h"

#define MANIFEST "manifest.json"
#define KEEP_MAX ((uint64_t)1 << 30)    /* bytes of traces in memory for the runs */
#define TOTALS_MAX 1000

static int add_total(struct frag_sweep_task *t, const char *text, struct frag_error *err)
{
	uint64_t total = 0;
	int rc = frag_option_capacity(&total, "device-bytes", text, err);

	for (uint32_t i = 0; i < t->total_count && !rc; i++)
		if (t->totals[i] == total)
			rc = frag_fail(err, FRAG_EUSAGE, "--device-bytes %.60s: it is there twice", text);
	if (!rc && t->total_count == TOTALS_MAX)
		rc = frag_fail(err, FRAG_EUSAGE, "--device-bytes: more than %d capacities",
			       TOTALS_MAX);
	if (!rc && !frag_grow(&t->totals, &t->total_capacity, (uint64_t)t->total_count + 1,
			      sizeof(*t->totals)))
		rc = frag_fail_nomem(err);
	if (!rc)
		t->totals[t->total_count++] = total;
	return rc;
}

int frag_sweep_set_totals(struct frag_sweep_task *t, const char *value, struct frag_error *err)
{
	char *list = strdup(value);
	int rc = list ? 0 : frag_fail_nomem(err);

	for (char *text = list; !rc && text;) {
		char *comma = strchr(text, ',');

		if (comma)
			*comma++ = '\0';
		rc = add_total(t, text, err);
		text = comma;
	}
	free(list);
	return rc;
}

static bool stop(void *ctx)
{
	(void)ctx;
	return frag_interrupted(NULL);
}

static void warn(void *ctx, const char *message)
{
	struct frag_sweep_task *t = ctx;

	/* they have been seen when the manifest was made */
	if (!t->read_all)
		frag_warn(&t->run.quiet, message);
}

static void show(void *ctx, const struct frag_trace_info *info)
{
	struct frag_sweep_task *t = ctx;

	if (!t->read_all)
		frag_progress_show(&t->progress, info);
}

struct frag_source_reading frag_sweep_reading(struct frag_sweep_task *t)
{
	bool sized = t->manifest.total_count > 0;

	for (uint32_t i = 0; i < t->manifest.total_count; i++)
		sized &= t->manifest.total[i] != UINT64_MAX;
	return (struct frag_source_reading){
		.choices = t->run.choices, .choice_count = t->run.choice_count, .sized = sized,
		.log = { .warn = warn, .ctx = t }, .stop = stop, .progress = show, .ctx = t,
	};
}

/* A trace is read once more by whoever simulates it where all together would take too much. */
static int read_trace(struct frag_sweep_task *t, uint32_t i, uint64_t *kept, struct frag_error *err)
{
	struct frag_manifest_trace *to = &t->manifest.trace[i];
	struct frag_source *source = &t->sources[i];
	const struct frag_source_reading reading = frag_sweep_reading(t);
	const struct frag_trace_info *info;
	int rc;

	to->path = strdup(t->paths[i]);
	if (!to->path)
		return frag_fail_nomem(err);
	frag_progress_begin(&t->progress, !t->run.quiet);
	rc = frag_source_open(source, to->path, &reading, err);
	frag_progress_end(&t->progress);
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
static int check_paths(const struct frag_sweep_task *t, struct frag_error *err)
{
	for (uint32_t i = 0; i < t->path_count; i++) {
		if (strcmp(t->paths[i], "-") == 0)
			return frag_fail(err, FRAG_EUSAGE, "standard input cannot be a trace of a sweep,"
					 " which reads it again");
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(t->paths[k], t->paths[i]) == 0)
				return frag_fail(err, FRAG_EUSAGE, "%s: it is given twice", t->paths[i]);
	}
	return 0;
}

/* With all of its keys, where there is room for them. */
static void name_policy(const struct frag_choice *choice, char *text, size_t size)
{
	if (!frag_choice_keys(choice, text, size))
		snprintf(text, size, "%s", choice->text);
}

static bool is_known(const struct frag_map *map, char *const *names, const char *text, uint64_t key)
{
	uint32_t at = frag_map_home(map, key), i;

	while ((i = frag_map_next(map, key, &at)) != FRAG_MAP_NONE)
		if (strcmp(names[i], text) == 0)
			return true;
	return false;
}

/*
 * What is given twice, or is in the grid too, is simulated once: the first stays. *names: what
 * the manifest calls them.
 */
static int name_policies(struct frag_run_options *run, struct frag_map *map, char **names,
			 struct frag_error *err)
{
	char text[sizeof(run->choices->text)];
	const uint32_t count = run->choice_count;
	uint32_t kept = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t key;

		name_policy(&run->choices[i], text, sizeof(text));
		key = frag_hash_text(text, strlen(text), map->seed);
		if (rc || is_known(map, names, text, key)) {
			frag_choice_fini(&run->choices[i]);
			continue;
		}
		run->choices[kept] = run->choices[i];
		names[kept] = strdup(text);
		rc = names[kept++] && frag_map_add(map, key, kept - 1) ? 0 : frag_fail_nomem(err);
	}
	run->choice_count = kept;
	return rc;
}

static int fill_policies(struct frag_sweep_task *t, struct frag_error *err)
{
	struct frag_map map;
	char **names = calloc((size_t)t->run.choice_count + 1, sizeof(*names));
	int rc;

	if (!names || !frag_map_init(&map, frag_hash_seed())) {
		free(names);
		return frag_fail_nomem(err);
	}
	rc = name_policies(&t->run, &map, names, err);
	frag_map_fini(&map);
	rc = rc ? rc : frag_manifest_init(&t->manifest, t->path_count, t->run.choice_count,
					  t->total_count, err);
	for (uint32_t i = 0; i < t->run.choice_count; i++) {
		if (rc)
			free(names[i]);
		else
			t->manifest.policy[i] = names[i];
	}
	free(names);
	return rc;
}

static int make(struct frag_sweep_task *t, struct frag_error *err)
{
	uint64_t kept = 0;
	int rc = check_paths(t, err);

	if (!rc && t->grid)
		rc = frag_grid_choices(&t->run, strcmp(t->grid, "pytorch") == 0 ? "default" : t->grid,
				       err);
	if (!rc && !t->total_count) {
		rc = frag_grow(&t->totals, &t->total_capacity, 1, sizeof(*t->totals))
		     ? 0 : frag_fail_nomem(err);
		if (!rc)
			t->totals[t->total_count++] = UINT64_MAX;
	}
	rc = rc ? rc : fill_policies(t, err);
	if (rc)
		return rc;
	memcpy(t->manifest.total, t->totals, t->total_count * sizeof(*t->totals));
	t->sources = calloc((size_t)t->path_count + 1, sizeof(*t->sources));
	if (!rc && !t->sources)
		rc = frag_fail_nomem(err);
	for (uint32_t i = 0; i < t->path_count && !rc; i++)
		rc = read_trace(t, i, &kept, err);
	t->read_all = true;
	return rc ? rc : frag_manifest_number(&t->manifest, err);
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

/* Tasks that begin at the same time write the same bytes, each in one step. */
static int put_manifest(struct frag_sweep_task *t, const char *path, struct frag_error *err)
{
	struct frag_manifest there = { .runs = 0 };
	int rc;

	if (mkdir(t->folder, 0777) != 0 && errno != EEXIST)
		return frag_fail(err, FRAG_EOUTPUT, "%s: %s", t->folder, strerror(errno));
	if (access(path, F_OK) != 0)
		return frag_write_file(path, print_manifest, &t->manifest, err);
	rc = frag_manifest_read(&there, path, err);
	if (!rc && there.id != t->manifest.id)
		rc = frag_fail(err, FRAG_EUSAGE, "%s: it is of another sweep, with other traces,"
			       " policies or capacities: each has a folder of its own", path);
	frag_manifest_fini(&there);
	return rc;
}

/* What is simulated is what the manifest says, whoever made it. */
static int take_policies(struct frag_sweep_task *t, struct frag_error *err)
{
	const struct frag_manifest *m = &t->manifest;
	int rc = 0;

	if (!frag_grow(&t->run.choices, &t->run.choice_capacity, m->policy_count,
		       sizeof(*t->run.choices)))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < m->policy_count && !rc; i++) {
		rc = frag_choice_parse(&t->run.choices[i], m->policy[i], err);
		t->run.choice_count += !rc;
	}
	return rc;
}

static int read_back(struct frag_sweep_task *t, const char *path, struct frag_error *err)
{
	int rc = frag_manifest_read(&t->manifest, path, err);

	rc = rc ? rc : take_policies(t, err);
	t->sources = calloc((size_t)t->manifest.trace_count + 1, sizeof(*t->sources));
	return rc || t->sources ? rc : frag_fail_nomem(err);
}

int frag_sweep_prepare(struct frag_sweep_task *t, struct frag_error *err)
{
	char *path = frag_sweep_path(t->folder, MANIFEST);
	int rc;

	if (!path)
		return frag_fail_nomem(err);
	if (t->path_count) {
		rc = make(t, err);
		rc = rc ? rc : put_manifest(t, path, err);
	} else {
		rc = read_back(t, path, err);
	}
	free(path);
	return rc;
}

void frag_sweep_task_fini(struct frag_sweep_task *t)
{
	for (uint32_t i = 0; t->sources && i < t->manifest.trace_count; i++)
		frag_source_close(&t->sources[i]);
	free(t->sources);
	free(t->totals);
	frag_manifest_fini(&t->manifest);
	frag_run_options_fini(&t->run);
}
