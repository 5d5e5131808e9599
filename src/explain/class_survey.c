/* class_survey.c - the class of every block that a tape allocates, and the bytes of unknown ones. */
#include "explain/class_survey.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/tape.h"

#define SUM_ROWS 1024            /* from these on a sum has a buffer; and bytes of its counters */
#define SUM_COUNTERS 4096
#define TINY 512                /* bytes of a block that is as large in the allocator, whatever it has */

/* Blocks of a private pool stand in one segment of it, for what the classes say of pools. */
static bool survey_note_pool(struct frag_memory_state *m, uint32_t block, uint32_t pool)
{
	struct frag_state_segment *last = m->segment_count ? &m->segments[m->segment_count - 1] : NULL;

	if (!pool)
		return true;
	if (last && last->pool == pool && last->first + last->count == block) {
		last->count++;
		return true;
	}
	if (!FRAG_GROW(m->segments, m->segment_capacity, m->segment_count))
		return false;
	m->segments[m->segment_count++] = (struct frag_state_segment){
		.first = block, .count = 1, .pool = pool,
	};
	return true;
}

static bool survey_note_alloc(struct frag_memory_state *m, const struct frag_event *ev, uint32_t stack)
{
	if (!survey_note_pool(m, m->block_count, ev->pool)
	    || !FRAG_GROW(m->blocks, m->block_capacity, m->block_count))
		return false;
	m->blocks[m->block_count++] = (struct frag_state_block){
		.requested = ev->bytes, .birth = ev->step, .tag = ev->tag, .stack = stack,
		.slot = ev->slot,
	};
	return true;
}

/* All allocs of the tape as blocks of one state, in their order. */
static int survey_read(struct frag_memory_state *m, const struct frag_tape *tape,
		       struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	bool good = w.reader;

	while (good && (ev = frag_tape_walk_next(&w)))
		if (ev->op == FRAG_OP_ALLOC)
			good = survey_note_alloc(m, ev, w.batch.stacks ? w.batch.stacks[w.at - 1]
									: 0);
	frag_tape_reader_del(w.reader);
	return good ? 0 : frag_fail_nomem(err);
}

static bool is_unknown(const struct frag_lifetime *life)
{
	return life->life == FRAG_LIFE_UNKNOWN || life->life == FRAG_LIFE_OTHER
	       || life->life == FRAG_LIFE_LONG
	       || (life->life == FRAG_LIFE_TEMPORARIES && life->evidence != FRAG_EVIDENCE_STACK);
}

static bool has_size(struct frag_map *sizes, uint64_t bytes)
{
	return frag_map_get(sizes, bytes) != FRAG_MAP_NONE;
}

/*
 * Is a block, between the one requested before it and the one after it, the buffer of a sum over rows? It has
 * two elements a row for each of the result, which is before it, and counters of thread blocks are after it.
 */
static bool is_sum_buffer(const struct frag_state_block *b)
{
	const uint64_t result = b[-1].requested;

	return result && b[1].requested <= SUM_COUNTERS && b->requested % (2 * result) == 0
	       && b->requested / (2 * result) >= SUM_ROWS;
}

/* Finds blocks that have the size of an activation, or are the buffer of a sum over one. weights: sizes of those. False: out of memory. */
static bool survey_compare(struct frag_class_survey *survey, const struct frag_lifetimes *lives,
			   const struct frag_memory_state *all, struct frag_map *weights)
{
	struct frag_map sizes;
	bool good = frag_map_init(&sizes, frag_hash_seed());

	/* categories were recorded: a block has its own, or is of unknown class */
	for (uint32_t i = 0; i < lives->count; i++)
		if (lives->of[i].evidence == FRAG_EVIDENCE_CATEGORIES)
			goto out;
	for (uint32_t i = 0; i < lives->count && good; i++)
		if (lives->of[i].life == FRAG_LIFE_ACTIVATIONS && all->blocks[i].requested > TINY
		    && !has_size(&sizes, all->blocks[i].requested))
			good = frag_map_add(&sizes, all->blocks[i].requested, i);
	for (uint32_t i = 0; i < lives->count && good; i++) {
		const struct frag_lifetime *life = &lives->of[i];
		const uint64_t bytes = all->blocks[i].requested;

		if (life->maker == FRAG_MAKER_BACKWARD && i && i + 1 < lives->count
		    && is_sum_buffer(&all->blocks[i])) {
			survey->of[i] = FRAG_SUM_BUFFERS;
			continue;
		}
		/* without a stack an equal size is chance */
		if (life->life != FRAG_LIFE_TEMPORARIES && life->life != FRAG_LIFE_OTHER
		    && (life->life != FRAG_LIFE_UNKNOWN || life->maker == FRAG_MAKER_UNKNOWN))
			continue;
		if (life->maker == FRAG_MAKER_OPTIMIZER || has_size(weights, bytes))
			continue;
		if (has_size(&sizes, bytes))
			survey->of[i] = FRAG_LIKE_ACTIVATIONS;
	}
out:
	frag_map_fini(&sizes);
	return good;
}

