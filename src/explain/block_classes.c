/* block_classes.c - the blocks of a moment: their names, their ends, and what they are by these. */
#include "explain/block_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/parse.h"
#include "events/id_map.h"
#include "events/repeated_marks.h"
#include "events/tape.h"
#include "explain/memory_categories.h"
#include "fragsim/engine.h"

/*
 * What blocks are, by the part of the program that requested them.
 *
 * A recording with stacks records for each request whether a module was set up, or a forward
 * pass, a backward pass or an optimizer asked (enum frag_maker). Where others have a stack and
 * one has none, a thread without Python frames asked: that of autograd. Requests of one part, up
 * to the next part, are a *phase*. So:
 *
 *   set up, and not freed before the phase ends         weights
 *   forward, recomputed forward                         activations
 *   backward, there at the last request of the phase,
 *   has the size of a weight, or of one that the program
 *   frees outside backward passes                       gradients; else activations
 *   optimizer, outlives the next steps                  optimizer state; else temporaries
 *   program, between backward and optimizer, of such a size         gradients, by size
 *   program, before the first optimizer step, never freed, has the
 *   size of an optimizer's state                                    weights, by size
 *   program, between forward and backward, freed, or freed
 *   between the requests of a later backward phase                  activations
 *
 * Instead of a stack a tag may have the phase: "op | step1 bwd", as scripts/record_torch.py writes
 * it. These are used where the tags of a recording have forward and backward phases.
 *
 * Of blocks from before the recording, those of sizes that gradients have: what is freed were
 * gradients. Each weight has one gradient and the same number of optimizer states, so of the others
 * there is a multiple of the gradients, one for all sizes: the first part is weights, the others
 * optimizer state. Sizes with more blocks have others too, such as frozen weights. All else is
 * unknown.
 */

/* Requests of one part of the program, up to the next phase. */
struct frag_phase {
	uint64_t from, last;            /* steps of its first and last request */
	enum frag_maker part;           /* never UNKNOWN or RECOMPUTE */
};

/* How many blocks of a size were set up, outlived one backward phase, or one optimizer phase. */
struct frag_size_counts {
	uint64_t bytes;
	uint32_t set_up, gradients, optimizer;
	uint32_t before;                /* older than the recording, */
	uint32_t before_freed;          /* and freed in it */
	uint32_t classified;            /* of these, so far */
	uint32_t released;              /* by the program, and made by a backward pass */
};

struct frag_maker_slot {
	uint64_t bytes;
	uint32_t phase;                 /* in which it was requested, and 1; 0: nothing is here */
};

/* Zeroed: nothing is known. */
struct frag_makers {
	struct frag_phase *phases;      /* in their order */
	uint32_t phase_count, phase_capacity;
	struct frag_maker_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct frag_map row_of;         /* by bytes */
	struct frag_size_counts *rows;
	uint32_t row_count, row_capacity;
	uint32_t ends[FRAG_MAKER_PROGRAM + 1];  /* phases of a part whose survivors were counted */
	bool any;                       /* some request has a stack, or all have a phase */
	uint8_t *of_tag;                /* by tag: its phase; NULL: stacks say it */
	uint32_t tag_count;
	uint64_t first_optimizer;       /* step; UINT64_MAX: none */
	uint32_t multiple;              /* of the gradients; 0: not known yet */
};

#define PHASE_BEFORE UINT32_MAX /* in no phase: from before the recording */

/* The maker of a block from before the recording. */
#define FRAG_MAKER_BEFORE (FRAG_MAKER_PROGRAM + 1)

/* Phases of each part whose survivors are counted: the first ones may be cut by the recording. */
#define ENDS_MAX 4

