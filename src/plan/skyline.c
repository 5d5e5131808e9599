/*
 * skyline.c - a placement of very many items in the order of their offsets, without a search.
 *
 * The skyline, at first of fixed items, is the top of all placed items by section, as plateaus of equal height. The lowest
 * plateau takes the best item whose life is within the plateau, if possible one that lives in the
 * section of the plateau where most bytes wait. Empty bytes in other sections cost nothing. If no
 * item fits, the plateau rises to the lower one of both adjacent plateaus.
 *
 * The best item lives where most bytes live, and of these items it is the longest. Other orders
 * count those bytes coarsely, or compare life times size: none is the lowest for all inputs.
 *
 * Items are the leaves of a tree, in the order in which their lives begin. A node knows the first and
 * the last end of these and its best item.
 */
#include "plan/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"

#define NEVER UINT64_MAX
#define FEW 128                         /* items to read one after the other */
#define STEPS_POLL 4096                 /* between calls of `stop` */

const char *const frag_skyline_names[FRAG_SKYLINES] = {
	"skyline", "skyline, 20 levels", "skyline, area",
	"skyline, 8 levels", "skyline, 50 levels", "skyline, 20 levels, area",
};

static const struct {
	uint32_t levels;                /* of the contention; 0: exact */
	bool area;
} orders[FRAG_SKYLINES] = {
	{ 0, false }, { 20, false }, { 0, true }, { 8, false }, { 50, false }, { 20, true },
};

struct box {
	uint32_t to_min, to_max;
	uint32_t best;                  /* the highest rank of a waiting item; 0: none waits */
};

struct skyline {
	struct frag_placing *own;
	const struct frag_space *s;
	uint32_t leaves, sections;      /* of the tree of items, and of that of sections */
	struct box *box;
	uint32_t *item;                 /* by rank, from 1 */
	uint32_t *next, *before;        /* by first section of a plateau: both adjacent ones */
	uint64_t *lowest;               /* tree over sections: the lowest plateau */
	int64_t *most, *added;          /* the same: most waiting bytes; what children lack of that */
};

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void join_boxes(struct skyline *w, uint32_t node)
{
	const struct box *a = &w->box[2 * node], *b = a + 1;

	w->box[node] = (struct box){
		least_of(a->to_min, b->to_min), most_of(a->to_max, b->to_max), most_of(a->best, b->best),
	};
}

/* Puts the items into their leaves, each with its rank. */
static bool plant(struct skyline *w)
{
	const struct frag_space *s = w->s;
	const uint32_t levels = orders[w->own->order].levels;
	struct frag_space_key *keys = malloc(((size_t)s->count + 1) * sizeof(*keys));

	for (uint32_t i = 0; keys && i < s->count; i++) {
		const uint64_t length = s->to[i] - s->from[i];
		const uint64_t part = levels ? s->bound / levels + 1 : 1;

		keys[i] = (struct frag_space_key){ { s->contention[i] / part, length, s->size[i] }, i };
		if (orders[w->own->order].area)
			keys[i].of[1] *= s->size[i] / s->unit;
	}
	if (keys && s->count)
		qsort(keys, s->count, sizeof(*keys), frag_space_by_key);
	for (uint32_t k = 0; keys && k < s->count; k++) {
		const uint32_t i = keys[k].item, rank = s->count - k;

		w->item[rank] = i;
		w->box[w->leaves + i] = (struct box){ s->to[i], s->to[i], rank };
	}
	for (uint32_t n = w->leaves; keys && n-- > 1;)
		join_boxes(w, n);
	free(keys);
	return keys;
}

/* Items [begin, end) whose lives end after the section `last`, and at `to` or before. */
struct lives {
	uint32_t begin, end, last, to;
};

/* The highest rank above `best` of such an item that waits; else `best`. */
static uint32_t best_within(struct skyline *w, uint32_t node, uint32_t base, uint32_t width,
			    const struct lives *l, uint32_t best)
{
	const struct box *b = &w->box[node];
	uint32_t right;

	w->own->looks += width <= FEW ? 8 : 1;
	if (b->best <= best || base >= l->end || base + width <= l->begin || b->to_min > l->to
	    || b->to_max <= l->last)
		return best;
	if (base >= l->begin && base + width <= l->end && b->to_max <= l->to && b->to_min > l->last)
		return b->best;
	if (width <= FEW) {
		b = &w->box[w->leaves];
		for (uint32_t i = most_of(base, l->begin); i < base + width && i < l->end; i++)
			if (b[i].best > best && b[i].to_max <= l->to && b[i].to_max > l->last)
				best = b[i].best;
		return best;
	}
	width /= 2;
	right = w->box[2 * node].best < w->box[2 * node + 1].best;
	best = best_within(w, 2 * node + right, base + right * width, width, l, best);
	return best_within(w, 2 * node + !right, base + !right * width, width, l, best);
}

