/* changed_trace.c - a trace as it would be after some changes, read from another one. */
#include "transform/changed_trace.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/parse.h"
#include "base/atomic_file.h"
#include "transform/stage.h"

#define GIVEN 4096              /* records at once, about */
#define NEW_ID_MAX (FRAG_SIZE_LIMIT - 1)
#define HIGH_ID (FRAG_SIZE_LIMIT / 2)   /* the trace's own ids from here on are noted */
#define OURS 1                  /* of an id that is noted; 0: the trace's */

struct frag_chain {
	struct frag_trace *from;
	struct frag_changed_options options;
	struct frag_stage *stages;
	uint32_t count;
	struct frag_batch batch;        /* of the trace */
	uint32_t at;                    /* in the batch */
	uint64_t events;                /* of the trace that were put */
	uint32_t iteration;             /* the next one that begins */
	bool whole;                     /* the trace is at its end */
	struct frag_item *given;        /* the output of the chain */
	uint32_t given_count, given_capacity, given_at;
	uint32_t *blocks;               /* by slot of the trace */
	uint32_t slot_count, slot_capacity;
	uint32_t block_count, allocs;   /* in all; of the trace alone */
	struct frag_map ids;            /* blocks with new ids: how far below NEW_ID_MAX */
	struct frag_map high;           /* ids from HIGH_ID on: OURS or not */
	uint32_t next_id;
	bool failed;                    /* memory was short */
};

static const char *path_of(const struct frag_chain *chain)
{
	return frag_input_name(frag_trace_info(chain->from)->path);
}

int frag_chain_block(struct frag_chain *chain, uint32_t *block, struct frag_error *err)
{
	if (chain->block_count == FRAG_NO_BLOCK_NUMBER)
		return frag_fail(err, FRAG_ETRACE, "%s: more than 2^32 - 2 blocks",
				 path_of(chain));
	*block = chain->block_count++;
	return 0;
}

int frag_chain_id(struct frag_chain *chain, uint32_t block, struct frag_error *err)
{
	while (frag_map_get(&chain->high, NEW_ID_MAX - chain->next_id) != FRAG_MAP_NONE)
		chain->next_id++;
	if (frag_map_add(&chain->high, NEW_ID_MAX - chain->next_id, OURS)
	    && frag_map_add(&chain->ids, block, chain->next_id++))
		return 0;
	return frag_fail_nomem(err);
}

void frag_chain_name(const struct frag_chain *chain, struct frag_item *item)
{
	const uint32_t id = item->block == FRAG_NO_BLOCK_NUMBER || !chain->ids.count
			    ? FRAG_MAP_NONE : frag_map_get(&chain->ids, item->block);

	if (id != FRAG_MAP_NONE)
		item->rec.id = (struct frag_handle){ .number = NEW_ID_MAX - id };
}

/* On out of memory for a long tag, the next read from the chain fails. */
static bool has_tag_like(struct frag_chain *chain, const struct frag_item *item, const char *glob)
{
	char room[256], *text = room;
	const uint32_t length = item->rec.tag.length;
	bool same;

	if (!(item->rec.members & FRAG_HAS_TAG))
		return false;
	if (length >= sizeof(room))
		text = malloc((size_t)length + 1);
	if (!text) {
		chain->failed = true;
		return false;
	}
	if (length)
		memcpy(text, item->rec.tag.text, length);
	text[length] = '\0';
	same = fnmatch(glob, text, 0) == 0;
	if (text != room)
		free(text);
	return same;
}

bool frag_stage_fits(struct frag_stage *s, const struct frag_item *item)
{
	const struct frag_program_change *c = s->change;

	if ((c->glob && !has_tag_like(s->chain, item, c->glob))
	    || (c->classes && !(c->classes >> item->class & 1)))
		return false;
	s->fits = true;
	return item->rec.size >= c->min_bytes
	       && (c->life == FRAG_LIVES_ANY || (c->life == FRAG_LIVES_LONG) == item->lasts);
}

int frag_stage_emit(struct frag_stage *s, const struct frag_item *item, struct frag_error *err)
{
	struct frag_chain *chain = s->chain;

	if (s->next)
		return s->next->ops->put(s->next, item, err);
	if (!FRAG_GROW(chain->given, chain->given_capacity, chain->given_count))
		return frag_fail_nomem(err);
	chain->given[chain->given_count++] = *item;
	return 0;
}

/*
 * A block of the trace's: a number; and another id where a new one was the trace's own all along.
 */
static int number_alloc(struct frag_chain *chain, const struct frag_event *ev,
			struct frag_item *item, struct frag_error *err)
{
	const bool high = !item->rec.id.text && item->rec.id.number >= HIGH_ID;
	const uint32_t who = high ? frag_map_get(&chain->high, item->rec.id.number) : 0;
	int rc = frag_chain_block(chain, &item->block, err);

