/* device_state.c - a device in the middle of a run: its top tags, and which tags block free memory. */
#include "explain/device_state.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "explain/state_owners.h"
#include "explain/top_tags.h"
#include "live_blocks/live_blocks.h"
#include "metrics/metric.h"

/* Live blocks next to free memory: of one tag, or of the place that a group counts as its stack. */
struct blocker {
	uint64_t bytes;
	uint32_t blocks, tag;
};

/* A segment, or a gap of a range. */
struct place {
	uint64_t non_releasable;
	uint32_t tags;          /* different ones */
};

struct survey {
	const struct frag_sim *sim;
	struct frag_state_owners owners;
	struct frag_block_groups groups;        /* of blockers: by tag, and as the stack the place */
	struct place *places;
	uint32_t place_count, place_capacity;
	/* the segment that is walked through */
	struct frag_segment_view segment;
	frag_block block;               /* that comes next */
	uint64_t free;                  /* bytes */
	bool after_live;                /* the block before is live: */
	struct blocker last;            /* without bytes where the gap before it has them */
	uint64_t gap;                   /* non-releasable bytes after it; in a range */
	bool ranges;                    /* a place is in one */
	bool failed;                    /* out of memory */
};

/* A block may have been counted for another place: then it is in this one without bytes. */
static void add_blocker(struct survey *s, struct blocker m)
{
	const uint32_t i = s->failed ? FRAG_MAP_NONE
				     : frag_block_groups_find(&s->groups, m.tag, s->place_count, 0);

	s->failed = i == FRAG_MAP_NONE;
	if (s->failed)
		return;
	s->groups.of[i].bytes += m.bytes;
	s->groups.of[i].blocks += m.blocks;
}

/* The blockers since the last place are of one with these non-releasable bytes, if any. */
static void end_place(struct survey *s, uint64_t non_releasable)
{
	s->failed = s->failed || !FRAG_GROW(s->places, s->place_capacity, s->place_count);
	if (!s->failed)
		s->places[s->place_count++] = (struct place){ .non_releasable = non_releasable };
}

/* In a range each gap is a place, kept by the blocks at its ends. next: NULL, none. */
static void end_gap(struct survey *s, const struct blocker *next)
{
	const bool gap = s->gap > 0;

	if (gap && s->after_live)
		add_blocker(s, s->last);
	if (gap && next)
		add_blocker(s, *next);
	if (gap)
		end_place(s, s->gap);
	s->ranges |= gap;
	s->gap = 0;
	s->after_live = next != NULL;
	if (next)
		s->last = *next;
	if (next && gap)
		s->last.bytes = s->last.blocks = 0;
}

static void device_state_end_segment(struct survey *s)
{
	if (s->segment.page)
		end_gap(s, NULL);
	else
		end_place(s, s->segment.kept ? 0 : s->free);
	s->free = 0;
	s->after_live = false;
}

/* Each segment, then its blocks in the order of their addresses. */
static void device_state_visit(void *ctx, const struct frag_segment_view *seg,
			       const struct frag_block_view *b)
{
	struct survey *s = ctx;
	const frag_block at = s->block;
	struct blocker m;

	s->block = b ? b->next : seg->first;
	if (!b) {
		device_state_end_segment(s);
		s->segment = *seg;
	} else if (b->state == FRAG_FREE) {
		s->free += b->bytes;
		if (seg->page)
			s->gap += frag_on_shared_pages(b, seg->page);
	} else if (b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING) {
		/* a pending block that has been waited for, but not yet freed, has no tag */
		m = (struct blocker){
			.bytes = b->bytes, .blocks = b->bytes > 0,
			.tag = at < s->owners.count ? s->owners.of[at].tag : 0,
		};
		if (seg->page)
			end_gap(s, &m);
		else
			add_blocker(s, m);
	} else if (seg->page) {
		end_gap(s, NULL);
	}
}

/* Per tag: what it blocks with others, and alone. */
struct share {
	struct frag_blocking_tag by[2];
	uint32_t tag;
};

static int by_blocked(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return frag_order_two(y->by[0].non_releasable, x->by[0].non_releasable, x->tag, y->tag);
}

/* The sorted blockers as one share a tag. */
static uint32_t make_shares(const struct survey *s, struct share *shares)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->groups.count; i++) {
		const struct frag_block_group *m = &s->groups.of[i];
		const struct place *place = &s->places[m->stack];
		struct frag_blocking_tag *blocking;

		if (!place->non_releasable)
			continue;
		if (!count || shares[count - 1].tag != m->tag)
			shares[count++] = (struct share){ .tag = m->tag };
		blocking = &shares[count - 1].by[place->tags == 1];
		blocking->bytes += m->bytes;
		blocking->blocks += m->blocks;
		blocking->non_releasable += place->non_releasable;
		blocking->places++;
	}
	return count;
}

/* Keeps the tags that block most alone; where none does, those that block with others. */
static int keep_blocking(struct frag_device_state *state, const struct frag_symbols *symbols,
			 struct share *shares, uint32_t count)
{
	bool alone = false;

	for (uint32_t i = 0; i < count; i++)
		alone |= shares[i].by[true].non_releasable > 0;
	for (uint32_t i = 0; i < count; i++)
		shares[i].by[0] = shares[i].by[alone];
	FRAG_SORT(shares, count, by_blocked);
	for (uint32_t i = 0; i < count && i < FRAG_BLOCKING_MAX && shares[i].by[0].places; i++) {
		struct frag_blocking_tag *to = &state->blocking[i];

		*to = shares[i].by[0];
		to->alone = alone;
		if (!frag_tag_json(symbols, shares[i].tag, &to->tag))
			return -FRAG_ENOMEM;
		state->blocking_count = i + 1;
	}
	return 0;
}

static int find_blocking(struct frag_device_state *state, struct survey *s, uint32_t device)
{
	const struct frag_sim *sim = s->sim;
	struct share *shares;
	int rc = frag_state_owners_read(&s->owners, sim, device);

	if (rc)
		return rc;
	frag_heap_walk(frag_sim_heap(sim, device), s, device_state_visit);
	device_state_end_segment(s);
	shares = s->failed ? NULL : malloc(((size_t)s->groups.count + 1) * sizeof(*shares));
	if (!shares)
		return -FRAG_ENOMEM;
	frag_block_groups_sort(&s->groups);
	for (uint32_t i = 0; i < s->groups.count; i++)
		s->places[s->groups.of[i].stack].tags++;
	for (uint32_t i = 0; i < s->place_count; i++)
		if (s->places[i].tags)
			state->non_releasable += s->places[i].non_releasable;
	state->ranges = s->ranges;
	rc = keep_blocking(state, frag_sim_symbols(sim), shares, make_shares(s, shares));
	free(shares);
	return rc;
}

int frag_device_state_init(struct frag_device_state *state, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err)
{
	struct survey s = { .sim = sim };
	int rc;

	*state = (struct frag_device_state){ .holder_count = 0 };
	s.failed = !frag_block_groups_init(&s.groups);
	rc = frag_top_tags_find(sim, device, NULL, state->holders, &state->holder_count);
	rc = rc ? rc : find_blocking(state, &s, device);
	free(s.owners.of);
	frag_block_groups_fini(&s.groups);
	free(s.places);
	return rc ? frag_fail_nomem(err) : 0;
}

void frag_device_state_fini(struct frag_device_state *state)
{
	frag_holders_fini(state->holders, state->holder_count);
	for (uint32_t i = 0; i < state->blocking_count; i++)
		free(state->blocking[i].tag);
	*state = (struct frag_device_state){ .holder_count = 0 };
}
