/* tape_run.h - the loop that plays a tape to a simulation: every search, and every run of a sweep. */
#pragma once

#include "base/job.h"
#include "events/tape.h"
#include "fragsim/engine.h"

/*
 * Plays up to event `until` (UINT64_MAX: to the end), or until no device runs any more. The job may
 * stop it, and shows "events", before each slice of them. What frag_sim_play() returns, or
 * -FRAG_EINTERRUPTED.
 */
int frag_tape_play(struct frag_sim *sim, struct frag_tape_reader *reader, uint64_t until,
		   const struct frag_job *job, struct frag_error *err);

/* A whole run on the devices of the options; *out is the caller's, also on failure. */
int frag_tape_run(struct frag_sim **out, const struct frag_choice *choice,
		  const struct frag_tape *tape, const struct frag_sim_options *options,
		  const struct frag_job *job, struct frag_error *err);
