/* moment.c - a device in the middle of a run: who pins what is free. */
#include "explain/moment.h"

#include <stdlib.h>

#include "base/grow.h"
#include "explain/holders.h"
#include "metrics/result.h"

/* A live block beside free memory: in the place (a segment, or a gap of a range) of this number. */
struct mooring {
	uint64_t bytes;
	uint32_t tag, place;
};

struct place {
	uint64_t stranded;
	uint32_t tags;          /* different ones */
};

struct survey {
	const struct frag_heap *heap;
	struct frag_scene scene;        /* blocks in the order of segments and offsets */
	struct mooring *moorings;
	struct place *places;
	uint32_t mooring_count, mooring_capacity, place_count, place_capacity;
	/* the segment that is walked through */
	struct frag_segment_view segment;
	uint32_t first;                 /* its first mooring */
	uint64_t free;                  /* bytes */
	bool moored;                    /* the block before is live: */
	struct mooring last;            /* without bytes where the gap before it has them */
	uint64_t gap;                   /* stranded bytes after it; in a range */
	bool ranges;                    /* a place is in one */
	bool failed;                    /* memory is short */
};

static int by_address(const void *a, const void *b)
{
	const struct frag_block_view *x = &((const struct frag_live *)a)->block;
	const struct frag_block_view *y = &((const struct frag_live *)b)->block;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int compare_block(const void *key, const void *of)
{
	const struct frag_block_view *k = key;
	const struct frag_block_view *b = &((const struct frag_live *)of)->block;

	if (k->segment != b->segment)
		return k->segment < b->segment ? -1 : 1;
	return k->offset < b->offset ? -1 : k->offset > b->offset;
}

static void add_mooring(struct survey *s, struct mooring m)
{
	if (!frag_grow(&s->moorings, &s->mooring_capacity, (uint64_t)s->mooring_count + 1,
		       sizeof(*s->moorings))) {
		s->failed = true;
		return;
	}
	m.place = s->place_count;
	s->moorings[s->mooring_count++] = m;
}

/* The moorings since the last place are of one that has so many stranded bytes, if any. */
static void end_place(struct survey *s, uint64_t stranded)
{
	if (!stranded || s->first == s->mooring_count) {
		s->mooring_count = s->first;
		return;
	}
	if (!frag_grow(&s->places, &s->place_capacity, (uint64_t)s->place_count + 1,
		       sizeof(*s->places))) {
		s->failed = true;
		return;
	}
	s->places[s->place_count++] = (struct place){ .stranded = stranded };
	s->first = s->mooring_count;
}

/* In a range a gap is a place of its own, kept by the blocks at its ends. next: NULL, none. */
static void end_gap(struct survey *s, const struct mooring *next)
{
	const bool gap = s->gap > 0;

	if (gap && s->moored)
		add_mooring(s, s->last);
	if (gap && next)
		add_mooring(s, *next);
	end_place(s, s->gap);
	s->ranges |= gap;
	s->gap = 0;
	s->moored = next != NULL;
	if (next)
		s->last = *next;
	if (next && gap)
		s->last.bytes = 0;
}

static void end_segment(struct survey *s)
{
	if (s->segment.page)
		end_gap(s, NULL);
	else
		end_place(s, s->segment.kept ? 0 : s->free);
	s->free = 0;
	s->moored = false;
}

/* Bytes of a free block on pages that it does not fill. */
static uint64_t on_shared_pages(const struct frag_block_view *b, uint64_t page)
{
	const uint64_t first = (b->offset + page - 1) / page * page;
	const uint64_t end = (b->offset + b->bytes) / page * page;

	return end > first ? b->bytes - (end - first) : b->bytes;
}

/* A pending block that has been waited for, but not yet freed, is nobody's: it has no tag. */
static struct mooring moor(const struct survey *s, const struct frag_block_view *b)
{
	const struct frag_live *live = s->scene.count
		? bsearch(b, s->scene.live, s->scene.count, sizeof(*s->scene.live), compare_block)
		: NULL;

	return (struct mooring){ .bytes = b->bytes, .tag = live ? live->tag : 0 };
}

/* Each segment, then its blocks in the order of their addresses. */
static void visit(void *ctx, const struct frag_segment_view *seg, const struct frag_block_view *b)
{
	struct survey *s = ctx;
	struct mooring m;

	if (!b) {
		end_segment(s);
		s->segment = *seg;
	} else if (b->state == FRAG_FREE) {
		s->free += b->bytes;
		if (seg->page)
			s->gap += on_shared_pages(b, seg->page);
	} else if (b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING) {
		m = moor(s, b);
		if (seg->page)
			end_gap(s, &m);
		else
			add_mooring(s, m);
	} else if (seg->page) {
		end_gap(s, NULL);
	}
}

static int by_tag(const void *a, const void *b)
{
	const struct mooring *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Per tag: what it pins alone, and with others. */
struct share {
	struct frag_pin alone, shared;
	uint32_t tag;
};

static int by_alone(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->alone.stranded != y->alone.stranded)
		return x->alone.stranded > y->alone.stranded ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_shared(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->shared.stranded != y->shared.stranded)
		return x->shared.stranded > y->shared.stranded ? -1 : 1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static void count_tags(struct survey *s)
{
	for (uint32_t i = 0; i < s->mooring_count; i++) {
		const struct mooring *m = &s->moorings[i];

		if (!i || m[-1].tag != m->tag || m[-1].place != m->place)
			s->places[m->place].tags++;
	}
}

/* The sorted moorings as one share a tag. */
static uint32_t make_shares(const struct survey *s, struct share *shares)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->mooring_count; i++) {
		const struct mooring *m = &s->moorings[i];
		const struct place *place = &s->places[m->place];
		const bool new_tag = !i || m[-1].tag != m->tag;
		struct frag_pin *pin;

		if (new_tag)
			shares[count++] = (struct share){ .tag = m->tag };
		pin = place->tags == 1 ? &shares[count - 1].alone : &shares[count - 1].shared;
		pin->bytes += m->bytes;
		pin->blocks += m->bytes > 0;
		if (!new_tag && m[-1].place == m->place)
			continue;
		pin->stranded += place->stranded;
		pin->places++;
	}
	return count;
}

