/* output_formats.c - an answer in the forms that were asked for: --format, --output and --json. */
#include "cmd/output_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/page_write.h"
#include "base/bug.h"
#include "base/name_list.h"
#include "base/output_path.h"
#include "cmd/interrupt.h"
#include "cmd/terminal.h"
#include "documents/documents.h"
#include "policy/policies.h"

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

static const struct frag_format *output_formats_find(const struct frag_answer_output *p,
						     const char *name, size_t length)
{
	for (uint32_t i = 0; p->formats[i]; i++)
		if (strlen(p->formats[i]->name) == length
		    && memcmp(p->formats[i]->name, name, length) == 0)
			return p->formats[i];
	return NULL;
}

static int no_format(const struct frag_answer_output *p, const char *option, const char *value,
		     struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; p->formats[i]; i++)
		frag_listed_add(&names, p->formats[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "%s %.60s: use %s", option, value,
			 frag_listed_text(&names, " or "));
}

/* --format, --output and --json FILE. -FRAG_EUSAGE */
static int frag_printed_format(struct frag_answer_output *p, const char *value, struct frag_error *err)
{
	p->format = output_formats_find(p, value, strlen(value));
	return p->format ? 0 : no_format(p, "--format", value, err);
}

int frag_printed_add(struct frag_answer_output *p, const char *option,
		     const struct frag_format *format, const char *path, const void *what,
		     struct frag_error *err)
{
	if (p->count == FRAG_PRINTED_MAX)
		return frag_fail(err, FRAG_EUSAGE, "%s %.60s: at most %d files are possible",
				 option, path, FRAG_PRINTED_MAX);
	p->outputs[p->count].format = format;
	p->outputs[p->count].what = what;
	p->outputs[p->count++].path = path;
	return 0;
}

/* Endings, and the formats that they name. */
static const struct {
	const char *ending, *format;
} endings[] = {
	{ ".txt", "text" }, { ".md", "markdown" }, { ".json", "json" }, { ".csv", "csv" },
	{ ".html", "html" }, { ".xml", "junit" }, { NULL, "github" },
};

struct frag_output_name frag_output_named(const char *value)
{
	struct frag_output_name name = { .path = value };
	const char *dot = strrchr(frag_file_name(value), '.'), *colon = strchr(value, ':');

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *format = endings[i].format, *ending = endings[i].ending;
		const bool old = colon && colon[1] && strlen(format) == (size_t)(colon - value)
				 && strncmp(value, format, (size_t)(colon - value)) == 0;

		if (!old && !(dot && ending && strcmp(dot, ending) == 0))
			continue;
		snprintf(name.format, sizeof(name.format), "%s", format);
		if (!old)
			continue;
		name.path = colon + 1;
		frag_option_note("-o FORMAT:FILE is an old spelling: use -o FILE, its ending or"
				 " --format names the format");
		break;
	}
	return name;
}

static int frag_printed_output(struct frag_answer_output *p, struct frag_run_options *run,
			       const char *value, struct frag_error *err)
{
	const struct frag_output_name name = frag_output_named(value);
	const struct frag_format *format;

	if (!*name.format)
		return frag_printed_add(p, "--output", NULL, name.path, NULL, err);
	if (p->has_page && strcmp(name.format, "html") == 0)
		return frag_run_set_option(run, FRAG_OPT_HTML, name.path, err);
	format = output_formats_find(p, name.format, strlen(name.format));
	return format ? frag_printed_add(p, "--output", format, name.path, NULL, err)
		      : no_format(p, "--output", value, err);
}

int frag_printed_named(struct frag_answer_output *p, const char *name, const char *path,
		       struct frag_error *err)
{
	const struct frag_format *format = output_formats_find(p, name, strlen(name));

	return format ? frag_printed_add(p, "--output", format, path, NULL, err)
		      : no_format(p, "--output", name, err);
}

int frag_printed_json(struct frag_answer_output *p, const char *path, struct frag_error *err)
{
	return frag_printed_add(p, "--json", output_formats_find(p, "json", strlen("json")), path,
				NULL, err);
}

