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
#include "plan/interval_set.h"
#include "plan/address_space.h"
#include "base/array_grow.h"
#include "base/hash.h"

struct frag_exact {
	uint32_t from, to;              /* times: the first and the last of the window */
	uint32_t *items;                /* that live there, in the order in which they are placed */
	uint32_t count;
	uint64_t nodes;
	bool found, stopped;
};

#define SEEN_SIZE (UINT32_C(1) << 22)   /* a power of two, at least twice the nodes */
/* Entries of lists that are looked at: BERT's inference takes a quarter of them. */
#define LOOKS_MAX UINT64_C(200000000)
#define NODES_MAX (SEEN_SIZE / 2)
#define ITEMS_MAX 100000
#define POOL_MAX (UINT32_C(1) << 24)    /* entries of lists on the way to a node */

/* A exact_search_place on the way: the item that is placed next, and where it can be. */
struct node {
	uint32_t live, live_count;      /* what lives beside it, by offset */
	uint32_t places, place_count, next;
};

struct exact_search_place {
	uint64_t gap, offset;
};

struct search {
	struct frag_exact *x;
	struct frag_space *s;
	struct node *nodes;             /* one an item */
	uint32_t *live;                 /* of all nodes, one behind the other */
	uint32_t live_count, live_capacity;
	struct exact_search_place *places;           /* likewise */
	uint32_t place_count, place_capacity;
	uint64_t *seen;                 /* hashes of states; 0: none */
	uint64_t looks;
	bool full, nomem;
};

static uint32_t start_of(const struct search *w, uint32_t item)
{
	return w->s->from[item] > w->x->from ? w->s->from[item] : w->x->from;
}

static uint32_t end_of(const struct search *w, uint32_t item)
{
	return w->s->to[item] < w->x->to + 1 ? w->s->to[item] : w->x->to + 1;
}

static bool note_live(struct search *w, struct node *n, uint32_t item)
{
	if (w->live_count == POOL_MAX) {
		w->full = true;
		return false;
	}
	if (!frag_grow(&w->live, &w->live_capacity, (uint64_t)w->live_count + 1,
		       sizeof(*w->live))) {
		w->nomem = true;
		return false;
	}
	w->live[w->live_count++] = item;
	n->live_count++;
	return true;
}

/*
 * What lives beside item k of what lived beside the one before it, and that one. A list before
 * this one stays where it is, though its array may move.
 */
static bool list_live(struct search *w, uint32_t k)
{
	struct node *n = &w->nodes[k];
	const struct node *up = k ? &w->nodes[k - 1] : NULL;
	const uint32_t start = start_of(w, w->x->items[k]);
	const uint32_t last = k ? w->x->items[k - 1] : 0;
	bool waits = k && end_of(w, last) > start;

	n->live = w->live_count;
	n->live_count = 0;
	for (uint32_t i = 0; up && i < up->live_count; i++) {
		const uint32_t item = w->live[up->live + i];

		if (waits && w->s->offset[item] > w->s->offset[last]) {
			waits = false;
			if (!note_live(w, n, last))
				return false;
		}
		if (end_of(w, item) > start && !note_live(w, n, item))
			return false;
	}
	return !waits || note_live(w, n, last);
}

/* The state: which item is next, and what is where and until when. False: it was there before. */
static bool is_new(struct search *w, uint32_t k)
{
	const struct node *n = &w->nodes[k];
	uint64_t h = frag_hash_mix(k + 1);
	uint32_t at;

	for (uint32_t i = 0; i < n->live_count; i++) {
		const uint32_t item = w->live[n->live + i];

		h = frag_hash_fold(h ^ w->s->offset[item], UINT64_C(0x9e3779b97f4a7c15));
		h = frag_hash_fold(h ^ (w->s->size[item] << 1) ^ (uint64_t)end_of(w, item) << 40,
				   UINT64_C(0xc2b2ae3d27d4eb4f));
	}
	h |= 1;
	at = (uint32_t)(frag_hash_mix(h) & (SEEN_SIZE - 1));
	while (w->seen[at] && w->seen[at] != h)
		at = (at + 1) & (SEEN_SIZE - 1);
	if (w->seen[at] == h)
		return false;
	w->seen[at] = h;
	return true;
}

static bool before(const struct exact_search_place *a, const struct exact_search_place *b)
{
	return a->gap != b->gap ? a->gap < b->gap : a->offset < b->offset;
}

static bool note_place(struct search *w, struct node *n, uint64_t gap, uint64_t offset)
{
	const struct exact_search_place exact_search_place = { gap, offset };
	uint32_t i;

	if (!frag_grow(&w->places, &w->place_capacity, (uint64_t)w->place_count + 1,
		       sizeof(*w->places))) {
		w->nomem = true;
		return false;
	}
	for (i = w->place_count++; i > n->places && before(&exact_search_place, &w->places[i - 1]); i--)
		w->places[i] = w->places[i - 1];
	w->places[i] = exact_search_place;
	n->place_count++;
	return true;
}

