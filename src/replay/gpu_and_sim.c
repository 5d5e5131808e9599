/* gpu_and_sim.c - a trace through a policy on real GPUs, the simulated ones alongside. */
#include "replay/gpu_and_sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/format.h"
#include "base/array_grow.h"
#include "device/usable.h"
#include "metrics/fragmentation.h"
#include "replay/stream_work.h"

enum { THRESHOLD, EVENTS, OPPORTUNISTIC, INTERNAL };

static int pool_alloc(struct frag_policy *p, const struct frag_request *rq, frag_block *out)
{
	frag_list list;
	int rc = frag_heap_list(p->heap, rq->pool, 0, &list);

	rc = rc ? rc : frag_heap_grow(p->heap, list, rq->bytes, out);
	return rc ? rc : frag_heap_take(p->heap, out, rq->bytes, rq->bytes);
}

static int pool_free(struct frag_policy *p, frag_block b)
{
	int rc = frag_heap_give(p->heap, b, &b);

	return rc ? rc : frag_heap_release(p->heap, b);
}

static const struct frag_param_spec params[] = {
	[THRESHOLD] = {
		.name = "release_threshold", .type = FRAG_PARAM_SIZE, .fallback = 0,
		.help = "bytes that the pool keeps at a synchronization",
	},
	[EVENTS] = {
		.name = "follow_event_dependencies", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "memory freed on another stream is used again where an event orders it",
	},
	[OPPORTUNISTIC] = {
		.name = "allow_opportunistic", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "memory freed on another stream is used again once that has come so far",
	},
	[INTERNAL] = {
		.name = "allow_internal_dependencies", .type = FRAG_PARAM_BOOL, .fallback = 1,
		.help = "a stream may be made to wait for another one's free",
	},
	{ .name = NULL },
};

const struct frag_policy_ops frag_replay_pool = {
	.name = "cuda-async",
	.summary = "the driver's own pool, cudaMallocAsync",
	.params = params,
	.order = FRAG_ORDER_SIZE,
	.alloc = pool_alloc,
	.free = pool_free,
};

#define LONGEST_SLEEP_NS 100000000      /* then `stop` is called again */

/* The decisions of one simulation at an event on one device, to compare with the other. */
struct deed {
	bool done;
	enum frag_step_status status;
	bool placed;
	uint32_t segment, call_count;
	uint64_t offset, bytes, calls;  /* calls: all of them, as one number */
	int64_t left;                   /* of what may be taken; not compared */
};

/* One of the two simulations. */
struct side {
	struct frag_sim *sim;
	struct deed *deeds;             /* one a device */
};

/* What a GPU's calls show. */
struct measure {
	uint64_t free_first, free_last, free_min;
	struct frag_driver_costs costs;
	struct frag_probes probes;
	bool short_of_memory;
};

struct frag_replay {
	struct frag_trace *trace;
	struct frag_gpu *const *gpus;
	struct frag_replay_options options;
	struct frag_devices devices;    /* of both simulations */
	uint32_t device_count;
	struct side real, twin;
	struct measure *measures;       /* one a device */
	struct frag_prediction *predictions;    /* likewise */
	struct frag_work *work;
	struct timespec begun;
	double first_t;
	bool has_first_t, retired;
	bool pooled;                    /* the driver's own pool: not simulated */
	struct frag_gpu_pool_options pool;
};

/* The devices of the run are the GPUs, with at most `limit` bytes of each. */
static int gpu_and_sim_set_devices(struct frag_replay *r, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_trace_info(r->trace);
	int rc = frag_devices_copy(&r->devices, info->devices, info->device_count, err);

	for (uint32_t d = 0; d < r->devices.count && !rc; d++) {
		const struct frag_gpu_figures *f = frag_gpu_look(r->gpus[d]);
		struct frag_device_figures figures;
		uint64_t max = r->options.limit == UINT64_MAX ? f->free / 10 * 9
							       : r->options.limit;

		if (max > f->free)
			return frag_fail(err, FRAG_EUSAGE, "--limit %" PRIu64 ": only %" PRIu64
					 " bytes are free on the GPU of device %u", max, f->free,
					 d);
		figures = (struct frag_device_figures){
			.total = f->total, .context = f->context,
			.other = f->total > f->context + max ? f->total - f->context - max : 0,
			.granularity = f->granularity, .small_max = f->small_max,
			.small_granularity = f->small_granularity,
		};
		rc = frag_devices_replace(&r->devices, d, &figures, f->name[0] ? f->name : NULL,
					  err);
	}
	return rc;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t sum_calls(const struct frag_step *step)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < step->call_count; i++) {
		const struct frag_call *c = &step->calls[i];

		sum = mix(mix(mix(mix(sum, c->kind), c->ordinal), c->offset), c->bytes);
	}
	return sum;
}