/* Of "op | step1 bwd": the phase behind the last bar has one of these words. */
static enum frag_maker makers_of_tag(struct frag_text tag)
{
	static const struct {
		const char *word;
		enum frag_maker maker;
	} words[] = {
		{ "init", FRAG_MAKER_SETUP },	      { "fwd", FRAG_MAKER_FORWARD },
		{ "forward", FRAG_MAKER_FORWARD },    { "bwd", FRAG_MAKER_BACKWARD },
		{ "backward", FRAG_MAKER_BACKWARD },  { "opt", FRAG_MAKER_OPTIMIZER },
		{ "optimizer", FRAG_MAKER_OPTIMIZER },
	};
	uint32_t at = tag.length;

	while (at >= 3 && memcmp(tag.text + at - 3, " | ", 3) != 0)
		at--;
	for (uint32_t end = at; at >= 3 && end < tag.length; at = end + 1) {
		end = at;
		while (end < tag.length && tag.text[end] != ' ')
			end++;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i].word) == end - at
			    && memcmp(tag.text + at, words[i].word, end - at) == 0)
				return words[i].maker;
	}
	return FRAG_MAKER_UNKNOWN;
}

/* The phases of the tags, where these have forward and backward ones and no stack says more. */
static bool makers_read_tags(struct frag_makers *m, const struct frag_tape *tape)
{
	const struct frag_symbols *symbols = frag_tape_symbols(tape);
	bool has[FRAG_MAKER_PROGRAM + 1] = { false }, stacks = false;

	for (uint32_t i = 0; i < tape->site_count; i++) {
		stacks |= frag_maker_of(tape->sites[i].members) != FRAG_MAKER_UNKNOWN;
		if (tape->sites[i].tag >= m->tag_count)
			m->tag_count = tape->sites[i].tag + 1;
	}
	if (stacks)
		return true;
	m->of_tag = calloc((size_t)m->tag_count + 1, sizeof(*m->of_tag));
	if (!m->of_tag)
		return false;
	for (uint32_t i = 0; i < tape->site_count; i++) {
		const uint32_t tag = tape->sites[i].tag;

		if (!tag || m->of_tag[tag])
			continue;
		m->of_tag[tag] = (uint8_t)makers_of_tag(frag_symbols_tag(symbols, tag));
		has[m->of_tag[tag]] = true;
	}
	m->any = has[FRAG_MAKER_FORWARD] && has[FRAG_MAKER_BACKWARD];
	if (!m->any) {
		free(m->of_tag);
		m->of_tag = NULL;
	}
	return true;
}

/* False: out of memory; call fini in both cases. */
static bool makers_init(struct frag_makers *m, const struct frag_tape *tape)
{
	*m = (struct frag_makers){ .first_optimizer = UINT64_MAX };
	return frag_map_init(&m->row_of, frag_hash_seed()) && makers_read_tags(m, tape);
}

static void makers_fini(struct frag_makers *m)
{
	free(m->of_tag);
	free(m->phases);
	free(m->slots);
	free(m->rows);
	frag_map_fini(&m->row_of);
}

static struct frag_size_counts *makers_find_row(const struct frag_makers *m, uint64_t bytes)
{
	const uint32_t row = frag_map_get(&m->row_of, bytes);

	return row == FRAG_MAP_NONE ? NULL : &m->rows[row];
}

/* NULL: out of memory. */
static struct frag_size_counts *makers_row(struct frag_makers *m, uint64_t bytes)
{
	if (makers_find_row(m, bytes))
		return makers_find_row(m, bytes);
	if (!FRAG_GROW(m->rows, m->row_capacity, m->row_count)
	    || !frag_map_add(&m->row_of, bytes, m->row_count))
		return NULL;
	m->rows[m->row_count] = (struct frag_size_counts){ .bytes = bytes };
	return &m->rows[m->row_count++];
}

