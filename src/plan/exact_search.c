/* exact_search.c - the window of time around the peak, placed within the bound by search. */
#include "plan/exact_search.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"

#define SEEN_SIZE (UINT32_C(1) << 22)   /* a power of two, at least twice the nodes */
/* Entries of lists that are looked at: BERT's inference takes a quarter of them. */
#define LOOKS_MAX UINT64_C(200000000)
#define NODES_MAX (SEEN_SIZE / 2)
#define ITEMS_MAX 100000
#define POOL_MAX (UINT32_C(1) << 24)    /* entries of lists on the way to a node */

/* A place on the way: the item that is placed next, and where it can be. */
struct node {
	uint32_t live, live_count;      /* what lives beside it, by offset */
	uint32_t places, place_count, next;
};

struct place {
	uint64_t gap, offset;
};

struct search {
	struct frag_exact *x;
	struct frag_space *s;
	struct node *nodes;             /* one an item */
	uint32_t *live;                 /* of all nodes, one behind the other */
	uint32_t live_count, live_capacity;
	struct place *places;           /* likewise */
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

static bool before(const struct place *a, const struct place *b)
{
	return a->gap != b->gap ? a->gap < b->gap : a->offset < b->offset;
}

static bool note_place(struct search *w, struct node *n, uint64_t gap, uint64_t offset)
{
	const struct place place = { gap, offset };
	uint32_t i;

	if (!frag_grow(&w->places, &w->place_capacity, (uint64_t)w->place_count + 1,
		       sizeof(*w->places))) {
		w->nomem = true;
		return false;
	}
	for (i = w->place_count++; i > n->places && before(&place, &w->places[i - 1]); i--)
		w->places[i] = w->places[i - 1];
	w->places[i] = place;
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

/* The way down to item k, whose place is looked for next. A state that was seen has none. */
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
struct key {
	uint32_t start, end, item;
	uint64_t size;
};

static int in_order(const void *one, const void *other)
{
	const struct key *a = one, *b = other;

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
	struct key *keys = malloc(((size_t)s->count + 1) * sizeof(*keys));

	x->items = malloc(((size_t)s->count + 1) * sizeof(*x->items));
	if (!keys || !x->items) {
		free(keys);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < s->count; i++)
		if (s->from[i] <= x->to && s->to[i] > x->from)
			keys[x->count++] = (struct key){
				.start = start_of(w, i), .end = end_of(w, i), .item = i,
				.size = s->size[i],
			};
	qsort(keys, x->count, sizeof(*keys), in_order);
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

int frag_exact_search(struct frag_exact *x, struct frag_space *s, uint64_t gap,
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

void frag_exact_fini(struct frag_exact *x)
{
	free(x->items);
	*x = (struct frag_exact){ .count = 0 };
}
