/*
 * verify_placement.c - checks that no two buffers of a placement overlap in time and address,
 * and measures it.
 */
#include <stdlib.h>

#include "base/bug.h"
#include "plan/address_space.h"

static void verify_placement_measure(struct frag_plan *plan)
{
	plan->height = plan->lower = plan->bound = 0;
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].height = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];
		struct frag_space_plan *s = &plan->spaces[b->space];

		if (b->offset + b->size > s->height)
			s->height = b->offset + b->size;
	}
	for (uint32_t i = 0; i < plan->space_count; i++) {
		const struct frag_space_plan *s = &plan->spaces[i];

		plan->height = s->height > plan->height ? s->height : plan->height;
		plan->lower = s->lower > plan->lower ? s->lower : plan->lower;
		plan->bound = s->bound > plan->bound ? s->bound : plan->bound;
	}
}

int frag_plan_sweep(struct frag_plan *plan, bool fixed, uint32_t *one, uint32_t *other,
		    struct frag_error *err)
{
	size_t count;
	struct frag_space_change *changes = frag_plan_changes(plan, &count);
	struct frag_ranges ranges = { .of = NULL };
	int rc = changes ? frag_ranges_init(&ranges, plan->count, err) : frag_fail_nomem(err);

	*one = *other = plan->count;
	for (uint32_t s = 0; s < plan->space_count && !rc && *one == plan->count; s++) {
		ranges.root = FRAG_NO_RANGE;
		for (size_t i = 0; i < count && *one == plan->count; i++) {
			const uint32_t at = changes[i].buffer;
			const struct frag_buffer *b = &plan->buffers[at];
			uint32_t met;

			FRAG_ASSERT(b->space < plan->space_count);
			if (b->space != s || (fixed && !b->fixed))
				continue;
			if (!changes[i].birth) {
				frag_ranges_remove(&ranges, at);
				continue;
			}
			met = frag_ranges_meet(&ranges, b->offset, b->offset + b->size);
			if (met == FRAG_NO_RANGE) {
				frag_ranges_add(&ranges, at, b->offset, b->offset + b->size);
				continue;
			}
			*one = at;
			*other = met;
		}
	}
	if (!rc)
		verify_placement_measure(plan);
	frag_ranges_fini(&ranges);
	free(changes);
	return rc;
}

struct frag_plan_needs frag_plan_needs(const struct frag_plan *plan)
{
	struct frag_plan_needs most = { .bound = 0 }, device = most;

	for (uint32_t i = 0; i < plan->space_count; i++) {
		const struct frag_space_plan *s = &plan->spaces[i];

		if (!i || s->device != plan->spaces[i - 1].device)
			device = (struct frag_plan_needs){ .bound = 0 };
		device.bound += s->lower;
		device.height += s->height;
		most.bound = device.bound > most.bound ? device.bound : most.bound;
		most.height = device.height > most.height ? device.height : most.height;
	}
	return most;
}

uint64_t frag_plan_segments(const struct frag_plan *plan, uint32_t device, uint64_t page)
{
	uint64_t sum = 0, rest;

	for (uint32_t i = 0; i < plan->space_count; i++) {
		if (plan->spaces[i].device != device)
			continue;
		rest = page ? plan->spaces[i].height % page : 0;
		sum += plan->spaces[i].height + (rest ? page - rest : 0);
	}
	return sum;
}

double frag_plan_gap_pct(uint64_t bound, uint64_t height)
{
	FRAG_ASSERT(height >= bound);
	return bound ? 100.0 * ((double)(height - bound) / (double)bound) : 0;
}
