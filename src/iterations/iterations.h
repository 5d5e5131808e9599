/*
 * iterations.h - where the iterations of a program begin: its steps, batches or requests.
 *
 * Marks that differ only in the numbers in their names are one kind: "step 3" and "step 4" are
 * both "step #". The most frequent kind is used, the first one of equals. A trace without
 * such marks can repeat: then the search finds sequences of 16 allocations of the same sizes that
 * repeat at a constant distance through at least half of the events. Their most frequent distance
 * is the length of an iteration. Short programs have no such sequences: then all events after the
 * beginning must repeat exactly. If a recording has stacks, each iteration needs a forward pass.
 */
#pragma once

#include "fragsim/trace.h"

#define FRAG_ITERATIONS_MIN 5   /* fewer tell nothing: see leaking.h */

struct frag_iterations {
	uint64_t *start;        /* the first event of each, as the tape counts them */
	uint32_t count;
	char *mark;             /* the kind of mark that they begin with; NULL: the events repeat */
};

/*
 * mark: the name of one that they begin with; NULL: what there is. Where there are no
 * FRAG_ITERATIONS_MIN of them: -FRAG_ETRACE. With `few`, marks that repeat begin them then, except
 * in a snapshot, whose marks may be layers of one iteration; their count is 0 where there are none.
 * -FRAG_ENOMEM. Release it also where this fails.
 */
int frag_iterations_find(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
			 bool few, struct frag_error *err);
void frag_iterations_fini(struct frag_iterations *it);
