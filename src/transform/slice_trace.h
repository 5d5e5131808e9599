/*
 * slice_trace.h - writes a window of a trace as a separate trace.
 *
 * The trace first allocates the blocks that are live when the window begins, with their streams
 * and their pending frees, and repeats the settings in force. A policy then gets the same requests
 * without the history before them.
 */
#pragma once

#include "base/hash.h"
#include "transform/record_buffer.h"
#include "trace/trace_formats.h"

/* A place in a trace: the first event that a step, a time or a mark fits. */
struct frag_slice_place {
	enum { FRAG_PLACE_NONE, FRAG_PLACE_STEP, FRAG_PLACE_TIME, FRAG_PLACE_MARK } kind;
	uint64_t step;
	double t;
	const char *mark;       /* borrowed */
};

/* What brought a block where it is: its alloc, its streams, its free. Or other records. */
struct frag_cut_block {
	struct frag_owned_record *first, *last;
	uint32_t device;
	uint64_t bytes;
	bool waits;             /* it is pending */
};

struct frag_cut {
	struct frag_slice_place from, to;     /* the first is in, the last is not */
	uint32_t device;                /* the only one kept; FRAG_ALL: all */
	/* its own */
	bool begun, ended;
	uint64_t written;               /* events so far, the next one's step */
	struct frag_cut_block *blocks;  /* by slot */
	uint32_t count, capacity;
	struct frag_cut_block fraction, configure;      /* the last of each */
	struct frag_cut_block released; /* pools that the program is done with, ... */
	struct frag_map pools;          /* ... each once */
	struct frag_cut_block contexts; /* of pools that are open */
};

void frag_cut_fini(struct frag_cut *c);

/* Writes what of the event belongs to the window. 1: the window is over. */
int frag_cut_event(struct frag_cut *c, struct frag_sink *sink, const struct frag_record *rec,
		   const struct frag_event *ev, struct frag_error *err);
