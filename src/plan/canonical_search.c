/*
 * canonical_search.c - a placement within a capacity, depth first, in the order of offsets.
 *
 * Each item that is not placed has a minimum: the lowest offset above all placed items that it
 * overlaps in time. The next item is always one of the lowest minimum; an item that was tried at a
 * node and failed is barred below that node until its minimum rises. A section is a time of the
 * space. The bytes that are still to be placed in a section must fit above the lowest minimum of
 * its items: a tree over the sections finds a section where they do not, and is updated only
 * where a minimum changed. Where no item crosses a boundary between sections any more, both sides
 * are searched separately.
 */
#include "plan/placers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"

#define NEVER UINT64_MAX
#define RISES_MAX (UINT32_C(1) << 24)   /* entries of the trail: 256 MiB */
#define LOOKS_POLL 100000               /* between calls of `stop` */
#define RANKED_ANEW 4096 /* a piece with more items keeps its ranks when it is split */

/* Items that are searched together, by rank, with the winners of both tournaments at 1. */
struct piece {
	uint32_t from, to;              /* sections */
	uint32_t count, leaves;
	uint32_t *item;                 /* by rank */
	uint64_t *key;                  /* the minimum minimum that may be placed next */
	uint64_t *end;                  /* the minimum end of any item, barred or not */
};

/* An item of the current path of the search, and what its removal restores. */
struct node {
	uint32_t item, from, to;        /* bounds of the piece before it */
	uint32_t rises, bars, solved;   /* lengths of the stacks before it */
	uint32_t level_rises, level_bars;       /* and before the first one of its level */
	bool free; /* no waiting item overlaps it: nothing else need be tried */
};

struct rise {
	uint64_t before;
	uint32_t item;
};

struct search {
	struct frag_canonical *c;
	const struct frag_space *s;
	uint64_t *low;                  /* by item: its minimum */
	uint64_t *barred;               /* by item: the minimum at which it is barred, or NEVER */
	uint32_t *rank;                 /* by item: in the current piece */
	bool *solved;                   /* by item, by section: of a piece that has its placement */
	bool *solved_section;
	uint32_t item_leaves;
	uint32_t *reach; /* tree over items: the last end of those that wait; 0: none */
	uint32_t *crossing;             /* by section: waiting items that go on to the next one */
	uint64_t *waiting;              /* by section: bytes of waiting items */
	uint32_t leaves;                /* of the tree over sections */
	uint32_t *list_at, *list;       /* by node of it: the items whose life it is a part of */
	uint64_t *lowest;               /* by node: the minimum minimum of its list */
	uint64_t *spare; /* by node: the minimum, over its sections, of capacity - waiting */
	uint64_t *lack;	 /* by node: the same of sections whose minima are above that */
	uint64_t *stale, *changed;      /* by node, bits: the list or a child must be inspected */
	struct rise *rises;
	uint32_t rise_count, rise_capacity;
	struct rise *bars;
	uint32_t bar_count, bar_capacity;
	uint32_t *solved_items;
	uint32_t solved_count;
	uint32_t *met;                  /* scratch, by item */
	void *memory;                   /* of all arrays except the list and the stacks */
	uint64_t polled;                /* looks when `stop` was called last */
	bool nomem;
};

/* The nodes of the tree over sections that make up the runs of an item. */
#define FOR_NODES(w, item, node, body)                                                          \
	for (const struct frag_space_run *run_ = &(w)->s->runs[(w)->s->run_at[item]],           \
				   *last_ = &(w)->s->runs[(w)->s->run_at[(item) + 1]];          \
	     run_ < last_; run_++)                                                              \
		for (uint32_t low_ = run_->from + (w)->leaves, high_ = run_->to + (w)->leaves;  \
		     low_ < high_; low_ /= 2, high_ /= 2) {                                     \
			uint32_t node;                                                          \
			if (low_ & 1) {                                                         \
				node = low_++;                                                  \
				body;                                                           \
			}                                                                       \
			if (high_ & 1) {                                                        \
				node = --high_;                                                 \
				body;                                                           \
			}                                                                       \
		}

