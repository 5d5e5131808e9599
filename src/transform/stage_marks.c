/* stage_marks.c - what a program could do at its marks, or beforehand. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/parse.h"
#include "events/repeated_marks.h"
#include "trace/header_scan.h"
#include "trace/name_tables.h"
#include "transform/stage.h"

/*
 * Empty the cache, change a setting, or park blocks (offload them to the host, put a model to
 * sleep) from one mark to another.
 */

/* A block whose tag fits. */
struct parkable {
	struct frag_owned_record *alloc;        /* its request, whose texts what is given borrows */
	uint32_t block;                 /* the number by which the stages behind know it */
	bool parked, over;              /* over: freed */
};

struct at_marks {
	struct frag_map of;             /* by block: index into blocks */
	struct parkable *blocks;        /* in the order of their requests */
	uint32_t count, capacity;
	bool begins, ends;              /* a mark fits the first glob, the second */
};

static bool stage_marks_init(struct frag_stage *s)
{
	struct at_marks *m = s->state;

	return frag_map_init(&m->of, frag_hash_seed());
}

static void stage_marks_fini(struct frag_stage *s)
{
	struct at_marks *m = s->state;

	for (uint32_t i = 0; i < m->count; i++)
		free(m->blocks[i].alloc);
	free(m->blocks);
	frag_map_fini(&m->of);
}

/* Does the item's mark fit? A name longer than any glob is compared by its first characters. */
static bool is_mark_like(const struct frag_item *item, const char *glob)
{
	char name[512];
	const uint32_t length = item->rec.text.length < sizeof(name) - 1
				? item->rec.text.length : (uint32_t)sizeof(name) - 1;

	if (item->rec.op != FRAG_OP_MARK || !glob)
		return false;
	memcpy(name, length ? item->rec.text.text : "", length);
	name[length] = '\0';
	return fnmatch(glob, name, 0) == 0;
}

/* A record of this operation at the time of the item, about no block. */
static struct frag_item stage_marks_item(const struct frag_item *at, enum frag_op op)
{
	struct frag_item item = {
		.rec = { .op = op, .members = FRAG_HAS_OP }, .block = FRAG_NO_BLOCK_NUMBER,
	};

	frag_record_take_time(&item.rec, &at->rec);
	return item;
}

/* Frees the live blocks that fit. */
static int park(struct frag_stage *s, const struct frag_item *at, struct frag_error *err)
{
	struct at_marks *m = s->state;
	int rc = 0;

	for (uint32_t i = 0; i < m->count && !rc; i++) {
		struct frag_item item = stage_marks_item(at, FRAG_OP_FREE);

		if (m->blocks[i].over || m->blocks[i].parked)
			continue;
		m->blocks[i].parked = s->changes = true;
		item.block = m->blocks[i].block;
		item.rec.members |= FRAG_HAS_ID;
		item.rec.id = m->blocks[i].alloc->rec.id;
		frag_chain_name(s->chain, &item);
		rc = frag_stage_emit(s, &item, err);
	}
	return rc;
}

/* Requests the parked blocks again, in the order of their first requests. */
static int unpark(struct frag_stage *s, const struct frag_item *at, struct frag_error *err)
{
	struct at_marks *m = s->state;
	int rc = 0;

	for (uint32_t i = 0; i < m->count && !rc; i++) {
		struct parkable *p = &m->blocks[i];
		struct frag_item item;

		if (p->over || !p->parked)
			continue;
		p->parked = false;
		rc = frag_chain_block(s->chain, &p->block, err);
		rc = rc ? rc : frag_chain_id(s->chain, p->block, err);
		item = (struct frag_item){ .rec = p->alloc->rec, .block = p->block };
		frag_record_take_time(&item.rec, &at->rec);
		frag_chain_name(s->chain, &item);
		rc = rc ? rc : frag_stage_emit(s, &item, err);
	}
	return rc;
}

/* Keeps the request of a block that fits. */
static int stage_marks_note_alloc(struct frag_stage *s, const struct frag_item *item,
				  struct frag_error *err)
{
	struct at_marks *m = s->state;
	struct frag_owned_record *copy;

	if (!frag_stage_fits(s, item))
		return 0;
	copy = frag_record_copy(&item->rec, 0);
	if (!copy || !FRAG_GROW(m->blocks, m->capacity, m->count)
	    || !frag_map_add(&m->of, item->block, m->count)) {
		free(copy);
		return frag_fail_nomem(err);
	}
	m->blocks[m->count++] = (struct parkable){ .alloc = copy, .block = item->block };
	return 0;
}

/* What refers to a block that was parked is about the later one, or about none. */
static int put_reference(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct at_marks *m = s->state;
	const uint32_t at = frag_map_get(&m->of, item->block);
	struct frag_item named = *item;
	bool parked;

	if (at == FRAG_MAP_NONE)
		return frag_stage_emit(s, item, err);
	parked = m->blocks[at].parked;
	if (item->rec.op == FRAG_OP_FREE)
		m->blocks[at].over = true;
	if (parked)
		return 0;
	if (m->blocks[at].block != item->block) {
		named.block = m->blocks[at].block;
		frag_chain_name(s->chain, &named);
	}
	return frag_stage_emit(s, &named, err);
}

