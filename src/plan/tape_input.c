/* tape_input.c - what buffers.c and slots.c share while they read a tape: marks, and spaces. */
#include "plan/tape_input.h"

#include <stdlib.h>

#include "base/glob.h"
#include "base/array_grow.h"

bool frag_plan_is_mark(const struct frag_event *ev, const char *name)
{
	return name && ev->op == FRAG_OP_MARK && frag_glob_fits(name, ev->text.text, ev->text.length);
}

/* Spaces are few, and mostly the last one is meant. */
uint32_t frag_plan_space_of(struct frag_plan *plan, const struct frag_tape *tape, uint32_t device,
			    uint32_t pool)
{
	struct frag_space_plan *s;

	for (uint32_t i = plan->space_count; i > 0; i--)
		if (plan->spaces[i - 1].device == device && plan->spaces[i - 1].pool == pool)
			return i - 1;
	if (!frag_grow(&plan->spaces, &plan->space_capacity, (uint64_t)plan->space_count + 1,
		       sizeof(*plan->spaces)))
		return UINT32_MAX;
	s = &plan->spaces[plan->space_count];
	*s = (struct frag_space_plan){ .device = device, .pool = pool };
	s->pool_name = frag_pool_json(tape, pool);
	return s->pool_name ? plan->space_count++ : UINT32_MAX;
}

static int by_device(const void *one, const void *other)
{
	const struct frag_space_plan *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->pool < b->pool ? -1 : a->pool > b->pool;
}

int frag_plan_order_spaces(struct frag_plan *plan, struct frag_error *err)
{
	uint32_t *now = calloc((size_t)plan->space_count + 1, sizeof(*now)), kept = 0;

	if (!now)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].try_count = i;
	if (plan->space_count)
		qsort(plan->spaces, plan->space_count, sizeof(*plan->spaces), by_device);
	for (uint32_t i = 0; i < plan->space_count; i++) {
		struct frag_space_plan s = plan->spaces[i];

		if (!s.count) {
			free(s.pool_name);
			continue;
		}
		now[s.try_count] = kept;
		s.try_count = 0;
		plan->spaces[kept++] = s;
	}
	plan->space_count = kept;
	for (uint32_t i = 0; i < plan->count; i++)
		plan->buffers[i].space = now[plan->buffers[i].space];
	free(now);
	return 0;
}
