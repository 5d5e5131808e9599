/*
 * canonical_search.c - a placement within a capacity, depth first, in the order of offsets, after
 * minimalloc (Moffitt, ASPLOS 2023).
 *
 * Each item that is not placed has a minimum: the lowest offset above all placed items that it
 * overlaps in time. Items are placed at their minima, by offset and of equal offsets by rank. A
 * section is a time of the space. The bytes that are still to be placed in a section must fit
 * above its floor, the lowest minimum of its waiting items. Where no waiting item crosses a
 * boundary between sections, both sides are searched separately, each with its own ranks.
 */
#include "plan/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"

#define NEVER UINT64_MAX
#define LOOKS_POLL 100000               /* between calls of `stop` */

/*
 * What the items of a piece are sorted by, the highest first: the length of its life, in times or
 * in sections, that times its size, and the peak of the waiting bytes in its sections.
 */
struct rank_key {
	double of[3];
	uint32_t item;
};

/* Items that are searched together, by rank. */
struct piece {
	uint32_t from, to;              /* sections */
	uint32_t count;
	struct rank_key *ranked;
};

/* A step of the search: the placed item, and where the next one begins if it fails. */
struct node {
	uint32_t item;
	uint32_t rises;                 /* length of the stack before it */
	uint64_t low;                   /* the next item has this minimum and */
	uint32_t rank;                  /* this rank or a later one, or a higher minimum */
	bool free; /* no waiting item overlaps it: nothing else need be tried */
};

struct rise {
	uint64_t before;
	uint32_t item;
};

struct search {
	struct frag_canonical *c;
	const struct frag_space *s;
	uint64_t *low;                  /* by item: its minimum; NEVER: it is placed */
	uint64_t *waiting;              /* by section: bytes of waiting items */
	uint64_t *floor;                /* by section: at most the lowest minimum of these items */
	uint32_t *lowest;               /* by section: the item whose minimum that was */
	uint32_t *crossing;             /* by section: waiting items that go on to the next one */
	struct rise *rises;
	uint32_t rise_count, rise_capacity;
	uint64_t polled;                /* looks when `stop` was called last */
	bool nomem;
};

/* The sections t in which an item is in use. */
#define FOR_SECTIONS(s, item, t)                                                                \
	for (uint32_t r_ = (s)->run_at[item]; r_ < (s)->run_at[(item) + 1]; r_++)               \
		for (uint32_t t = (s)->runs[r_].from; t < (s)->runs[r_].to; t++)

/* A floor rises only when the minimum of its item has risen. */
static void find_floor(struct search *w, uint32_t section)
{
	const uint32_t begin = w->s->list_at[section], end = w->s->list_at[section + 1];
	uint64_t least = NEVER;
	uint32_t i;

	for (i = begin; i < end && least > w->floor[section]; i++) {
		const uint32_t item = w->s->list[i];

		if (w->low[item] < least) {
			least = w->low[item];
			w->lowest[section] = item;
		}
	}
	w->floor[section] = least;
	w->c->looks += (i - begin) / 2;
}

/* Do the waiting bytes of each section fit above its floor, and above the last placed item? */
static bool sections_fit(struct search *w, const struct piece *p, uint64_t at)
{
	for (uint32_t t = p->from; t < p->to; t++) {
		if (!w->waiting[t])
			continue;
		if (w->low[w->lowest[t]] > w->floor[t])
			find_floor(w, t);
		if (frag_max(w->floor[t], at) > w->c->capacity - w->waiting[t])
			return false;
	}
	w->c->looks += (p->to - p->from) / 16;
	return true;
}

/* A minimum falls, or its item waits for a place again: the floors of its sections. */
static void lower_floors(struct search *w, uint32_t item)
{
	const uint64_t low = w->low[item];

	FOR_SECTIONS(w->s, item, t)
		if (low <= w->floor[t]) {
			w->floor[t] = low;
			w->lowest[t] = item;
		}
	w->c->looks += (w->s->to[item] - w->s->from[item]) / 16;
}

