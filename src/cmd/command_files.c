/* command_files.c - the inputs and outputs of a command: no output may replace one of them. */
#include "cmd/command_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "base/bug.h"
#include "cmd/run_options.h"

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

/* Do the two paths lead to the same regular file, there or not yet? */
static bool same_file(const char *a, const char *b)
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

void frag_files_add_input(struct frag_command_files *f, const char *const *paths, uint32_t count, const char *what)
{
	FRAG_ASSERT(f->input_count < FRAG_FILES_MAX);
	if (!count || !*paths)
		return;
	f->inputs[f->input_count].paths = paths;
	f->inputs[f->input_count].count = count;
	f->inputs[f->input_count++].what = what;
}

void frag_files_add_output(struct frag_command_files *f, const char *path)
{
	FRAG_ASSERT(f->output_count < FRAG_FILES_MAX);
	if (path)
		f->outputs[f->output_count++] = path;
}

void frag_files_of_options(struct frag_command_files *f, const struct frag_cmd *cmd, const void *own)
{
	for (const struct frag_opt *o = cmd->opts; o->name; o++) {
		const char *const *path = (const char *const *)((const char *)own + o->at);

		if (o->kind == FRAG_OPT_INPUT)
			frag_files_add_input(f, path, 1, o->what);
		else if (o->kind == FRAG_OPT_OUTPUT)
			frag_files_add_output(f, *path);
	}
	/* the page of -o or --format, in the options of a run, which begin these */
	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		frag_files_add_output(f, ((const struct frag_run_options *)own)->html);
}

/* No output may replace an input, which is still being read then. */
static int check_replaced(const struct frag_command_files *f, const char *path, struct frag_error *err)
{
	for (uint32_t i = 0; i < f->input_count; i++)
		for (uint32_t k = 0; k < f->inputs[i].count; k++)
			if (same_file(path, f->inputs[i].paths[k]))
				return frag_fail(err, FRAG_EUSAGE,
						 "%s: the output would replace %s", path,
						 f->inputs[i].what);
	return 0;
}

int frag_files_check(const struct frag_command_files *f, const struct frag_cmd *cmd, struct frag_error *err)
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
			if (same_file(f->outputs[i], f->outputs[k]))
				rc = frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file",
					       f->outputs[i]);
	}
	if (!rc && output > 1)
		rc = frag_usage(cmd, "two outputs to standard output: only one can be -", err);
	return rc;
}

int frag_check_files(const struct frag_args *args, const char *what, const char *output,
		     struct frag_error *err)
{
	struct frag_command_files files = { .input_count = 0 };

	frag_files_add_input(&files, (const char *const *)args->words, args->count, what);
	frag_files_of_options(&files, args->cmd, args->own);
	frag_files_add_output(&files, output);
	return frag_files_check(&files, args->cmd, err);
}
