/*
 * outputs.c - the files that a run writes, and who writes into them.
 *
 * Policies run side by side, but their rows are one policy after the other:
 * all but the first write into a spool, which is appended at the end.
 */
#include "cmd/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/output_path.h"
#include "base/bug.h"
#include "cmd/interrupt.h"
#include "documents/documents.h"
#include "policy/compact.h"
#include "answers/page_write.h"

#define FILES(o) { &(o)->steps.file, &(o)->placements.file, &(o)->json, &(o)->html, &(o)->profile }

static enum frag_rows_form form_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".ndjson") == 0 || strcmp(dot, ".jsonl") == 0)
		? FRAG_ROWS_NDJSON : FRAG_ROWS_CSV;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is a file created where the one name leads the one that the other leads to? */
static bool same_place(const char *a, const char *b)
{
	const char *const names[] = { frag_file_name(a), frag_file_name(b) };
	struct stat folder[2];

	if (strcmp(names[0], names[1]) != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		const char *path = i ? b : a;
		char *parent = strndup(path, (size_t)(names[i] - path));
		const bool there = parent && stat(*parent ? parent : ".", &folder[i]) == 0;

		free(parent);
		if (!there)
			return strcmp(a, b) == 0;
	}
	return same_inode(&folder[0], &folder[1]);
}

bool frag_same_file(const char *a, const char *b)
{
	struct frag_output_path x, y;
	bool same = false;

	if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
		return false;
	/* what is wrong with a name, opening it says */
	(void)frag_destination_find(&x, a);
	(void)frag_destination_find(&y, b);
	if (x.there && y.there)
		same = S_ISREG(x.now.st_mode) && same_inode(&x.now, &y.now);
	else if (!x.there && !y.there && x.name && y.name)
		same = same_place(x.name, y.name);
	free(x.name);
	free(y.name);
	return same;
}

/*
 * Files are compared as files, not as names: an output must not replace an input
 * that is still being read, nor another output.
 */
int frag_outputs_apart(const struct frag_outputs *o, const char *trace, const char *profile,
		       struct frag_error *err)
{
	static const char *const replaced[] = { "the trace", "the profile" };
	const char *const paths[] = {
		trace, profile, o->steps.path, o->placements.path, o->json_path, o->html_path,
		o->profile_path,
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

/*
 * The first policy writes into the file, the others into spools. A stream counts
 * its rows as it goes, so that a failure in the middle releases what there is.
 */
static int open_stream(struct frag_stream *s, struct frag_sim *const *sims,
		       const struct frag_choice *choices, uint32_t count, bool many_devices,
		       int (*observe)(void *, const struct frag_step *, struct frag_error *),
		       struct frag_error *err)
{
	int rc;

	FRAG_ASSERT(count > 0);
	if (!s->path)
		return 0;
	s->spools = calloc(count, sizeof(*s->spools));
	s->rows = calloc(count, sizeof(*s->rows));
	if (!s->spools || !s->rows)
		return frag_fail_nomem(err);
	frag_register_partial_file(&s->file);
	rc = frag_outfile_open(&s->file, s->path, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		struct frag_outfile *out = i ? &s->spools[i - 1] : &s->file;
		struct frag_observer observer = { .step = observe, .ctx = &s->rows[i] };

		s->count = i + 1;
		if (i)
			rc = frag_outfile_spool(out, &s->file, err);
		if (!rc && !frag_rows_init(&s->rows[i], out, s->form, s->columns,
					   count > 1 ? choices[i].text : NULL, many_devices))
			rc = frag_fail_nomem(err);
		if (frag_compact_is(choices[i].ops))
			frag_rows_keep_ids(&s->rows[i]);
		if (!rc)
			rc = frag_sim_observe(sims[i], &observer);
	}
	return rc;
}

static int open_document(struct frag_outfile *f, const char *path, struct frag_error *err)
{
	if (!path)
		return 0;
	frag_register_partial_file(f);
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
		frag_steps_header(&o->steps.file, o->steps.columns, count > 1);
	rc = rc ? rc : open_stream(&o->placements, sims, choices, count, many_devices,
				   frag_placements_observe, err);
	rc = rc ? rc : open_document(&o->json, o->json_path, err);
	rc = rc ? rc : open_document(&o->html, o->html_path, err);
	return rc ? rc : open_document(&o->profile, o->profile_path, err);
}

/* Brings the policies' rows together. */
static int outputs_gather(struct frag_stream *s, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 1; i < s->count && !rc; i++)
		rc = frag_outfile_append(&s->file, &s->spools[i - 1], err);
	return rc;
}

/* The documents: what all runs came to. */
static int write_documents(struct frag_outputs *o, const struct frag_report *report,
			   struct frag_error *err)
{
	const struct frag_result **runs = malloc((report->run_count + 1) * sizeof(*runs));
	int rc = 0;

	if (!runs)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < report->run_count; i++)
		runs[i] = report->runs[i].result;
	if (o->json.path)
		rc = frag_result_write(report->trace, runs, report->answers, report->run_count,
				       &o->json, err);
	if (!rc && o->html.path)
		rc = frag_page_write(o->section, 1, o->command, &o->html, err);
	if (!rc && o->profile.path)
		rc = frag_profile_write(report->gpu, runs, report->run_count, &o->profile, err);
	free(runs);
	return rc;
}

int frag_outputs_finish(struct frag_outputs *o, const struct frag_report *report,
			struct frag_error *err)
{
	struct frag_outfile *const files[] = FILES(o);
	int rc = outputs_gather(&o->steps, err);

	rc = rc ? rc : outputs_gather(&o->placements, err);
	rc = rc ? rc : write_documents(o, report, err);
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

static void outputs_fini(struct frag_stream *s)
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
	outputs_fini(&o->steps);
	outputs_fini(&o->placements);
	frag_outfile_abandon(&o->json);
	frag_outfile_abandon(&o->html);
	frag_outfile_abandon(&o->profile);
	frag_register_partial_file(NULL);
}