/* Adds bytes to what waits in the sections of an item. */
static void add_waiting(struct skyline *w, uint32_t item, int64_t bytes)
{
	const uint32_t from = w->s->from[item] + w->sections, to = w->s->to[item] + w->sections;

	for (uint32_t a = from, b = to; a < b; a /= 2, b /= 2) {
		if (a & 1) {
			w->most[a] += bytes;
			w->added[a++] += bytes;
		}
		if (b & 1) {
			w->most[--b] += bytes;
			w->added[b] += bytes;
		}
	}
	for (uint32_t a = from / 2, b = (to - 1) / 2; b; a /= 2, b /= 2)
		for (uint32_t n = a;; n = b) {
			w->most[n] = w->added[n] + (w->most[2 * n] > w->most[2 * n + 1]
							    ? w->most[2 * n] : w->most[2 * n + 1]);
			if (n == b)
				break;
		}
}

/* A search for the section of [from, to) where most bytes wait. */
struct fullest {
	uint32_t from, to, section;
	int64_t bytes;
};

static void find_fullest(struct skyline *w, uint32_t node, uint32_t begin, uint32_t width,
			 int64_t above, struct fullest *f)
{
	uint32_t right;

	w->own->looks++;
	if (begin >= f->to || begin + width <= f->from || w->most[node] + above <= f->bytes)
		return;
	if (width == 1) {
		f->bytes = w->most[node] + above;
		f->section = begin;
		return;
	}
	above += w->added[node];
	width /= 2;
	right = w->most[2 * node] < w->most[2 * node + 1];
	find_fullest(w, 2 * node + right, begin + right * width, width, above, f);
	find_fullest(w, 2 * node + !right, begin + !right * width, width, above, f);
}

static void take_leaf(struct skyline *w, uint32_t item)
{
	uint32_t n = w->leaves + item;

	FRAG_ASSERT(w->box[n].best);
	w->box[n].best = 0;
	while (n /= 2)
		w->box[n].best = most_of(w->box[2 * n].best, w->box[2 * n + 1].best);
}

/* The item that a plateau takes, by rank; 0: none fits. */
static uint32_t best_for(struct skyline *w, uint32_t from, uint32_t to)
{
	const struct frag_space *s = w->s;
	struct lives l = { s->first_from[from], s->first_from[to], from, to };
	struct fullest full = { from, to, from, -1 };
	const uint32_t any = best_within(w, 1, 0, w->leaves, &l, 0);
	uint32_t best;

	if (!any || to - from == 1)
		return any;
	find_fullest(w, 1, 0, w->sections, 0, &full);
	FRAG_ASSERT(full.section >= from && full.section < to);
	if (s->from[w->item[any]] <= full.section && s->to[w->item[any]] > full.section)
		return any;
	l.end = s->first_from[full.section + 1];
	l.last = full.section;
	best = best_within(w, 1, 0, w->leaves, &l, 0);
	return best ? best : any;
}

static uint64_t height_at(const struct skyline *w, uint32_t section)
{
	return w->lowest[w->sections + section];
}

/* NEVER: no plateau begins there. */
static void set_plateau(struct skyline *w, uint32_t section, uint64_t height)
{
	uint32_t n = w->sections + section;

	w->lowest[n] = height;
	for (n /= 2; n; n /= 2)
		w->lowest[n] = frag_min(w->lowest[2 * n], w->lowest[2 * n + 1]);
}

static void link_plateaus(struct skyline *w, uint32_t a, uint32_t b)
{
	FRAG_ASSERT(a < b && b <= w->s->times);
	w->next[a] = b;
	w->before[b] = a;
}

/* Begins a plateau within the one that begins at `at`. */
static void cut_plateau(struct skyline *w, uint32_t at, uint32_t section)
{
	const uint32_t after = w->next[at];

	FRAG_ASSERT(at < section && section < after);
	link_plateaus(w, at, section);
	link_plateaus(w, section, after);
	set_plateau(w, section, height_at(w, at));
}

/* Merges a plateau with the next one if both are equally high. */
static void join_plateaus(struct skyline *w, uint32_t at)
{
	const uint32_t other = w->next[at];

	if (other >= w->s->times || height_at(w, at) != height_at(w, other))
		return;
	set_plateau(w, other, NEVER);
	link_plateaus(w, at, w->next[other]);
}

