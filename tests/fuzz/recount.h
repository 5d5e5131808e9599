/*
 * recount.h - totals of a run that share nothing with the program's: for fuzz_engine.
 *
 * recount_event() says what an event does to the blocks of the trace (fragsim-lines(5));
 * recount_see() watches a run step by step: it notes where blocks were placed and
 * which segments the device gave, counts all anew, slowly, and compares.
 */
#pragma once

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "fragsim/engine.h"

#define RECOUNT_EVENTS 400
#define RECOUNT_DEVICES 3
#define RECOUNT_NONE UINT32_MAX

/* What the free memory of a policy looks like, given what is allocated. */
enum recount_shape {
	RECOUNT_MERGED,         /* all between two blocks is one */
	RECOUNT_HALVES,         /* buddies */
	RECOUNT_SLABS,          /* equal slots, where blocks are small */
};

struct recount_policy {
	const char *text;
	enum recount_shape shape;
	bool releases;          /* nothing that could be released is left where it fails */
	bool notices_late;      /* a pending block may stay longer than the trace says */
	bool by_stream;         /* free neighbours of two streams are two */
	bool keeps_all;         /* nothing is ever released */
	bool limited;           /* has a limit of its own */
	bool keeps_pools;       /* what is a pool's other than 0 stays until its release_pool */
	uint64_t pool;          /* bytes held from the beginning */
	uint64_t max_small;     /* bytes of the largest slot */
};

enum recount_state { RECOUNT_LIVE, RECOUNT_WAITING, RECOUNT_GONE };

struct recount_block {
	uint64_t requested, bytes, offset;
	uint32_t id, device, segment;
	uint32_t slot;                  /* as the events call it */
	unsigned stream, recorded;      /* a number; a bit for each */
	enum recount_state state;
	bool announced;                 /* waits for its `complete` */
	bool placed;                    /* the device had room */
};

struct recount_segment {
	uint64_t bytes, mapped;
	int64_t pool;                   /* of the trace; -1: not known yet */
	bool held, range;
};

struct recount_device {
	struct frag_device_figures figures;
	struct recount_segment *segments;
	uint32_t segment_count;
	bool pool;                      /* segment 0 is one */
	bool dead;                      /* and was refused */
	bool late;                      /* a pending block may be there, or not */
	bool ranges;
	uint32_t done;                  /* pools that the program is done with, a bit for each */
	uint64_t steps, allocs, hits, frees, ooms, skipped, got, gave;
	uint64_t peak_requested, peak_allocated, peak_free, peak_blocks;
};

struct recount {
	const struct recount_policy *policy;
	const struct frag_record *records;
	uint32_t applied;               /* records that recount_event() has seen */
	uint32_t touched;               /* the block of the last one, or RECOUNT_NONE */
	bool configured;
	struct recount_block blocks[RECOUNT_EVENTS];
	uint32_t block_count;
	struct recount_device devices[RECOUNT_DEVICES];
	uint32_t device_count;
};

static void recount_must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_engine: %s\n", what);
	abort();
}

static void recount_same(const struct recount *r, const char *what, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "fuzz_engine: %s: record %u: %s is %" PRIu64 ", counted %" PRIu64 "\n",
		r->policy->text, r->applied - 1, what, got, wanted);
	abort();
}

static void recount_close(const struct recount *r, const char *what, double got, double wanted)
{
	if (fabs(got - wanted) <= 1e-9)
		return;
	fprintf(stderr, "fuzz_engine: %s: record %u: %s is %.17g, counted %.17g\n",
		r->policy->text, r->applied - 1, what, got, wanted);
	abort();
}

static struct recount_segment *recount_new_segment(struct recount_device *d, uint32_t ordinal)
{
	struct recount_segment *s;

	recount_must(ordinal == d->segment_count, "segments are not numbered one by one");
	d->segments = realloc(d->segments, (ordinal + 1) * sizeof(*d->segments));
	recount_must(d->segments, "no memory");
	s = &d->segments[d->segment_count++];
	*s = (struct recount_segment){ .held = true, .pool = -1 };
	return s;
}

