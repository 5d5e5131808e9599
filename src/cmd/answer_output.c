/* answer_output.c - where an answer is written, and in which formats. */
#include "cmd/answer_output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/run_options.h"
#include "cmd/session.h"

const struct frag_format *frag_output_format(const struct frag_answer_output *p, const char *name)
{
	uint32_t i = 0;

	while (p->formats[i] && strcmp(p->formats[i]->name, name) != 0)
		i++;
	return p->formats[i];
}

int frag_output_no_format(const struct frag_answer_output *p, const char *option, const char *value,
		     struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; p->formats[i]; i++)
		frag_listed_add(&names, p->formats[i]->name);
	frag_listed_add(&names, "html");
	return frag_fail(err, FRAG_EUSAGE, "%s %.60s: use %s", option, value,
			 frag_listed_text(&names, " or "));
}

int frag_output_find_format(struct frag_answer_output *p, const char *value, struct frag_error *err)
{
	p->format = frag_output_format(p, value);
	return p->format ? 0 : frag_output_no_format(p, "--format", value, err);
}

int frag_output_add(struct frag_answer_output *p, const char *option,
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

int frag_output_named(const char **format, const char *value, struct frag_error *err)
{
	const char *dot = strrchr(frag_file_name(value), '.'), *colon = strchr(value, ':');

	*format = NULL;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *name = endings[i].format;

		if (colon && strlen(name) == (size_t)(colon - value)
		    && strncmp(value, name, (size_t)(colon - value)) == 0)
			return frag_fail(err, FRAG_EUSAGE, "--output %.100s: the ending of FILE names its"
					 " form, --format that of standard output", value);
		if (dot && endings[i].ending && strcmp(dot, endings[i].ending) == 0)
			*format = name;
	}
	return 0;
}

int frag_run_set_output(void *at, const struct frag_opt *o, const char *value,
			struct frag_error *err)
{
	struct frag_run_options *run = at;
	const char *format, **path;
	int rc = frag_output_named(&format, value, err);

	if (rc)
		return rc;
	path = format && strcmp(format, "json") == 0 ? &run->json : &run->html;
	if (!format || (path == &run->html && (strcmp(format, "html") != 0 || o->min & FRAG_NO_PAGE)))
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: no such format; valid endings:"
				 " .json%s", value, o->min & FRAG_NO_PAGE ? "" : ", .html");
	if (*path && strcmp(*path, "-") != 0)
		return frag_fail(err, FRAG_EUSAGE, "--output %.60s: %.60s has this form", value, *path);
	*path = value;
	return 0;
}

int frag_output_switch_formats(struct frag_answer_output *p, const struct frag_format *const *formats,
			  struct frag_error *err)
{
	int rc;

	p->formats = formats;
	rc = p->format ? frag_output_find_format(p, p->format->name, err) : 0;
	for (uint32_t i = 0; i < p->count && !rc; i++) {
		const struct frag_format **format = &p->outputs[i].format;
		const char *name = *format ? (*format)->name : "";

		if (*format)
			*format = frag_output_format(p, name);
		if (*name && !*format)
			rc = frag_output_no_format(p, "--output", name, err);
	}
	return rc;
}

void frag_output_files(const struct frag_answer_output *p, struct frag_command_files *files)
{
	files->standard += p->format != NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		/* the page is added with the options */
		if (!p->outputs[i].what)
			frag_files_add_output(files, p->outputs[i].path);
		/* `--format csv -o -` names one output twice */
		if (p->format && !p->outputs[i].format && strcmp(p->outputs[i].path, "-") == 0)
			files->standard--;
	}
}

static int no_ending(const char *path, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (endings[i].ending)
			frag_listed_add(&names, endings[i].ending);
	return frag_fail(err, FRAG_EUSAGE, "--output %.200s: no format has this ending (%s);"
			 " --format selects one", path, frag_listed_text(&names, ", "));
}

int frag_output_open(struct frag_answer_output *p, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->count && !rc; i++) {
		const char *path = p->outputs[i].path;

		if (!p->outputs[i].format && !p->format && strchr(frag_file_name(path), '.'))
			return no_ending(path, err);
		if (!p->outputs[i].format)
			p->outputs[i].format = p->format ? p->format : p->formats[0];
		rc = frag_open_guarded(&p->outputs[i].file, path, err);
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
		.colour = frag_terminal_colour(columns), .columns = columns, .top = p->top,
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

int frag_output_write(struct frag_answer_output *p, const void *what, struct frag_error *err)
{
	const struct frag_text_style plain = { .top = p->top };
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

void frag_output_fini(struct frag_answer_output *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		frag_outfile_abandon(&p->outputs[i].file);
	frag_register_partial_file(NULL);
}
