/*
 * verify_placement.c - checks that no two buffers of a placement overlap in time and address,
 * and measures it.
 */
#include <inttypes.h>

#include "base/bug.h"
#include "plan/address_space.h"

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

int frag_space_check(const struct frag_space *s, const struct frag_plan *plan,
		     const uint64_t *offset, const char *path, struct frag_error *err)
{
	char one_id[FRAG_PLAN_ID_ROOM], other_id[FRAG_PLAN_ID_ROOM];
	const struct frag_buffer *a, *b;
	uint32_t one, other;
	const int rc = frag_space_overlap(s, offset, &one, &other, err);

	if (rc || one == s->count)
		return rc;
	a = &plan->buffers[s->buffer[one]];
	b = &plan->buffers[s->buffer[other]];
	return frag_fail(err, FRAG_ETRACE,
			 "%s: buffers %s, from step %" PRIu64 " at %" PRIu64 " to %" PRIu64
			 ", and %s, from step %" PRIu64 " at %" PRIu64 " to %" PRIu64 ", overlap",
			 path, frag_plan_id(one_id, &a->id), a->birth, offset[one],
			 offset[one] + a->size, frag_plan_id(other_id, &b->id), b->birth,
			 offset[other], offset[other] + b->size);
}

/* Measures, of spaces that are not placed too, and checks each space for overlap. */
int frag_plan_verify(struct frag_plan *plan, const char *path, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		struct frag_space s;

		rc = frag_space_init(&s, plan, i, err);
		for (uint32_t k = 0; k < s.count && !rc; k++)
			s.offset[k] = plan->buffers[s.buffer[k]].offset;
		rc = rc ? rc : frag_space_check(&s, plan, s.offset, path, err);
		plan->spaces[i].bound = s.bound;
		plan->spaces[i].lower = s.lower;
		plan->spaces[i].peak_step = s.peak_step;
		frag_space_fini(&s);
	}
	if (!rc)
		frag_plan_measure(plan);
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
