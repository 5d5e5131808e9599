/*
 * recording_info.h - queries of the recording from which a trace was made: a snapshot of
 * PyTorch, or the `meta` that a trace of our own format keeps of one.
 */
#ifndef EVENTS_RECORDING_INFO_H
#define EVENTS_RECORDING_INFO_H

#include "fragsim/trace.h"
#include "snapshot/snapshot.h"

/* The snapshot that a trace reads from; NULL where it reads something else. */
const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace);

/*
 * Opens the same snapshot from its first record on, as a second trace; the first one must
 * outlive it, and must not be read meanwhile.
 */
int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err);

/* After such traces, before the first record of the snapshot's own: it is as it was opened. */
void frag_trace_reread(const struct frag_trace *trace, enum frag_stacks stacks);

/*
 * Of a snapshot: the segments that existed at the beginning or were reserved later, in the order
 * of creation, each with its rank by address; the trace's. NULL, and *count 0, where the order is
 * unknown, as with expandable segments, because the log has only their pages.
 */
const uint32_t *frag_trace_places(const struct frag_trace *trace, uint32_t device,
				  uint32_t *count);

/*
 * Who recorded the program's requests to PyTorch's allocator, as the member "recorder" of meta
 * says it: one of a few names. NULL: the trace is no such recording, as far as it says.
 */
const char *frag_trace_recorder(const struct frag_trace *trace);

/*
 * Returns the settings that the header has in addition to the recorder; NULL: none. Not for
 * snapshots.
 */
const char *frag_trace_alloc_conf(const struct frag_trace *trace);

/* The device of the program, as a snapshot shows it, or the name of the recorder. */
enum frag_accelerator frag_trace_accelerator(const struct frag_trace *trace);

/* The release of PyTorch, likewise. */
const char *frag_trace_pytorch(const struct frag_trace *trace);

/* Was no record read yet? Only then may a snapshot be read ahead, and reread. */
bool frag_trace_is_unread(const struct frag_trace *trace);

/*
 * The step and size of the failed request that the recording ended with, as a snapshot or the
 * header says it. Of a header it is known at the trace's end only whether that is still true:
 * info.ends_at_oom.
 */
bool frag_trace_recorded_end(const struct frag_trace *trace, uint64_t *step, uint64_t *size);

/* The places of buffers that the file of a trace specifies; NULL: none. */
const struct frag_constraints *frag_trace_constraints(const struct frag_tape *tape);

/* What a trace calls its streams and pools. */
/* One by its index, as JSON, for the caller to free; NULL: out of memory. */
char *frag_stream_json(const struct frag_tape *tape, uint32_t stream);
char *frag_pool_json(const struct frag_tape *tape, uint32_t pool);

#endif
