/* policies.c - fragsim policies: lists the policies and their parameters. */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/progress.h"
#include "answers/report.h"
#include "documents/documents.h"
#include "policy/policies.h"

struct policies {
	const char *json;
};

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)",
	  FRAG_TEXT(struct policies, json) },
	{ 0 },
};

struct listed {
	const struct frag_policy_ops *const *policies;
};

static int policies_write_json(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	const struct listed *listed = ctx;

	return frag_policies_write(listed->policies, out, err);
}

/* Those that are named: built-in ones, or plug-ins by their paths; names ends in NULL. */
static int policies_find(char *const *names, const struct frag_policy_ops **found,
			 struct frag_error *err)
{
	for (; *names; names++) {
		int rc;

		if (strchr(*names, ':'))
			return frag_fail(err, FRAG_EUSAGE,
					 "%.60s: the name alone, its keys are what"
					 " is listed",
					 *names);
		/* a choice of it may need keys */
		rc = frag_policy_named(found++, *names, strlen(*names), err);
		if (rc)
			return rc;
	}
	return 0;
}

static int list(const struct frag_policy_ops *const *policies, const char *json,
		struct frag_error *err)
{
	struct listed listed = { .policies = policies };

	if (json)
		return frag_write_file(json, false, policies_write_json, &listed, err);
	frag_report_policies(policies, stdout);
	return 0;
}

/*
 * Finds all named policies before it prints one, so that an unknown name prints no partial
 * answer.
 */
static int policies_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	const struct policies *p = own;
	const struct frag_policy_ops **found;
	int rc;

	if (!args->count)
		return list(frag_policies(), p->json, err);
	found = calloc((size_t)args->count + 1, sizeof(*found));
	if (!found)
		return frag_fail_nomem(err);
	rc = policies_find(args->words, found, err);
	rc = rc ? rc : list(found, p->json, err);
	free(found);
	return rc;
}

const struct frag_cmd frag_cmd_policies = {
	.name = "policies",
	.job = FRAG_JOB_OTHER,
	.args = "[options] [NAME ...]",
	.summary = "list the allocation policies and their keys",
	.opts = opts,
	.size = sizeof(struct policies),
	.exec = policies_exec,
};
