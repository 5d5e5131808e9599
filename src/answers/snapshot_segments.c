/* snapshot_segments.c - the segments of a snapshot that is written, with their blocks. */
#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "answers/as_snapshot.h"

#define SEGMENT_ROOM 1024
#define BLOCK_ROOM 512          /* without its frames */

/* A device in its last state. */
struct state {
	struct frag_snapshot_out *s;
	const struct frag_snap_log *log;
	const struct frag_heap *heap;
	uint32_t device;
	const struct frag_snap_live **lives;    /* those of the device, by address */
	uint32_t live_count, live_capacity;
	bool failed;
};

/* A mapped run of a segment: all of it, or what is between two holes of a range. */
struct run {
	const struct frag_snap_segment *seg;
	uint64_t start, end;            /* offsets */
	frag_block first;
	uint64_t allocated, active, requested;  /* bytes */
	bool range;
};

struct segments {
	struct frag_segment_view *list;
	uint32_t count, capacity;
	bool failed;
};

static void snapshot_segments_gather(void *ctx, const struct frag_segment_view *s,
				     const struct frag_block_view *b)
{
	struct segments *to = ctx;

	if (b)
		return;
	to->failed = to->failed || !FRAG_GROW(to->list, to->capacity, to->count);
	if (!to->failed)
		to->list[to->count++] = *s;
}

static int snapshot_segments_by_ordinal(const void *a, const void *b)
{
	const struct frag_segment_view *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

int frag_snap_segments(const struct frag_heap *heap, struct frag_segment_view **list,
		       uint32_t *count, struct frag_error *err)
{
	struct segments s = { .list = NULL };

	frag_heap_walk(heap, &s, snapshot_segments_gather);
	if (s.count)
		qsort(s.list, s.count, sizeof(*s.list), snapshot_segments_by_ordinal);
	*list = s.list;
	*count = s.count;
	return s.failed ? frag_fail_nomem(err) : 0;
}

static int snapshot_segments_by_address(const void *a, const void *b)
{
	const struct frag_snap_live *const *x = a, *const *y = b;

	return (*x)->addr < (*y)->addr ? -1 : (*x)->addr > (*y)->addr;
}

static void gather_lives(struct state *st)
{
	const struct frag_snapshot_out *s = st->s;

	for (uint32_t i = 0; i < s->live_count && !st->failed; i++) {
		if (!s->lives[i].there || s->lives[i].device != st->device)
			continue;
		st->failed = !FRAG_GROW(st->lives, st->live_capacity, st->live_count);
		if (!st->failed)
			st->lives[st->live_count++] = &s->lives[i];
	}
	if (st->live_count)
		qsort(st->lives, st->live_count, sizeof(*st->lives), snapshot_segments_by_address);
}

/* What the block at this address was allocated for. */
static struct frag_snap_requester requester_at(const struct state *st, uint64_t addr)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, st->live_count, st->lives[low]->addr < addr);
	if (low == st->live_count || st->lives[low]->addr != addr)
		return (struct frag_snap_requester){ .stack = 0 };
	return (struct frag_snap_requester){
		.tag = frag_symbols_tag(frag_sim_symbols(st->s->x->sim), st->lives[low]->tag),
		.stack = st->lives[low]->stack,
	};
}

/* A hole is a part of a range; what fills no slot of a slab is a block that is not used. */
static bool is_hole(const struct run *run, const struct frag_block_view *k)
{
	return run->range && k->state == FRAG_UNMAPPED;
}

/* The next run from block b on; false where there is none. */
static bool find_run(const struct state *st, struct run *run, frag_block b)
{
	bool any = false;

	run->allocated = run->active = run->requested = 0;
	for (; b != FRAG_NO_BLOCK; b = frag_heap_look(st->heap, b).next) {
		const struct frag_block_view k = frag_heap_look(st->heap, b);
		const bool live = k.state == FRAG_ALLOCATED;

		if (is_hole(run, &k) && any)
			break;
		if (is_hole(run, &k))
			continue;
		if (!any) {
			run->first = b;
			run->start = k.offset;
		}
		any = true;
		run->end = k.offset + k.bytes;
		run->allocated += live ? k.bytes : 0;
		if (!live && k.state != FRAG_PENDING)
			continue;
		run->active += k.bytes;
		run->requested += k.requested;
	}
	return any;
}

/*
 * Blocks that are not in use have a requested size of 0, as in PyTorch. Who
 * allocated a pending one is no longer known here; the log has it.
 */
