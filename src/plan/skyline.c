/*
 * skyline.c - a placement of very many items in the order of their offsets, without a search.
 *
 * The skyline, at first of fixed items, is the top of all placed items by section, as plateaus of
 * equal height. A plateau below both adjacent ones takes the best item whose life is within it, if
 * possible one that lives in its section where most bytes wait. Empty bytes in other sections cost
 * nothing. If no item fits, the plateau rises to the lower one of the adjacent plateaus. Which of
 * such plateaus is first changes nothing, so it is one near the last, which the caches still have.
 *
 * The best item lives where most bytes live, and of these items it is the longest. Other orders
 * count those bytes coarsely, or compare life times size: none is the lowest for all inputs.
 *
 * Items are in blocks, in the order in which their lives begin. Blocks are the leaves of a tree, whose
 * nodes know the first and the last end of their items, and the best one that waits. A block lists
 * those that wait, the best one first, so its first one that fits is its best.
 */
#include "plan/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"

#define NEVER UINT64_MAX
#define BLOCK 128                       /* items */
#define CLASSES 1024                    /* of sizes, eight between two powers of two */

const char *const frag_skyline_names[FRAG_SKYLINES] = {
	"skyline", "skyline, 20 levels", "skyline, area", "skyline, 8 levels", "skyline, 50 levels",
	"skyline, 20 levels, area", "skyline, 7 levels", "skyline, 70 levels", "skyline, 30 levels",
	"skyline, 13 levels", "skyline, 100 levels", "skyline, 5 levels", "skyline, 120 levels",
	"skyline, 40 levels", "skyline, 10 levels", "skyline, 150 levels",
};

/* The levels of the contention; 0: exact. */
static const uint32_t levels_of[FRAG_SKYLINES] = {
	0, 20, 0, 8, 50, 20, 7, 70, 30, 13, 100, 5, 120, 40, 10, 150,
};
static const bool by_area[FRAG_SKYLINES] = { [2] = true, [5] = true };

struct box {
	uint32_t to_min, to_max;
	uint32_t best;                  /* the highest rank of a waiting item; 0: none waits */
};

/* An item that waits. */
struct waiter {
	uint32_t from, to, rank;
};

struct skyline {
	struct frag_placing *own;
	const struct frag_space *s;
	uint32_t blocks, sections;      /* leaves of the tree of blocks, and of that of sections */
	struct box *box;
	struct waiter *waiters;         /* BLOCK of each block, the highest rank first */
	uint32_t *waiting;              /* by block: how many of them */
	uint32_t *item;                 /* by rank, from 1 */
	uint32_t *next, *before;        /* by first section of a plateau: both adjacent ones */
	uint64_t *height;               /* the same: of that plateau */
	int64_t *most, *added;          /* tree over sections: most waiting bytes; what children lack */
};

/* Ranks the items, and puts them into their blocks. */
static bool rank_items(struct skyline *w)
{
	const struct frag_space *s = w->s;
	const uint32_t order = w->own->order;
	const uint64_t part = levels_of[order] ? s->bound / levels_of[order] + 1 : 1;
	struct frag_space_key *keys = malloc(((size_t)s->count + 1) * sizeof(*keys));

	for (uint32_t i = 0; keys && i < s->count; i++) {
		keys[i] = (struct frag_space_key){
			{ s->contention[i] / part, s->to[i] - s->from[i], s->size[i] }, i,
		};
		if (by_area[order])
			keys[i].of[1] *= s->size[i] / s->unit;
	}
	if (keys)
		FRAG_SORT(keys, s->count, frag_space_by_key);
	for (uint32_t k = 0; keys && k < s->count; k++) {
		const uint32_t i = keys[k].item, rank = s->count - k, n = i / BLOCK;
		struct box *box = &w->box[w->blocks + n];

		if (!w->waiting[n])
			*box = (struct box){ s->to[i], s->to[i], rank };
		box->to_min = (uint32_t)frag_min(box->to_min, s->to[i]);
		box->to_max = (uint32_t)frag_max(box->to_max, s->to[i]);
		w->item[rank] = i;
		w->waiters[n * BLOCK + w->waiting[n]++] = (struct waiter){ s->from[i], s->to[i], rank };
	}
	for (uint32_t n = w->blocks; keys && n-- > 1;) {
		const struct box *a = &w->box[2 * n], *b = a + 1;

		w->box[n].to_min = (uint32_t)frag_min(a->to_min, b->to_min);
		w->box[n].to_max = (uint32_t)frag_max(a->to_max, b->to_max);
		w->box[n].best = (uint32_t)frag_max(a->best, b->best);
	}
	free(keys);
	return keys;
}

