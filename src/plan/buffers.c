/*
 * buffers.c - the buffers of a trace: how much is needed from which step to which, and how high a
 * plan of them is.
 *
 * A plan for many periods at once has slots: a buffer is the k-th request of each of them, as
 * large as the largest one was. Time is then counted in requests of a device since the period
 * began, which is what a policy that follows the plan counts, and what periods of different
 * steps have in common. A slot lives from its request to the last request before its free, in any
 * of the periods. One that is still allocated when another period begins lives all the time, so
 * that no other buffer of the plan shares a byte with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "plan/plan.h"
#include "trace/reader.h"

/* Is it a mark of such a name, in which * is any characters and ? one? NULL: no name is. */
static bool plan_is_mark(const struct frag_event *ev, const char *name)
{
	return name && ev->op == FRAG_OP_MARK
	       && frag_glob_fits(name, ev->text.text, ev->text.length);
}

/*
 * The space of a device's pool, which may be a new one, in its order among those of the buffers
 * before `count`; UINT32_MAX: out of memory.
 */
static uint32_t plan_space_of(struct frag_plan *plan, const struct frag_tape *tape,
			      const struct frag_buffer *b, uint32_t count)
{
	struct frag_space_plan *s = plan->spaces;
	uint32_t at;

	FRAG_COUNT_WHILE(at, plan->space_count,
			 frag_order_two(s[at].device, b->device, s[at].pool, b->pool) < 0);
	if (at < plan->space_count && s[at].device == b->device && s[at].pool == b->pool)
		return at;
	if (!FRAG_GROW(plan->spaces, plan->space_capacity, plan->space_count))
		return UINT32_MAX;
	s = &plan->spaces[at];
	memmove(s + 1, s, (plan->space_count++ - at) * sizeof(*s));
	for (uint32_t i = 0; i < count; i++)
		plan->buffers[i].space += plan->buffers[i].space >= at;
	*s = (struct frag_space_plan){ .device = b->device, .pool = b->pool };
	s->pool_name = frag_pool_json(tape, b->pool);
	return s->pool_name ? at : UINT32_MAX;
}

/* A block that is live. */
struct held {
	uint32_t buffer;                /* and 1; 0: none */
	uint64_t period;
};

/* The requests of a device, for slots. */
struct counted {
	uint32_t *buffers;              /* of the k-th */
	uint32_t known, capacity;
	uint32_t now;                   /* of this period, so far */
};

/* While the tape is read. */
struct taking {
	struct frag_plan *plan;
	const struct frag_tape *tape;
	const struct frag_stretch_marks *marks;
	struct held *held;              /* by slot of the tape */
	uint32_t held_count, held_capacity;
	struct counted *devices;        /* of slots; else NULL */
	uint32_t device_count;
	bool within;                    /* the interval or a period */
	bool closed;                    /* one was ended by a mark */
	uint64_t last;                  /* step */
	double now;                     /* the last time */
};

/* A new buffer of a device's pool, with nothing else; NULL: out of memory. */
static struct frag_buffer *buffers_add(struct taking *t, const struct frag_event *ev)
{
	struct frag_plan *plan = t->plan;
	struct frag_buffer *b;

	if (!FRAG_GROW(plan->buffers, plan->capacity, plan->count))
		return NULL;
	b = &plan->buffers[plan->count++];
	*b = (struct frag_buffer){ .device = ev->device, .pool = ev->pool };
	return b;
}

/* The buffer of the device's k-th request in this period, a new one where no earlier one had k. */
static struct frag_buffer *slots_buffer_of(struct taking *t, const struct frag_event *ev)
{
	struct counted *d = &t->devices[ev->device];
	const uint32_t k = d->now++;
	struct frag_buffer *b;

	FRAG_ASSERT(ev->device < t->device_count && k <= d->known);
	if (k < d->known)
		return &t->plan->buffers[d->buffers[k]];
	b = FRAG_GROW(d->buffers, d->capacity, k) ? buffers_add(t, ev) : NULL;
	if (!b)
		return NULL;
	d->buffers[d->known++] = t->plan->count - 1;
	b->birth = b->id.number = k;
	b->end = k + UINT64_C(1);
	return b;
}

