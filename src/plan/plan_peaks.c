/* plan_peaks.c - what a plan comes to, of devices and in percent. */
#include "plan/plan.h"

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
	return bound ? 100.0 * ((double)(height - bound) / (double)bound) : 0;
}
