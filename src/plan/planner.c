/*
 * planner.c - a placement of each space: by hints, as a skyline, by first fit, and then by searches
 * for lower heights. It ends as soon as the goal is reached, or the best is proven.
 *
 * First fit takes those items first that are allocated when most bytes are, and of these the ones
 * that outlive most allocations. A tree over the items, which have numbers in the order of
 * allocation, has the last end of the placed ones: it finds those that overlap an item in time.
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
#define ITEMS_UNASKED 65536     /* before more are sorted, it is found whether time is left */
#define ITEMS_CACHED 10000      /* more are read at about 4/7 of the rate, from memory */

struct extent {
	uint64_t from, to;              /* bytes */
};

struct first_fit {
	struct frag_placing *own;
	const struct frag_space *s;
	uint32_t leaves;
	uint32_t *reach;                /* tree over items: the last end of placed ones; 0: none */
	struct extent *met;             /* of the items that overlap one in time */
	uint32_t met_count;
};

/* Collects the placed items of a subtree that are allocated within an item's life. */
static void meet(struct first_fit *w, uint32_t node, uint32_t base, uint32_t width, uint32_t item)
{
	const struct frag_space *s = w->s;
	const uint64_t *offset = w->own->offset;

	w->own->looks++;
	while (w->reach[node] > s->from[item] && base < s->count && s->from[base] < s->to[item]) {
		if (width == 1) {
			w->met[w->met_count++] = (struct extent){
				offset[base], offset[base] + s->size[base],
			};
			return;
		}
		width /= 2;
		meet(w, 2 * node, base, width, item);
		node = 2 * node + 1;
		base += width;
	}
}

static int first_fit_in_order(const void *one, const void *other)
{
	const struct extent *a = one, *b = other;

	return frag_order_two(a->from, b->from, a->to, b->to);
}

/* The lowest gap between the items that it overlaps. */
static uint64_t lowest_gap(struct first_fit *w, uint32_t item)
{
	const uint64_t bytes = w->s->size[item];
	uint64_t top = frag_space_offset(w->s, item, 0);

	FRAG_SORT(w->met, w->met_count, first_fit_in_order);
	w->own->looks += 2 * (uint64_t)w->met_count;
	for (uint32_t i = 0; i < w->met_count; i++) {
		if (w->met[i].from >= top && w->met[i].from - top >= bytes)
			break;
		if (w->met[i].to > top)
			top = frag_space_offset(w->s, item, w->met[i].to);
	}
	return top;
}

/* Is a hint free of the items that it overlaps? */
static bool is_free(const struct first_fit *w, uint32_t item, uint64_t hint)
{
	bool good = hint != UINT64_MAX && hint % w->s->align[item] == 0;

	for (uint32_t i = 0; i < w->met_count && good; i++)
		good = w->met[i].to <= hint || w->met[i].from >= hint + w->s->size[item];
	return good;
}

static void put(struct first_fit *w, uint32_t item, uint64_t offset)
{
	const uint32_t end = w->s->to[item];

	FRAG_ASSERT(offset % w->s->align[item] == 0);
	w->own->offset[item] = offset;
	for (uint32_t n = w->leaves + item; n && w->reach[n] < end; n /= 2)
		w->reach[n] = end;
}

/* The most contended and longest items first, each at its hint or the lowest gap. -FRAG_ENOMEM */
static int first_fit_place(struct frag_placing *own, struct frag_error *err)
{
	const struct frag_space *s = own->space;
	struct first_fit w = { .own = own, .s = s, .leaves = 1 };
	struct frag_space_key *keys = malloc(((size_t)s->count + 1) * sizeof(*keys));
	bool good;

	while (w.leaves < s->count)
		w.leaves *= 2;
	w.reach = calloc(2 * (size_t)w.leaves, sizeof(*w.reach));
	w.met = malloc(((size_t)s->count + 1) * sizeof(*w.met));
	good = keys && w.reach && w.met;
	for (uint32_t i = 0; good && i < s->count; i++) {
		const uint64_t allocations = s->first_from[s->to[i]] - i;

		keys[i] = (struct frag_space_key){ { s->contention[i], allocations, s->size[i] }, i };
		if (s->fixed[i] != UINT64_MAX)
			put(&w, i, s->fixed[i]);
	}
	if (good)
		FRAG_SORT(keys, s->count, frag_space_by_key);
	for (uint32_t k = 0; good && k < s->count && !own->stopped; k++) {
		const uint32_t i = keys[k].item;

		if (s->fixed[i] != UINT64_MAX)
			continue;
		w.met_count = 0;
		meet(&w, 1, 0, w.leaves, i);
		own->looks += w.met_count;
		put(&w, i, is_free(&w, i, s->hint[i]) ? s->hint[i] : lowest_gap(&w, i));
		frag_placing_poll(own);
	}
	free(keys);
	free(w.reach);
	free(w.met);
	return good ? 0 : frag_fail_nomem(err);
}

