/* recorded.c - the snapshot of PyTorch that a trace comes from, where there is one. */
#include "events/recorded.h"

#include "events/resolve.h"

const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace)
{
	return frag_snapshot_of(trace->source, trace->state);
}

int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);

	return frag_trace_from(out, frag_snapshot_again(trace->state), trace->state, s->figures,
			       s->device_count, NULL, err);
}
