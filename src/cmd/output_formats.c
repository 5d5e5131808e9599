/* output_formats.c - an answer in the forms that were asked for: --format, --output and --json. */
#include "cmd/output_formats.h"

#include <string.h>
#include <unistd.h>

#include "base/name_list.h"
#include "cmd/interrupt.h"
#include "cmd/outputs.h"
#include "cmd/terminal.h"

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
	return frag_fail(err, FRAG_EUSAGE, "%s %.60s: no such format; there are: %s", option, value,
			 frag_listed_text(&names, ", "));
}

int frag_printed_format(struct frag_answer_output *p, const char *value, struct frag_error *err)
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

int frag_printed_output(struct frag_answer_output *p, const char *value, struct frag_error *err)
{
	const char *colon = strchr(value, ':');
	const struct frag_format *format;

	if (!colon || !colon[1])
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: FORMAT:FILE is required, as in"
				 " markdown:report.md", value);
	format = output_formats_find(p, value, (size_t)(colon - value));
	return format ? frag_printed_add(p, "--output", format, colon + 1, NULL, err)
		      : no_format(p, "--output", value, err);
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
		return frag_printed_output(p, value, err);
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

		standard += strcmp(path, "-") == 0;
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
