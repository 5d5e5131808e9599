/*
 * planner.c - a placement of each space: by hints, as a skyline, by first fit, and then by searches
 * for lower heights. It ends as soon as the goal is reached, or the best is proven.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parallel.h"
#include "plan/address_space.h"

#define ITEMS_SEARCHED 1000     /* of fewer the search finds a lower placement sooner */
#define FIRST_FIT FRAG_SKYLINES /* the order after these */
#define SIDE_BY_SIDE 5          /* placements in memory at once */
#define ITEMS_CACHED 10000      /* more are read at about 4/7 of the rate, from memory */

struct planner {
	struct frag_space space;
	struct frag_space_plan *told;
	const struct frag_plan_effort *effort;
	uint64_t height;                /* of the lowest placement so far, which the space has */
	uint64_t goal;                  /* the search ends at this height or below it */
	uint64_t looks_left;            /* the budget: list entries to be read */
	bool stopped;                   /* `stop` of the effort returned true */
};

struct order_try {
	struct frag_canonical search;
	struct height_try *at;
};

struct height_try {
	const struct planner *p;
	struct order_try of[FRAG_CANONICAL_ORDERS];
	atomic_uint decided;            /* the first order that found or refuted, or their count */
};

static bool planner_poll(const struct planner *p)
{
	const struct frag_plan_stop *stop = p->effort->stop;

	return stop && stop->stop(stop->ctx);
}

/* An earlier order has decided, or the caller ended the search. */
static bool order_is_over(void *ctx)
{
	const struct order_try *o = ctx;

	return atomic_load(&o->at->decided) < o->search.order || planner_poll(o->at->p);
}

static int try_order(void *ctx, uint32_t order, struct frag_error *err)
{
	struct height_try *t = ctx;
	struct frag_canonical *c = &t->of[order].search;
	const struct frag_plan_stop stop = { order_is_over, &t->of[order] };
	unsigned int first;
	int rc;

	if (order_is_over(&t->of[order]))
		return 0;
	c->stop = &stop;
	rc = frag_canonical_search(c, err);
	first = atomic_load(&t->decided);
	while (!rc && c->result != FRAG_CANONICAL_LIMIT && order < first
	       && !atomic_compare_exchange_weak(&t->decided, &first, order))
		;
	return rc;
}

/* The lowest placement so far. */
static void keep(struct planner *p, const uint64_t *offset, uint64_t height, const char *found_by)
{
	FRAG_ASSERT(height < p->height && height >= p->told->lower);
	p->height = height;
	p->told->found_by = found_by;
	memcpy(p->space.offset, offset, p->space.count * sizeof(*offset));
}

static uint64_t height_of(const struct frag_space *s, const uint64_t *offset)
{
	uint64_t height = 0;

	for (uint32_t i = 0; i < s->count; i++)
		height = frag_max(height, offset[i] + s->size[i]);
	return height;
}

static void spend(struct planner *p, uint64_t looks)
{
	p->looks_left -= frag_min(looks, p->looks_left);
}

/*
 * Tries all orders at one height. Their limits do not depend on each other, and their sum is
 * within the budget, so the result does not depend on the number of threads.
 */
static int try_height(struct planner *p, uint64_t height, uint64_t nodes,
		      enum frag_canonical_result *result, struct frag_error *err)
{
	struct height_try t = { .p = p, .decided = FRAG_CANONICAL_ORDERS };
	const struct frag_tasks tasks = {
		.count = FRAG_CANONICAL_ORDERS, .threads = p->effort->threads, .task = try_order,
		.ctx = &t,
	};
	const size_t count = p->space.count;
	uint64_t looks = 0, *offsets = malloc((FRAG_CANONICAL_ORDERS * count + 1) * sizeof(*offsets));
	uint32_t decided;
	int rc = offsets ? 0 : frag_fail_nomem(err);

