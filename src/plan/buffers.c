/* buffers.c - the buffers of a trace: how much is needed from which step to which. */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "events/recording_info.h"
#include "plan/plan.h"

bool frag_plan_is_mark(const struct frag_event *ev, const char *name)
{
	return name && ev->op == FRAG_OP_MARK
	       && frag_glob_fits(name, ev->text.text, ev->text.length);
}

/* Spaces are few, and mostly the last one is meant. */
uint32_t frag_plan_space_of(struct frag_plan *plan, const struct frag_tape *tape, uint32_t device,
			    uint32_t pool)
{
	struct frag_space_plan *s;

	for (uint32_t i = plan->space_count; i > 0; i--)
		if (plan->spaces[i - 1].device == device && plan->spaces[i - 1].pool == pool)
			return i - 1;
	if (!FRAG_GROW(plan->spaces, plan->space_capacity, plan->space_count))
		return UINT32_MAX;
	s = &plan->spaces[plan->space_count];
	*s = (struct frag_space_plan){ .device = device, .pool = pool };
	s->pool_name = frag_pool_json(tape, pool);
	return s->pool_name ? plan->space_count++ : UINT32_MAX;
}

static int buffers_by_device(const void *one, const void *other)
{
	const struct frag_space_plan *a = one, *b = other;

	return frag_order_two(a->device, b->device, a->pool, b->pool);
}

int frag_plan_order_spaces(struct frag_plan *plan, struct frag_error *err)
{
	uint32_t *now = calloc((size_t)plan->space_count + 1, sizeof(*now)), kept = 0;

	if (!now)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].try_count = i;
	if (plan->space_count)
		qsort(plan->spaces, plan->space_count, sizeof(*plan->spaces), buffers_by_device);
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

/* While the tape is read. */
struct taking {
	struct frag_plan *plan;
	const struct frag_tape *tape;
	const struct frag_stretch_marks *marks;
	uint32_t *of_slot;              /* the buffer that is live there, and 1; 0: none */
	uint32_t slot_capacity;
	bool begun, ended;
	uint64_t last;                  /* step */
	double now;                     /* the last time */
};

static bool slot_room(struct taking *t, uint32_t slot)
{
	const uint32_t had = t->slot_capacity;

	if (!FRAG_GROW(t->of_slot, t->slot_capacity, slot))
		return false;
	memset(t->of_slot + had, 0, (t->slot_capacity - had) * sizeof(*t->of_slot));
	return true;
}

static bool buffers_take(struct taking *t, const struct frag_event *ev)
{
	struct frag_plan *plan = t->plan;
	const uint64_t rest = ev->bytes % plan->align;
	struct frag_buffer *b;

	if (!FRAG_GROW(plan->buffers, plan->capacity, plan->count) || !slot_room(t, ev->slot))
		return false;
	b = &plan->buffers[plan->count];
	*b = (struct frag_buffer){
		.birth = ev->step, .end = UINT64_MAX, .requested = ev->bytes, .id = ev->id,
		.life = -t->now,
		.size = rest ? ev->bytes + (plan->align - rest) : ev->bytes,
		.space = frag_plan_space_of(plan, t->tape, ev->device, ev->pool),
	};
	t->of_slot[ev->slot] = ++plan->count;
	return b->space != UINT32_MAX;
}

static void buffers_end(struct taking *t, uint32_t slot, uint64_t step)
{
	if (slot >= t->slot_capacity || !t->of_slot[slot])
		return;
	t->plan->buffers[t->of_slot[slot] - 1].end = step;
	t->plan->buffers[t->of_slot[slot] - 1].life += t->now;
	t->of_slot[slot] = 0;
}

