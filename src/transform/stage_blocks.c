/* stage_blocks.c - changes of blocks: their sizes, the pools that they are in, their lives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/parse.h"
#include "events/repeated_marks.h"
#include "trace/name_tables.h"
#include "transform/stage.h"

/* Blocks of other sizes, in pieces, or not at all: scale, shard, split, drop. */

#define PIECES_MAX 65536		   /* of a block, */
#define ALL_PIECES_MAX (UINT64_C(1) << 20) /* and of all blocks */

/* Of a block that was split: pieces after the first have numbers that follow each other. */
struct pieces {
	uint32_t second, count;
};

struct sizes {
	struct frag_map of;     /* by block: index into pieces; of dropped ones anything */
	struct pieces *pieces;
	uint32_t count, capacity;
	uint64_t all; /* pieces so far */
};

static bool sizes_init(struct frag_stage *s)
{
	struct sizes *z = s->state;

	return frag_map_init(&z->of, frag_hash_seed());
}

static void sizes_fini(struct frag_stage *s)
{
	struct sizes *z = s->state;

	frag_map_fini(&z->of);
	free(z->pieces);
}

/* Exactly, rounded up to a whole byte. */
static int scale(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	__extension__ typedef unsigned __int128 wide;
	const struct frag_program_change *c = s->change;
	struct frag_item changed = *item;
	const wide size = ((wide)item->rec.size * c->numerator + c->denominator - 1)
			  / c->denominator;

	if (size >= FRAG_SIZE_LIMIT)
		return frag_fail(err, FRAG_EUSAGE, "%s: a block of %s has %" PRIu64 " bytes and"
				 " would have 2^53 or more", c->text, s->path,
				 item->rec.size);
	changed.rec.size = (uint64_t)size;
	s->changes = s->changes || changed.rec.size != item->rec.size;
	return frag_stage_emit(s, &changed, err);
}

/* The same record for each piece; sizes are those of an alloc. */
static int give_pieces(struct frag_stage *s, const struct frag_item *item,
		       const struct pieces *pieces, struct frag_error *err)
{
	const uint64_t left = item->rec.size, most = s->change->bytes;
	int rc = 0;

	for (uint32_t i = 0; i < pieces->count && !rc; i++) {
		struct frag_item piece = *item;

		if (i) {
			piece.block = pieces->second + i - 1;
			frag_chain_name(s->chain, &piece);
		}
		piece.rec.size = i + 1 < pieces->count ? most : left - most * i;
		rc = frag_stage_emit(s, &piece, err);
	}
	return rc;
}

/* Splits an allocation that is too large into several blocks, each with a separate id. */
static int stage_sizes_split(struct frag_stage *s, const struct frag_item *item,
			     struct frag_error *err)
{
	struct sizes *z = s->state;
	const uint64_t most = s->change->bytes;
	const uint64_t count = item->rec.size / most + (item->rec.size % most != 0);
	struct pieces pieces = { .count = (uint32_t)count };
	int rc = 0;

	if (count <= 1)
		return frag_stage_emit(s, item, err);
	if (count > PIECES_MAX)
		return frag_fail(err, FRAG_EUSAGE,
				 "%s: a block of %s has %" PRIu64 " bytes and would"
				 " be %" PRIu64 " pieces; %d are possible",
				 s->change->text, s->path, item->rec.size, count,
				 PIECES_MAX);
	z->all += count;
	if (z->all > ALL_PIECES_MAX)
		return frag_fail(err, FRAG_EUSAGE,
				 "%s: the blocks of %s would be more than %" PRIu64
				 " pieces; a larger SIZE is required",
				 s->change->text, s->path, ALL_PIECES_MAX);
	for (uint32_t i = 1; i < count && !rc; i++) {
		uint32_t block = 0;

		rc = frag_chain_block(s->chain, &block, err);
		rc = rc ? rc : frag_chain_id(s->chain, block, err);
		if (i == 1)
			pieces.second = block;
	}
	if (rc)
		return rc;
	if (!FRAG_GROW(z->pieces, z->capacity, z->count)
	    || !frag_map_add(&z->of, item->block, z->count))
		return frag_fail_nomem(err);
	z->pieces[z->count++] = pieces;
	s->changes = true;
	return give_pieces(s, item, &pieces, err);
}

static int stage_sizes_put_alloc(struct frag_stage *s, const struct frag_item *item,
				 struct frag_error *err)
{
	struct sizes *z = s->state;

	if (!frag_stage_fits(s, item))
		return frag_stage_emit(s, item, err);
	if (s->change->kind == FRAG_CHANGE_SPLIT)
		return stage_sizes_split(s, item, err);
	if (s->change->kind != FRAG_CHANGE_DROP)
		return scale(s, item, err);
	s->changes = true;
	return frag_map_add(&z->of, item->block, 0) ? 0 : frag_fail_nomem(err);
}

