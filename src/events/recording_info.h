/*
 * recording_info.h - what a trace says of the recording that it comes from: the snapshot of
 * PyTorch, or what `meta` of a trace of our own keeps of one.
 */
#ifndef EVENTS_RECORDING_INFO_H
#define EVENTS_RECORDING_INFO_H

#include "fragsim/trace.h"
#include "snapshot/snapshot.h"

/* The snapshot that a trace reads from; NULL where it reads something else. */
const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace);

/*
 * The same snapshot from its first record on, as a trace of its own; the other
 * one must outlive it, and is not to be read meanwhile.
 */
int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err);

/* After such traces, before the first record of the snapshot's own: it is as it was opened. */
void frag_trace_reread(const struct frag_trace *trace, enum frag_stacks stacks);

/*
 * Of a snapshot: the segments that the device had and gave, in the order in which they came, each
 * with its place among them by address. *places: by malloc(); NULL, and *count 0, where nobody
 * knows, as with expandable ranges, of which the log has the pages alone. -FRAG_ENOMEM
 */
int frag_trace_places(const struct frag_trace *trace, uint32_t device, uint32_t **places,
		      uint32_t *count);

/*
 * Who recorded the program's requests to PyTorch's allocator, as the member "recorder" of meta
 * says it: one of a few names. NULL: the trace is no such recording, as far as it says.
 */
const char *frag_trace_recorder(const struct frag_trace *trace);

/* The settings that the header gives beside the recorder; NULL: none. No snapshot's. */
const char *frag_trace_alloc_conf(const struct frag_trace *trace);

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

/* Takes all that out of info.meta. -FRAG_ENOMEM */
int frag_recorded_find(struct frag_trace *trace, struct frag_error *err);

/* Notes the last request of a batch: the header may say that it failed in the recording. */
void frag_recorded_watch(struct frag_trace *trace, uint32_t count);

/* At the trace's end: was it that request? */
void frag_recorded_end(struct frag_trace *trace);

/* What a trace calls its streams and pools. */
/* One by its index, as JSON, for the caller to free; NULL: out of memory. */
char *frag_stream_json(const struct frag_tape *tape, uint32_t stream);
char *frag_pool_json(const struct frag_tape *tape, uint32_t pool);

#endif
