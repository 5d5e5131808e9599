/* diff_outputs.c - the files that a comparison writes. */
#include "cmd/diff_outputs.h"

#include <string.h>
#include <unistd.h>

#include "cmd/interrupt.h"
#include "cmd/terminal.h"
#include "answers/diff_formats.h"
#include "documents/documents.h"

#define BASELINE FRAG_DIFF_OUTPUTS_MAX          /* its place among the files */

static int open_file(struct frag_diff_outputs *outputs, uint32_t i, const char *path,
		     struct frag_error *err)
{
	frag_register_partial_file(&outputs->files[i]);
	return frag_outfile_open(&outputs->files[i], path, err);
}

int frag_diff_outputs_open(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			   struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->output_count && !rc; i++)
		rc = open_file(outputs, i, o->outputs[i].path, err);
	if (!rc && o->update)
		rc = open_file(outputs, BASELINE, o->baseline, err);
	return rc;
}

/* A comparison as an answer of a page. */
static int print_answer(const void *what, const struct frag_text_style *paper, FILE *f,
			struct frag_error *err)
{
	(void)paper;
	return frag_diff_text.print(what, f, err);
}

static const struct frag_format answer = { .name = "text", .print = print_answer };

static int print_page(struct frag_outfile *to, struct frag_answer_page *page,
		      const struct frag_diff *diff, struct frag_error *err)
{
	static const struct frag_text_style plain = { .columns = 0 };
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	page->text = &answer;
	page->what = diff;
	rc = frag_redraw_page.print(page, &plain, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

/* What print makes, to the file. A baseline is one where format is NULL. */
static int print_into(struct frag_outfile *to, const struct frag_diff_format *format,
		      const struct frag_diff *diff, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	rc = format ? format->print(diff, f, err)
		    : frag_baseline_write(&diff->comparison->now, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

/* Text where nothing else was requested. */
static int print_standard(const struct frag_diff_options *o, struct frag_diff *diff,
			  struct frag_error *err)
{
	const struct frag_diff_format *format = o->format ? o->format : &frag_diff_text;
	struct frag_outfile standard;
	int rc;

	for (uint32_t i = 0; i < o->output_count; i++)
		if (strcmp(o->outputs[i].path, "-") == 0)
			return 0;
	if (format == &frag_diff_text && o->run.quiet)
		return 0;
	rc = frag_outfile_open(&standard, "-", err);
	if (rc)
		return rc;
	diff->colour = frag_terminal_colour(frag_terminal_columns(STDOUT_FILENO));
	rc = print_into(&standard, format, diff, err);
	diff->colour = false;
	frag_outfile_abandon(&standard);
	return rc;
}

int frag_diff_outputs_write(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			    struct frag_diff *diff, struct frag_answer_page *page,
			    struct frag_error *err)
{
	struct frag_outfile *files[BASELINE + 1];
	int rc = 0;

	for (uint32_t i = 0; i < o->output_count && !rc; i++)
		rc = o->outputs[i].format
			? print_into(&outputs->files[i], o->outputs[i].format, diff, err)
			: print_page(&outputs->files[i], page, diff, err);
	if (!rc && diff->updated)
		rc = print_into(&outputs->files[BASELINE], NULL, diff, err);
	else
		frag_outfile_abandon(&outputs->files[BASELINE]);
	rc = rc ? rc : print_standard(o, diff, err);
	for (uint32_t i = 0; i <= BASELINE; i++)
		files[i] = &outputs->files[i];
	return rc ? rc : frag_outfile_commit_all(files, BASELINE + 1, err);
}

void frag_diff_outputs_fini(struct frag_diff_outputs *outputs)
{
	for (uint32_t i = 0; i <= BASELINE; i++)
		frag_outfile_abandon(&outputs->files[i]);
	frag_register_partial_file(NULL);
}
