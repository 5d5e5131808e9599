/* as_snapshot.h - what is kept of a run while its snapshot is written. */
#ifndef ANSWERS_AS_SNAPSHOT_H
#define ANSWERS_AS_SNAPSHOT_H

#include "answers/export.h"
#include "answers/snapshot_pickle.h"

/* A segment or a range, at its place among the addresses. */
struct frag_snap_segment {
	uint64_t base;
	uint64_t bytes;         /* of a range: addresses that are kept for it */
	uint64_t stream;        /* of the request that it was obtained for */
	uint32_t ordinal, pool;
	bool large;             /* likewise */
	uint32_t next_unused;
};

/* What a slot of the trace holds. */
struct frag_snap_live {
	uint64_t addr, bytes, requested, stream;
	uint32_t device, pool, tag, stack;
	bool there;
};

/* Freed by the program, and still in use. */
struct frag_snap_pending {
	uint64_t addr, bytes, requested, stream;
	uint32_t pool, slot;
	frag_block block;
};

struct frag_snap_log {
	struct frag_snap_part part;     /* the events; open once there is one */
	bool open;
	bool beginning;         /* only blocks of the state that the trace begins with, so far */
	bool ended;             /* its segments are written */
	uint64_t active;        /* bytes of blocks that are live or pending here */
	struct frag_snap_segment *segments;
	uint32_t segment_count, segment_capacity, unused;
	struct frag_map by_ordinal;     /* ordinal -> which of them */
	struct frag_snap_pending *pending;      /* in the order of their frees */
	uint32_t pending_count, pending_capacity;
};

struct frag_snapshot_out {
	struct frag_export *x;
	struct frag_snap_log *logs;     /* one a device */
	uint32_t device_count;
	struct frag_snap_part notes;    /* external_annotations */
	struct frag_snap_part last;     /* segments */
	struct frag_snap_live *lives;   /* by slot */
	uint32_t live_count, live_capacity;
	uint64_t next_addr;             /* where the next segment is */
};

/* The segment of this ordinal, which must be reserved. */
struct frag_snap_segment *frag_snap_segment(const struct frag_snap_log *log, uint32_t ordinal);

/* Writes the segments of a device as they are now, with their blocks. */
int frag_snap_last_state(struct frag_snapshot_out *s, uint32_t device, struct frag_error *err);

/* Writes what the run was simulated with: the value of allocator_settings. */
void frag_snap_settings(const struct frag_export *x);

/* Room for n bytes of a part; NULL sticks in the file. */
static inline char *frag_snap_room(struct frag_snap_part *part, size_t n)
{
	return frag_outfile_room(part->out, n);
}

#endif