static void set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / 64] |= UINT64_C(1) << at % 64;
}

static bool item_waits(const struct search *w, uint32_t item)
{
	return w->reach[w->item_leaves + item] != 0;
}

static void set_reach(struct search *w, uint32_t item, uint32_t to)
{
	uint32_t *r = w->reach;

	r[w->item_leaves + item] = to;
	for (uint32_t n = (w->item_leaves + item) / 2; n; n /= 2) {
		const uint32_t most = r[2 * n] > r[2 * n + 1] ? r[2 * n] : r[2 * n + 1];

		if (r[n] == most)
			break;
		r[n] = most;
	}
}

/* The lowest offset of an item at or above a minimum; NEVER where it is fixed below that. */
static uint64_t offset_from(const struct search *w, uint32_t item, uint64_t low)
{
	return frag_space_offset(w->s, item, low);
}

/* Waiting items with numbers below `last` of a subtree whose lives end after a section, to met. */
static uint32_t collect(struct search *w, uint32_t node, uint32_t base, uint32_t width,
			const uint32_t bounds[3], uint32_t count)
{
	while (w->reach[node] > bounds[2] && base < bounds[1] && base + width > bounds[0]) {
		if (width == 1) {
			w->met[count++] = base;
			break;
		}
		width /= 2;
		count = collect(w, 2 * node, base, width, bounds, count);
		node = 2 * node + 1;
		base += width;
	}
	w->c->looks++;
	return count;
}

static void look_at_section(struct search *w, uint32_t section)
{
	const uint64_t bytes = w->waiting[section];

	w->spare[w->leaves + section] = w->solved_section[section] || !bytes
						? NEVER : w->c->capacity - bytes;
	set_bit(w->changed, w->leaves + section);
}

/* Changes the waiting bytes of the sections in which an item is in use. */
static void canonical_add_waiting(struct search *w, uint32_t item, uint64_t bytes)
{
	for (uint32_t r = w->s->run_at[item]; r < w->s->run_at[item + 1]; r++)
		for (uint32_t t = w->s->runs[r].from; t < w->s->runs[r].to; t++)
			w->waiting[t] += bytes;
}

static void look_at_list(struct search *w, uint32_t node)
{
	uint64_t least = NEVER;

	for (uint32_t i = w->list_at[node]; i < w->list_at[node + 1]; i++)
		if (item_waits(w, w->list[i]) && w->low[w->list[i]] < least)
			least = w->low[w->list[i]];
	w->lowest[node] = least;
	w->c->looks += w->list_at[node + 1] - w->list_at[node];
}

static void look_at_node(struct search *w, uint32_t node)
{
	uint64_t lack;

	if (node < w->leaves) {
		const uint32_t a = 2 * node, b = a + 1;

		w->spare[node] = w->spare[a] < w->spare[b] ? w->spare[a] : w->spare[b];
		lack = w->lack[a] < w->lack[b] ? w->lack[a] : w->lack[b];
	} else {
		lack = w->spare[node];
	}
	w->lack[node] = lack < w->lowest[node] ? lack : NEVER;
}

/* Brings the tree over sections up to date, children first. */
static void update_sections(struct search *w)
{
	for (uint32_t i = w->leaves / 32 + 1; i-- > 0;) {
		while (w->changed[i]) {
			const uint32_t bit = 63 - (uint32_t)__builtin_clzll(w->changed[i]);
			const uint32_t node = i * 64 + bit;

			w->changed[i] &= ~(UINT64_C(1) << bit);
			if (w->stale[i] & UINT64_C(1) << bit) {
				w->stale[i] &= ~(UINT64_C(1) << bit);
				look_at_list(w, node);
			}
			look_at_node(w, node);
			w->c->looks++;
			if (node > 1)
				set_bit(w->changed, node / 2);
		}
	}
}

