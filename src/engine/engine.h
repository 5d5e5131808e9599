/* engine.h - one policy on one device, and a simulation: one policy over all devices of a trace. */
#pragma once

#include "fragsim/engine.h"
#include "metrics/run_metrics.h"
#include "policy/policies.h"

/* What a slot of the trace holds under this policy. */
struct frag_slot {
	uint64_t birth;         /* step */
	frag_block block;       /* or one of the states below */
	uint32_t tag, stack;    /* for frag_symbols_tag(), frag_symbols_frame() */
	uint16_t device;        /* ordinal: a trace has 1,024 at most */
	bool pending;           /* the block is; a policy may have freed it since */
};
#define SLOT_NONE UINT32_MAX            /* nothing, or nothing any more */
#define SLOT_EMPTY (UINT32_MAX - 1)     /* a request of 0 bytes: it takes 0 bytes */
#define SLOT_FAILED (UINT32_MAX - 2)    /* the allocation was an OOM */
#define SLOT_FIRST_STATE SLOT_FAILED    /* blocks are below */

struct frag_engine {
	struct frag_device device;
	struct frag_policy policy;
	const char *name;               /* the policy's, as it was written; borrowed */
	const struct frag_totals *totals; /* its heap's */
	struct frag_error policy_error; /* why the policy or device failed, where it gave a reason */
	struct frag_run_metrics metrics;
	struct frag_counts counts;      /* allocs, frees, hits, ooms, skipped */
	frag_block *restored;   /* by initial segment: where to look for the next hole, or none */
	uint32_t restored_count;
	uint32_t restoring;             /* the initial segment that is being obtained */
	bool restoring_blocks;          /* so far each event was one of an initial block */
	bool trusted;                   /* the policy is ours, and the run is not checked */
	bool open;                      /* the device is */
	bool refused;                   /* the device refused its initial pool: it runs no event */
	bool stopped;                   /* an OOM ended its run */
};

int frag_engine_init(struct frag_engine *e, const struct frag_choice *choice,
		     const struct frag_device_figures *figures,
		     const struct frag_device_ops *device, enum frag_level level,
		     struct frag_error *err);

/*
 * On entry *e is a borrowed copy of another engine's struct, on a plain device; on return it
 * owns its memory. param: the policy's, of the same choice. The caller must release *e also on
 * failure.
 */
int frag_engine_copy(struct frag_engine *e, const struct frag_choice *choice, struct frag_error *err);
void frag_engine_fini(struct frag_engine *e);

/* Before the first step: 0, or -FRAG_EDEVMEM where an initial pool was refused. */
int frag_engine_begin(struct frag_engine *e, struct frag_error *err);

/*
 * Then, where the policy can: the segments that the trace begins with. 0, or
 * -FRAG_EDEVMEM where the device refused one.
 */
int frag_engine_restore(struct frag_engine *e, uint32_t device, const struct frag_initial *initial,
			uint32_t count, struct frag_error *err);

/*
 * Runs the event on this device. The caller sets event, device and stack of the step; this sets
 * status and placed, which is all that most callers need. slots is indexed by the event's slot
 * and by those that it ends.
 */
int frag_engine_step(struct frag_engine *e, const struct frag_event *ev, struct frag_slot *slots,
		     struct frag_step *step, struct frag_error *err);

/* Fills the other members of a step that has just been run, for observers. */
void frag_engine_describe(struct frag_engine *e, const struct frag_slot *slots,
			  struct frag_step *step);

/* The message of a step's failure with rc, as a hook or the heap returned it. */
int frag_engine_fail(struct frag_engine *e, const struct frag_event *ev, uint32_t device, int rc,
		     struct frag_error *err);

/* One policy over all devices of a trace. */
struct frag_sim {
	struct frag_choice choice;
	struct frag_sim_options options;
	const struct frag_symbols *symbols;     /* of the events that it is fed */
	struct frag_devices devices;    /* of this run */
	struct frag_engine *engines;    /* one a device */
	struct frag_result *results;    /* likewise; OOMs and marks gather here */
	uint32_t device_count;
	struct frag_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct frag_observer observers[FRAG_OBSERVERS_MAX];
	uint32_t observer_count;
	bool watched;                   /* by observers, or for --check */
	uint32_t marks;                 /* kept, of all devices */
	bool marks_cut;                 /* one was above FRAG_MARKS_ALL_MAX: none is kept since */
	uint32_t stopped;               /* devices whose run an OOM has ended */
	bool begun;                     /* the devices are */
	bool fed;                       /* a batch was */
	bool retired;
	struct frag_step_move *moves;   /* of the step that observers are shown */
	uint32_t move_capacity;
	bool plugged;                   /* the policy is a plug-in */
	bool busy;                      /* its hooks may be called: it is begun, or fed */
	uint64_t step;                  /* the current one, which the report of a crash names */
	struct frag_error failure;      /* of the policy, while others go on; code 0: none */
};

/* The slot of a new block, made with those before it. -FRAG_ENOMEM */
int frag_sim_make_slot(struct frag_sim *sim, uint32_t slot, struct frag_error *err);

/* No observer reads steps, and the state of devices changes by calls of the heap alone. */
static inline bool frag_sim_is_unwatched(const struct frag_sim *sim)
{
	return !sim->watched && sim->engines[0].device.ops->plain;
}

/* The hooks of a plug-in are called from here on; before the first step that is NULL. */
static inline void frag_sim_enter_plugin(const struct frag_sim *sim, const uint64_t *step)
{
	if (sim->plugged)
		frag_plugin_begin(sim->choice.text, step);
}

static inline void frag_sim_leave_plugin(const struct frag_sim *sim)
{
	if (sim->plugged)
		frag_plugin_end();
}

/*
 * frag_workers_run() where between, if it is not NULL, is called when all simulations have had a
 * batch and none has begun the next: they wait for it. With ctx, by any thread.
 */
int frag_workers_in_step(struct frag_sim *const *sims, uint32_t count, struct frag_trace *trace,
			 const struct frag_worker_options *options, void (*between)(void *ctx),
			 void *ctx, struct frag_error *err);
