/*
 * as_snapshot.c - a simulated run as a memory snapshot of PyTorch.
 *
 * Segments follow each other in the order of their reservation, on all devices, and no address is
 * used again. Events are written during the run: those of the first device into the file itself,
 * those of other devices and the annotations into spools next to it; the last state is the end.
 */
#include "answers/as_snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"

#define TIME_MAX (FRAG_SIZE_LIMIT - 1)  /* that readers of a snapshot take, ours among them */

/* Of a step: microseconds, or its number; a whole number from 0 to 2^53-1, the nearest. */
static uint64_t export_time(const struct frag_export *x, const struct frag_event *ev)
{
	if (!x->by_time)
		return ev->step;
	if (!(x->t > 0))
		return 0;
	return x->t < (double)TIME_MAX ? (uint64_t)x->t : TIME_MAX;
}

#define FIRST_ADDR (UINT64_C(1) << 44)
#define LAST_ADDR (UINT64_C(1) << 62)
#define PAGE (UINT64_C(2) << 20)                /* segments begin at multiples of it */
#define RANGE_MAX (UINT64_C(1) << 46)           /* addresses of one expandable range */
#define SMALL_MAX (UINT64_C(1) << 20)           /* bytes: PyTorch's small requests */
#define NUMBER_MAX (UINT64_C(1) << 53)
#define NO_SEGMENT UINT32_MAX
#define EVENT_ROOM 512          /* without its frames and its note */

/* An event of the log, as it will be there. */
struct entry {
	enum frag_snap_word action;
	uint64_t addr;          /* oom: bytes free on the device */
	uint64_t size, stream;
	uint32_t pool;
	struct frag_snap_requester requester;
	struct frag_text note;
};

/* Streams that have names instead of numbers are put above all that have one. */
static uint64_t stream_of(uint64_t order)
{
	return order < NUMBER_MAX ? order : order - NUMBER_MAX / 2;
}

static struct frag_snap_requester requester_of(const struct frag_snapshot_out *s, uint32_t tag,
					       uint32_t stack)
{
	return (struct frag_snap_requester){
		.tag = frag_symbols_tag(frag_sim_symbols(s->x->sim), tag), .stack = stack,
	};
}

/* What the program attached, which is in braces after the frame of a tag. */
static struct frag_text note_of(const struct frag_snap_requester *requester)
{
	const struct frag_text tag = requester->tag;

	for (uint32_t i = 0; requester->stack && i + 3 < tag.length; i++)
		if (tag.text[i] == ' ' && tag.text[i + 1] == '{' && tag.text[tag.length - 1] == '}')
			return (struct frag_text){ .text = tag.text + i + 2,
						   .length = tag.length - i - 3 };
	return (struct frag_text){ .text = NULL };
}

static char *snap_words(struct frag_snap_part *part, char *p, enum frag_snap_word key,
			enum frag_snap_word value)
{
	return frag_snap_word(part, frag_snap_word(part, p, key), value);
}

/* The pool as PyTorch names it. */
static char *snap_pool(struct frag_snap_part *part, char *p, enum frag_snap_word key, uint32_t pool)
{
	p = frag_snap_number(part, p, key, 0);
	return frag_pickle_op(frag_pickle_u64(p, pool), FRAG_PICKLE_TUPLE2);
}

static int open_log(struct frag_snapshot_out *s, uint32_t device, struct frag_error *err)
{
	struct frag_snap_log *log = &s->logs[device];

	if (log->open)
		return 0;
	log->open = true;
	return frag_snap_part_open(&log->part, frag_sim_symbols(s->x->sim),
				   device == 0 ? s->x->out : NULL, s->x->out, err);
}

/*
 * The members of one event. The caller has reserved space for all members of variable
 * length, so nothing is checked while writing.
 */
