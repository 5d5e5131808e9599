/*
 * read_ahead.h - batches of a trace that others still work on while the next ones are read.
 *
 * A batch of frag_trace_next() borrows from the trace and is over at the next call. A *kept*
 * batch owns its arrays and texts, so several can exist at once. The division of work:
 *
 * One thread reads: only it calls frag_trace_keep() and frag_trace_show(), and it alone uses all
 * else of the trace: ids, lifetimes, names, the source. Any thread may read the events of a kept
 * batch, and resolve the numbers in them with frag_trace_symbols(), from the time that it
 * receives the batch (through a memory barrier) until it reports the batch as done. It may
 * resolve only numbers of the batches that it has received: the tables behind them only grow and
 * never move (base/array_grow.h), and a tag stays valid until the batches in which its blocks
 * were freed are reused.
 */
#pragma once

#include "fragsim/trace.h"

struct frag_owned_batch {
	struct frag_batch batch;
	int rc;                         /* of its reading: then there is no batch */
	struct frag_error err;
	struct frag_trace_info info;    /* of the trace up to its end */
	/* what it is made of */
	struct frag_event *events;
	uint32_t *stacks, *whole;
	struct frag_ended *ended;
	uint32_t ended_capacity;
	uint32_t *left;                 /* tags of blocks that it freed */
	uint32_t left_count, left_capacity;
	char *texts;
	size_t text_room;
	char *warnings;                 /* each ended by a NUL; NULL: none */
	size_t warning_bytes;
	bool warning_lost;              /* one found out of memory, which rc becomes */
};

/*
 * Returns `count` batches to read ahead into, if that is possible: the last batch becomes invalid,
 * and a separate thread decompresses the input from here on. NULL where a program supplied the
 * source, which may not support this, where batches have records, or on out of memory.
 */
struct frag_owned_batch *frag_trace_read_ahead(struct frag_trace *trace, uint32_t count);
/* NULL is fine. */
void frag_kept_del(struct frag_owned_batch *kept, uint32_t count);

/*
 * Stops reading permanently; may be called from any thread. A read that waits for the producer
 * of a stream returns -FRAG_EINTERRUPTED.
 */
void frag_trace_abandon(struct frag_trace *trace);

/*
 * Reads the next batch into one that no thread uses any more. The batch stores the error, as of
 * frag_trace_next(), and the warnings: they are reported when all consumers have reached this
 * batch.
 */
void frag_trace_keep(struct frag_trace *trace, struct frag_owned_batch *kept);

/*
 * To be called when all consumers are done with the previous batches: writes the warnings of
 * this one to the trace's log, once.
 */
void frag_trace_warn(struct frag_trace *trace, struct frag_owned_batch *kept);
/* And with it: frag_trace_info() goes as far. */
void frag_trace_show(struct frag_trace *trace, const struct frag_owned_batch *kept);
