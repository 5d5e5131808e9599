/*
 * checkpoints.h - copies of the last run along its way, where the next one can begin.
 *
 * Runs on two capacities are the same up to the first decision that a capacity changes. So a run
 * on another capacity begins at the last copy whose own run so far, [least, beyond), has it.
 */
#ifndef SEARCH_CHECKPOINTS_H
#define SEARCH_CHECKPOINTS_H

#include "fragsim/engine.h"

#define FRAG_CHECKPOINTS 32

struct frag_checkpoint {
	struct frag_sim *sim;
	uint64_t event;                 /* that it is to be fed next */
	uint64_t least, beyond;
	uint64_t bytes;                 /* about what it takes */
};

/* Zeroed: none. All of one tape, choice and device, at FRAG_LEVEL_SURVIVE. */
struct frag_checkpoints {
	struct frag_checkpoint at[FRAG_CHECKPOINTS];    /* by event */
	uint32_t count;
	uint64_t bytes;                 /* about what all take: no more than the tape */
	uint64_t stride;                /* events from one to the next; 0: as many as are worth it */
};

/*
 * What a run with this total can begin with, the caller's, and the event that it is to be fed
 * next. NULL: it has to begin at the beginning. The copies behind it are forgotten.
 */
struct frag_sim *frag_checkpoints_begin(struct frag_checkpoints *c, uint32_t device,
					uint64_t total, uint64_t *event);

/* Plays it to its end, or until it has stopped, and keeps copies on the way. */
int frag_checkpoints_play(struct frag_checkpoints *c, struct frag_sim *sim, uint32_t device,
			  uint64_t total, const struct frag_tape *tape,
			  struct frag_tape_reader *reader, struct frag_error *err);

void frag_checkpoints_forget(struct frag_checkpoints *c);

#endif
