/*
 * what_if_options.h - what of a program is changed in a hypothetical trace, as a command line has
 * it.
 *
 * A change belongs to the blocks that fit all of its conditions: a glob for their tags, how long
 * they live, how large they are.
 */
#ifndef TRANSFORM_WHAT_IF_OPTIONS_H
#define TRANSFORM_WHAT_IF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/error.h"

enum frag_change_kind {
	FRAG_CHANGE_SCALE,
	FRAG_CHANGE_SPLIT,
	FRAG_CHANGE_SHARD,
	FRAG_CHANGE_ISOLATE,
	FRAG_CHANGE_HOIST,
	FRAG_CHANGE_WARMUP,
	FRAG_CHANGE_PREALLOCATE,
	FRAG_CHANGE_DROP,
	FRAG_CHANGE_EMPTY_CACHE,
	FRAG_CHANGE_SET,
	FRAG_CHANGE_PARK,
	FRAG_CHANGE_KINDS
};

enum frag_change_life { FRAG_LIVES_ANY, FRAG_LIVES_SHORT, FRAG_LIVES_LONG };
enum frag_change_by { FRAG_BY_TAG, FRAG_BY_LIFE, FRAG_BY_SIZE };

#define FRAG_CHANGE_LIMITS 8            /* of sizes by which blocks are isolated */

struct frag_what_if_change {
	enum frag_change_kind kind;
	uint64_t numerator, denominator;        /* scale, shard: of a size */
	uint64_t bytes;                 /* split: of a piece; preallocate */
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
	const char *glob;               /* scale, isolate, drop, park: of tags; NULL: any */
	enum frag_change_life life;     /* scale */
	uint64_t min_bytes;             /* scale */
	const char *text;               /* the caller's: as a message names it */
};

/* What follows --scale: a decimal number or a fraction, 0.5 or 1/3, above 0. -FRAG_EUSAGE */
int frag_change_factor(struct frag_what_if_change *c, const char *value, struct frag_error *err);
/* What follows --isolate. -FRAG_EUSAGE */
int frag_change_isolation(struct frag_what_if_change *c, const char *value, struct frag_error *err);

#endif
