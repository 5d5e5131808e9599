/*
 * engine.h - a trace's events through policies, and who watches.
 *
 * A simulation is one policy over all devices of a trace; it makes one result a
 * device. Observers see one record a step; the engine knows none of them, and
 * nothing that it keeps grows with the number of steps.
 */
#ifndef FRAGSIM_ENGINE_H
#define FRAGSIM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/device.h"
#include "fragsim/heap.h"
#include "fragsim/metrics.h"
#include "fragsim/policy.h"
#include "fragsim/trace.h"

enum frag_step_status { FRAG_STEP_OK, FRAG_STEP_OOM, FRAG_STEP_SKIPPED };
const char *frag_step_status_name(enum frag_step_status status);

/* What a step did on one device. Borrowed, for the length of the call. */
struct frag_step {
	const struct frag_event *event;
	const struct frag_metrics *metrics;     /* after the step */
	const struct frag_call *calls;          /* of the device, in their order */
	uint32_t call_count;
	uint32_t device;                        /* ordinal */
	enum frag_step_status status;
	bool placed;                            /* the next three are set */
	uint32_t segment;                       /* ordinal */
	uint32_t stack;                         /* alloc: for frag_trace_frame(); 0: none */
	uint64_t offset, bytes;
};

struct frag_observer {
	/* 0, or -FRAG_E..., which ends the simulation */
	int (*step)(void *ctx, const struct frag_step *step, struct frag_error *err);
	void *ctx;
};
#define FRAG_OBSERVERS_MOST 8

struct frag_sim_options {
	bool on_oom_continue;   /* a request that fails is counted, and the run goes on */
	bool check;             /* recompute everything after each step */
	const struct frag_device_ops *device;   /* NULL: the simulated one */
	void *const *device_ctx;        /* what it gets as ctx, one a device; NULL: nothing */
	/* of the simulated one: what calls take; borrowed. NULL: nothing */
	const struct frag_driver_model *model;
};

struct frag_sim;

/* The trace is borrowed: its devices and tags. options may be NULL. */
int frag_sim_new(struct frag_sim **out, const struct frag_choice *choice,
		 const struct frag_trace *trace, const struct frag_sim_options *options,
		 struct frag_error *err);
int frag_sim_observe(struct frag_sim *sim, const struct frag_observer *observer);

/*
 * Every device begins with what is there before the first step: a policy's own
 * pool, segments of frag_trace_initial(). The first batch does it where nobody did.
 */
int frag_sim_begin(struct frag_sim *sim, struct frag_error *err);

/* Feeds a batch. Nothing where the simulation has stopped at an OOM. */
int frag_sim_feed(struct frag_sim *sim, const struct frag_batch *batch, struct frag_error *err);
bool frag_sim_stopped(const struct frag_sim *sim);

/* One result a device, in order of ordinal; the simulation owns them. */
const struct frag_result *frag_sim_results(struct frag_sim *sim, bool interrupted,
					   uint32_t *count);

/*
 * The run is over: its devices get everything back and are closed. Its results,
 * as they are then, remain; nothing can be fed any more.
 */
void frag_sim_retire(struct frag_sim *sim, bool interrupted);

/* For who drives a device that can be measured: part of its results. costs and probes are
 * borrowed. */
void frag_sim_measured(struct frag_sim *sim, uint32_t device, const struct frag_prediction *p,
		       const struct frag_driver_costs *costs, const struct frag_probes *probes);

/* For questions: a device's heap, until the run is retired; the block in a slot, or none. */
const struct frag_heap *frag_sim_heap(const struct frag_sim *sim, uint32_t device);
frag_block frag_sim_block(const struct frag_sim *sim, uint32_t slot);

/* What the device calls the segment of the block in a slot, which must hold one. */
frag_addr frag_sim_address(const struct frag_sim *sim, uint32_t device, uint32_t slot);
void frag_sim_del(struct frag_sim *sim);

struct frag_crew_options {
	uint32_t threads;       /* 0: as many as processors, and no more than simulations */
	bool (*stop)(void *ctx);        /* optional: asked between batches */
	void (*progress)(void *ctx, const struct frag_trace_info *info);        /* optional */
	void *ctx;
};

/*
 * Reads the trace to its end and feeds all simulations side by side. Their
 * output does not depend on the threads. Where all have stopped, a file is still
 * read on, for its validity, a stream is not. -FRAG_EINTERRUPTED when stop said
 * so: the results so far are good. options may be NULL.
 */
int frag_crew_run(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
		  const struct frag_crew_options *options, struct frag_error *err);

#endif