static uint64_t spare_of(const struct search *w, uint32_t from, uint32_t to)
{
	uint64_t least = NEVER;

	for (from += w->leaves, to += w->leaves; from < to; from /= 2, to /= 2) {
		if (from & 1) {
			least = w->spare[from] < least ? w->spare[from] : least;
			from++;
		}
		if (to & 1) {
			to--;
			least = w->spare[to] < least ? w->spare[to] : least;
		}
	}
	return least;
}

static void set_tournament(uint64_t *of, uint32_t node, uint64_t value)
{
	of[node] = value;
	for (node /= 2; node; node /= 2) {
		const uint64_t least = of[2 * node] < of[2 * node + 1] ? of[2 * node]
								       : of[2 * node + 1];

		if (of[node] == least)
			break;
		of[node] = least;
	}
}

static void enter_item(struct search *w, struct piece *p, uint32_t item)
{
	const uint32_t leaf = p->leaves + w->rank[item];
	const bool out = !item_waits(w, item) || w->solved[item];

	set_tournament(p->key, leaf, out || w->barred[item] == w->low[item] ? NEVER
									    : w->low[item]);
	set_tournament(p->end, leaf, out ? NEVER : w->low[item] + w->s->size[item]);
}

/* A stack of items with a former value. */
static bool push_rise(struct search *w, struct rise **stack, uint32_t *count, uint32_t *capacity,
		 struct rise entry)
{
	if (!frag_grow(stack, capacity, (uint64_t)*count + 1, sizeof(**stack))) {
		w->nomem = true;
		return false;
	}
	(*stack)[(*count)++] = entry;
	return true;
}

static void lift_bars(struct search *w, struct piece *p, uint32_t down_to)
{
	FRAG_ASSERT(down_to <= w->bar_count);
	while (w->bar_count > down_to) {
		const struct rise *b = &w->bars[--w->bar_count];

		w->barred[b->item] = b->before;
		enter_item(w, p, b->item);
	}
}

static bool set_bar(struct search *w, struct piece *p, uint32_t item, uint64_t at)
{
	if (!push_rise(w, &w->bars, &w->bar_count, &w->bar_capacity,
		  (struct rise){ w->barred[item], item }))
		return false;
	w->barred[item] = at;
	enter_item(w, p, item);
	return true;
}

static void lower_minima(struct search *w, struct piece *p, uint32_t down_to)
{
	FRAG_ASSERT(down_to <= w->rise_count);
	while (w->rise_count > down_to) {
		const struct rise *r = &w->rises[--w->rise_count];

		FRAG_ASSERT(r->before < w->low[r->item]);
		w->low[r->item] = r->before;
		FOR_NODES(w, r->item, node, {
			if (w->lowest[node] > r->before) {
				w->lowest[node] = r->before;
				set_bit(w->changed, node);
			}
		});
		enter_item(w, p, r->item);
	}
}

/* A minimum rises. False: the item has no place any more. */
static bool raise_minimum(struct search *w, struct piece *p, uint32_t item, uint64_t low)
{
	const uint64_t before = w->low[item];

	FRAG_ASSERT(item_waits(w, item) && low > before);
	if (low == NEVER || low + w->s->size[item] > w->c->capacity)
		return false;
	if (!push_rise(w, &w->rises, &w->rise_count, &w->rise_capacity,
		       (struct rise){ before, item }))
		return false;
	w->low[item] = low;
	FOR_NODES(w, item, node, {
		if (w->lowest[node] == before) {
			set_bit(w->stale, node);
			set_bit(w->changed, node);
		}
	});
	enter_item(w, p, item);
	return true;
}

/*
 * An item that failed at its minimum is placed on top of an item that it overlaps, later: its
 * minimum is at least the lowest end that such an item can have. False: there is no place left.
 */
