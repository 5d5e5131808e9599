/*
 * changed_trace.h - applies changes to a trace; the result is a trace, too.
 *
 * The changed events pass the same checks as the events of a file, so the result is valid or an
 * error. Changes apply from left to right, each to the result of the one before. Changes that need
 * the lifetimes of blocks, or move events, keep the events in memory, at about 60 bytes each plus
 * their texts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "fragsim/trace.h"
#include "fragsim/error.h"

enum frag_change_kind {
	FRAG_CHANGE_SCALE,
	FRAG_CHANGE_SPLIT,
	FRAG_CHANGE_SHARD,
	FRAG_CHANGE_ISOLATE,
	FRAG_CHANGE_HOIST,
	FRAG_CHANGE_WARMUP,
	FRAG_CHANGE_PREALLOCATE,
	FRAG_CHANGE_PRIME_POOL,
	FRAG_CHANGE_DROP,
	FRAG_CHANGE_EMPTY_CACHE,
	FRAG_CHANGE_SET,
	FRAG_CHANGE_PARK,
	FRAG_CHANGE_KINDS,
	/* narrow the change before it */
	FRAG_CHANGE_OF, FRAG_CHANGE_MIN_BYTES
};

enum frag_change_life { FRAG_LIVES_ANY, FRAG_LIVES_SHORT, FRAG_LIVES_LONG };
enum frag_change_by { FRAG_BY_TAG, FRAG_BY_LIFE, FRAG_BY_SIZE };

#define FRAG_CHANGE_LIMITS 8            /* of sizes by which blocks are isolated */

struct frag_program_change {
	enum frag_change_kind kind;
	uint64_t numerator, denominator;        /* scale, shard: of a size */
	uint64_t bytes;                 /* split: of a piece; preallocate, prime_pool */
	enum frag_change_by by;         /* isolate */
	uint64_t limits[FRAG_CHANGE_LIMITS];    /* by size: rising */
	uint32_t limit_count;
	/*
	 * Borrowed, as the next three: warmup: the name of a mark; empty_cache, set, park: a glob
	 * for marks. NULL: wherever an iteration begins.
	 */
	const char *mark;
	const char *until;              /* park: a glob for the marks at which blocks return */
	const char *setting;            /* set: as in PYTORCH_CUDA_ALLOC_CONF */
	const char *glob;               /* scale, shard, isolate, drop, park: of tags; NULL: any */
	uint32_t classes;               /* likewise: a bit for each class of blocks; 0: any */
	enum frag_change_life life;     /* scale, shard */
	uint64_t min_bytes;             /* scale */
	const char *text;               /* borrowed: as a message names it */
};

struct frag_changed_options {
	const struct frag_program_change *changes;      /* borrowed, as long as the trace lives */
	uint32_t count;
	/* the first events of iterations, in order, for changes that ask for them; borrowed */
	const uint64_t *iterations;
	uint32_t iteration_count;
	/* of each alloc of the trace the bit that its class has, for changes that have such; borrowed */
	const uint8_t *classes;
	uint32_t class_count;
	/* optional: gets each batch of the trace before it is changed */
	int (*batch)(void *ctx, const struct frag_batch *batch, struct frag_error *err);
	bool (*stop)(void *ctx);                /* optional */
	void *ctx;
	struct frag_log log;            /* of changes that change nothing */
};

/*
 * `from` was opened with its records, has not been read, and must outlive the result, which has
 * records too. Reading fails with -FRAG_EUSAGE where a glob fits no tag, no block is of the classes,
 * a mark is not there, a size gets too large or a block too many pieces.
 */
int frag_changed_open(struct frag_trace **out, struct frag_trace *from,
		      const struct frag_changed_options *options, struct frag_error *err);