static int put_entry(struct frag_snapshot_out *s, uint32_t device, const struct frag_event *ev,
		     const struct entry *e, struct frag_error *err)
{
	struct frag_snap_part *part = &s->logs[device].part;
	int rc = open_log(s, device, err);
	char *p = rc ? NULL : frag_snap_dict(part, &part->open,
					     EVENT_ROOM + (size_t)e->note.length * 3, &e->requester);

	FRAG_ASSERT(device < s->device_count);
	if (!p)
		return rc ? rc : frag_outfile_status(part->out, err);
	p = snap_words(part, p, FRAG_SNAP_ACTION, e->action);
	p = frag_snap_number(part, p, e->action == FRAG_SNAP_OOM ? FRAG_SNAP_FREE_ON_DEVICE
								 : FRAG_SNAP_ADDR, e->addr);
	p = frag_snap_number(part, p, FRAG_SNAP_SIZE, e->size);
	p = frag_snap_number(part, p, FRAG_SNAP_STREAM, e->stream);
	p = frag_snap_number(part, p, FRAG_SNAP_TIME, export_time(s->x, ev));
	p = snap_pool(part, p, FRAG_SNAP_POOL, e->pool);
	p = frag_snap_frames(part, p, &e->requester);
	if (e->note.text) {
		p = frag_snap_word(part, p, FRAG_SNAP_NOTE);
		p = frag_pickle_text(p, e->note.text, e->note.length);
	}
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
	return frag_outfile_status(part->out, err);
}

/* The segment of this ordinal; NULL: none is reserved. */
static struct frag_snap_segment *find_segment(const struct frag_snap_log *log, uint32_t ordinal)
{
	uint32_t i = frag_map_get(&log->by_ordinal, ordinal);

	return i == FRAG_MAP_NONE ? NULL : &log->segments[i];
}

/* Gives the segment its addresses. */
static int enter_segment(struct frag_snapshot_out *s, struct frag_snap_log *log,
			 const struct frag_snap_segment *seg, struct frag_error *err)
{
	uint64_t bytes = (seg->bytes + PAGE - 1) / PAGE * PAGE;
	uint32_t i = log->unused;

	FRAG_ASSERT(frag_map_get(&log->by_ordinal, seg->ordinal) == FRAG_MAP_NONE);
	if (bytes > LAST_ADDR - s->next_addr)
		return frag_fail(err, FRAG_EOUTPUT,
				 "%s: segment %" PRIu32 " of %" PRIu64 " bytes: a"
				 " snapshot has no addresses left, for none is used twice",
				 s->x->out->path, seg->ordinal, seg->bytes);
	if (i != NO_SEGMENT)
		log->unused = log->segments[i].next_unused;
	else if (FRAG_GROW(log->segments, log->segment_capacity, log->segment_count))
		i = log->segment_count++;
	if (i == NO_SEGMENT || !frag_map_add(&log->by_ordinal, seg->ordinal, i))
		return frag_fail_nomem(err);
	log->segments[i] = *seg;
	log->segments[i].base = s->next_addr;
	s->next_addr += bytes;
	return 0;
}

static void leave_segment(struct frag_snap_log *log, uint32_t ordinal)
{
	uint32_t i = frag_map_get(&log->by_ordinal, ordinal);

	if (i == FRAG_MAP_NONE)
		return;
	frag_map_remove(&log->by_ordinal, ordinal, i);
	log->segments[i].next_unused = log->unused;
	log->unused = i;
}

static int put_segment_entry(struct frag_snapshot_out *s, const struct frag_step *step,
			     const struct frag_snap_segment *seg, const struct frag_call *c,
			     enum frag_snap_word action, struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const bool by_request = ev->op == FRAG_OP_ALLOC;
	const struct entry e = {
		.action = action, .addr = seg->base + c->offset, .size = c->bytes,
		.stream = seg->stream, .pool = seg->pool,
		.requester = by_request ? requester_of(s, ev->tag, step->stack)
					: (struct frag_snap_requester){ .stack = 0 },
	};

	return s->logs[step->device].beginning ? 0 : put_entry(s, step->device, ev, &e, err);
}

/*
 * A range gets its addresses when it is reserved, but PyTorch logs nothing then:
 * its pages are logged when they are mapped. Calls that restore the first state are
 * no events.
 */
