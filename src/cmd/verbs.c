/* verbs.c - fragsim trace and fragsim list: commands whose verbs are commands, one a file. */
#include "cmd/command.h"

static int verbs_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	(void)own;
	return frag_usage(args->cmd, "missing argument: VERB; -h lists them", err);
}

static const struct frag_opt opts[] = { { 0 } };

#define VERBS(command, group_of_verbs, says)                                                    \
	const struct frag_cmd frag_cmd_##command = {                                            \
		.name = #command,                                                               \
		.group = FRAG_GROUP_OTHER,                                                      \
		.verbs = (group_of_verbs),                                                      \
		.args = "VERB ...",                                                             \
		.summary = (says),                                                              \
		.opts = opts,                                                                   \
		.exec = verbs_exec,                                                             \
	}

VERBS(trace, FRAG_GROUP_TRACE, "describe, convert and cut traces, and make some");
VERBS(list, FRAG_GROUP_LIST, "list policies, GPUs and settings of PyTorch");
