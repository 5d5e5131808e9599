/* slice_trace.c - writes a window of a trace as a separate trace. */
#include "transform/slice_trace.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/parse.h"
#include "events/id_map.h"
#include "base/array_grow.h"

static void slice_trace_forget(struct frag_cut_block *b)
{
	while (b->first) {
		struct frag_owned_record *next = b->first->next;

		free(b->first);
		b->first = next;
	}
	*b = (struct frag_cut_block){ .first = NULL };
}

void frag_cut_fini(struct frag_cut *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		slice_trace_forget(&c->blocks[i]);
	free(c->blocks);
	slice_trace_forget(&c->fraction);
	slice_trace_forget(&c->configure);
	slice_trace_forget(&c->released);
	slice_trace_forget(&c->contexts);
	frag_map_fini(&c->pools);
}

static bool at_place(const struct frag_slice_place *place, const struct frag_event *ev)
{
	switch (place->kind) {
	case FRAG_PLACE_STEP:
		return ev->step >= place->step;
	case FRAG_PLACE_TIME:
		/* what is there at the beginning is older than any time */
		return ev->members & FRAG_HAS_T && !ev->place && ev->t >= place->t;
	case FRAG_PLACE_MARK:
		return ev->op == FRAG_OP_MARK && frag_text_equals(ev->text, place->mark);
	case FRAG_PLACE_NONE:
		break;
	}
	return false;
}

/* One more record. */
static bool slice_trace_append(struct frag_cut_block *b, const struct frag_record *rec,
			       uint64_t step)
{
	struct frag_owned_record *copy = frag_record_copy(rec, step);

	if (!copy)
		return false;
	if (b->first)
		b->last->next = copy;
	else
		b->first = copy;
	b->last = copy;
	return true;
}

/* A stream of a pending block is done: it does not wait for it any more. */
static void drop_stream(struct frag_cut_block *b, const struct frag_record *sync)
{
	struct frag_owned_record **link = &b->first;

	while (*link) {
		struct frag_owned_record *r = *link;

		if (r->rec.op == FRAG_OP_RECORD_STREAM
		    && frag_same_handle(&r->rec.stream, &sync->stream)) {
			*link = r->next;
			free(r);
		} else {
			b->last = r;
			link = &r->next;
		}
	}
}

static void slice_trace_note_sync(struct frag_cut *c, const struct frag_record *rec,
				  const struct frag_event *ev)
{
	for (uint32_t i = 0; i < c->count && rec->members & FRAG_HAS_STREAM; i++)
		if (c->blocks[i].waits && (ev->device == FRAG_ALL
					   || c->blocks[i].device == ev->device))
			drop_stream(&c->blocks[i], rec);
}

static bool slice_trace_replace(struct frag_cut_block *kept, const struct frag_record *rec,
				uint64_t step)
{
	slice_trace_forget(kept);
	return slice_trace_append(kept, rec, step);
}

/* Keeps one release of each pool, as blocks of the pool can still be live. */
static bool keep_released(struct frag_cut *c, const struct frag_record *rec,
			  const struct frag_event *ev)
{
	const uint64_t key = (uint64_t)ev->device << 32 | ev->pool;

	if (!c->pools.entries && !frag_map_init(&c->pools, frag_hash_seed()))
		return false;
	return frag_map_get(&c->pools, key) != FRAG_MAP_NONE
	       || (frag_map_add(&c->pools, key, 0)
		   && slice_trace_append(&c->released, rec, ev->step));
}

static uint64_t device_of_record(const struct frag_record *rec)
{
	return rec->members & FRAG_HAS_DEVICE ? rec->device : 0;
}

/* A pool has one open context at most. */
static void end_context(struct frag_cut *c, const struct frag_record *rec)
{
	struct frag_owned_record **link = &c->contexts.first;

	while (*link) {
		struct frag_owned_record *r = *link;

		if (frag_same_handle(&r->rec.pool, &rec->pool)
		    && device_of_record(&r->rec) == device_of_record(rec)) {
			*link = r->next;
			free(r);
		} else {
			c->contexts.last = r;
			link = &r->next;
		}
	}
}

/* Before the window: what must be carried over. */
static bool slice_trace_note(struct frag_cut *c, const struct frag_record *rec,
			     const struct frag_event *ev)
{
	struct frag_cut_block *b;

	FRAG_ASSERT((ev->op != FRAG_OP_FREE && ev->op != FRAG_OP_RECORD_STREAM)
		    || ev->slot < c->count);
	for (uint32_t i = 0; i < ev->ended_count; i++)
		slice_trace_forget(&c->blocks[ev->ended[i].slot]);
	switch ((enum frag_op)ev->op) {
	case FRAG_OP_ALLOC:
		if (!FRAG_EXTEND(c->blocks, c->capacity, c->count, ev->slot))
			return false;
		b = &c->blocks[ev->slot];
		b->device = ev->device;
		b->bytes = ev->bytes;
		return slice_trace_append(b, rec, ev->step);
	case FRAG_OP_RECORD_STREAM:
		return slice_trace_append(&c->blocks[ev->slot], rec, ev->step);
	case FRAG_OP_FREE:
		b = &c->blocks[ev->slot];
		b->waits = ev->waits;
		if (ev->waits)
			return slice_trace_append(b, rec, ev->step);
		slice_trace_forget(b);
		return true;
	case FRAG_OP_SYNC:
		slice_trace_note_sync(c, rec, ev);
		return true;
	case FRAG_OP_SET_FRACTION:
		return slice_trace_replace(&c->fraction, rec, ev->step);
	case FRAG_OP_CONFIGURE:
		return slice_trace_replace(&c->configure, rec, ev->step);
	case FRAG_OP_RELEASE_POOL:
		return keep_released(c, rec, ev);
	case FRAG_OP_BEGIN_POOL:
		return slice_trace_append(&c->contexts, rec, ev->step);
	case FRAG_OP_END_POOL:
		end_context(c, rec);
		return true;
	case FRAG_OP_COMPLETE:
	case FRAG_OP_EMPTY_CACHE:
	case FRAG_OP_MARK:
	case FRAG_OPS:
		break;
	}
	return true;
}

