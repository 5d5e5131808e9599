/*
 * sim_queries.c - the queries of a simulation: its results, the slots of its blocks, and the other
 * totals under which it would have been the same.
 */
#include "engine/sim_queries.h"

#include "base/bug.h"
#include "engine/fast_path.h"
#include "heap/heap_inline.h"
#include "heap/relocate.h"
#include "policy/policies.h"

/*
 * Each call computes the results again, so callers can also request them in the middle of a run.
 */
const struct frag_result *frag_sim_results(struct frag_sim *sim, bool interrupted, uint32_t *count)
{
	*count = sim->device_count;
	frag_sim_enter_plugin(sim, &sim->step);
	for (uint32_t d = 0; d < sim->device_count && !sim->retired; d++) {
		struct frag_result *r = &sim->results[d];
		struct frag_engine *e = &sim->engines[d];
		const struct frag_totals *b = e->totals;
		const struct frag_moves moves = frag_heap_moves(e->policy.heap);
		const struct frag_memory_stats *stats;

		frag_run_metrics_look(&e->metrics, e->policy.heap, &e->device);
		r->choice = sim->choice;
		r->device = d;
		r->device_name = sim->devices.figures[d].name;
		r->total = e->device.total;
		r->context = e->device.context;
		r->other = e->device.other;
		r->granularity = e->device.granularity;
		r->small_max = e->device.small_max;
		r->small_granularity = e->device.small_granularity;
		r->modelled = (struct frag_modelled){
			.there = e->device.model != NULL, .driver_ns = e->device.model_ns,
			.calls = e->device.model_calls,
			.unmeasured_calls = e->device.model_unknown,
		};
		r->compaction = (struct frag_compaction){
			.there = r->choice.ops == &frag_policy_compact, .moves = moves.moves,
			.blocks = moves.blocks, .bytes = moves.bytes,
		};
		r->planned = *frag_plan_followed(&e->policy);
		r->min_capacity = e->device.min_capacity;
		r->end_capacity = e->device.end_capacity;
		r->calls = e->device.calls;
		r->refused = e->device.refused;
		r->status = sim->failure.code ? FRAG_RUN_ERROR
			    : interrupted && !e->stopped ? FRAG_RUN_INTERRUPTED
			    : e->counts.ooms ? FRAG_RUN_OOM : FRAG_RUN_OK;
		r->counts = e->counts;
		r->counts.segment_allocs = b->segment_allocs;
		r->counts.segment_frees = b->segment_frees;
		r->counts.splits = b->splits;
		r->counts.merges = b->merges;
		r->counts.retries = b->retries;
		r->marks_cut = sim->marks_cut;
		stats = r->choice.ops->stats ? r->choice.ops->stats(&e->policy) : NULL;
		r->has_stats = stats != NULL;
		if (stats)
			r->stats = *stats;
		frag_run_metrics_result(&e->metrics, r);
	}
	frag_sim_leave_plugin(sim);
	return sim->results;
}

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

const struct frag_symbols *frag_sim_symbols(const struct frag_sim *sim)
{
	return sim->symbols;
}

const struct frag_devices *frag_sim_devices(const struct frag_sim *sim)
{
	return &sim->devices;
}

const struct frag_heap *frag_sim_heap(const struct frag_sim *sim, uint32_t device)
{
	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	return sim->engines[device].policy.heap;
}

uint64_t frag_sim_ooms(const struct frag_sim *sim, uint32_t device)
{
	FRAG_ASSERT(device < sim->device_count);
	return sim->engines[device].counts.ooms;
}

const struct frag_oom *frag_sim_last_oom(const struct frag_sim *sim, uint32_t device)
{
	const struct frag_result *r;

	FRAG_ASSERT(device < sim->device_count);
	r = &sim->results[device];
	return r->oom_count ? &r->ooms[r->oom_count - 1] : NULL;
}

frag_block frag_sim_block(const struct frag_sim *sim, uint32_t slot)
{
	return slot < sim->slot_count && sim->slots[slot].block < SLOT_FIRST_STATE
		? sim->slots[slot].block : FRAG_NO_BLOCK;
}

int frag_sim_seek(const struct frag_sim *sim, const struct frag_event *ev,
		  struct frag_sought *out)
{
	struct frag_policy *p = &sim->engines[ev->device].policy;
	const struct frag_request rq = frag_request_of(ev);
	int rc;

	*out = (struct frag_sought){ .list = FRAG_NO_LIST, .bytes = ev->bytes };
	if (!p->ops->seek)
		return 0;
	/* within a step it has been entered already */
	if (!sim->busy)
		frag_sim_enter_plugin(sim, &sim->step);
	rc = p->ops->seek(p, &rq, out);
	if (!sim->busy)
		frag_sim_leave_plugin(sim);
	/* whatever it says, a block is as large as its request */
	out->bytes = out->bytes > ev->bytes ? out->bytes : ev->bytes;
	return rc;
}

void frag_sim_walk(const struct frag_sim *sim, uint32_t device, void *ctx,
		   void (*visit)(void *ctx, const struct frag_live *live))
{
	const struct frag_heap *heap = frag_sim_heap(sim, device);

	for (uint32_t i = 0; i < sim->slot_count; i++) {
		const struct frag_slot *slot = &sim->slots[i];
		struct frag_live live = {
			.slot = i, .tag = slot->tag, .stack = slot->stack, .birth = slot->birth,
			.pending = slot->pending,
		};

		if (slot->block >= SLOT_FIRST_STATE || slot->device != device
		    || (slot->pending && !frag_heap_is_pending(heap, slot->block, i)))
			continue;
		live.block = frag_heap_look(heap, slot->block);
		visit(ctx, &live);
	}
}

frag_addr frag_sim_address(const struct frag_sim *sim, uint32_t device, uint32_t slot)
{
	FRAG_ASSERT(slot < sim->slot_count && sim->slots[slot].block < SLOT_FIRST_STATE);
	return frag_heap_address(sim->engines[device].policy.heap, sim->slots[slot].block);
}

/* Another total ------------------------------------------------------------ */

/* What a live block takes in a heap: its record, and its share of segments and lists. */
#define BLOCK_BYTES 128

/* A policy, and the total that its ranges were made under. */
struct former {
	const struct frag_policy *policy;
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

void frag_sim_interval(const struct frag_sim *sim, uint32_t device, uint64_t *min_capacity,
		       uint64_t *end_capacity)
{
	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	*min_capacity = sim->engines[device].device.min_capacity;
	*end_capacity = sim->engines[device].device.end_capacity;
}

/* A long free list has bins, which are the larger part of a small heap. */
uint64_t frag_sim_bytes(const struct frag_sim *sim)
{
	uint64_t bytes = sizeof(*sim) + sim->slot_count * sizeof(*sim->slots);

	for (uint32_t d = 0; d < sim->device_count; d++) {
		const struct frag_index *x = &sim->engines[d].policy.heap->index;

		bytes += sizeof(*sim->engines)
			 + (uint64_t)sim->engines[d].totals->blocks * BLOCK_BYTES;
		for (uint32_t i = 0; i < x->count; i++)
			bytes += x->lists[i].bins ? sizeof(*x->lists[i].bins) : 0;
	}
	return bytes;
}
