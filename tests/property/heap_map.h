/*
 * heap_map.h - what the heap must be: a map of every byte, and a look at every block where the heap
 * has lists. heap_verbs.c holds the two against each other after each verb.
 */
#pragma once

#include <stdlib.h>

#include "support/random.h"
#include "support/rig.h"

#define MAX 48                  /* bytes of a segment */
#define SEGMENTS 20
#define PAGE 6
#define TOTAL 500
#define GRANULARITY 4
#define LISTS 3
#define LATE 7                  /* a list of pool 0 that only free blocks make */
#define HANDLES 700             /* more than there are bytes to make them of */

struct cell {
	uint8_t state;
	bool start;
	uint64_t requested;     /* at a start */
};

struct map {
	bool held, kept;
	frag_segment handle;
	uint32_t ordinal, pool;
	uint64_t bytes, slot_size, page;
	uint32_t list;
	struct cell cells[MAX];
};

/* A block of the map. */
struct spot {
	struct map *map;
	uint64_t offset, bytes;
	enum frag_state state;
};

struct world {
	struct rig rig;
	frag_list lists[LISTS];
	struct map maps[SEGMENTS];
	struct spot of[HANDLES];        /* by handle; map NULL: no such block */
	const struct kind *kind;
	uint32_t ordinals;
	uint64_t random;
};

/* How a world's lists are kept. */
struct kind {
	enum frag_order order;
	bool has_which;
};

static const uint32_t pools[LISTS] = { 0, 0, 1 };

static uint32_t which_of(uint32_t pool, uint64_t bytes)
{
	static const uint32_t whiches[] = { 0, 1, LATE };

	return pool ? 2 : whiches[bytes % 3];
}

/* Few, so that there are equals; the sizes of neighbours and of neighbours merged differ. */
static uint64_t key_of(uint32_t ordinal, uint64_t offset, uint64_t bytes)
{
	return (ordinal * 5 + offset * 3 + bytes * 7) % 11;
}

static uint32_t which_hook(const void *state, const uint64_t *param,
			   const struct frag_segment_view *s, const struct frag_block_view *b)
{
	assert_int_equal(b->state, FRAG_FREE);
	assert_int_equal(*(const int *)state, *param);
	return which_of(s->pool, b->bytes);
}

static uint64_t key_hook(const void *state, const uint64_t *param,
			 const struct frag_segment_view *s, const struct frag_block_view *b)
{
	assert_int_equal(b->state, FRAG_FREE);
	assert_int_equal(*(const int *)state, *param);
	return key_of(s->ordinal, b->offset, b->bytes);
}

static uint64_t below(struct world *w, uint64_t n)
{
	return random_below(&w->random, n);
}

/* Mostly whole pages, so that edges meet. */
static uint64_t size_below(struct world *w, uint64_t n)
{
	return n > PAGE && below(w, 3) ? below(w, (n + PAGE - 1) / PAGE) * PAGE : below(w, n);
}

static uint64_t up(uint64_t x, uint64_t m)
{
	return (x + m - 1) / m * m;
}

static uint64_t length(const struct map *m, uint64_t offset)
{
	uint64_t end = offset + 1;

	while (end < m->bytes && !m->cells[end].start)
		end++;
	return end - offset;
}

static void fill(struct map *m, uint64_t offset, uint64_t bytes, enum frag_state state,
		 uint64_t requested)
{
	for (uint64_t i = offset; i < offset + bytes; i++)
		m->cells[i] = (struct cell){ .state = (uint8_t)state };
	m->cells[offset].start = true;
	m->cells[offset].requested = requested;
	if (offset + bytes < m->bytes)
		m->cells[offset + bytes].start = true;
}

/* Joins the block with neighbours of the same state. */
static void join(struct map *m, uint64_t offset, uint64_t bytes)
{
	if (offset + bytes < m->bytes && m->cells[offset + bytes].state == m->cells[offset].state)
		m->cells[offset + bytes].start = false;
	if (offset && m->cells[offset - 1].state == m->cells[offset].state)
		m->cells[offset].start = false;
}

static bool is_live(uint8_t state)
{
	return state == FRAG_ALLOCATED || state == FRAG_PENDING;
}

static uint32_t live_in(const struct map *m)
{
	uint32_t live = 0;

	for (uint64_t i = 0; i < m->bytes; i++)
		live += m->cells[i].start && is_live(m->cells[i].state);
	return live;
}