	FRAG_ASSERT(height >= p->told->lower && height < p->height);
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS; i++) {
		t.of[i].at = &t;
		t.of[i].search = (struct frag_canonical){
			.space = &p->space, .capacity = height, .order = i, .nodes_max = nodes,
			.looks_max = p->looks_left >> (i + 1),
			.result = FRAG_CANONICAL_LIMIT, .offset = offsets + i * count,
		};
	}
	rc = rc ? rc : frag_tasks_run(&tasks, err);
	decided = atomic_load(&t.decided);
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS && i <= decided; i++) {
		looks += t.of[i].search.looks;
		p->told->search.nodes += t.of[i].search.nodes;
	}
	p->told->search.heights++;
	spend(p, looks);
	p->stopped = p->stopped || planner_poll(p);
	*result = FRAG_CANONICAL_LIMIT;
	if (!rc && decided < FRAG_CANONICAL_ORDERS)
		*result = t.of[decided].search.result;
	if (*result == FRAG_CANONICAL_FOUND) {
		const uint64_t *offset = t.of[decided].search.offset;

		keep(p, offset, height_of(&p->space, offset), "the search");
		FRAG_ASSERT(p->height <= height);
	}
	if (*result == FRAG_CANONICAL_NONE) {
		p->told->search.proofs++;
		p->told->lower = height + p->space.unit;
	}
	free(offsets);
	return rc;
}

static bool is_done(const struct planner *p)
{
	return p->height <= p->goal || p->height <= p->told->lower || p->stopped;
}

/*
 * Searches at the goal, and then halves the distance between what is impossible, or was not found,
 * and the best; where a limit ended a search, no further than an eighth of the distance. Each round
 * has more placements than the last one.
 */
static int search(struct planner *p, struct frag_error *err)
{
	const uint64_t unit = p->space.unit;
	int rc = frag_space_list(&p->space, err);

	for (uint64_t nodes = 2 * (uint64_t)p->space.count + 1000;
	     !rc && p->looks_left && !is_done(p); nodes *= 2) {
		uint64_t low = frag_max(p->told->lower, p->goal), height = low, close = 0;
		enum frag_canonical_result result = FRAG_CANONICAL_LIMIT;
		bool first = true, limited = false;

		while (!rc && low < p->height && p->looks_left && !is_done(p)
		       && !(limited && p->height - low <= close)) {
			rc = try_height(p, height, first ? 4 * nodes : nodes, &result, err);
			limited = limited || result == FRAG_CANONICAL_LIMIT;
			if (result != FRAG_CANONICAL_FOUND)
				low = height + unit;
			close = first ? (p->height - low) / 8 : close;
			height = low + (p->height - low) / unit / 2 * unit;
			first = false;
		}
	}
	return rc;
}

static int place_one(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_placing *of = ctx;

	return of[index].order == FIRST_FIT ? frag_first_fit_place(&of[index], err)
					    : frag_skyline_place(&of[index], err);
}

/* Places by some orders side by side, and keeps the lowest placement. */
static int place_by(struct planner *p, uint32_t first, uint32_t count, struct frag_error *err)
{
	struct frag_placing of[SIDE_BY_SIDE];
	const struct frag_tasks tasks = {
		.count = count, .threads = p->effort->threads, .task = place_one, .ctx = of,
	};
	uint64_t *offsets = malloc(((size_t)count * p->space.count + 1) * sizeof(*offsets));
	int rc = offsets ? 0 : frag_fail_nomem(err);

	FRAG_ASSERT(count <= SIDE_BY_SIDE && p->told->try_count + count <= FRAG_PLAN_TRIES);
	for (uint32_t i = 0; i < count; i++)
		of[i] = (struct frag_placing){
			.space = &p->space, .order = first + i,
			/* the first one always ends: there is no other plan of a million items */
			.stop = first ? p->effort->stop : NULL,
			.offset = offsets + (size_t)i * p->space.count,
		};
	rc = rc ? rc : frag_tasks_run(&tasks, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		const char *name = first + i < FRAG_SKYLINES ? frag_skyline_names[first + i]
				   : p->space.hinted ? "hints" : "contention, life";
		const uint64_t height = of[i].stopped ? UINT64_MAX
						      : height_of(&p->space, of[i].offset);

		spend(p, of[i].looks);
		p->stopped = p->stopped || of[i].stopped;
		p->told->tries[p->told->try_count++] = (struct frag_plan_try){ name, height };
		if (height < p->height)
			keep(p, of[i].offset, height, name);
	}
	free(offsets);
	return rc;
}

