/*
 * rounds.h - where a program begins again: the rounds that leaks and explanations of a failure count.
 *
 * A *round* is an iteration. Marks begin it: steps of a profiler, else of an optimizer, else the kind
 * that occurs most often. Without marks a loop of the program begins it (call_loops.h), and in a tape
 * without stacks a sequence of sizes that repeats. The last round is never whole: what it keeps is not
 * known.
 *
 * Rounds of loops and of sizes use something: memory from before them stays, and no later round makes
 * it, such as weights. That is their *base*. Rounds without a base load it, and a load is no leak. An
 * evaluation after the last mark has separate rounds.
 */
#pragma once

#include "iterations/iterations.h"

/*
 * Those before event `until`. mark as of frag_iterations_by_marks(), whose failures it has; count 0: there
 * are none. Release it also where this fails.
 */
int frag_rounds_find(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
		     uint64_t until, struct frag_error *err);

/* Those of a loop between the last mark and event `until`, such as an evaluation. */
int frag_rounds_after(struct frag_iterations *it, const struct frag_tape *tape, uint64_t last_mark,
		      uint64_t until, struct frag_error *err);

/*
 * The event of each round from which on the program is in its next iteration: its own end, except in
 * rounds that begin with an optimizer's step. There it is the end of the last step before a forward
 * pass. One a round, the last one's is of no use; the caller's, by free(). NULL: out of memory.
 */
uint64_t *frag_rounds_turns(const struct frag_iterations *it, const struct frag_tape *tape);

/* The base of two rounds or more. */
struct frag_rounds_base {
	uint64_t bytes;
	uint32_t blocks;
	bool enough;            /* more than FRAG_LEVEL_MIN: the rounds load nothing */
};

/* -FRAG_ENOMEM */
int frag_rounds_find_base(struct frag_rounds_base *base, const struct frag_iterations *it,
			  const struct frag_tape *tape, struct frag_error *err);
