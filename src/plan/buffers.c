/*
 * buffers.c - the buffers of a trace: how much is needed from which step to which.
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
 * The space of a device's pool, which may be a new one; UINT32_MAX: out of memory. Spaces are few,
 * and mostly the last one is meant.
 */
static uint32_t plan_space_of(struct frag_plan *plan, const struct frag_tape *tape,
			      uint32_t device, uint32_t pool)
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

/* At the end: spaces without buffers go, and the others are put in order. -FRAG_ENOMEM */
static int plan_order_spaces(struct frag_plan *plan, struct frag_error *err)
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
	uint32_t slot_count, slot_capacity;
	bool begun, ended;
	uint64_t last;                  /* step */
	double now;                     /* the last time */
};

static uint64_t rounded(const struct frag_plan *plan, uint64_t bytes)
{
	const uint64_t rest = bytes % plan->align;

	return rest ? bytes + (plan->align - rest) : bytes;
}

/* The tape ended before a mark. */
static int no_mark(const char *name, const char *after, struct frag_error *err)
{
	return after ? frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" after \"%.80s\"", name, after)
		     : frag_fail(err, FRAG_EUSAGE, "no mark \"%.80s\" in the trace", name);
}

static bool buffers_take(struct taking *t, const struct frag_event *ev)
{
	struct frag_plan *plan = t->plan;
	struct frag_buffer *b;

	if (!FRAG_GROW(plan->buffers, plan->capacity, plan->count)
	    || !FRAG_EXTEND(t->of_slot, t->slot_capacity, t->slot_count, ev->slot))
		return false;
	FRAG_ASSERT(!t->of_slot[ev->slot]);
	b = &plan->buffers[plan->count];
	*b = (struct frag_buffer){
		.birth = ev->step, .end = UINT64_MAX, .requested = ev->bytes, .id = ev->id,
		.life = -t->now,
		.size = rounded(plan, ev->bytes),
		.space = plan_space_of(plan, t->tape, ev->device, ev->pool),
	};
	t->of_slot[ev->slot] = ++plan->count;
	return b->space != UINT32_MAX;
}

static void buffers_end(struct taking *t, uint32_t slot, uint64_t step)
{
	if (slot >= t->slot_count || !t->of_slot[slot])
		return;
	FRAG_ASSERT(t->of_slot[slot] <= t->plan->count);
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
	for (uint32_t i = 0; i < t->slot_count; i++)
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
	if (t->begun && plan_is_mark(ev, t->marks->to)) {
		t->ended = true;
		return 0;
	}
	if (!t->begun && plan_is_mark(ev, t->marks->from))
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
	struct frag_tape_walk walk = { .reader = frag_tape_reader_new(t->tape) };
	const struct frag_event *ev;
	int rc = walk.reader ? 0 : frag_fail_nomem(err);

	while (!rc && !t->ended && (ev = frag_tape_walk_next(&walk)))
		rc = buffers_take_event(t, ev, err);
	frag_tape_reader_del(walk.reader);
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
		b.end = frag_min(b.end, plan->to);
		if (!b.size || b.birth >= b.end)
			continue;
		FRAG_ASSERT(b.space < plan->space_count);
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
		.path = frag_input_name(frag_tape_info(tape)->path),
		.content = frag_tape_info(tape)->content, .align = align, .complete = true,
		.scale = 1,
	};
	rc = buffers_take_all(&t, err);
	free(t.of_slot);
	if (!rc && !t.begun)
		rc = no_mark(marks->from, NULL, err);
	if (!rc && marks->to && !t.ended)
		rc = no_mark(marks->to, marks->from, err);
	if (rc)
		return rc;
	buffers_settle(&t);
	return plan_order_spaces(plan, err);
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

int frag_plan_constraints(struct frag_plan *plan, const struct frag_constraints *constraints,
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
	if (plan->gap_count)
		qsort(plan->gaps, plan->gap_count, sizeof(*plan->gaps), buffers_gaps_order);
	plan->scale = constraints->scale;
	plan->given_by = constraints->by;
	for (uint32_t i = 0; i < plan->space_count && constraints->heights; i++)
		if (!plan->spaces[i].pool)
			plan->spaces[i].given = constraints->heights[plan->spaces[i].device];
	return 0;
}

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
	uint32_t held_count, held_capacity;
	bool within;                    /* a period */
	bool closed;                    /* one was ended by a mark */
	uint64_t last;                  /* step */
};

