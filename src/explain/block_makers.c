/* block_makers.c - the phases of a program, and what blocks are by the phase that requested them. */
#include "explain/block_makers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

#define PHASE_BEFORE UINT32_MAX /* in no phase: from before the recording */

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
	m->silent = !stacks;
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
	m->silent = !m->any;
	if (!m->any) {
		free(m->of_tag);
		m->of_tag = NULL;
	}
	return true;
}

/* False: out of memory; call fini in both cases. */
bool frag_makers_init(struct frag_makers *m, const struct frag_tape *tape)
{
	*m = (struct frag_makers){ .first_optimizer = UINT64_MAX };
	return frag_map_init(&m->row_of, frag_hash_seed()) && makers_read_tags(m, tape);
}

void frag_makers_fini(struct frag_makers *m)
{
	free(m->of_tag);
	free(m->phases);
	free(m->slots);
	free(m->rows);
	frag_map_fini(&m->row_of);
}

struct frag_size_counts *frag_makers_find_row(const struct frag_makers *m, uint64_t bytes)
{
	const uint32_t row = frag_map_get(&m->row_of, bytes);

	return row == FRAG_MAP_NONE ? NULL : &m->rows[row];
}

/* NULL: out of memory. */
static struct frag_size_counts *makers_row(struct frag_makers *m, uint64_t bytes)
{
	if (frag_makers_find_row(m, bytes))
		return frag_makers_find_row(m, bytes);
	if (!FRAG_GROW(m->rows, m->row_capacity, m->row_count)
	    || !frag_map_add(&m->row_of, bytes, m->row_count))
		return NULL;
	m->rows[m->row_count] = (struct frag_size_counts){ .bytes = bytes };
	return &m->rows[m->row_count++];
}

/* The blocks of the last phase that are still there, by size, as it ends. False: out of memory. */
bool frag_makers_count_survivors(struct frag_makers *m)
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
		if (last && !frag_makers_count_survivors(m))
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
		frag_makers_find_row(m, slot->bytes)->before_freed++;
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
bool frag_makers_note(struct frag_makers *m, const struct frag_event *ev, uint8_t *maker)
{
	*maker = m->silent && ev->op == FRAG_OP_ALLOC ? FRAG_MAKER_BEFORE : FRAG_MAKER_UNKNOWN;
	if (m->silent)
		return true;
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
uint32_t frag_makers_phase_after(const struct frag_makers *m, uint64_t step)
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
	const uint32_t end = frag_makers_phase_after(m, freed);

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
enum frag_life_class frag_makers_class(struct frag_makers *m, uint8_t maker, uint64_t birth,
					 uint64_t freed, uint64_t bytes,
					 enum frag_class_evidence *evidence)
{
	const bool never = freed == UINT64_MAX;
	const uint32_t after = frag_makers_phase_after(m, birth);
	const bool ends = after < m->phase_count;
	/* a block that is never freed outlives a phase that the recording cuts */
	const bool outlives = never || (ends && freed > m->phases[after].from);
	struct frag_size_counts *row = frag_makers_find_row(m, bytes);

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