static void put_block(const struct state *st, const struct run *run, struct frag_snap_list *list,
		      const struct frag_block_view *k)
{
	struct frag_snap_part *part = &st->s->last;
	const bool live = k->state == FRAG_ALLOCATED, active = live || k->state == FRAG_PENDING;
	const uint64_t addr = run->seg->base + k->offset;
	struct frag_snap_requester requester = { .stack = 0 };
	char *p;

	if (live)
		requester = requester_at(st, addr);
	p = frag_snap_room(part, BLOCK_ROOM + frag_snap_frames_room(part, &requester));
	if (!p)
		return;
	p = frag_snap_item(list, p);
	p = frag_pickle_op(frag_pickle_op(p, FRAG_PICKLE_DICT), FRAG_PICKLE_MARK);
	p = frag_snap_number(part, p, FRAG_SNAP_ADDRESS, addr);
	p = frag_snap_number(part, p, FRAG_SNAP_SIZE, k->bytes);
	p = frag_snap_number(part, p, FRAG_SNAP_REQUESTED, active ? k->requested : 0);
	p = frag_snap_words(part, p, FRAG_SNAP_STATE, live ? FRAG_SNAP_LIVE
			    : active ? FRAG_SNAP_PENDING : FRAG_SNAP_INACTIVE);
	p = frag_snap_frames(part, p, &requester);
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
}

/*
 * A mapped run counts as a segment, as PyTorch lists it; each begins where its
 * pages do.
 */
static void snapshot_segments_put_head(const struct state *st, const struct run *run)
{
	struct frag_snap_part *part = &st->s->last;
	char *p = frag_snap_room(part, SEGMENT_ROOM);

	if (!p)
		return;
	p = frag_snap_item(&part->list, p);
	p = frag_pickle_op(frag_pickle_op(p, FRAG_PICKLE_DICT), FRAG_PICKLE_MARK);
	p = frag_snap_number(part, p, FRAG_SNAP_DEVICE, st->device);
	p = frag_snap_number(part, p, FRAG_SNAP_ADDRESS, run->seg->base + run->start);
	p = frag_snap_number(part, p, FRAG_SNAP_TOTAL, run->end - run->start);
	p = frag_snap_number(part, p, FRAG_SNAP_ALLOCATED, run->allocated);
	p = frag_snap_number(part, p, FRAG_SNAP_ACTIVE, run->active);
	p = frag_snap_number(part, p, FRAG_SNAP_REQUESTED, run->requested);
	p = frag_snap_number(part, p, FRAG_SNAP_STREAM, run->seg->stream);
	p = frag_snap_words(part, p, FRAG_SNAP_TYPE, run->seg->large ? FRAG_SNAP_LARGE
								      : FRAG_SNAP_SMALL);
	p = frag_snap_pool(part, p, FRAG_SNAP_SEGMENT_POOL, run->seg->pool);
	p = frag_snap_word(part, p, FRAG_SNAP_RANGE);
	p = frag_pickle_bool(p, run->range);
	p = frag_snap_frames(part, p, &(struct frag_snap_requester){ .stack = 0 });
	p = frag_snap_word(part, p, FRAG_SNAP_BLOCKS);
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_LIST));
}

/* Returns the block after the run. */
static frag_block snapshot_segments_put_run(const struct state *st, const struct run *run)
{
	struct frag_snap_part *part = &st->s->last;
	struct frag_snap_list list = { 0 };
	frag_block b = run->first;
	char *p;

	snapshot_segments_put_head(st, run);
	while (b != FRAG_NO_BLOCK) {
		const struct frag_block_view k = frag_heap_look(st->heap, b);

		if (is_hole(run, &k))
			break;
		put_block(st, run, &list, &k);
		b = k.next;
	}
	p = frag_snap_room(part, 2);
	if (p) {
		p = frag_snap_list_end(&list, p);
		frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
	}
	return b;
}

static void put_segment(const struct state *st, const struct frag_segment_view *g)
{
	struct run run = { .seg = frag_snap_segment(st->log, g->ordinal), .range = g->page != 0 };
	frag_block b = g->first;

	while (run.seg && find_run(st, &run, b))
		b = snapshot_segments_put_run(st, &run);
}

int frag_snap_last_state(struct frag_snapshot_out *s, uint32_t device, struct frag_error *err)
{
	struct state st = {
		.s = s, .log = &s->logs[device], .device = device,
		.heap = frag_sim_heap(s->x->sim, device),
	};
	struct frag_segment_view *segments;
	uint32_t count;
	int rc = frag_snap_segments(st.heap, &segments, &count, err);

	FRAG_ASSERT(device < s->device_count && !s->logs[device].ended);
	s->logs[device].ended = true;
	gather_lives(&st);
	for (uint32_t i = 0; i < count && !rc && !st.failed; i++)
		put_segment(&st, &segments[i]);
	free(segments);
	free(st.lives);
	rc = rc || !st.failed ? rc : frag_fail_nomem(err);
	return rc ? rc : frag_outfile_status(s->last.out, err);
}
