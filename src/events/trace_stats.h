/*
 * trace_stats.h - what a trace is, before any policy: counts, sizes, lifetimes, what
 * is live, and what looks odd. Nothing but the blocks that are live grows.
 */
#pragma once

#include "base/format.h"
#include "base/hash.h"
#include "fragsim/trace.h"

#define FRAG_SURVEY_BINS 54             /* 0; 1; 2 to 3; 4 to 7; ... below 2^53 */
#define FRAG_SURVEY_MARKS 10            /* kept: the first ones */

struct frag_survey_bin {
	uint64_t count;
	frag_wide bytes;
};

struct frag_survey_device {
	uint64_t allocs, live;          /* blocks not freed yet */
	frag_wide live_bytes, peak_bytes;
	uint64_t peak_blocks, peak_step;        /* at the first such */
};

struct frag_survey_mark {
	uint64_t step;
	char name[64];                  /* cut short where it is longer */
};

struct frag_survey_block;

struct frag_survey {
	uint64_t ops[FRAG_OPS];
	uint64_t waiting_frees;         /* that wait for streams or for that */
	struct frag_survey_device *devices;
	uint32_t device_count;
	uint32_t streams, pools;        /* that blocks are allocated on, and in */
	struct frag_map sizes_seen;     /* sizes_seen.count: how many there are */
	struct frag_survey_bin sizes[FRAG_SURVEY_BINS];
	struct frag_survey_bin lives[FRAG_SURVEY_BINS]; /* of freed blocks, by steps */
	uint64_t freed_at_once;         /* in the step after their alloc */
	double   first_t, last_t;
	uint64_t with_t, backwards;
	struct frag_survey_mark marks[FRAG_SURVEY_MARKS];
	/* its own */
	struct frag_survey_block *blocks;       /* by slot */
	uint32_t block_capacity;
	uint8_t *seen;                  /* by index: 1 a stream, 2 a pool */
	uint32_t seen_count, seen_capacity;
};

/*
 * Reads the trace to its end, unless stop(NULL) ends it with -FRAG_EINTERRUPTED. tape: gets the
 * events too; NULL: none does. frag_survey_fini() is needed in any case.
 */
int frag_survey_read(struct frag_survey *s, struct frag_trace *trace, struct frag_tape_writer *tape,
		     bool (*stop)(void *ctx), struct frag_error *err);
void frag_survey_fini(struct frag_survey *s);