/* Items whose lives begin in the sections [from, until), and end after `last`, at most at `to`. */
struct lives {
	uint32_t from, until, last, to;
	uint32_t begin, end;            /* these items, half open */
};

/* The highest rank above `best` of such an item that waits in these blocks; else `best`. */
static uint32_t best_within(struct skyline *w, uint32_t node, uint32_t base, uint32_t width,
			    const struct lives *l, uint32_t best)
{
	const struct box *b = &w->box[node];
	uint32_t right;

	w->own->looks += 2;
	if (b->best <= best || base >= l->end || base + width <= l->begin || b->to_min > l->to
	    || b->to_max <= l->last)
		return best;
	if (base >= l->begin && base + width <= l->end && b->to_max <= l->to && b->to_min > l->last)
		return b->best;
	if (width == BLOCK) {
		const struct waiter *i = &w->waiters[base], *end = i + w->waiting[base / BLOCK];

		while (i < end && i->rank > best
		       && (i->from < l->from || i->from >= l->until || i->to <= l->last || i->to > l->to))
			i++;
		w->own->looks += (uint64_t)(i - &w->waiters[base]) / 4;
		return i < end && i->rank > best ? i->rank : best;
	}
	width /= 2;
	right = w->box[2 * node].best < w->box[2 * node + 1].best;
	best = best_within(w, 2 * node + right, base + right * width, width, l, best);
	return best_within(w, 2 * node + !right, base + !right * width, width, l, best);
}

/* The lowest node of a tree that has the leaves a and b below it, and their number below it. */
static uint32_t common_node(uint32_t a, uint32_t b, uint32_t *leaves)
{
	for (*leaves = 1; a != b; *leaves *= 2) {
		a /= 2;
		b /= 2;
	}
	return a;
}