/* An item waits for its place, or, NEVER, does not: the bytes of its sections, and who crosses them. */
static void set_waiting(struct search *w, uint32_t item, uint64_t low)
{
	const bool wait = low != NEVER;
	const uint64_t size = w->s->size[item];

	FRAG_ASSERT((w->low[item] == NEVER) == wait);
	w->low[item] = low;
	FOR_SECTIONS(w->s, item, t)
		w->waiting[t] += wait ? size : -size;
	for (uint32_t t = w->s->from[item]; t + 1 < w->s->to[item]; t++)
		w->crossing[t] += wait ? 1U : -1U;
	if (wait)
		lower_floors(w, item);
}

/* A minimum rises. False: the item has no place any more. */
static bool raise_minimum(struct search *w, uint32_t item, uint64_t low)
{
	if (low == NEVER || low + w->s->size[item] > w->c->capacity)
		return false;
	if (!FRAG_GROW(w->rises, w->rise_capacity, w->rise_count)) {
		w->nomem = true;
		return false;
	}
	w->rises[w->rise_count++] = (struct rise){ w->low[item], item };
	w->low[item] = low;
	return true;
}

static void lower_minima(struct search *w, uint32_t down_to)
{
	FRAG_ASSERT(down_to <= w->rise_count);
	while (w->rise_count > down_to) {
		const struct rise *r = &w->rises[--w->rise_count];

		w->low[r->item] = r->before;
		lower_floors(w, r->item);
	}
}

/* Does another item wait for its place, and is it in use when the first one is? */
static bool is_met(const struct search *w, uint32_t item, uint32_t other)
{
	const struct frag_space *s = w->s;

	return w->low[other] != NEVER && other != item && s->from[other] < s->to[item]
	       && s->to[other] > s->from[item] && (!s->gapped || frag_space_meet(s, item, other));
}

/*
 * Puts an item at its minimum, and raises those that it overlaps. False: some section or item no
 * longer fits within the capacity. The caller removes the item in both cases.
 */
static bool place_item(struct search *w, const struct piece *p, struct node *n)
{
	const struct frag_space *s = w->s;
	const uint32_t item = n->item;
	const uint64_t at = n->low, top = at + s->size[item];

	FRAG_ASSERT(at == w->low[item] && top <= w->c->capacity);
	w->c->offset[item] = at;
	n->rises = w->rise_count;
	n->free = true;
	set_waiting(w, item, NEVER);
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t other = p->ranked[i].item;
		uint64_t least;

		if (!is_met(w, item, other))
			continue;
		n->free = false;
		least = frag_space_offset(s, other, top);
		if (w->low[other] < least && !raise_minimum(w, other, least))
			return false;
	}
	FOR_SECTIONS(s, item, t)
		w->floor[t] = frag_max(w->floor[t], top);
	return sections_fit(w, p, at);
}

static void undo_item(struct search *w, const struct node *n)
{
	lower_minima(w, n->rises);
	set_waiting(w, n->item, n->low);
}

/*
 * An item that failed at its minimum is placed on top of an item that it overlaps, later: its
 * minimum is at least the lowest end that such an item can have.
 */
static void reject_item(struct search *w, const struct piece *p, struct node *n)
{
	uint64_t end = NEVER;

	undo_item(w, n);
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t other = p->ranked[i].item;

		if (is_met(w, n->item, other))
			end = frag_min(end, w->low[other] + w->s->size[other]);
	}
	end = frag_space_offset(w->s, n->item, end);
	if (n->free || (end > n->low && !raise_minimum(w, n->item, end)) || !sections_fit(w, p, n->low))
		n->low = NEVER;
}

/*
 * Sets the next item of a node. One is not placed at an offset below which another waiting item
 * could be as a whole. False: no item is left to try, or, FOUND, none waits.
 */
