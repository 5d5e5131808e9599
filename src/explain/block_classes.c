/* block_classes.c - the blocks of a moment: their names, their ends, and their classes. */
#include "explain/block_classes.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/id_map.h"
#include "events/repeated_marks.h"
#include "events/tape.h"
#include "explain/block_makers.h"
#include "explain/memory_categories.h"
#include "explain/optimizer_steps.h"
#include "fragsim/engine.h"

#define SHORT_PART 100          /* of an iteration: blocks freed within it are temporary */
#define SHORT_STEPS 8

const char *const frag_life_class_names[] = {
	[FRAG_LIFE_WEIGHTS] = "weights", [FRAG_LIFE_GRADIENTS] = "gradients",
	[FRAG_LIFE_OPTIMIZER] = "optimizer", [FRAG_LIFE_LONG] = "long-lived",
	[FRAG_LIFE_ACTIVATIONS] = "activations", [FRAG_LIFE_TEMPORARIES] = "temporaries",
	[FRAG_LIFE_WORKSPACES] = "workspaces", [FRAG_LIFE_INPUTS] = "inputs", [FRAG_LIFE_KV] = "kv",
	[FRAG_LIFE_OTHER] = "other",
	[FRAG_LIFE_UNKNOWN] = "unknown", NULL,
};

const char *const frag_class_evidence_names[] = {
	[FRAG_EVIDENCE_NONE] = NULL, [FRAG_EVIDENCE_CATEGORIES] = "categories",
	[FRAG_EVIDENCE_POOL] = "pool", [FRAG_EVIDENCE_STACK] = "stack",
	[FRAG_EVIDENCE_MARKS] = "marks", [FRAG_EVIDENCE_SIZES] = "sizes",
	[FRAG_EVIDENCE_LIFETIME] = "lifetime", NULL,
};

struct survey {
	struct frag_lifetimes *out;
	const struct frag_memory_state *memory;
	uint32_t *block_of;     /* by slot: one more than the block of the memory state; 0: none */
	uint32_t slot_count, slot_capacity;
	bool every;             /* the blocks are all allocs, in their order: */
	uint32_t allocs;        /* N so far */
	struct frag_lasting_marks marks;        /* at steps */
	struct frag_optimizer_steps optimizer;
	struct frag_makers makers;
	uint64_t steps;         /* of the trace */
	bool failed;            /* out of memory */
};

static bool note_slots(struct survey *s)
{
	for (uint32_t i = 0; i < s->memory->block_count && !s->every; i++) {
		const uint32_t slot = s->memory->blocks[i].slot;

		if (slot == FRAG_NO_SLOT)
			continue;
		if (!FRAG_EXTEND(s->block_of, s->slot_capacity, s->slot_count, slot))
			return false;
		s->block_of[slot] = i + 1;
	}
	return true;
}

/* Blocks have a name from their alloc on; the first free after that is theirs. */
static void block_classes_note_event(struct survey *s, const struct frag_event *ev)
{
	struct frag_lifetime *life;
	uint8_t maker = FRAG_MAKER_UNKNOWN;
	uint32_t at;

	s->failed = s->failed || !frag_makers_note(&s->makers, ev, &maker);
	if (ev->op == FRAG_OP_MARK
	    && (!frag_optimizer_note(&s->optimizer, ev)
		|| !frag_lasting_note(&s->marks, ev->step, ev->text.text, ev->text.length)))
		s->failed = true;
	if (s->every && ev->op == FRAG_OP_ALLOC) {
		s->failed |= !FRAG_EXTEND(s->block_of, s->slot_capacity, s->slot_count, ev->slot);
		if (!s->failed)
			s->block_of[ev->slot] = ++s->allocs;
	}
	if ((ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE) || ev->slot >= s->slot_count)
		return;
	at = s->block_of[ev->slot];
	if (!at)
		return;
	life = &s->out->of[at - 1];
	if (ev->op == FRAG_OP_ALLOC && ev->step == s->memory->blocks[at - 1].birth) {
		life->id = frag_id_json(&ev->id);
		life->initial = ev->place != NULL;
		life->maker = maker;
		life->workspace = ev->members & FRAG_IS_WORKSPACE;
		life->purpose = (uint8_t)frag_purpose_of(ev->members);
		s->failed = s->failed || !life->id;
	} else if (ev->op == FRAG_OP_FREE && life->id) {
		life->freed = ev->step;
		s->block_of[ev->slot] = 0;
	}
}

