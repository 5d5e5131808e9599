/* stage_early.c - what a program may do beforehand: one of its iterations, or one large block. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "events/repeated_marks.h"
#include "trace/record_scan.h"
#include "transform/stage.h"

/*
 * A warm-up is a copy of the window from a mark to the next one of its kind, before the first mark
 * of that kind. The stage buffers the records from that first mark to the end of the window. The
 * copy has the events of blocks allocated in the window; it frees those still live when it ends.
 */
struct warmup {
	struct frag_record_buffer held;
	struct frag_record_place from, to;        /* of the window */
	struct frag_record_place place;
	struct frag_item at;    /* the first mark of the kind: its time is that of all copies */
	char *kind;
	enum { FIRST, BEGIN, END, FOUND, COPY, LEFT, PASS } phase;      /* looked for, then done */
	struct frag_map copies; /* by block: index into copied */
	struct copied {
		uint32_t block;
		enum { LIVE, PENDING, OVER } state;
	} *copied;
	uint32_t count, capacity, left;
	bool waits;             /* something is held after the window */
};

static bool warmup_init(struct frag_stage *s)
{
	struct warmup *w = s->state;

	w->kind = frag_mark_kind(s->change->mark, strlen(s->change->mark));
	return w->kind && frag_map_init(&w->copies, frag_hash_seed());
}

static void warmup_fini(struct frag_stage *s)
{
	struct warmup *w = s->state;

	frag_record_buffer_fini(&w->held);
	frag_map_fini(&w->copies);
	free(w->copied);
	free(w->kind);
}

/* Marks of the kind move the search on, before they are held themselves. */
static bool stage_early_look(struct frag_stage *s, const struct frag_item *item)
{
	struct warmup *w = s->state;
	char *kind;

	if (item->rec.op != FRAG_OP_MARK || w->phase > END)
		return true;
	kind = frag_mark_kind(item->rec.text.text, item->rec.text.length);
	if (!kind)
		return false;
	if (strcmp(kind, w->kind) == 0) {
		if (w->phase == END) {
			w->to = frag_record_buffer_end(&w->held);
			w->phase = FOUND;
		}
		w->phase = w->phase == FIRST ? BEGIN : w->phase;
		if (w->phase == BEGIN && frag_text_equals(item->rec.text, s->change->mark)) {
			w->from = frag_record_buffer_end(&w->held);
			w->phase = END;
			s->fits = true;
		}
	}
	free(kind);
	return true;
}

static int warmup_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct warmup *w = s->state;

	if (!stage_early_look(s, item))
		return frag_fail_nomem(err);
	if (w->phase == FIRST || (w->phase == PASS && !w->waits))
		return frag_stage_emit(s, item, err);
	w->waits = true;
	return frag_record_buffer_add(&w->held, item) ? 0 : frag_fail_nomem(err);
}

static int give_early(struct frag_stage *s, struct frag_item *item, struct frag_error *err)
{
	const struct warmup *w = s->state;

	frag_record_take_time(&item->rec, &w->at.rec);
	frag_chain_name(s->chain, item);
	s->changes = true;
	return frag_stage_emit(s, item, err);
}

static int copy_alloc(struct frag_stage *s, struct frag_item *item, struct frag_error *err)
{
	struct warmup *w = s->state;
	uint32_t block = 0;
	int rc = frag_chain_block(s->chain, &block, err);

	rc = rc ? rc : frag_chain_id(s->chain, block, err);
	if (rc)
		return rc;
	if (!FRAG_GROW(w->copied, w->capacity, w->count)
	    || !frag_map_add(&w->copies, item->block, w->count))
		return frag_fail_nomem(err);
	w->copied[w->count++] = (struct copied){ .block = block, .state = LIVE };
	item->block = block;
	return give_early(s, item, err);
}

/* Settings and marks are not done twice, nor is a pool given up before its time. */
static int stage_early_copy(struct frag_stage *s, struct frag_item *item, struct frag_error *err)
{
	struct warmup *w = s->state;
	uint32_t at;

	switch (item->rec.op) {
	case FRAG_OP_ALLOC:
		return copy_alloc(s, item, err);
	case FRAG_OP_FREE:
	case FRAG_OP_COMPLETE:
	case FRAG_OP_RECORD_STREAM:
		at = frag_map_get(&w->copies, item->block);
		if (at == FRAG_MAP_NONE)
			return 0;
		if (item->rec.op == FRAG_OP_FREE)
			w->copied[at].state = item->rec.members & FRAG_HAS_PENDING
					      && item->rec.pending ? PENDING : OVER;
		else if (item->rec.op == FRAG_OP_COMPLETE)
			w->copied[at].state = OVER;
		item->block = w->copied[at].block;
		return give_early(s, item, err);
	case FRAG_OP_SYNC:
	case FRAG_OP_EMPTY_CACHE:
		return give_early(s, item, err);
	case FRAG_OP_SET_FRACTION:
	case FRAG_OP_CONFIGURE:
	case FRAG_OP_MARK:
	case FRAG_OP_RELEASE_POOL:
	case FRAG_OP_BEGIN_POOL:
	case FRAG_OP_END_POOL:
	case FRAG_OPS:
		break;
	}
	return 0;
}