/* The blocks of the last phase that are still there, by size, as it ends. False: out of memory. */
static bool makers_count_survivors(struct frag_makers *m)
{
	const enum frag_maker part = m->phases[m->phase_count - 1].part;
	uint32_t *counts;

	if (part != FRAG_MAKER_SETUP && part != FRAG_MAKER_BACKWARD && part != FRAG_MAKER_OPTIMIZER)
		return true;
	if (m->ends[part] == ENDS_MAX)
		return true;
	counts = calloc((size_t)m->row_count + m->slot_count + 1, sizeof(*counts));
	if (!counts)
		return false;
	for (uint32_t i = 0; i < m->slot_count; i++) {
		struct frag_size_counts *row;

		if (m->slots[i].phase != m->phase_count)
			continue;
		row = makers_row(m, m->slots[i].bytes);
		if (!row) {
			free(counts);
			return false;
		}
		counts[row - m->rows]++;
	}
	for (uint32_t i = 0; i < m->row_count; i++) {
		uint32_t *most = part == FRAG_MAKER_SETUP      ? &m->rows[i].set_up
				 : part == FRAG_MAKER_BACKWARD ? &m->rows[i].gradients
							       : &m->rows[i].optimizer;

		*most = counts[i] > *most ? counts[i] : *most;
	}
	m->ends[part] += m->ends[part] < ENDS_MAX;
	free(counts);
	return true;
}

/* Which phase a request belongs to: what is recomputed is part of the backward pass. */
static enum frag_maker makers_part(uint8_t maker)
{
	return maker == FRAG_MAKER_RECOMPUTE ? FRAG_MAKER_BACKWARD : (enum frag_maker)maker;
}

/* Notes the phase in which a block was allocated; another part of the program begins a phase. */
static bool makers_note_alloc(struct frag_makers *m, const struct frag_event *ev, uint8_t maker)
{
	const enum frag_maker part = makers_part(maker);
	const struct frag_phase *last = m->phase_count ? &m->phases[m->phase_count - 1] : NULL;

	if (!FRAG_EXTEND(m->slots, m->slot_capacity, m->slot_count, ev->slot))
		return false;
	if (maker == FRAG_MAKER_BEFORE) {
		struct frag_size_counts *row = makers_row(m, ev->bytes);

		if (row)
			row->before++;
		m->slots[ev->slot] = (struct frag_maker_slot){
			.bytes = ev->bytes, .phase = PHASE_BEFORE,
		};
		return row;
	}
	if (!last || last->part != part) {
		if (last && !makers_count_survivors(m))
			return false;
		if (!FRAG_GROW(m->phases, m->phase_capacity, m->phase_count))
			return false;
		m->phases[m->phase_count++] = (struct frag_phase){ .from = ev->step, .part = part };
	}
	m->phases[m->phase_count - 1].last = ev->step;
	if (part == FRAG_MAKER_OPTIMIZER && m->first_optimizer == UINT64_MAX)
		m->first_optimizer = ev->step;
	m->slots[ev->slot] = (struct frag_maker_slot){
		.bytes = ev->bytes, .phase = m->phase_count,
	};
	return true;
}

/* Of a profiler's trace it is known who frees. False: out of memory. */
static bool makers_note_free(struct frag_makers *m, struct frag_maker_slot *slot,
			     enum frag_maker maker)
{
	struct frag_size_counts *row;

	if (slot->phase == PHASE_BEFORE) {
		makers_find_row(m, slot->bytes)->before_freed++;
	} else if (slot->phase && maker != FRAG_MAKER_UNKNOWN
		   && makers_part((uint8_t)maker) != FRAG_MAKER_BACKWARD
		   && m->phases[slot->phase - 1].part == FRAG_MAKER_BACKWARD) {
		row = makers_row(m, slot->bytes);
		if (!row)
			return false;
		row->released++;
	}
	slot->phase = 0;
	return true;
}