/* The bottom and the top of a gap that is large enough. */
static bool note_gap(struct search *w, struct node *n, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (to < from || to - from < bytes)
		return true;
	return note_place(w, n, to - from, from)
	       && (to - from == bytes || note_place(w, n, to - from, to - bytes));
}

static bool list_places(struct search *w, uint32_t k)
{
	struct node *n = &w->nodes[k];
	const uint64_t bytes = w->s->size[w->x->items[k]];
	uint64_t top = 0;
	bool good = true;

	n->places = w->place_count;
	n->place_count = n->next = 0;
	for (uint32_t i = 0; i < n->live_count && good; i++) {
		const uint32_t item = w->live[n->live + i];

		good = note_gap(w, n, top, w->s->offset[item], bytes);
		top = w->s->offset[item] + w->s->size[item];
	}
	return good && note_gap(w, n, top, w->s->bound, bytes);
}

/* The way down to item k, whose exact_search_place is looked for next. A state that was seen has none. */
static bool enter(struct search *w, uint32_t k)
{
	w->nodes[k] = (struct node){ .live = w->live_count, .places = w->place_count };
	w->x->nodes++;
	if (!list_live(w, k))
		return false;
	w->looks += w->nodes[k].live_count + 8;
	return is_new(w, k) ? list_places(w, k) : true;
}

/* Depth first: one step down, or back to where something else can be tried. */
static void walk(struct search *w, const struct frag_plan_stop *stop)
{
	struct frag_exact *x = w->x;
	uint32_t k = 0;
	bool good = enter(w, 0);

	while (good) {
		struct node *n = &w->nodes[k];

		if (n->next == n->place_count) {
			w->live_count = n->live;
			w->place_count = n->places;
			if (!k--)
				return;
			continue;
		}
		w->s->offset[x->items[k]] = w->places[n->places + n->next++].offset;
		if (k + 1 == x->count) {
			x->found = true;
			return;
		}
		if (x->nodes >= NODES_MAX || w->looks > LOOKS_MAX)
			return;
		if (x->nodes % 1024 == 0 && stop && stop->stop(stop->ctx)) {
			x->stopped = true;
			return;
		}
		good = enter(w, ++k);
	}
}

/* By time; of those that begin at one, what lives longest first, then the largest. */
struct exact_search_key {
	uint32_t start, end, item;
	uint64_t size;
};

static int exact_search_in_order(const void *one, const void *other)
{
	const struct exact_search_key *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->item < b->item ? -1 : 1;
}

static int list_items(struct search *w, struct frag_error *err)
{
	const struct frag_space *s = w->s;
	struct frag_exact *x = w->x;
	struct exact_search_key *keys = malloc(((size_t)s->count + 1) * sizeof(*keys));

	x->items = malloc(((size_t)s->count + 1) * sizeof(*x->items));
	if (!keys || !x->items) {
		free(keys);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < s->count; i++)
		if (s->from[i] <= x->to && s->to[i] > x->from)
			keys[x->count++] = (struct exact_search_key){
				.start = start_of(w, i), .end = end_of(w, i), .item = i,
				.size = s->size[i],
			};
	qsort(keys, x->count, sizeof(*keys), exact_search_in_order);
	for (uint32_t i = 0; i < x->count; i++)
		x->items[i] = keys[i].item;
	free(keys);
	return 0;
}

static void find_window(struct frag_exact *x, const struct frag_space *s, uint64_t gap)
{
	x->from = x->to = s->peak;
	for (uint32_t t = 0; t < s->times; t++) {
		if (s->live[t] + gap <= s->bound)
			continue;
		x->from = t < x->from ? t : x->from;
		x->to = t > x->to ? t : x->to;
	}
}

/*
 * The window of times where more than bound - gap lives. Where it is found, the items have their
 * offsets in the space. fini is due either way. -FRAG_ENOMEM
 */
static int frag_exact_search(struct frag_exact *x, struct frag_space *s, uint64_t gap,
		      const struct frag_plan_stop *stop, struct frag_error *err)
{
	struct search w = { .x = x, .s = s };
	int rc;

	*x = (struct frag_exact){ .count = 0 };
	find_window(x, s, gap);
	rc = list_items(&w, err);
	if (rc || x->count > ITEMS_MAX)
		return rc;
	w.nodes = malloc(((size_t)x->count + 1) * sizeof(*w.nodes));
	w.seen = calloc(SEEN_SIZE, sizeof(*w.seen));
	if (w.nodes && w.seen)
		walk(&w, stop);
	else
		w.nomem = true;
	free(w.nodes);
	free(w.seen);
	free(w.live);
	free(w.places);
	return w.nomem ? frag_fail_nomem(err) : 0;
}

static void frag_exact_fini(struct frag_exact *x)
{
	free(x->items);
	*x = (struct frag_exact){ .count = 0 };
}

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