static int as_snapshot_put_call(struct frag_snapshot_out *s, const struct frag_step *step,
				const struct frag_call *c, struct frag_error *err)
{
	static const enum frag_snap_word actions[] = {
		[FRAG_CALL_NEW] = FRAG_SNAP_SEGMENT_ALLOC, [FRAG_CALL_MAP] = FRAG_SNAP_SEGMENT_MAP,
		[FRAG_CALL_UNMAP] = FRAG_SNAP_SEGMENT_UNMAP,
		[FRAG_CALL_RELEASE] = FRAG_SNAP_SEGMENT_FREE,
	};
	const bool range = c->kind == FRAG_CALL_NEW_RANGE;
	struct frag_snap_log *log = &s->logs[step->device];
	const struct frag_event *ev = step->event;
	const struct frag_snap_segment seg = {
		.ordinal = c->ordinal, .pool = ev->pool, .stream = stream_of(ev->stream_order),
		.bytes = range && c->bytes > RANGE_MAX ? RANGE_MAX : c->bytes,
		.large = ev->bytes > SMALL_MAX,
	}, *known;
	int rc = 0;

	if (range || c->kind == FRAG_CALL_NEW)
		rc = enter_segment(s, log, &seg, err);
	known = find_segment(log, c->ordinal);
	if (rc || range || !known)
		return rc;
	if (c->kind == FRAG_CALL_MAP && c->offset + c->bytes > known->bytes)
		return frag_fail(err, FRAG_EOUTPUT, "%s: event %" PRIu64 ": segment %" PRIu32 ": an"
				 " expandable range of more than 64 TiB has no place among the"
				 " addresses of a snapshot", s->x->out->path, step->event->step,
				 c->ordinal);
	if (c->kind != FRAG_CALL_RELEASE_RANGE)
		rc = put_segment_entry(s, step, known, c, actions[c->kind], err);
	if (c->kind == FRAG_CALL_RELEASE || c->kind == FRAG_CALL_RELEASE_RANGE)
		leave_segment(log, c->ordinal);
	return rc;
}

/* A block as PyTorch logs it: that it is allocated, or freed. */
static int put_life(struct frag_snapshot_out *s, const struct frag_step *step,
		    const struct frag_snap_live *k, enum frag_snap_word action,
		    struct frag_error *err)
{
	struct entry e = {
		.action = action, .addr = k->addr, .size = k->requested, .stream = k->stream,
		.pool = k->pool, .requester = requester_of(s, k->tag, k->stack),
	};

	e.note = action == FRAG_SNAP_ALLOC ? note_of(&e.requester) : e.note;
	return put_entry(s, step->device, step->event, &e, err);
}

/* Pending blocks that are in use no longer, whoever found that out. */
static int put_completed(struct frag_snapshot_out *s, const struct frag_step *step,
			 struct frag_error *err)
{
	struct frag_snap_log *log = &s->logs[step->device];
	const struct frag_heap *heap = frag_sim_heap(s->x->sim, step->device);
	uint32_t kept = 0;
	int rc = 0;

	/* all others are counted, so the sums differ only where there are some */
	if (log->active <= step->metrics->active)
		return 0;
	for (uint32_t i = 0; i < log->pending_count && !rc; i++) {
		const struct frag_snap_pending b = log->pending[i];

		if (frag_heap_is_pending(heap, b.block, b.slot)) {
			log->pending[kept++] = b;
			continue;
		}
		log->active -= b.was.bytes;
		rc = put_life(s, step, &b.was, FRAG_SNAP_FREE_COMPLETED, err);
	}
	log->pending_count = kept;
	return rc;
}

/*
 * The slot may still hold an earlier block's entry, so it is cleared before it is
 * known whether this request got a block.
 */
