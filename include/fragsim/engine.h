/*
 * engine.h - simulations: the events of a trace under policies, with observers.
 *
 * A simulation is one policy over all devices of a trace; it makes one result a
 * device. Observers see one record a step; the engine knows none of them, and
 * nothing that it keeps grows with the number of steps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/device.h"
#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"

/* OOM: the request failed. SKIPPED: it is of a block whose request has failed. */
enum frag_step_status { FRAG_STEP_OK, FRAG_STEP_OOM, FRAG_STEP_SKIPPED };
/* As in the outputs: "ok", "oom", "skipped". */
const char *frag_step_status_name(enum frag_step_status status);

/* A live block that a policy has moved: its owner, and its new place. */
struct frag_step_move {
	uint64_t offset, bytes;                 /* of the block, within its segment */
	uint32_t slot;
	uint32_t segment;                       /* ordinal */
};

/* What a step did on one device. Borrowed, for the length of the call. */
struct frag_step {
	const struct frag_event *event;
	const struct frag_metrics *metrics;     /* after the step; below FRAG_LEVEL_ALL no
						 * percentages, at FRAG_LEVEL_SURVIVE NULL */
	const struct frag_call *calls;          /* of the device, in their order */
	uint32_t call_count;
	uint32_t device;                        /* ordinal */
	enum frag_step_status status;
	bool placed;                            /* the next three are set */
	uint32_t segment;                       /* ordinal */
	uint32_t stack;                         /* alloc: for frag_symbols_frame(); 0: none */
	uint64_t offset, bytes;                 /* of the block, within its segment */
	const struct frag_step_move *moves;     /* in the order in which they were put back */
	uint32_t move_count;
};

/* Called after each step, with each device that it concerns. */
struct frag_observer {
	/* 0, or -FRAG_E..., which ends the simulation */
	int (*step)(void *ctx, const struct frag_step *step, struct frag_error *err);
	void *ctx;
};
#define FRAG_OBSERVERS_MAX 8

struct frag_sim;

/*
 * A hook that examines an OOM while everything is as the failed request left it. It may query the
 * simulation. It fills in holders and hole of *oom, which has all else; the result owns them.
 * event: the request; NULL: memory that the run begins with was refused.
 */
struct frag_oom_hook {
	/* 0, or -FRAG_E..., which ends the simulation */
	int (*explain)(void *ctx, const struct frag_sim *sim, uint32_t device,
		       const struct frag_event *event, struct frag_oom *oom,
		       struct frag_error *err);
	void *ctx;
};

/* Finds the live bytes by tag and stack, and the minimum that must be freed for the request. */
extern const struct frag_oom_hook frag_oom_explain;

struct frag_sim_options {
	bool on_oom_continue;   /* a request that fails is counted, and the run goes on */
	bool check;             /* recompute everything after each step */
	bool reversed;          /* where the order of equal blocks is unknown: the opposite */
	enum frag_level level;  /* of metrics; an observer sees no others */
	/*
	 * descriptions of the run's devices, one for each of the trace's; copied. NULL: those
	 * that the trace suggests
	 */
	const struct frag_device_figures *devices;
	const struct frag_device_ops *device;   /* NULL: the simulated one */
	void *const *device_ctx;        /* what it gets as ctx, one a device; NULL: nothing */
	/* of the simulated one: what calls take; borrowed. NULL: nothing */
	const struct frag_driver_model *model;
	/* called at each out-of-memory that is kept; borrowed. Never at FRAG_LEVEL_SURVIVE.
	 * NULL: holders and hole are not computed */
	const struct frag_oom_hook *on_oom;
};

/*
 * The trace is borrowed: its tags and stacks; and files that the choice names. options may be
 * NULL; what they point to is borrowed, except the device descriptions. Release it with
 * frag_sim_del(). -FRAG_EUSAGE, -FRAG_EPOLICY or -FRAG_EDEVICE where policy or device cannot be
 * used, -FRAG_ENOMEM.
 */
int frag_sim_new(struct frag_sim **out, const struct frag_choice *choice,
		 const struct frag_trace *trace, const struct frag_sim_options *options,
		 struct frag_error *err);
/* The same for the events of a tape, which is borrowed. Any number may share it. */
int frag_sim_on_tape(struct frag_sim **out, const struct frag_choice *choice,
		     const struct frag_tape *tape, const struct frag_sim_options *options,
		     struct frag_error *err);
/*
 * One observer more, which is copied; they are called in this order. Before the first batch.
 * -FRAG_ENOMEM above FRAG_OBSERVERS_MAX.
 */
int frag_sim_observe(struct frag_sim *sim, const struct frag_observer *observer);

/*
 * Copies a simulation in its present state: both run and count independently from here on. The
 * copy has no observers. -FRAG_EUSAGE where a device is not plain (frag_device_ops), or the run
 * is over (frag_sim_retire).
 */
int frag_sim_copy(struct frag_sim **out, const struct frag_sim *from, struct frag_error *err);