static int block_classes_read_tape(struct survey *s, const struct frag_tape *tape,
				   struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(tape) };
	const struct frag_event *ev;

	s->failed = s->failed || !w.reader;
	while (!s->failed && (ev = frag_tape_walk_next(&w))) {
		block_classes_note_event(s, ev);
		s->steps = ev->step + 1;
	}
	frag_tape_reader_del(w.reader);
	return s->failed ? frag_fail_nomem(err) : 0;
}

/* Classifies a block by the iterations that it outlives; without marks, by its part of the run. */
static enum frag_life_class classify(const struct survey *s, uint64_t birth,
				     const struct frag_lifetime *life)
{
	const bool never = life->freed == UINT64_MAX;
	const uint64_t end = never ? s->steps : life->freed;
	const uint32_t iterations = s->marks.count ? s->marks.count : 1;
	const uint64_t brief = s->steps / iterations / SHORT_PART;

	if (s->marks.count) {
		const uint32_t before = frag_lasting_begun(&s->marks, birth);
		const uint32_t outlived = frag_lasting_begun(&s->marks, end) - before;

		if (frag_outlasts(before, outlived, never) && !before)
			return FRAG_LIFE_WEIGHTS;
		if (frag_outlasts(before, outlived, never))
			return frag_optimizer_covers(&s->optimizer, birth) ? FRAG_LIFE_OPTIMIZER
									   : FRAG_LIFE_LONG;
	} else if (frag_outlasts_part(birth, end, s->steps, never)) {
		return FRAG_LIFE_WEIGHTS;
	}
	if (!never && !life->initial && end - birth <= (brief > SHORT_STEPS ? brief : SHORT_STEPS))
		return FRAG_LIFE_TEMPORARIES;
	return FRAG_LIFE_ACTIVATIONS;
}

/*
 * Without frames of native code: PyTorch gives each handle of cuBLAS a workspace of :4096:2:16:8,
 * which is released at the end of the program, and which no constructor requests.
 */
static bool is_cublas_workspace(const struct frag_lifetime *life, uint64_t bytes)
{
	return bytes == FRAG_CUBLAS_WORKSPACE && life->freed == UINT64_MAX
	       && life->maker != FRAG_MAKER_SETUP;
}

/*
 * PyTorch requests the workspace of cuBLASLt directly after that of cuBLAS, from the same place. What
 * two optimizer steps have not freed is no activation of the first pass. workspaces: by step.
 */
static bool is_beside_workspace(const struct survey *s, const struct frag_map *workspaces, uint32_t i)
{
	const struct frag_state_block *b = &s->memory->blocks[i];
	const uint32_t k = frag_map_get(workspaces, b->birth - 1);
	const struct frag_makers *m = &s->makers;
	uint32_t steps = 0;

	if (k == FRAG_MAP_NONE || s->out->of[i].freed != UINT64_MAX
	    || s->memory->blocks[k].tag != b->tag || s->memory->blocks[k].stack != b->stack)
		return false;
	for (uint32_t p = frag_makers_phase_after(m, b->birth); p < m->phase_count && steps < 2; p++)
		steps += m->phases[p].part == FRAG_MAKER_OPTIMIZER;
	return steps == 2;
}

/* Of libraries, after all other classes. False: out of memory. */
static bool classify_workspaces(struct survey *s)
{
	struct frag_map found;
	bool good = frag_map_init(&found, frag_hash_seed());

	for (uint32_t i = 0; i < s->out->count && good; i++)
		if (s->out->of[i].id
		    && is_cublas_workspace(&s->out->of[i], s->memory->blocks[i].requested))
			good = frag_map_add(&found, s->memory->blocks[i].birth, i);
	for (uint32_t i = 0; i < s->out->count && good; i++) {
		struct frag_lifetime *life = &s->out->of[i];

		if (!life->id
		    || !(life->workspace || is_cublas_workspace(life, s->memory->blocks[i].requested)
			 || is_beside_workspace(s, &found, i)))
			continue;
		life->life = FRAG_LIFE_WORKSPACES;
		life->evidence = life->workspace ? FRAG_EVIDENCE_STACK : FRAG_EVIDENCE_SIZES;
	}
	frag_map_fini(&found);
	return good;
}

