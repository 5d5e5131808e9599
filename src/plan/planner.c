/*
 * planner.c - a placement of each space: greedy in several orders, then the window around the
 * peak by search, then better orders. It ends as soon as the bound is reached, below which
 * nothing is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "plan/local_search.h"
#include "plan/exact_search.h"
#include "plan/interval_set.h"

/* Work is counted, in looks at ranges, so that what comes out does not depend on the clock. */
#define LOOKS_ORDER UINT64_C(2000000000)        /* of one order */
#define LOOKS_CLIMB UINT64_C(120000000)

struct key {
	uint64_t of[3];                 /* the least first */
	uint32_t item;
};

struct planner {
	struct frag_space space;
	struct frag_greedy shelf;
	struct frag_space_plan *told;
	const struct frag_plan_stop *stop;
	struct key *keys;
	uint32_t *order, *best_order;
	uint64_t *best;                 /* offsets of the lowest so far, of */
	uint64_t height;                /* this height */
	bool best_fit;                  /* best_order was placed like this */
};

/* The largest first: the complement of a number. */
static void key_size(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	of[0] = ~s->size[i];
	of[1] = ~(uint64_t)(s->to[i] - s->from[i]);
	of[2] = s->from[i];
}

static void key_contention_size(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	of[0] = ~s->contention[i];
	of[1] = ~s->size[i];
	of[2] = ~(uint64_t)(s->to[i] - s->from[i]);
}

static void key_contention_life(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	of[0] = ~s->contention[i];
	of[1] = ~(uint64_t)(s->to[i] - s->from[i]);
	of[2] = ~s->size[i];
}

