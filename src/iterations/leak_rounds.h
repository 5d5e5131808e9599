/*
 * leak_rounds.h - the rounds of a recording, whose levels show whether memory grows.
 *
 * A round is an iteration. Marks begin them, else a loop of the program, else repeated sizes where
 * the tape has no stacks. Those of a loop and of sizes go over something: memory from before them
 * stays, such as weights. Without it they load it, and a load is no leak.
 */
#pragma once

#include "iterations/iterations.h"

/*
 * mark as of frag_iterations_by_marks(), whose failures it has; count 0: there are none. Release it
 * also where this fails.
 */
int frag_rounds_find(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
		     struct frag_error *err);

/* Those of a loop after the last mark, such as an evaluation. */
int frag_rounds_after(struct frag_iterations *it, const struct frag_tape *tape, uint64_t last_mark,
		      struct frag_error *err);
