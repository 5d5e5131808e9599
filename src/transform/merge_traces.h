/*
 * merge_traces.h - merges several traces into one; each keeps its own devices.
 *
 * Ranks are the traces in their order: rank 0's devices come first. The next
 * event is that of the minimum time, of equal ones that of the lowest rank; one
 * without a time follows the one before it in its trace. Blocks that are there at the beginning
 * precede all other events.
 */
#pragma once

#include "trace/trace_formats.h"

struct frag_rank {
	struct frag_trace *trace;
	struct frag_batch batch;
	uint32_t at;            /* in the batch */
	uint32_t first, count;  /* devices */
	double   t;             /* of the next event; -DBL_MAX before any, -infinity of a block
				 * of the beginning */
	bool     ended;
};

struct frag_turn {
	double   t;
	uint32_t rank;
};

struct frag_ranks {
	struct frag_rank *ranks;
	uint32_t count;
	struct frag_turn *turns;        /* of ranks that have not ended; a heap: each before
					 * those at twice its place + 1 and + 2 */
	uint32_t turn_count;
	struct frag_device_figures *devices;
	uint32_t device_count;
};

/* Opens the traces, with their records. Release it with frag_ranks_fini(), also on failure. */
int frag_ranks_open(struct frag_ranks *r, char *const *paths, uint32_t count,
		    const struct frag_trace_options *options, struct frag_error *err);
/*
 * The scope of the merged trace: late where one rank begins late, cut where one ends early. Before
 * frag_ranks_begin().
 */
struct frag_scope frag_ranks_scope(const struct frag_ranks *r);

void frag_ranks_fini(struct frag_ranks *r);

/*
 * Adds up the states at the beginning, for frag_beginning_fini(), also on failure. Each of them
 * leads (frag_beginning_leads()).
 */
int frag_ranks_beginning(const struct frag_ranks *r, struct frag_first_state *sum,
			 struct frag_error *err);

/* Reads the first batch of each. */
int frag_ranks_begin(struct frag_ranks *r, struct frag_error *err);

/*
 * Writes the next event. 1: one was written; 0: all traces are at their end. Blocks get new ids:
 * id * ranks + rank, or a string that begins with the rank.
 */
int frag_ranks_next(struct frag_ranks *r, struct frag_sink *sink, struct frag_error *err);
