/* make_manifest.c - the manifest of a sweep from its traces, which are read once for it. */
#include "sweep/run_shard.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_MAX ((uint64_t)1 << 30)    /* bytes of traces in memory for the runs */

/* Reads one trace; its worker reads it again if all traces together need too much memory. */
static int make_manifest_read(struct frag_sweep_plan *p, uint32_t i, const char *path,
			      uint64_t *kept, const struct frag_source_reading *reading,
			      struct frag_error *err)
{
	struct frag_manifest_trace *to = &p->manifest.trace[i];
	struct frag_source *source = &p->sources[i];
	const struct frag_trace_info *info;
	int rc;

	to->path = strdup(path);
	if (!to->path)
		return frag_fail_nomem(err);
	rc = frag_source_open(source, path, reading, err);
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
static int check_paths(char *const *paths, uint32_t count, struct frag_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(paths[i], "-") == 0)
			return frag_fail(err, FRAG_EUSAGE, "standard input cannot be a trace of a"
					 " sweep, which reads it again");
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(paths[k], paths[i]) == 0)
				return frag_fail(err, FRAG_EUSAGE, "%s: specified more than once",
						 paths[i]);
	}
	return 0;
}

/* Names the policies by all of their keys, where these are not too long. */
static int name_policies(struct frag_manifest *m, struct frag_choice *choices, uint32_t *count,
			 struct frag_error *err)
{
	char text[sizeof(choices->text)];
	uint32_t kept = 0;
	int rc = 0;

	for (uint32_t i = 0; i < *count; i++) {
		uint32_t k = 0;

		if (!frag_choice_keys(&choices[i], text, sizeof(text)))
			memcpy(text, choices[i].text, sizeof(text));
		while (!rc && k < kept && strcmp(m->policy[k], text) != 0)
			k++;
		if (rc || k < kept) {
			frag_choice_fini(&choices[i]);
			continue;
		}
		choices[kept] = choices[i];
		m->policy[kept] = strdup(text);
		rc = m->policy[kept++] ? 0 : frag_fail_nomem(err);
	}
	m->runs = m->runs / *count * kept;
	m->policy_count = *count = kept;
	return rc;
}

int frag_sweep_plan_make(struct frag_sweep_plan *p, char *const *paths, uint32_t path_count,
			 struct frag_choice *choices, uint32_t *choice_count,
			 const uint64_t *totals, uint32_t total_count,
			 const struct frag_source_reading *reading, struct frag_error *err)
{
	struct frag_source_reading each = *reading;
	uint64_t kept = 0;
	int rc = check_paths(paths, path_count, err);

	rc = rc ? rc : frag_manifest_init(&p->manifest, path_count, *choice_count,
					  total_count ? total_count : 1, err);
	rc = rc ? rc : name_policies(&p->manifest, choices, choice_count, err);
	if (rc)
		return rc;
	p->manifest.total[0] = UINT64_MAX;
	if (total_count)
		memcpy(p->manifest.total, totals, total_count * sizeof(*totals));
	each.manifest = &p->manifest;
	each.choices = choices;
	each.choice_count = *choice_count;
	p->sources = calloc((size_t)path_count + 1, sizeof(*p->sources));
	rc = p->sources ? 0 : frag_fail_nomem(err);
	for (uint32_t i = 0; i < path_count && !rc; i++)
		rc = make_manifest_read(p, i, paths[i], &kept, &each, err);
	return rc ? rc : frag_manifest_number(&p->manifest, err);
}

int frag_sweep_plan_read(struct frag_sweep_plan *p, const char *path, struct frag_error *err)
{
	const int rc = frag_manifest_read(&p->manifest, path, err);

	p->sources = calloc((size_t)p->manifest.trace_count + 1, sizeof(*p->sources));
	return rc || p->sources ? rc : frag_fail_nomem(err);
}

void frag_sweep_plan_fini(struct frag_sweep_plan *p)
{
	for (uint32_t i = 0; p->sources && i < p->manifest.trace_count; i++)
		frag_source_close(&p->sources[i]);
	free(p->sources);
	frag_manifest_fini(&p->manifest);
}

/* A run that another shard has completed is not simulated again. */
int frag_shard_choose_runs(const struct frag_shard *shard, const struct frag_manifest *m,
			   const char *folder, bool resume, bool *wanted, uint32_t *mine,
			   uint32_t *before, struct frag_error *err)
{
	struct frag_collection there = { .count = 0 };
	const int rc = resume ? frag_collection_read(&there, m, folder, err) : 0;

	*mine = *before = 0;
	for (uint32_t k = 0; k < m->runs && !rc; k++) {
		const bool is_mine = k % shard->count == shard->index;
		const bool done = resume && there.run[k].length;

		wanted[k] = is_mine && !done;
		*mine += is_mine;
		*before += is_mine && done;
	}
	frag_collection_fini(&there);
	return rc;
}
