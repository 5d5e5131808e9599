/* output_formats.c - writes an answer in the formats of --format, --output and --json. */
#include "cmd/output_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/atomic_file.h"
#include "cmd/interrupt.h"
#include "cmd/progress.h"

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

void frag_files_read(struct frag_files *f, const char *const *paths, uint32_t count,
		     const char *what)
{
	FRAG_ASSERT(f->input_count < FRAG_FILES_MAX);
	if (!count || !*paths)
		return;
	f->inputs[f->input_count].paths = paths;
	f->inputs[f->input_count].count = count;
	f->inputs[f->input_count++].what = what;
}

void frag_files_write(struct frag_files *f, const char *path)
{
	FRAG_ASSERT(f->output_count < FRAG_FILES_MAX);
	if (path)
		f->outputs[f->output_count++] = path;
}

/* No output may replace an input, which is still being read then. */
static int check_replaced(const struct frag_files *f, const char *path, struct frag_error *err)
{
	for (uint32_t i = 0; i < f->input_count; i++)
		for (uint32_t k = 0; k < f->inputs[i].count; k++)
			if (frag_same_file(path, f->inputs[i].paths[k]))
				return frag_fail(err, FRAG_EUSAGE,
						 "%s: the output would replace %s", path,
						 f->inputs[i].what);
	return 0;
}

/* Files are compared as files, not as names. */
int frag_files_check(const struct frag_files *f, const struct frag_cmd *cmd,
		     struct frag_error *err)
{
	uint32_t input = 0, output = f->standard;
	int rc = 0;

	for (uint32_t i = 0; i < f->input_count; i++)
		for (uint32_t k = 0; k < f->inputs[i].count; k++)
			input += strcmp(f->inputs[i].paths[k], "-") == 0;
	if (input > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	for (uint32_t i = 0; i < f->output_count && !rc; i++) {
		output += strcmp(f->outputs[i], "-") == 0;
		rc = check_replaced(f, f->outputs[i], err);
		for (uint32_t k = 0; k < i && !rc; k++)
			if (frag_same_file(f->outputs[i], f->outputs[k]))
				rc = frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file",
					       f->outputs[i]);
	}
	if (!rc && output > 1)
		rc = frag_usage(cmd, "two outputs to standard output: only one can be -", err);
	return rc;
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

int frag_printed_output(struct frag_answer_output *p, struct frag_run_options *run,
			const char *value, struct frag_error *err)
{
	const struct frag_output_name name = frag_output_named(value);
	const struct frag_format *format;

	if (!*name.format)
		return frag_printed_add(p, "--output", NULL, name.path, NULL, err);
	if (p->has_page && strcmp(name.format, "html") == 0) {
		run->html = name.path;
		return 0;
	}
	format = output_formats_find(p, name.format, strlen(name.format));
	return format ? frag_printed_add(p, "--output", format, name.path, NULL, err)
		      : no_format(p, "--output", value, err);
}

int frag_printed_switch(struct frag_answer_output *p, const struct frag_format *const *formats,
			struct frag_error *err)
{
	int rc;

	p->formats = formats;
	rc = p->format ? frag_printed_format(p, p->format->name, err) : 0;
	for (uint32_t i = 0; i < p->count && !rc; i++) {
		const struct frag_format **format = &p->outputs[i].format;
		const char *name = *format ? (*format)->name : "";

		if (*format)
			*format = output_formats_find(p, name, strlen(name));
		if (*name && !*format)
			rc = no_format(p, "--output", name, err);
	}
	return rc;
}

int frag_printed_json(struct frag_answer_output *p, const char *path, struct frag_error *err)
{
	return frag_printed_add(p, "--json", output_formats_find(p, "json", strlen("json")), path,
				NULL, err);
}

void frag_printed_files(const struct frag_answer_output *p, struct frag_files *files)
{
	files->standard += p->format != NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		frag_files_write(files, p->outputs[i].path);
		/* `--format csv -o -` names one output twice */
		if (p->format && !p->outputs[i].format && strcmp(p->outputs[i].path, "-") == 0)
			files->standard--;
	}
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
