/* sim_capacity.c - a simulation that goes on with another total than it began with. */
#include "engine/sim.h"
#include "heap/heap_inline.h"

/* What a live block takes in a heap: its record, and its share of segments and lists. */
#define BLOCK_BYTES 128

/* A policy, and the total that its ranges were made under. */
struct retotal {
	const struct frag_policy *policy;
	uint64_t was;
};

static uint64_t resized(void *ctx, uint64_t page, uint64_t bytes, uint64_t end)
{
	const struct retotal *r = ctx;

	return r->policy->ops->range_bytes(r->policy, page, bytes, end, r->was);
}

bool frag_sim_retotal(struct frag_sim *sim, uint32_t device, uint64_t total)
{
	struct frag_engine *e = &sim->engines[device];
	struct retotal r = { .policy = &e->policy, .was = e->device.total };

	FRAG_ASSERT(device < sim->device_count);
	if (!total || total < e->device.min_capacity || total >= e->device.end_capacity
	    || sim->options.level != FRAG_LEVEL_SURVIVE || sim->plugged || sim->retired
	    || e->device.ops != &frag_device_simulated)
		return false;
	e->device.total = sim->devices.figures[device].total = total;
	frag_device_limit(&e->device, e->device.fraction);
	if (e->policy.ops->range_bytes)
		frag_heap_resize_ranges(e->policy.heap, &r, resized);
	return true;
}

void frag_sim_interval(const struct frag_sim *sim, uint32_t device, uint64_t *min_capacity,
		       uint64_t *end_capacity)
{
	FRAG_ASSERT(device < sim->device_count && !sim->retired);
	*min_capacity = sim->engines[device].device.min_capacity;
	*end_capacity = sim->engines[device].device.end_capacity;
}

/* A long free list has a table, which is the larger part of a small heap. */
static uint64_t table_bytes(const struct frag_index *x)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < x->count; i++)
		bytes += x->lists[i].bins ? sizeof(*x->lists[i].bins) : 0;
	return bytes;
}

uint64_t frag_sim_bytes(const struct frag_sim *sim)
{
	uint64_t bytes = sizeof(*sim) + sim->slot_count * sizeof(*sim->slots);

	for (uint32_t d = 0; d < sim->device_count; d++)
		bytes += sizeof(*sim->engines)
			 + (uint64_t)sim->engines[d].totals->blocks * BLOCK_BYTES
			 + table_bytes(&sim->engines[d].policy.heap->index);
	return bytes;
}
