/*
 * stage_lives.c - finds the long-lived blocks, and hoists them if that is the change.
 *
 * The stage buffers all records until the lifetimes are known, and then emits them. A hoisted block
 * moves to the place of the first alloc. Another block can have its id there, and both are then
 * live: so the hoisted block gets a new id, as does every block except the first of an id.
 */
#include <stdlib.h>

#include "base/array_grow.h"
#include "events/repeated_marks.h"
#include "trace/name_tables.h"
#include "transform/stage.h"

#define NEVER UINT64_MAX

struct life {
	uint64_t birth, end;    /* items */
	bool used_before;       /* its id, by an earlier block */
	bool lasts;
};

struct lives {
	struct frag_record_buffer held;
	struct frag_record_place place;
	struct life *of;        /* by block */
	uint32_t count, capacity;
	struct frag_lasting_marks marks;        /* at items */
	struct frag_handles ids;
	bool used_zero;         /* the id 0, by a block */
	uint64_t items;
	bool known;             /* who lasts */
	enum { IN_FRONT, LASTING, REST } phase;         /* of a hoist: what is given now */
	struct frag_item first; /* alloc, where those that last go */
	struct frag_record_place behind;  /* that alloc is the next from there */
	bool passed;            /* the last phase has emitted a record */
};

static bool lives_init(struct frag_stage *s)
{
	struct lives *l = s->state;

	return frag_handles_init(&l->ids, frag_hash_seed());
}

static void lives_fini(struct frag_stage *s)
{
	struct lives *l = s->state;

	frag_record_buffer_fini(&l->held);
	frag_handles_fini(&l->ids);
	free(l->of);
	free(l->marks.mark);
}

/* Notes where the life of a block begins, and for --hoist whether its id was used before. */
static bool stage_lives_note_alloc(struct frag_stage *s, const struct frag_item *item)
{
	struct lives *l = s->state;
	const uint32_t ids = l->ids.count;
	uint32_t id;
	bool used = false;

	if (!FRAG_GROW(l->of, l->capacity, item->block))
		return false;
	for (; l->count <= item->block; l->count++)
		l->of[l->count] = (struct life){ .end = NEVER };
	if (s->change->kind == FRAG_CHANGE_HOIST) {
		id = frag_handles_intern(&l->ids, &item->rec.id);
		if (id == UINT32_MAX)
			return false;
		/* the integer 0 is there from the beginning */
		used = id ? l->ids.count == ids : l->used_zero;
		l->used_zero = l->used_zero || !id;
	}
	l->of[item->block].birth = l->items;
	l->of[item->block].used_before = used;
	return true;
}

static int lives_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct lives *l = s->state;
	bool good = frag_record_buffer_add(&l->held, item);

	if (item->rec.op == FRAG_OP_ALLOC)
		good = good && stage_lives_note_alloc(s, item);
	else if (item->rec.op == FRAG_OP_MARK)
		good = good && frag_lasting_note(&l->marks, l->items, item->rec.text.text,
						     item->rec.text.length);
	else if (item->rec.op == FRAG_OP_FREE)
		l->of[item->block].end = l->items;
	l->items++;
	return good ? 0 : frag_fail_nomem(err);
}

static bool lasts(const struct lives *l, const struct life *life)
{
	const bool never = life->end == NEVER;
	const uint64_t end = never ? l->items : life->end;
	uint32_t before;

	if (!l->marks.count)
		return frag_outlasts_part(life->birth, end, l->items, never);
	before = frag_lasting_begun(&l->marks, life->birth);
	return frag_outlasts(before, frag_lasting_begun(&l->marks, end) - before, never);
}

static int find_lives(struct frag_stage *s, struct frag_error *err)
{
	struct lives *l = s->state;
	const bool hoist = s->change->kind == FRAG_CHANGE_HOIST;
	int rc = frag_lasting_find(&l->marks) ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < l->count && !rc; i++) {
		l->of[i].lasts = lasts(l, &l->of[i]);
		if (hoist && l->of[i].lasts && l->of[i].used_before)
			rc = frag_chain_id(s->chain, i, err);
	}
	l->known = true;
	return rc;
}

/* Phases: events before the first alloc, long-lived blocks, the others. True: emit it now. */
static bool stage_lives_is_due(struct frag_stage *s, struct frag_item *item,
			       struct frag_record_place at)
{
	struct lives *l = s->state;
	const bool alloc = item->rec.op == FRAG_OP_ALLOC;

	if (l->phase == IN_FRONT && alloc) {
		l->first = *item;
		l->behind = at;
		l->phase = LASTING;
	}
	if (l->phase == LASTING && alloc && item->lasts)
		frag_record_take_time(&item->rec, &l->first.rec);
	if (l->phase == LASTING)
		return alloc && item->lasts;
	if (l->phase == REST && alloc && item->lasts) {
		s->changes = s->changes || l->passed;
		return false;
	}
	l->passed = l->passed || l->phase == REST;
	return true;
}

/* Passes up to max held events on, once all have been put; --hoist passes lasting blocks first. */
static int lives_drain(struct frag_stage *s, uint32_t max, struct frag_error *err)
{
	struct lives *l = s->state;
	const bool hoist = s->change->kind == FRAG_CHANGE_HOIST;
	int rc = 0;

	if (!s->ended)
		return 0;
	if (!l->known)
		rc = find_lives(s, err);
	for (uint32_t i = 0; i < max && !rc; i++) {
		const struct frag_record_place at = l->place;
		struct frag_item item;

		if (!frag_record_buffer_next(&l->held, &l->place, &item)) {
			if (l->phase != LASTING)
				return 0;
			l->phase = REST;
			l->place = l->behind;
			continue;
		}
		item.lasts = item.rec.op == FRAG_OP_ALLOC && l->of[item.block].lasts;
		if (hoist && !stage_lives_is_due(s, &item, at))
			continue;
		if (hoist)
			frag_chain_name(s->chain, &item);
		rc = frag_stage_emit(s, &item, err);
	}
	return rc ? rc : 1;
}

const struct frag_stage_ops frag_stage_lives = {
	.state_size = sizeof(struct lives),
	.init = lives_init,
	.put = lives_put,
	.drain = lives_drain,
	.fini = lives_fini,
};
