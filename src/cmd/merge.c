/* merge.c - fragsim merge: the traces of several ranks as one of several devices. */
#include "cmd/rewrite.h"
#include "transform/ranks.h"

static const struct frag_opt opts[] = { FRAG_REWRITE_OPTS, { 0 } };

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	return frag_rewrite_set(ctx, id, value, err);
}

static int write_all(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct frag_ranks *ranks = ctx;
	const struct frag_trace_info head = {
		.path = sink->out->path, .devices = ranks->devices,
		.device_count = ranks->device_count,
	};
	int rc = sink->ops->begin(sink, &head, err);

	rc = rc ? rc : 1;
	while (rc == 1) {
		rc = frag_ranks_next(ranks, sink, err);
		if (rc == 1 && frag_interrupted(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	}
	return rc ? rc : sink->ops->end(sink, err);
}

static int merge(struct frag_rewrite *r, struct frag_ranks *ranks, char **paths,
		 struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = r->lenient, .records = true,
		.log = { .warn = frag_warn, .ctx = &r->quiet },
	};
	int rc = 0;

	for (uint32_t i = 0; i < ranks->count && !rc; i++)
		rc = frag_ranks_open(ranks, i, paths[i], &options, err);
	return rc ? rc : frag_rewrite_into(r, paths[0], paths[ranks->count], write_all, ranks, err);
}

/*
 * The output's form is checked before the inputs are opened: it must keep several
 * devices apart.
 */
static int merge_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		      struct frag_error *err)
{
	struct frag_rewrite r = { .form = NULL };
	struct frag_ranks ranks;
	int rest, rc;

	(void)status;
	rc = frag_options(cmd, argc, argv, &r, set_option, &rest, err);
	if (rc || !rest)
		return rc;
	if (argc - rest < 2)
		return frag_usage(cmd, "IN... and OUT are required", err);
	rc = frag_rewrite_find_form(&r, argv[argc - 1], err);
	if (rc)
		return rc;
	if (!r.form->lossless)
		return frag_fail(err, FRAG_EUSAGE, "--to %s: that form has one device, and merge"
				 " makes several", r.form->name);
	rc = frag_ranks_init(&ranks, (uint32_t)(argc - rest - 1)) ? 0 : frag_fail_nomem(err);
	rc = rc ? rc : merge(&r, &ranks, argv + rest, err);
	frag_ranks_fini(&ranks);
	return frag_or_interrupted(rc, err);
}

const struct frag_cmd frag_cmd_merge = {
	.name = "merge",
	.job = FRAG_JOB_TRACES,
	.args = "[options] IN... OUT",
	.summary = "write the traces of several ranks as one",
	.opts = opts,
	.exec = merge_exec,
};
