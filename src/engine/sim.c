/* sim.c - one policy over all devices of a trace; the one place that sees all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/grow.h"
#include "engine/engine.h"
#include "engine/oom.h"

#define NEAR_AHEAD 4    /* events */
#define FAR_AHEAD 8

struct frag_sim {
	struct frag_choice choice;
	struct frag_sim_options options;
	const struct frag_trace *trace;
	struct frag_engine *engines;    /* one a device */
	struct frag_result *results;    /* likewise; OOMs and marks gather here */
	uint32_t device_count;
	struct frag_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct frag_observer observers[FRAG_OBSERVERS_MOST];
	uint32_t observer_count;
	bool watched;                   /* by observers, or for --check */
	uint32_t stopped;               /* devices whose run an OOM has ended */
	bool begun;                     /* the devices are */
	bool fed;                       /* a batch was */
	bool retired;
};

static int open_engines(struct frag_sim *sim, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_trace_info(sim->trace);
	const struct frag_device_ops *device = sim->options.device ? sim->options.device
								   : &frag_device_simulated;

	sim->engines = calloc(info->device_count, sizeof(*sim->engines));
	sim->results = calloc(info->device_count, sizeof(*sim->results));
	if (!sim->engines || !sim->results)
		return frag_fail_nomem(err);
	for (; sim->device_count < info->device_count; sim->device_count++) {
		struct frag_engine *e = &sim->engines[sim->device_count];
		int rc = frag_engine_init(e, &sim->choice, &info->devices[sim->device_count],
					  device, err);

		if (rc) {
			frag_engine_fini(e);
			return rc;
		}
		e->device.model = sim->options.model;
		if (sim->options.device_ctx)
			e->device.ctx = sim->options.device_ctx[sim->device_count];
		if (device->ready)
			device->ready(&e->device);
	}
	return 0;
}

int frag_sim_new(struct frag_sim **out, const struct frag_choice *choice,
		 const struct frag_trace *trace, const struct frag_sim_options *options,
		 struct frag_error *err)
{
	struct frag_sim *sim = calloc(1, sizeof(*sim));
	int rc = frag_policy_check(choice->ops, err);

	if (!sim)
		return frag_fail_nomem(err);
	sim->choice = *choice;
	if (options)
		sim->options = *options;
	sim->watched = sim->options.check;
	sim->trace = trace;
	rc = rc ? rc : open_engines(sim, err);
	if (rc) {
		frag_sim_del(sim);
		return rc;
	}
	*out = sim;
	return 0;
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
	free(sim->engines);
	free(sim->results);
	free(sim->slots);
	free(sim);
}

int frag_sim_observe(struct frag_sim *sim, const struct frag_observer *observer)
{
	if (sim->observer_count == FRAG_OBSERVERS_MOST)
		return -FRAG_ENOMEM;
	sim->observers[sim->observer_count++] = *observer;
	sim->watched = true;
	return 0;
}

bool frag_sim_stopped(const struct frag_sim *sim)
{
	return sim->stopped == sim->device_count;
}

static char *id_text(const struct frag_event *ev)
{
	size_t room = ev->id.text ? (size_t)ev->id.number * 6 + 3 : FRAG_NUMBER_ROOM;
	char *text = malloc(room);

	if (text && ev->id.text)
		*frag_put_json(text, ev->id.text, (size_t)ev->id.number) = '\0';
	else if (text)
		*frag_put_u64(text, ev->id.number) = '\0';
	return text;
}

/* ev is NULL for an initial pool, which nobody asked for by an id. */
static int note_oom(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
		    struct frag_error *err)
{
	struct frag_result *r = &sim->results[d];
	struct frag_oom *oom;
	int rc;

	if (r->oom_count == FRAG_OOMS_MOST)
		return 0;
	if (!r->ooms)
		r->ooms = calloc(FRAG_OOMS_MOST, sizeof(*r->ooms));
	if (!r->ooms)
		return frag_fail_nomem(err);
	oom = &r->ooms[r->oom_count++];
	rc = frag_oom_explain(oom, &sim->engines[d], d, ev, sim->slots, sim->slot_count,
			      sim->trace, err);
	if (rc)
		return rc;
	oom->step = ev ? ev->step : 0;
	oom->size = ev ? ev->bytes : oom->tried;
	oom->id = ev ? id_text(ev) : NULL;
	return ev && !oom->id ? frag_fail_nomem(err) : 0;
}

static int note_mark(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
		     struct frag_error *err)
{
	struct frag_result *r = &sim->results[d];
	uint32_t capacity = r->mark_count;
	struct frag_mark *mark;