/*
 * What looks like an activation by its life alone. A block of a weight's size that a backward pass
 * makes and frees is a gradient: its size does not depend on the batch. PyTorch 2.15 takes the
 * workspace of cuBLAS for each product, and releases it. False: out of memory.
 */
static bool survey_correct(struct frag_class_survey *survey, const struct frag_lifetimes *lives,
			   const struct frag_memory_state *all)
{
	struct frag_map sizes;
	bool good = frag_map_init(&sizes, frag_hash_seed());

	for (uint32_t i = 0; i < lives->count && good; i++)
		if (lives->of[i].life == FRAG_LIFE_WEIGHTS
		    && frag_map_get(&sizes, all->blocks[i].requested) == FRAG_MAP_NONE)
			good = frag_map_add(&sizes, all->blocks[i].requested, i);
	for (uint32_t i = 0; i < lives->count && good; i++) {
		struct frag_lifetime *life = &lives->of[i];

		if (life->life == FRAG_LIFE_ACTIVATIONS
		    && all->blocks[i].requested == FRAG_CUBLAS_WORKSPACE)
			life->life = FRAG_LIFE_WORKSPACES;
		else if (life->life == FRAG_LIFE_ACTIVATIONS && life->maker == FRAG_MAKER_BACKWARD
		    && frag_map_get(&sizes, all->blocks[i].requested) != FRAG_MAP_NONE)
			life->life = FRAG_LIFE_GRADIENTS;
	}
	good = good && survey_compare(survey, lives, all, &sizes);
	frag_map_fini(&sizes);
	return good;
}

/* The most bytes at once of unknown blocks. */
static int survey_count_unknown(struct frag_class_survey *s, const struct frag_lifetimes *lives,
				const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;
	uint64_t *bytes = NULL, live = 0;       /* by slot: of an unknown block */
	uint32_t count = 0, capacity = 0, alloc = 0;
	bool good = w.reader;

	while (good && (ev = frag_tape_walk_next(&w))) {
		if (ev->op == FRAG_OP_ALLOC) {
			good = FRAG_EXTEND(bytes, capacity, count, ev->slot);
			if (!good)
				break;
			bytes[ev->slot] = is_unknown(&lives->of[alloc])
						  && s->of[alloc] < FRAG_LIKE_ACTIVATIONS ? ev->bytes : 0;
			alloc++;
			live += bytes[ev->slot];
			s->unknown = live > s->unknown ? live : s->unknown;
		} else if (ev->op == FRAG_OP_FREE && ev->slot < count) {
			live -= bytes[ev->slot];
			bytes[ev->slot] = 0;
		}
	}
	frag_tape_reader_del(w.reader);
	free(bytes);
	return good ? 0 : frag_fail_nomem(err);
}

int frag_class_survey_find(struct frag_class_survey *survey, const struct frag_tape *tape,
			   struct frag_error *err)
{
	struct frag_memory_state all = { .block_count = 0 };
	struct frag_lifetimes lives = { .count = 0 };
	int rc = survey_read(&all, tape, err);

	*survey = (struct frag_class_survey){ .count = 0 };
	rc = rc ? rc : frag_lifetimes_find(&lives, &all, true, tape, err);
	if (!rc) {
		survey->of = calloc((size_t)lives.count + 1, sizeof(*survey->of));
		rc = survey->of && survey_correct(survey, &lives, &all) ? 0 : frag_fail_nomem(err);
	}
	rc = rc ? rc : survey_count_unknown(survey, &lives, tape, err);
	for (uint32_t i = 0; i < lives.count; i++) {
		if (!rc && survey->of[i] < FRAG_LIKE_ACTIVATIONS)
			survey->of[i] = (uint8_t)lives.of[i].life;
		free(lives.of[i].id);
	}
	survey->count = rc ? 0 : lives.count;
	free(lives.of);
	frag_memory_state_fini(&all);
	return rc;
}

int frag_alloc_classes(uint8_t **of, const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_memory_state all = { .block_count = 0 };
	struct frag_lifetimes lives = { .count = 0 };
	int rc = survey_read(&all, tape, err);

	rc = rc ? rc : frag_lifetimes_find(&lives, &all, true, tape, err);
	*of = rc ? NULL : malloc((size_t)lives.count + 1);
	rc = rc || *of ? rc : frag_fail_nomem(err);
	for (uint32_t i = 0; i < lives.count; i++) {
		if (*of)
			(*of)[i] = (uint8_t)lives.of[i].life;
		free(lives.of[i].id);
	}
	free(lives.of);
	frag_memory_state_fini(&all);
	return rc;
}

void frag_class_survey_fini(struct frag_class_survey *survey)
{
	free(survey->of);
	*survey = (struct frag_class_survey){ .count = 0 };
}