static uint64_t used(const struct world *w)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < SEGMENTS; s++) {
		const struct map *m = &w->maps[s];

		if (m->held && !m->page)
			sum += up(m->bytes, GRANULARITY);
		for (uint64_t i = 0; m->held && m->page && i < m->bytes; i += m->page)
			sum += m->cells[i].state != FRAG_UNMAPPED ? m->page : 0;
	}
	return sum;
}

static void add_block(struct frag_totals *sum, const struct map *m, const struct spot *spot)
{
	uint64_t page = m->page;

	if (spot->state == FRAG_ALLOCATED) {
		sum->requested += m->cells[spot->offset].requested;
		sum->allocated += spot->bytes;
		sum->blocks++;
	}
	sum->active += is_live((uint8_t)spot->state) ? spot->bytes : 0;
	sum->free += spot->state == FRAG_FREE ? spot->bytes : 0;
	for (uint64_t i = 0; spot->state == FRAG_FREE && i < spot->bytes;
	     i += m->slot_size ? m->slot_size : spot->bytes)
		sum->holes++;
	sum->reserved += page && spot->state != FRAG_UNMAPPED ? spot->bytes : 0;
	for (uint64_t i = 0; page && i < m->bytes; i += page)
		if (spot->state == FRAG_FREE && i >= spot->offset
		    && i + page <= spot->offset + spot->bytes)
			sum->releasable += page;
}

/* Walks the heap's blocks of one segment beside the map; notes who has which handle. */
static void compare_segment(struct world *w, struct map *m, struct frag_totals *sum)
{
	frag_block b = frag_heap_look_segment(w->rig.heap, m->handle).first;

	for (uint64_t at = 0; at < m->bytes; b = frag_heap_look(w->rig.heap, b).next) {
		const struct frag_block_view k = frag_heap_look(w->rig.heap, b);
		const struct spot spot = {
			.map = m, .offset = at, .bytes = length(m, at),
			.state = (enum frag_state)m->cells[at].state,
		};

		assert_true(b < HANDLES);
		assert_int_equal(k.offset, spot.offset);
		assert_int_equal(k.bytes, spot.bytes);
		assert_int_equal(k.state, spot.state);
		assert_int_equal(k.segment, m->handle);
		if (is_live((uint8_t)k.state))
			assert_int_equal(k.requested, m->cells[at].requested);
		w->of[b] = spot;
		add_block(sum, m, &spot);
		at += spot.bytes;
	}
	assert_int_equal(b, FRAG_NO_BLOCK);
	sum->segments++;
	sum->reserved += m->page ? 0 : m->bytes;
	if (!m->page && !m->kept && !live_in(m))
		sum->releasable += m->bytes;
}

static void compare(struct world *w)
{
	const struct frag_totals *kept = frag_heap_totals(w->rig.heap);
	struct frag_totals sum = { .free = 0 };

	for (uint32_t b = 0; b < HANDLES; b++)
		w->of[b].map = NULL;
	for (uint32_t s = 0; s < SEGMENTS; s++)
		if (w->maps[s].held)
			compare_segment(w, &w->maps[s], &sum);
	assert_int_equal(kept->requested, sum.requested);
	assert_int_equal(kept->allocated, sum.allocated);
	assert_int_equal(kept->active, sum.active);
	assert_int_equal(kept->reserved, sum.reserved);
	assert_int_equal(kept->free, sum.free);
	assert_int_equal(kept->holes, sum.holes);
	assert_int_equal(kept->releasable, sum.releasable);
	assert_int_equal(kept->segments, sum.segments);
	assert_int_equal(kept->blocks, sum.blocks);
	assert_int_equal(w->rig.dev.used, used(w));
	rig_check(&w->rig);
}

static uint64_t size_of(const struct spot *s)
{
	return s->map->slot_size ? s->map->slot_size : s->bytes;
}

static uint64_t key(const struct spot *s)
{
	return key_of(s->map->ordinal, s->offset, s->bytes);
}

static bool comes_before(const struct world *w, const struct spot *a, const struct spot *b)
{
	uint64_t a_size = size_of(a), b_size = size_of(b), a_key = key(a), b_key = key(b);

	if (w->kind->order == FRAG_ORDER_KEY && a_key != b_key)
		return a_key < b_key;
	if (w->kind->order == FRAG_ORDER_SIZE && a_size != b_size)
		return a_size < b_size;
	if (a->map != b->map)
		return a->map->ordinal < b->map->ordinal;
	return a->offset < b->offset;
}