/* A request whose pool is not that of the first one at k takes no part: no place is in both. */
static bool buffers_take(struct taking *t, const struct frag_event *ev)
{
	struct frag_buffer *b = t->devices ? slots_buffer_of(t, ev) : buffers_add(t, ev);
	const uint64_t align = t->plan->align;

	if (!b || !FRAG_EXTEND(t->held, t->held_capacity, t->held_count, ev->slot))
		return false;
	FRAG_ASSERT(!t->held[ev->slot].buffer);
	if (b->pool != ev->pool)
		return true;
	if (!t->devices) {
		b->birth = ev->step;
		b->end = UINT64_MAX;
		b->id = ev->id;
		b->life = -t->now;
	}
	b->requested = frag_max(b->requested, ev->bytes);
	b->size = b->requested + (align - b->requested % align) % align;
	t->held[ev->slot] = (struct held){
		.buffer = (uint32_t)(b - t->plan->buffers) + 1, .period = t->plan->periods,
	};
	return true;
}

/* A slot ends at the count of requests or later, or is carried into another period. */
static void buffers_end(struct taking *t, uint32_t slot)
{
	struct frag_plan *plan = t->plan;
	struct frag_buffer *b;

	if (slot >= t->held_count || !t->held[slot].buffer)
		return;
	b = &plan->buffers[t->held[slot].buffer - 1];
	t->held[slot].buffer = 0;
	b->life += t->now;
	if (!t->devices)
		b->end = t->last;
	else if (t->held[slot].period == plan->periods)
		b->end = frag_max(b->end, t->devices[b->device].now);
	else
		b->carried = true;
}

/* The mark of the end may begin the next period, so that comes second; there 0 bytes take nothing. */
static bool buffers_take_event(struct taking *t, const struct frag_event *ev)
{
	t->last = ev->step;
	t->now = ev->members & FRAG_HAS_T ? ev->t : t->now;
	if (t->within && plan_is_mark(ev, t->marks->to)) {
		t->within = false;
		t->closed = true;
		t->plan->to = ev->step;
	}
	if (plan_is_mark(ev, t->marks->from) && (t->devices || !(t->within || t->closed))) {
		if (!t->within && !t->closed)
			t->plan->from = ev->step;
		t->within = true;
		t->plan->periods += t->devices != NULL;
		for (uint32_t d = 0; d < t->device_count; d++)
			t->devices[d].now = 0;
	}
	if (ev->op == FRAG_OP_FREE && !ev->waits)
		buffers_end(t, ev->slot);
	for (uint32_t i = 0; i < ev->ended_count; i++)
		buffers_end(t, ev->ended[i].slot);
	return ev->op != FRAG_OP_ALLOC || (t->devices && (!ev->bytes || !t->within))
	       || buffers_take(t, ev);
}

/* The tape is read to its end for slots, because the last period may have no mark that ends it. */
static int buffers_take_all(struct taking *t, struct frag_error *err)
{
	struct frag_tape_walk walk = { .reader = frag_tape_reader_new(t->tape) };
	const struct frag_stretch_marks *m = t->marks;
	const struct frag_event *ev;
	bool good = walk.reader != NULL;

	while (good && (t->devices || !t->closed) && (ev = frag_tape_walk_next(&walk)))
		good = buffers_take_event(t, ev);
	frag_tape_reader_del(walk.reader);
	if (!good)
		return frag_fail_nomem(err);
	if (m->from && !t->within && !t->closed)
		return frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" in the trace", m->from);
	if (m->to && !t->closed)
		return frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" after \"%.80s\"", m->to,
				 m->from);
	return 0;
}

static int slots_by_birth(const void *one, const void *other)
{
	const struct frag_buffer *a = one, *b = other;

	if (a->birth != b->birth)
		return a->birth < b->birth ? -1 : 1;
	return frag_order_two(a->id.number, b->id.number, a->space, b->space);
}

/*
 * Buffers that are not freed end at the last step, and those of before the interval begin with it. A
 * slot that another period carries over is there all the time. Only now are requests of 0 bytes
 * removed.
 */
static int buffers_settle(struct taking *t, struct frag_error *err)
{
	struct frag_plan *plan = t->plan;
	uint32_t kept = 0;

	if (t->within)
		plan->to = t->last + (plan->count > 0);
	for (uint32_t i = 0; i < t->held_count && t->devices; i++)
		buffers_end(t, i);
	for (uint32_t i = 0; i < plan->count; i++) {
		struct frag_buffer b = plan->buffers[i];

		if (t->devices) {
			b.birth = b.carried ? 0 : b.birth;
			b.end = b.carried ? t->devices[b.device].known : b.end;
			b.carried = false;
			b.life = 0;
		} else {
			b.life += b.end == UINT64_MAX ? t->now : 0;
			b.end = frag_min(b.end, plan->to);
			b.carried = b.birth < plan->from;
			b.birth = frag_max(b.birth, plan->from);
		}
		if (!b.size || b.birth >= b.end)
			continue;
		b.space = plan_space_of(plan, t->tape, &b, kept);
		if (b.space == UINT32_MAX)
			return frag_fail_nomem(err);
		plan->spaces[b.space].count++;
		plan->buffers[kept++] = b;
	}
	plan->count = kept;
	if (kept && t->devices)
		FRAG_SORT(plan->buffers, kept, slots_by_birth);
	return 0;
}