/* The next event. *maker: of an alloc, or FRAG_MAKER_BEFORE. False: out of memory (host). */
static bool makers_note(struct frag_makers *m, const struct frag_event *ev, uint8_t *maker)
{
	*maker = FRAG_MAKER_UNKNOWN;
	if (ev->op == FRAG_OP_FREE && ev->slot < m->slot_count
	    && !makers_note_free(m, &m->slots[ev->slot], frag_maker_of(ev->members)))
		return false;
	if (ev->op != FRAG_OP_ALLOC)
		return true;
	*maker = (uint8_t)frag_maker_of(ev->members);
	if (m->of_tag) {
		*maker = ev->tag < m->tag_count ? m->of_tag[ev->tag] : FRAG_MAKER_UNKNOWN;
		*maker = *maker ? *maker : FRAG_MAKER_PROGRAM;
	}
	m->any |= *maker != FRAG_MAKER_UNKNOWN;
	if (*maker == FRAG_MAKER_UNKNOWN)
		*maker = m->any && !ev->place ? FRAG_MAKER_BACKWARD : FRAG_MAKER_BEFORE;
	return makers_note_alloc(m, ev, *maker);
}

/* The index of the first phase that begins after the step; phase_count: none does. */
static uint32_t makers_phase_after(const struct frag_makers *m, uint64_t step)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, m->phase_count, m->phases[low].from <= step);
	return low;
}

/*
 * Does a block of an optimizer stay? One that goes outlives two more steps first, or one if the
 * first step requested it in the size of a weight: a variable may keep a temporary that long. One
 * that is never freed was requested in the first step, outlives another, or has the size of a
 * weight: otherwise the recording may have ended before its free.
 */
static bool makers_is_state(const struct frag_makers *m, uint32_t after, uint64_t freed,
			    const struct frag_size_counts *row)
{
	const bool sized = row && (row->set_up || row->before || row->gradients);
	uint32_t steps = 0, before = 0;

	for (uint32_t i = 0; i + 1 < after && !before; i++)
		before += m->phases[i].part == FRAG_MAKER_OPTIMIZER;
	for (uint32_t i = after; i < m->phase_count && m->phases[i].from < freed && steps < 2; i++)
		steps += m->phases[i].part == FRAG_MAKER_OPTIMIZER;
	if (freed != UINT64_MAX)
		return steps == 2 || (steps && sized && !before);
	return steps || !before || sized;
}

/* Freed between the requests of a later backward pass, before an optimizer has used it. */
static bool makers_is_used_up(const struct frag_makers *m, uint32_t after, uint64_t freed)
{
	const uint32_t end = makers_phase_after(m, freed);

	for (uint32_t i = after; i < end; i++)
		if (m->phases[i].part == FRAG_MAKER_OPTIMIZER)
			return false;
	return end > after && m->phases[end - 1].part == FRAG_MAKER_BACKWARD
	       && freed <= m->phases[end - 1].last;
}

/* Of a block that the program itself requested: which phases are around it decides, and sizes. */
static enum frag_life_class makers_program_class(const struct frag_makers *m, uint32_t after,
						 uint64_t birth, uint64_t freed,
						 const struct frag_size_counts *row,
						 enum frag_class_evidence *evidence)
{
	const bool never = freed == UINT64_MAX;
	const enum frag_maker next = after < m->phase_count ? m->phases[after].part
							    : FRAG_MAKER_UNKNOWN;
	const enum frag_maker previous = after > 1 ? m->phases[after - 2].part : FRAG_MAKER_UNKNOWN;
	const bool sized = row && (row->set_up || row->optimizer);

	*evidence = FRAG_EVIDENCE_SIZES;
	if (never && birth < m->first_optimizer && row && row->optimizer)
		return FRAG_LIFE_WEIGHTS;
	/* copies of gradients in another precision; where the pass left its own, they are others */
	if (previous == FRAG_MAKER_BACKWARD && next == FRAG_MAKER_OPTIMIZER && sized
	    && !row->gradients)
		return FRAG_LIFE_GRADIENTS;
	*evidence = m->of_tag ? FRAG_EVIDENCE_MARKS : FRAG_EVIDENCE_STACK;
	/* a block that is freed within a backward pass was saved for it */
	if (!never && ((previous == FRAG_MAKER_FORWARD && next == FRAG_MAKER_BACKWARD)
		       || makers_is_used_up(m, after, freed)))
		return FRAG_LIFE_ACTIVATIONS;
	*evidence = FRAG_EVIDENCE_NONE;
	return FRAG_LIFE_UNKNOWN;
}

