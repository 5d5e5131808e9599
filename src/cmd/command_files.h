/* command_files.h - the inputs and outputs of a command: no output may replace one of them. */
#pragma once

#include "cmd/command.h"

#define FRAG_FILES_MAX 20

/*
 * The inputs and outputs of a command. An input comes as one path or several, and messages call it
 * `what`; a path that is NULL is none.
 */
struct frag_command_files {
	struct {
		const char *const *paths;
		uint32_t count;
		const char *what;
	} inputs[FRAG_FILES_MAX];
	const char *outputs[FRAG_FILES_MAX];
	uint32_t input_count, output_count;
	uint32_t standard;      /* outputs that have no path: they go to standard output */
};

void frag_files_add_input(struct frag_command_files *f, const char *const *paths, uint32_t count,
			  const char *what);
void frag_files_add_output(struct frag_command_files *f, const char *path);
/* Those that the options name; own are the values of the options. */
void frag_files_of_options(struct frag_command_files *f, const struct frag_cmd *cmd, const void *own);

/*
 * Standard input and standard output are each used once; no output replaces an input, and none is
 * the same file as another one. Files are compared as files, not as names. -FRAG_EUSAGE
 */
int frag_files_check(const struct frag_command_files *f, const struct frag_cmd *cmd,
		     struct frag_error *err);

/* The same of a command whose operands are inputs, which messages call `what`; output may be NULL. */
int frag_check_files(const struct frag_args *args, const char *what, const char *output,
		     struct frag_error *err);