/* The best item for all these lives; 0: none fits. */
static uint32_t best_of(struct skyline *w, struct lives l)
{
	uint32_t node, blocks;

	l.begin = w->s->first_from[l.from];
	l.end = w->s->first_from[l.until];
	if (l.begin == l.end)
		return 0;
	node = common_node(w->blocks + l.begin / BLOCK, w->blocks + (l.end - 1) / BLOCK, &blocks);
	return best_within(w, node, (node * blocks - w->blocks) * BLOCK, blocks * BLOCK, &l, 0);
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

	w->own->looks += 2;
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

/* An item waits no longer. */
static void take_item(struct skyline *w, uint32_t rank)
{
	const uint32_t block = w->item[rank] / BLOCK;
	struct waiter *all = &w->waiters[block * BLOCK], *at = all, *end = all + w->waiting[block];

	while (at < end && at->rank != rank)
		at++;
	FRAG_ASSERT(at < end);
	memmove(at, at + 1, (size_t)(end - at - 1) * sizeof(*at));
	w->box[w->blocks + block].best = --w->waiting[block] ? all->rank : 0;
	for (uint32_t n = (w->blocks + block) / 2; n && w->box[n].best == rank; n /= 2)
		w->box[n].best = (uint32_t)frag_max(w->box[2 * n].best, w->box[2 * n + 1].best);
}

/* The item that a plateau takes, by rank; 0: none fits. */
static uint32_t best_for(struct skyline *w, uint32_t from, uint32_t to)
{
	const struct frag_space *s = w->s;
	struct lives l = { .from = from, .until = to, .last = from, .to = to };
	struct fullest full = { from, to, from, INT64_MIN };
	const uint32_t any = best_of(w, l);
	uint32_t best, node, width;

	if (!any || to - from == 1)
		return any;
	node = common_node(from + w->sections, to - 1 + w->sections, &width);
	find_fullest(w, node, node * width - w->sections, width, 0, &full);
	FRAG_ASSERT(full.section >= from && full.section < to);
	if (s->from[w->item[any]] <= full.section && s->to[w->item[any]] > full.section)
		return any;
	l.until = full.section + 1;
	l.last = full.section;
	best = best_of(w, l);
	return best ? best : any;
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
	w->height[section] = w->height[at];
}

/* Sets the height of a plateau and merges it with adjacent ones of that height. Its new begin. */
static uint32_t raise_plateau(struct skyline *w, uint32_t at, uint64_t height)
{
	const uint32_t after = w->next[at];

	w->height[at] = height;
	if (after < w->s->times && w->height[after] == height)
		link_plateaus(w, at, w->next[after]);
	if (!at || w->height[w->before[at]] != height)
		return at;
	link_plateaus(w, w->before[at], w->next[at]);
	return w->before[at];
}

/*
 * Places the best item of a plateau near *at below both adjacent ones, or raises it; sets *at to it.
 * True: it placed one.
 */
static bool build_on(struct skyline *w, uint32_t *at)
{
	const struct frag_space *s = w->s;
	uint32_t here = *at, to, rank, item;
	uint64_t left, right, offset;

	for (;;) {
		to = w->next[here];
		left = here ? w->height[w->before[here]] : NEVER;
		right = to < s->times ? w->height[to] : NEVER;
		if (left >= w->height[here] && right >= w->height[here])
			break;
		here = left < w->height[here] ? w->before[here] : to;
	}
	rank = best_for(w, here, to);
	if (!rank) {
		FRAG_ASSERT(left != NEVER || right != NEVER);
		*at = raise_plateau(w, here, frag_min(left, right));
		return false;
	}
	item = w->item[rank];
	FRAG_ASSERT(s->from[item] >= here && s->to[item] <= to);
	take_item(w, rank);
	add_waiting(w, item, -(int64_t)s->size[item]);
	if (s->from[item] > here)
		cut_plateau(w, here, s->from[item]);
	if (s->to[item] < to)
		cut_plateau(w, s->from[item], s->to[item]);
	offset = w->own->offset[item] = frag_space_offset(s, item, w->height[here]);
	FRAG_ASSERT(offset >= w->height[here] && offset % s->align[item] == 0);
	*at = raise_plateau(w, s->from[item], offset + s->size[item]);
	return true;
}

static void skyline_lay_out(struct skyline *w, struct frag_arena *a)
{
	const size_t items = (size_t)w->s->count + 1, times = (size_t)w->s->times + 1;

	w->box = frag_arena_take(a, 2 * (size_t)w->blocks, sizeof(*w->box));
	w->waiters = frag_arena_take(a, (size_t)w->blocks * BLOCK, sizeof(*w->waiters));
	w->waiting = frag_arena_take(a, w->blocks, sizeof(*w->waiting));
	w->item = frag_arena_take(a, items, sizeof(*w->item));
	w->next = frag_arena_take(a, times, sizeof(*w->next));
	w->before = frag_arena_take(a, times, sizeof(*w->before));
	w->most = frag_arena_take(a, 2 * (size_t)w->sections, sizeof(*w->most));
	w->added = frag_arena_take(a, 2 * (size_t)w->sections, sizeof(*w->added));
	w->height = frag_arena_take(a, times, sizeof(*w->height));
}

/* Fixed items are placed, all others wait. Their number; UINT32_MAX: out of memory (host). */
static uint32_t begin_skyline(struct skyline *w, struct frag_error *err)
{
	const struct frag_space *s = w->s;
	uint32_t fixed = 0;

	if (!rank_items(w) || frag_space_fixed_tops(s, w->height, err))
		return UINT32_MAX;
	for (uint32_t rank = 1; rank <= s->count; rank++) {
		const uint32_t i = w->item[rank];

		if (s->fixed[i] == UINT64_MAX) {
			add_waiting(w, i, (int64_t)s->size[i]);
			continue;
		}
		take_item(w, rank);
		w->own->offset[i] = s->fixed[i];
		fixed++;
	}
	for (uint32_t t = 0; t < s->times; t++)
		link_plateaus(w, t, t + 1);
	for (uint32_t t = s->times; t--;)
		raise_plateau(w, t, w->height[t]);
	return fixed;
}

/* The class of a size, and the size that all slots of it have; both in units. */
static uint32_t class_of(uint64_t size, uint64_t *slot)
{
	uint32_t power = 0;

	while (size >> power > 15)
		power++;
	*slot = (size + (UINT64_C(1) << power) - 1) >> power << power;
	return power * 16 + (uint32_t)(*slot >> power);
}

/*
 * Places what waits above all placed items, in the order of time: in the slot of an item of the same
 * class that has ended, else in a new one. It takes one pass, and is not low. False: out of memory
 * (host).
 */
static bool place_waiting(const struct frag_space *s, uint64_t *offset, const bool *waits)
{
	uint64_t top = 0, slot;
	uint32_t empty[CLASSES], *ends = malloc(((size_t)s->times + 1) * sizeof(*ends));
	uint32_t *link = malloc(((size_t)s->count + 1) * sizeof(*link));
	const bool good = ends && link && waits;

	for (uint32_t i = 0; good && i < s->count; i++)
		top = waits[i] ? top : frag_max(top, offset[i] + s->size[i]);
	memset(empty, 0xff, sizeof(empty));
	if (good)
		memset(ends, 0xff, ((size_t)s->times + 1) * sizeof(*ends));
	for (uint32_t i = 0, t = 0; good && i < s->count; i++) {
		uint32_t class, *slots;

		for (; t <= s->from[i]; t++)
			for (uint32_t k = ends[t], next; k != UINT32_MAX; k = next) {
				slots = &empty[class_of(s->size[k] / s->unit, &slot)];
				next = link[k];
				link[k] = *slots;
				*slots = k;
			}
		if (!waits[i])
			continue;
		class = class_of(s->size[i] / s->unit, &slot);
		if (empty[class] != UINT32_MAX
		    && frag_space_offset(s, i, offset[empty[class]]) == offset[empty[class]]) {
			offset[i] = offset[empty[class]];
			empty[class] = link[empty[class]];
		} else {
			offset[i] = frag_space_offset(s, i, top);
			top = offset[i] + slot * s->unit;
		}
		link[i] = ends[s->to[i]];
		ends[s->to[i]] = i;
	}
	free(ends);
	free(link);
	return good;
}

int frag_class_place(struct frag_placing *own, struct frag_error *err)
{
	const struct frag_space *s = own->space;
	bool *waits = calloc((size_t)s->count + 1, sizeof(*waits)), good;

	for (uint32_t i = 0; waits && i < s->count; i++) {
		waits[i] = s->fixed[i] == UINT64_MAX;
		own->offset[i] = s->fixed[i];
	}
	good = place_waiting(s, own->offset, waits);
	free(waits);
	return good ? 0 : frag_fail_nomem(err);
}

/* The skyline is stopped. False: out of memory (host). */
static bool place_rest(const struct skyline *w)
{
	bool *waits = calloc((size_t)w->s->count + 1, sizeof(*waits)), good;

	for (uint32_t n = 0; waits && n < w->blocks; n++)
		for (uint32_t k = 0; k < w->waiting[n]; k++)
			waits[w->item[w->waiters[n * BLOCK + k].rank]] = true;
	good = place_waiting(w->s, w->own->offset, waits);
	free(waits);
	return good;
}

int frag_skyline_place(struct frag_placing *own, struct frag_error *err)
{
	const struct frag_space *s = own->space;
	struct skyline w = { .own = own, .s = s, .blocks = 1, .sections = 1 };
	struct frag_arena measure = { .used = 0 }, arena = measure;
	uint32_t placed = UINT32_MAX, at = 0;

	FRAG_ASSERT(own->order < FRAG_SKYLINES);
	while (w.blocks * (uint64_t)BLOCK < s->count)
		w.blocks *= 2;
	while (w.sections < s->times)
		w.sections *= 2;
	skyline_lay_out(&w, &measure);
	arena.base = calloc(measure.used, 1);
	if (arena.base) {
		skyline_lay_out(&w, &arena);
		placed = begin_skyline(&w, err);
	}
	while (placed < s->count && !own->stopped) {
		placed += build_on(&w, &at);
		frag_placing_poll(own);
	}
	if (own->stopped && own->always && !place_rest(&w))
		placed = UINT32_MAX;
	free(arena.base);
	return placed == UINT32_MAX ? frag_fail_nomem(err) : 0;
}
