/* command.c - calls a command with its options, operands and files. */
#include "cmd/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/parse.h"

/*
 * The command and its words, before the options are read, which moves them. Files have no folders:
 * the line stands on pages that are sent to others. NULL: out of memory.
 */
static char *command_line(const char *command, int argc, char *const *argv)
{
	size_t length = strlen("fragsim ") + strlen(command) + 1;
	char *text, *p;

	for (int i = 1; i < argc; i++)
		length += 4 * strlen(argv[i]) + 3;
	text = p = malloc(length);
	if (!text)
		return NULL;
	p = stpcpy(stpcpy(p, "fragsim "), command);
	for (int i = 1; i < argc; i++)
		p = frag_put_shell_word(stpcpy(p, " "), *argv[i] == '-' || strchr(argv[i], ' ')
					? argv[i] : frag_file_name(argv[i]));
	return text;
}

/* Are there as many operands as the command needs? */
static int check_operands(const struct frag_args *args, struct frag_error *err)
{
	const struct frag_cmd *cmd = args->cmd;
	const char *operand = cmd->operand ? cmd->operand : "TRACE";
	char text[80];

	if (cmd->needs & FRAG_NEEDS_INS_OUT && args->count < 2)
		return frag_usage(cmd, "IN... and OUT are required", err);
	if (cmd->needs & FRAG_NEEDS_IN_OUT && args->count != 2)
		return frag_usage(cmd, args->count < 2 ? "IN and OUT are required"
						       : "too many files", err);
	if (cmd->needs & (FRAG_NEEDS_TRACE | FRAG_NEEDS_TRACES) && !args->count) {
		snprintf(text, sizeof(text), "missing argument: %s", operand);
		return frag_usage(cmd, text, err);
	}
	if (cmd->needs & FRAG_NEEDS_TRACE && args->count > 1) {
		snprintf(text, sizeof(text), "too many arguments: one %s", operand);
		return frag_usage(cmd, text, err);
	}
	return 0;
}

static void run_options_init(struct frag_run_options *run)
{
	*run = (struct frag_run_options){
		.total = UINT64_MAX,
		.context = UINT64_MAX,
		.other = UINT64_MAX,
		.granularity = UINT64_MAX,
		.stacks = -1,
	};
}

static void run_options_fini(struct frag_run_options *run)
{
	for (uint32_t i = 0; i < run->choice_count; i++)
		frag_choice_fini(&run->choices[i]);
	free(run->choices);
	free(run->conditions);
	free(run->settings.at);
	free(run->profile.figures.name);
}

/*
 * The options have their usual values before the first one is read. Where a command writes no
 * trace, its operands are inputs, and the options name the outputs.
 */
static int command_call(const struct frag_cmd *cmd, void *own, struct frag_args *args, int argc,
		      char **argv, struct frag_error *err)
{
	struct frag_question *q = cmd->needs & FRAG_NEEDS_ANSWER ? own : NULL;
	int rest = 0, rc;

	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		run_options_init(own);
	if (q)
		q->printed.formats = cmd->formats, q->printed.top = FRAG_TOP_FITTING;
	if (cmd->init)
		cmd->init(own);
	rc = frag_options(cmd, argc, argv, own, args, &rest, err);
	if (!rc && rest) {
		args->words = argv + rest;
		args->count = (uint32_t)(argc - rest);
		rc = check_operands(args, err);
		rc = rc ? rc : frag_refuse_options(args, cmd->refusals, err);
		if (!rc && !q && cmd->needs & (FRAG_NEEDS_TRACE | FRAG_NEEDS_TRACES))
			rc = frag_check_files(args, "the trace", NULL, err);
		if (!rc)
			rc = cmd->exec ? cmd->exec(own, args, err)
				       : frag_question_run(own, cmd->question, args, err);
	}
	if (cmd->fini)
		cmd->fini(own);
	if (q)
		frag_question_fini(q);
	if (cmd->needs & (FRAG_NEEDS_RUN | FRAG_NEEDS_ANSWER))
		run_options_fini(own);
	return rc;
}

int frag_command_run(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err)
{
	struct frag_args args = { .cmd = cmd, .status = status };
	char *line;
	void *own;
	int rc;

	if (cmd->raw)
		return cmd->raw(cmd, argc, argv, status, err);
	args.line = line = command_line(cmd->name, argc, argv);
	own = calloc(1, cmd->size + 1);
	args.own = own;
	rc = line && own ? command_call(cmd, own, &args, argc, argv, err) : frag_fail_nomem(err);
	free(own);
	free(line);
	return rc;
}
