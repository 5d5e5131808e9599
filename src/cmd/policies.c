/* policies.c - fragsim policies: what there is to choose from. */
#include "cmd/command.h"
#include "report/report.h"

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)", 'j' },
	{ 0 },
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	const char **json = ctx;

	(void)id;
	(void)err;
	*json = value;
	return 0;
}

static int policies_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			 struct frag_error *err)
{
	const char *json = NULL;
	struct frag_outfile out;
	int rest, rc = frag_options(cmd, argc, argv, &json, set_option, &rest, err);

	(void)status;
	if (rc || !rest)
		return rc;
	if (rest < argc)
		return frag_usage(cmd, "too many arguments", err);
	if (!json) {
		frag_report_policies(stdout);
		return 0;
	}
	rc = frag_outfile_open(&out, json, err);
	if (rc)
		return rc;
	frag_guard_file(&out);
	rc = frag_report_policies_json(&out, err);
	rc = rc ? rc : frag_outfile_commit(&out, err);
	frag_outfile_abandon(&out);
	frag_guard_file(NULL);
	return rc;
}

const struct frag_cmd frag_cmd_policies = {
	.name = "policies",
	.args = "[options]",
	.summary = "list the allocation policies and their keys",
	.opts = opts,
	.exec = policies_exec,
};