static int sizes_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	const struct sizes *z = s->state;
	uint32_t at;

	if (item->rec.op == FRAG_OP_ALLOC)
		return stage_sizes_put_alloc(s, item, err);
	at = frag_item_refers(item) && z->of.count ? frag_map_get(&z->of, item->block)
						   : FRAG_MAP_NONE;
	if (at == FRAG_MAP_NONE)
		return frag_stage_emit(s, item, err);
	return s->change->kind == FRAG_CHANGE_DROP ? 0 : give_pieces(s, item, &z->pieces[at], err);
}

const struct frag_stage_ops frag_stage_sizes = {
	.state_size = sizeof(struct sizes),
	.init = sizes_init,
	.put = sizes_put,
	.fini = sizes_fini,
};

/*
 * Classes of blocks in separate pools: isolate.
 *
 * Blocks of class 0 keep their pools; every other class has a separate pool for each pool that its
 * blocks were in. If all blocks have one class, nothing changes: so records are buffered until a
 * second class occurs.
 */

#define NO_CLASS UINT32_MAX

struct made {
	uint32_t from, name;    /* in `own`, in `made` */
	uint32_t class;
};

struct isolate {
	struct frag_handles own, made, tags;
	struct made *pools;
	uint32_t count, capacity;
	struct frag_map beside; /* by pool and class: in `made` */
	struct frag_record_buffer held;
	struct frag_record_place place;
	uint32_t only;          /* the class so far; NO_CLASS: none */
	bool several;
	bool passes;            /* nothing is held any more */
};

static bool isolate_init(struct frag_stage *s)
{
	struct isolate *o = s->state;
	const uint64_t seed = frag_hash_seed();

	o->only = NO_CLASS;
	return frag_handles_init(&o->own, seed) && frag_handles_init(&o->made, seed)
	       && frag_handles_init(&o->tags, seed) && frag_map_init(&o->beside, seed);
}

static void isolate_fini(struct frag_stage *s)
{
	struct isolate *o = s->state;

	frag_handles_fini(&o->own);
	frag_handles_fini(&o->made);
	frag_handles_fini(&o->tags);
	frag_map_fini(&o->beside);
	free(o->pools);
	frag_record_buffer_fini(&o->held);
}

/* NO_CLASS where the host is out of memory. */
static uint32_t stage_isolate_class_of(struct frag_stage *s, const struct frag_item *item)
{
	struct isolate *o = s->state;
	const struct frag_program_change *c = s->change;
	uint32_t class = 0;

	if (c->by == FRAG_BY_LIFE)
		return item->lasts;
	if (c->by == FRAG_BY_TAG && c->glob)
		return frag_stage_fits(s, item);
	if (c->by == FRAG_BY_SIZE) {
		while (class < c->limit_count && item->rec.size >= c->limits[class])
			class++;
		return class;
	}
	if (!(item->rec.members & FRAG_HAS_TAG))
		return 0;
	class = frag_handles_intern(&o->tags, &(struct frag_handle){
		.text = item->rec.tag.text, .number = item->rec.tag.length,
	});
	return class == UINT32_MAX ? NO_CLASS : class + 1;
}

static struct frag_text class_name(const struct frag_stage *s, const struct frag_item *item,
				   uint32_t class, char buf[64])
{
	const struct frag_program_change *c = s->change;

	if (c->by == FRAG_BY_TAG && !c->glob)
		return item->rec.tag;
	if (c->by == FRAG_BY_TAG)
		return (struct frag_text){ .text = c->glob, .length = (uint32_t)strlen(c->glob) };
	if (c->by == FRAG_BY_LIFE)
		snprintf(buf, 64, "long-lived");
	else
		snprintf(buf, 64, "from %" PRIu64 " bytes", c->limits[class - 1]);
	return (struct frag_text){ .text = buf, .length = (uint32_t)strlen(buf) };
}

/*
 * "long-lived" next to pool 0, "3 long-lived" next to pool 3, with dashes where the trace has such
 * a pool. NULL: out of memory.
 */
static char *pool_name(const struct isolate *o, const struct frag_handle *from,
		       struct frag_text class, uint64_t *length)
{
	const size_t before = from->text ? (size_t)from->number : FRAG_NUMBER_ROOM;
	char *name = malloc(before + class.length + o->made.count + o->own.count + 3), *p = name;
	struct frag_handle handle = { .text = name };

	if (!name)
		return NULL;
	if (from->text)
		p = (char *)memcpy(p, from->text, before) + before;
	else if (from->number)
		p = frag_put_u64(p, from->number);
	if (p > name)
		*p++ = ' ';
	if (class.length)
		p = (char *)memcpy(p, class.text, class.length) + class.length;
	if (p == name)
		*p++ = '-';
	for (handle.number = (uint64_t)(p - name);
	     frag_handles_find(&o->own, &handle) != UINT32_MAX
	     || frag_handles_find(&o->made, &handle) != UINT32_MAX; handle.number++)
		*p++ = '-';
	*length = handle.number;
	return name;
}

