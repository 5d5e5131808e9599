/* sim_new.c - simulations as a whole: made, copied, given another total, retired, deleted. */
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "engine/sim.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "heap/tie_break.h"
#include "metrics/metric.h"

/* Is the policy one of this program, and no plug-in's or caller's? */
static bool is_own(const struct frag_policy_ops *ops)
{
	const struct frag_policy_ops *const *p = frag_policies();

	while (*p && *p != ops)
		p++;
	return *p != NULL;
}

int frag_sim_open_engine(struct frag_sim *sim, uint32_t d, struct frag_error *err)
{
	const struct frag_device_ops *device = sim->options.device ? sim->options.device
								   : &frag_device_simulated;
	struct frag_engine *e;
	int rc;

	FRAG_ASSERT(d < sim->devices.count);
	e = &sim->engines[d];
	rc = frag_engine_init(e, &sim->choice, &sim->devices.figures[d], device, sim->options.level,
			      err);
	e->policy.device = d;
	if (rc) {
		frag_engine_fini(e);
		*e = (struct frag_engine){ .open = false };
		return rc;
	}
	e->trusted = is_own(sim->choice.ops) && !sim->options.check;
	e->policy.heap->checked = sim->options.check;
	e->device.model = sim->options.model;
	if (sim->options.device_ctx)
		e->device.ctx = sim->options.device_ctx[d];
	if (device->ready)
		device->ready(&e->device);
	return 0;
}