/*
 * How many blocks that stay there are for each gradient: weights, and optimizer states. The smallest
 * multiple of all sizes, at most three: no common optimizer keeps more than two states.
 */
static uint32_t makers_multiple(struct frag_makers *m)
{
	const uint32_t most = m->first_optimizer == UINT64_MAX ? 1 : 3;

	if (!m->multiple)
		m->multiple = most;
	else
		return m->multiple;
	for (uint32_t i = 0; i < m->row_count; i++) {
		const struct frag_size_counts *row = &m->rows[i];
		const uint32_t kept = row->before - row->before_freed;

		if (row->gradients && kept >= row->gradients)
			m->multiple = (uint32_t)frag_min(m->multiple, kept / row->gradients);
	}
	return m->multiple;
}

/* Is this the one block that stands for all memory from before a profile, and as large as all gradients? */
static bool makers_are_all_weights(const struct frag_makers *m, uint64_t bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->row_count; i++)
		sum += m->rows[i].bytes * m->rows[i].gradients;
	return sum == bytes;
}

/* Of a block from before the recording: of its size, and of how many were classified before it. */
static enum frag_life_class makers_before_class(struct frag_makers *m, bool never,
						struct frag_size_counts *row,
						enum frag_class_evidence *evidence)
{
	uint32_t place;

	*evidence = FRAG_EVIDENCE_SIZES;
	if (row && row->before == 1 && never && makers_are_all_weights(m, row->bytes))
		return FRAG_LIFE_WEIGHTS;
	if (!row || !row->gradients) {
		*evidence = FRAG_EVIDENCE_NONE;
		return FRAG_LIFE_UNKNOWN;
	}
	if (!never)
		return FRAG_LIFE_GRADIENTS;
	place = row->classified++;
	if (row->before - row->before_freed == makers_multiple(m) * row->gradients)
		return place < row->gradients ? FRAG_LIFE_WEIGHTS : FRAG_LIFE_OPTIMIZER;
	*evidence = FRAG_EVIDENCE_NONE;
	return FRAG_LIFE_UNKNOWN;
}

/* Derives the class of a block from the part that allocated it and from its lifetime. */
static enum frag_life_class makers_class(struct frag_makers *m, uint8_t maker, uint64_t birth,
					 uint64_t freed, uint64_t bytes,
					 enum frag_class_evidence *evidence)
{
	const bool never = freed == UINT64_MAX;
	const uint32_t after = makers_phase_after(m, birth);
	const bool ends = after < m->phase_count;
	/* a block that is never freed outlives a phase that the recording cuts */
	const bool outlives = never || (ends && freed > m->phases[after].from);
	struct frag_size_counts *row = makers_find_row(m, bytes);

	*evidence = m->of_tag ? FRAG_EVIDENCE_MARKS : FRAG_EVIDENCE_STACK;
	switch (maker) {
	case FRAG_MAKER_SETUP:
		return outlives ? FRAG_LIFE_WEIGHTS : FRAG_LIFE_TEMPORARIES;
	case FRAG_MAKER_FORWARD:
	case FRAG_MAKER_RECOMPUTE:
		return FRAG_LIFE_ACTIVATIONS;
	case FRAG_MAKER_BACKWARD:
		/*
		 * gradients may go before another phase begins, where an optimizer requests
		 * nothing
		 */
		if (!never && (!after || freed <= m->phases[after - 1].last
			       || makers_is_used_up(m, after, freed)))
			return FRAG_LIFE_ACTIVATIONS;
		if (row && (row->set_up || row->optimizer || row->before || row->released))
			return FRAG_LIFE_GRADIENTS;
		/* or a library's workspace; of a tensor without a module, a gradient */
		if (never && m->ends[FRAG_MAKER_SETUP])
			return FRAG_LIFE_ACTIVATIONS;
		*evidence = FRAG_EVIDENCE_NONE;
		return FRAG_LIFE_UNKNOWN;
	case FRAG_MAKER_OPTIMIZER:
		return makers_is_state(m, after, freed, row) ? FRAG_LIFE_OPTIMIZER
							     : FRAG_LIFE_TEMPORARIES;
	case FRAG_MAKER_PROGRAM:
		return makers_program_class(m, after, birth, freed, row, evidence);
	default:
		return makers_before_class(m, never, row, evidence);
	}
}

