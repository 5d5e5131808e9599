/* block_classes.c - the blocks of a moment: their names, their ends, and what they are by these. */
#include "search/block_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "events/id_map.h"
#include "events/repeated_marks.h"
#include "fragsim/engine.h"
#include "base/hash.h"
#include "search/block_makers.h"

/* From the mark that begins one up to the next mark. */
struct frag_optimizer_step {
	uint64_t from, to;      /* steps of the trace; to: UINT64_MAX where no mark follows */
};

struct frag_optimizer_steps {
	struct frag_optimizer_step *of;
	uint32_t count, capacity;
};

/* A block, for traces without optimizer marks. */
struct frag_grown {
	uint64_t bytes;         /* as the program requested them */
	uint32_t iteration;     /* in which it was allocated */
	bool weight;            /* else it is long-lived, and came later */
	bool of_optimizer;      /* set by the next function */
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool block_classes_is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

/* "step0 opt", "Optimizer.step#AdamW.step"; not "options", "adopt". */
static bool names_optimizer(const struct frag_text *name)
{
	static const char word[] = "optim";

	for (uint32_t at = 0; at < name->length; at++) {
		uint32_t same = 0;

		if (at && block_classes_is_letter(name->text[at - 1]))
			continue;
		while (same < sizeof(word) - 1 && at + same < name->length
		       && lower(name->text[at + same]) == word[same])
			same++;
		if (same == sizeof(word) - 1)
			return true;
		if (same == 3
		    && (at + 3 == name->length || !block_classes_is_letter(name->text[at + 3])))
			return true;
	}
	return false;
}

/* The next mark of the trace. False: out of memory; release it also then. */
static bool frag_optimizer_note(struct frag_optimizer_steps *s, const struct frag_event *mark)
{
	if (s->count && s->of[s->count - 1].to == UINT64_MAX)
		s->of[s->count - 1].to = mark->step;
	if (!names_optimizer(&mark->text))
		return true;
	if (!frag_grow(&s->of, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->of)))
		return false;
	s->of[s->count++] = (struct frag_optimizer_step){ .from = mark->step, .to = UINT64_MAX };
	return true;
}

/* Is a block that is allocated at this step allocated in an optimizer step? */
static bool frag_optimizer_covers(const struct frag_optimizer_steps *s, uint64_t birth)
{
	uint32_t low = 0, high = s->count;

	/* the last that begins before it */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->of[middle].from < birth)
			low = middle + 1;
		else
			high = middle;
	}
	return low && birth < s->of[low - 1].to;
}

static void frag_optimizer_fini(struct frag_optimizer_steps *s)
{
	free(s->of);
	*s = (struct frag_optimizer_steps){ .count = 0 };
}

static bool note_weights(struct frag_map *sizes, const struct frag_grown *blocks, uint32_t count,
			 uint64_t *bytes)
{
	*bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!blocks[i].weight)
			continue;
		*bytes += blocks[i].bytes;
		if (frag_map_get(sizes, blocks[i].bytes) == FRAG_MAP_NONE
		    && !frag_map_add(sizes, blocks[i].bytes, i))
			return false;
	}
	return true;
}

static bool has_size(const struct frag_map *sizes, const struct frag_grown *block)
{
	return !block->weight && frag_map_get(sizes, block->bytes) != FRAG_MAP_NONE;
}

/*
 * Finds the iteration that allocated the most bytes in blocks of a weight's size, and these
 * bytes.
 */
static bool find_iteration(const struct frag_map *sizes, const struct frag_grown *blocks,
			   uint32_t count, uint32_t *iteration, uint64_t *most)
{
	uint32_t iterations = 0;
	uint64_t *born;

	for (uint32_t i = 0; i < count; i++)
		iterations = blocks[i].iteration > iterations ? blocks[i].iteration : iterations;
	born = calloc((size_t)iterations + 1, sizeof(*born));
	*most = *iteration = 0;
	for (uint32_t i = 0; born && i < count; i++)
		if (has_size(sizes, &blocks[i]))
			born[blocks[i].iteration] += blocks[i].bytes;
	for (uint32_t i = 0; born && i <= iterations; i++)
		if (born[i] > *most) {
			*most = born[i];
			*iteration = i;
		}
	free(born);
	return born != NULL;
}

/*
 * Finds the optimizer state by its growth: once, by the sizes of the weights. of_optimizer is
 * set for the blocks of a weight's size, in the iteration with most such bytes, if they total at
 * least half of the weights. Returns false on out of memory.
 */