static int note_deed(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct side *side = ctx;

	(void)err;
	side->deeds[step->device] = (struct deed){
		.done = true, .status = step->status, .placed = step->placed,
		.segment = step->segment, .offset = step->offset, .bytes = step->bytes,
		.call_count = step->call_count, .calls = sum_calls(step),
		.left = step->metrics->device_free,
	};
	return 0;
}

static bool same_deed(const struct deed *a, const struct deed *b)
{
	return a->done == b->done && a->status == b->status && a->placed == b->placed
	       && a->segment == b->segment && a->offset == b->offset && a->bytes == b->bytes
	       && a->call_count == b->call_count && a->calls == b->calls;
}

static void see_call(void *ctx, const struct frag_gpu_call *call)
{
	struct measure *m = ctx;
	uint32_t class = frag_size_class(call->bytes);

	m->short_of_memory |= !frag_latency_add(&m->costs.calls[call->kind][class], call->cost_ns,
						call->refused);
	if (call->kind == FRAG_GPU_MALLOC && !call->refused) {
		struct frag_taking *t = &m->costs.segments[class];

		t->count++;
		t->requested += call->bytes;
		t->predicted += call->counted;
		t->taken += m->free_last > call->free ? m->free_last - call->free : 0;
	}
	m->free_last = call->free;
	if (call->free < m->free_min)
		m->free_min = call->free;
}

static int make_side(struct side *side, struct frag_replay *r, const struct frag_choice *choice,
		     const struct frag_device_ops *device, struct frag_error *err)
{
	const struct frag_sim_options options = {
		.on_oom_continue = r->options.on_oom_continue, .check = r->options.check,
		.devices = r->devices.figures, .device = device,
		.device_ctx = (void *const *)r->gpus,
		.on_oom = side == &r->real ? r->options.on_oom : NULL,
	};
	const struct frag_observer observer = { .step = note_deed, .ctx = side };
	int rc;

	side->deeds = calloc(r->device_count, sizeof(*side->deeds));
	if (!side->deeds)
		return frag_fail_nomem(err);
	rc = frag_sim_new(&side->sim, choice, r->trace, &options, err);
	return rc ? rc : frag_sim_observe(side->sim, &observer);
}

/*
 * The side's own observer comes before the work's: it notes what was decided even
 * where the work then fails.
 */
static int gpu_and_sim_make(struct frag_replay *r, const struct frag_choice *choice,
			    struct frag_error *err)
{
	int rc;

	r->measures = calloc(r->device_count, sizeof(*r->measures));
	r->predictions = calloc(r->device_count, sizeof(*r->predictions));
	if (!r->measures || !r->predictions)
		return frag_fail_nomem(err);
	rc = make_side(&r->real, r, choice,
		       r->pooled ? &frag_device_gpu_pool : &frag_device_gpu, err);
	/* the decisions of the driver's own pool are unknown */
	if (!rc && !r->pooled)
		rc = make_side(&r->twin, r, choice, &frag_device_simulated, err);
	if (rc)
		return rc;
	r->work = frag_work_new(r->real.sim, r->gpus, r->device_count, r->options.verify);
	return r->work ? 0 : frag_fail_nomem(err);
}

/*
 * The driver's own pool is identified by its table, because it is not among the policies.
 * frag_replay_del() also releases a partly built r.
 */
