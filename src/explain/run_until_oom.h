/*
 * run_until_oom.h - a run that halts before the next request that fails, and copies of it after that.
 */
#pragma once

#include "base/job.h"
#include "compaction/memory_state.h"
#include "fragsim/engine.h"
#include "search/fit_intervals.h"

/*
 * A moved block counts as allocated at the step of its move; `origin` is the step of its first
 * allocation.
 */
struct frag_moved_block {
	uint64_t birth, origin; /* steps */
	uint32_t slot;
};

/* A run over a tape that halts before the next request of one device that fails. */
struct frag_run_until_oom {
	const struct frag_tape *tape;   /* borrowed */
	uint32_t device;                /* ordinal */
	struct frag_sim *sim;           /* every event before the reader's place */
	uint32_t passed;                /* requests that have failed in it, and were gone on from */
	struct frag_tape_reader *reader;
	struct frag_tape_reader *lookups;       /* for events from anywhere */
	struct frag_moved_block *moved;
	uint32_t moved_count, moved_capacity;
	struct frag_job job;            /* shows "events" and "candidates" */
};

/*
 * Begins a run of the choice on these devices, with the case's job. Release it also where this
 * fails. -FRAG_ENOMEM, or a failure of the policy.
 */
int frag_until_oom_begin(struct frag_run_until_oom *run, const struct frag_fit_case *on,
			 struct frag_error *err);
void frag_until_oom_fini(struct frag_run_until_oom *run);

/*
 * Goes on up to event `until`, or the end. *halted: the next event is a request that would fail.
 * -FRAG_EINTERRUPTED, -FRAG_ENOMEM, what a policy returns.
 */
int frag_until_oom_play(struct frag_run_until_oom *run, uint64_t until, bool *halted,
			struct frag_error *err);

/* The event that comes next, until the reader is used again; the run stays where it is. */
struct frag_next {
	struct frag_event event;
	uint32_t stack;
};
struct frag_next frag_until_oom_next(struct frag_run_until_oom *run);

/* Likewise the event with that number, whose place the reader has afterwards. */
struct frag_next frag_next_at(struct frag_tape_reader *reader, uint64_t event);

/* At a halt: goes on after the request has failed. -FRAG_ENOMEM */
int frag_until_oom_pass(struct frag_run_until_oom *run, struct frag_error *err);

/* Feeds one event; *failed: the device had out of memory for it. */
int frag_next_feed(struct frag_sim *sim, const struct frag_next *next, bool *failed,
		  struct frag_error *err);

/*
 * At a halt: a copy of the run in which the request has failed, and the memory state then. Both are
 * to be released, also where this fails. -FRAG_ENOMEM
 */
int frag_until_oom_after(struct frag_run_until_oom *run, const struct frag_next *request,
			 struct frag_sim **after, struct frag_memory_state *memory,
			 struct frag_error *err);
