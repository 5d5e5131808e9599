/*
 * outputs.c - the files that a run writes, and who writes into them.
 *
 * Policies run side by side, but their rows stand one policy after the other:
 * all but the first write into a spool, which is appended at the end.
 */
#include "cmd/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/interrupt.h"

#define FILES(o) { &(o)->steps.file, &(o)->placements.file, &(o)->json, &(o)->profile }

static enum frag_rows_form form_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".ndjson") == 0 || strcmp(dot, ".jsonl") == 0)
		? FRAG_ROWS_NDJSON : FRAG_ROWS_CSV;
}

bool frag_same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
		return false;
	if (stat(a, &x) != 0 || stat(b, &y) != 0)
		return strcmp(a, b) == 0;
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int frag_outputs_apart(const struct frag_outputs *o, const char *trace, const char *profile,
		       struct frag_error *err)
{
	static const char *const replaced[] = { "the trace", "the profile" };
	const char *const paths[] = {
		trace, profile, o->steps.path, o->placements.path, o->json_path, o->profile_path,
	};
	const size_t inputs = sizeof(replaced) / sizeof(replaced[0]);

	for (size_t i = inputs; i < sizeof(paths) / sizeof(paths[0]); i++) {
		for (size_t k = 0; paths[i] && k < i; k++) {
			if (!paths[k] || !frag_same_file(paths[i], paths[k]))
				continue;
			if (k < inputs)
				return frag_fail(err, FRAG_EUSAGE,
						 "%s: the output would replace %s",
						 paths[i], replaced[k]);
			return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file", paths[i]);
		}
	}
	return 0;
}

static int open_stream(struct frag_stream *s, struct frag_sim *const *sims,
		       const struct frag_choice *choices, uint32_t count, bool many_devices,
		       int (*observe)(void *, const struct frag_step *, struct frag_error *),
		       struct frag_error *err)
{
	int rc;

	if (!s->path)
		return 0;
	s->spools = calloc(count, sizeof(*s->spools));
	s->rows = calloc(count, sizeof(*s->rows));
	if (!s->spools || !s->rows)
		return frag_fail_nomem(err);
	frag_guard_file(&s->file);
	rc = frag_outfile_open(&s->file, s->path, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		struct frag_outfile *out = i ? &s->spools[i - 1] : &s->file;
		struct frag_observer observer = { .step = observe, .ctx = &s->rows[i] };

		if (i)
			rc = frag_outfile_spool(out, &s->file, err);
		if (!rc && !frag_rows_init(&s->rows[i], out, s->form,
					   count > 1 ? choices[i].text : NULL, many_devices))
			rc = frag_fail_nomem(err);
		if (!rc) {
			s->count = i + 1;
			rc = frag_sim_observe(sims[i], &observer);
		}
	}
	return rc;
}

static int open_document(struct frag_outfile *f, const char *path, struct frag_error *err)
{
	if (!path)
		return 0;
	frag_guard_file(f);
	return frag_outfile_open(f, path, err);
}

int frag_outputs_open(struct frag_outputs *o, struct frag_sim *const *sims,
		      const struct frag_choice *choices, uint32_t count, bool many_devices,
		      struct frag_error *err)
{
	int rc;

	if (o->steps.path)
		o->steps.form = form_of(o->steps.path);
	o->placements.form = FRAG_ROWS_NDJSON;
	rc = open_stream(&o->steps, sims, choices, count, many_devices, frag_steps_observe, err);
	if (!rc && o->steps.path && o->steps.form == FRAG_ROWS_CSV)
		frag_steps_header(&o->steps.file, count > 1);
	rc = rc ? rc : open_stream(&o->placements, sims, choices, count, many_devices,
				   frag_placements_observe, err);
	rc = rc ? rc : open_document(&o->json, o->json_path, err);
	return rc ? rc : open_document(&o->profile, o->profile_path, err);
}

/* Brings the policies' rows together. */
static int gather(struct frag_stream *s, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 1; i < s->count && !rc; i++)
		rc = frag_outfile_append(&s->file, &s->spools[i - 1], err);
	return rc;
}

int frag_outputs_finish(struct frag_outputs *o, const struct frag_report *report,
			struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(o);
	int rc = gather(&o->steps, err);

	rc = rc ? rc : gather(&o->placements, err);
	if (!rc && o->json.path)
		rc = frag_report_json(report, &o->json, err);
	if (!rc && o->profile.path)
		rc = frag_report_profile(report, &o->profile, err);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !rc; i++)
		if (files[i]->path)
			rc = frag_outfile_finish(files[i], err);
	return rc;
}

int frag_outputs_commit(struct frag_outputs *o, struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(o);

	return frag_outfile_commit_all(files, sizeof(files) / sizeof(files[0]), err);
}

static void fini(struct frag_stream *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		frag_rows_fini(&s->rows[i]);
	for (uint32_t i = 1; i < s->count; i++)
		frag_outfile_abandon(&s->spools[i - 1]);
	frag_outfile_abandon(&s->file);
	free(s->spools);
	free(s->rows);
}

void frag_outputs_fini(struct frag_outputs *o)
{
	fini(&o->steps);
	fini(&o->placements);
	frag_outfile_abandon(&o->json);
	frag_outfile_abandon(&o->profile);
	frag_guard_file(NULL);
}