/* Ends a block that the copy leaves live: frees it, or completes its pending free. */
static int end_left(struct frag_stage *s, const struct copied *left, struct frag_error *err)
{
	struct frag_item item = {
		.block = left->block,
		.rec = { .members = FRAG_HAS_OP | FRAG_HAS_ID,
			 .op = left->state == LIVE ? FRAG_OP_FREE : FRAG_OP_COMPLETE },
	};

	return left->state == OVER ? 0 : give_early(s, &item, err);
}

/* The first record that is held is the mark before which the copies go. */
static void begin_copy(struct warmup *w)
{
	w->place = (struct frag_record_place){ .piece = NULL };
	if (!frag_record_buffer_next(&w->held, &w->place, &w->at))
		FRAG_BUG("a window without its mark");
	w->place = w->from;
	w->phase = COPY;
}

/*
 * Passes one event on: of the copied iteration, then the ends of its blocks, then what is held.
 * *more: another event may follow.
 */
static int warmup_step(struct frag_stage *s, bool *more, struct frag_error *err)
{
	struct warmup *w = s->state;
	struct frag_item item;

	*more = true;
	if (w->phase == COPY && !(w->place.piece == w->to.piece && w->place.at == w->to.at)
	    && frag_record_buffer_next(&w->held, &w->place, &item))
		return stage_early_copy(s, &item, err);
	if (w->phase == COPY) {
		w->phase = LEFT;
		return 0;
	}
	if (w->phase == LEFT && w->left < w->count)
		return end_left(s, &w->copied[w->left++], err);
	if (w->phase == LEFT) {
		w->phase = PASS;
		w->place = (struct frag_record_place){ .piece = NULL };
	}
	*more = frag_record_buffer_next(&w->held, &w->place, &item);
	if (*more)
		return frag_stage_emit(s, &item, err);
	w->waits = false;
	return 0;
}

static int warmup_drain(struct frag_stage *s, uint32_t max, struct frag_error *err)
{
	struct warmup *w = s->state;
	bool more = true;
	int rc = 0;

	/* a window that no mark ends ends with the trace; without one nothing is copied */
	if (s->ended && w->phase == END) {
		w->to = frag_record_buffer_end(&w->held);
		w->phase = FOUND;
	} else if (s->ended && w->phase < END) {
		w->phase = PASS;
		w->place = (struct frag_record_place){ .piece = NULL };
	}
	if (w->phase < FOUND || (w->phase == PASS && !w->waits))
		return 0;
	if (w->phase == FOUND)
		begin_copy(w);
	for (uint32_t i = 0; i < max && !rc && more; i++)
		rc = warmup_step(s, &more, err);
	return rc ? rc : more;
}

const struct frag_stage_ops frag_stage_warmup = {
	.state_size = sizeof(struct warmup),
	.init = warmup_init,
	.put = warmup_put,
	.drain = warmup_drain,
	.fini = warmup_fini,
};

struct preallocate {
	bool done[FRAG_DEVICES_MAX];
};

/*
 * In front of the first alloc of each device, on its stream and in its pool: a block, and its
 * free.
 */
static int preallocate_put(struct frag_stage *s, const struct frag_item *item,
			   struct frag_error *err)
{
	static const char tag[] = "preallocated";
	struct preallocate *p = s->state;
	const uint64_t device = item->rec.members & FRAG_HAS_DEVICE ? item->rec.device : 0;
	struct frag_item block = *item;
	int rc;

	if (item->rec.op != FRAG_OP_ALLOC || p->done[device])
		return frag_stage_emit(s, item, err);
	p->done[device] = s->changes = true;
	rc = frag_chain_block(s->chain, &block.block, err);
	rc = rc ? rc : frag_chain_id(s->chain, block.block, err);
	block.rec.members |= FRAG_HAS_TAG;
	block.rec.tag = (struct frag_text){ .text = tag, .length = sizeof(tag) - 1 };
	block.rec.size = s->change->bytes;
	frag_chain_name(s->chain, &block);
	rc = rc ? rc : frag_stage_emit(s, &block, err);
	block.rec.op = FRAG_OP_FREE;
	block.rec.members &= FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_T;
	rc = rc ? rc : frag_stage_emit(s, &block, err);
	return rc ? rc : frag_stage_emit(s, item, err);
}

const struct frag_stage_ops frag_stage_preallocate = {
	.state_size = sizeof(struct preallocate),
	.put = preallocate_put,
};
