/*
 * periodic_plan.c - a plan for many periods at once: a buffer is the k-th request of each of
 * them, as large as the largest one was.
 *
 * Time is counted in requests of a device since the period began, which is what a policy that
 * follows the plan counts, and what periods of different steps have in common. A slot lives from
 * its request to the last request before its free, in any of the periods. One that is still
 * allocated when another period begins lives all the time, so that no other buffer of the plan
 * shares a byte with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "plan/plan.h"

/* A block that is live. */
struct held {
	uint32_t buffer;                /* and 1; 0: none */
	uint64_t period;
};

/* The requests of a device. */
struct counted {
	uint32_t *buffers;              /* of the k-th */
	uint32_t known, capacity;
	uint32_t now;                   /* of this period, so far */
};

struct slots {
	struct frag_plan *plan;
	const struct frag_tape *tape;
	const struct frag_stretch_marks *marks;
	struct counted *devices;
	uint32_t device_count;
	struct held *held;              /* by slot of the tape */
	uint32_t held_capacity;
	bool within;                    /* a period */
	bool closed;                    /* one was ended by a mark */
	uint64_t last;                  /* step */
};

static bool held_room(struct slots *s, uint32_t slot)
{
	const uint32_t had = s->held_capacity;

	if (!FRAG_GROW(s->held, s->held_capacity, slot))
		return false;
	memset(s->held + had, 0, (s->held_capacity - had) * sizeof(*s->held));
	return true;
}

/* The buffer of the device's k-th request, a new one where no earlier period reached k. */
static struct frag_buffer *periodic_plan_buffer_of(struct slots *s, const struct frag_event *ev,
						   uint32_t k)
{
	struct counted *d = &s->devices[ev->device];
	struct frag_plan *plan = s->plan;

	if (k < d->known)
		return &plan->buffers[d->buffers[k]];
	if (!FRAG_GROW(plan->buffers, plan->capacity, plan->count)
	    || !FRAG_GROW(d->buffers, d->capacity, k))
		return NULL;
	plan->buffers[plan->count] = (struct frag_buffer){
		.birth = k, .end = k + UINT64_C(1), .id = { .number = k },
		.space = frag_plan_space_of(plan, s->tape, ev->device, ev->pool),
	};
	if (plan->buffers[plan->count].space == UINT32_MAX)
		return NULL;
	plan->spaces[plan->buffers[plan->count].space].count++;
	d->buffers[d->known++] = plan->count;
	return &plan->buffers[plan->count++];
}

/* A request whose pool is not that of the first one at k takes no part: no place is in both. */
static bool periodic_plan_take(struct slots *s, const struct frag_event *ev)
{
	struct counted *d = &s->devices[ev->device];
	struct frag_buffer *b = periodic_plan_buffer_of(s, ev, d->now);
	const uint64_t rest = ev->bytes % s->plan->align;
	const uint64_t size = rest ? ev->bytes + (s->plan->align - rest) : ev->bytes;

	if (!b || !held_room(s, ev->slot))
		return false;
	d->now++;
	if (s->plan->spaces[b->space].pool != ev->pool)
		return true;
	if (size > b->size)
		b->size = size;
	if (ev->bytes > b->requested)
		b->requested = ev->bytes;
	s->held[ev->slot] = (struct held){
		.buffer = (uint32_t)(b - s->plan->buffers) + 1, .period = s->plan->periods,
	};
	return true;
}

/* The block is freed: its buffer ends at the count of requests or later, or is carried. */
static void periodic_plan_end(struct slots *s, uint32_t slot)
{
	struct frag_buffer *b;
	struct held *held;
	uint64_t now;

	if (slot >= s->held_capacity || !s->held[slot].buffer)
		return;
	held = &s->held[slot];
	b = &s->plan->buffers[held->buffer - 1];
	now = s->devices[s->plan->spaces[b->space].device].now;
	if (held->period != s->plan->periods)
		b->carried = true;
	else if (now > b->end)
		b->end = now;
	held->buffer = 0;
}