static bool frag_optimizer_find(struct frag_grown *blocks, uint32_t count)
{
	struct frag_map sizes;
	uint64_t weights, most;
	uint32_t iteration;
	bool good = frag_map_init(&sizes, frag_hash_seed())
		    && note_weights(&sizes, blocks, count, &weights)
		    && find_iteration(&sizes, blocks, count, &iteration, &most);

	for (uint32_t i = 0; i < count && good; i++)
		blocks[i].of_optimizer = weights && 2 * most >= weights
					 && blocks[i].iteration == iteration
					 && has_size(&sizes, &blocks[i]);
	frag_map_fini(&sizes);
	return good;
}

#define SHORT_PART 100          /* of an iteration: blocks freed within it are temporary */
#define SHORT_STEPS 8

const char *const frag_life_class_names[] = {
	[FRAG_LIFE_WEIGHTS] = "weights", [FRAG_LIFE_GRADIENTS] = "gradients",
	[FRAG_LIFE_OPTIMIZER] = "optimizer", [FRAG_LIFE_LONG] = "long-lived",
	[FRAG_LIFE_ACTIVATIONS] = "activations", [FRAG_LIFE_TEMPORARIES] = "temporaries",
	[FRAG_LIFE_UNKNOWN] = "unknown", NULL,
};

const char *const frag_class_evidence_names[] = {
	[FRAG_EVIDENCE_NONE] = NULL, [FRAG_EVIDENCE_STACK] = "stack",
	[FRAG_EVIDENCE_MARKS] = "marks", [FRAG_EVIDENCE_SIZES] = "sizes",
	[FRAG_EVIDENCE_LIFETIME] = "lifetime",
};

struct survey {
	struct frag_lifetimes *out;
	const struct frag_memory_state *scene;
	uint32_t *block_of;     /* by slot: one more than the block of the memory state; 0: none */
	uint32_t slot_count, slot_capacity;
	struct frag_lasting_marks marks;        /* at steps */
	struct frag_optimizer_steps optimizer;
	struct frag_makers makers;
	uint64_t steps;         /* of the trace */
	bool failed;            /* out of memory */
};

static bool note_slots(struct survey *s)
{
	for (uint32_t i = 0; i < s->scene->block_count; i++) {
		const uint32_t slot = s->scene->blocks[i].slot;

		if (slot == FRAG_NO_SLOT)
			continue;
		if (!frag_grow(&s->block_of, &s->slot_capacity, (uint64_t)slot + 1,
			       sizeof(*s->block_of)))
			return false;
		while (s->slot_count <= slot)
			s->block_of[s->slot_count++] = 0;
		s->block_of[slot] = i + 1;
	}
	return true;
}

static void block_classes_note_mark(struct survey *s, const struct frag_event *ev)
{
	if (!frag_optimizer_note(&s->optimizer, ev)
	    || !frag_lasting_note(&s->marks, ev->step, ev->text.text, ev->text.length))
		s->failed = true;
}

/* Blocks have a name from their alloc on; the first free after that is theirs. */
static void block_classes_note_event(struct survey *s, const struct frag_event *ev)
{
	struct frag_lifetime *life;
	uint8_t maker;
	uint32_t at;

	s->failed = s->failed || !frag_makers_note(&s->makers, ev, &maker);
	if (ev->op == FRAG_OP_MARK)
		block_classes_note_mark(s, ev);
	if ((ev->op != FRAG_OP_ALLOC && ev->op != FRAG_OP_FREE) || ev->slot >= s->slot_count)
		return;
	at = s->block_of[ev->slot];
	if (!at)
		return;
	life = &s->out->of[at - 1];
	if (ev->op == FRAG_OP_ALLOC && ev->step == s->scene->blocks[at - 1].birth) {
		life->id = frag_id_json(&ev->id);
		life->initial = ev->place != NULL;
		life->maker = maker;
		s->failed = s->failed || !life->id;
	} else if (ev->op == FRAG_OP_FREE && life->id) {
		life->freed = ev->step;
		s->block_of[ev->slot] = 0;
	}
}