/*
 * The simulation goes on as if its device had had this total, not 0, from the beginning. Only
 * where all so far would have been the same (frag_device_narrow()), at FRAG_LEVEL_SURVIVE, on a
 * simulated device and under a policy that is no plug-in, as a plug-in may have stored the
 * total. False: it cannot, and nothing has changed.
 */
bool frag_sim_retotal(struct frag_sim *sim, uint32_t device, uint64_t total);
/* The totals, [*min_capacity, *end_capacity), for which all so far would have been the same. */
void frag_sim_interval(const struct frag_sim *sim, uint32_t device, uint64_t *min_capacity,
		       uint64_t *end_capacity);
/* The approximate size of a copy in bytes. */
uint64_t frag_sim_bytes(const struct frag_sim *sim);

/*
 * Sets up the state before the first step on every device: a policy's own pool, the initial
 * segments of the trace. The first batch does so if this was not called.
 */
int frag_sim_begin(struct frag_sim *sim, struct frag_error *err);

/*
 * Feeds a batch. Nothing where the simulation has stopped at an OOM. -FRAG_EPOLICY,
 * -FRAG_EDEVICE, -FRAG_ECHECK, -FRAG_ENOMEM, or what an observer returned: the run is over.
 */
int frag_sim_feed(struct frag_sim *sim, const struct frag_batch *batch, struct frag_error *err);
/*
 * Feeds it what is on the tape from the reader's place on, up to event `until`, or to the end
 * and no further than where the simulation has stopped.
 */
int frag_sim_play(struct frag_sim *sim, struct frag_tape_reader *reader, uint64_t until,
		  struct frag_error *err);
/* Has it stopped at an OOM, on all of its devices? What it is fed then does nothing. */
bool frag_sim_stopped(const struct frag_sim *sim);

/* The names behind the numbers in its events. */
const struct frag_symbols *frag_sim_symbols(const struct frag_sim *sim);

/* Returns the descriptions of its devices, by ordinal. */
const struct frag_devices *frag_sim_devices(const struct frag_sim *sim);

/*
 * One result a device, in order of ordinal; the simulation owns them. Each call computes them again,
 * until the run is retired: those of an earlier call are then the later one's.
 */
const struct frag_result *frag_sim_results(struct frag_sim *sim, bool interrupted,
					   uint32_t *count);

/*
 * Ends the run: releases all memory to its devices and closes them. The final results remain;
 * nothing can be fed any more.
 */
void frag_sim_retire(struct frag_sim *sim, bool interrupted);

/* Adds what a caller measured on a real device to its results. costs and probes are borrowed. */
void frag_sim_measured(struct frag_sim *sim, uint32_t device, const struct frag_prediction *p,
		       const struct frag_driver_costs *costs, const struct frag_probes *probes);

/* For queries: a device's heap, until the run is retired; the block in a slot, or none. */
const struct frag_heap *frag_sim_heap(const struct frag_sim *sim, uint32_t device);
frag_block frag_sim_block(const struct frag_sim *sim, uint32_t slot);

/* The list that the policy searches for a request of a device: by its hook `seek`, or the default. */
struct frag_sought frag_sim_seek(const struct frag_sim *sim, const struct frag_event *request);

/* A block that the program holds: allocated, or freed and pending. */
struct frag_live {
	struct frag_block_view block;
	uint32_t slot;
	uint32_t tag, stack;    /* for frag_symbols_tag(), frag_symbols_frame(); 0: none */
	uint64_t birth;         /* step */
	bool pending;
};

/* Calls visit for each of them on a device, in the order of their slots. */
void frag_sim_walk(const struct frag_sim *sim, uint32_t device, void *ctx,
		   void (*visit)(void *ctx, const struct frag_live *live));

/* What the device calls the segment of the block in a slot, which must hold one. */
frag_addr frag_sim_address(const struct frag_sim *sim, uint32_t device, uint32_t slot);
/* Releases it with its results, retired or not. NULL is fine. */
void frag_sim_del(struct frag_sim *sim);

/* How a trace is read for several simulations. */
struct frag_worker_options {
	uint32_t threads;       /* 0: as many as processors; never more than have work */
	struct frag_read_job read;      /* in the caller's thread; the simulations go on meanwhile */
	/* optional; borrowed: every event goes onto it too, so a stream is read on as well */
	struct frag_tape_writer *tape;
};

/* Why the policy of this simulation failed, for a message; NULL: it did not. */
const char *frag_sim_failure(const struct frag_sim *sim);

/*
 * Reads the trace to its end and feeds all simulations side by side. Their
 * output does not depend on the threads. A trace that frag_trace_open() opened is read
 * ahead of them, where there is more than one thread: observers and hooks ask their simulation
 * and its symbols, never the trace. Where all have stopped, a file is still
 * read on, for its validity, a stream is not. -FRAG_EINTERRUPTED when stop said
 * so: the results so far are good. options may be NULL.
 * A policy that fails ends its own simulation if there are others: frag_sim_failure() has why, and
 * its results have the status FRAG_RUN_ERROR. Only if all fail is that the outcome.
 */
int frag_workers_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		     const struct frag_worker_options *options, struct frag_error *err);