static int make_live(struct frag_snapshot_out *s, const struct frag_step *step,
		     struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const struct frag_snap_segment *seg;

	if (!FRAG_GROW(s->lives, s->live_capacity, ev->slot))
		return frag_fail_nomem(err);
	while (s->live_count <= ev->slot)
		s->lives[s->live_count++].there = false;
	s->lives[ev->slot].there = false;
	if (step->status != FRAG_STEP_OK || !ev->bytes)
		return 0;
	seg = find_segment(&s->logs[step->device], step->segment);
	s->lives[ev->slot] = (struct frag_snap_live){
		.addr = (seg ? seg->base : 0) + step->offset, .bytes = step->bytes,
		.requested = ev->bytes, .stream = stream_of(ev->stream_order), .pool = ev->pool,
		.device = step->device, .tag = ev->tag, .stack = step->stack, .there = true,
	};
	return 0;
}

static int as_snapshot_put_alloc(struct frag_snapshot_out *s, const struct frag_step *step,
				 struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const int rc = make_live(s, step, err);

	if (rc || !s->lives[ev->slot].there || s->logs[step->device].beginning)
		return rc;
	return put_life(s, step, &s->lives[ev->slot], FRAG_SNAP_ALLOC, err);
}

/* Who allocated it is not in the event that completes it. */
static int defer_free(struct frag_snapshot_out *s, const struct frag_step *step,
		      const struct frag_snap_live *k, struct frag_error *err)
{
	struct frag_snap_log *log = &s->logs[step->device];

	if (!FRAG_GROW(log->pending, log->pending_capacity, log->pending_count))
		return frag_fail_nomem(err);
	log->pending[log->pending_count] = (struct frag_snap_pending){
		.was = *k, .slot = step->event->slot,
		.block = frag_sim_block(s->x->sim, step->event->slot),
	};
	log->pending[log->pending_count].was.tag = log->pending[log->pending_count].was.stack = 0;
	log->pending_count++;
	return 0;
}

/*
 * A free is two events, as PyTorch logs it: requested, then completed. The second
 * follows at once, unless the block is pending.
 */
static int put_free(struct frag_snapshot_out *s, const struct frag_step *step,
		    struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	struct frag_snap_live *k = ev->slot < s->live_count ? &s->lives[ev->slot] : NULL;
	int rc;

	if (!k || !k->there || k->device != step->device)
		return 0;
	k->there = false;
	rc = put_life(s, step, k, FRAG_SNAP_FREE_REQUESTED, err);
	if (rc || ev->waits)
		return rc ? rc : defer_free(s, step, k, err);
	s->logs[step->device].active -= k->bytes;
	return put_life(s, step, k, FRAG_SNAP_FREE_COMPLETED, err);
}

static int as_snapshot_put_oom(struct frag_snapshot_out *s, const struct frag_step *step,
			       struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const struct frag_heap *heap = frag_sim_heap(s->x->sim, step->device);
	const bool requested = ev->op == FRAG_OP_ALLOC;
	const struct entry e = {
		.action = FRAG_SNAP_OOM, .stream = stream_of(ev->stream_order),
		.addr = step->metrics->limited && step->metrics->device_free > 0
			? (uint64_t)step->metrics->device_free : 0,
		.size = requested ? ev->bytes : frag_heap_totals(heap)->tried,
		.pool = requested ? ev->pool : 0,
		.requester = requester_of(s, requested ? ev->tag : 0, step->stack),
	};

	return put_entry(s, step->device, ev, &e, err);
}

/* Blocks that the policy moves are freed first, where they were. */
static int put_moves_from(struct frag_snapshot_out *s, const struct frag_step *step,
			  struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < step->move_count && !rc; i++) {
		const struct frag_snap_live *k = &s->lives[step->moves[i].slot];

		s->logs[step->device].active += step->moves[i].bytes;
		s->logs[step->device].active -= k->bytes;
		if (s->logs[step->device].beginning)
			continue;
		rc = put_life(s, step, k, FRAG_SNAP_FREE_REQUESTED, err);
		rc = rc ? rc : put_life(s, step, k, FRAG_SNAP_FREE_COMPLETED, err);
	}
	return rc;
}