/* Of a memory timeline. */
static void classify_by_categories(struct survey *s, const struct frag_tape *tape)
{
	for (uint32_t i = 0; i < s->out->count; i++) {
		struct frag_lifetime *life = &s->out->of[i];

		if (!s->memory->blocks[i].tag)
			continue;
		life->life = frag_class_of_category(frag_tape_symbols(tape),
						    s->memory->blocks[i].tag);
		life->evidence = FRAG_EVIDENCE_CATEGORIES;
	}
}

/*
 * The class that the purpose of a block implies, if its lifetime and size agree: a buffer of
 * gradients outlives its part of the program, a cache its request; a copy has the size of a weight.
 */
static enum frag_life_class class_of_purpose(const struct frag_makers *m,
					     const struct frag_lifetime *life, uint64_t birth,
					     uint64_t bytes)
{
	const uint32_t after = frag_makers_phase_after(m, birth);
	const bool never = life->freed == UINT64_MAX;
	const struct frag_size_counts *row = frag_makers_find_row(m, bytes);
	const bool sized = row && (row->set_up || row->optimizer || row->before);

	switch (life->purpose) {
	case FRAG_PURPOSE_GATHERED:
		return FRAG_LIFE_WEIGHTS;
	case FRAG_PURPOSE_GRADIENTS:
		return never || (after < m->phase_count && life->freed > m->phases[after].from)
			       ? FRAG_LIFE_GRADIENTS : FRAG_LIFE_UNKNOWN;
	case FRAG_PURPOSE_KV:
		return never || life->freed - birth > SHORT_STEPS ? FRAG_LIFE_KV : FRAG_LIFE_UNKNOWN;
	case FRAG_PURPOSE_AVERAGE:
		return sized && (never || (after + 1 < m->phase_count
					   && life->freed > m->phases[after + 1].from))
			       ? FRAG_LIFE_WEIGHTS : FRAG_LIFE_UNKNOWN;
	case FRAG_PURPOSE_STATE:
		return sized ? FRAG_LIFE_OPTIMIZER : FRAG_LIFE_UNKNOWN;
	default:
		return FRAG_LIFE_UNKNOWN;
	}
}

/*
 * Of blocks in private pools that no frame explains. The pool of a CUDA graph keeps its blocks for
 * the next replay, so lifetimes and sizes of a training do not apply.
 */
static void classify_by_pools(struct survey *s)
{
	for (uint32_t i = 0; i < s->memory->segment_count; i++) {
		const struct frag_state_segment *seg = &s->memory->segments[i];

		for (uint32_t k = seg->first; seg->pool && k < seg->first + seg->count; k++) {
			struct frag_lifetime *life = &s->out->of[k];

			if (!life->id || life->evidence == FRAG_EVIDENCE_STACK)
				continue;
			life->life = FRAG_LIFE_OTHER;
			life->evidence = FRAG_EVIDENCE_POOL;
		}
	}
}

/* Of a recording with stacks. */
static void classify_by_makers(struct survey *s)
{
	for (uint32_t i = 0; i < s->out->count; i++) {
		struct frag_lifetime *life = &s->out->of[i];
		const struct frag_state_block *b = &s->memory->blocks[i];
		const uint64_t birth = frag_birth(s->out, s->memory, i);

		if (!life->id)
			continue;
		life->life = class_of_purpose(&s->makers, life, birth, b->requested);
		life->evidence = FRAG_EVIDENCE_STACK;
		if (life->life == FRAG_LIFE_UNKNOWN)
			life->life = frag_makers_class(&s->makers, life->maker, birth, life->freed,
						  b->requested, &life->evidence);
	}
}

/* Of a recording without stacks. */
static void classify_all(struct survey *s)
{
	const enum frag_class_evidence evidence =
		s->marks.count ? FRAG_EVIDENCE_MARKS : FRAG_EVIDENCE_LIFETIME;

	for (uint32_t i = 0; i < s->out->count; i++) {
		/* nothing is known of a block that is only there */
		if (!s->marks.count && s->out->of[i].initial && s->out->of[i].freed == UINT64_MAX)
			continue;
		s->out->of[i].life = classify(s, frag_birth(s->out, s->memory, i), &s->out->of[i]);
		s->out->of[i].evidence = evidence;
	}
}