static int block_classes_read_tape(struct survey *s, const struct frag_tape *tape,
				   struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(tape);
	struct frag_batch batch = { .count = 0 };

	s->failed = s->failed || !reader;
	while (!s->failed) {
		frag_tape_next(reader, UINT64_MAX, &batch);
		if (!batch.count)
			break;
		for (uint32_t i = 0; i < batch.count && !s->failed; i++)
			block_classes_note_event(s, &batch.events[i]);
		s->steps = batch.events[batch.count - 1].step + 1;
	}
	frag_tape_reader_del(reader);
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

/* Of a recording with stacks. */
static void classify_by_makers(struct survey *s)
{
	for (uint32_t i = 0; i < s->out->count; i++) {
		struct frag_lifetime *life = &s->out->of[i];
		const struct frag_scene_block *b = &s->scene->blocks[i];

		if (!life->id)
			continue;
		life->life = frag_makers_class(&s->makers, life->maker,
					       frag_birth(s->out, s->scene, i), life->freed,
					       b->requested, &life->evidence);
	}
}

/* Of a recording without stacks. */
static void classify_all(const struct survey *s)
{
	const enum frag_class_evidence evidence =
		s->marks.count ? FRAG_EVIDENCE_MARKS : FRAG_EVIDENCE_LIFETIME;

	for (uint32_t i = 0; i < s->out->count; i++) {
		s->out->of[i].life = classify(s, frag_birth(s->out, s->scene, i), &s->out->of[i]);
		s->out->of[i].evidence = evidence;
	}
}

/* Without marks of optimizer steps: guesses from the growth of long-lived blocks. */
static bool guess_optimizer(const struct survey *s)
{
	struct frag_grown *grown = calloc((size_t)s->out->count + 1, sizeof(*grown));
	uint32_t *block = malloc(((size_t)s->out->count + 1) * sizeof(*block)), n = 0;
	bool good = grown && block;

	for (uint32_t i = 0; i < s->out->count && good; i++) {
		const enum frag_life_class life = s->out->of[i].life;

		if (life != FRAG_LIFE_WEIGHTS && life != FRAG_LIFE_LONG)
			continue;
		block[n] = i;
		grown[n++] = (struct frag_grown){
			.bytes = s->scene->blocks[i].requested,
			.iteration = frag_lasting_begun(&s->marks, frag_birth(s->out, s->scene, i)),
			.weight = life == FRAG_LIFE_WEIGHTS,
		};
	}
	good = good && frag_optimizer_find(grown, n);
	for (uint32_t k = 0; k < n && good; k++)
		if (grown[k].of_optimizer) {
			s->out->of[block[k]].life = FRAG_LIFE_OPTIMIZER;
			s->out->of[block[k]].evidence = FRAG_EVIDENCE_SIZES;
		}
	free(grown);
	free(block);
	return good;
}

/*
 * Reads the tape once, then classifies the blocks: by their stacks if there are any, else by
 * lifetime.
 */
int frag_lifetimes_find(struct frag_lifetimes *out, const struct frag_memory_state *scene,
			const struct frag_tape *tape, struct frag_error *err)
{
	struct survey s = { .out = out, .scene = scene };
	int rc;

	*out = (struct frag_lifetimes){ .count = 0 };
	out->of = calloc((size_t)scene->block_count + 1, sizeof(*out->of));
	if (out->of)
		out->count = scene->block_count;
	for (uint32_t i = 0; i < out->count; i++) {
		out->of[i].freed = UINT64_MAX;
		out->of[i].life = FRAG_LIFE_UNKNOWN;
	}
	s.failed = !frag_makers_init(&s.makers, tape) || !out->of || !note_slots(&s);
	rc = block_classes_read_tape(&s, tape, err);
	if (!rc && !frag_lasting_find(&s.marks))
		rc = frag_fail_nomem(err);
	if (!rc && !frag_makers_end(&s.makers))
		rc = frag_fail_nomem(err);
	if (!rc && s.makers.any)
		classify_by_makers(&s);
	else if (!rc)
		classify_all(&s);
	if (!rc && !s.makers.any && s.marks.count && !s.optimizer.count && !guess_optimizer(&s))
		rc = frag_fail_nomem(err);
	free(s.block_of);
	free(s.marks.mark);
	frag_optimizer_fini(&s.optimizer);
	frag_makers_fini(&s.makers);
	return rc;
}

void frag_lifetimes_fini(struct frag_lifetimes *lifetimes)
{
	for (uint32_t i = 0; i < lifetimes->count; i++)
		free(lifetimes->of[i].id);
	free(lifetimes->of);
	*lifetimes = (struct frag_lifetimes){ .count = 0 };
}