/* A buffer that is live when the interval begins starts there; those that ended are removed. */
static int buffers_begin(struct taking *t, uint64_t step, struct frag_error *err)
{
	struct frag_plan *plan = t->plan;
	uint32_t *now = calloc((size_t)plan->count + 1, sizeof(*now)), kept = 0;

	if (!now)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < plan->count; i++) {
		if (plan->buffers[i].end != UINT64_MAX)
			continue;
		plan->buffers[kept] = plan->buffers[i];
		plan->buffers[kept].birth = step;
		plan->buffers[kept].carried = true;
		now[i] = ++kept;
	}
	for (uint32_t i = 0; i < t->slot_capacity; i++)
		if (t->of_slot[i])
			t->of_slot[i] = now[t->of_slot[i] - 1];
	plan->count = kept;
	plan->from = step;
	t->begun = true;
	free(now);
	return 0;
}

static int buffers_take_event(struct taking *t, const struct frag_event *ev, struct frag_error *err)
{
	int rc = 0;

	t->last = ev->step;
	t->now = ev->members & FRAG_HAS_T ? ev->t : t->now;
	if (t->begun && frag_plan_is_mark(ev, t->marks->to)) {
		t->ended = true;
		return 0;
	}
	if (!t->begun && frag_plan_is_mark(ev, t->marks->from))
		rc = buffers_begin(t, ev->step, err);
	if (ev->op == FRAG_OP_FREE && !ev->waits)
		buffers_end(t, ev->slot, ev->step);
	for (uint32_t i = 0; i < ev->ended_count; i++)
		buffers_end(t, ev->ended[i].slot, ev->step);
	if (!rc && ev->op == FRAG_OP_ALLOC && !buffers_take(t, ev))
		rc = frag_fail_nomem(err);
	return rc;
}

static int buffers_take_all(struct taking *t, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(t->tape);
	struct frag_batch batch = { .count = 0 };
	int rc = 0;

	if (!reader)
		return frag_fail_nomem(err);
	while (!rc && !t->ended && (frag_tape_next(reader, UINT64_MAX, &batch), batch.count))
		for (uint32_t i = 0; i < batch.count && !rc && !t->ended; i++)
			rc = buffers_take_event(t, &batch.events[i], err);
	frag_tape_reader_del(reader);
	return rc;
}

/* Buffers that are not freed end at the last step. Only now are requests of 0 bytes removed. */
static void buffers_settle(struct taking *t)
{
	struct frag_plan *plan = t->plan;
	uint32_t kept = 0;

	plan->to = t->ended ? t->last : t->last + (plan->count > 0);
	for (uint32_t i = 0; i < plan->count; i++) {
		struct frag_buffer b = plan->buffers[i];

		b.life += b.end == UINT64_MAX ? t->now : 0;
		if (b.end > plan->to)
			b.end = plan->to;
		if (!b.size || b.birth >= b.end)
			continue;
		plan->spaces[b.space].count++;
		plan->buffers[kept++] = b;
	}
	plan->count = kept;
}

int frag_plan_buffers(struct frag_plan *plan, const struct frag_tape *tape, uint64_t align,
		      const struct frag_stretch_marks *marks, struct frag_error *err)
{
	struct taking t = { .plan = plan, .tape = tape, .marks = marks, .begun = !marks->from };
	int rc;

	*plan = (struct frag_plan){
		.content = frag_tape_info(tape)->content, .align = align, .complete = true,
		.scale = 1,
	};
	rc = buffers_take_all(&t, err);
	free(t.of_slot);
	if (!rc && !t.begun)
		rc = frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" in the trace", marks->from);
	if (!rc && marks->to && !t.ended)
		rc = frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" after \"%.80s\"", marks->to,
			       marks->from);
	if (rc)
		return rc;
	buffers_settle(&t);
	return frag_plan_order_spaces(plan, err);
}

void frag_plan_fini(struct frag_plan *plan)
{
	for (uint32_t i = 0; i < plan->space_count; i++)
		free(plan->spaces[i].pool_name);
	free(plan->spaces);
	free(plan->buffers);
	free(plan->gaps);
	*plan = (struct frag_plan){ .count = 0 };
}
