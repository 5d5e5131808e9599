/*
 * rounds.h - where a program begins again before a failure, and whether what is alive rises from
 * round to round.
 *
 * The *level* of a round is the minimum of what is alive in it, in bytes or in blocks. A *cut* is a
 * round before which every level is below every level from it on. What rises has three cuts after
 * the first round, and the last one is not longer ago than the longest time between two.
 */
#pragma once

#include "explain/history.h"

struct frag_rounds {
	uint64_t *start;        /* steps */
	uint32_t count, capacity;
};

static inline void frag_rounds_fini(struct frag_rounds *r)
{
	free(r->start);
	*r = (struct frag_rounds){ .count = 0 };
}

/*
 * Repeated marks before `until`: steps of a profiler, of an optimizer, else the kind with the most;
 * *kind: its kind. False: out of memory; none: count is 0.
 */
bool frag_rounds_of_marks(struct frag_rounds *r, const struct frag_history *h, uint64_t until,
			  enum frag_step_kind *kind);
/*
 * Loops of the program in [from, until), from the paths of its requests: a function that continues
 * at an earlier line, or at the line with which its caller began. The outermost with `least` rounds.
 */
bool frag_rounds_of_loops(struct frag_rounds *r, const struct frag_history *h, uint64_t from,
			  uint64_t until, uint32_t least);

/*
 * The blocks that stayed from before the second round, and that no later round makes, as weights.
 * Without them the rounds load something: *count is 0. False: out of memory.
 */
bool frag_rounds_prepared(const struct frag_rounds *r, const struct frag_history *h, uint32_t *count);

struct frag_round_level {
	uint64_t bytes, blocks;
};

/*
 * The level of each of the `count` rounds that begin at these steps; the last one ends at
 * `end`, over the blocks of `of`: numbers of requests. False: out of memory.
 */
bool frag_levels_find(struct frag_round_level *levels, const struct frag_history *h, const uint32_t *of,
		      uint32_t block_count, const uint64_t *start, uint32_t count, uint64_t end);

/* Does it rise on? Of bytes, or of blocks. Out of memory counts as no. */
bool frag_levels_rise(const struct frag_round_level *levels, uint32_t count, bool blocks);

/* The maximum number of these blocks that were alive at once before step `until`. */
bool frag_most_alive(uint64_t *out, const struct frag_history *h, const uint32_t *of,
		     uint32_t count, uint64_t until);
