/* device_state.c - a device in the middle of a run: which tags block free memory, and its OOMs. */
#include "explain/device_state.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "live_blocks/live_blocks.h"
#include "metrics/metric.h"

struct search {
	const struct frag_heap *heap;
	const struct frag_failed_request *wish;
	frag_block low;         /* the first block of the run that ends here */
	struct frag_block_window run, segment, best;
	bool kept;              /* the segment is never released */
	bool any;
};

static uint64_t live_bytes(const struct frag_block_view *b)
{
	return b->state == FRAG_ALLOCATED || b->state == FRAG_PENDING ? b->bytes : 0;
}

static void note_best(struct search *s, const struct frag_block_window *w)
{
	const struct frag_block_window *best = &s->best;
	bool better = !s->any || w->live < best->live;

	if (s->any && w->live == best->live)
		better = w->whole != best->whole ? best->whole : w->ordinal < best->ordinal;
	if (better)
		s->best = *w;
	s->any = true;
}

/* All blocks of the segment before have been seen. */
static void min_free_window_end_segment(struct search *s)
{
	const uint64_t needed = frag_heap_round(s->heap, s->wish->tried) - s->wish->left;

	if (s->segment.bytes && !s->kept
	    && frag_heap_round(s->heap, s->segment.bytes) >= needed)
		note_best(s, &s->segment);
}

static void min_free_window_begin_segment(struct search *s, const struct frag_segment_view *seg)
{
	min_free_window_end_segment(s);
	s->segment = (struct frag_block_window){
		.ordinal = seg->ordinal, .bytes = seg->mapped, .whole = true,
	};
	s->kept = seg->kept;
	s->low = seg->first;
	s->run = (struct frag_block_window){ .ordinal = seg->ordinal };
}

/* Each block ends the shortest run after which there is enough. */
static void end_run(struct search *s, const struct frag_block_view *b)
{
	if (!s->run.bytes)
		s->run.offset = b->offset;
	s->run.segment = b->segment;
	s->run.bytes += b->bytes;
	s->run.live += live_bytes(b);
	while (s->run.bytes >= s->wish->bytes) {
		const struct frag_block_view low = frag_heap_look(s->heap, s->low);

		if (s->run.bytes - low.bytes < s->wish->bytes) {
			note_best(s, &s->run);
			break;
		}
		s->run.bytes -= low.bytes;
		s->run.live -= live_bytes(&low);
		s->run.offset += low.bytes;
		s->low = low.next;
	}
}

/* Blocks come in the order of their addresses. */
static void min_free_window_visit(void *ctx, const struct frag_segment_view *seg,
				  const struct frag_block_view *b)
{
	struct search *s = ctx;

	if (!b) {
		min_free_window_begin_segment(s, seg);
		return;
	}
	s->segment.segment = b->segment;
	s->segment.live += live_bytes(b);
	if (seg->pool != s->wish->pool || seg->slot_size
	    || (s->wish->list != FRAG_NO_LIST && seg->list != s->wish->list))
		return;
	if (b->state != FRAG_UNMAPPED) {
		end_run(s, b);
		return;
	}
	s->low = b->next;
	s->run.bytes = s->run.live = 0;
}

bool frag_window_find(const struct frag_heap *h, const struct frag_failed_request *wish,
		      struct frag_block_window *out)
{
	struct search s = { .heap = h, .wish = wish };

	if (wish->left >= wish->tried)
		return false;
	frag_heap_walk(h, &s, min_free_window_visit);
	min_free_window_end_segment(&s);
	*out = s.best;
	return s.any && s.best.live;
}

static int by_tag(const void *a, const void *b)
{
	const struct frag_block_group *x = a, *y = b;

	return frag_order_two(x->tag, y->tag, x->stack, y->stack);
}

/* By tag, then by stack; after that none can be found or added. */
static void sort_groups(struct frag_block_groups *g)
{
	FRAG_SORT(g->of, g->count, by_tag);
}