static bool bar_item(struct search *w, struct piece *p, uint32_t item)
{
	const uint32_t bounds[3] = { 0, w->s->first_from[w->s->to[item]], w->s->from[item] };
	const uint32_t count = collect(w, 1, 0, w->item_leaves, bounds, 0);
	uint64_t end = NEVER;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t other = w->met[i];
		const uint64_t its = w->low[other] + w->s->size[other];

		if (other != item && its < end)
			end = its;
	}
	end = offset_from(w, item, end);
	if (end > w->low[item] && !raise_minimum(w, p, item, end))
		return false;
	if (!set_bar(w, p, item, w->low[item]))
		return false;
	update_sections(w);
	return w->lack[1] == NEVER;
}

/* An item waits for its place, or does not: the sums of its sections, and who crosses them. */
static void set_waiting(struct search *w, struct piece *p, uint32_t item, bool wait)
{
	const uint32_t from = w->s->from[item], to = w->s->to[item];

	set_reach(w, item, wait ? to : 0);
	canonical_add_waiting(w, item, wait ? w->s->size[item] : -w->s->size[item]);
	for (uint32_t t = from; t < to; t++) {
		w->crossing[t] += t + 1 == to ? 0 : wait ? 1U : -1U;
		look_at_section(w, t);
	}
	FOR_NODES(w, item, node, {
		if (w->lowest[node] >= w->low[item]) {
			set_bit(w->changed, node);
			if (wait)
				w->lowest[node] = w->low[item];
			else
				set_bit(w->stale, node);
		}
	});
	enter_item(w, p, item);
	w->c->looks += to - from;
}

/*
 * Puts an item at its minimum, and raises those that it overlaps. False: some section or item no
 * longer fits within the capacity. The caller removes the item in both cases.
 */
static bool place_item(struct search *w, struct piece *p, struct node *n)
{
	const uint32_t item = n->item;
	const uint64_t at = w->low[item], top = at + w->s->size[item];
	const uint32_t bounds[3] = { 0, w->s->first_from[w->s->to[item]], w->s->from[item] };
	uint32_t count, kept = 0;

	FRAG_ASSERT(item_waits(w, item) && top <= w->c->capacity);
	w->c->offset[item] = at;
	set_waiting(w, p, item, false);
	count = collect(w, 1, 0, w->item_leaves, bounds, 0);
	for (uint32_t i = 0; w->s->gapped && i < count; i++)
		if (frag_space_meet(w->s, item, w->met[i]))
			w->met[kept++] = w->met[i];
	count = w->s->gapped ? kept : count;
	n->free = !count;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t other = w->met[i];
		const uint64_t least = offset_from(w, other, top);

		if (w->low[other] < least && !raise_minimum(w, p, other, least))
			return false;
		if (w->low[other] == least && w->barred[other] == least)
			set_bar(w, p, other, NEVER);
	}
	update_sections(w);
	return w->lack[1] == NEVER && spare_of(w, p->from, p->to) >= at;
}

static void undo_item(struct search *w, struct piece *p, const struct node *n)
{
	FRAG_ASSERT(!item_waits(w, n->item) && n->solved <= w->solved_count);
	while (w->solved_count > n->solved) {
		const uint32_t item = w->solved_items[--w->solved_count];

		w->solved[item] = false;
		enter_item(w, p, item);
		for (uint32_t t = w->s->from[item]; t < w->s->to[item]; t++) {
			w->solved_section[t] = false;
			look_at_section(w, t);
		}
	}
	p->from = n->from;
	p->to = n->to;
	lift_bars(w, p, n->bars);
	lower_minima(w, p, n->rises);
	set_waiting(w, p, n->item, true);
}

static enum frag_canonical_result solve_piece(struct search *w, const uint32_t *items,
					      uint32_t count, uint32_t from, uint32_t to);