struct planner {
	struct frag_space space;
	struct frag_space_plan *told;
	const struct frag_plan_effort *effort;
	uint64_t height;                /* of the lowest placement so far, which the space has */
	uint64_t goal;                  /* the search ends at this height or below it */
	uint64_t looks_left;            /* the budget: list entries to be read */
	bool stopped;                   /* `stop` of the effort returned true, ... */
	bool late;                      /* ... before many items were sorted */
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

/* An earlier order has decided, or the caller ended the search. */
static bool order_is_over(void *ctx)
{
	const struct order_try *o = ctx;

	return atomic_load(&o->at->decided) < o->search.order
	       || frag_plan_is_over(o->at->p->effort->job);
}

static int try_order(void *ctx, uint32_t order, struct frag_error *err)
{
	struct height_try *t = ctx;
	struct frag_canonical *c = &t->of[order].search;
	const struct frag_job stop = { .stop = order_is_over, .ctx = &t->of[order] };
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
		.count = FRAG_CANONICAL_ORDERS, .job = p->effort->job, .task = try_order,
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
	p->stopped = p->stopped || frag_plan_is_over(p->effort->job);
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
 * Lists the items of each section. They are counted first, so that list_at[t + 1] is where the next
 * item of t goes, and then where they end.
 */
static int list_sections(struct frag_space *s, struct frag_error *err)
{
	size_t sum = 0;

	s->list_at = calloc((size_t)s->times + 2, sizeof(*s->list_at));
	for (uint32_t r = 0; r < s->run_at[s->count]; r++)
		sum += s->runs[r].to - s->runs[r].from;
	s->list = malloc((sum + 1) * sizeof(*s->list));
	if (!s->list_at || !s->list)
		return frag_fail_nomem(err);
	for (uint32_t r = 0; r < s->run_at[s->count]; r++)
		for (uint32_t t = s->runs[r].from; t < s->runs[r].to; t++)
			s->list_at[t + 2]++;
	for (uint32_t t = 0; t < s->times; t++)
		s->list_at[t + 1] += s->list_at[t];
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++)
			for (uint32_t t = s->runs[r].from; t < s->runs[r].to; t++)
				s->list[s->list_at[t + 1]++] = i;
	return 0;
}

/*
 * Searches at the goal, and then halves the distance between what is impossible, or was not found,
 * and the best; where a limit ended a search, no further than an eighth of the distance. Each round
 * has more placements than the last one.
 */
static int search(struct planner *p, struct frag_error *err)
{
	const uint64_t unit = p->space.unit;
	int rc = list_sections(&p->space, err);

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

	if (of[index].stopped)
		return frag_class_place(&of[index], err);
	return of[index].order == FIRST_FIT ? first_fit_place(&of[index], err)
					    : frag_skyline_place(&of[index], err);
}

/* Places by some orders side by side, and keeps the lowest placement. */
static int place_by(struct planner *p, uint32_t first, uint32_t count, struct frag_error *err)
{
	struct frag_placing of[SIDE_BY_SIDE];
	const struct frag_tasks tasks = {
		.count = count, .job = p->effort->job, .task = place_one, .ctx = of,
	};
	uint64_t *offsets = malloc(((size_t)count * p->space.count + 1) * sizeof(*offsets));
	int rc = offsets ? 0 : frag_fail_nomem(err);

	FRAG_ASSERT(count <= SIDE_BY_SIDE && p->told->try_count + count <= FRAG_PLAN_TRIES);
	for (uint32_t i = 0; i < count; i++)
		of[i] = (struct frag_placing){
			.space = &p->space, .order = first + i,
			/* the first one always is a plan: there is no other of a million items */
			.stop = p->effort->job, .always = !first,
			.offset = offsets + (size_t)i * p->space.count, .stopped = p->late,
		};
	rc = rc ? rc : frag_tasks_run(&tasks, err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		const char *name = p->late ? "class" : of[i].always && of[i].stopped ? "skyline, then by class"
				   : first + i < FRAG_SKYLINES ? frag_skyline_names[first + i]
				   : p->space.hinted ? "hints" : "contention, life";
		const bool whole = !of[i].stopped || of[i].always;
		const uint64_t height = whole ? height_of(&p->space, of[i].offset) : UINT64_MAX;

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
	p->late = s->count > ITEMS_UNASKED && frag_plan_is_over(p->effort->job);
	if (!p->late)
		rc = frag_space_sum_contention(&p->space, err);
	if (!rc && s->hinted && !p->late)
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
		p.told->peak_step = p.space.peak_step;
		plan->complete = plan->complete && (p.height <= p.told->lower || p.height <= p.goal);
		plan->stopped = plan->stopped || p.stopped;
	}
	frag_space_fini(&p.space);
	return rc;
}

static int planner_by_request(const void *one, const void *other)
{
	const struct frag_buffer *a = one, *b = other;

	return frag_order_two(a->id.number, b->id.number, a->space, b->space);
}

/*
 * The budget of a space is its part of the items: what one leaves, no other one takes.
 * Slots that are placed come in the order of their requests, also what is there all the time.
 */
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
	for (uint32_t i = 0; i < plan->count && plan->periods; i++)
		plan->buffers[i].birth = plan->buffers[i].id.number;
	if (!rc && plan->periods)
		FRAG_SORT(plan->buffers, plan->count, planner_by_request);
	if (!rc)
		frag_plan_measure(plan);
	return rc;
}
