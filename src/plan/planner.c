/*
 * planner.c - a placement of each space: greedy in several orders, then the search for lower
 * heights, at first of the items around the peak where there are many. It ends as soon as the goal
 * is reached, or the best is proven.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parallel.h"
#include "plan/address_space.h"
#include "plan/canonical_search.h"
#include "plan/greedy_placement.h"
#include "plan/skyline.h"

struct frag_height_search {
	const struct frag_space *space; /* borrowed: the items that are searched */
	uint64_t goal;                  /* the search ends at this height or below it */
	uint64_t lower;                 /* in and out: no placement of the items is lower */
	uint64_t height;                /* in and out: of the best placement */
	uint64_t unit;                  /* heights are multiples of it */
	uint64_t looks_left;            /* the budget, in list entries looked at */
	uint32_t threads;
	const struct frag_plan_stop *stop;
	/* A placement was found: returns its height, of the items around it too. */
	uint64_t (*found)(void *ctx, const uint64_t *offset);
	void *ctx;
	uint32_t searches, proofs;      /* out: heights tried; of them proven impossible */
	uint64_t nodes;                 /* placements of one item that were tried */
	bool spent, stopped;            /* out: the budget, or `stop`, ended it */
};

/* -FRAG_ENOMEM */
int frag_height_search(struct frag_height_search *h, struct frag_error *err);

struct height_try {
	struct frag_height_search *h;
	struct frag_canonical of[FRAG_CANONICAL_ORDERS];
	atomic_uint decided;            /* the first order that found or refuted, or their count */
};

struct order_stop {
	struct height_try *t;
	uint32_t order;
};

/* An earlier order has decided, or nobody waits any more. */
static bool order_is_over(void *ctx)
{
	const struct order_stop *s = ctx;
	const struct frag_plan_stop *stop = s->t->h->stop;

	return atomic_load(&s->t->decided) < s->order || (stop && stop->stop(stop->ctx));
}

static int try_order(void *ctx, uint32_t order, struct frag_error *err)
{
	struct height_try *t = ctx;
	struct frag_canonical *c = &t->of[order];
	struct order_stop over = { t, order };
	const struct frag_plan_stop stop = { order_is_over, &over };
	unsigned int first;
	int rc;

	if (order_is_over(&over))
		return 0;
	c->stop = &stop;
	rc = frag_canonical_search(c, err);
	first = atomic_load(&t->decided);
	while (!rc && c->result != FRAG_CANONICAL_LIMIT && order < first
	       && !atomic_compare_exchange_weak(&t->decided, &first, order))
		;
	return rc;
}

/* All orders at one height. Without a decision each had its limits, whatever the others did. */
static int try_height(struct frag_height_search *h, uint64_t height, uint64_t nodes,
		      enum frag_canonical_result *result, struct frag_error *err)
{
	struct height_try t = { .h = h, .decided = FRAG_CANONICAL_ORDERS };
	const struct frag_tasks tasks = {
		.count = FRAG_CANONICAL_ORDERS, .threads = h->threads, .task = try_order, .ctx = &t,
	};
	uint64_t looks = 0, reached;
	uint32_t decided;
	int rc = 0;

	/* limits that do not depend on what the others did, and whose sum is within the budget */
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS; i++) {
		t.of[i] = (struct frag_canonical){
			.space = h->space, .capacity = height, .order = i, .nodes_max = nodes,
			.looks_max = h->looks_left >> (i + 1),
			.result = FRAG_CANONICAL_LIMIT,
			.offset = malloc(((size_t)h->space->count + 1) * sizeof(uint64_t)),
		};
		if (!t.of[i].offset)
			rc = frag_fail_nomem(err);
	}
	rc = rc ? rc : frag_tasks_run(&tasks, err);
	decided = atomic_load(&t.decided);
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS && i <= decided; i++) {
		looks += t.of[i].looks;
		h->nodes += t.of[i].nodes;
	}
	h->searches++;
	h->looks_left -= looks < h->looks_left ? looks : h->looks_left;
	h->stopped = h->stopped || (h->stop && h->stop->stop(h->stop->ctx));
	*result = FRAG_CANONICAL_LIMIT;
	if (!rc && decided < FRAG_CANONICAL_ORDERS)
		*result = t.of[decided].result;
	if (*result == FRAG_CANONICAL_FOUND) {
		reached = h->found(h->ctx, t.of[decided].offset);
		h->height = reached < h->height ? reached : h->height;
	}
	if (*result == FRAG_CANONICAL_NONE) {
		h->proofs++;
		h->lower = height + h->unit;
	}
	for (uint32_t i = 0; i < FRAG_CANONICAL_ORDERS; i++)
		free(t.of[i].offset);
	return rc;
}

