/* sim_queries.c - the queries of a simulation: its results, its blocks, and for which totals they hold. */
#include "engine/sim_queries.h"

#include "base/bug.h"
#include "engine/fast_path.h"
#include "heap/heap_inline.h"
#include "heap/relocate.h"

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
			.there = r->choice.ops->moves, .moves = moves.moves,
			.blocks = moves.blocks, .bytes = moves.bytes,
		};
		if (r->choice.ops->planned)
			r->planned = r->choice.ops->planned(&e->policy);
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
		r->has_stats = r->choice.ops->stats && r->choice.ops->stats(&e->policy, &r->stats);
		frag_run_metrics_result(&e->metrics, r);
	}
	frag_sim_leave_plugin(sim);
	return sim->results;
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

const struct frag_oom *frag_sim_oom(const struct frag_sim *sim, uint32_t device, uint32_t i)
{
	FRAG_ASSERT(device < sim->device_count);
	return i < sim->results[device].oom_count ? &sim->results[device].ooms[i] : NULL;
}

const struct frag_oom *frag_sim_last_oom(const struct frag_sim *sim, uint32_t device)
{
	FRAG_ASSERT(device < sim->device_count);
	return frag_sim_oom(sim, device, sim->results[device].oom_count - 1);
}

struct frag_metrics frag_sim_metrics(const struct frag_sim *sim, uint32_t device)
{
	struct frag_metrics now;

	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	frag_metrics_read(&now, sim->engines[device].policy.heap, &sim->engines[device].device);
	return now;
}

frag_block frag_sim_block(const struct frag_sim *sim, uint32_t slot)
{
	return slot < sim->slot_count && sim->slots[slot].block < SLOT_FIRST_STATE
		? sim->slots[slot].block : FRAG_NO_BLOCK;
}

struct frag_sought frag_sim_seek(const struct frag_sim *sim, const struct frag_event *ev)
{
	const struct frag_request rq = frag_request_of(ev);
	struct frag_sought sought = { .list = FRAG_NO_LIST, .bytes = ev->bytes };
	const struct frag_policy *p;

	FRAG_ASSERT(ev->device < sim->device_count && !sim->retired);
	p = &sim->engines[ev->device].policy;
	if (!p->ops->seek)
		return sought;
	/* within a step it has been entered already */
	if (!sim->busy)
		frag_sim_enter_plugin(sim, &sim->step);
	sought = p->ops->seek(p, &rq);
	if (!sim->busy)
		frag_sim_leave_plugin(sim);
	/* whatever it says, a block is as large as its request */
	sought.bytes = sought.bytes > ev->bytes ? sought.bytes : ev->bytes;
	return sought;
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
	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	FRAG_ASSERT(slot < sim->slot_count && sim->slots[slot].block < SLOT_FIRST_STATE);
	return frag_heap_address(sim->engines[device].policy.heap, sim->slots[slot].block);
}

void frag_sim_interval(const struct frag_sim *sim, uint32_t device, uint64_t *min_capacity,
		       uint64_t *end_capacity)
{
	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	*min_capacity = sim->engines[device].device.min_capacity;
	*end_capacity = sim->engines[device].device.end_capacity;
}

/* What a live block takes in a heap: its record, and its share of segments and lists. */
#define BLOCK_BYTES 128

/* A long free list has bins, which are the larger part of a small heap. */
uint64_t frag_sim_bytes(const struct frag_sim *sim)
{
	uint64_t bytes = sizeof(*sim) + sim->slot_count * sizeof(*sim->slots);

	FRAG_ASSERT(!sim->retired);
	for (uint32_t d = 0; d < sim->device_count; d++) {
		const struct frag_index *x = &sim->engines[d].policy.heap->index;

		bytes += sizeof(*sim->engines)
			 + (uint64_t)sim->engines[d].totals->blocks * BLOCK_BYTES;
		for (uint32_t i = 0; i < x->count; i++)
			bytes += x->lists[i].bins ? sizeof(*x->lists[i].bins) : 0;
	}
	return bytes;
}