/* Searches the waiting items of [from, to) separately: none crosses its bounds. p skips them. */
static enum frag_canonical_result solve_part(struct search *w, struct piece *p, uint32_t from,
					     uint32_t to)
{
	const uint32_t bounds[3] = { w->s->first_from[from], w->s->first_from[to], 0 };
	const uint32_t count = collect(w, 1, 0, w->item_leaves, bounds, 0);
	enum frag_canonical_result result;
	uint32_t *items = malloc((count + 1) * sizeof(*items));

	if (!items) {
		w->nomem = true;
		return FRAG_CANONICAL_LIMIT;
	}
	memcpy(items, w->met, count * sizeof(*items));
	result = count ? solve_piece(w, items, count, from, to) : FRAG_CANONICAL_FOUND;
	for (uint32_t i = 0; p && i < count && result == FRAG_CANONICAL_FOUND; i++) {
		w->solved[items[i]] = true;
		w->solved_items[w->solved_count++] = items[i];
		enter_item(w, p, items[i]);
	}
	for (uint32_t t = from; p && t < to && result == FRAG_CANONICAL_FOUND; t++) {
		w->solved_section[t] = true;
		look_at_section(w, t);
	}
	free(items);
	return result;
}

/* The next boundary that no waiting item crosses, of those within the item's life. */
static uint32_t next_cut(const struct search *w, const struct piece *p, uint32_t item,
			 uint32_t after)
{
	uint32_t t = w->s->from[item] > after ? w->s->from[item] : after;

	for (; t + 1 < w->s->to[item]; t++)
		if (!w->crossing[t])
			return t + 1;
	return p->to;
}

/*
 * Where the placed item was the last one across a boundary, the parts on both sides are searched
 * separately, each with its own ranks. Only a large part stays in the piece, as ranks cost time.
 */
static enum frag_canonical_result split_piece(struct search *w, struct piece *p, uint32_t item)
{
	const uint32_t from = p->from, to = p->to;
	uint32_t kept = to, kept_to = to, widest = RANKED_ANEW, end;
	enum frag_canonical_result result = FRAG_CANONICAL_FOUND;

	FRAG_ASSERT(from <= w->s->from[item] && w->s->to[item] <= to);
	if (next_cut(w, p, item, from) == to)
		return result;
	for (uint32_t begin = from; begin < to; begin = end) {
		end = next_cut(w, p, item, begin);
		if (w->s->first_from[end] - w->s->first_from[begin] <= widest)
			continue;
		widest = w->s->first_from[end] - w->s->first_from[begin];
		kept = begin;
		kept_to = end;
	}
	for (uint32_t begin = from; begin < to && result == FRAG_CANONICAL_FOUND; begin = end) {
		end = next_cut(w, p, item, begin);
		if (begin != kept)
			result = solve_part(w, p, begin, end);
	}
	p->from = kept;
	p->to = kept_to;
	return result;
}

/* The first item of the minimum minimum. */
static uint32_t next_item(const struct piece *p)
{
	uint32_t node = 1;

	while (node < p->leaves)
		node = 2 * node + (p->key[2 * node] != p->key[node]);
	FRAG_ASSERT(node - p->leaves < p->count);
	return p->item[node - p->leaves];
}

static bool canonical_is_over(struct search *w)
{
	const struct frag_canonical *c = w->c;

	if (c->nodes >= c->nodes_max || c->looks >= c->looks_max || w->nomem
	    || w->rise_count > RISES_MAX)
		return true;
	if (!c->stop || c->looks < w->polled + LOOKS_POLL)
		return false;
	w->polled = c->looks;
	return c->stop->stop(c->stop->ctx);
}

static void begin_level(const struct search *w, struct node *n)
{
	n->level_rises = w->rise_count;
	n->level_bars = w->bar_count;
}

static void end_level(struct search *w, struct piece *p, const struct node *n)
{
	lift_bars(w, p, n->level_bars);
	lower_minima(w, p, n->level_rises);
}

