/*
 * first_fit.c - items put into a space individually, each at its hint or the lowest gap: those first that are
 * allocated when most bytes are, and of these the ones that outlive most allocations.
 *
 * Items have numbers in the order of allocation. A tree over them has the last end of the placed
 * ones, which finds those that overlap an item in time.
 */
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "plan/address_space.h"

#define ITEMS_POLL 256                  /* between calls of `stop` */

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

int frag_first_fit_place(struct frag_placing *own, struct frag_error *err)
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
		own->stopped = k % ITEMS_POLL == ITEMS_POLL - 1 && own->stop
			       && own->stop->stop(own->stop->ctx);
	}
	free(keys);
	free(w.reach);
	free(w.met);
	return good ? 0 : frag_fail_nomem(err);
}