/* figures are not looked at where no run will be watched (policy NULL). */
static void recount_begin(struct recount *r, const struct recount_policy *policy,
			  uint32_t device_count, const struct frag_device_figures *figures)
{
	memset(r, 0, sizeof(*r));
	r->policy = policy;
	r->device_count = device_count;
	for (uint32_t i = 0; policy && i < device_count; i++) {
		r->devices[i].figures = figures[i];
		if (policy->pool) {
			struct recount_segment *s = recount_new_segment(&r->devices[i], 0);

			s->bytes = s->mapped = policy->pool;
			s->pool = 0;
			r->devices[i].pool = true;
		}
	}
}

static void recount_end(struct recount *r)
{
	for (uint32_t i = 0; i < r->device_count; i++)
		free(r->devices[i].segments);
}

/* Streams and pools by number: the letters of the strings, far from the integers. */
static unsigned recount_number(const struct frag_handle *h)
{
	return h->text ? 16 + (unsigned)h->text[0] % 16 : (unsigned)h->number;
}

static void recount_finish(struct recount_block *b)
{
	if (b->state == RECOUNT_WAITING && !b->announced && !b->recorded)
		b->state = RECOUNT_GONE;
}

static void recount_sync(struct recount *r, const struct frag_record *rec)
{
	for (uint32_t i = 0; i < r->block_count; i++) {
		struct recount_block *b = &r->blocks[i];

		if (b->state != RECOUNT_WAITING
		    || (rec->members & FRAG_HAS_DEVICE && rec->device != b->device))
			continue;
		if (rec->members & FRAG_HAS_STREAM)
			b->recorded &= ~(1U << recount_number(&rec->stream));
		else
			b->recorded = 0;
		recount_finish(b);
	}
}

static uint32_t recount_find(const struct recount *r, const struct frag_record *rec)
{
	for (uint32_t i = 0; i < r->block_count; i++)
		if (r->blocks[i].id == rec->at
		    && (rec->op == FRAG_OP_COMPLETE ? r->blocks[i].announced
						    : r->blocks[i].state == RECOUNT_LIVE))
			return i;
	return RECOUNT_NONE;
}

static void recount_free(struct recount *r, struct recount_block *b, bool pending)
{
	b->announced = pending;
	b->state = RECOUNT_WAITING;
	recount_finish(b);
	if (b->state == RECOUNT_WAITING && b->placed && b->requested && r->policy
	    && r->policy->notices_late)
		r->devices[b->device].late = true;
}

/* What the record does to the blocks, whatever the policy; record.at is the id. */
static void recount_event(struct recount *r, const struct frag_record *rec)
{
	struct recount_block *b = NULL;

	r->applied++;
	r->touched = RECOUNT_NONE;
	if (rec->op == FRAG_OP_FREE || rec->op == FRAG_OP_COMPLETE
	    || rec->op == FRAG_OP_RECORD_STREAM) {
		r->touched = recount_find(r, rec);
		recount_must(r->touched != RECOUNT_NONE, "the fuzzer lost a block");
		b = &r->blocks[r->touched];
	}
	if (rec->op == FRAG_OP_ALLOC) {
		r->touched = r->block_count;
		r->blocks[r->block_count++] = (struct recount_block){
			.requested = rec->size,
			.id = (uint32_t)rec->at,
			.device = (uint32_t)rec->device,
			.stream = recount_number(&rec->stream),
		};
	} else if (rec->op == FRAG_OP_FREE) {
		recount_free(r, b, rec->members & FRAG_HAS_PENDING);
	} else if (rec->op == FRAG_OP_COMPLETE) {
		b->announced = false;
		recount_finish(b);
	} else if (rec->op == FRAG_OP_RECORD_STREAM) {
		if (recount_number(&rec->stream) != b->stream)
			b->recorded |= 1U << recount_number(&rec->stream);
	} else if (rec->op == FRAG_OP_SYNC) {
		recount_sync(r, rec);
	} else if (rec->op == FRAG_OP_RELEASE_POOL) {
		r->devices[rec->device].done |= 1U << recount_number(&rec->pool);
	} else if (rec->op == FRAG_OP_CONFIGURE) {
		r->configured = true;
	}
}

