/*
 * checkpoints.h - copies of the last run along its way, where the next one can begin.
 *
 * Runs on two capacities are the same up to the first decision that a capacity changes. So a run
 * on another capacity begins at the last copy whose own run so far, [least, beyond), has it.
 */
#ifndef SEARCH_CHECKPOINTS_H
#define SEARCH_CHECKPOINTS_H

#include "engine/small_requests.h"

#define FRAG_CHECKPOINTS 32

struct frag_checkpoint {
	struct frag_sim *sim;
	uint64_t event;                 /* that it is to be fed next */
	struct frag_smallreq_cursor cursor;     /* where small requests are separate */
	uint64_t least, beyond;
	uint64_t bytes;                 /* about what it takes */
};

/* Zeroed: none. All of one tape, choice and device, at FRAG_LEVEL_SURVIVE. */
struct frag_checkpoints {
	struct frag_checkpoint at[FRAG_CHECKPOINTS];    /* by event */
	uint32_t count;
	uint64_t bytes;                 /* about what all take: no more than the tape */
	uint64_t stride; /* events from one to the next; 0: as many as are worth it */
	struct frag_smallreq *small;    /* of their small requests; or NULL */
};

/* Returns true for a tape of few events: its runs use copies, without separate small requests. */
bool frag_tape_is_short(const struct frag_tape *tape);

/* A run, and how far it has come. */
struct frag_run_cursor {
	struct frag_sim *sim;
	uint32_t device;
	uint64_t total;
	struct frag_tape_reader *reader;        /* or, where small requests are separate, */
	struct frag_smallreq *small;
	struct frag_smallreq_cursor cursor;
	bool (*stop)(void *ctx); /* optional: asked every thousand events */
	void *ctx;
};

/*
 * What the run with this total can begin with becomes its own, and its reader or place goes there.
 * False: it has to begin at the beginning. The copies behind it are forgotten.
 */
bool frag_checkpoints_begin(struct frag_checkpoints *c, struct frag_run_cursor *run);

/* Plays it to its end, or until it has stopped, and keeps copies on the way. -FRAG_EINTERRUPTED */
int frag_checkpoints_play(struct frag_checkpoints *c, struct frag_run_cursor *run,
			  const struct frag_tape *tape, struct frag_error *err);

void frag_checkpoints_forget(struct frag_checkpoints *c);

#endif