static int buffers_gaps_order(const void *one, const void *other)
{
	const struct frag_plan_gap *a = one, *b = other;

	return frag_order_two(a->buffer, b->buffer, a->from, b->from);
}

/* The buffer that is allocated at a step; the count: none. They are in that order. */
static uint32_t buffers_born_at(const struct frag_plan *plan, uint64_t step)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, plan->count, plan->buffers[low].birth < step);
	return low < plan->count && plan->buffers[low].birth == step ? low : plan->count;
}

/* Takes offsets, alignments, hints and gaps that the trace specifies. -FRAG_ENOMEM */
static int take_constraints(struct frag_plan *plan, const struct frag_constraints *constraints,
			    struct frag_error *err)
{
	plan->gaps = malloc((constraints->gap_count + (size_t)1) * sizeof(*plan->gaps));
	if (!plan->gaps)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < constraints->count; i++) {
		const struct frag_constraint *c = &constraints->of[i];
		const uint32_t at = buffers_born_at(plan, c->step);
		struct frag_buffer *b = &plan->buffers[at];

		if (at == plan->count)
			continue;
		b->align = c->align;
		b->hint = c->hint;
		b->hinted = c->hinted;
		b->offset = c->offset;
		b->fixed = c->fixed;
		plan->aligned += c->align > 1;
		plan->hinted += c->hinted;
		plan->fixed += c->fixed;
	}
	for (uint32_t i = 0; i < constraints->gap_count; i++) {
		const struct frag_pause *g = &constraints->gaps[i];
		const uint32_t at = buffers_born_at(plan, g->step);

		if (at < plan->count && g->from < g->to)
			plan->gaps[plan->gap_count++] = (struct frag_plan_gap){ at, g->from, g->to };
	}
	FRAG_SORT(plan->gaps, plan->gap_count, buffers_gaps_order);
	plan->scale = constraints->scale;
	plan->given_by = constraints->by;
	for (uint32_t i = 0; i < plan->space_count && constraints->heights; i++)
		if (!plan->spaces[i].pool)
			plan->spaces[i].given = constraints->heights[plan->spaces[i].device];
	return 0;
}

int frag_plan_buffers(struct frag_plan *plan, const struct frag_tape *tape, uint64_t align,
		      const struct frag_stretch_marks *marks, bool slots,
		      const struct frag_constraints *constraints, struct frag_error *err)
{
	struct taking t = {
		.plan = plan, .tape = tape, .marks = marks, .within = !marks->from,
		.device_count = slots ? frag_tape_info(tape)->device_count : 0,
	};
	int rc = 0;

	*plan = (struct frag_plan){
		.path = frag_input_name(frag_tape_info(tape)->path), .align = align,
		.complete = true, .scale = 1,
	};
	if (slots && !(t.devices = calloc((size_t)t.device_count + 1, sizeof(*t.devices))))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : buffers_take_all(&t, err);
	plan->content = frag_tape_info(tape)->content;
	rc = rc ? rc : buffers_settle(&t, err);
	if (!rc && constraints)
		rc = take_constraints(plan, constraints, err);
	for (uint32_t d = 0; t.devices && d < t.device_count; d++)
		free(t.devices[d].buffers);
	free(t.devices);
	free(t.held);
	return rc;
}

void frag_plan_measure(struct frag_plan *plan)
{
	plan->height = plan->lower = plan->bound = 0;
	for (uint32_t i = 0; i < plan->space_count; i++)
		plan->spaces[i].height = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];
		uint64_t *height = &plan->spaces[b->space].height;

		*height = frag_max(*height, b->offset + b->size);
	}
	for (uint32_t i = 0; i < plan->space_count; i++) {
		const struct frag_space_plan *s = &plan->spaces[i];

		plan->height = frag_max(plan->height, s->height);
		plan->lower = frag_max(plan->lower, s->lower);
		plan->bound = frag_max(plan->bound, s->bound);
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
		most.bound = frag_max(most.bound, device.bound);
		most.height = frag_max(most.height, device.height);
	}
	return most;
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
