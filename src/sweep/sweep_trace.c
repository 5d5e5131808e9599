/* sweep_trace.c - a trace of a sweep in memory, with the policies that it is for. */
#include "sweep/sweep_trace.h"

int frag_source_open(struct frag_source *s, const char *path,
		     const struct frag_source_reading *r, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.sized = r->sized, .log = r->log,
		.configured = frag_configured_next, .configured_ctx = &s->configured,
	};
	const struct frag_tape_options tape = {
		.stop = r->stop, .progress = r->progress, .ctx = r->ctx,
	};
	int rc;

	*s = (struct frag_source){ .trace = NULL };
	if (!frag_configured_init(&s->configured, r->choices, r->choice_count))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&s->trace, path, &options, err);
	if (rc && r->stop && r->stop(r->ctx))
		rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc ? rc : frag_tape_new(&s->tape, s->trace, &tape, err);
}

void frag_source_close(struct frag_source *s)
{
	frag_tape_del(s->tape);
	frag_trace_close(s->trace);
	frag_configured_fini(&s->configured);
	*s = (struct frag_source){ .trace = NULL };
}