static bool height_is_over(const struct frag_height_search *h)
{
	return h->height <= h->goal || h->height <= h->lower || !h->looks_left || h->stopped;
}

/*
 * Halves the distance between what is impossible, or was not found with this limit, and the best;
 * where a limit ended a search, no further than an eighth of the distance.
 */
static int bisect(struct frag_height_search *h, uint64_t low, bool limited, uint64_t nodes,
		  struct frag_error *err)
{
	const uint64_t close = (h->height - low) / 8;
	enum frag_canonical_result result;
	int rc = 0;

	while (!rc && low < h->height && !height_is_over(h)
	       && !(limited && h->height - low <= close)) {
		const uint64_t height = low + (h->height - low) / h->unit / 2 * h->unit;
		const uint64_t before = h->height;

		rc = try_height(h, height, nodes, &result, err);
		limited = limited || result == FRAG_CANONICAL_LIMIT;
		/*
		 * what is around the items may have stayed too high: then this height is no
		 * better
		 */
		if (result != FRAG_CANONICAL_FOUND || h->height == before)
			low = height + h->unit;
	}
	return rc;
}

int frag_height_search(struct frag_height_search *h, struct frag_error *err)
{
	int rc = 0;

	for (uint64_t nodes = 2 * (uint64_t)h->space->count + 1000; !rc && !height_is_over(h);
	     nodes *= 2) {
		const uint64_t target = h->lower > h->goal ? h->lower : h->goal;
		enum frag_canonical_result result;

		rc = try_height(h, target, 4 * nodes, &result, err);
		if (!rc && !height_is_over(h))
			rc = bisect(h, target + h->unit, result == FRAG_CANONICAL_LIMIT, nodes,
				    err);
	}
	h->spent = !h->looks_left && h->height > h->goal && h->height > h->lower;
	return rc;
}

/* An entry of a list that greedy placement looks at is sorted too. */
#define GREEDY_LOOK 1
#define ITEMS_MANY 50000                /* more are searched around the peak first */
#define ITEMS_ORDERED 200000            /* more are placed by birth only where all else fails */
#define PEAK_PCT 85                     /* that is, where so much of the bound lives */

struct key {
	uint64_t of[3];                 /* the minimum first */
	uint32_t item;
};

struct planner {
	struct frag_space space;
	struct frag_greedy shelf;
	struct frag_space_plan *told;
	const struct frag_plan_effort *effort;
	struct key *keys;
	uint32_t *order;
	uint64_t *best;                 /* offsets of the lowest so far, of */
	uint64_t height;                /* this height */
	uint64_t goal;
	uint64_t looks_left;
	uint64_t pass;                  /* looks that one greedy pass takes, about */
	uint32_t *hot;                  /* items of the search, where it has not all of them */
	uint32_t hot_count;
};

/* The largest first: the complement of a number. */
static void key_size(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	of[0] = ~s->size[i];
	of[1] = ~(uint64_t)(s->to[i] - s->from[i]);
	of[2] = s->from[i];
}

/*
 * Items that begin while this one lives, itself included: items are in the order of their births.
 */
static uint32_t births_beside(const struct frag_space *s, uint32_t i)
{
	uint32_t low = i + 1, high = s->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->from[middle] < s->to[i])
			low = middle + 1;
		else
			high = middle;
	}
	return low - i;
}