/* The buffer of the device's k-th request, a new one where no earlier period reached k. */
static struct frag_buffer *slots_buffer_of(struct slots *s, const struct frag_event *ev,
						   uint32_t k)
{
	struct counted *d = &s->devices[ev->device];
	struct frag_plan *plan = s->plan;

	FRAG_ASSERT(ev->device < s->device_count && k <= d->known);
	if (k < d->known)
		return &plan->buffers[d->buffers[k]];
	if (!FRAG_GROW(plan->buffers, plan->capacity, plan->count)
	    || !FRAG_GROW(d->buffers, d->capacity, k))
		return NULL;
	plan->buffers[plan->count] = (struct frag_buffer){
		.birth = k, .end = k + UINT64_C(1), .id = { .number = k },
		.space = plan_space_of(plan, s->tape, ev->device, ev->pool),
	};
	if (plan->buffers[plan->count].space == UINT32_MAX)
		return NULL;
	plan->spaces[plan->buffers[plan->count].space].count++;
	d->buffers[d->known++] = plan->count;
	return &plan->buffers[plan->count++];
}

/* A request whose pool is not that of the first one at k takes no part: no place is in both. */
static bool slots_take(struct slots *s, const struct frag_event *ev)
{
	struct counted *d = &s->devices[ev->device];
	struct frag_buffer *b = slots_buffer_of(s, ev, d->now);

	if (!b || !FRAG_EXTEND(s->held, s->held_capacity, s->held_count, ev->slot))
		return false;
	FRAG_ASSERT(!s->held[ev->slot].buffer);
	d->now++;
	if (s->plan->spaces[b->space].pool != ev->pool)
		return true;
	b->size = frag_max(b->size, rounded(s->plan, ev->bytes));
	b->requested = frag_max(b->requested, ev->bytes);
	s->held[ev->slot] = (struct held){
		.buffer = (uint32_t)(b - s->plan->buffers) + 1, .period = s->plan->periods,
	};
	return true;
}

/* The block is freed: its buffer ends at the count of requests or later, or is carried. */
static void slots_end(struct slots *s, uint32_t slot)
{
	struct frag_buffer *b;
	struct held *held;
	uint64_t now;

	if (slot >= s->held_count || !s->held[slot].buffer)
		return;
	held = &s->held[slot];
	b = &s->plan->buffers[held->buffer - 1];
	now = s->devices[s->plan->spaces[b->space].device].now;
	if (held->period != s->plan->periods)
		b->carried = true;
	else
		b->end = frag_max(b->end, now);
	held->buffer = 0;
}

/* The mark of the end may begin the next period, so that comes second; 0 bytes take nothing. */
static bool slots_take_event(struct slots *s, const struct frag_event *ev)
{
	s->last = ev->step;
	if (s->within && plan_is_mark(ev, s->marks->to)) {
		s->within = false;
		s->closed = true;
		s->plan->to = ev->step;
	}
	if (plan_is_mark(ev, s->marks->from)) {
		if (!s->plan->periods++)
			s->plan->from = ev->step;
		s->within = true;
		for (uint32_t d = 0; d < s->device_count; d++)
			s->devices[d].now = 0;
	}
	if (ev->op == FRAG_OP_FREE && !ev->waits)
		slots_end(s, ev->slot);
	for (uint32_t i = 0; i < ev->ended_count; i++)
		slots_end(s, ev->ended[i].slot);
	return ev->op != FRAG_OP_ALLOC || !ev->bytes || !s->within || slots_take(s, ev);
}

static int slots_take_all(struct slots *s, struct frag_error *err)
{
	struct frag_tape_walk walk = { .reader = frag_tape_reader_new(s->tape) };
	const struct frag_event *ev;
	bool good = walk.reader != NULL;

	while (good && (ev = frag_tape_walk_next(&walk)))
		good = slots_take_event(s, ev);
	frag_tape_reader_del(walk.reader);
	return good ? 0 : frag_fail_nomem(err);
}

static int slots_by_birth(const void *one, const void *other)
{
	const struct frag_buffer *a = one, *b = other;

	if (a->birth != b->birth)
		return a->birth < b->birth ? -1 : 1;
	return frag_order_two(a->id.number, b->id.number, a->space, b->space);
}

/* What is live yet, and lives: what another period carries over is there all the time. */
static void slots_settle(struct slots *s)
{
	struct frag_plan *plan = s->plan;

	for (uint32_t i = 0; i < s->held_count; i++)
		slots_end(s, i);
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
		qsort(plan->buffers, plan->count, sizeof(*plan->buffers), slots_by_birth);
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
	rc = s.devices ? slots_take_all(&s, err) : frag_fail_nomem(err);
	plan->content = frag_tape_info(tape)->content;
	if (!rc && !plan->periods)
		rc = no_mark(marks->from, NULL, err);
	if (!rc && !s.closed)
		rc = no_mark(marks->to, marks->from, err);
	if (!rc)
		slots_settle(&s);
	for (uint32_t d = 0; s.devices && d < s.device_count; d++)
		free(s.devices[d].buffers);
	free(s.devices);
	free(s.held);
	return rc ? rc : plan_order_spaces(plan, err);
}

void frag_plan_slots_by_request(struct frag_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++)
		plan->buffers[i].birth = plan->buffers[i].id.number;
	if (plan->count)
		qsort(plan->buffers, plan->count, sizeof(*plan->buffers), slots_by_birth);
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
