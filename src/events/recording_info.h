/*
 * recording_info.h - queries of the recording from which a trace was made: a snapshot of
 * PyTorch, or the `meta` that a trace of our own format keeps of one.
 */
#pragma once

#include "fragsim/trace.h"
#include "snapshot/snapshot.h"

/* The snapshot that a trace reads from; NULL where it reads something else. */
const struct frag_snapshot *frag_trace_snapshot(const struct frag_trace *trace);

/*
 * Opens the same snapshot from its first record on, as a second trace; the first one must
 * outlive it, and must not be read meanwhile: after it, it is at its first record again. The second
 * one has no tags, stacks and times.
 */
int frag_trace_again(struct frag_trace **out, const struct frag_trace *trace,
		     struct frag_error *err);

/*
 * Gives the trace of a snapshot a `configure` event instead of an earlier one: its settings were
 * `before` until the step `at`, and are `after` from there on; NULL: without a change. Only before
 * the trace's first record is read. -FRAG_ENOMEM
 */
int frag_trace_change_settings(struct frag_trace *trace, uint64_t at, const char *before,
			       const char *after, struct frag_error *err);
/* Stores how the log of its snapshot compares with a simulation; a change is the trace's own. */
void frag_trace_set_log(struct frag_trace *trace, const struct frag_log_check *log);
/* Stores whether memory grows in the trace, and how much; copies the texts. -FRAG_ENOMEM */
int frag_trace_set_growth(struct frag_trace *trace, enum frag_grows grows,
			  const struct frag_memory_growth *growth, struct frag_error *err);

/*
 * Of a snapshot: the segments that existed at the beginning or were reserved later, in the order
 * of creation, each with its rank by address; the trace's. NULL, and *count 0, where the order is
 * unknown, as with expandable segments, because the log has only their pages.
 */
const uint32_t *frag_trace_places(const struct frag_trace *trace, uint32_t device,
				  uint32_t *count);

/* What is known of the recording. */
struct frag_recording_info {
	/*
	 * Who recorded the program's requests to PyTorch's allocator, as the member "recorder" of
	 * meta says it: one of a few names. NULL: the trace is no such recording, as far as it says.
	 */
	const char *recorder;
	enum frag_accelerator accelerator;      /* of the snapshot, or of the recorder's name */
	const char *alloc_conf, *pytorch;       /* settings and release in the header; NULL: none */
	bool unread;            /* no record was read yet: only then may a snapshot be read ahead */
	/*
	 * The failed request that the recording ended with, as a snapshot or the header says it. Of a
	 * header it is known at the trace's end only whether that is still true: info.scope.ends.
	 */
	bool ended;
	uint64_t end_step, end_bytes;
	const struct frag_constraints *constraints;     /* places of buffers in the file; NULL: none */
};

struct frag_recording_info frag_trace_recording(const struct frag_trace *trace);

/* What a trace calls its streams and pools. */
/* One by its index, as JSON, for the caller to free; NULL: out of memory. */
char *frag_stream_json(const struct frag_tape *tape, uint32_t stream);
char *frag_pool_json(const struct frag_tape *tape, uint32_t pool);
