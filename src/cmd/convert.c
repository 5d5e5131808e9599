/* convert.c - fragsim convert: writes a trace in another form. */
#include "cmd/rewrite.h"

static const struct frag_opt opts[] = { FRAG_REWRITE_OPTS, { 0 } };

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	return frag_rewrite_set(ctx, id, value, err);
}

static int convert_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct frag_rewrite r = { .form = NULL };
	int rest, rc;

	(void)status;
	rc = frag_options(cmd, argc, argv, &r, set_option, &rest, err);
	if (rc || !rest)
		return rc;
	if (argc - rest != 2)
		return frag_usage(cmd, argc - rest < 2 ? "IN and OUT are wanted" : "too many files",
				  err);
	rc = frag_rewrite_find_form(&r, argv[rest + 1], err);
	return rc ? rc : frag_rewrite(&r, argv[rest], argv[rest + 1], err);
}

const struct frag_cmd frag_cmd_convert = {
	.name = "convert",
	.args = "[options] IN OUT",
	.summary = "write a trace in another form",
	.opts = opts,
	.exec = convert_exec,
};