static int keep_pins(struct frag_moment *moment, const struct frag_symbols *symbols,
		     struct share *shares, uint32_t count)
{
	bool alone;

	if (!count)
		return 0;
	qsort(shares, count, sizeof(*shares), by_alone);
	alone = shares[0].alone.stranded > 0;
	if (!alone)
		qsort(shares, count, sizeof(*shares), by_shared);
	for (uint32_t i = 0; i < count && i < FRAG_PINS_MAX; i++) {
		struct frag_pin *to = &moment->pins[i];

		if (alone && !shares[i].alone.stranded)
			break;
		*to = alone ? shares[i].alone : shares[i].shared;
		to->alone = alone;
		if (!frag_tag_json(symbols, shares[i].tag, &to->tag))
			return -FRAG_ENOMEM;
		moment->pin_count = i + 1;
	}
	return 0;
}

static int find_pins(struct frag_moment *moment, struct survey *s)
{
	struct share *shares;
	int rc;

	if (s->scene.count)
		qsort(s->scene.live, s->scene.count, sizeof(*s->scene.live), by_address);
	frag_heap_walk(s->heap, s, visit);
	end_segment(s);
	shares = s->failed ? NULL : malloc(((size_t)s->mooring_count + 1) * sizeof(*shares));
	if (!shares)
		return -FRAG_ENOMEM;
	if (s->mooring_count)
		qsort(s->moorings, s->mooring_count, sizeof(*s->moorings), by_tag);
	count_tags(s);
	moment->places = s->place_count;
	moment->ranges = s->ranges;
	for (uint32_t i = 0; i < s->place_count; i++)
		moment->stranded += s->places[i].stranded;
	rc = keep_pins(moment, s->scene.symbols, shares, make_shares(s, shares));
	free(shares);
	return rc;
}

int frag_moment_init(struct frag_moment *moment, const struct frag_sim *sim, uint32_t device,
		     struct frag_error *err)
{
	struct survey s = { .heap = frag_sim_heap(sim, device) };
	int rc = frag_scene_init(&s.scene, sim, device);

	*moment = (struct frag_moment){ .holder_count = 0 };
	rc = rc ? rc : frag_scene_holders(&s.scene, NULL, moment->holders, &moment->holder_count);
	rc = rc ? rc : find_pins(moment, &s);
	frag_scene_fini(&s.scene);
	free(s.moorings);
	free(s.places);
	return rc ? frag_fail_nomem(err) : 0;
}

void frag_moment_fini(struct frag_moment *moment)
{
	frag_holders_fini(moment->holders, moment->holder_count);
	for (uint32_t i = 0; i < moment->pin_count; i++)
		free(moment->pins[i].tag);
	*moment = (struct frag_moment){ .holder_count = 0 };
}