/* And last they are allocated, where they are now. */
static int put_moves_to(struct frag_snapshot_out *s, const struct frag_step *step,
			struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < step->move_count && !rc; i++) {
		const struct frag_step_move *m = &step->moves[i];
		const struct frag_snap_segment *seg =
			find_segment(&s->logs[step->device], m->segment);
		struct frag_snap_live *k = &s->lives[m->slot];

		k->addr = (seg ? seg->base : 0) + m->offset;
		k->bytes = m->bytes;
		if (!s->logs[step->device].beginning)
			rc = put_life(s, step, k, FRAG_SNAP_ALLOC, err);
	}
	return rc;
}

/* Does the name end so? Then it is that much shorter. */
static bool cut_end(struct frag_text *name, const char *end)
{
	uint32_t n = (uint32_t)strlen(end);

	if (name->length <= n || memcmp(name->text + name->length - n, end, n) != 0)
		return false;
	name->length -= n;
	return true;
}

/*
 * A mark is an event of no block, whose text viewers show, and an annotation, with the
 * stages that the reader makes names of.
 */
static int as_snapshot_put_mark(struct frag_snapshot_out *s, const struct frag_step *step,
				struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	const struct entry e = { .action = FRAG_SNAP_ANNOTATE, .note = ev->text };
	struct frag_snap_part *part = &s->notes;
	struct frag_text name = ev->text;
	const bool start = cut_end(&name, " (start)"), stop = !start && cut_end(&name, " (end)");
	int rc = put_entry(s, step->device, ev, &e, err);
	char *p = rc ? NULL : frag_snap_dict(part, &part->open,
					     EVENT_ROOM + (size_t)name.length * 3, NULL);

	if (!p)
		return rc ? rc : frag_outfile_status(part->out, err);
	p = frag_snap_word(part, p, FRAG_SNAP_NAME);
	p = frag_pickle_text(p, name.text, name.length);
	if (start || stop)
		p = snap_words(part, p, FRAG_SNAP_STAGE, start ? FRAG_SNAP_START : FRAG_SNAP_END);
	p = frag_snap_number(part, p, FRAG_SNAP_DEVICE, step->device);
	p = frag_snap_number(part, p, FRAG_SNAP_TIME, export_time(s->x, ev));
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
	return frag_outfile_status(part->out, err);
}

#define SEGMENT_ROOM 1024
#define BLOCK_ROOM 512          /* without its frames */

/* A device in its last state. */
struct state {
	struct frag_snapshot_out *s;
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

static void gather_segment(void *ctx, const struct frag_segment_view *s,
				     const struct frag_block_view *b)
{
	struct segments *to = ctx;

	if (b)
		return;
	to->failed = to->failed || !FRAG_GROW(to->list, to->capacity, to->count);
	if (!to->failed)
		to->list[to->count++] = *s;
}

static int by_ordinal(const void *a, const void *b)
{
	const struct frag_segment_view *x = a, *y = b;

	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* The segments of a heap by ordinal; the caller frees the list in any case. */
static struct segments segments_of(const struct frag_heap *heap)
{
	struct segments s = { .list = NULL };

	frag_heap_walk(heap, &s, gather_segment);
	FRAG_SORT(s.list, s.count, by_ordinal);
	return s;
}

static int lives_by_address(const void *a, const void *b)
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
	FRAG_SORT(st->lives, st->live_count, lives_by_address);
}

/* What the block at this address was allocated for. */
static struct frag_snap_requester requester_at(const struct state *st, uint64_t addr)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, st->live_count, st->lives[low]->addr < addr);
	if (low == st->live_count || st->lives[low]->addr != addr)
		return (struct frag_snap_requester){ .stack = 0 };
	return requester_of(st->s, st->lives[low]->tag, st->lives[low]->stack);
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
static void put_block(const struct state *st, const struct run *run, uint32_t *open,
		      const struct frag_block_view *k)
{
	struct frag_snap_part *part = &st->s->last;
	const bool live = k->state == FRAG_ALLOCATED, active = live || k->state == FRAG_PENDING;
	const uint64_t addr = run->seg->base + k->offset;
	struct frag_snap_requester requester = { .stack = 0 };
	char *p;

	if (live)
		requester = requester_at(st, addr);
	p = frag_snap_dict(part, open, BLOCK_ROOM, &requester);
	if (!p)
		return;
	p = frag_snap_number(part, p, FRAG_SNAP_ADDRESS, addr);
	p = frag_snap_number(part, p, FRAG_SNAP_SIZE, k->bytes);
	p = frag_snap_number(part, p, FRAG_SNAP_REQUESTED, active ? k->requested : 0);
	p = snap_words(part, p, FRAG_SNAP_STATE, live ? FRAG_SNAP_LIVE
		       : active ? FRAG_SNAP_PENDING : FRAG_SNAP_INACTIVE);
	p = frag_snap_frames(part, p, &requester);
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
}