/* Items have numbers in this order. */
static void key_birth(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	(void)s;
	(void)i;
	memset(of, 0, 3 * sizeof(*of));
}

static void key_contention_life(const struct frag_space *s, uint32_t i, uint64_t of[3])
{
	of[0] = ~s->contention[i];
	of[1] = ~(uint64_t)births_beside(s, i);
	of[2] = ~s->size[i];
}

static const struct order {
	const char *name;
	bool best;
	void (*key)(const struct frag_space *s, uint32_t item, uint64_t of[3]);
} orders[] = {
	{ "contention, life", false, key_contention_life },
	{ "size", false, key_size },
	{ "size", true, key_size },     /* TensorFlow Lite's greedy by size */
};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static int planner_in_order(const void *one, const void *other)
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
	qsort(p->keys + fixed, count - fixed, sizeof(*p->keys), planner_in_order);
	for (uint32_t k = fixed; k < count; k++)
		p->order[k] = p->keys[k].item;
}

static bool is_done(const struct planner *p)
{
	return p->height <= p->goal || p->shelf.stopped || p->shelf.nomem;
}

static void keep(struct planner *p, uint64_t height)
{
	p->height = height;
	memcpy(p->best, p->space.offset, p->space.count * sizeof(*p->best));
}

static void planner_tell(struct planner *p, const char *order, bool best, uint64_t height)
{
	FRAG_ASSERT(p->told->try_count < FRAG_PLAN_TRIES);
	p->told->tries[p->told->try_count++] = (struct frag_plan_try){
		.order = order, .best = best, .height = height,
	};
}

/* One greedy pass; fixed: so many items, the first ones, have their offsets from the search. */
static uint64_t place_order(struct planner *p, const struct order *by, uint32_t fixed)
{
	const struct frag_shelf_limits limits = {
		.fixed = fixed, .best = by->best, .looks = UINT64_MAX,
		.height = fixed ? p->height : UINT64_MAX,
	};
	const uint64_t before = p->shelf.looks;
	uint64_t height, looks;

	sort_order(p, by, fixed);
	height = frag_shelf_place(&p->shelf, p->order, &limits);
	looks = GREEDY_LOOK * (p->shelf.looks - before);
	p->looks_left -= looks < p->looks_left ? looks : p->looks_left;
	if (height < p->height)
		keep(p, height);
	return height;
}

/* Begins an order with the fixed items, at their offsets. Returns their number. */
static uint32_t begin_order(struct planner *p)
{
	struct frag_space *s = &p->space;
	uint32_t fixed = 0, rest = s->fixed_count;

	for (uint32_t i = 0; i < s->count; i++) {
		if (s->fixed[i] != UINT64_MAX)
			s->offset[i] = s->fixed[i];
		p->order[s->fixed[i] != UINT64_MAX ? fixed++ : rest++] = i;
	}
	FRAG_ASSERT(fixed == s->fixed_count && rest == s->count);
	return fixed;
}

/* Places the items in this order around fixed ones, and aligned. `stop` does not end it. */
static void place_constrained(struct planner *p)
{
	static const struct order by_birth = { "birth", false, key_birth };

	p->shelf.stop = NULL;
	planner_tell(p, "birth", false, place_order(p, &by_birth, begin_order(p)));
	p->told->found_by = "birth, first fit";
	p->shelf.stop = p->effort->stop;
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
	qsort(p->keys, s->count, sizeof(*p->keys), planner_in_order);
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
	planner_tell(p, "birth", false, height);
	p->told->found_by = "birth, first fit";
	keep(p, height);
	return 0;
}

/* Its time hardly depends on the number of items that live at once. */
static int place_skyline(struct planner *p, struct frag_error *err)
{
	uint64_t height = UINT64_MAX, looks = 0;
	const int rc = frag_skyline_place(&p->space, p->effort->stop, &height, &looks, err);

	p->looks_left -= looks < p->looks_left ? looks : p->looks_left;
	planner_tell(p, "skyline", false, height);
	if (!rc && height < p->height) {
		p->told->found_by = "skyline";
		keep(p, height);
	}
	return rc;
}