/*
 * Places the items by one order and another, and searches: what the budget has time for. The other
 * skylines have half of it, and all where there are too many items to search, each as much as the
 * first.
 */
static int place(struct planner *p, struct frag_error *err)
{
	const struct frag_space *s = &p->space;
	uint64_t spans = 0, looks, orders, time;
	bool near;
	int rc = 0;

	p->told->bound = s->bound;
	p->told->lower = s->lower;
	p->goal = frag_max(p->effort->goal, s->lower);
	p->looks_left = s->count > ITEMS_CACHED ? p->effort->looks / 7 * 4 : p->effort->looks;
	for (uint32_t i = 0; i < s->count; i++)
		spans += s->to[i] - s->from[i];
	if (s->hinted)
		rc = place_by(p, FIRST_FIT, 1, err);
	looks = p->looks_left;
	if (!rc && (p->height == UINT64_MAX || !is_done(p)))
		rc = place_by(p, 0, 1, err);
	looks -= p->looks_left;
	/* of first fit: items that overlap, about as many as begin in a section times live ones */
	time = s->hinted ? UINT64_MAX : spans / s->times * s->count;
	near = p->height - s->bound < s->bound / 100;   /* first fit may be lower than variants */
	if (!rc && !is_done(p) && near && time < p->looks_left / 2)
		rc = place_by(p, FIRST_FIT, 1, err);
	orders = p->looks_left / (64 * spans < p->looks_left ? 2 : 1) / (looks + 1) + 1;
	orders = s->has_fixed || s->count <= ITEMS_SEARCHED ? 0 : frag_min(orders, FRAG_SKYLINES);
	for (uint64_t k = 1; !rc && !is_done(p) && k < orders; k += SIDE_BY_SIDE)
		rc = place_by(p, (uint32_t)k, (uint32_t)frag_min(orders - k, SIDE_BY_SIDE), err);
	if (!rc && !is_done(p) && !near && time < p->looks_left / 2)
		rc = place_by(p, FIRST_FIT, 1, err);
	/* the search lists the items of each section: at most 90 MB with the usual budget */
	if (!rc && !is_done(p) && 64 * spans < p->looks_left)
		rc = search(p, err);
	FRAG_ASSERT(rc || (p->height != UINT64_MAX && p->height >= s->bound));
	return rc;
}

static int plan_space(struct frag_plan *plan, uint32_t at, const struct frag_plan_effort *effort,
		      struct frag_error *err)
{
	struct planner p = { .told = &plan->spaces[at], .effort = effort, .height = UINT64_MAX };
	int rc = frag_space_init(&p.space, plan, at, err);

	rc = rc ? rc : frag_space_check(&p.space, plan, p.space.fixed, plan->path, err);
	rc = rc ? rc : place(&p, err);
	rc = rc ? rc : frag_space_check(&p.space, plan, p.space.offset, plan->path, err);
	if (rc == -FRAG_ETRACE && p.height != UINT64_MAX)
		FRAG_BUG("two buffers of a plan share a byte");
	for (uint32_t i = 0; i < p.space.count && !rc; i++)
		plan->buffers[p.space.buffer[i]].offset = p.space.offset[i];
	if (!rc) {
		p.told->height = p.height;
		p.told->peak_step = p.space.peak_step;
		plan->complete = plan->complete && (p.height <= p.told->lower || p.height <= p.goal);
		plan->stopped = plan->stopped || p.stopped;
	}
	frag_space_fini(&p.space);
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

/* The budget of a space is its part of the items: what one leaves, no other one takes. */
int frag_plan_place(struct frag_plan *plan, const struct frag_plan_effort *effort,
		    struct frag_error *err)
{
	struct frag_plan_effort one = *effort;
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		one.looks = effort->looks / (plan->count + 1U) * plan->spaces[i].count;
		one.goal = plan->space_count > 1 ? 0 : effort->goal;
		rc = plan_space(plan, i, &one, err);
	}
	if (!rc)
		frag_plan_measure(plan);
	return rc;
}