/*
 * A mapped run counts as a segment, as PyTorch lists it; each begins where its
 * pages do.
 */
static void put_segment_head(const struct state *st, const struct run *run)
{
	struct frag_snap_part *part = &st->s->last;
	char *p = frag_snap_dict(part, &part->open, SEGMENT_ROOM, NULL);

	if (!p)
		return;
	p = frag_snap_number(part, p, FRAG_SNAP_DEVICE, st->device);
	p = frag_snap_number(part, p, FRAG_SNAP_ADDRESS, run->seg->base + run->start);
	p = frag_snap_number(part, p, FRAG_SNAP_TOTAL, run->end - run->start);
	p = frag_snap_number(part, p, FRAG_SNAP_ALLOCATED, run->allocated);
	p = frag_snap_number(part, p, FRAG_SNAP_ACTIVE, run->active);
	p = frag_snap_number(part, p, FRAG_SNAP_REQUESTED, run->requested);
	p = frag_snap_number(part, p, FRAG_SNAP_STREAM, run->seg->stream);
	p = snap_words(part, p, FRAG_SNAP_TYPE, run->seg->large ? FRAG_SNAP_LARGE
								 : FRAG_SNAP_SMALL);
	p = snap_pool(part, p, FRAG_SNAP_SEGMENT_POOL, run->seg->pool);
	p = frag_snap_word(part, p, FRAG_SNAP_RANGE);
	p = frag_pickle_bool(p, run->range);
	p = frag_snap_frames(part, p, &(struct frag_snap_requester){ .stack = 0 });
	p = frag_snap_word(part, p, FRAG_SNAP_BLOCKS);
	frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_LIST));
}

/* Returns the block after the run. */
static frag_block put_mapped_run(const struct state *st, const struct run *run)
{
	struct frag_snap_part *part = &st->s->last;
	frag_block b = run->first;
	uint32_t open = 0;
	char *p;

	put_segment_head(st, run);
	while (b != FRAG_NO_BLOCK) {
		const struct frag_block_view k = frag_heap_look(st->heap, b);

		if (is_hole(run, &k))
			break;
		put_block(st, run, &open, &k);
		b = k.next;
	}
	p = frag_outfile_room(part->out, 2);
	if (p) {
		p = frag_snap_list_end(&open, p);
		frag_outfile_used(part->out, frag_pickle_op(p, FRAG_PICKLE_SETITEMS));
	}
	return b;
}

/* Writes the current segments of a device, with their blocks. */
static int put_last_state(struct frag_snapshot_out *s, uint32_t device, struct frag_error *err)
{
	struct state st = {
		.s = s, .device = device, .heap = frag_sim_heap(s->x->sim, device),
	};
	const struct segments all = segments_of(st.heap);

	FRAG_ASSERT(device < s->device_count && !s->logs[device].ended);
	s->logs[device].ended = true;
	gather_lives(&st);
	for (uint32_t i = 0; i < all.count && !all.failed && !st.failed; i++) {
		const struct frag_segment_view *g = &all.list[i];
		struct run run = {
			.seg = find_segment(&s->logs[device], g->ordinal), .range = g->page != 0,
		};
		frag_block b = g->first;

		while (run.seg && find_run(&st, &run, b))
			b = put_mapped_run(&st, &run);
	}
	free(all.list);
	free(st.lives);
	return all.failed || st.failed ? frag_fail_nomem(err)
				       : frag_outfile_status(s->last.out, err);
}

