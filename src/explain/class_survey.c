/* class_survey.c - the class of every block that a tape allocates, and the bytes of unknown ones. */
#include "explain/class_survey.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/tape.h"

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

/*
 * What looks like an activation by its life alone. A block of a weight's size that a backward pass
 * makes and frees is a gradient: its size does not depend on the batch. PyTorch 2.15 takes the
 * workspace of cuBLAS for each product, and releases it. False: out of memory.
 */
static bool survey_correct(const struct frag_lifetimes *lives, const struct frag_memory_state *all)
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
			bytes[ev->slot] = is_unknown(&lives->of[alloc++]) ? ev->bytes : 0;
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
	if (!rc && !survey_correct(&lives, &all))
		rc = frag_fail_nomem(err);
	if (!rc) {
		survey->of = calloc((size_t)lives.count + 1, sizeof(*survey->of));
		rc = survey->of ? survey_count_unknown(survey, &lives, tape, err)
				: frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < lives.count; i++) {
		if (!rc)
			survey->of[i] = (uint8_t)lives.of[i].life;
		free(lives.of[i].id);
	}
	survey->count = rc ? 0 : lives.count;
	free(lives.of);
	frag_memory_state_fini(&all);
	return rc;
}

void frag_class_survey_fini(struct frag_class_survey *survey)
{
	free(survey->of);
	*survey = (struct frag_class_survey){ .count = 0 };
}