	if (rc)
		return rc;
	if (!FRAG_GROW(chain->blocks, chain->slot_capacity, ev->slot))
		return frag_fail_nomem(err);
	for (; chain->slot_count <= ev->slot; chain->slot_count++)
		chain->blocks[chain->slot_count] = FRAG_NO_BLOCK_NUMBER;
	chain->blocks[ev->slot] = item->block;
	if (who == OURS)
		return frag_chain_id(chain, item->block, err);
	return who != FRAG_MAP_NONE || frag_map_add(&chain->high, item->rec.id.number, 0)
	       ? 0 : frag_fail_nomem(err);
}

static int changed_put_event(struct frag_chain *chain, const struct frag_record *rec,
				   const struct frag_event *ev, struct frag_error *err)
{
	struct frag_item item = { .rec = *rec, .block = FRAG_NO_BLOCK_NUMBER };
	int rc = 0;

	item.rec.members &= FRAG_HAS_WRITTEN;
	/* what a record does not have may be anything */
	item.rec.pending = rec->members & FRAG_HAS_PENDING ? rec->pending : false;
	item.rec.size = rec->members & FRAG_HAS_SIZE ? rec->size : 0;
	item.rec.place = NULL;
	item.rec.stack = 0;
	if (rec->op == FRAG_OP_ALLOC) {
		item.class = chain->allocs < chain->options.class_count
			     ? chain->options.classes[chain->allocs] : 0;
		chain->allocs++;
		rc = number_alloc(chain, ev, &item, err);
	} else if (frag_item_refers(&item))
		item.block = chain->blocks[ev->slot];
	if (rc)
		return rc;
	frag_chain_name(chain, &item);
	item.begins = chain->iteration < chain->options.iteration_count
		      && chain->options.iterations[chain->iteration] == chain->events;
	chain->iteration += item.begins;
	chain->events++;
	return chain->stages[0].ops->put(&chain->stages[0], &item, err);
}

/* A glob or a mark that is nowhere is a mistake; what changes nothing may be none. */
static int changed_judge(const struct frag_stage *s, struct frag_error *err)
{
	const struct frag_program_change *c = s->change;
	const struct frag_log *log = &s->chain->options.log;
	char message[400];

	if (c->kind == FRAG_CHANGE_WARMUP ? !s->fits : c->kind > FRAG_CHANGE_DROP && !s->at_mark)
		return frag_fail(err, FRAG_EUSAGE, "%s: %s has no such mark; fragsim trace info lists"
				 " them", c->text, s->path);
	if (c->kind == FRAG_CHANGE_PRIME_POOL && !s->changes)
		return frag_fail(err, FRAG_EUSAGE, "%s: %s has no private pool: no block is in a pool"
				 " other than 0", c->text, s->path);
	if (c->glob && !s->fits && s->ops != &frag_stage_lives)
		return frag_fail(err, FRAG_EUSAGE, "%s: no block of %s has such a tag; fragsim trace info"
				 " lists the tags", c->text, s->path);
	if (c->classes && !s->fits && s->ops != &frag_stage_lives)
		return frag_fail(err, FRAG_EUSAGE, "%s: no block of %s is known to be of that class;"
				 " fragsim explain lists the classes", c->text, s->path);
	snprintf(message, sizeof(message), "%.300s changes nothing", c->text);
	if (!s->changes && (s->ops != &frag_stage_lives || c->kind == FRAG_CHANGE_HOIST)
	    && log->warn)
		log->warn(log->ctx, message);
	return 0;
}

/*
 * Drains the stages, the last one first, so that no stage receives more than it emits. 1: the
 * chain emitted items; 0: all stages wait for more.
 */
static int changed_drain(struct frag_chain *chain, struct frag_error *err)
{
	uint32_t i = chain->count;

	while (i--) {
		struct frag_stage *s = &chain->stages[i];
		const int rc = s->ops->drain ? s->ops->drain(s, GIVEN, err) : 0;

		if (rc < 0)
			return rc;
		if (chain->given_count)
			return 1;
		if (rc)
			i = chain->count;
	}
	return 0;
}

static int read_unchanged(struct frag_chain *chain, struct frag_error *err)
{
	const struct frag_changed_options *o = &chain->options;
	int rc;

	if (o->stop && o->stop(o->ctx))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	chain->at = 0;
	rc = frag_trace_next(chain->from, &chain->batch, err);
	if (!rc && o->batch && chain->batch.count)
		rc = o->batch(o->ctx, &chain->batch, err);
	chain->whole = !rc && !chain->batch.count;
	return rc;
}

static int put_batch(struct frag_chain *chain, struct frag_error *err)
{
	const struct frag_batch *b = &chain->batch;
	int rc = 0;

	for (; chain->at < b->count && chain->given_count < GIVEN && !rc; chain->at++)
		rc = changed_put_event(chain, &b->records[chain->at], &b->events[chain->at],
					     err);
	return rc;
}

/* The trace is at its end, and all that the stages before this one held has been given. */
static bool end_next(struct frag_chain *chain)
{
	for (uint32_t i = 0; i < chain->count; i++)
		if (!chain->stages[i].ended)
			return chain->stages[i].ended = true;
	return false;
}