/* Sets the height of a plateau, and merges it with adjacent ones of that height. */
static void raise_plateau(struct skyline *w, uint32_t at, uint64_t height)
{
	set_plateau(w, at, height);
	join_plateaus(w, at);
	if (at)
		join_plateaus(w, w->before[at]);
}

/* Places the best item of the lowest plateau, or raises that plateau. True: it placed one. */
static bool build_on(struct skyline *w)
{
	const struct frag_space *s = w->s;
	const uint64_t base = w->lowest[1];
	uint32_t at = 1, to, rank, item;
	uint64_t offset;

	while (at < w->sections)
		at = 2 * at + (w->lowest[2 * at] != base);
	at -= w->sections;
	to = w->next[at];
	rank = best_for(w, at, to);
	if (!rank) {
		const uint64_t left = at ? height_at(w, w->before[at]) : NEVER;
		const uint64_t right = to < s->times ? height_at(w, to) : NEVER;

		FRAG_ASSERT(left != NEVER || right != NEVER);
		raise_plateau(w, at, frag_min(left, right));
		return false;
	}
	item = w->item[rank];
	FRAG_ASSERT(s->from[item] >= at && s->to[item] <= to);
	take_leaf(w, item);
	add_waiting(w, item, -(int64_t)s->size[item]);
	if (s->from[item] > at)
		cut_plateau(w, at, s->from[item]);
	if (s->to[item] < to)
		cut_plateau(w, s->from[item], s->to[item]);
	offset = w->own->offset[item] = frag_space_offset(s, item, base);
	FRAG_ASSERT(offset >= base && offset % s->align[item] == 0);
	raise_plateau(w, s->from[item], offset + s->size[item]);
	return true;
}

static void skyline_lay_out(struct skyline *w, struct frag_arena *a)
{
	const size_t items = (size_t)w->s->count + 1, times = (size_t)w->s->times + 1;

	w->box = frag_arena_take(a, 2 * (size_t)w->leaves, sizeof(*w->box));
	w->item = frag_arena_take(a, items, sizeof(*w->item));
	w->next = frag_arena_take(a, times, sizeof(*w->next));
	w->before = frag_arena_take(a, times, sizeof(*w->before));
	w->most = frag_arena_take(a, 2 * (size_t)w->sections, sizeof(*w->most));
	w->added = frag_arena_take(a, 2 * (size_t)w->sections, sizeof(*w->added));
	w->lowest = frag_arena_take(a, 2 * (size_t)w->sections, sizeof(*w->lowest));
}

/* Fixed items are placed, all others wait. Their number; UINT32_MAX: out of memory (host). */
static uint32_t begin_skyline(struct skyline *w, struct frag_error *err)
{
	const struct frag_space *s = w->s;
	struct frag_tops tops;
	uint32_t fixed = 0;

	if (!plant(w) || frag_tops_init(&tops, s->times, err))
		return UINT32_MAX;
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->fixed[i] == UINT64_MAX) {
			add_waiting(w, i, (int64_t)s->size[i]);
			continue;
		}
		take_leaf(w, i);
		w->own->offset[i] = s->fixed[i];
		frag_tops_put(&tops, s->from[i], s->to[i], s->fixed[i] + s->size[i]);
		fixed++;
	}
	memset(w->lowest, 0xff, 2 * (size_t)w->sections * sizeof(*w->lowest));
	for (uint32_t t = 0; t < s->times; t++) {
		link_plateaus(w, t, t + 1);
		raise_plateau(w, t, frag_tops_of(&tops, t, t + 1));
	}
	frag_tops_fini(&tops);
	return fixed;
}

int frag_skyline_place(struct frag_placing *own, struct frag_error *err)
{
	const struct frag_space *s = own->space;
	struct skyline w = { .own = own, .s = s, .leaves = 1, .sections = 1 };
	struct frag_arena measure = { .used = 0 }, arena = measure;
	uint32_t placed = UINT32_MAX;

	FRAG_ASSERT(own->order < FRAG_SKYLINES);
	while (w.leaves < s->count)
		w.leaves *= 2;
	while (w.sections < s->times)
		w.sections *= 2;
	skyline_lay_out(&w, &measure);
	arena.base = calloc(measure.used, 1);
	if (arena.base) {
		skyline_lay_out(&w, &arena);
		placed = begin_skyline(&w, err);
	}
	for (uint32_t steps = 1; placed < s->count && !own->stopped; steps++) {
		placed += build_on(&w);
		own->stopped = steps % STEPS_POLL == 0 && own->stop
			       && own->stop->stop(own->stop->ctx);
	}
	free(arena.base);
	return placed == UINT32_MAX ? frag_fail_nomem(err) : 0;
}
