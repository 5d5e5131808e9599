/*
 * stage_isolate.c - moves classes of blocks to separate pools.
 *
 * Blocks of class 0 keep their pools; every other class has a separate pool for each pool that its
 * blocks were in. If all blocks have one class, nothing changes: so records are buffered until a
 * second class occurs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/array_grow.h"
#include "trace/name_tables.h"
#include "transform/stage.h"

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
	const struct frag_what_if_change *c = s->change;
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
	const struct frag_what_if_change *c = s->change;

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
	if (o->passes)
		return stage_isolate_give(
			s, &(struct frag_item){ item->rec, item->block, item->lasts, item->begins }, err);
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
