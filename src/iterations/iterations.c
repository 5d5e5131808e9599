/* iterations.c - where the iterations of a program begin. */
#include "iterations/iterations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/output_path.h"
#include "base/escape.h"
#include "events/repeated_marks.h"
#include "events/tape.h"

#define WINDOW 16               /* allocations */

/* One mark, or one window of allocations. */
struct sign {
	uint64_t key;
	uint64_t event;
	const char *kind;       /* of a mark; the marks own them */
};

struct signs {
	struct sign *of;
	uint32_t count, capacity;
};

static bool iterations_add(struct signs *s, struct sign sign)
{
	if (!frag_grow(&s->of, &s->capacity, (uint64_t)s->count + 1, sizeof(*s->of)))
		return false;
	s->of[s->count++] = sign;
	return true;
}

static void iterations_release(struct signs *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free((char *)(uintptr_t)s->of[i].kind);
	free(s->of);
	*s = (struct signs){ .count = 0 };
}

static bool add_mark(struct signs *marks, struct frag_text name, uint64_t event)
{
	char *kind = frag_mark_kind(name.text, name.length);

	if (kind && iterations_add(marks, (struct sign){ .kind = kind, .event = event }))
		return true;
	free(kind);
	return false;
}

/* The sizes of the last WINDOW allocations, as one number that each new one moves on. */
struct rolling {
	uint64_t last[WINDOW];
	uint64_t sum, top;      /* top: FACTOR to the power of WINDOW */
	uint32_t count;
};
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static void roll(struct rolling *r, uint64_t bytes)
{
	const uint64_t value = frag_hash_mix(bytes + 1);
	uint64_t *place = &r->last[r->count++ % WINDOW];

	r->sum = r->sum * FACTOR + value - r->top * *place;
	*place = value;
}

/* A tape has its marks beside its events. */
static bool read_marks(const struct frag_tape *tape, struct signs *marks)
{
	bool good = true;

	for (uint32_t i = 0; i < tape->rare_count && good; i++) {
		const struct frag_tape_rare *rare = &tape->rare[i];

		if (frag_tape_op(&tape->events[rare->event]) == FRAG_OP_MARK)
			good = add_mark(marks, frag_tape_text(tape->texts, rare), rare->event);
	}
	return good;
}

static bool read_windows(const struct frag_tape *tape, struct signs *windows)
{
	struct rolling rolling = { .top = 1 };
	bool good = true;

	for (uint32_t i = 0; i < WINDOW; i++)
		rolling.top *= FACTOR;
	for (uint32_t i = 0; i < tape->count && good; i++) {
		if (!frag_tape_is_alloc(&tape->events[i]))
			continue;
		roll(&rolling, tape->events[i].word >> FRAG_TAPE_VALUE_SHIFT);
		if (rolling.count >= WINDOW)
			good = iterations_add(windows,
					      (struct sign){ .key = rolling.sum, .event = i });
	}
	return good;
}

static int by_kind(const void *one, const void *other)
{
	const struct sign *a = one, *b = other;
	const int order = strcmp(a->kind, b->kind);

	return order ? order : a->event < b->event ? -1 : a->event > b->event;
}

static int by_key(const void *one, const void *other)
{
	const struct sign *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

/* Those from `first` on are equal: the first that is not. */
static uint32_t iterations_end_of(const struct signs *s, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < s->count
	       && (s->of[first].kind ? strcmp(s->of[end].kind, s->of[first].kind) == 0
				     : s->of[end].key == s->of[first].key))
		end++;
	return end;
}

static int iterations_take(struct frag_iterations *it, const struct sign *first, uint32_t count,
			   struct frag_error *err)
{
	it->start = malloc(count * sizeof(*it->start));
	it->mark = first->kind ? frag_mark_kind(first->kind, strlen(first->kind)) : NULL;
	if (!it->start || (first->kind && !it->mark))
		return frag_fail_nomem(err);
	for (; it->count < count; it->count++)
		it->start[it->count] = first[it->count].event;
	return 0;
}

/* The kind that there are most of, or the one that is wanted. */
static int take_marks(struct frag_iterations *it, struct signs *marks, const char *wanted,
		      struct frag_error *err)
{
	const struct sign *best = NULL;
	uint32_t count = 0, end;

	if (marks->count)
		qsort(marks->of, marks->count, sizeof(*marks->of), by_kind);
	for (uint32_t i = 0; i < marks->count; i = end) {
		const struct sign *first = &marks->of[i];

		end = iterations_end_of(marks, i);
		if (wanted ? strcmp(first->kind, wanted) != 0 : end - i < count)
			continue;
		if (!wanted && best && end - i == count && first->event > best->event)
			continue;
		best = first;
		count = end - i;
	}
	if (best && (wanted || count >= FRAG_ITERATIONS_MIN))
		return iterations_take(it, best, count, err);
	return 0;
}

