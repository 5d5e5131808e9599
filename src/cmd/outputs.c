/*
 * outputs.c - the files that a run writes, and who writes into them.
 *
 * Policies run side by side, but their rows stand one policy after the other:
 * all but the first write into a spool, which is appended at the end.
 */
#include "cmd/outputs.h"

#include <stdlib.h>
#include <string.h>

static enum frag_rows_form form_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".ndjson") == 0 || strcmp(dot, ".jsonl") == 0)
		? FRAG_ROWS_NDJSON : FRAG_ROWS_CSV;
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
	rc = frag_outfile_open(&s->file, s->path, err);
	s->open = !rc;
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
	if (!rc && o->json_path) {
		rc = frag_outfile_open(&o->json, o->json_path, err);
		o->json_open = !rc;
	}
	return rc;
}

/* Brings the policies' rows together. */
static int gather(struct frag_stream *s, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 1; i < s->count && !rc; i++)
		rc = frag_outfile_append(&s->file, &s->spools[i - 1], err);
	return rc;
}

static int commit(struct frag_stream *s, struct frag_error *err)
{
	if (!s->open)
		return 0;
	s->open = false;
	return frag_outfile_commit(&s->file, err);
}

int frag_outputs_commit(struct frag_outputs *o, const struct frag_report *report,
			struct frag_error *err)
{
	int rc = gather(&o->steps, err);

	/* everything that can fail early does, before the first file takes its place */
	rc = rc ? rc : gather(&o->placements, err);
	if (!rc && o->json_open)
		rc = frag_report_json(report, &o->json, err);
	rc = rc ? rc : commit(&o->steps, err);
	rc = rc ? rc : commit(&o->placements, err);
	if (!rc && o->json_open) {
		o->json_open = false;
		rc = frag_outfile_commit(&o->json, err);
	}
	return rc;
}

static void fini(struct frag_stream *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		frag_rows_fini(&s->rows[i]);
	for (uint32_t i = 1; i < s->count; i++)
		frag_outfile_abandon(&s->spools[i - 1]);
	if (s->open)
		frag_outfile_abandon(&s->file);
	free(s->spools);
	free(s->rows);
}

void frag_outputs_fini(struct frag_outputs *o)
{
	fini(&o->steps);
	fini(&o->placements);
	if (o->json_open)
		frag_outfile_abandon(&o->json);
}