/* Is it long-lived, came after the weights, and has the size of one? */
static bool is_grown(const struct survey *s, const struct frag_map *sizes, uint32_t i)
{
	return s->out->of[i].life == FRAG_LIFE_LONG
	       && frag_map_get(sizes, s->memory->blocks[i].requested) != FRAG_MAP_NONE;
}

/* The iteration in which a block was allocated. */
static uint32_t iteration_of(const struct survey *s, uint32_t i)
{
	return frag_lasting_begun(&s->marks, frag_birth(s->out, s->memory, i));
}

/*
 * Without marks of optimizer steps: finds its state by its growth. It is the blocks of a weight's
 * size, in the iteration with most such bytes, if they total at least half of the weights.
 */
static bool guess_optimizer(struct survey *s)
{
	uint64_t *born = calloc((size_t)s->marks.count + 1, sizeof(*born)), weights = 0;
	uint32_t most = 0;
	struct frag_map sizes;
	bool good = frag_map_init(&sizes, frag_hash_seed()) && born;

	for (uint32_t i = 0; i < s->out->count && good; i++) {
		const uint64_t bytes = s->memory->blocks[i].requested;

		if (s->out->of[i].life != FRAG_LIFE_WEIGHTS)
			continue;
		weights += bytes;
		good = frag_map_get(&sizes, bytes) != FRAG_MAP_NONE
		       || frag_map_add(&sizes, bytes, i);
	}
	for (uint32_t i = 0; i < s->out->count && good; i++)
		if (is_grown(s, &sizes, i))
			born[iteration_of(s, i)] += s->memory->blocks[i].requested;
	for (uint32_t i = 1; i <= s->marks.count && good; i++)
		most = born[i] > born[most] ? i : most;
	for (uint32_t i = 0; i < s->out->count && good && weights && 2 * born[most] >= weights; i++)
		if (is_grown(s, &sizes, i) && iteration_of(s, i) == most) {
			s->out->of[i].life = FRAG_LIFE_OPTIMIZER;
			s->out->of[i].evidence = FRAG_EVIDENCE_SIZES;
		}
	frag_map_fini(&sizes);
	free(born);
	return good;
}

/*
 * Reads the tape once, then classifies the blocks: by their stacks if there are any, else by
 * lifetime.
 */
int frag_lifetimes_find(struct frag_lifetimes *out, const struct frag_memory_state *memory,
			bool every, const struct frag_tape *tape, struct frag_error *err)
{
	struct survey s = { .out = out, .memory = memory, .every = every };
	int rc;

	*out = (struct frag_lifetimes){ .count = 0 };
	out->of = calloc((size_t)memory->block_count + 1, sizeof(*out->of));
	if (out->of)
		out->count = memory->block_count;
	for (uint32_t i = 0; i < out->count; i++) {
		out->of[i].freed = UINT64_MAX;
		out->of[i].life = FRAG_LIFE_UNKNOWN;
	}
	s.failed = !frag_makers_init(&s.makers, tape) || !out->of || !note_slots(&s);
	rc = block_classes_read_tape(&s, tape, err);
	if (!rc && !frag_lasting_find(&s.marks))
		rc = frag_fail_nomem(err);
	if (!rc && s.makers.phase_count && !frag_makers_count_survivors(&s.makers))
		rc = frag_fail_nomem(err);
	if (!rc && frag_states_categories(tape)) {
		classify_by_categories(&s, tape);
	} else if (!rc && s.makers.any) {
		classify_by_makers(&s);
		if (!classify_workspaces(&s))
			rc = frag_fail_nomem(err);
	} else if (!rc) {
		classify_all(&s);
		if (s.marks.count && !s.optimizer.count && !guess_optimizer(&s))
			rc = frag_fail_nomem(err);
	}
	if (!rc)
		classify_by_pools(&s);
	free(s.block_of);
	free(s.marks.mark);
	free(s.optimizer.of);
	frag_makers_fini(&s.makers);
	return rc;
}