static void recount_calls(struct recount_device *d, const struct frag_step *step)
{
	for (uint32_t i = 0; i < step->call_count; i++) {
		const struct frag_call *c = &step->calls[i];
		bool is_new = c->kind == FRAG_CALL_NEW || c->kind == FRAG_CALL_NEW_RANGE;
		struct recount_segment *s = is_new ? recount_new_segment(d, c->ordinal) : NULL;

		recount_must(c->ordinal < d->segment_count, "a segment that was never obtained");
		s = &d->segments[c->ordinal];
		recount_must(s->held, "a call for a segment that was given back");
		if (is_new)
			s->bytes = c->bytes;
		if (c->kind == FRAG_CALL_NEW) {
			s->mapped = c->bytes;
			d->got++;
		} else if (c->kind == FRAG_CALL_NEW_RANGE) {
			d->ranges = s->range = true;
		} else if (c->kind == FRAG_CALL_MAP) {
			s->mapped += c->bytes;
			recount_must(s->range && s->mapped <= s->bytes, "mapped too much");
		} else if (c->kind == FRAG_CALL_UNMAP) {
			recount_must(s->range && s->mapped >= c->bytes, "unmapped too much");
			s->mapped -= c->bytes;
		} else {
			recount_must(s->range == (c->kind == FRAG_CALL_RELEASE_RANGE)
				     && !(d->pool && c->ordinal == 0),
				     "released as what it is not");
			s->held = false;
			d->gave++;
		}
	}
}

/* Does the block take up memory, as far as is known? */
static bool recount_lies(const struct recount_block *b)
{
	return b->placed && b->requested && b->state != RECOUNT_GONE;
}

static void recount_place(struct recount *r, struct recount_block *b, const struct frag_step *step,
			  const struct frag_record *rec)
{
	struct recount_device *d = &r->devices[b->device];
	int64_t pool = recount_number(&rec->pool);
	struct recount_segment *s;

	b->placed = step->placed;
	if (!b->placed || !b->requested)
		return;
	b->segment = step->segment;
	b->offset = step->offset;
	b->bytes = step->bytes;
	recount_must(b->segment < d->segment_count, "placed where no segment is");
	s = &d->segments[b->segment];
	recount_must(s->held && b->bytes >= b->requested && b->bytes <= s->mapped
		     && b->offset <= s->bytes - b->bytes, "placed outside of its segment");
	recount_must(s->pool == -1 || s->pool == pool, "placed in another pool's segment");
	s->pool = pool;
	for (const struct recount_block *o = r->blocks; o < b; o++)
		recount_must(!recount_lies(o) || o->device != b->device || o->segment != b->segment
			     || (o->state == RECOUNT_WAITING && r->policy->notices_late)
			     || o->offset + o->bytes <= b->offset
			     || b->offset + b->bytes <= o->offset, "two blocks overlap");
}

/* Live blocks that the policy has put elsewhere: first none of them is anywhere. */
static void recount_moves(struct recount *r, const struct frag_step *step)
{
	struct recount_block *moved[RECOUNT_EVENTS];

	for (uint32_t i = 0; i < step->move_count; i++) {
		struct recount_block *b = r->blocks;

		while (b < r->blocks + r->block_count
		       && !(b->slot == step->moves[i].slot && b->device == step->device
			    && b->state == RECOUNT_LIVE && b->placed && b->requested))
			b++;
		recount_must(b < r->blocks + r->block_count, "what is not live was moved");
		moved[i] = b;
		b->placed = false;
	}
	for (uint32_t i = 0; i < step->move_count; i++) {
		const struct frag_step_move *m = &step->moves[i];
		struct recount_block *b = moved[i];

		recount_must(m->segment < r->devices[step->device].segment_count
			     && r->devices[step->device].segments[m->segment].held
			     && m->bytes >= b->requested, "moved to where nothing is");
		b->segment = m->segment;
		b->offset = m->offset;
		b->bytes = m->bytes;
		for (const struct recount_block *o = r->blocks; o < r->blocks + r->block_count; o++)
			recount_must(!recount_lies(o) || o->device != b->device
				     || o->segment != b->segment
				     || (o->state == RECOUNT_WAITING && r->policy->notices_late)
				     || o->offset + o->bytes <= b->offset
				     || b->offset + b->bytes <= o->offset, "moved onto another");
		b->placed = true;
	}
}