/* All orders that the budget has time for, with half of it left for the search. */
static void place_orders(struct planner *p)
{
	const uint64_t least = p->looks_left / 2;

	for (uint32_t i = 0; i < ORDERS && !is_done(p); i++) {
		const uint64_t before = p->height;
		uint64_t height = UINT64_MAX;

		if (p->looks_left >= least + p->pass) {
			height = place_order(p, &orders[i], begin_order(p));
		}
		planner_tell(p, orders[i].name, orders[i].best, height);
		if (height >= before)
			continue;
		snprintf(p->told->found_room, sizeof(p->told->found_room), "%s, %s fit",
			 orders[i].name, orders[i].best ? "best" : "first");
		p->told->found_by = p->told->found_room;
	}
}

/* A placement of all items. */
static uint64_t take_all_items(void *ctx, const uint64_t *offset)
{
	struct planner *p = ctx;
	const struct frag_space *s = &p->space;
	uint64_t height = 0;

	for (uint32_t i = 0; i < s->count; i++)
		height = offset[i] + s->size[i] > height ? offset[i] + s->size[i] : height;
	if (height < p->height) {
		memcpy(s->offset, offset, s->count * sizeof(*offset));
		keep(p, height);
	}
	return height;
}

/* A placement of the items around the peak: all others go where these leave room. */
static uint64_t take_hot_items(void *ctx, const uint64_t *offset)
{
	struct planner *p = ctx;
	struct frag_space *s = &p->space;
	uint64_t height = UINT64_MAX;

	for (uint32_t by = 0; by < 2 && height > p->goal && !is_done(p); by++) {
		uint32_t rest = p->hot_count, hot = 0;
		uint64_t one;

		for (uint32_t i = 0; i < s->count; i++) {
			if (hot < p->hot_count && p->hot[hot] == i) {
				s->offset[i] = offset[hot];
				p->order[hot++] = i;
			} else {
				p->order[rest++] = i;
			}
		}
		one = place_order(p, &orders[by], hot);
		height = one < height ? one : height;
	}
	return height;
}

/* Searches `space` with so much of the budget, and tells what came of it. */
static int search(struct planner *p, const struct frag_space *space, uint64_t looks,
		  uint64_t (*found)(void *ctx, const uint64_t *offset), struct frag_error *err)
{
	struct frag_plan_search *told = &p->told->search;
	const uint64_t before = p->height;
	struct frag_height_search h = {
		.space = space, .goal = p->goal, .lower = p->told->lower, .height = p->height,
		.unit = p->space.unit, .looks_left = looks, .threads = p->effort->threads,
		.stop = p->effort->stop, .found = found, .ctx = p,
	};
	const int rc = frag_height_search(&h, err);

	p->looks_left -=
		looks - h.looks_left < p->looks_left ? looks - h.looks_left : p->looks_left;
	p->told->lower = h.lower;
	p->shelf.stopped = p->shelf.stopped || h.stopped;
	told->heights += h.searches;
	told->proofs += h.proofs;
	told->nodes += h.nodes;
	if (p->height < before)
		p->told->found_by = found == take_all_items ? "the search"
							    : "the search around the peak";
	return rc;
}

/* The items of which most of the bound lives beside them at some time; others are at any time. */
static int list_hot(struct planner *p, struct frag_error *err)
{
	const struct frag_space *s = &p->space;
	uint64_t base = 0, least;

	p->hot = malloc(((size_t)s->count + 1) * sizeof(*p->hot));
	if (!p->hot)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++)
		base += s->from[i] == 0 && s->to[i] == s->times ? s->size[i] : 0;
	least = base + (s->bound - base) / 100 * PEAK_PCT;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->contention[i] >= least)
			p->hot[p->hot_count++] = i;
	return 0;
}

/* Of many items those around the peak, which decide, with a part of the budget. */
static int search_hot(struct planner *p, struct frag_error *err)
{
	struct frag_space hot = { .count = 0 };
	int rc = list_hot(p, err);

	if (rc || p->hot_count > p->space.count / 4 * 3)
		return rc;
	rc = frag_space_part(&hot, &p->space, p->hot, p->hot_count, err);
	rc = rc ? rc : search(p, &hot, p->looks_left / 2, take_hot_items, err);
	frag_space_fini(&hot);
	return rc;
}