	if (r->mark_count == FRAG_MARKS_MOST)
		return 0;
	if ((capacity & (capacity - 1)) == 0
	    && !frag_grow(&r->marks, &capacity, (uint64_t)capacity + 1, sizeof(*r->marks)))
		return frag_fail_nomem(err);
	mark = &r->marks[r->mark_count];
	*mark = (struct frag_mark){ .step = ev->step, .metrics = sim->engines[d].tally.now };
	mark->name = malloc((size_t)ev->text.length * 6 + 3);
	if (!mark->name)
		return frag_fail_nomem(err);
	*frag_put_json(mark->name, ev->text.text, ev->text.length) = '\0';
	r->mark_count++;
	return 0;
}

/* The sums of SPEC 5 again, from a walk over all blocks. */
static int check_step(const struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
		      struct frag_error *err)
{
	struct frag_error first;
	int rc = frag_heap_check(sim->engines[d].policy.heap, &first);

	if (rc == 0)
		return 0;
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_ECHECK, "policy %s, device %u, after step %" PRIu64 ": %.800s",
			 sim->choice.text, d, ev->step, first.message);
}

/* Those who want to know of every step, a refused pool's among them; and marks. */
static int tell(struct frag_sim *sim, uint32_t d, struct frag_step *step, struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	int rc = 0;

	if (sim->options.check)
		rc = check_step(sim, d, ev, err);
	for (uint32_t i = 0; i < sim->observer_count && !rc; i++)
		rc = sim->observers[i].step(sim->observers[i].ctx, step, err);
	if (!rc && ev->op == FRAG_OP_MARK && step->status == FRAG_STEP_OK)
		rc = note_mark(sim, d, ev, err);
	return rc;
}

static void stop(struct frag_sim *sim, uint32_t d)
{
	sim->engines[d].stopped = true;
	sim->stopped++;
}

static int step_refused(struct frag_sim *sim, uint32_t d, struct frag_step *step,
			struct frag_error *err)
{
	step->status = FRAG_STEP_OOM;
	frag_engine_settle(&sim->engines[d], step->event, step);
	return tell(sim, d, step, err);
}

static int step_on(struct frag_sim *sim, uint32_t d, const struct frag_event *ev, uint32_t stack,
		   struct frag_error *err)
{
	struct frag_engine *e = &sim->engines[d];
	struct frag_step step = { .event = ev, .device = d, .stack = stack };
	int rc;

	if (e->stopped)
		return 0;
	if (e->refused)
		return step_refused(sim, d, &step, err);
	rc = frag_engine_step(e, ev, sim->slots, &step, err);
	if (!rc && (sim->watched || ev->op == FRAG_OP_MARK))
		rc = tell(sim, d, &step, err);
	if (rc || step.status != FRAG_STEP_OOM)
		return rc;
	if (!sim->options.on_oom_continue)
		stop(sim, d);
	return note_oom(sim, d, ev, err);
}

static int step_everywhere(struct frag_sim *sim, const struct frag_event *ev,
			   struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < sim->device_count && !rc; d++)
		rc = step_on(sim, d, ev, 0, err);
	return rc;
}