/* The blocks of a segment, by offset. */
static uint32_t recount_sorted(const struct recount *r, uint32_t device, uint32_t segment,
			       const struct recount_block *out[RECOUNT_EVENTS])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->block_count; i++) {
		const struct recount_block *b = &r->blocks[i];
		uint32_t at = count;

		if (!recount_lies(b) || b->device != device || b->segment != segment)
			continue;
		for (; at > 0 && out[at - 1]->offset > b->offset; at--)
			out[at] = out[at - 1];
		out[at] = b;
		count++;
	}
	return count;
}

/* The largest free half, half of a half, ... */
static uint64_t recount_largest_half(const struct recount_block *const *blocks, uint32_t count,
				     uint64_t offset, uint64_t bytes)
{
	uint64_t lower, upper;
	uint32_t inside = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct recount_block *b = blocks[i];

		if (b->offset >= offset + bytes || b->offset + b->bytes <= offset)
			continue;
		recount_must(b->bytes <= bytes || b->offset == offset, "no buddy");
		if (b->bytes >= bytes)
			return 0;
		inside++;
	}
	if (!inside)
		return bytes;
	lower = recount_largest_half(blocks, count, offset, bytes / 2);
	upper = recount_largest_half(blocks, count, offset + bytes / 2, bytes / 2);
	return lower > upper ? lower : upper;
}

/* What a segment's free memory comes to. */
struct recount_free {
	uint64_t bytes, largest, releasable, waste;
	uint64_t kept;          /* of what is releasable: in use by a pool */
};

static void recount_segment_free(const struct recount *r, uint32_t device, uint32_t ordinal,
				 struct recount_free *f)
{
	const struct recount_segment *s = &r->devices[device].segments[ordinal];
	const struct recount_block *blocks[RECOUNT_EVENTS];
	uint32_t count = recount_sorted(r, device, ordinal, blocks);
	uint64_t end = 0, largest = 0, used = 0, waste = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (blocks[i]->offset - end > largest)
			largest = blocks[i]->offset - end;
		end = blocks[i]->offset + blocks[i]->bytes;
		used += blocks[i]->bytes;
	}
	if (s->bytes - end > largest)
		largest = s->bytes - end;
	if (r->policy->shape == RECOUNT_HALVES)
		largest = recount_largest_half(blocks, count, 0, s->bytes);
	if (r->policy->shape == RECOUNT_SLABS && count
	    && blocks[0]->bytes <= r->policy->max_small) {
		waste = s->bytes % blocks[0]->bytes;
		largest = s->bytes - waste > used ? blocks[0]->bytes : 0;
	}
	f->bytes += s->bytes - used - waste;
	f->waste += waste;
	f->largest = largest > f->largest ? largest : f->largest;
	if (!count && !r->policy->keeps_all && !(r->devices[device].pool && ordinal == 0))
		f->releasable += s->bytes;
	if (!count && s->pool > 0 && !(r->devices[device].done >> s->pool & 1))
		f->kept += s->bytes;
}

/* Does a block wait? One that does may have ended at the OOM, and leave its pool's segment idle. */
static bool recount_waits(const struct recount *r, uint32_t device)
{
	for (uint32_t i = 0; i < r->block_count; i++)
		if (r->blocks[i].state == RECOUNT_WAITING && r->blocks[i].device == device
		    && recount_lies(&r->blocks[i]))
			return true;
	return false;
}

/* Bytes of segments that are idle, in pools that the program still uses. */
static uint64_t recount_kept(const struct recount *r, uint32_t device)
{
	struct recount_free f = { .bytes = 0 };

	for (uint32_t i = 0; i < r->devices[device].segment_count; i++)
		if (r->devices[device].segments[i].held)
			recount_segment_free(r, device, i, &f);
	return f.kept;
}