static int slice_trace_put(struct frag_cut *c, struct frag_sink *sink,
			   const struct frag_record *rec, const struct frag_event *ev,
			   struct frag_error *err)
{
	struct frag_record r = *rec;
	struct frag_event e = *ev;

	if (c->device != FRAG_ALL && e.device != FRAG_ALL && e.device != c->device)
		return 0;
	if (c->device != FRAG_ALL) {
		r.members &= ~(uint32_t)FRAG_HAS_DEVICE;
		e.members &= ~(uint32_t)FRAG_HAS_DEVICE;
		e.device = e.device == FRAG_ALL ? FRAG_ALL : 0;
	}
	e.step = c->written++;
	return sink->ops->event(sink, &r, &e, err);
}

/* One that is carried over, with the time of the window's first event, if any. */
static int put_carried(struct frag_cut *c, struct frag_sink *sink, struct frag_owned_record *copy,
		       uint32_t slot, const struct frag_record *first, struct frag_error *err)
{
	const struct frag_cut_block *b = slot < c->count ? &c->blocks[slot] : NULL;
	struct frag_event ev = {
		.op = (uint8_t)copy->rec.op, .slot = slot, .bytes = b ? b->bytes : 0,
		.device = b ? b->device : FRAG_ALL,
	};
	struct frag_record rec = copy->rec;

	if (!b && rec.members & FRAG_HAS_DEVICE)
		ev.device = (uint32_t)rec.device;
	else if (rec.members & FRAG_HAS_POOL && !b)
		ev.device = 0;
	frag_record_take_time(&rec, first);
	return slice_trace_put(c, sink, &rec, &ev, err);
}

struct carried {
	struct frag_owned_record *copy;
	uint32_t slot;
};

static bool carry(struct carried **all, uint32_t *count, uint32_t *capacity,
		  struct frag_owned_record *copies, uint32_t slot)
{
	for (struct frag_owned_record *r = copies; r; r = r->next) {
		if (!frag_grow(all, capacity, (uint64_t)*count + 1, sizeof(**all)))
			return false;
		(*all)[(*count)++] = (struct carried){ .copy = r, .slot = slot };
	}
	return true;
}

static int by_step(const void *a, const void *b)
{
	const struct carried *x = a, *y = b;

	return x->copy->step < y->copy->step ? -1 : x->copy->step > y->copy->step;
}

/*
 * In the order of the original steps, as a block's streams and its pending free
 * must follow its alloc; frees keep their order, and the release of a pool follows
 * its allocs. Settings are first, as they apply to all later events.
 */
static int carry_over(struct frag_cut *c, struct frag_sink *sink, const struct frag_record *first,
		      struct frag_error *err)
{
	struct frag_owned_record *const settings[] = { c->fraction.first, c->configure.first };
	struct carried *all = NULL;
	uint32_t count = 0, capacity = 0;
	bool good = carry(&all, &count, &capacity, c->released.first, UINT32_MAX)
		    && carry(&all, &count, &capacity, c->contexts.first, UINT32_MAX);
	int rc = 0;

	for (uint32_t i = 0; i < c->count && good; i++)
		good = carry(&all, &count, &capacity, c->blocks[i].first, i);
	if (!good)
		rc = frag_fail_nomem(err);
	for (size_t i = 0; i < 2 && !rc; i++)
		if (settings[i])
			rc = put_carried(c, sink, settings[i], UINT32_MAX, first, err);
	FRAG_SORT(all, count, by_step);
	for (uint32_t i = 0; i < count && !rc; i++)
		rc = put_carried(c, sink, all[i].copy, all[i].slot, first, err);
	free(all);
	return rc;
}

int frag_cut_event(struct frag_cut *c, struct frag_sink *sink, const struct frag_record *rec,
		   const struct frag_event *ev, struct frag_error *err)
{
	int rc = 0;

	if (!c->begun && c->from.kind != FRAG_PLACE_NONE && !at_place(&c->from, ev))
		return slice_trace_note(c, rec, ev) ? 0 : frag_fail_nomem(err);
	if (!c->begun) {
		c->begun = true;
		rc = carry_over(c, sink, rec, err);
	} else if (at_place(&c->to, ev)) {
		c->ended = true;
		return 1;
	}
	return rc ? rc : slice_trace_put(c, sink, rec, ev, err);
}