/*
 * The order within a step is PyTorch's: what the free ended, what a wait
 * completed, the calls that the request forced, and the request itself. Bytes of
 * the new block count before completions are searched for, as the metrics count it
 * already.
 */
static int snapshot_step(struct frag_export *x, const struct frag_step *step,
			 struct frag_error *err)
{
	struct frag_snapshot_out *s = x->state;
	struct frag_snap_log *log = &s->logs[step->device];
	const struct frag_event *ev = step->event;
	int rc = 0;

	log->beginning = log->beginning && ev->op == FRAG_OP_ALLOC && ev->place;
	if (ev->op == FRAG_OP_FREE && step->status == FRAG_STEP_OK)
		rc = put_free(s, step, err);
	if (step->placed)
		log->active += step->bytes;
	rc = rc ? rc : put_moves_from(s, step, err);
	rc = rc ? rc : put_completed(s, step, err);
	for (uint32_t i = 0; i < step->call_count && !rc; i++)
		rc = as_snapshot_put_call(s, step, &step->calls[i], err);
	if (rc || step->status == FRAG_STEP_SKIPPED)
		return rc;
	if (ev->op == FRAG_OP_ALLOC)
		rc = as_snapshot_put_alloc(s, step, err);
	else if (ev->op == FRAG_OP_MARK)
		rc = as_snapshot_put_mark(s, step, err);
	rc = rc ? rc : put_moves_to(s, step, err);
	if (rc || step->status != FRAG_STEP_OOM)
		return rc;
	rc = as_snapshot_put_oom(s, step, err);
	/* the trace goes on without it, and with other blocks in the slots */
	return rc || x->goes_on ? rc : put_last_state(s, step->device, err);
}

/* The next of the trace's own first segments, from *at on, that the policy has made this of. */
static const struct frag_initial *find_initial(const struct frag_snapshot_out *s, uint32_t device,
					       const struct frag_segment_view *g, uint32_t *at)
{
	const struct frag_symbols *symbols = frag_sim_symbols(s->x->sim);

	while (*at < symbols->initial_count) {
		const struct frag_initial *i = &symbols->initial[(*at)++];

		if (i->device == device && i->range == (g->page != 0)
		    && (i->range || i->bytes == g->bytes))
			return i;
	}
	return NULL;
}

/*
 * Segments of the first state in the order of their ordinals, as find_initial()
 * goes through the trace's own list once. With a policy that restores them, the
 * blocks of the first state are no events.
 */
static int begin_device(struct frag_snapshot_out *s, uint32_t device, struct frag_error *err)
{
	struct frag_snap_log *log = &s->logs[device];
	const struct segments all = segments_of(frag_sim_heap(s->x->sim, device));
	uint32_t at = 0;
	int rc = all.failed ? frag_fail_nomem(err) : 0;

	for (uint32_t i = 0; !rc && i < all.count; i++) {
		const struct frag_segment_view *g = &all.list[i];
		const struct frag_initial *from = find_initial(s, device, g, &at);
		struct frag_snap_segment seg = {
			.ordinal = g->ordinal, .bytes = g->bytes, .pool = g->pool,
			.large = from ? from->large : g->bytes != PAGE,
			.stream = from ? stream_of(from->stream_order) : 0,
		};

		if (g->page && seg.bytes > RANGE_MAX)
			seg.bytes = RANGE_MAX;
		rc = enter_segment(s, log, &seg, err);
		log->beginning = s->x->choice->ops->restore_segment != NULL;
	}
	free(all.list);
	return rc;
}