int frag_replay_new(struct frag_replay **out, struct frag_sim **sim,
		    const struct frag_choice *choice, struct frag_trace *trace,
		    struct frag_gpu *const *gpus, const struct frag_replay_options *options,
		    struct frag_error *err)
{
	struct frag_replay *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return frag_fail_nomem(err);
	r->trace = trace;
	r->gpus = gpus;
	r->options = *options;
	r->device_count = frag_trace_info(trace)->device_count;
	r->pooled = choice->ops == &frag_replay_pool;
	if (r->pooled)
		r->pool = (struct frag_gpu_pool_options){
			.threshold = choice->param[THRESHOLD], .events = choice->param[EVENTS] != 0,
			.opportunistic = choice->param[OPPORTUNISTIC] != 0,
			.internal = choice->param[INTERNAL] != 0,
		};
	rc = gpu_and_sim_set_devices(r, err);
	rc = rc ? rc : gpu_and_sim_make(r, choice, err);
	if (rc) {
		frag_replay_del(r);
		return rc;
	}
	*sim = r->real.sim;
	*out = r;
	return 0;
}

/* Uses the capacity of each GPU minus the memory of others. */
static int open_pools(struct frag_replay *r, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < r->device_count && r->pooled && !rc; d++) {
		const struct frag_device_figures *f = &r->devices.figures[d];

		rc = frag_gpu_pool_open(r->gpus[d], frag_usable(f->total, f->context, f->other),
					&r->pool, err);
	}
	return rc;
}

static int begin_measures(struct frag_replay *r, struct frag_error *err)
{
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &r->begun);
	for (uint32_t d = 0; d < r->device_count && !rc; d++) {
		struct measure *m = &r->measures[d];

		rc = frag_gpu_free_bytes(r->gpus[d], &m->free_first, err);
		m->free_last = m->free_min = m->free_first;
		frag_gpu_watch(r->gpus[d], see_call, m);
	}
	return rc;
}

/* Waits until it is the event's time. */
static void keep_pace(struct frag_replay *r, const struct frag_event *ev)
{
	struct timespec now;

	if (r->options.pace <= 0 || !(ev->members & FRAG_HAS_T))
		return;
	if (!r->has_first_t)
		r->first_t = ev->t;
	r->has_first_t = true;
	while (!frag_read_is_stopped(&r->options.read)) {
		double due = (ev->t - r->first_t) * 1e3 / r->options.pace, left;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = due - ((double)(now.tv_sec - r->begun.tv_sec) * 1e9
			      + (double)(now.tv_nsec - r->begun.tv_nsec));
		if (left <= 0)
			return;
		now = (struct timespec){
			.tv_nsec = left < LONGEST_SLEEP_NS ? (long)left : LONGEST_SLEEP_NS,
		};
		nanosleep(&now, NULL);
	}
}

/* Of what is free on the GPU and may be taken: how much comes in one piece? */
static int probe(struct frag_replay *r, uint32_t d, const struct frag_event *ev,
		 struct frag_error *err)
{
	struct frag_probes *all = &r->measures[d].probes;
	const uint64_t unit = frag_gpu_look(r->gpus[d])->granularity;
	const int64_t left = r->real.deeds[d].left;
	struct frag_probe p = { .step = ev->step };
	uint32_t capacity = all->kept;
	int rc = frag_gpu_free_bytes(r->gpus[d], &p.free, err);

	if (!rc && (left < 0 || p.free > (uint64_t)left))
		p.free = left < 0 ? 0 : (uint64_t)left;
	p.free -= p.free % unit;
	rc = rc ? rc : frag_gpu_probe(r->gpus[d], p.free, &p.largest, err);
	p.fi = frag_index_pct(p.largest, p.free);
	all->count++;
	if (rc || all->kept == FRAG_PROBES_MAX)
		return rc;
	if ((capacity & (capacity - 1)) == 0
	    && !FRAG_GROW(all->probe, capacity, capacity))
		return frag_fail_nomem(err);
	if (ev->op == FRAG_OP_MARK) {
		p.mark = frag_new_json(ev->text.text, ev->text.length);
		if (!p.mark)
			return frag_fail_nomem(err);
	}
	all->probe[all->kept++] = p;
	return 0;
}

