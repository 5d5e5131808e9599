/*
 * gpu_and_sim.h - runs a trace through a policy on real GPUs and on simulated devices of the
 * same size: predictions and results.
 *
 * A replay has two simulations, which receive the same events in the same order. The replay
 * checks that both make the same decisions while the GPUs grant the same requests.
 */
#pragma once

#include "device/gpu.h"
#include "fragsim/engine.h"
#include "fragsim/policy.h"
#include "metrics/driver_latency.h"

struct frag_replay_options {
	bool on_oom_continue, check;    /* as in frag_sim_options */
	const struct frag_oom_hook *on_oom;     /* likewise, of the one on the GPUs */
	bool verify;                    /* each block is filled, and looked at */
	bool probe_marks;               /* look for the largest segment at each mark ... */
	uint64_t probe_every;           /* ... or after this many steps; 0: none */
	uint64_t limit;                 /* bytes to take of each GPU at most; UINT64_MAX: 90 % of
					 * what is free */
	double pace;                    /* times the trace's own; 0: as fast as possible */
	struct frag_read_job read;      /* its stop is called before each event too */
};

struct frag_replay;

/*
 * The trace and its GPUs, one a device, are borrowed. *sim: the one on the GPUs, to observe, and
 * for its results. -FRAG_EUSAGE where the limit is more
 * than a GPU has free.
 */
int frag_replay_new(struct frag_replay **out, struct frag_sim **sim,
		    const struct frag_choice *choice, struct frag_trace *trace,
		    struct frag_gpu *const *gpus, const struct frag_replay_options *options,
		    struct frag_error *err);

/* -FRAG_EINTERRUPTED when stop said so: the results so far are good. */
int frag_replay_run(struct frag_replay *r, struct frag_error *err);

/* Releases all GPU memory; the results remain. */
void frag_replay_retire(struct frag_replay *r, bool interrupted);

/* Retires a further replay of the same: its costs and findings join those of `to`, retired before. */
int frag_replay_join(struct frag_replay *to, struct frag_replay *from, struct frag_error *err);

/* NULL is fine. One that is not retired must go before its GPUs are closed. */
void frag_replay_del(struct frag_replay *r);

/* The driver's own pool, where a policy would be, for frag_choice_of(): with frag_device_gpu_pool. */
extern const struct frag_policy_ops frag_replay_pool;