static int park_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct at_marks *m = s->state;
	int rc = item->rec.op == FRAG_OP_ALLOC ? stage_marks_note_alloc(s, item, err) : 0;

	if (frag_item_refers(item))
		return put_reference(s, item, err);
	rc = rc ? rc : frag_stage_emit(s, item, err);
	if (!rc && is_mark_like(item, s->change->until)) {
		m->ends = true;
		rc = unpark(s, item, err);
	}
	if (!rc && is_mark_like(item, s->change->mark)) {
		m->begins = true;
		rc = park(s, item, err);
	}
	s->at_mark = m->begins && m->ends;
	return rc;
}

const struct frag_stage_ops frag_stage_park = {
	.state_size = sizeof(struct at_marks),
	.init = stage_marks_init,
	.put = park_put,
	.fini = stage_marks_fini,
};

/* The record of the change, at each mark that fits, or where an iteration begins. */
static int give_operation(struct frag_stage *s, const struct frag_item *at, struct frag_error *err)
{
	const bool set = s->change->kind == FRAG_CHANGE_SET;
	struct frag_item item = stage_marks_item(at, set ? FRAG_OP_CONFIGURE : FRAG_OP_EMPTY_CACHE);

	if (set) {
		item.rec.members |= FRAG_HAS_VALUE;
		item.rec.text = (struct frag_text){
			.text = s->change->setting, .length = (uint32_t)strlen(s->change->setting),
		};
	}
	s->changes = s->at_mark = true;
	return frag_stage_emit(s, &item, err);
}

static int operation_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	int rc = !s->change->mark && item->begins ? give_operation(s, item, err) : 0;

	rc = rc ? rc : frag_stage_emit(s, item, err);
	return rc || !is_mark_like(item, s->change->mark) ? rc : give_operation(s, item, err);
}

const struct frag_stage_ops frag_stage_operation = {
	.state_size = sizeof(struct at_marks),
	.put = operation_put,
};

/* One of the iterations beforehand, or large blocks: warmup, preallocate, prime_pool. */

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

/* A block in front of an alloc, on its stream and in its pool, and its free. */
static int put_before(struct frag_stage *s, const struct frag_item *item, const char *tag,
		      struct frag_error *err)
{
	struct frag_item block = *item;
	int rc = frag_chain_block(s->chain, &block.block, err);

	s->changes = true;
	rc = rc ? rc : frag_chain_id(s->chain, block.block, err);
	block.rec.members |= FRAG_HAS_TAG;
	block.rec.tag = (struct frag_text){ .text = tag, .length = (uint32_t)strlen(tag) };
	block.rec.size = s->change->bytes;
	frag_chain_name(s->chain, &block);
	rc = rc ? rc : frag_stage_emit(s, &block, err);
	block.rec.op = FRAG_OP_FREE;
	block.rec.members &= FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_T;
	return rc ? rc : frag_stage_emit(s, &block, err);
}

/* In front of the first alloc of each device. */
static int preallocate_put(struct frag_stage *s, const struct frag_item *item,
			   struct frag_error *err)
{
	struct preallocate *p = s->state;
	const uint64_t device = item->rec.members & FRAG_HAS_DEVICE ? item->rec.device : 0;
	int rc = 0;

	if (item->rec.op == FRAG_OP_ALLOC && !p->done[device]) {
		p->done[device] = true;
		rc = put_before(s, item, "preallocated", err);
	}
	return rc ? rc : frag_stage_emit(s, item, err);
}

const struct frag_stage_ops frag_stage_preallocate = {
	.state_size = sizeof(struct preallocate),
	.put = preallocate_put,
};

struct prime_pool {
	struct frag_handles pools;      /* of the trace; the integer 0 is the default pool, index 0 */
	struct frag_map done;           /* by pool and device */
};

static bool prime_pool_init(struct frag_stage *s)
{
	struct prime_pool *p = s->state;

	return frag_handles_init(&p->pools, frag_hash_seed()) && frag_map_init(&p->done, frag_hash_seed());
}

static void prime_pool_fini(struct frag_stage *s)
{
	struct prime_pool *p = s->state;

	frag_handles_fini(&p->pools);
	frag_map_fini(&p->done);
}

/* In front of the first alloc of each private pool of each device. */
static int prime_pool_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct prime_pool *p = s->state;
	const uint64_t device = item->rec.members & FRAG_HAS_DEVICE ? item->rec.device : 0;
	uint32_t pool;
	int rc = 0;

	if (item->rec.op != FRAG_OP_ALLOC || !(item->rec.members & FRAG_HAS_POOL))
		return frag_stage_emit(s, item, err);
	pool = frag_handles_index(&p->pools, &item->rec.pool);
	if (pool == UINT32_MAX)
		return frag_fail_nomem(err);
	if (pool && frag_map_get(&p->done, (uint64_t)pool << 32 | device) == FRAG_MAP_NONE) {
		if (!frag_map_add(&p->done, (uint64_t)pool << 32 | device, 0))
			return frag_fail_nomem(err);
		rc = put_before(s, item, "primed pool", err);
	}
	return rc ? rc : frag_stage_emit(s, item, err);
}

const struct frag_stage_ops frag_stage_prime_pool = {
	.state_size = sizeof(struct prime_pool),
	.init = prime_pool_init,
	.put = prime_pool_put,
	.fini = prime_pool_fini,
};
