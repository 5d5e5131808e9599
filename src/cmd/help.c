/* help.c - fragsim help: prints the manual of a command, or its options. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answers/answers.h"
#include "answers/diff_answer.h"
#include "answers/explain_answer.h"
#include "answers/fit_answer.h"
#include "answers/known_lists.h"
#include "answers/leaks_answer.h"
#include "answers/message_answer.h"
#include "answers/plan_answer.h"
#include "answers/predict_answer.h"
#include "answers/account_answer.h"
#include "answers/ranks_answer.h"
#include "answers/report.h"
#include "base/bug.h"
#include "base/platform.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "documents/documents.h"
#include "sweep/manifest.h"

/* Every document that is declared: its type, and its format without "fragsim-". */
#define DOCUMENTS(DOCUMENT)                                                                     \
	DOCUMENT(accounts, "accounts") DOCUMENT(baseline, "baseline") DOCUMENT(cards, "cards") DOCUMENT(change, "change")      \
	DOCUMENT(comparison, "comparison") DOCUMENT(explain, "explain") DOCUMENT(fit, "fit")    \
	DOCUMENT(info, "info") DOCUMENT(leaks, "leaks") DOCUMENT(message, "message")            \
	DOCUMENT(placement, "placement") DOCUMENT(plan, "plan") DOCUMENT(policies, "policies")  \
	DOCUMENT(predict, "predict") DOCUMENT(profile, "profile") DOCUMENT(ranks, "ranks")      \
	DOCUMENT(result, "result") DOCUMENT(settings, "settings") DOCUMENT(manifest, "sweep") DOCUMENT(run_line, "sweep-run")  \
	DOCUMENT(trace, "trace")
#define TYPE(type, format) &frag_##type##_document,
#define FORMAT(type, format) (format),
#define WORD(type, format) " " format

static const struct frag_document_type *const documents[] = { DOCUMENTS(TYPE) NULL };
static const char *const formats[] = { DOCUMENTS(FORMAT) NULL };

struct help {
	int schema;             /* of the formats; -1: none */
	bool members;
};

static const struct frag_opt opts[] = {
	{ 0, "schema", "FORMAT", "print a JSON Schema:" DOCUMENTS(WORD),
	  FRAG_WORD(struct help, schema, formats), .usual = UINT64_MAX },
	{ 0, "members", NULL, "print the members of all documents as mdoc(7)",
	  FRAG_FLAG(struct help, members) },
	{ 0 },
};

static void print_commands(void)
{
	puts("usage: fragsim COMMAND [options] ...\n"
	     "Simulates GPU allocators on recorded allocations and explains fragmentation.\n");
	for (int group = 0; group < FRAG_GROUPS; group++) {
		puts(frag_group_names[group]);
		frag_commands_print((enum frag_cmd_group)group, stdout);
	}
	puts("'fragsim COMMAND -h' lists options, 'fragsim help COMMAND' opens the manual.");
}

static void exec_man(const char *option, const char *page)
{
	char *argv[] = { (char[]){ "man" }, (char *)(uintptr_t)option, (char *)(uintptr_t)page, NULL };

	frag_release_signals();
	frag_program_exec(argv);
}

static int find_page(void *page)
{
	if (frag_output_discard())
		exec_man("-w", page);
	return 127;
}

/* Does man find the page? */
static bool has_page(char *page)
{
	int status;

	return frag_child_run(find_page, page, &status) == 0 && status == 0;
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
	int taken;

	if (h->members)
		frag_members_print(documents, stdout);
	if (h->schema >= 0) {
		FRAG_ASSERT(strcmp(documents[h->schema]->format + sizeof("fragsim"), formats[h->schema]) == 0);
		return frag_schema_print(documents[h->schema], stdout, err);
	}
	if (h->members)
		return 0;
	if (!args->count) {
		print_commands();
		return 0;
	}
	other = frag_command_find(args->words, (int)args->count, &taken, err);
	if (!other)
		return err->code;
	if ((int)args->count > taken)
		return frag_usage(args->cmd, "too many arguments: one COMMAND", err);
	/* the page of a command has its verbs */
	snprintf(page, sizeof(page), "fragsim-%s", args->words[0]);
	if (frag_terminal_columns(STDOUT_FILENO) && has_page(page))
		exec_man("--", page);
	return frag_command_run(other, 2, flags, args->status, err);
}

const struct frag_cmd frag_cmd_help = {
	.name = "help",
	.group = FRAG_GROUP_OTHER,
	.args = "[COMMAND [VERB]]",
	.summary = "open the manual of a command, or list the commands",
	.opts = opts,
	.size = sizeof(struct help),
	.exec = help_exec,
};