/*
 * By birth and as skylines, in the order of their times; then the orders and the search, as far as
 * the budget goes.
 */
static int place(struct planner *p, struct frag_error *err)
{
	const bool many = p->space.count > ITEMS_ORDERED;
	uint64_t spans = 0;
	int rc = 0;

	p->told->bound = p->told->lower = p->space.bound;
	if (p->space.fixed_end > p->told->lower)
		p->told->lower = p->space.fixed_end;
	p->goal = p->effort->goal > p->told->lower ? p->effort->goal : p->told->lower;
	p->looks_left = p->effort->looks;
	for (uint32_t i = 0; i < p->space.count; i++) {
		p->pass += GREEDY_LOOK * ((uint64_t)p->space.beside[p->space.from[i]] + 8);
		spans += p->space.to[i] - p->space.from[i];
	}
	if (p->space.constrained)
		place_constrained(p);
	else if (!many)
		rc = place_by_birth(p, err);
	if (!rc && !is_done(p) && p->looks_left && !p->space.fixed_count)
		rc = place_skyline(p, err);
	if (!rc && p->height == UINT64_MAX && !p->shelf.nomem)
		rc = place_by_birth(p, err);
	if (!rc)
		place_orders(p);
	/* the search writes down each section of each item, in each of its orders */
	if (!rc && !is_done(p) && p->space.count > ITEMS_MANY && !p->space.fixed_count
	    && 8 * spans < p->looks_left)
		rc = search_hot(p, err);
	if (!rc && !is_done(p) && p->height > p->told->lower && 8 * spans < p->looks_left)
		rc = search(p, &p->space, p->looks_left, take_all_items, err);
	if (!rc && p->shelf.nomem)
		rc = frag_fail_nomem(err);
	return rc;
}

static int plan_space(struct frag_plan *plan, uint32_t at, const struct frag_plan_effort *effort,
		      struct frag_error *err)
{
	struct planner p = { .told = &plan->spaces[at], .effort = effort, .height = UINT64_MAX };
	int rc = frag_space_init(&p.space, plan, at, err);
	const size_t n = (size_t)p.space.count + 1;

	rc = rc ? rc : frag_shelf_init(&p.shelf, &p.space, effort->stop, err);
	p.keys = malloc(n * sizeof(*p.keys));
	p.order = malloc(n * sizeof(*p.order));
	p.best = malloc(n * sizeof(*p.best));
	if (!rc && (!p.keys || !p.order || !p.best))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : place(&p, err);
	for (uint32_t i = 0; i < p.space.count && !rc; i++)
		plan->buffers[p.space.buffer[i]].offset = p.best[i];
	if (!rc) {
		p.told->height = p.height;
		p.told->peak_step = p.space.last[p.space.peak];
		if (p.height > p.told->lower && p.height > p.goal)
			plan->complete = false;
		plan->stopped = plan->stopped || p.shelf.stopped;
	}
	free(p.keys);
	free(p.order);
	free(p.best);
	free(p.hot);
	frag_shelf_fini(&p.shelf);
	frag_space_fini(&p.space);
	return rc;
}

/* The budget of a space is its part of the items: what one leaves, no other one takes. */
int frag_plan_place(struct frag_plan *plan, const struct frag_plan_effort *effort,
		    struct frag_error *err)
{
	struct frag_plan_effort one = *effort;
	uint32_t left, right;
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		one.looks = effort->looks / (plan->count + 1U) * plan->spaces[i].count;
		one.goal = plan->space_count > 1 ? 0 : effort->goal;
		rc = plan_space(plan, i, &one, err);
	}
	rc = rc ? rc : frag_plan_sweep(plan, false, &left, &right, err);
	if (!rc && left != plan->count)
		FRAG_BUG("two buffers of a plan share a byte");
	return rc;
}
