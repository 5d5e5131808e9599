/*
 * iterations.h - where the iterations of a program begin: its steps, batches or requests.
 *
 * Marks that differ only in the numbers in their names are one kind: "step 3" and "step 4" are
 * both "step #". The steps of PyTorch's profiler are used, else those of an optimizer, else the
 * most frequent kind, the first one of equals. A trace without such marks can repeat: then the
 * search finds sequences of 16 allocations of the same sizes that repeat at a constant distance
 * through at least half of the events. Their most frequent distance is the length of an iteration.
 * Short programs have no such sequences: then all events after the beginning must repeat exactly.
 * If a recording has stacks, each iteration needs a forward pass.
 */
#pragma once

#include "fragsim/trace.h"

#define FRAG_ITERATIONS_MIN 5   /* of marks that no profiler or optimizer made, and of sizes */

/* What begins them. */
enum frag_iteration_sign {
	FRAG_BY_SIZES, FRAG_BY_LOOP, FRAG_BY_MARK, FRAG_BY_OPTIMIZER, FRAG_BY_PROFILER,
};

struct frag_iterations {
	enum frag_iteration_sign by;
	uint32_t end;           /* events from here on were not looked at */
	uint64_t *start;        /* the first event of each, as the tape counts them */
	uint32_t count;
	char *mark;             /* the kind of mark that they begin with; NULL: none, and */
	char *loop;             /* the frame of the loop: "train.py:31 main"; NULL: events repeat */
};

/*
 * Marks, else sizes, else marks that repeat, however few, except in a snapshot, whose marks may be
 * layers of one iteration; the count is 0 where there are none. -FRAG_ENOMEM. Release it also where
 * one of these fails.
 */
int frag_iterations_find(struct frag_iterations *it, const struct frag_tape *tape,
			 struct frag_error *err);
/*
 * Those of marks alone, before event `until`; of optimizers and profilers however few. mark: the name
 * of one that they begin with; NULL: what there is. -FRAG_ETRACE where that is in no mark.
 */
int frag_iterations_by_marks(struct frag_iterations *it, const struct frag_tape *tape,
			     const char *mark, uint64_t until, struct frag_error *err);
/* Those of sizes alone, before event `until`. */
int frag_iterations_by_sizes(struct frag_iterations *it, const struct frag_tape *tape,
			     uint64_t until, struct frag_error *err);
void frag_iterations_fini(struct frag_iterations *it);
