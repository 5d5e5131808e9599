/* state_key.c - what the future of a run depends on, in words that can be compared. */
#include <stdlib.h>

#include "base/array_grow.h"
#include "engine/small_requests.h"
#include "engine/sim.h"
#include "engine/small_requests_timeline.h"
#include "heap/heap_tables.h"
#include "policy/small_pool.h"

/* A segment on its way into the order of age. */
struct aged {
	uint32_t order, segment;
};

struct writer {
	struct frag_state_key *outline;
	const struct frag_heap *heap;
	struct aged *aged;
	uint32_t *rank;                 /* by segment: its place in that order */
	uint32_t count;
	bool good;
};

static void state_key_put(struct writer *w, uint64_t word)
{
	struct frag_state_key *o = w->outline;

	w->good = w->good && frag_grow(&o->words, &o->capacity, (uint64_t)o->count + 1,
				       sizeof(*o->words));
	if (w->good)
		o->words[o->count++] = word;
}

static int by_age(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static bool counts(const struct frag_heap *h, uint32_t s, const struct frag_tape_site *small)
{
	const struct frag_free_list *l = &h->index.lists[h->segments[s].list];

	return h->segments[s].in_use
	       && (l->pool != small->pool || l->which != frag_small_which(small->stream));
}

/* All but those of small requests, which are alike: how many there are is enough. */
static void rank_segments(struct writer *w, const struct frag_tape_site *small)
{
	const struct frag_heap *h = w->heap;

	for (uint32_t s = 0; s < h->segment_count; s++) {
		if (!counts(h, s, small))
			continue;
		w->aged[w->count++] = (struct aged){ .order = h->segments[s].order, .segment = s };
	}
	qsort(w->aged, w->count, sizeof(*w->aged), by_age);
	for (uint32_t i = 0; i < w->count; i++)
		w->rank[w->aged[i].segment] = i;
}

/* Blocks fill their segment, so it is clear where the next one begins. */
static void state_key_put_segments(struct writer *w)
{
	const struct frag_heap *h = w->heap;

	state_key_put(w, w->count);
	for (uint32_t i = 0; i < w->count; i++) {
		const struct segment *s = &h->segments[w->aged[i].segment];
		const struct frag_free_list *l = &h->index.lists[s->list];

		state_key_put(w, s->bytes);
		state_key_put(w, (uint64_t)l->pool << 32 | l->which);
		for (uint32_t b = s->first; b != NONE; b = h->blocks[b].next)
			state_key_put(w, h->blocks[b].bytes << 3 | h->blocks[b].state);
	}
}

/* Which block is whose. */
static void put_slots(struct writer *w, const struct frag_sim *sim, uint32_t count)
{
	for (uint32_t i = 0; i < sim->slot_count && i < count; i++) {
		const frag_block b = sim->slots[i].block;

		if (b == SLOT_NONE)
			continue;
		state_key_put(w, (uint64_t)i << 32
					 | (b >= SLOT_FIRST_STATE
						    ? b
						    : w->rank[w->heap->blocks[b].segment]));
		state_key_put(w, b >= SLOT_FIRST_STATE ? 0 : w->heap->blocks[b].offset);
	}
}

bool frag_apart_outline(const struct frag_smallreq *apart, const struct frag_smallreq_cursor *place,
		      const struct frag_sim *sim, struct frag_state_key *outline)
{
	struct writer w = { .outline = outline, .heap = sim->engines[0].policy.heap, .good = true };
	const size_t segments = (size_t)w.heap->segment_count + 1;

	w.aged = calloc(segments, sizeof(*w.aged));
	w.rank = calloc(segments, sizeof(*w.rank));
	w.good = w.aged && w.rank;
	outline->count = 0;
	state_key_put(&w, place->event);
	state_key_put(&w, (uintptr_t)place->way);
	state_key_put(&w, (uint64_t)place->used << 32 | place->held);
	if (w.good) {
		rank_segments(&w, frag_apart_site(apart));
		state_key_put_segments(&w);
		put_slots(&w, sim, frag_apart_slots(apart));
	}
	free(w.aged);
	free(w.rank);
	return w.good;
}