int frag_answer_set_option(struct frag_answer_output *p, struct frag_run_options *run, int id,
			   const char *value, struct frag_error *err)
{
	switch (id) {
	case FRAG_OPT_FORMAT:
		return frag_printed_format(p, value, err);
	case FRAG_OPT_OUTPUT:
		return frag_printed_output(p, run, value, err);
	case FRAG_OPT_JSON:
		return frag_printed_json(p, value, err);
	default:
		return frag_run_set_option(run, id, value, err);
	}
}

int frag_answer_output_check_input(const struct frag_answer_output *p, const char *input,
				   const char *what, struct frag_error *err)
{
	for (uint32_t i = 0; input && i < p->count; i++)
		if (frag_same_file(p->outputs[i].path, input))
			return frag_fail(err, FRAG_EUSAGE, "%s: the output would replace %s",
					 p->outputs[i].path, what);
	return 0;
}

int frag_printed_apart(const struct frag_answer_output *p, const struct frag_cmd *cmd,
		       const char *const *inputs, uint32_t count, const char *what,
		       struct frag_error *err)
{
	uint32_t standard = p->format != NULL;
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc; i++)
		rc = frag_answer_output_check_input(p, inputs[i], what, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->count; i++) {
		const char *path = p->outputs[i].path;

		/* `--format csv -o -` names one output twice */
		standard += strcmp(path, "-") == 0 && !(p->format && !p->outputs[i].format);
		for (uint32_t k = 0; k < i; k++)
			if (frag_same_file(path, p->outputs[k].path))
				return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file",
						 path);
	}
	return standard > 1 ? frag_usage(cmd, "two outputs to standard output: only one can be -",
					 err) : 0;
}

int frag_printed_open(struct frag_answer_output *p, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->count && !rc; i++) {
		if (!p->outputs[i].format)
			p->outputs[i].format = p->format ? p->format : p->formats[0];
		frag_register_partial_file(&p->outputs[i].file);
		rc = frag_outfile_open(&p->outputs[i].file, p->outputs[i].path, err);
	}
	return rc;
}

static int print_into(struct frag_outfile *to, const struct frag_format *format, const void *what,
		      const struct frag_text_style *paper, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	rc = frag_format_print(format, what, paper, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

/* For people, where nothing else was requested. */
static int print_standard(const struct frag_answer_output *p, const void *what,
			  struct frag_error *err)
{
	const struct frag_format *format = p->format ? p->format : p->formats[0];
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	const struct frag_text_style paper = {
		.colour = frag_terminal_colour(columns), .columns = columns,
	};
	struct frag_outfile standard;
	int rc;

	for (uint32_t i = 0; i < p->count; i++)
		if (strcmp(p->outputs[i].path, "-") == 0)
			return 0;
	if (format == p->formats[0] && p->quiet)
		return 0;
	rc = frag_outfile_open(&standard, "-", err);
	if (rc)
		return rc;
	rc = print_into(&standard, format, what, &paper, err);
	frag_outfile_abandon(&standard);
	return rc;
}

int frag_printed_write(struct frag_answer_output *p, const void *what, struct frag_error *err)
{
	static const struct frag_text_style plain = { .columns = 0 };
	struct frag_outfile *files[FRAG_PRINTED_MAX + 1];
	uint32_t count = p->count;
	int rc = 0;

	for (uint32_t i = 0; i < p->count && !rc; i++)
		rc = print_into(&p->outputs[i].file, p->outputs[i].format,
				p->outputs[i].what ? p->outputs[i].what : what, &plain, err);
	rc = rc ? rc : print_standard(p, what, err);
	for (uint32_t i = 0; i < p->count; i++)
		files[i] = &p->outputs[i].file;
	if (p->beside)
		files[count++] = p->beside;
	return rc ? rc : frag_outfile_commit_all(files, count, err);
}

void frag_printed_fini(struct frag_answer_output *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		frag_outfile_abandon(&p->outputs[i].file);
	frag_register_partial_file(NULL);
}
