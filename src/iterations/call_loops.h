/*
 * call_loops.h - finds the loops of a program in the outer frames of its stacks.
 *
 * The *path* of a request has the frames of the program and of packages, the outermost first, up
 * to the call of a module, a backward pass or an optimizer: so far the program itself decides. Two
 * paths in succession differ at some depth. There a loop begins again if the same function
 * returned to an earlier line, or if the frame is the one that this caller began with, as in a loop of
 * one line. Of the loops that take up half of the events, the shallowest is used, and of those of
 * one function the one with the fewest rounds.
 */
#pragma once

#include "iterations/iterations.h"

struct frag_loop_search {
	uint64_t from, until;   /* events; until: the first that does not count */
	uint32_t least;         /* rounds */
};

/*
 * Those of a part of the tape; count 0: there are none, as in a tape without whole stacks. *any: a
 * request there has a path. -FRAG_ENOMEM; release it also then.
 */
int frag_loops_find(struct frag_iterations *it, const struct frag_tape *tape,
		    const struct frag_loop_search *in, bool *any, struct frag_error *err);