/* From the mark that begins one up to the next mark. */
struct frag_optimizer_step {
	uint64_t from, to;      /* steps of the trace; to: UINT64_MAX where no mark follows */
};

struct frag_optimizer_steps {
	struct frag_optimizer_step *of;
	uint32_t count, capacity;
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* "step0 opt", "Optimizer.step#AdamW.step"; not "options", "adopt". */
static bool names_optimizer(const struct frag_text *name)
{
	static const char word[] = "optim";

	for (uint32_t at = 0; at < name->length; at++) {
		uint32_t same = 0;

		if (at && frag_is_letter(name->text[at - 1]))
			continue;
		while (same < sizeof(word) - 1 && at + same < name->length
		       && lower(name->text[at + same]) == word[same])
			same++;
		if (same == sizeof(word) - 1)
			return true;
		if (same == 3
		    && (at + 3 == name->length || !frag_is_letter(name->text[at + 3])))
			return true;
	}
	return false;
}

/* The next mark of the trace. False: out of memory; release it also then. */
static bool optimizer_note(struct frag_optimizer_steps *s, const struct frag_event *mark)
{
	if (s->count && s->of[s->count - 1].to == UINT64_MAX)
		s->of[s->count - 1].to = mark->step;
	if (!names_optimizer(&mark->text))
		return true;
	if (!FRAG_GROW(s->of, s->capacity, s->count))
		return false;
	s->of[s->count++] = (struct frag_optimizer_step){ .from = mark->step, .to = UINT64_MAX };
	return true;
}

/* Is a block that is allocated at this step allocated in an optimizer step? */
static bool optimizer_covers(const struct frag_optimizer_steps *s, uint64_t birth)
{
	uint32_t low;

	/* the last that begins before it */
	FRAG_COUNT_WHILE(low, s->count, s->of[low].from < birth);
	return low && birth < s->of[low - 1].to;
}

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

	s->failed = s->failed || !makers_note(&s->makers, ev, &maker);
	if (ev->op == FRAG_OP_MARK
	    && (!optimizer_note(&s->optimizer, ev)
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
			return optimizer_covers(&s->optimizer, birth) ? FRAG_LIFE_OPTIMIZER
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
	for (uint32_t p = makers_phase_after(m, b->birth); p < m->phase_count && steps < 2; p++)
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
	const uint32_t after = makers_phase_after(m, birth);
	const bool never = life->freed == UINT64_MAX;
	const struct frag_size_counts *row = makers_find_row(m, bytes);
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
static void classify_by_pools(const struct survey *s)
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
			life->life = makers_class(&s->makers, life->maker, birth, life->freed,
						  b->requested, &life->evidence);
	}
}

/* Of a recording without stacks. */
static void classify_all(const struct survey *s)
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
static bool guess_optimizer(const struct survey *s)
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
	s.failed = !makers_init(&s.makers, tape) || !out->of || !note_slots(&s);
	rc = block_classes_read_tape(&s, tape, err);
	if (!rc && !frag_lasting_find(&s.marks))
		rc = frag_fail_nomem(err);
	if (!rc && s.makers.phase_count && !makers_count_survivors(&s.makers))
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
	makers_fini(&s.makers);
	return rc;
}
