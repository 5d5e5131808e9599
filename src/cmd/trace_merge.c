/* trace_merge.c - fragsim trace merge: the traces of several ranks as one of several devices. */
#include <stdlib.h>

#include "cmd/transform_trace.h"
#include "transform/kept_beginning.h"
#include "transform/merge_traces.h"
#include "verify/log_check.h"

struct merge_merge {
	struct frag_rewrite rewrite;
	struct frag_ranks ranks;
	struct frag_trace_info head;    /* that is written, */
	char *mark;                     /* and its meta, or NULL */
	struct frag_first_state beginning;
};

static const struct frag_opt opts[] = {
	FRAG_REWRITE_OPTS(offsetof(struct merge_merge, rewrite)), { 0 },
};

static int write_all(void *ctx, struct frag_sink *sink, struct frag_error *err)
{
	struct merge_merge *m = ctx;
	int rc;

	m->head.path = sink->out->path;
	m->head.devices = m->ranks.devices;
	m->head.device_count = m->ranks.device_count;
	rc = sink->ops->begin(sink, &m->head, err);
	rc = rc ? rc : 1;
	while (rc == 1) {
		rc = frag_ranks_next(&m->ranks, sink, err);
		if (rc == 1 && frag_interrupted(NULL))
			rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	}
	return rc ? rc : sink->ops->end(sink, err);
}

/* The states of all ranks, or of none: a trace with some of them would say that others had none. */
static int merge_beginning(struct merge_merge *m, struct frag_error *err)
{
	const struct frag_ranks *ranks = &m->ranks;
	bool any = false;
	int rc;

	for (uint32_t i = 0; i < ranks->count; i++) {
		struct frag_trace_info head = *frag_trace_info(ranks->ranks[i].trace);

		any = any || head.beginning;
		if (head.beginning && !frag_beginning_leads(head.beginning)) {
			frag_drop_beginning(&head, "other events precede its blocks",
					    &m->rewrite.quiet);
			return 0;
		}
	}
	rc = any ? frag_ranks_beginning(ranks, &m->beginning, err) : 0;
	m->head.beginning = any ? &m->beginning : NULL;
	return rc;
}

/* The mark is what is left of the ranks' own: did PyTorch record all of them? */
static int merge_merge(struct merge_merge *m, char **paths, uint32_t count,
		       struct frag_error *err)
{
	struct frag_rewrite *r = &m->rewrite;
	struct frag_ranks *ranks = &m->ranks;
	const struct frag_trace **traces = calloc(count, sizeof(*traces));
	const struct frag_trace_options options = {
		.lenient = r->lenient, .records = true,
		.log = { .warn = frag_warn, .ctx = &r->quiet },
	};
	int rc = traces ? frag_ranks_open(ranks, paths, count, &options, err)
			: frag_fail_nomem(err);

	for (uint32_t i = 0; i < count && !rc; i++) {
		traces[i] = ranks->ranks[i].trace;
		rc = frag_check_log_warn(ranks->ranks[i].trace, &options.log, err);
	}
	if (!rc)
		m->head.scope = frag_ranks_scope(ranks);
	rc = rc ? rc : merge_beginning(m, err);
	rc = rc ? rc : frag_mark_head(&m->head, &m->mark, traces, count, false,
				      FRAG_WARN_LOG(&r->quiet), err);
	free(traces);
	rc = rc ? rc : frag_ranks_begin(ranks, err);
	return rc ? rc : frag_rewrite_into(r, paths[0], paths[count], write_all, m, err);
}

/*
 * Checks the output's format before it opens the inputs: the format must distinguish several
 * devices.
 */
static int merge_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct merge_merge *m = own;
	struct frag_rewrite *r = &m->rewrite;
	int rc;

	rc = frag_rewrite_find_form(r, args->words[args->count - 1], err);
	if (rc)
		return rc;
	if (!r->form->lossless)
		return frag_fail(err, FRAG_EUSAGE, "--to %s: that form has one device, and merge"
				 " makes several", r->form->name);
	rc = merge_merge(m, args->words, args->count - 1, err);
	frag_ranks_fini(&m->ranks);
	free(m->mark);
	frag_beginning_fini(&m->beginning);
	return frag_or_interrupted(rc, err);
}

const struct frag_cmd frag_cmd_trace_merge = {
	.name = "trace merge",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] IN... OUT",
	.summary = "write the traces of several ranks as one",
	.opts = opts,
	.needs = FRAG_NEEDS_INS_OUT,
	.size = sizeof(struct merge_merge),
	.exec = merge_exec,
};
