/* verbs.c - fragsim trace and fragsim list: commands whose verbs are commands, one a file. */
#include "cmd/command.h"

static int verbs_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	(void)own;
	return frag_usage(args->cmd, "missing argument: VERB; -h lists them", err);
}

static const struct frag_opt opts[] = { { 0 } };

const struct frag_cmd frag_cmd_trace = {
	.name = "trace",
	.group = FRAG_GROUP_OTHER,
	.verbs = FRAG_GROUP_TRACE,
	.args = "VERB ...",
	.summary = "describe, convert and cut traces, and make some",
	.opts = opts,
	.exec = verbs_exec,
};

const struct frag_cmd frag_cmd_list = {
	.name = "list",
	.group = FRAG_GROUP_OTHER,
	.verbs = FRAG_GROUP_LIST,
	.args = "VERB ...",
	.summary = "list policies and GPUs",
	.opts = opts,
	.exec = verbs_exec,
};