static int tags_by_bytes(const void *a, const void *b)
{
	const struct frag_block_group *x = a, *y = b;

	return frag_order_two(y->bytes, x->bytes, x->oldest, y->oldest);
}

/* Sums up the groups, which are sorted by tag, to one for each tag. */
static uint32_t sum_tags(const struct frag_block_group *from, uint32_t count,
			 struct frag_block_group *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct frag_block_group *last = n ? &to[n - 1] : NULL;

		if (!last || last->tag != from[i].tag) {
			to[n++] = from[i];
			continue;
		}
		last->bytes += from[i].bytes;
		last->blocks += from[i].blocks;
		if (from[i].oldest < last->oldest)
			last->oldest = from[i].oldest;
	}
	return n;
}

/* Sets the largest stacks of a tag. */
static bool name_stacks(struct frag_tag_usage *holder, struct frag_block_group *stacks,
			uint32_t count, const struct frag_symbols *symbols)
{
	FRAG_SORT(stacks, count, tags_by_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct frag_holder_stack *to = &holder->stacks[holder->stack_count];

		holder->all_stacks += stacks[i].stack != 0;
		if (!stacks[i].stack || holder->stack_count == FRAG_HOLDER_STACKS_MAX)
			continue;
		*to = (struct frag_holder_stack){
			.bytes = stacks[i].bytes,
			.blocks = stacks[i].blocks,
			.oldest = stacks[i].oldest,
		};
		if (!frag_frames_json(symbols, stacks[i].stack, &to->frames))
			return false;
		holder->stack_count++;
	}
	return true;
}

/* Sets one tag, whose groups are among these, which are sorted by tag. */
static int name_tag(struct frag_tag_usage *to, const struct frag_block_group *tag,
		    struct frag_block_group *stacks, uint32_t count,
		    const struct frag_symbols *symbols)
{
	uint32_t first = 0, end;

	*to = (struct frag_tag_usage){
		.bytes = tag->bytes, .blocks = tag->blocks, .oldest = tag->oldest,
	};
	while (stacks[first].tag != tag->tag)
		first++;
	for (end = first; end < count && stacks[end].tag == tag->tag;)
		end++;
	if (!name_stacks(to, stacks + first, end - first, symbols))
		return -FRAG_ENOMEM;
	return frag_tag_json(symbols, tag->tag, &to->tag) ? 0 : -FRAG_ENOMEM;
}

static int name_tags(struct frag_block_groups *g, const struct frag_symbols *symbols,
		     struct frag_tag_usage *to, uint32_t *count)
{
	struct frag_block_group *tags = malloc(((size_t)g->count + 1) * sizeof(*tags));
	uint32_t tag_count;
	int rc = 0;

	if (!tags)
		return -FRAG_ENOMEM;
	sort_groups(g);
	tag_count = sum_tags(g->of, g->count, tags);
	FRAG_SORT(tags, tag_count, tags_by_bytes);
	for (uint32_t i = 0; i < tag_count && i < FRAG_HOLDERS_MAX && !rc; i++) {
		rc = name_tag(&to[i], &tags[i], g->of, g->count, symbols);
		*count = i + 1;
	}
	free(tags);
	return rc;
}

struct top_tags {
	struct frag_block_groups groups;
	const struct frag_block_window *within; /* NULL: all blocks */
};

static void add_live(void *ctx, const struct frag_live *live)
{
	struct top_tags *top = ctx;
	const struct frag_block_window *w = top->within;
	const struct frag_block_view *b = &live->block;

	if (!w || (b->segment == w->segment && b->offset >= w->offset
		   && b->offset - w->offset < w->bytes))
		frag_block_groups_add(&top->groups, live->tag, live->stack, 0, b->bytes,
				      live->birth);
}

/*
 * The tags that have most live bytes on a device as the simulation is now, at most
 * FRAG_HOLDERS_MAX, of all blocks or of those that begin in the window. The owner of the array
 * releases the tags, also where this fails. -FRAG_ENOMEM
 */
