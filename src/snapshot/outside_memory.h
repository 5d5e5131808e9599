/*
 * outside_memory.h - memory of a process outside PyTorch's allocator: allocations of the driver
 * that are none of the segments of a snapshot.
 */
#pragma once

#include "snapshot/snapshot.h"

/* Allocations of one tag. */
struct frag_outside_tag {
	struct frag_text tag;   /* borrowed from the events, with a NUL; NULL: none */
	uint64_t bytes, allocations;
	bool stack;             /* the database has a call stack of them */
};

/* At one moment of one device. Bytes. */
struct frag_outside {
	uint32_t segments;      /* of the snapshot, except expandable ones */
	uint32_t matched;       /* of them, live in the database; 0: nothing below is set */
	bool expandable;        /* the snapshot has expandable segments too */
	bool timed;             /* the moment is known by time, not only between two calls */
	bool unknown_set;
	uint64_t bytes, allocations;
	uint64_t unknown;          /* in use on the device, and in no event; only at an OOM */
	struct frag_outside_tag *tags;  /* the most bytes first; owned */
	uint32_t tag_count;
};

/*
 * Finds the moment of the database at which the live segments are those of the snapshot's device
 * after this step, or after its last one, and what else is live then. The events are those of
 * frag_nsys_allocations(). The caller releases the tags, also on failure. -FRAG_ENOMEM
 */
int frag_outside_find(struct frag_outside *out, const struct frag_snapshot *s, uint32_t device,
		      uint64_t step, const struct frag_buffered *events, struct frag_error *err);
