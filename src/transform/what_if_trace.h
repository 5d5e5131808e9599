/*
 * what_if_trace.h - a trace as it would be after some changes: a trace itself, read from another
 * one.
 *
 * What comes out goes through the same door as a file's events, so it is valid or an error.
 * Changes work from left to right, each on what the one before has made of the trace. Those that
 * ask how long blocks live, or move events, keep the events in memory, some 60 bytes each and their
 * texts.
 */
#ifndef TRANSFORM_WHAT_IF_TRACE_H
#define TRANSFORM_WHAT_IF_TRACE_H

#include "fragsim/trace.h"
#include "transform/what_if_options.h"

struct frag_changed_options {
	const struct frag_what_if_change *changes;      /* borrowed, as long as the trace lives */
	uint32_t count;
	/* the first events of iterations, in order, for changes that ask for them; borrowed */
	const uint64_t *iterations;
	uint32_t iteration_count;
	/* optional: each batch of the trace as it is, before it is changed */
	int (*batch)(void *ctx, const struct frag_batch *batch, struct frag_error *err);
	bool (*stop)(void *ctx);                /* optional */
	void *ctx;
	struct frag_log log;            /* of changes that change nothing */
};

/*
 * `from` was opened with its records, has not been read, and must outlive the result, which has
 * records too. Reading fails with -FRAG_EUSAGE where a glob fits no tag, a mark is not there, a
 * size gets too large or a block too many pieces.
 */
int frag_changed_open(struct frag_trace **out, struct frag_trace *from,
		      const struct frag_changed_options *options, struct frag_error *err);

/* A member `what_if` at the head of a "meta" names the changes; `old` may have no text. The
 * caller's to free; NULL: out of memory. */
char *frag_changed_meta(const struct frag_what_if_change *changes, uint32_t count,
			struct frag_text old);

#endif