static int find_top_tags(const struct frag_sim *sim, uint32_t device,
			 const struct frag_block_window *within, struct frag_tag_usage *tags,
			 uint32_t *count)
{
	struct top_tags top = { .within = within };
	int rc = -FRAG_ENOMEM;

	if (frag_block_groups_init(&top.groups)) {
		frag_sim_walk(sim, device, &top, add_live);
		if (!top.groups.failed)
			rc = name_tags(&top.groups, frag_sim_symbols(sim), tags, count);
	}
	frag_block_groups_fini(&top.groups);
	return rc;
}

/* The owner of each block of a device. */
struct sight {
	const struct frag_sim *sim;
	struct frag_state_owner *owners;        /* by the handle of the block */
	uint32_t capacity, count;
	bool failed;            /* out of memory */
};

static void note_owner(void *ctx, const struct frag_live *live)
{
	struct sight *s = ctx;
	const frag_block at = frag_sim_block(s->sim, live->slot);

	s->failed = s->failed || !FRAG_EXTEND(s->owners, s->capacity, s->count, at);
	if (!s->failed)
		s->owners[at] = (struct frag_state_owner){
			.birth = live->birth, .tag = live->tag, .stack = live->stack,
			.slot = live->slot + 1,
		};
}

int frag_memory_state_read(struct frag_memory_state *memory, const struct frag_sim *sim,
			   uint32_t device, struct frag_error *err)
{
	struct sight s = { .sim = sim };
	int rc = -FRAG_ENOMEM;

	*memory = (struct frag_memory_state){ .segment_count = 0 };
	/* without a block there is still one owner, which has none */
	if (frag_grow(&s.owners, &s.capacity, 1, sizeof(*s.owners)))
		frag_sim_walk(sim, device, &s, note_owner);
	if (s.owners && !s.failed)
		rc = frag_memory_state_init(memory, frag_sim_heap(sim, device), s.owners, s.count);
	free(s.owners);
	return rc ? frag_fail_nomem(err) : 0;
}

/* Live blocks next to free memory: of one tag, or of the place that a group counts as its stack. */
struct mooring {
	uint64_t bytes;
	uint32_t blocks, tag;
};

/* A segment, or a gap of a range. */
struct place {
	uint64_t non_releasable;
	uint32_t tags;          /* different ones */
};

struct survey {
	struct sight sight;
	struct frag_block_groups groups;        /* of moorings: by tag, and as the stack the place */
	struct place *places;
	uint32_t place_count, place_capacity;
	/* the segment that is walked through */
	struct frag_segment_view segment;
	frag_block block;               /* that comes next */
	uint64_t free;                  /* bytes */
	bool moored;                    /* the block before is live: */
	struct mooring last;            /* without bytes where the gap before it has them */
	uint64_t gap;                   /* non-releasable bytes after it; in a range */
	bool ranges;                    /* a place is in one */
	bool failed;                    /* out of memory */
};

/* A block may have been counted for another place: then it is in this one without bytes. */
static void add_mooring(struct survey *s, struct mooring m)
{
	const uint32_t i = s->failed ? FRAG_MAP_NONE
				     : frag_block_groups_find(&s->groups, m.tag, s->place_count, 0);

	s->failed = i == FRAG_MAP_NONE;
	if (s->failed)
		return;
	s->groups.of[i].bytes += m.bytes;
	s->groups.of[i].blocks += m.blocks;
}

/* The moorings since the last place are of one with these non-releasable bytes, if any. */
static void end_place(struct survey *s, uint64_t non_releasable)
{
	s->failed = s->failed || !FRAG_GROW(s->places, s->place_capacity, s->place_count);
	if (!s->failed)
		s->places[s->place_count++] = (struct place){ .non_releasable = non_releasable };
}

/* In a range each gap is a place, kept by the blocks at its ends. next: NULL, none. */
static void end_gap(struct survey *s, const struct mooring *next)
{
	const bool gap = s->gap > 0;

	if (gap && s->moored)
		add_mooring(s, s->last);
	if (gap && next)
		add_mooring(s, *next);
	if (gap)
		end_place(s, s->gap);
	s->ranges |= gap;
	s->gap = 0;
	s->moored = next != NULL;
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
	s->moored = false;
}