static void recount_percentages(const struct recount *r, const struct frag_metrics *m)
{
	double d = m->device_free > 0 ? (double)m->device_free : 0;
	double back = fmin(d + (double)m->releasable, (double)m->free + d);
	double max = fmax((double)m->largest_free, back), all = (double)m->free + d;

	recount_close(r, "fi", m->fi, m->free ? 100 * (1 - (double)m->largest_free
						       / (double)m->free) : 0);
	recount_close(r, "fi_device", m->fi_device, all > 0 ? 100 * (1 - max / all) : 0);
	recount_close(r, "internal", m->internal, m->allocated
		      ? 100 * (1 - (double)m->requested / (double)m->allocated) : 0);
	recount_close(r, "utilization", m->utilization, m->reserved
		      ? 100 * (double)m->allocated / (double)m->reserved : 100);
}

static void recount_raise(uint64_t *peak, uint64_t value)
{
	*peak = value > *peak ? value : *peak;
}

/* What must hold however late a policy notices what has ended. */
static void recount_always(struct recount *r, uint32_t device, const struct frag_metrics *m)
{
	struct recount_device *d = &r->devices[device];
	uint64_t requested = 0, allocated = 0, blocks = 0, reserved = 0, segments = 0, used = 0;

	for (uint32_t i = 0; i < r->block_count; i++) {
		const struct recount_block *b = &r->blocks[i];

		if (!recount_lies(b) || b->device != device || b->state != RECOUNT_LIVE)
			continue;
		requested += b->requested;
		allocated += b->bytes;
		blocks++;
	}
	for (uint32_t i = 0; i < d->segment_count; i++) {
		const struct recount_segment *s = &d->segments[i];
		uint64_t granularity = d->figures.granularity;

		if (!s->held)
			continue;
		segments++;
		reserved += s->mapped;
		used += (s->mapped + granularity - 1) / granularity * granularity;
	}
	recount_same(r, "requested", m->requested, requested);
	recount_same(r, "allocated", m->allocated, allocated);
	recount_same(r, "blocks", m->blocks, blocks);
	recount_same(r, "reserved", m->reserved, reserved);
	recount_same(r, "segments", m->segments, segments);
	recount_must(m->active >= allocated && m->active + m->free <= reserved
		     && m->largest_free <= m->free && m->releasable <= m->free,
		     "sums that cannot be");
	recount_same(r, "non_releasable", m->non_releasable, m->free - m->releasable);
	recount_same(r, "waste", m->waste, reserved - m->active - m->free);
	recount_same(r, "wasted", m->wasted, reserved > requested + m->releasable
		     ? reserved - requested - m->releasable : 0);
	/* a product of these two may be 2^64 */
	recount_must(m->holes ? m->largest_free && m->holes >= (m->free - 1) / m->largest_free + 1
				&& m->largest_free + m->holes - 1 <= m->free : m->free == 0,
		     "so many free blocks cannot be");
	recount_must(m->limited == (d->figures.total != 0), "limited or not?");
	if (!d->ranges)
		recount_same(r, "process_used", m->process_used, d->figures.context + used);
	if (m->limited) {
		recount_must(m->process_used + d->figures.other <= d->figures.total
			     || reserved == 0, "more than the device has");
		recount_same(r, "device_free", (uint64_t)m->device_free,
			     d->figures.total - d->figures.other - m->process_used);
	}
	recount_percentages(r, m);
	recount_raise(&d->peak_requested, requested);
	recount_raise(&d->peak_allocated, allocated);
	recount_raise(&d->peak_blocks, blocks);
	recount_raise(&d->peak_free, m->free);
}

/* The free memory, where it is known what is allocated or pending. */
static void recount_exactly(const struct recount *r, uint32_t device, const struct frag_metrics *m)
{
	const struct recount_device *d = &r->devices[device];
	struct recount_free f = { .bytes = 0 };
	uint64_t active = 0;

	if (d->late || d->ranges)
		return;
	for (uint32_t i = 0; i < r->block_count; i++)
		if (recount_lies(&r->blocks[i]) && r->blocks[i].device == device)
			active += r->blocks[i].bytes;
	for (uint32_t i = 0; i < d->segment_count; i++)
		if (d->segments[i].held)
			recount_segment_free(r, device, i, &f);
	recount_same(r, "active", m->active, active);
	recount_same(r, "free", m->free, f.bytes);
	if (r->policy->by_stream)
		recount_must(m->largest_free <= f.largest, "a free block that is too large");
	else
		recount_same(r, "largest_free", m->largest_free, f.largest);
	recount_same(r, "releasable", m->releasable, f.releasable);
	recount_same(r, "waste", m->waste, f.waste);
}

