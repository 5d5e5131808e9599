/* help.c - fragsim help: prints the manual of a command, or its options. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/explain_answer.h"
#include "answers/fit_answer.h"
#include "answers/leaks_answer.h"
#include "answers/plan_answer.h"
#include "answers/ranks_answer.h"
#include "answers/what_if_answer.h"
#include "base/bug.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "documents/documents.h"
#include "sweep/manifest.h"

/* Every document that is declared, and its format without "fragsim-", in one order. */
static const struct frag_document_type *const documents[] = {
	&frag_explain_document, &frag_fit_document, &frag_leaks_document, &frag_placement_document, &frag_profile_document,
	&frag_ranks_document, &frag_manifest_document, &frag_what_if_document, NULL,
};
static const char *const formats[] = {
	"explain", "fit", "leaks", "placement", "profile", "ranks", "sweep", "what-if", NULL,
};

struct help {
	int schema;             /* of the formats; -1: none */
	bool members;
};

static const struct frag_opt opts[] = {
	{ 0, "schema", "FORMAT", "print a JSON Schema: explain, fit, leaks, placement, profile, ranks, sweep, what-if",
	  FRAG_WORD(struct help, schema, formats), .usual = UINT64_MAX },
	{ 0, "members", NULL, "print the members of all documents as mdoc(7)",
	  FRAG_FLAG(struct help, members) },
	{ 0 },
};

#define LINE_COMMANDS 9         /* names that fit 80 columns */

static void print_commands(void)
{
	puts("usage: fragsim COMMAND [options] ...\n"
	     "Simulates GPU memory allocators on recorded allocations and explains fragmentation.\n");
	for (int group = 0; group < FRAG_GROUP_OTHER; group++) {
		puts(frag_group_names[group]);
		for (uint32_t i = 0; frag_commands[i]; i++)
			if ((int)frag_commands[i]->group == group)
				printf("  %-11s  %s\n", frag_commands[i]->name,
				       frag_commands[i]->summary);
	}
	printf("\n%s", frag_group_names[FRAG_GROUP_OTHER]);
	for (uint32_t i = 0, others = 0; frag_commands[i]; i++)
		if (frag_commands[i]->group == FRAG_GROUP_OTHER)
			printf("%s %s", others++ == LINE_COMMANDS ? "\n     " : "",
			       frag_commands[i]->name);
	puts("\n'fragsim COMMAND -h' lists options, 'fragsim help COMMAND' opens the manual.");
}

static void exec_man(const char *option, const char *page)
{
	frag_release_signals();
	execlp("man", "man", option, page, (char *)NULL);
}

/* Does man find the page? */
static bool has_page(const char *page)
{
	int status, null;
	pid_t child = fork();

	if (child == 0) {
		null = open("/dev/null", O_WRONLY);
		if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
			exec_man("-w", page);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
	       && WEXITSTATUS(status) == 0;
}

/*
 * On a terminal with the manual installed the manual; exec_man() returns only
 * if that fails. Without a terminal or manual it prints the table of options.
 */
static int help_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	static char name[] = "help", flag[] = "-h";
	char *flags[] = { name, flag, NULL }, page[64];
	const struct help *h = own;
	const struct frag_cmd *other;

	if (h->members)
		frag_members_print(documents, stdout);
	if (h->schema >= 0) {
		FRAG_ASSERT(strcmp(documents[h->schema]->format + sizeof("fragsim"), formats[h->schema]) == 0);
		return frag_schema_print(documents[h->schema], stdout, err);
	}
	if (h->members)
		return 0;
	if (args->count > 1)
		return frag_usage(args->cmd, "too many arguments: one COMMAND", err);
	if (!args->count) {
		print_commands();
		return 0;
	}
	other = frag_command_find(args->words[0], err);
	if (!other)
		return err->code;
	snprintf(page, sizeof(page), "fragsim-%s", other->name);
	if (frag_terminal_columns(STDOUT_FILENO) && has_page(page))
		exec_man("--", page);
	return frag_command_run(other, 2, flags, args->status, err);
}

const struct frag_cmd frag_cmd_help = {
	.name = "help",
	.group = FRAG_GROUP_OTHER,
	.args = "[COMMAND]",
	.summary = "open the manual of a command, or list the commands",
	.opts = opts,
	.size = sizeof(struct help),
	.exec = help_exec,
};