static int changed_refill(void *state, struct frag_error *err)
{
	struct frag_chain *chain = state;
	int rc = 0;

	chain->given_count = chain->given_at = 0;
	while (!rc) {
		rc = changed_drain(chain, err);
		if (rc)
			break;
		if (chain->at < chain->batch.count)
			rc = put_batch(chain, err);
		else if (!chain->whole)
			rc = read_unchanged(chain, err);
		else if (!end_next(chain))
			break;
		if (!rc && chain->given_count)
			rc = 1;
	}
	for (uint32_t i = 0; i < chain->count && !rc && !chain->failed; i++)
		rc = changed_judge(&chain->stages[i], err);
	return rc >= 0 && chain->failed ? frag_fail_nomem(err) : rc;
}

static int next(void *state, struct frag_record *rec, const char **kind, struct frag_error *err)
{
	struct frag_chain *chain = state;

	(void)kind;
	(void)err;
	if (chain->given_at == chain->given_count)
		return 0;
	*rec = chain->given[chain->given_at++].rec;
	return 1;
}

static void close_chain(void *state)
{
	struct frag_chain *chain = state;

	for (uint32_t i = 0; i < chain->count; i++) {
		struct frag_stage *s = &chain->stages[i];

		if (s->ops->fini && s->state)
			s->ops->fini(s);
		free(s->state);
	}
	free(chain->stages);
	free(chain->given);
	free(chain->blocks);
	frag_map_fini(&chain->ids);
	frag_map_fini(&chain->high);
	free(chain);
}

static bool add_stage(struct frag_chain *chain, const struct frag_stage_ops *ops,
		      const struct frag_program_change *change)
{
	struct frag_stage *s = &chain->stages[chain->count++];

	*s = (struct frag_stage){
		.ops = ops, .change = change, .chain = chain, .path = path_of(chain),
		.state = calloc(1, ops->state_size),
	};
	if (chain->count > 1)
		s[-1].next = s;
	return s->state && (!ops->init || ops->init(s));
}

/* Does it ask how long blocks live? */
static bool asks_lives(const struct frag_program_change *c)
{
	return c->kind == FRAG_CHANGE_HOIST || c->life != FRAG_LIVES_ANY
	       || (c->kind == FRAG_CHANGE_ISOLATE && c->by == FRAG_BY_LIFE);
}

static bool changed_add_change(struct frag_chain *chain,
				     const struct frag_program_change *change)
{
	static const struct frag_stage_ops *const stages[FRAG_CHANGE_KINDS] = {
		[FRAG_CHANGE_SCALE] = &frag_stage_sizes, [FRAG_CHANGE_SPLIT] = &frag_stage_sizes,
		[FRAG_CHANGE_SHARD] = &frag_stage_sizes, [FRAG_CHANGE_DROP] = &frag_stage_sizes,
		[FRAG_CHANGE_ISOLATE] = &frag_stage_isolate,
		[FRAG_CHANGE_WARMUP] = &frag_stage_warmup,
		[FRAG_CHANGE_PREALLOCATE] = &frag_stage_preallocate,
		[FRAG_CHANGE_PRIME_POOL] = &frag_stage_prime_pool,
		[FRAG_CHANGE_EMPTY_CACHE] = &frag_stage_operation,
		[FRAG_CHANGE_SET] = &frag_stage_operation, [FRAG_CHANGE_PARK] = &frag_stage_park,
	};

	if (asks_lives(change) && !add_stage(chain, &frag_stage_lives, change))
		return false;
	return !stages[change->kind] || add_stage(chain, stages[change->kind], change);
}

static bool changed_build(struct frag_chain *chain)
{
	const struct frag_changed_options *o = &chain->options;
	bool good;

	chain->stages = calloc((size_t)o->count * 2 + 1, sizeof(*chain->stages));
	good = chain->stages && frag_map_init(&chain->ids, frag_hash_seed())
	       && frag_map_init(&chain->high, frag_hash_seed());
	for (uint32_t i = 0; i < o->count && good; i++)
		good = changed_add_change(chain, &o->changes[i]);
	return good;
}

int frag_changed_open(struct frag_trace **out, struct frag_trace *from,
		      const struct frag_changed_options *options, struct frag_error *err)
{
	static const struct frag_source_ops ops = {
		.form = "changed",
		.refill = changed_refill,
		.next = next,
		.close = close_chain,
	};
	const struct frag_trace_options trace = { .records = true };
	const struct frag_trace_info *info = frag_trace_info(from);
	struct frag_chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return frag_fail_nomem(err);
	chain->from = from;
	chain->options = *options;
	FRAG_ASSERT(options->count);
	if (changed_build(chain))
		return frag_trace_from(out, &ops, chain, info->devices, info->device_count, &trace,
				       err);
	close_chain(chain);
	return frag_fail_nomem(err);
}