/* An initial pool that is refused is an OOM at step 0. */
int frag_sim_begin(struct frag_sim *sim, struct frag_error *err)
{
	uint32_t count;
	const struct frag_initial *initial = frag_trace_initial(sim->trace, &count);

	if (sim->begun)
		return 0;
	sim->begun = true;
	for (uint32_t d = 0; d < sim->device_count; d++) {
		int rc = frag_engine_begin(&sim->engines[d], err);

		if (!rc)
			rc = frag_engine_plant(&sim->engines[d], d, initial, count, err);
		if (rc == -FRAG_EDEVMEM) {
			sim->engines[d].refused = true;
			sim->engines[d].counts.ooms++;
			rc = note_oom(sim, d, NULL, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}

/* Step 0 is over: the runs that could not begin end there. */
static void stop_refused(struct frag_sim *sim)
{
	for (uint32_t d = 0; d < sim->device_count; d++)
		if (sim->engines[d].refused && !sim->engines[d].stopped)
			stop(sim, d);
}

/* The event's slot, made when new. */
static int make_slot(struct frag_sim *sim, uint32_t slot, struct frag_error *err)
{
	if (!frag_grow(&sim->slots, &sim->slot_capacity, (uint64_t)slot + 1, sizeof(*sim->slots)))
		return frag_fail_nomem(err);
	while (sim->slot_count <= slot)
		sim->slots[sim->slot_count++].block = SLOT_NONE;
	return 0;
}

static inline int feed(struct frag_sim *sim, const struct frag_batch *batch, uint32_t i,
		       struct frag_error *err)
{
	const struct frag_event *ev = &batch->events[i];

	if (ev->op == FRAG_OP_ALLOC && ev->slot >= sim->slot_count) {
		int rc = make_slot(sim, ev->slot, err);

		if (rc)
			return rc;
	}
	return ev->device == FRAG_ALL
		? step_everywhere(sim, ev, err)
		: step_on(sim, ev->device, ev, batch->stacks ? batch->stacks[i] : 0, err);
}

/*
 * A free goes to a slot and from there to a block, both anywhere in memory: they
 * are fetched while earlier events still run.
 */
static void look_ahead(const struct frag_sim *sim, const struct frag_batch *batch, uint32_t i)
{
	const struct frag_event *ev;

	if (i + FAR_AHEAD >= batch->count)
		return;
	ev = &batch->events[i + FAR_AHEAD];
	if (ev->op == FRAG_OP_FREE && ev->slot < sim->slot_count)
		__builtin_prefetch(&sim->slots[ev->slot]);
	ev = &batch->events[i + NEAR_AHEAD];
	if (ev->op == FRAG_OP_FREE && ev->slot < sim->slot_count && ev->device != FRAG_ALL)
		frag_heap_expect(sim->engines[ev->device].policy.heap,
				 sim->slots[ev->slot].block);
}

int frag_sim_feed(struct frag_sim *sim, const struct frag_batch *batch, struct frag_error *err)
{
	int rc = frag_sim_begin(sim, err);
	uint32_t i = 0;

	if (!sim->fed) {
		sim->fed = true;
		if (!rc && batch->count)
			rc = feed(sim, batch, i++, err);
		stop_refused(sim);
	}
	for (; i < batch->count && !rc && !frag_sim_stopped(sim); i++) {
		look_ahead(sim, batch, i);
		rc = feed(sim, batch, i, err);
	}
	return rc;
}

static enum frag_run_status status_of(const struct frag_sim *sim, uint32_t d, bool interrupted)
{
	if (interrupted && !sim->engines[d].stopped)
		return FRAG_RUN_INTERRUPTED;
	return sim->engines[d].counts.ooms ? FRAG_RUN_OOM : FRAG_RUN_OK;
}

const struct frag_result *frag_sim_results(struct frag_sim *sim, bool interrupted, uint32_t *count)
{
	const struct frag_trace_info *info = frag_trace_info(sim->trace);

	*count = sim->device_count;
	for (uint32_t d = 0; d < sim->device_count && !sim->retired; d++) {
		struct frag_result *r = &sim->results[d];
		const struct frag_engine *e = &sim->engines[d];
		const struct frag_books *b = e->books;

		r->choice = sim->choice;
		r->device = d;
		r->device_name = info->devices[d].name;
		r->total = e->device.total;
		r->context = e->device.context;
		r->other = e->device.other;
		r->granularity = e->device.granularity;
		r->small_most = e->device.small_most;
		r->small_granularity = e->device.small_granularity;
		r->modelled = (struct frag_modelled){
			.there = e->device.model != NULL, .driver_ns = e->device.model_ns,
			.calls = e->device.model_calls,
			.unmeasured_calls = e->device.model_unknown,
		};
		r->status = status_of(sim, d, interrupted);
		r->counts = e->counts;
		r->counts.segment_allocs = b->segment_allocs;
		r->counts.segment_frees = b->segment_frees;
		r->counts.splits = b->splits;
		r->counts.merges = b->merges;
		r->counts.retries = b->retries;
		r->has_stats = r->choice.ops->stats != NULL;
		if (r->has_stats)
			r->stats = *r->choice.ops->stats(&e->policy);
		frag_tally_result(&e->tally, r);
	}
	return sim->results;
}

void frag_sim_retire(struct frag_sim *sim, bool interrupted)
{
	uint32_t count;

	frag_sim_results(sim, interrupted, &count);
	for (uint32_t d = 0; d < count && !sim->retired; d++)
		frag_engine_fini(&sim->engines[d]);
	sim->retired = true;
}

void frag_sim_measured(struct frag_sim *sim, uint32_t device, const struct frag_prediction *p,
		       const struct frag_driver_costs *costs, const struct frag_probes *probes)
{
	sim->results[device].prediction = *p;
	sim->results[device].costs = costs;
	sim->results[device].probes = probes;
}

const struct frag_heap *frag_sim_heap(const struct frag_sim *sim, uint32_t device)
{
	return sim->engines[device].policy.heap;
}

frag_block frag_sim_block(const struct frag_sim *sim, uint32_t slot)
{
	return slot < sim->slot_count && sim->slots[slot].block < SLOT_FIRST_STATE
		? sim->slots[slot].block : FRAG_NO_BLOCK;
}

frag_addr frag_sim_address(const struct frag_sim *sim, uint32_t device, uint32_t slot)
{
	return frag_heap_address(sim->engines[device].policy.heap, sim->slots[slot].block);
}