/* Each segment, then its blocks in the order of their addresses. */
static void device_state_visit(void *ctx, const struct frag_segment_view *seg,
			       const struct frag_block_view *b)
{
	struct survey *s = ctx;
	const frag_block at = s->block;
	struct mooring m;

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
		m = (struct mooring){
			.bytes = b->bytes, .blocks = b->bytes > 0,
			.tag = at < s->sight.count ? s->sight.owners[at].tag : 0,
		};
		if (seg->page)
			end_gap(s, &m);
		else
			add_mooring(s, m);
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

/* The sorted moorings as one share a tag. */
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
	for (uint32_t i = 0; i < count && i < FRAG_PINS_MAX && shares[i].by[0].places; i++) {
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
	const struct frag_sim *sim = s->sight.sim;
	struct share *shares;
	int rc;

	frag_sim_walk(sim, device, &s->sight, note_owner);
	frag_heap_walk(frag_sim_heap(sim, device), s, device_state_visit);
	device_state_end_segment(s);
	s->failed = s->failed || s->sight.failed;
	shares = s->failed ? NULL : malloc(((size_t)s->groups.count + 1) * sizeof(*shares));
	if (!shares)
		return -FRAG_ENOMEM;
	sort_groups(&s->groups);
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
	struct survey s = { .sight.sim = sim };
	int rc;

	*state = (struct frag_device_state){ .holder_count = 0 };
	s.failed = !frag_block_groups_init(&s.groups);
	rc = find_top_tags(sim, device, NULL, state->holders, &state->holder_count);
	rc = rc ? rc : find_blocking(state, &s, device);
	free(s.sight.owners);
	frag_block_groups_fini(&s.groups);
	free(s.places);
	return rc ? frag_fail_nomem(err) : 0;
}

/* The free bytes of the device, and those of segments that can be released. */
static uint64_t left_over(const struct frag_oom *oom)
{
	const struct frag_metrics *m = &oom->metrics;
	uint64_t left = UINT64_MAX;

	if (m->limited)
		left = m->device_free > 0 ? (uint64_t)m->device_free : 0;
	if (oom->limit != UINT64_MAX && (oom->limit < oom->used || oom->limit - oom->used < left))
		left = oom->limit > oom->used ? oom->limit - oom->used : 0;
	return left == UINT64_MAX ? left : left + m->releasable;
}

/* Finds the minimum to be freed, and its tags. */
static int oom_find_hole(struct frag_oom *oom, const struct frag_sim *sim, uint32_t device,
			 const struct frag_event *ev)
{
	struct frag_sought sought = { .list = FRAG_NO_LIST };
	struct frag_failed_request wish = {
		.bytes = ev->bytes, .pool = ev->pool, .tried = oom->demand,
		.left = left_over(oom),
	};
	struct frag_block_window w;
	const int rc = frag_sim_seek(sim, ev, &sought);

	if (rc)
		return rc;
	wish.list = sought.list;
	if (!frag_window_find(frag_sim_heap(sim, device), &wish, &w))
		return 0;
	oom->hole = (struct frag_hole){
		.bytes = w.bytes, .live = w.live, .segment = w.ordinal, .offset = w.offset,
		.whole = w.whole,
	};
	return find_top_tags(sim, device, &w, oom->hole.holders, &oom->hole.holder_count);
}

static int oom_explain(void *ctx, const struct frag_sim *sim, uint32_t device,
		       const struct frag_event *ev, struct frag_oom *oom, struct frag_error *err)
{
	int rc = find_top_tags(sim, device, NULL, oom->holders, &oom->holder_count);

	(void)ctx;
	if (!rc && ev && oom->fragmentation && !oom->metrics.opaque)
		rc = oom_find_hole(oom, sim, device, ev);
	return rc ? frag_fail_nomem(err) : 0;
}

const struct frag_oom_hook frag_oom_explain = { .explain = oom_explain };