/* Correct for a snapshot whose start failed, too: each device is counted when it begins. */
static void snapshot_fini(struct frag_export *x)
{
	struct frag_snapshot_out *s = x->state;

	for (uint32_t i = 0; s && i < s->device_count; i++) {
		struct frag_snap_log *log = &s->logs[i];

		frag_snap_part_fini(&log->part);
		frag_map_fini(&log->by_ordinal);
		free(log->segments);
		free(log->pending);
	}
	if (s) {
		frag_snap_part_fini(&s->notes);
		frag_snap_part_fini(&s->last);
		free(s->logs);
		free(s->lives);
	}
	free(s);
	x->state = NULL;
}

/*
 * The head of the file up to the first log. Descriptors of spools are -1 first of
 * all, so that closing one that was never opened closes nothing.
 */
static int snapshot_begin(struct frag_export *x, struct frag_error *err)
{
	struct frag_snapshot_out *s = x->state = calloc(1, sizeof(*s));
	uint32_t devices = frag_sim_devices(x->sim)->count;
	int rc = 0;

	if (!s)
		return frag_fail_nomem(err);
	s->x = x;
	s->next_addr = FIRST_ADDR;
	s->notes.spool.fd = s->last.spool.fd = -1;
	s->logs = calloc(devices, sizeof(*s->logs));
	if (!s->logs)
		return frag_fail_nomem(err);
	frag_outfile_write(x->out, FRAG_PICKLE_PROTOCOL, 2);
	frag_snap_op(x->out, FRAG_PICKLE_DICT);
	frag_snap_op(x->out, FRAG_PICKLE_MARK);
	frag_snap_text(x->out, "device_traces");
	frag_snap_op(x->out, FRAG_PICKLE_LIST);
	frag_snap_op(x->out, FRAG_PICKLE_MARK);
	while (s->device_count < devices && !rc) {
		struct frag_snap_log *log = &s->logs[s->device_count];

		log->part.spool.fd = -1;
		log->unused = NO_SEGMENT;
		if (!frag_map_init(&log->by_ordinal, frag_hash_seed()))
			rc = frag_fail_nomem(err);
		s->device_count++;
		rc = rc ? rc : begin_device(s, s->device_count - 1, err);
	}
	rc = rc ? rc : frag_snap_part_open(&s->notes, frag_sim_symbols(x->sim), NULL, x->out, err);
	return rc ? rc : frag_snap_part_open(&s->last, frag_sim_symbols(x->sim), NULL, x->out, err);
}

static int end_parts(struct frag_snapshot_out *s, struct frag_error *err)
{
	struct frag_outfile *out = s->x->out;
	int rc = 0;

	for (uint32_t i = 0; i < s->device_count && !rc; i++) {
		if (s->logs[i].open)
			rc = frag_snap_part_end(&s->logs[i].part, out, err);
		else
			frag_snap_op(out, FRAG_PICKLE_LIST);
	}
	frag_snap_op(out, FRAG_PICKLE_APPENDS);
	frag_snap_text(out, "external_annotations");
	rc = rc ? rc : frag_snap_part_end(&s->notes, out, err);
	frag_snap_text(out, "segments");
	return rc ? rc : frag_snap_part_end(&s->last, out, err);
}

static int snapshot_end(struct frag_export *x, struct frag_error *err)
{
	struct frag_snapshot_out *s = x->state;
	int rc = 0;

	for (uint32_t i = 0; i < s->device_count && !rc; i++)
		if (!s->logs[i].ended)
			rc = put_last_state(s, i, err);
	rc = rc ? rc : end_parts(s, err);
	if (rc)
		return rc;
	frag_snap_text(x->out, "allocator_settings");
	frag_snap_settings(x);
	frag_snap_op(x->out, FRAG_PICKLE_SETITEMS);
	frag_snap_op(x->out, FRAG_PICKLE_STOP);
	return frag_outfile_status(x->out, err);
}

const struct frag_export_ops frag_export_snapshot = {
	.name = "snapshot",
	.summary = "a memory snapshot of PyTorch, pickle",
	.ending = ".pickle",
	.begin = snapshot_begin,
	.step = snapshot_step,
	.end = snapshot_end,
	.fini = snapshot_fini,
};
