/* rounds.c - where a program begins again: its rounds, and the memory that they use. */
#include "iterations/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "events/tape.h"
#include "iterations/call_loops.h"
#include "iterations/leak_detect.h"
#include "iterations/levels.h"

#define LOOP_MIN 4              /* rounds */
#define LOOP_AFTER_MIN 5        /* after the last mark */
#define NOT_LIVE UINT32_MAX

/* A block is of the same kind as another with its stack, or without stacks with its size. */
static uint64_t rounds_kind_of(const struct frag_tape *tape, const struct frag_tape_event *e)
{
	const uint32_t stack = tape->sites[e->site].whole;

	return stack ? (uint64_t)stack << 1 : (e->word >> FRAG_TAPE_VALUE_SHIFT) << 1 | 1;
}

static bool kinds_from(struct frag_map *kinds, const struct frag_tape *tape, uint64_t from,
		       uint64_t end)
{
	bool good = true;

	for (uint64_t i = from; i < end && good; i++)
		if (frag_tape_is_alloc(&tape->events[i])
		    && frag_map_get(kinds, rounds_kind_of(tape, &tape->events[i])) == FRAG_MAP_NONE)
			good = frag_map_add(kinds, rounds_kind_of(tape, &tape->events[i]), 0);
	return good;
}

/* The blocks that are live before event `end`, by slot: the event of each. NULL: out of memory. */
static uint32_t *live_at(const struct frag_tape *tape, uint64_t end, uint32_t *count)
{
	uint32_t *slots = NULL, capacity = 0;

	*count = 0;
	for (uint32_t i = 0; i < end; i++) {
		const struct frag_tape_event *e = &tape->events[i];

		if (frag_tape_is_alloc(e)) {
			if (!FRAG_GROW(slots, capacity, e->slot)) {
				free(slots);
				return NULL;
			}
			while (*count <= e->slot)
				slots[(*count)++] = NOT_LIVE;
			slots[e->slot] = i;
		} else if (frag_tape_op(e) == FRAG_OP_FREE && e->slot < *count) {
			slots[e->slot] = NOT_LIVE;
		}
	}
	return slots ? slots : calloc(1, sizeof(*slots));
}

/* A block from before the second round that stays, and that no later round makes. */
static bool is_base(const struct frag_iterations *it, const struct frag_tape *tape,
		    const struct frag_map *kinds, uint32_t event)
{
	/* blocks from before the first event are the first ones, and may have any stack */
	return event < it->start[1]
	       && (event < tape->spot_count
		   || frag_map_get(kinds, rounds_kind_of(tape, &tape->events[event]))
			      == FRAG_MAP_NONE);
}

int frag_rounds_find_base(struct frag_rounds_base *base, const struct frag_iterations *it,
			  const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_map kinds;
	uint32_t count = 0, *live;
	bool good = frag_map_init(&kinds, frag_hash_seed()) && kinds_from(&kinds, tape, it->start[1],
									it->end);

	*base = (struct frag_rounds_base){ .bytes = 0 };
	live = good ? live_at(tape, it->start[it->count - 1], &count) : NULL;
	for (uint32_t i = 0; live && i < count; i++) {
		if (live[i] == NOT_LIVE || !is_base(it, tape, &kinds, live[i]))
			continue;
		base->bytes += tape->events[live[i]].word >> FRAG_TAPE_VALUE_SHIFT;
		base->blocks++;
	}
	base->enough = base->bytes > FRAG_LEVEL_MIN;
	frag_map_fini(&kinds);
	free(live);
	return good && live ? 0 : frag_fail_nomem(err);
}

/* By sizes alone a round that frees nothing may be anything. */
static bool each_frees(const struct frag_iterations *it, const struct frag_tape *tape)
{
	uint32_t round = 0, last = 0;

	for (uint32_t i = 0; i < it->end; i++) {
		while (round < it->count && it->start[round] <= i)
			round++;
		if (frag_tape_op(&tape->events[i]) != FRAG_OP_FREE)
			continue;
		if (round > last + 1)
			return false;
		last = round;
	}
	return last + 1 >= it->count;
}