static bool next_item(struct search *w, const struct piece *p, struct node *n,
		      enum frag_canonical_result *result)
{
	uint64_t lowest = NEVER, end = NEVER;
	uint32_t rank = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t item = p->ranked[i].item;
		const uint64_t low = w->low[item];

		if (low == NEVER)
			continue;
		end = frag_min(end, low + w->s->size[item]);
		if (low < lowest && (low > n->low || (low == n->low && i >= n->rank))) {
			lowest = low;
			rank = i;
		}
	}
	w->c->looks += p->count / 8 + 1;
	*result = end == NEVER ? FRAG_CANONICAL_FOUND : FRAG_CANONICAL_NONE;
	if (lowest >= end)
		return false;
	n->item = p->ranked[rank].item;
	n->low = lowest;
	n->rank = rank + 1;
	return true;
}

static bool canonical_is_over(struct search *w)
{
	const struct frag_canonical *c = w->c;

	if (c->nodes >= c->nodes_max || c->looks >= c->looks_max || w->nomem)
		return true;
	if (c->looks < w->polled + LOOKS_POLL)
		return false;
	w->polled = c->looks;
	return frag_plan_is_over(c->stop);
}

static bool is_cut(const struct search *w, uint32_t item)
{
	for (uint32_t t = w->s->from[item]; t + 1 < w->s->to[item]; t++)
		if (!w->crossing[t])
			return true;
	return false;
}

static enum frag_canonical_result solve_parts(struct search *w, const struct piece *p);

/*
 * Depth first without recursion, except where a placed item was the last one across a boundary.
 * An item that no waiting item overlaps is placed and not moved again.
 */
static enum frag_canonical_result dive(struct search *w, const struct piece *p, struct node *path)
{
	enum frag_canonical_result result = FRAG_CANONICAL_NONE;
	const uint32_t rises = w->rise_count;
	uint32_t depth = 0;

	path[0] = (struct node){ .low = 0 };
	if (!sections_fit(w, p, 0))
		return result;
	while (result == FRAG_CANONICAL_NONE) {
		struct node *n = &path[depth];
		bool fits;

		if (!next_item(w, p, n, &result)) {
			if (result == FRAG_CANONICAL_FOUND || !depth)
				break;
			reject_item(w, p, &path[--depth]);
			continue;
		}
		if (canonical_is_over(w)) {
			result = FRAG_CANONICAL_LIMIT;
			break;
		}
		w->c->nodes++;
		fits = place_item(w, p, n);
		if (fits && !is_cut(w, n->item)) {
			path[++depth] = (struct node){ .low = n->low, .rank = n->rank };
			continue;
		}
		result = fits ? solve_parts(w, p) : FRAG_CANONICAL_NONE;
		if (result == FRAG_CANONICAL_NONE)
			reject_item(w, p, n);
		else
			undo_item(w, n);
	}
	while (depth)
		undo_item(w, &path[--depth]);
	lower_minima(w, rises);
	return result;
}