/*
 * Depth first without recursion. An item that another waiting item could be placed below as a
 * whole, is not placed; an item that no waiting item overlaps, is placed and not moved again.
 */
static enum frag_canonical_result dive(struct search *w, struct piece *p, struct node *path)
{
	enum frag_canonical_result result = FRAG_CANONICAL_NONE;
	const uint32_t rises = w->rise_count, bars = w->bar_count;
	uint32_t depth = 0;

	begin_level(w, &path[0]);
	while (result != FRAG_CANONICAL_LIMIT) {
		struct node *n = &path[depth];

		result = p->end[1] == NEVER ? FRAG_CANONICAL_FOUND
			 : canonical_is_over(w) ? FRAG_CANONICAL_LIMIT : FRAG_CANONICAL_NONE;
		if (result != FRAG_CANONICAL_NONE)
			break;
		if (p->key[1] < p->end[1]) {
			*n = (struct node){
				.item = next_item(p),
				.from = p->from,
				.to = p->to,
				.rises = w->rise_count,
				.bars = w->bar_count,
				.solved = w->solved_count,
				.level_rises = n->level_rises,
				.level_bars = n->level_bars,
			};
			w->c->nodes++;
			if (place_item(w, p, n))
				result = split_piece(w, p, n->item);
			if (result == FRAG_CANONICAL_FOUND)
				begin_level(w, &path[++depth]);
			if (result != FRAG_CANONICAL_NONE) {
				depth += result == FRAG_CANONICAL_LIMIT;
				continue;
			}
			undo_item(w, p, n);
			if (!n->free && bar_item(w, p, n->item))
				continue;
		}
		do {
			end_level(w, p, n);
			if (!depth)
				return FRAG_CANONICAL_NONE;
			n = &path[--depth];
			undo_item(w, p, n);
		} while (n->free || !bar_item(w, p, n->item));
	}
	while (depth)
		undo_item(w, p, &path[--depth]);
	lift_bars(w, p, bars);
	lower_minima(w, p, rises);
	return result;
}

/*
 * W: the length of its life, in times or in sections; A: that times its size; T: the
 * peak of the waiting bytes in its sections.
 */
struct rank_key {
	double of[3];
	uint32_t item;
};

static int canonical_search_by_rank(const void *one, const void *other)
{
	const struct rank_key *a = one, *b = other;

	for (uint32_t i = 0; i < 3; i++)
		if (a->of[i] > b->of[i] || a->of[i] < b->of[i])
			return a->of[i] > b->of[i] ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* Orders items by lifetime (W), area (A) and height of their sections (T), as the words say. */
static bool rank_items(struct search *w, struct piece *p, const uint32_t *items)
{
	static const char *const words[] = { "WAT", "TAW", "TWA" };
	struct rank_key *keys = malloc(p->count * sizeof(*keys));

	if (!keys)
		return false;
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t item = items[i];
		const double life = w->c->order < 3 ? w->s->life[item]
						    : w->s->to[item] - w->s->from[item];
		const uint64_t spare = spare_of(w, w->s->from[item], w->s->to[item]);

		keys[i].item = item;
		for (uint32_t k = 0; k < 3; k++)
			switch (words[w->c->order % 3][k]) {
			case 'W':
				keys[i].of[k] = life;
				break;
			case 'A':
				keys[i].of[k] = life * (double)w->s->size[item];
				break;
			default:
				keys[i].of[k] = (double)(w->c->capacity - spare);
				break;
			}
	}
	qsort(keys, p->count, sizeof(*keys), canonical_search_by_rank);
	for (uint32_t i = 0; i < p->count; i++)
		p->item[i] = keys[i].item;
	free(keys);
	return true;
}