/* The mark of the end may begin the next period, so that comes second; 0 bytes take nothing. */
static bool periodic_plan_take_event(struct slots *s, const struct frag_event *ev)
{
	s->last = ev->step;
	if (s->within && frag_plan_is_mark(ev, s->marks->to)) {
		s->within = false;
		s->closed = true;
		s->plan->to = ev->step;
	}
	if (frag_plan_is_mark(ev, s->marks->from)) {
		if (!s->plan->periods++)
			s->plan->from = ev->step;
		s->within = true;
		for (uint32_t d = 0; d < s->device_count; d++)
			s->devices[d].now = 0;
	}
	if (ev->op == FRAG_OP_FREE && !ev->waits)
		periodic_plan_end(s, ev->slot);
	for (uint32_t i = 0; i < ev->ended_count; i++)
		periodic_plan_end(s, ev->ended[i].slot);
	return ev->op != FRAG_OP_ALLOC || !ev->bytes || !s->within || periodic_plan_take(s, ev);
}

static int periodic_plan_take_all(struct slots *s, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(s->tape);
	struct frag_batch batch = { .count = 0 };
	bool good = reader != NULL;

	while (good && (frag_tape_next(reader, UINT64_MAX, &batch), batch.count))
		for (uint32_t i = 0; i < batch.count && good; i++)
			good = periodic_plan_take_event(s, &batch.events[i]);
	frag_tape_reader_del(reader);
	return good ? 0 : frag_fail_nomem(err);
}

static int periodic_plan_by_birth(const void *one, const void *other)
{
	const struct frag_buffer *a = one, *b = other;

	if (a->birth != b->birth)
		return a->birth < b->birth ? -1 : 1;
	return frag_order_two(a->id.number, b->id.number, a->space, b->space);
}

/* What is live yet, and lives: what another period carries over is there all the time. */
static void periodic_plan_settle(struct slots *s)
{
	struct frag_plan *plan = s->plan;

	for (uint32_t i = 0; i < s->held_capacity; i++)
		periodic_plan_end(s, i);
	for (uint32_t i = 0; i < plan->count; i++) {
		struct frag_buffer *b = &plan->buffers[i];

		if (!b->carried)
			continue;
		b->carried = false;
		b->birth = 0;
		b->end = s->devices[plan->spaces[b->space].device].known;
	}
	if (s->within)
		plan->to = s->last + 1;
	if (plan->count)
		qsort(plan->buffers, plan->count, sizeof(*plan->buffers), periodic_plan_by_birth);
}

/* The tape is read to its end, because the last period may have no mark that ends it. */
int frag_plan_slots(struct frag_plan *plan, const struct frag_tape *tape, uint64_t align,
		    const struct frag_stretch_marks *marks, struct frag_error *err)
{
	struct slots s = {
		.plan = plan, .tape = tape, .marks = marks,
		.device_count = frag_tape_info(tape)->device_count,
	};
	int rc;

	*plan = (struct frag_plan){ .align = align, .complete = true, .scale = 1 };
	s.devices = calloc((size_t)s.device_count + 1, sizeof(*s.devices));
	rc = s.devices ? periodic_plan_take_all(&s, err) : frag_fail_nomem(err);
	plan->content = frag_tape_info(tape)->content;
	if (!rc && !plan->periods)
		rc = frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" in the trace", marks->from);
	if (!rc && !s.closed)
		rc = frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" after \"%.80s\"", marks->to,
			       marks->from);
	if (!rc)
		periodic_plan_settle(&s);
	for (uint32_t d = 0; s.devices && d < s.device_count; d++)
		free(s.devices[d].buffers);
	free(s.devices);
	free(s.held);
	return rc ? rc : frag_plan_order_spaces(plan, err);
}

void frag_plan_slots_by_request(struct frag_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		plan->buffers[i].birth = plan->buffers[i].id.number;
	if (plan->count)
		qsort(plan->buffers, plan->count, sizeof(*plan->buffers), periodic_plan_by_birth);
}