/* Keeps rounds that have a base. */
static int keep_prepared(struct frag_iterations *it, const struct frag_tape *tape,
			 struct frag_error *err)
{
	struct frag_rounds_base base;
	int rc;

	if (it->count < LOOP_MIN)
		return 0;
	rc = frag_rounds_find_base(&base, it, tape, err);
	if (!rc && (!base.enough || (!it->loop && !each_frees(it, tape))))
		it->count = 0;
	return rc;
}

/* Takes other iterations instead, if there are any. */
static void replace_rounds(struct frag_iterations *it, struct frag_iterations *other)
{
	if (other->count >= LOOP_MIN) {
		const struct frag_iterations before = *it;

		*it = *other;
		*other = before;
	}
	frag_iterations_fini(other);
}

int frag_rounds_find(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
		     uint64_t until, struct frag_error *err)
{
	struct frag_iterations other = { .count = 0 };
	bool any = false;
	int rc = frag_iterations_by_marks(it, tape, mark, until, err);

	if (rc || mark || it->count >= LOOP_MIN)
		return rc;
	rc = frag_loops_find(&other, tape, &(struct frag_loop_search){
		.until = until, .least = LOOP_MIN,
	}, &any, err);
	if (!rc && !any) {
		frag_iterations_fini(&other);
		rc = frag_iterations_by_sizes(&other, tape, until, err);
	}
	rc = rc ? rc : keep_prepared(&other, tape, err);
	if (rc)
		other.count = 0;
	replace_rounds(it, &other);
	return rc;
}

int frag_rounds_after(struct frag_iterations *it, const struct frag_tape *tape, uint64_t last_mark,
		      uint64_t until, struct frag_error *err)
{
	bool any;

	return frag_loops_find(it, tape, &(struct frag_loop_search){
		.from = last_mark, .until = until, .least = LOOP_AFTER_MIN,
	}, &any, err);
}

/* Does the mark say that a step of an optimizer is over? */
static bool ends_step(const struct frag_text *text)
{
	static const char step[] = "Optimizer.step", end[] = "(end)";
	const size_t n = sizeof(step) - 1, m = sizeof(end) - 1;

	return text->length >= n + m && memcmp(text->text, step, n) == 0
	       && memcmp(text->text + text->length - m, end, m) == 0;
}

/* Where the last step of the optimizer ends that begins at `from`; `to`: nowhere before a forward pass. */
static uint64_t turn_between(const struct frag_tape *tape, uint64_t from, uint64_t to, uint32_t *rare)
{
	uint64_t turn = to;

	for (uint64_t i = from; i < to; i++) {
		const struct frag_tape_event *e = &tape->events[i];
		struct frag_text text;

		if (frag_tape_is_alloc(e)
		    && frag_maker_of(tape->sites[e->site].members) == FRAG_MAKER_FORWARD)
			break;
		if (frag_tape_op(e) != FRAG_OP_MARK)
			continue;
		while (tape->rare[*rare].event < i)
			++*rare;
		text = frag_tape_text(tape->texts, &tape->rare[*rare]);
		if (ends_step(&text))
			turn = i;
	}
	return turn;
}

uint64_t *frag_rounds_turns(const struct frag_iterations *it, const struct frag_tape *tape)
{
	uint64_t *turns = malloc(((size_t)it->count + 1) * sizeof(*turns));
	uint32_t rare = 0;

	for (uint32_t i = 0; i < it->count && turns; i++) {
		const uint64_t to = i + 1 < it->count ? it->start[i + 1] : tape->count;

		turns[i] = it->by == FRAG_BY_OPTIMIZER ? turn_between(tape, it->start[i], to, &rare) : to;
	}
	return turns;
}
