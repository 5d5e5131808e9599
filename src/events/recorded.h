/* recorded.h - the snapshot of PyTorch that a trace comes from, where there is one. */
#ifndef EVENTS_RECORDED_H
#define EVENTS_RECORDED_H

#include "snapshot/snapshot.h"

/* The snapshot that a trace reads from; NULL where it reads something else. */
const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace);

/*
 * The same snapshot from its first record on, as a trace of its own; the other
 * one must outlive it, and is not to be read meanwhile.
 */
int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err);

#endif