/* Is it a free block that stands in list l? That of LISTS is (pool 0, LATE). */
static bool stands_in(const struct world *w, const struct spot *s, uint32_t l)
{
	if (!s->map || s->state != FRAG_FREE)
		return false;
	if (!w->kind->has_which)
		return l < LISTS && s->map->list == w->lists[l];
	return s->map->pool == (l < LISTS ? pools[l] : 0)
	       && which_of(s->map->pool, s->bytes) == (l < LISTS ? l : LATE);
}

/* Of the blocks of list l that hold bytes: the first, or the last; of those behind `from` alone. */
static frag_block best(const struct world *w, uint32_t l, uint64_t bytes, const struct spot *from,
		       bool last)
{
	frag_block found = FRAG_NO_BLOCK;

	for (uint32_t b = 0; b < HANDLES; b++) {
		const struct spot *s = &w->of[b];

		if (!stands_in(w, s, l) || size_of(s) < bytes || (from && s == from)
		    || (from && (last ? comes_before(w, from, s) : comes_before(w, s, from))))
			continue;
		if (found == FRAG_NO_BLOCK || (last ? comes_before(w, &w->of[found], s)
						    : comes_before(w, s, &w->of[found])))
			found = b;
	}
	return found;
}

/* The first of list l with at least that key, and bytes. */
static frag_block best_from_key(const struct world *w, uint32_t l, uint64_t bytes, uint64_t min)
{
	frag_block found = FRAG_NO_BLOCK;

	for (uint32_t b = 0; b < HANDLES; b++)
		if (stands_in(w, &w->of[b], l) && size_of(&w->of[b]) >= bytes
		    && key(&w->of[b]) >= min
		    && (found == FRAG_NO_BLOCK || comes_before(w, &w->of[b], &w->of[found])))
			found = b;
	return found;
}

/* Each free block: its list, its key, and who stands beside it. */
static void compare_places(const struct world *w, frag_list list, uint32_t l)
{
	for (uint32_t b = 0; b < HANDLES; b++) {
		const struct spot *s = &w->of[b];

		if (!s->map || s->state != FRAG_FREE) {
			assert_int_equal(frag_heap_list_of(w->rig.heap, b), FRAG_NO_LIST);
			assert_int_equal(frag_heap_key(w->rig.heap, b), 0);
			continue;
		}
		assert_int_equal(frag_heap_list_of(w->rig.heap, b) == list, stands_in(w, s, l));
		assert_int_equal(frag_heap_key(w->rig.heap, b),
				 w->kind->order == FRAG_ORDER_KEY ? key(s) : 0);
		if (!stands_in(w, s, l))
			continue;
		assert_int_equal(frag_heap_after(w->rig.heap, b), best(w, l, 0, s, false));
		assert_int_equal(frag_heap_before(w->rig.heap, b), best(w, l, 0, s, true));
	}
}

/* What the list finds, and the largest block of all, by looking at every block. */
static void compare_find(struct world *w)
{
	uint32_t l = (uint32_t)below(w, LISTS + w->kind->has_which);
	uint64_t bytes = below(w, MAX + 2), largest = 0, min = below(w, 12);
	const struct frag_heap *h = w->rig.heap;
	frag_list list;

	assert_int_equal(frag_heap_list(w->rig.heap, l < LISTS ? pools[l] : 0, l < LISTS ? l : LATE,
					&list), 0);
	for (uint32_t b = 0; b < HANDLES; b++)
		if (w->of[b].map && w->of[b].state == FRAG_FREE && size_of(&w->of[b]) > largest)
			largest = size_of(&w->of[b]);
	assert_int_equal(frag_heap_largest(h), largest);
	assert_int_equal(frag_heap_find(h, list, bytes), best(w, l, bytes, NULL, false));
	assert_int_equal(frag_heap_find(h, list, 0), best(w, l, 0, NULL, false));
	assert_int_equal(frag_heap_find_last(h, list, bytes), best(w, l, bytes, NULL, true));
	assert_int_equal(frag_heap_find_key(h, list, bytes, min),
			 w->kind->order == FRAG_ORDER_KEY ? best_from_key(w, l, bytes, min)
							   : FRAG_NO_BLOCK);
	compare_places(w, list, l);
}