/*
 * The distance at which all of these come again, through half of the events at least; 0: there is
 * none. What comes again within two windows is one allocation after the other, and no iteration.
 */
static uint64_t distance_of(const struct sign *first, uint32_t count, uint64_t events)
{
	const uint64_t distance = count < FRAG_ITERATIONS_MIN ? 0 : first[1].event - first->event;

	for (uint32_t i = 2; i < count; i++)
		if (first[i].event - first[i - 1].event != distance)
			return 0;
	return distance > 2 * WINDOW && distance * count >= events / 2 ? distance : 0;
}

/* Windows that come again at one distance: how many agree on it. */
struct beat {
	uint64_t distance;
	uint32_t votes;
	const struct sign *first;       /* that comes most often, the earliest of such */
	uint32_t count;
};

struct beats {
	struct beat *of;
	uint32_t count, capacity;
	struct frag_map at;     /* by distance */
};

static bool vote(struct beats *b, uint64_t distance, const struct sign *first, uint32_t count)
{
	uint32_t at = frag_map_get(&b->at, distance);
	struct beat *beat;

	if (at == FRAG_MAP_NONE) {
		at = b->count;
		if (!frag_grow(&b->of, &b->capacity, (uint64_t)b->count + 1, sizeof(*b->of))
		    || !frag_map_add(&b->at, distance, at))
			return false;
		b->of[b->count++] = (struct beat){ .distance = distance };
	}
	beat = &b->of[at];
	beat->votes++;
	if (count > beat->count || (count == beat->count && first->event < beat->first->event)) {
		beat->first = first;
		beat->count = count;
	}
	return true;
}

static int take_windows(struct frag_iterations *it, struct signs *windows, uint64_t events,
			struct frag_error *err)
{
	struct beats beats = { .count = 0 };
	const struct beat *best = NULL;
	bool good = frag_map_init(&beats.at, frag_hash_seed());
	uint32_t end;
	int rc = 0;

	if (windows->count)
		qsort(windows->of, windows->count, sizeof(*windows->of), by_key);
	for (uint32_t i = 0; i < windows->count && good; i = end) {
		uint64_t distance;

		end = iterations_end_of(windows, i);
		distance = distance_of(&windows->of[i], end - i, events);
		good = !distance || vote(&beats, distance, &windows->of[i], end - i);
	}
	for (const struct beat *b = beats.of; b && b < beats.of + beats.count; b++)
		if (!best || b->votes > best->votes
		    || (b->votes == best->votes && b->distance > best->distance))
			best = b;
	rc = !good  ? frag_fail_nomem(err)
	     : best ? iterations_take(it, best->first, best->count, err)
		    : 0;
	frag_map_fini(&beats.at);
	free(beats.of);
	return rc;
}

/* What cannot be answered, and what would help. */
static int iterations_judge(const struct frag_iterations *it, const struct frag_tape *tape,
			    const char *mark, struct frag_error *err)
{
	const char *path = frag_input_name(frag_tape_info(tape)->path);
	char name[FRAG_PRINTABLE_ROOM];

	if (it->count >= FRAG_ITERATIONS_MIN)
		return 0;
	if (it->count || mark)
		return frag_fail(err, FRAG_ETRACE, "%s: %" PRIu32 " mark%s called %s: at least %d"
				 " iterations are required", path, it->count,
				 it->count == 1 ? " is" : "s are",
				 frag_printable(name, mark ? mark : it->mark), FRAG_ITERATIONS_MIN);
	return frag_fail(err, FRAG_ETRACE,
			 "%s: no iterations are to be seen: no kind of mark comes %d"
			 " times, and no sizes come again at one distance",
			 path, FRAG_ITERATIONS_MIN);
}

int frag_iterations_find(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
			 struct frag_error *err)
{
	struct signs marks = { .count = 0 }, windows = { .count = 0 };
	char *wanted = mark ? frag_mark_kind(mark, strlen(mark)) : NULL;
	int rc = 0;

	*it = (struct frag_iterations){ .count = 0 };
	if ((mark && !wanted) || !read_marks(tape, &marks))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : take_marks(it, &marks, wanted, err);
	iterations_release(&marks);
	if (!rc && !it->count && !mark) {
		rc = read_windows(tape, &windows)
			     ? take_windows(it, &windows, frag_tape_event(tape, UINT64_MAX), err)
			     : frag_fail_nomem(err);
		iterations_release(&windows);
	}
	free(wanted);
	return rc ? rc : iterations_judge(it, tape, mark, err);
}

void frag_iterations_fini(struct frag_iterations *it)
{
	free(it->start);
	free(it->mark);
}
