/*
 * stage_marks.c - what a program could do at its marks: empty the cache, change a setting, or park
 * blocks (offload them to the host, put a model to sleep) from one mark to another.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "transform/stage.h"

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
