/* sim.h - the inside of a simulation: one policy over all devices of a trace, an engine each. */
#pragma once

#include "engine/engine.h"
#include "policy/plugin_watch.h"

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

/* Opens the device with its policy; leaves nothing behind where it fails. */
int frag_sim_open_engine(struct frag_sim *sim, uint32_t device, struct frag_error *err);

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