/* Begins a piece of these items. `before` receives their previous ranks and bars. */
static void begin_piece(struct search *w, struct piece *p, struct rise *before)
{
	memset(p->key, 0xff, 2 * (size_t)p->leaves * sizeof(*p->key));
	memset(p->end, 0xff, 2 * (size_t)p->leaves * sizeof(*p->end));
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t item = p->item[i];

		FRAG_ASSERT(item_waits(w, item));
		before[i] = (struct rise){ w->barred[item], w->rank[item] };
		w->rank[item] = i;
		w->barred[item] = NEVER;
		p->key[p->leaves + i] = w->low[item];
		p->end[p->leaves + i] = w->low[item] + w->s->size[item];
	}
	for (uint32_t n = p->leaves - 1; n; n--) {
		p->key[n] = p->key[2 * n] < p->key[2 * n + 1] ? p->key[2 * n] : p->key[2 * n + 1];
		p->end[n] = p->end[2 * n] < p->end[2 * n + 1] ? p->end[2 * n] : p->end[2 * n + 1];
	}
}

static enum frag_canonical_result solve_piece(struct search *w, const uint32_t *items,
					      uint32_t count, uint32_t from, uint32_t to)
{
	struct piece p = { .from = from, .to = to, .count = count, .leaves = 1 };
	struct node *path = malloc(((size_t)count + 1) * sizeof(*path));
	struct rise *before = malloc(count * sizeof(*before));
	enum frag_canonical_result result = FRAG_CANONICAL_LIMIT;

	FRAG_ASSERT(count && from < to && to <= w->s->times);
	while (p.leaves < count)
		p.leaves *= 2;
	p.item = malloc(count * sizeof(*p.item));
	p.key = malloc(2 * (size_t)p.leaves * sizeof(*p.key));
	p.end = malloc(2 * (size_t)p.leaves * sizeof(*p.end));
	if (path && before && p.item && p.key && p.end && rank_items(w, &p, items)) {
		begin_piece(w, &p, before);
		result = dive(w, &p, path);
		for (uint32_t i = 0; i < count; i++) {
			w->barred[p.item[i]] = before[i].before;
			w->rank[p.item[i]] = before[i].item;
		}
	} else {
		w->nomem = true;
	}
	free(path);
	free(before);
	free(p.item);
	free(p.key);
	free(p.end);
	return result;
}

/* The lists of the tree over sections: counted first, then filled. */
static bool list_nodes(struct search *w)
{
	const struct frag_space *s = w->s;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->count; i++)
		FOR_NODES(w, i, node, w->list_at[node + 1]++);
	for (uint32_t n = 0; n <= 2 * w->leaves; n++) {
		sum += w->list_at[n];
		if (sum > UINT32_MAX)
			return false;
		w->list_at[n] = (uint32_t)sum;
	}
	w->list = malloc((sum + 1) * sizeof(*w->list));
	if (!w->list)
		return false;
	for (uint32_t i = s->count; i-- > 0;)
		FOR_NODES(w, i, node, w->list[--w->list_at[node + 1]] = i);
	memmove(w->list_at, w->list_at + 1, 2 * (size_t)w->leaves * sizeof(*w->list_at));
	w->list_at[2 * w->leaves] = (uint32_t)sum;
	return true;
}

static bool is_throughout(const struct search *w, uint32_t item)
{
	const struct frag_space_run *run = &w->s->runs[w->s->run_at[item]];

	return run->from == 0 && run->to == w->s->times && !w->s->constrained;
}

/*
 * Items that live through all sections are at the bottom, where any placement could be rearranged
 * to have them. All others wait, each at the lowest offset that it may have.
 */
