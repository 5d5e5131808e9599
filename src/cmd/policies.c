/* policies.c - fragsim policies: what there is to choose from. */
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "report/report.h"

enum { OPT_JSON = 1 };

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write them as JSON (- is standard output)", OPT_JSON },
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

static int write_json(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	(void)ctx;
	return frag_report_policies_json(out, err);
}

static int policies_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			 struct frag_error *err)
{
	const char *json = NULL;
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
	return frag_write_file(json, write_json, NULL, err);
}

const struct frag_cmd frag_cmd_policies = {
	.name = "policies",
	.args = "[options]",
	.summary = "list the allocation policies and their keys",
	.opts = opts,
	.exec = policies_exec,
};
