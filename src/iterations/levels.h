/*
 * levels.h - decides whether a level that was measured once a round rises on and on.
 *
 * A *cut* is a round before which every level is below every level from it on. Noise makes hardly
 * any, as each needs the whole past below the whole future; so no threshold is needed. The first
 * round makes permanent blocks: a cut after it does not count. Memory that fell before, as after each
 * epoch or request, must rise by more above its former maximum than it fell from there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAG_CUTS_MIN 3
#define FRAG_ROUNDS_MIN 5       /* whole rounds: fewer tell nothing */

/* The level from this round on, up to the next one of the list. */
struct frag_level_change {
	uint64_t value;
	uint32_t round;         /* from 0, which the first one has */
};

enum frag_rise {
	FRAG_RISE_NONE,
	FRAG_RISE_STOPPED,      /* a rise past the middle, which stayed and did not repeat; or no
				 * higher than memory fell before */
	FRAG_RISE_ON,           /* at least FRAG_CUTS_MIN cuts, the last not long ago */
};

struct frag_rising {
	enum frag_rise rise;
	uint32_t first, last;   /* cuts that count: their rounds; 0, 0: none */
	uint32_t period;        /* the usual distance of cuts, in rounds; 0: none is usual */
};

/*
 * Judges the levels of `rounds` rounds. Time and memory are linear in `count`, however many rounds
 * there are. False: out of memory.
 */
bool frag_levels_judge(const struct frag_level_change *levels, uint32_t count, uint32_t rounds,
		       struct frag_rising *out);

/*
 * Does the level of each round rise on? Of four rounds each after the second must be a cut. False: out
 * of memory.
 */
bool frag_levels_rise(const uint64_t *levels, uint32_t rounds, bool *rises);

/* The level of a round. */
uint64_t frag_levels_at(const struct frag_level_change *levels, uint32_t count, uint32_t round);