static int probe_all(struct frag_replay *r, const struct frag_event *ev, struct frag_error *err)
{
	const uint64_t every = r->options.probe_every;
	int rc = 0;

	if (!(r->options.probe_marks && ev->op == FRAG_OP_MARK)
	    && !(every && (ev->step + 1) % every == 0))
		return 0;
	for (uint32_t d = 0; d < r->device_count && !rc; d++)
		if (r->real.deeds[d].done)
			rc = probe(r, d, ev, err);
	return rc;
}

static void gpu_and_sim_compare(struct frag_replay *r, uint64_t step)
{
	FRAG_ASSERT(!r->pooled);
	for (uint32_t d = 0; d < r->device_count; d++) {
		struct frag_prediction *p = &r->predictions[d];

		if (!r->real.deeds[d].done && !r->twin.deeds[d].done)
			continue;
		p->steps++;
		if (p->differs || same_deed(&r->real.deeds[d], &r->twin.deeds[d]))
			continue;
		p->differs = true;
		p->first_difference = step;
	}
}

/* One event through both; batch holds just it, or nothing: the end of an empty trace. */
static int step_both(struct frag_replay *r, const struct frag_batch *batch, struct frag_error *err)
{
	int rc = 0;

	memset(r->real.deeds, 0, r->device_count * sizeof(*r->real.deeds));
	if (!r->pooled)
		memset(r->twin.deeds, 0, r->device_count * sizeof(*r->twin.deeds));
	if (batch->count)
		rc = frag_work_before(r->work, batch->events, err);
	rc = rc ? rc : frag_sim_feed(r->real.sim, batch, err);
	if (!rc && !r->pooled)
		rc = frag_sim_feed(r->twin.sim, batch, err);
	if (!rc && batch->count && !r->pooled)
		gpu_and_sim_compare(r, batch->events->step);
	return rc || !batch->count ? rc : probe_all(r, batch->events, err);
}

static int gpu_and_sim_feed(struct frag_replay *r, const struct frag_batch *batch,
			    struct frag_error *err)
{
	int rc = 0;

	if (batch->count == 0)
		return step_both(r, batch, err);
	for (uint32_t i = 0; i < batch->count && !rc; i++) {
		const struct frag_batch one = { .events = &batch->events[i], .count = 1 };

		if (frag_sim_stopped(r->real.sim)
		    && (r->pooled || frag_sim_stopped(r->twin.sim)))
			return 0;
		keep_pace(r, one.events);
		rc = frag_read_check(&r->options.read, err);
		rc = rc ? rc : step_both(r, &one, err);
	}
	return rc;
}

/*
 * Measuring begins before the driver's pools are opened, so what they take counts.
 * The empty batch at the end is fed too: simulations end by it.
 */
int frag_replay_run(struct frag_replay *r, struct frag_error *err)
{
	struct frag_batch batch = { .count = 1 };
	int rc = begin_measures(r, err);

	FRAG_ASSERT(!r->retired);
	rc = rc ? rc : open_pools(r, err);
	while (!rc && batch.count) {
		rc = frag_trace_next(r->trace, &batch, err);
		if (frag_read_check(&r->options.read, err))
			rc = -FRAG_EINTERRUPTED;
		rc = rc ? rc : gpu_and_sim_feed(r, &batch, err);
		if (!rc)
			frag_read_show(&r->options.read, frag_trace_info(r->trace));
	}
	rc = rc ? rc : frag_work_finish(r->work, err);
	for (uint32_t d = 0; d < r->device_count; d++)
		if (r->measures[d].short_of_memory && !rc)
			rc = frag_fail_nomem(err);
	return rc;
}

static void stop_looking(struct frag_replay *r)
{
	for (uint32_t d = 0; d < r->device_count && !r->retired; d++)
		frag_gpu_watch(r->gpus[d], NULL, NULL);
}

/*
 * The context was on the GPU before the first measurement, so it is no part of
 * what the run used.
 */
