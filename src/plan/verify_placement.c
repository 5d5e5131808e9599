/* verify_placement.c - the heights of a placed plan, by space, device and page. */
#include "base/bug.h"
#include "plan/plan.h"

void frag_plan_measure(struct frag_plan *plan)
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