/* The pool of this class for a pool of the trace; UINT32_MAX: out of memory. */
static uint32_t made_beside(struct frag_stage *s, uint32_t from, uint32_t class,
			    const struct frag_item *item)
{
	struct isolate *o = s->state;
	const uint64_t key = (uint64_t)from << 32 | class;
	const uint32_t there = frag_map_get(&o->beside, key);
	struct frag_handle name = { .text = NULL };
	char buf[64], *text = NULL;
	struct made *made;

	if (there != FRAG_MAP_NONE)
		return there;
	if (!FRAG_GROW(o->pools, o->capacity, o->count))
		return UINT32_MAX;
	text = pool_name(o, frag_handle_at(&o->own, from),
			 class ? class_name(s, item, class, buf) : (struct frag_text){ .text = "" },
			 &name.number);
	if (!text)
		return UINT32_MAX;
	name.text = text;
	made = &o->pools[o->count++];
	*made = (struct made){
		.from = from, .class = class, .name = frag_handles_intern(&o->made, &name),
	};
	free(text);
	return made->name != UINT32_MAX && frag_map_add(&o->beside, key, made->name) ? made->name
										     : UINT32_MAX;
}

/* The pool of a class: a name for it in the place of the trace's. */
static int rename_pool(struct frag_stage *s, struct frag_item *item, uint32_t class,
		       struct frag_error *err)
{
	struct isolate *o = s->state;
	const struct frag_handle pool = item->rec.members & FRAG_HAS_POOL
					? item->rec.pool : (struct frag_handle){ .number = 0 };
	const uint32_t from = frag_handles_intern(&o->own, &pool);
	uint32_t name;

	if (from == UINT32_MAX)
		return frag_fail_nomem(err);
	/* the name in the trace can be equal to a name that this stage made earlier */
	if (!class && (!pool.text || frag_handles_find(&o->made, &pool) == UINT32_MAX))
		return 0;
	name = made_beside(s, from, class, item);
	if (name == UINT32_MAX)
		return frag_fail_nomem(err);
	item->rec.members |= FRAG_HAS_POOL;
	item->rec.pool = *frag_handle_at(&o->made, name);
	s->changes = true;
	return 0;
}

/* Releases a pool of the program, and the pools that this stage made for it. */
static int stage_isolate_release(struct frag_stage *s, const struct frag_item *item,
				 struct frag_error *err)
{
	struct isolate *o = s->state;
	struct frag_item one = *item;
	int rc = rename_pool(s, &one, 0, err);
	const uint32_t from = rc ? 0 : frag_handles_find(&o->own, &item->rec.pool);

	rc = rc ? rc : frag_stage_emit(s, &one, err);
	for (uint32_t i = 0; i < o->count && !rc; i++) {
		if (o->pools[i].from != from || !o->pools[i].class)
			continue;
		one.rec.pool = *frag_handle_at(&o->made, o->pools[i].name);
		rc = frag_stage_emit(s, &one, err);
	}
	return rc;
}

static int stage_isolate_give(struct frag_stage *s, struct frag_item *item, struct frag_error *err)
{
	uint32_t class;
	int rc = 0;

	if (item->rec.op == FRAG_OP_RELEASE_POOL)
		return stage_isolate_release(s, item, err);
	if (item->rec.op == FRAG_OP_ALLOC) {
		class = stage_isolate_class_of(s, item);
		rc = class == NO_CLASS ? frag_fail_nomem(err) : rename_pool(s, item, class, err);
	}
	return rc ? rc : frag_stage_emit(s, item, err);
}

static int isolate_put(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct isolate *o = s->state;
	uint32_t class;

	if (item->rec.op == FRAG_OP_ALLOC && !o->several) {
		class = stage_isolate_class_of(s, item);
		if (class == NO_CLASS)
			return frag_fail_nomem(err);
		o->several = o->only != NO_CLASS && class != o->only;
		o->only = class;
	}
	if (o->passes) {
		struct frag_item given = *item;

		return stage_isolate_give(s, &given, err);
	}
	return frag_record_buffer_add(&o->held, item) ? 0 : frag_fail_nomem(err);
}

static int isolate_drain(struct frag_stage *s, uint32_t max, struct frag_error *err)
{
	struct isolate *o = s->state;
	struct frag_item item;
	int rc = 0;

	if (o->passes || (!o->several && !s->ended))
		return 0;
	for (uint32_t i = 0; i < max && !rc; i++) {
		o->passes = !frag_record_buffer_next(&o->held, &o->place, &item);
		if (o->passes)
			return 0;
		rc = o->several ? stage_isolate_give(s, &item, err)
				: frag_stage_emit(s, &item, err);
	}
	return rc ? rc : 1;
}

const struct frag_stage_ops frag_stage_isolate = {
	.state_size = sizeof(struct isolate),
	.init = isolate_init,
	.put = isolate_put,
	.drain = isolate_drain,
	.fini = isolate_fini,
};

/*
 * Long-lived blocks: they are found, and hoisted if that is the change.
 *
 * The stage buffers all records until the lifetimes are known, and then emits them. A hoisted block
 * moves to the place of the first alloc. Another block can have its id there, and both are then
 * live: so the hoisted block gets a new id, as does every block except the first of an id.
 */

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