static void fill_prediction(struct frag_prediction *p, const struct measure *m,
			    const struct frag_result *twin, const struct frag_result *real)
{
	p->there = m->free_first != 0;
	if (!p->there)
		return;
	p->reserved_predicted = twin->peak.reserved;
	p->reserved_measured = real->peak.reserved;
	p->used_predicted = twin->peak.process_used - twin->context;
	p->used_measured = m->free_first - m->free_min;
	p->free_predicted = (int64_t)(m->free_first - p->used_predicted);
	p->free_measured = (int64_t)m->free_min;
	p->oom_predicted = twin->oom_count > 0;
	p->oom_measured = real->oom_count > 0;
	p->oom_step_predicted = p->oom_predicted ? twin->ooms[0].step : 0;
	p->oom_step_measured = p->oom_measured ? real->ooms[0].step : 0;
	p->error_bytes = (int64_t)(p->used_predicted - p->used_measured);
	p->error_percent = p->used_measured
		? 100 * fabs((double)p->error_bytes) / (double)p->used_measured
		: p->error_bytes ? 100 : 0;
}

/* Releases all GPU memory; failures are reported when the GPUs are closed. */
static void retire_real(struct frag_replay *r, bool interrupted)
{
	/* what is freed there and then may not be in use on any stream */
	for (uint32_t d = 0; d < r->device_count && r->pooled; d++)
		frag_gpu_sync(r->gpus[d], UINT32_MAX, NULL);
	frag_sim_retire(r->real.sim, interrupted);
	for (uint32_t d = 0; d < r->device_count && r->pooled; d++)
		frag_gpu_pool_close(r->gpus[d], NULL);
}

/*
 * Watching ends first: the final releases are no part of the run, so their calls are not
 * measured.
 */
void frag_replay_retire(struct frag_replay *r, bool interrupted)
{
	const struct frag_result *twins = NULL, *reals;
	uint32_t count;

	if (r->retired)
		return;
	stop_looking(r);
	r->retired = true;
	retire_real(r, interrupted);
	if (!r->pooled) {
		frag_sim_retire(r->twin.sim, interrupted);
		twins = frag_sim_results(r->twin.sim, interrupted, &count);
	}
	reals = frag_sim_results(r->real.sim, interrupted, &count);
	for (uint32_t d = 0; d < count; d++) {
		if (twins)
			fill_prediction(&r->predictions[d], &r->measures[d], &twins[d], &reals[d]);
		frag_sim_measured(r->real.sim, d, &r->predictions[d], &r->measures[d].costs,
				  &r->measures[d].probes);
	}
}

/* The worse of the two is kept. */
static void join_prediction(struct frag_prediction *to, const struct frag_prediction *from)
{
	uint64_t steps = to->steps + from->steps;

	if (from->error_percent > to->error_percent || (from->differs && !to->differs))
		*to = *from;
	to->steps = steps;
}

int frag_replay_join(struct frag_replay *to, struct frag_replay *from, struct frag_error *err)
{
	FRAG_ASSERT(to->retired && to->device_count == from->device_count);
	frag_replay_retire(from, false);
	for (uint32_t d = 0; d < to->device_count; d++) {
		if (!frag_driver_costs_merge(&to->measures[d].costs, &from->measures[d].costs))
			return frag_fail_nomem(err);
		join_prediction(&to->predictions[d], &from->predictions[d]);
		frag_sim_measured(to->real.sim, d, &to->predictions[d], &to->measures[d].costs,
				  &to->measures[d].probes);
	}
	return 0;
}

/*
 * Also one that failed half made. A pool of the driver's must be closed while its
 * simulation still has the blocks.
 */
void frag_replay_del(struct frag_replay *r)
{
	if (!r)
		return;
	stop_looking(r);
	if (r->real.sim && r->pooled && !r->retired)
		retire_real(r, true);
	frag_sim_del(r->real.sim);
	frag_sim_del(r->twin.sim);
	frag_work_del(r->work);
	for (uint32_t d = 0; d < r->device_count && r->measures; d++) {
		frag_driver_costs_fini(&r->measures[d].costs);
		for (uint32_t i = 0; i < r->measures[d].probes.kept; i++)
			free(r->measures[d].probes.probe[i].mark);
		free(r->measures[d].probes.probe);
	}
	frag_devices_fini(&r->devices);
	free(r->real.deeds);
	free(r->twin.deeds);
	free(r->measures);
	free(r->predictions);
	free(r);
}