static const struct order {
	const char *name;
	void (*key)(const struct frag_space *s, uint32_t item, uint64_t of[3]);
} orders[] = {
	{ "contention, size", key_contention_size },
	{ "contention, life", key_contention_life },
	{ "size", key_size },
};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static int in_order(const void *one, const void *other)
{
	const struct key *a = one, *b = other;

	for (uint32_t i = 0; i < 3; i++)
		if (a->of[i] != b->of[i])
			return a->of[i] < b->of[i] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* The items from place `fixed` of the order on are sorted; those before it stay. */
static void sort_order(struct planner *p, const struct order *by, uint32_t fixed)
{
	const uint32_t count = p->space.count;

	for (uint32_t k = fixed; k < count; k++) {
		p->keys[k].item = p->order[k];
		by->key(&p->space, p->order[k], p->keys[k].of);
	}
	qsort(p->keys + fixed, count - fixed, sizeof(*p->keys), in_order);
	for (uint32_t k = fixed; k < count; k++)
		p->order[k] = p->keys[k].item;
}

static bool is_done(const struct planner *p)
{
	return p->height == p->space.bound || p->shelf.stopped || p->shelf.nomem;
}

static void keep(struct planner *p, uint64_t height, bool best_fit)
{
	p->height = height;
	p->best_fit = best_fit;
	memcpy(p->best, p->space.offset, p->space.count * sizeof(*p->best));
	memcpy(p->best_order, p->order, p->space.count * sizeof(*p->best_order));
}

static void tell(struct planner *p, const char *order, bool best, uint64_t height)
{
	FRAG_ASSERT(p->told->try_count < FRAG_PLAN_TRIES);
	p->told->tries[p->told->try_count++] = (struct frag_plan_try){
		.order = order, .best = best, .height = height,
	};
}

/*
 * In the order of births, each at the lowest gap of what lives then: what an allocator could do
 * that knows no future, in the time of a logarithm each, so there is always a plan.
 */
static int place_by_birth(struct planner *p, struct frag_error *err)
{
	struct frag_space *s = &p->space;
	struct frag_ranges live;
	uint64_t height = 0;
	uint32_t done = 0;
	int rc = frag_ranges_init(&live, s->count, err);

	for (uint32_t i = 0; i < s->count; i++) {
		p->keys[i] = (struct key){ .of = { s->to[i] }, .item = i };
		p->order[i] = i;
	}
	qsort(p->keys, s->count, sizeof(*p->keys), in_order);
	for (uint32_t i = 0; i < s->count && !rc; i++) {
		while (p->keys[done].of[0] <= s->from[i])
			frag_ranges_remove(&live, p->keys[done++].item);
		s->offset[i] = frag_ranges_lowest(&live, s->size[i]);
		frag_ranges_add(&live, i, s->offset[i], s->offset[i] + s->size[i]);
		if (s->offset[i] + s->size[i] > height)
			height = s->offset[i] + s->size[i];
	}
	frag_ranges_fini(&live);
	if (rc)
		return rc;
	tell(p, "birth", false, height);
	p->told->found_by = "birth, first fit";
	keep(p, height, false);
	return 0;
}

/* fixed: so many items, the first ones, are where the search has put them. */
static void place_order(struct planner *p, const struct order *by, bool best, uint32_t fixed)
{
	const struct frag_shelf_limits limits = {
		.fixed = fixed, .best = best, .height = UINT64_MAX, .looks = LOOKS_ORDER,
	};
	uint64_t height;

	sort_order(p, by, fixed);
	height = frag_shelf_place(&p->shelf, p->order, &limits);
	if (!fixed)
		tell(p, by->name, best, height);
	if (height >= p->height)
		return;
	keep(p, height, best);
	snprintf(p->told->found_room, sizeof(p->told->found_room), "%s%s, %s fit",
		 fixed ? "the window, then " : "", by->name, best ? "best" : "first");
	p->told->found_by = p->told->found_room;
}

/* First fit in all orders, then best fit, which is seldom the one that reaches the bound. */
static void place_orders(struct planner *p, uint32_t fixed)
{
	for (uint32_t i = 0; i < 2 * ORDERS && !is_done(p); i++)
		place_order(p, &orders[i % ORDERS], i >= ORDERS, fixed);
}

static int search_window(struct planner *p, struct frag_error *err)
{
	struct frag_plan_window *told = &p->told->window;
	struct frag_exact x;
	int rc = frag_exact_search(&x, &p->space, p->height - p->space.bound, p->stop, err);

	if (!rc) {
		*told = (struct frag_plan_window){
			.tried = true, .found = x.found, .from = p->space.step[x.from],
			.to = p->space.step[x.to], .buffers = x.count, .nodes = x.nodes,
		};
		p->shelf.stopped = p->shelf.stopped || x.stopped;
	}
	if (!rc && x.found) {
		uint32_t rest = x.count;

		/* its items have their offsets, and stay in front */
		memset(p->keys, 0, p->space.count * sizeof(*p->keys));
		for (uint32_t k = 0; k < x.count; k++) {
			p->order[k] = x.items[k];
			p->keys[x.items[k]].item = 1;
		}
		for (uint32_t i = 0; i < p->space.count; i++)
			if (!p->keys[i].item)
				p->order[rest++] = i;
		place_orders(p, x.count);
	}
	frag_exact_fini(&x);
	return rc;
}

static int climb(struct planner *p, struct frag_error *err)
{
	const uint64_t before = p->height;
	int rc;

	memcpy(p->space.offset, p->best, p->space.count * sizeof(*p->best));
	rc = frag_local_search(&p->shelf, p->best_order, p->best_fit, &p->height, LOOKS_CLIMB,
			&p->told->climb, err);
	memcpy(p->best, p->space.offset, p->space.count * sizeof(*p->best));
	if (!rc && p->height < before)
		p->told->found_by = "a better order";
	return rc;
}

static int place(struct planner *p, struct frag_error *err)
{
	int rc = place_by_birth(p, err);
	bool by_window;

	if (!rc)
		place_orders(p, 0);
	if (!rc && !is_done(p)) {
		const uint64_t before = p->height;

		rc = search_window(p, err);
		by_window = p->height < before;
		/* what the search has put somewhere, no order would put there again */
		if (!rc && !by_window && !is_done(p))
			rc = climb(p, err);
	}
	if (!rc && p->shelf.nomem)
		rc = frag_fail_nomem(err);
	return rc;
}

static int plan_space(struct frag_plan *plan, uint32_t at, const struct frag_plan_stop *stop,
		      struct frag_error *err)
{
	struct planner p = { .told = &plan->spaces[at], .stop = stop, .height = UINT64_MAX };
	int rc = frag_space_init(&p.space, plan, at, err);
	const size_t n = (size_t)p.space.count + 1;

	rc = rc ? rc : frag_shelf_init(&p.shelf, &p.space, stop, err);
	p.keys = malloc(n * sizeof(*p.keys));
	p.order = malloc(n * sizeof(*p.order));
	p.best_order = malloc(n * sizeof(*p.best_order));
	p.best = malloc(n * sizeof(*p.best));
	if (!rc && (!p.keys || !p.order || !p.best_order || !p.best))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : place(&p, err);
	for (uint32_t i = 0; i < p.space.count && !rc; i++)
		plan->buffers[p.space.buffer[i]].offset = p.best[i];
	if (!rc) {
		p.told->bound = p.space.bound;
		p.told->height = p.height;
		p.told->peak_step = p.space.step[p.space.peak];
	}
	plan->complete = plan->complete && !p.shelf.stopped;
	free(p.keys);
	free(p.order);
	free(p.best_order);
	free(p.best);
	frag_shelf_fini(&p.shelf);
	frag_space_fini(&p.space);
	return rc;
}

int frag_plan_place(struct frag_plan *plan, const struct frag_plan_stop *stop,
		    struct frag_error *err)
{
	uint32_t one, other;
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++)
		rc = plan_space(plan, i, stop, err);
	rc = rc ? rc : frag_plan_sweep(plan, &one, &other, err);
	if (!rc && one != plan->count)
		FRAG_BUG("two buffers of a plan share a byte");
	return rc;
}