static void begin_search(struct search *w)
{
	const struct frag_space *s = w->s;
	uint64_t base = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (is_throughout(w, i)) {
			w->c->offset[i] = base;
			base += s->size[i];
		}
	for (uint32_t i = s->count; i-- > 0;) {
		w->low[i] = offset_from(w, i, base);
		w->barred[i] = NEVER;
		if (is_throughout(w, i))
			continue;
		w->reach[w->item_leaves + i] = s->to[i];
		canonical_add_waiting(w, i, s->size[i]);
		for (uint32_t t = s->from[i]; t + 1 < s->to[i]; t++)
			w->crossing[t]++;
	}
	for (uint32_t n = w->item_leaves - 1; n; n--)
		w->reach[n] = w->reach[2 * n] > w->reach[2 * n + 1] ? w->reach[2 * n]
								    : w->reach[2 * n + 1];
	for (uint32_t n = 1; n < 2 * w->leaves; n++) {
		w->spare[n] = NEVER;
		set_bit(w->stale, n);
		set_bit(w->changed, n);
	}
	for (uint32_t t = 0; t < s->times; t++)
		look_at_section(w, t);
	update_sections(w);
}

static void canonical_lay_out(struct search *w, struct frag_arena *a)
{
	const size_t items = (size_t)w->s->count + 1, times = (size_t)w->s->times + 1;
	const size_t nodes = 2 * (size_t)w->leaves + 2;

	w->low = frag_arena_take(a, items, sizeof(*w->low));
	w->barred = frag_arena_take(a, items, sizeof(*w->barred));
	w->rank = frag_arena_take(a, items, sizeof(*w->rank));
	w->solved = frag_arena_take(a, items, sizeof(*w->solved));
	w->solved_section = frag_arena_take(a, times, sizeof(*w->solved_section));
	w->reach = frag_arena_take(a, 2 * (size_t)w->item_leaves, sizeof(*w->reach));
	w->crossing = frag_arena_take(a, times, sizeof(*w->crossing));
	w->waiting = frag_arena_take(a, times, sizeof(*w->waiting));
	w->list_at = frag_arena_take(a, nodes, sizeof(*w->list_at));
	w->lowest = frag_arena_take(a, nodes, sizeof(*w->lowest));
	w->spare = frag_arena_take(a, nodes, sizeof(*w->spare));
	w->lack = frag_arena_take(a, nodes, sizeof(*w->lack));
	w->stale = frag_arena_take(a, nodes / 64 + 2, sizeof(*w->stale));
	w->changed = frag_arena_take(a, nodes / 64 + 2, sizeof(*w->changed));
	w->solved_items = frag_arena_take(a, items, sizeof(*w->solved_items));
	w->met = frag_arena_take(a, items, sizeof(*w->met));
}

static bool search_init(struct search *w)
{
	struct frag_arena measure = { .used = 0 }, arena = measure;

	for (w->leaves = 1; w->leaves < w->s->times; w->leaves *= 2)
		;
	for (w->item_leaves = 1; w->item_leaves < w->s->count; w->item_leaves *= 2)
		;
	canonical_lay_out(w, &measure);
	w->memory = arena.base = calloc(measure.used, 1);
	canonical_lay_out(w, &arena);
	return w->memory && list_nodes(w);
}

int frag_canonical_search(struct frag_canonical *c, struct frag_error *err)
{
	struct search w = { .c = c, .s = c->space };

	FRAG_ASSERT(c->order < FRAG_CANONICAL_ORDERS && c->offset);
	c->nodes = c->looks = 0;
	c->result = FRAG_CANONICAL_FOUND;
	if (search_init(&w)) {
		begin_search(&w);
		if (w.lack[1] != NEVER)
			c->result = FRAG_CANONICAL_NONE;
		for (uint32_t from = 0, to; from < w.s->times && c->result == FRAG_CANONICAL_FOUND;
		     from = to) {
			for (to = from + 1; to < w.s->times && w.crossing[to - 1]; to++)
				;
			c->result = solve_part(&w, NULL, from, to);
		}
	} else {
		w.nomem = true;
	}
	free(w.memory);
	free(w.list);
	free(w.rises);
	free(w.bars);
	return w.nomem ? frag_fail_nomem(err) : 0;
}
