/*
 * replay_policies.h - the policies of a replay, one after the other on the same GPUs.
 *
 * Each reads the trace by itself, because they would take each other's memory
 * side by side. All are there before the first begins: they write into the same
 * files.
 */
#ifndef CMD_REPLAY_POLICIES_H
#define CMD_REPLAY_POLICIES_H

#include "cmd/replay_options.h"
#include "cmd/session.h"
#include "policy/configure_events.h"
#include "replay/gpu_and_sim.h"

struct frag_turn {
	struct frag_trace *trace;
	struct frag_configured configured;
	struct frag_replay *replay;
};

struct frag_replay_policies {
	struct frag_replay_args *args;  /* borrowed; GPUs that were not given are filled in */
	struct frag_session *session;   /* borrowed */
	const char *path;
	struct frag_gpu *gpus[FRAG_REPLAY_GPUS];
	uint32_t gpu_count;             /* open */
	uint32_t device_count;
	struct frag_turn *turn;
	uint32_t count;
};

/* Opens the GPUs, the trace for each policy, and the session's files. */
int frag_turns_open(struct frag_replay_policies *turns, struct frag_error *err);

/* Replays them. -FRAG_EINTERRUPTED: what is there is good. */
int frag_turns_run(struct frag_replay_policies *turns, struct frag_error *err);

/*
 * After that, rc is what came of it: gives the GPUs everything back. Where it
 * answers 0 or -FRAG_EINTERRUPTED the results remain, if turn[0] has a replay.
 */
int frag_turns_end(struct frag_replay_policies *turns, int rc, struct frag_error *err);

void frag_turns_fini(struct frag_replay_policies *turns);

#endif