static int canonical_search_by_rank(const void *one, const void *other)
{
	const struct rank_key *a = one, *b = other;

	for (uint32_t i = 0; i < 3; i++)
		if (a->of[i] > b->of[i] || a->of[i] < b->of[i])
			return a->of[i] > b->of[i] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static struct rank_key rank_of(const struct search *w, uint32_t item)
{
	enum { LIFE, AREA, PEAK };
	static const uint8_t orders[][3] = {
		{ LIFE, AREA, PEAK }, { PEAK, AREA, LIFE }, { PEAK, LIFE, AREA },
	};
	const struct frag_space *s = w->s;
	struct rank_key key = { .item = item };
	double of[3];
	uint64_t peak = 0;

	FOR_SECTIONS(s, item, t)
		peak = frag_max(peak, w->waiting[t]);
	of[LIFE] = w->c->order < 3 ? s->life[item] : s->to[item] - s->from[item];
	of[AREA] = of[LIFE] * (double)s->size[item];
	of[PEAK] = (double)peak;
	for (uint32_t k = 0; k < 3; k++)
		key.of[k] = of[orders[w->c->order % 3][k]];
	return key;
}

/* Searches the waiting items of a piece that are in use in [from, to): none crosses these bounds. */
static enum frag_canonical_result solve_part(struct search *w, const struct piece *p, uint32_t from,
					     uint32_t to)
{
	struct piece part = { .from = from, .to = to };
	struct node *path;
	enum frag_canonical_result result = FRAG_CANONICAL_LIMIT;

	part.ranked = malloc((size_t)p->count * sizeof(*part.ranked));
	path = malloc(((size_t)p->count + 1) * sizeof(*path));
	w->nomem = w->nomem || !part.ranked || !path;
	for (uint32_t i = 0; !w->nomem && i < p->count; i++) {
		const uint32_t item = p->ranked[i].item;

		if (w->low[item] != NEVER && w->s->from[item] >= from && w->s->to[item] <= to)
			part.ranked[part.count++] = rank_of(w, item);
	}
	if (!w->nomem) {
		FRAG_SORT(part.ranked, part.count, canonical_search_by_rank);
		result = dive(w, &part, path);
	}
	free(part.ranked);
	free(path);
	return result;
}

/* Searches the parts between boundaries that no waiting item crosses, one after the other. */
static enum frag_canonical_result solve_parts(struct search *w, const struct piece *p)
{
	enum frag_canonical_result result = FRAG_CANONICAL_FOUND;

	for (uint32_t from = p->from, to; from < p->to && result == FRAG_CANONICAL_FOUND; from = to) {
		for (to = from + 1; to < p->to && w->crossing[to - 1]; to++)
			;
		result = solve_part(w, p, from, to);
	}
	return result;
}

/*
 * Items that live through all sections are at the bottom, where any placement could be rearranged
 * to have them. All others wait, each at the lowest offset that it may have. False: out of memory.
 */
static bool begin_search(struct search *w, struct piece *all)
{
	const struct frag_space *s = w->s;
	const size_t items = (size_t)s->count + 1, times = (size_t)s->times + 1;
	uint64_t base = 0;

	w->low = malloc(items * sizeof(*w->low));
	w->waiting = calloc(times, sizeof(*w->waiting));
	w->floor = malloc(times * sizeof(*w->floor));
	w->lowest = calloc(times, sizeof(*w->lowest));
	w->crossing = calloc(times, sizeof(*w->crossing));
	all->ranked = malloc(items * sizeof(*all->ranked));
	if (!w->low || !w->waiting || !w->floor || !w->lowest || !w->crossing
	    || !all->ranked)
		return false;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->runs[s->run_at[i]].to - s->runs[s->run_at[i]].from == s->times && !s->constrained) {
			w->c->offset[i] = base;
			base += s->size[i];
		} else {
			all->ranked[all->count++].item = i;
		}
	memset(w->low, 0xff, items * sizeof(*w->low));
	memset(w->floor, 0xff, times * sizeof(*w->floor));
	for (uint32_t k = 0; k < all->count; k++)
		set_waiting(w, all->ranked[k].item,
			    frag_space_offset(s, all->ranked[k].item, base));
	return true;
}

int frag_canonical_search(struct frag_canonical *c, struct frag_error *err)
{
	struct search w = { .c = c, .s = c->space };
	struct piece all = { .to = c->space->times };

	FRAG_ASSERT(c->order < FRAG_CANONICAL_ORDERS && c->offset);
	c->nodes = c->looks = 0;
	w.nomem = !begin_search(&w, &all);
	c->result = w.nomem ? FRAG_CANONICAL_LIMIT : solve_parts(&w, &all);
	free(w.low);
	free(w.waiting);
	free(w.floor);
	free(w.lowest);
	free(w.crossing);
	free(w.rises);
	free(all.ranked);
	return w.nomem ? frag_fail_nomem(err) : 0;
}
