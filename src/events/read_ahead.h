/*
 * read_ahead.h - batches of a trace that others still work on while the next ones are read.
 *
 * A batch of frag_trace_next() borrows from the trace and is over at the next call. A *kept* batch
 * has arrays and texts of its own, so several can be there at once. Who does what:
 *
 *   One thread reads: frag_trace_keep() and frag_trace_show() are its alone, and everything else
 *   of the trace is too: ids, lives, names, the source.
 *   Any thread looks at the events of a kept batch, and asks frag_trace_symbols() what the numbers
 *   in them stand for, from when it was handed the batch (through something that orders memory)
 *   until it says that it is done with it. It asks for no number but those of the batches that it
 *   was handed: the tables behind them only grow and never move (base/array_grow.h), and a tag
 *   stays until the places of the batches in which its blocks were freed are used again.
 */
#ifndef EVENTS_READ_AHEAD_H
#define EVENTS_READ_AHEAD_H

#include "fragsim/trace.h"

struct frag_owned_batch {
	struct frag_batch batch;
	int rc;                         /* of its reading: then there is no batch */
	struct frag_error err;
	struct frag_trace_info info;    /* of the trace up to its end */
	/* what it is made of */
	struct frag_event *events;
	uint32_t *stacks;
	struct frag_ended *ended;
	uint32_t ended_capacity;
	uint32_t *left;                 /* tags of blocks that it freed */
	uint32_t left_count, left_capacity;
	char *texts;
	size_t text_room;
	char *warnings;                 /* each ended by a NUL; NULL: none */
	size_t warning_bytes;
};

/*
 * May it be read ahead? Then it is made ready for it: the last batch is over, and what is packed
 * is unpacked in a thread of its own from here on. Not where a program gave the source, which
 * need not be fit for it, nor where batches have records.
 */
bool frag_trace_unpack_in_thread(struct frag_trace *trace);

/* From any thread, for good: who waits for the producer of a stream gets -FRAG_EINTERRUPTED. */
void frag_trace_abandon(struct frag_trace *trace);

/* Room for a batch of this trace. False: out of memory; fini is due either way. */
bool frag_kept_init(struct frag_owned_batch *kept, const struct frag_trace *trace);
void frag_kept_fini(struct frag_owned_batch *kept);

/*
 * The next batch into one that nobody looks at any more. What went wrong, as frag_trace_next()
 * says it, and the warnings on the way, stay in it: they are told when everybody is there.
 */
void frag_trace_keep(struct frag_trace *trace, struct frag_owned_batch *kept);

/* Everybody is done with the batches before it: its warnings go to the trace's log, once. */
void frag_trace_warn(struct frag_trace *trace, struct frag_owned_batch *kept);
/* And with it: frag_trace_info() goes as far. */
void frag_trace_show(struct frag_trace *trace, const struct frag_owned_batch *kept);

#endif