static enum frag_step_status recount_status(const struct recount *r, enum frag_op op)
{
	const struct recount_block *b = r->touched == RECOUNT_NONE ? NULL : &r->blocks[r->touched];

	if (op == FRAG_OP_ALLOC)
		return b->placed ? FRAG_STEP_OK : FRAG_STEP_OOM;
	return b && !b->placed ? FRAG_STEP_SKIPPED : FRAG_STEP_OK;
}

static int recount_see(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	const enum frag_op op = (enum frag_op)step->event->op;
	struct recount *r = ctx;
	struct recount_device *d = &r->devices[step->device];

	(void)err;
	/* steps of devices whose run has ended are not seen */
	while (r->applied <= step->event->step)
		recount_event(r, &r->records[r->applied]);
	recount_must(!d->dead && r->applied == step->event->step + 1, "a step out of its order");
	d->steps++;
	if (d->pool && step->event->step == 0 && step->metrics->reserved == 0) {
		recount_must(step->status == FRAG_STEP_OOM && d->figures.total, "where is the pool?");
		d->dead = true;
		return 0;
	}
	recount_calls(d, step);
	recount_must(!r->policy->keeps_all || !d->gave, "released under a policy that keeps all");
	recount_moves(r, step);
	if (op == FRAG_OP_ALLOC) {
		r->blocks[r->touched].slot = step->event->slot;
		recount_place(r, &r->blocks[r->touched], step, &r->records[r->applied - 1]);
		d->allocs++;
		d->hits += step->placed && !step->call_count;
	}
	recount_same(r, "status", step->status, recount_status(r, op));
	d->skipped += step->status == FRAG_STEP_SKIPPED;
	d->frees += op == FRAG_OP_FREE && step->status == FRAG_STEP_OK;
	d->ooms += step->status == FRAG_STEP_OOM;
	recount_always(r, step->device, step->metrics);
	recount_exactly(r, step->device, step->metrics);
	if (step->status == FRAG_STEP_OOM && r->policy->releases && !d->ranges && !r->configured
	    && !(r->policy->keeps_pools && recount_waits(r, step->device)))
		recount_same(r, "releasable after an OOM", step->metrics->releasable,
			     r->policy->keeps_pools ? recount_kept(r, step->device) : 0);
	recount_must(step->status != FRAG_STEP_OOM || d->figures.total || r->configured || d->ranges
		     || r->policy->limited, "an OOM without a limit");
	return 0;
}

/* The results at the end. */
static void recount_results(struct recount *r, struct frag_sim *sim)
{
	uint32_t count;
	const struct frag_result *results = frag_sim_results(sim, false, &count);

	recount_same(r, "devices", count, r->device_count);
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_result *got = &results[i];
		const struct recount_device *d = &r->devices[i];

		recount_same(r, "steps", got->steps, d->steps);
		/* a pool may be refused without any step */
		if (d->dead || !d->steps)
			continue;
		recount_same(r, "lower_bound", got->lower_bound, d->peak_requested);
		recount_same(r, "peak.allocated", got->peak.allocated, d->peak_allocated);
		recount_same(r, "peak.free", got->peak.free, d->peak_free);
		recount_same(r, "peak.blocks", got->peak.blocks, d->peak_blocks);
		recount_same(r, "allocs", got->counts.allocs, d->allocs);
		recount_same(r, "hits", got->counts.hits, d->hits);
		recount_same(r, "frees", got->counts.frees, d->frees);
		recount_same(r, "ooms", got->counts.ooms, d->ooms);
		recount_same(r, "skipped", got->counts.skipped, d->skipped);
		if (d->ranges)
			continue;
		recount_same(r, "segment_allocs", got->counts.segment_allocs,
			     d->got + d->pool);
		recount_same(r, "segment_frees", got->counts.segment_frees, d->gave);
	}
}