static int open_engines(struct frag_sim *sim, struct frag_error *err)
{
	const uint32_t count = sim->devices.count;

	sim->engines = calloc(count, sizeof(*sim->engines));
	sim->results = calloc(count, sizeof(*sim->results));
	if (!sim->engines || !sim->results)
		return frag_fail_nomem(err);
	for (; sim->device_count < count; sim->device_count++) {
		int rc = frag_sim_open_engine(sim, sim->device_count, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* The policy's tables are checked before anything else uses them: it may be a plug-in. */
static int sim_make(struct frag_sim **out, const struct frag_choice *choice,
		    const struct frag_trace_info *info, const struct frag_symbols *symbols,
		    const struct frag_sim_options *options, struct frag_error *err)
{
	struct frag_sim *sim = calloc(1, sizeof(*sim));
	int rc = frag_policy_check(choice->ops, err);

	if (!sim)
		return frag_fail_nomem(err);
	sim->choice = *choice;
	if (options)
		sim->options = *options;
	sim->watched = sim->options.check;
	sim->symbols = symbols;
	sim->plugged = frag_is_plugin(choice->ops);
	if (!rc)
		rc = frag_devices_copy(&sim->devices, sim->options.devices ? sim->options.devices
				       : info->devices, info->device_count, err);
	rc = rc ? rc : open_engines(sim, err);
	if (rc) {
		frag_sim_del(sim);
		return rc;
	}
	*out = sim;
	return 0;
}

/* Where addresses decide, the recorded ones do; first: the device of the trace that comes first. */
static void sim_set_places(struct frag_sim *sim, const struct frag_trace *trace, uint32_t first,
			   bool reversed)
{
	for (uint32_t d = 0; d < sim->device_count; d++) {
		uint32_t count;
		const uint32_t *places = frag_trace_places(trace, first + d, &count);

		frag_heap_set_places(sim->engines[d].policy.heap, places, count, reversed);
	}
}

int frag_sim_new(struct frag_sim **out, const struct frag_choice *choice,
		 const struct frag_trace *trace, const struct frag_sim_options *options,
		 struct frag_error *err)
{
	int rc = sim_make(out, choice, frag_trace_info(trace), frag_trace_symbols(trace), options,
			  err);

	if (!rc)
		sim_set_places(*out, trace, 0, options && options->reversed);
	return rc;
}

int frag_sim_on_tape(struct frag_sim **out, const struct frag_choice *choice,
		     const struct frag_tape *tape, const struct frag_sim_options *options,
		     struct frag_error *err)
{
	const uint32_t first = tape->part ? tape->device : 0;
	const int rc =
		sim_make(out, choice, frag_tape_info(tape), frag_tape_symbols(tape), options, err);

	/* a policy, such as a plan, may treat each device of the trace differently */
	for (uint32_t d = 0; !rc && d < (*out)->device_count; d++)
		(*out)->engines[d].policy.device += first;
	if (!rc && !tape->emptied)
		sim_set_places(*out, tape->trace, first, options && options->reversed);
	return rc;
}

/*
 * Copies the OOMs and marks that the results have so far. The other members are computed on
 * request.
 */
static bool copy_gathered(struct frag_result *to, const struct frag_result *from)
{
	bool good = true;

	*to = (struct frag_result){ .device = from->device, .beginning = from->beginning };
	good &= frag_grow(&to->ooms, &to->oom_capacity, from->oom_count, sizeof(*to->ooms));
	good &= frag_grow(&to->marks, &to->mark_capacity, from->mark_count, sizeof(*to->marks));
	for (; to->ooms && to->oom_count < from->oom_count; to->oom_count++)
		good &= frag_oom_copy(&to->ooms[to->oom_count], &from->ooms[to->oom_count]);
	for (; to->marks && to->mark_count < from->mark_count; to->mark_count++)
		good &= frag_mark_copy(&to->marks[to->mark_count], &from->marks[to->mark_count]);
	return good && to->oom_count == from->oom_count && to->mark_count == from->mark_count;
}

static int copy_engines(struct frag_sim *sim, const struct frag_sim *from, struct frag_error *err)
{
	int rc = 0;

	for (; sim->device_count < from->device_count && !rc; sim->device_count++) {
		struct frag_engine *e = &sim->engines[sim->device_count];

		rc = frag_engine_copy(e, &from->engines[sim->device_count], &sim->choice, err);
		if (!copy_gathered(&sim->results[sim->device_count],
				   &from->results[sim->device_count]) && !rc)
			rc = frag_fail_nomem(err);
	}
	return rc;
}

/*
 * All that a run changes is copied; what it only reads, the symbols of the trace, is shared.
 * Observers are not copied: they observe the original alone.
 */
int frag_sim_copy(struct frag_sim **out, const struct frag_sim *from, struct frag_error *err)
{
	struct frag_sim *sim;
	bool good;
	int rc;

	if (from->retired || !from->engines[0].device.ops->plain)
		return frag_fail(err, FRAG_EUSAGE, "a run on device %s cannot be copied",
				 from->retired ? "that is closed"
					       : from->engines[0].device.ops->name);
	sim = malloc(sizeof(*sim));
	if (!sim)
		return frag_fail_nomem(err);
	*sim = (struct frag_sim){
		.choice = from->choice, .options = from->options, .symbols = from->symbols,
		.engines = calloc(from->device_count, sizeof(*sim->engines)),
		.results = calloc(from->device_count, sizeof(*sim->results)),
		.slots = from->slots, .slot_count = from->slot_count,
		.slot_capacity = from->slot_count, .watched = from->options.check,
		.marks = from->marks, .marks_cut = from->marks_cut, .stopped = from->stopped,
		.begun = from->begun, .fed = from->fed, .plugged = from->plugged,
		.step = from->step,
	};
	good = frag_array_copy(&sim->slots, sim->slot_count, 0, sizeof(*sim->slots));
	rc = good && sim->engines && sim->results
		? frag_devices_copy(&sim->devices, from->devices.figures, from->devices.count, err)
		: frag_fail_nomem(err);
	rc = rc ? rc : copy_engines(sim, from, err);
	if (rc) {
		frag_sim_del(sim);
		return rc;
	}
	*out = sim;
	return 0;
}

/* Another total ------------------------------------------------------------ */

/* A policy, and the total that its ranges were made under. */
struct former {
	struct frag_policy *policy;
	uint64_t total;
};

static uint64_t resized(void *ctx, uint64_t page, uint64_t bytes, uint64_t end)
{
	const struct former *former = ctx;

	return former->policy->ops->range_bytes(former->policy, page, bytes, end, former->total);
}

bool frag_sim_retotal(struct frag_sim *sim, uint32_t device, uint64_t total)
{
	struct frag_engine *e;
	struct former former;

	FRAG_ASSERT(device < sim->device_count);
	e = &sim->engines[device];
	former = (struct former){ .policy = &e->policy, .total = e->device.total };
	if (!total || total < e->device.min_capacity || total >= e->device.end_capacity
	    || sim->options.level != FRAG_LEVEL_SURVIVE || sim->plugged || sim->retired
	    || e->device.ops != &frag_device_simulated)
		return false;
	e->device.total = sim->devices.figures[device].total = total;
	frag_device_limit(&e->device, e->device.fraction);
	if (e->policy.ops->range_bytes)
		frag_heap_resize_ranges(e->policy.heap, &former, resized);
	return true;
}

/* The end ------------------------------------------------------------------- */

void frag_sim_retire(struct frag_sim *sim, bool interrupted)
{
	uint32_t count;

	frag_sim_results(sim, interrupted, &count);
	for (uint32_t d = 0; d < count && !sim->retired; d++)
		frag_engine_fini(&sim->engines[d]);
	free(sim->slots);
	sim->slots = NULL;
	sim->slot_count = sim->slot_capacity = 0;
	sim->retired = true;
}

void frag_sim_measured(struct frag_sim *sim, uint32_t device, const struct frag_prediction *p,
		       const struct frag_driver_costs *costs, const struct frag_probes *probes)
{
	FRAG_ASSERT(device < sim->device_count);
	sim->results[device].prediction = *p;
	sim->results[device].costs = costs;
	sim->results[device].probes = probes;
}

void frag_sim_del(struct frag_sim *sim)
{
	if (!sim)
		return;
	for (uint32_t d = 0; d < sim->device_count; d++) {
		if (!sim->retired)
			frag_engine_fini(&sim->engines[d]);
		frag_result_fini(&sim->results[d]);
	}
	frag_devices_fini(&sim->devices);
	free(sim->engines);
	free(sim->results);
	free(sim->slots);
	free(sim->moves);
	free(sim);
}
