/* list_policies.c - fragsim list policies: lists the policies and their parameters. */
#include <stdlib.h>
#include <string.h>

#include "answers/known_lists.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "policy/policies.h"

struct policies {
	const char *json;
	const struct frag_policy_ops *const *listed;
};

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)",
	  FRAG_TEXT(struct policies, json) },
	{ 0 },
};

static int policies_write_json(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	return frag_policies_write(((const struct policies *)ctx)->listed, out, err);
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

/*
 * Finds all named policies before it prints one, so that an unknown name prints no partial
 * answer.
 */
static int policies_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct policies *p = own;
	const struct frag_policy_ops **found = calloc((size_t)args->count + 1, sizeof(*found));
	int rc = found ? policies_find(args->words, found, err) : frag_fail_nomem(err);

	p->listed = args->count ? found : frag_policies();
	if (!rc && p->json)
		rc = frag_write_file(p->json, false, policies_write_json, p, err);
	else if (!rc)
		frag_report_policies(p->listed, stdout);
	free(found);
	return rc;
}

const struct frag_cmd frag_cmd_list_policies = {
	.name = "list policies",
	.group = FRAG_GROUP_LIST,
	.args = "[options] [NAME ...]",
	.summary = "list the allocation policies and their keys",
	.opts = opts,
	.size = sizeof(struct policies),
	.exec = policies_exec,
};
