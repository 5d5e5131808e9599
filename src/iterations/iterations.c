/* iterations.c - where the iterations of a program begin. */
#include "iterations/iterations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "events/repeated_marks.h"
#include "events/tape.h"

#define WINDOW 16               /* allocations */
#define TAIL 64                 /* events */

/* One mark, or one window of allocations. */
struct sign {
	union {
		uint64_t key;           /* of a window */
		const char *kind;       /* of a mark; the marks own them */
	} of;
	uint32_t event;
	bool mark;
};

struct signs {
	struct sign *of;
	uint32_t count, capacity;
};

static bool iterations_add(struct signs *s, struct sign sign)
{
	if (!FRAG_GROW(s->of, s->capacity, s->count))
		return false;
	s->of[s->count++] = sign;
	return true;
}

static void iterations_release(struct signs *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->of[i].mark)
			free((char *)(uintptr_t)s->of[i].of.kind);
	free(s->of);
	*s = (struct signs){ .count = 0 };
}

static bool iterations_add_mark(struct signs *marks, struct frag_text name, uint32_t event)
{
	char *kind = frag_mark_kind(name.text, name.length);

	if (kind && iterations_add(marks, (struct sign){ .of.kind = kind, .event = event, .mark = true }))
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

/* The marks of a tape are in the list of its rare events. */
static bool iterations_read_marks(const struct frag_tape *tape, uint64_t until, struct signs *marks)
{
	bool good = true;

	for (uint32_t i = 0; i < tape->rare_count && tape->rare[i].event < until && good; i++) {
		const struct frag_tape_rare *rare = &tape->rare[i];

		if (frag_tape_op(&tape->events[rare->event]) == FRAG_OP_MARK)
			good = iterations_add_mark(marks, frag_tape_text(tape->texts, rare),
						   rare->event);
	}
	return good;
}

/* How often a window comes, about: others may be counted with it. */
struct counts {
	uint8_t *of;            /* FRAG_ITERATIONS_MIN: as often or more */
	uint32_t mask;
};

static uint8_t *count_of(const struct counts *c, uint64_t key)
{
	return &c->of[(uint32_t)(frag_hash_mix(key) & c->mask)];
}

/* Counts the windows; or else adds those that come often enough. False: out of memory. */
static bool roll_windows(const struct frag_tape *tape, uint32_t end, const struct counts *counts,
			 struct signs *windows)
{
	struct rolling rolling = { .top = 1 };
	bool good = true;

	for (uint32_t i = 0; i < WINDOW; i++)
		rolling.top *= FACTOR;
	for (uint32_t i = 0; i < end && good; i++) {
		uint8_t *count;

		if (!frag_tape_is_alloc(&tape->events[i]))
			continue;
		roll(&rolling, tape->events[i].word >> FRAG_TAPE_VALUE_SHIFT);
		if (rolling.count < WINDOW)
			continue;
		count = count_of(counts, rolling.sum);
		if (!windows)
			*count = *count < FRAG_ITERATIONS_MIN ? *count + 1 : *count;
		else if (*count == FRAG_ITERATIONS_MIN)
			good = iterations_add(windows, (struct sign){ .of.key = rolling.sum, .event = i });
	}
	return good;
}

/* Of a recording that never repeats, no window is stored. */
static bool read_windows(const struct frag_tape *tape, uint32_t end, struct signs *windows)
{
	struct counts counts = { .mask = WINDOW - 1 };
	bool good;

	while (counts.mask < tape->alloc_count)
		counts.mask = 2 * counts.mask + 1;
	counts.of = calloc((size_t)counts.mask + 1, sizeof(*counts.of));
	good = counts.of && roll_windows(tape, end, &counts, NULL)
	       && roll_windows(tape, end, &counts, windows);
	free(counts.of);
	return good;
}

static int by_kind(const void *one, const void *other)
{
	const struct sign *a = one, *b = other;
	const int order = strcmp(a->of.kind, b->of.kind);

	return order ? order : a->event < b->event ? -1 : a->event > b->event;
}

static int by_key(const void *one, const void *other)
{
	const struct sign *a = one, *b = other;

	return frag_order_two(a->of.key, b->of.key, a->event, b->event);
}

/* Those from `first` on are equal: the first that is not. */
static uint32_t iterations_end_of(const struct signs *s, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < s->count
	       && (s->of[first].mark ? strcmp(s->of[end].of.kind, s->of[first].of.kind) == 0
				     : s->of[end].of.key == s->of[first].of.key))
		end++;
	return end;
}

static int iterations_take(struct frag_iterations *it, const struct sign *first, uint32_t count,
			   struct frag_error *err)
{
	it->start = malloc(count * sizeof(*it->start));
	it->mark = first->mark ? frag_mark_kind(first->of.kind, strlen(first->of.kind)) : NULL;
	if (!it->start || (first->mark && !it->mark))
		return frag_fail_nomem(err);
	for (; it->count < count; it->count++)
		it->start[it->count] = first[it->count].event;
	return 0;
}

/*
 * PyTorch marks the steps of optimizers, and regions of compiled code: a pass has many of these. Its
 * profiler marks the steps that the program itself declares.
 */
enum mark_rank { RANK_COMPILER, RANK_OTHER, RANK_STEP, RANK_PROFILER };

static enum mark_rank rank_of(const struct sign *sign)
{
	static const char *const compiler[] = { "(dynamo_timed)", "Compiled", "AOTDispatcher", NULL };

	for (uint32_t i = 0; compiler[i]; i++)
		if (strstr(sign->of.kind, compiler[i]))
			return RANK_COMPILER;
	return strncmp(sign->of.kind, "Optimizer.step", strlen("Optimizer.step")) == 0 ? RANK_STEP
	       : strncmp(sign->of.kind, "ProfilerStep", strlen("ProfilerStep")) == 0 ? RANK_PROFILER
										  : RANK_OTHER;
}

/*
 * PyTorch marks each step of each optimizer. One without a forward pass since the last is of the
 * same iteration. The number of those that remain, which come first; all, if no pass is known.
 */
static uint32_t merge_steps(struct sign *steps, uint32_t count, const struct frag_tape *tape)
{
	uint32_t kept = 1, next = 1;
	bool pass = false;

	for (uint32_t e = steps->event; next < count; e++) {
		const struct frag_tape_event *ev = &tape->events[e];

		if (frag_tape_is_alloc(ev))
			pass |= frag_maker_of(tape->sites[ev->site].members) == FRAG_MAKER_FORWARD;
		if (e != steps[next].event)
			continue;
		if (pass)
			steps[kept++].event = e;
		pass = false;
		next++;
	}
	return kept > 1 ? kept : count;
}

/*
 * The requested kind; or steps, or the most frequent kind. PyTorch's log has a mark "snapshot" each
 * time that a program writes a snapshot, as after an out-of-memory. Marks within a short part of a
 * recording are no iterations of all of it; `few`: steps are, wherever they are and however few.
 */
static int take_marks(struct frag_iterations *it, struct signs *marks, const char *wanted,
		      const struct frag_tape *tape, uint64_t until, bool few,
		      struct frag_error *err)
{
	const uint64_t events = frag_min(until, tape->count);
	struct sign *best = NULL;
	enum mark_rank rank = RANK_OTHER;
	uint32_t count = 0, end;

	FRAG_SORT(marks->of, marks->count, by_kind);
	for (uint32_t i = 0; i < marks->count; i = end) {
		struct sign *first = &marks->of[i];
		const bool steps = few && rank_of(first) >= RANK_STEP;

		end = iterations_end_of(marks, i);
		if (wanted ? strcmp(first->of.kind, wanted) != 0
			   : strcmp(first->of.kind, "snapshot") == 0 || rank_of(first) < rank
				     || (!steps && end - i < FRAG_ITERATIONS_MIN))
			continue;
		if (!wanted && best && rank_of(first) == rank
		    && (end - i < count || (end - i == count && first->event > best->event)))
			continue;
		if (!wanted && !steps && 2 * (uint64_t)(marks->of[end - 1].event - first->event) < events)
			continue;
		best = first;
		count = end - i;
		rank = rank_of(first);
	}
	if (best && !wanted && rank == RANK_STEP)
		count = merge_steps(best, count, tape);
	it->by = !best || rank_of(best) < RANK_STEP ? FRAG_BY_MARK
		 : rank_of(best) == RANK_STEP	    ? FRAG_BY_OPTIMIZER : FRAG_BY_PROFILER;
	if (best && (wanted || few || count >= FRAG_ITERATIONS_MIN))
		return iterations_take(it, best, count, err);
	return 0;
}

/*
 * The distance at which all of these repeat, through at least half of the events; 0: there is
 * none. A repetition within two windows is a series of equal allocations, and no iteration.
 */
static uint64_t distance_of(const struct sign *first, uint32_t count, uint64_t events)
{
	const uint64_t distance = count < FRAG_ITERATIONS_MIN ? 0 : first[1].event - first->event;

	for (uint32_t i = 2; i < count; i++)
		if (first[i].event - first[i - 1].event != distance)
			return 0;
	return distance > 2 * WINDOW && distance * count >= events / 2 ? distance : 0;
}

/* The number of windows that repeat at one distance. */
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
		if (!FRAG_GROW(b->of, b->capacity, b->count)
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

/* Takes the distance that most windows repeat at; of equal ones the longest. */
static int iterations_take_windows(struct frag_iterations *it, struct signs *windows,
				   uint64_t events, struct frag_error *err)
{
	struct beats beats = { .count = 0 };
	const struct beat *best = NULL;
	bool good = frag_map_init(&beats.at, frag_hash_seed());
	uint32_t end;
	int rc = 0;

	FRAG_SORT(windows->of, windows->count, by_key);
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

/*
 * Sizes that repeat within one forward pass are layers, not iterations. Where a recording has
 * stacks, each iteration needs its own forward pass.
 */
static bool has_passes(const struct frag_tape *tape, uint32_t end, uint32_t count)
{
	enum frag_maker last = FRAG_MAKER_UNKNOWN;
	bool stacks = false;
	uint32_t passes = 0;

	for (uint32_t i = 0; i < end; i++) {
		const struct frag_tape_event *ev = &tape->events[i];
		enum frag_maker maker;

		if (!frag_tape_is_alloc(ev))
			continue;
		maker = frag_maker_of(tape->sites[ev->site].members);
		stacks |= maker != FRAG_MAKER_UNKNOWN;
		passes += maker == FRAG_MAKER_FORWARD && last != FRAG_MAKER_FORWARD;
		last = maker;
	}
	return !stacks || passes >= count;
}

/*
 * An event as it repeats: the operation, its bytes, and how long ago a freed block was requested.
 */
static uint64_t *make_keys(const struct frag_tape *tape, uint32_t end)
{
	uint64_t *keys = malloc(((size_t)end + 1) * sizeof(*keys));
	uint32_t *born = malloc(((size_t)end + 1) * sizeof(*born)), allocs = 0;

	for (uint32_t i = 0; keys && born && i < end; i++) {
		const struct frag_tape_event *ev = &tape->events[i];
		const uint64_t value = ev->word >> FRAG_TAPE_VALUE_SHIFT;
		const enum frag_op op = frag_tape_op(ev);

		if (op == FRAG_OP_ALLOC)
			born[allocs++] = i;
		keys[i] = (uint64_t)op << 56;
		if (op == FRAG_OP_ALLOC)
			keys[i] += value;
		else if (op == FRAG_OP_FREE && value < allocs)
			keys[i] += i - born[value];
	}
	free(born);
	if (!born) {
		free(keys);
		return NULL;
	}
	return keys;
}

static bool has_one_tag(const struct frag_tape *tape, uint32_t end)
{
	const uint32_t tag = end ? tape->sites[tape->events[0].site].tag : 0;

	for (uint32_t i = 1; i < end; i++)
		if (tape->sites[tape->events[i].site].tag != tag)
			return false;
	return tag;
}

/*
 * Do the last events come before, too, at a distance that a period may have? Requests alone are
 * compared; where they do not come, the tables of take_period() need not be made.
 */
static bool may_repeat(const struct frag_tape *tape, uint32_t n)
{
	const uint32_t tail = n / 2 < TAIL ? n / 2 : TAIL;
	const struct frag_tape_event *last;

	if (n < FRAG_ITERATIONS_MIN)
		return false;
	last = tape->events + n - 1;
	for (uint32_t distance = 1; distance <= n / FRAG_ITERATIONS_MIN; distance++) {
		uint32_t same = 0;

		while (same < tail && frag_tape_op(last - same) == frag_tape_op(last - same - distance)
		       && (!frag_tape_is_alloc(last - same)
			   || (last - same)->word >> FRAG_TAPE_VALUE_SHIFT
				      == (last - same - distance)->word >> FRAG_TAPE_VALUE_SHIFT))
			same++;
		if (same == tail)
			return true;
	}
	return false;
}

/*
 * A period of the whole recording except its beginning: the longest end of the events that
 * repeats five times and more, by the prefix function of Knuth, Morris and Pratt over the events
 * from the last to the first. It starts where a block is requested.
 */
static int take_period(struct frag_iterations *it, const struct frag_tape *tape,
		       struct frag_error *err)
{
	const uint32_t n = it->end;
	uint64_t *keys = make_keys(tape, n);
	uint32_t *prefix = calloc((size_t)n + 1, sizeof(*prefix)), length = 0, period = 0;
	int rc = keys && prefix ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 1, k = 0; i < n && !rc; i++) {
		while (k && keys[n - 1 - i] != keys[n - 1 - k])
			k = prefix[k - 1];
		k += keys[n - 1 - i] == keys[n - 1 - k];
		prefix[i] = k;
		if ((i + 1) / (i + 1 - k) < FRAG_ITERATIONS_MIN
		    || 4 * (uint64_t)(i + 1) < 3 * (uint64_t)n)
			continue;
		length = i + 1;
		period = i + 1 - k;
	}
	while (period && length >= period && !frag_tape_is_alloc(&tape->events[n - length]))
		length--;
	/*
	 * a request and its free are no iteration; equal requests are, if one tag requests them
	 * all
	 */
	if ((period > 2 || (period == 1 && length == n && has_one_tag(tape, n)))
	    && length / period >= FRAG_ITERATIONS_MIN) {
		it->start = malloc(length / period * sizeof(*it->start));
		if (!it->start)
			rc = frag_fail_nomem(err);
		for (; !rc && it->count < length / period; it->count++)
			it->start[it->count] = n - length + (uint64_t)it->count * period;
	}
	free(keys);
	free(prefix);
	return rc;
}

static int find_marks(struct frag_iterations *it, const struct frag_tape *tape, const char *mark,
		      uint64_t until, bool few, struct frag_error *err)
{
	struct signs marks = { .count = 0 };
	char *wanted = mark ? frag_mark_kind(mark, strlen(mark)) : NULL;
	int rc = 0;

	*it = (struct frag_iterations){ .end = (uint32_t)frag_min(until, tape->count) };
	if ((mark && !wanted) || !iterations_read_marks(tape, until, &marks))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : take_marks(it, &marks, wanted, tape, until, few, err);
	iterations_release(&marks);
	free(wanted);
	return rc;
}

/* Windows of sizes, then a period of the whole recording. */
int frag_iterations_by_sizes(struct frag_iterations *it, const struct frag_tape *tape,
			     uint64_t until, struct frag_error *err)
{
	struct signs windows = { .count = 0 };
	int rc;

	*it = (struct frag_iterations){ .end = (uint32_t)frag_min(until, tape->count) };
	rc = read_windows(tape, it->end, &windows)
		     ? iterations_take_windows(it, &windows, it->end, err) : frag_fail_nomem(err);
	iterations_release(&windows);
	if (!rc && !it->count && may_repeat(tape, it->end))
		rc = take_period(it, tape, err);
	if (!rc && !has_passes(tape, it->end, it->count))
		it->count = 0;
	return rc;
}

/* Frees, or other requests too; pending blocks from before the first event do not count. */
static bool has_requests(const struct frag_tape *tape, uint64_t from, uint64_t to, bool allocs)
{
	for (uint64_t i = from; i < to; i++) {
		const struct frag_tape_event *e = &tape->events[i];

		if (frag_tape_is_alloc(e) ? allocs
		    : frag_tape_op(e) == FRAG_OP_FREE && !(e->word & FRAG_TAPE_WAITS))
			return true;
	}
	return false;
}

/*
 * Annotations outlive the events of a ring: the oldest begin nothing, and where a recording starts
 * late, one from before its first event begins a part of an iteration.
 */
static void drop_older(struct frag_iterations *it, const struct frag_tape *tape)
{
	uint32_t older = 0;

	while (older + 1 < it->count
	       && !has_requests(tape, it->start[older], it->start[older + 1], true))
		older++;
	if (frag_tape_is_late(tape) && older + 1 < it->count
	    && !has_requests(tape, 0, it->start[older], false))
		older++;
	it->count -= older;
	memmove(it->start, it->start + older, it->count * sizeof(*it->start));
}

int frag_iterations_by_marks(struct frag_iterations *it, const struct frag_tape *tape,
			     const char *mark, uint64_t until, struct frag_error *err)
{
	const int rc = find_marks(it, tape, mark, until, true, err);

	if (rc)
		return rc;
	if (mark && !it->count)
		return frag_fail(err, FRAG_ETRACE, "%s: no mark is called %s",
				 frag_input_name(frag_tape_info(tape)->path), SHOWN(mark));
	if (it->count)
		drop_older(it, tape);
	return 0;
}

/* The marks that repeat, however few. */
static bool take_repeated_marks(struct frag_iterations *it, const struct frag_tape *tape)
{
	struct frag_lasting_marks marks = { .count = 0 };
	bool good = true;

	for (uint32_t i = 0; good && i < tape->rare_count; i++) {
		const struct frag_tape_rare *rare = &tape->rare[i];
		const struct frag_text name = frag_tape_text(tape->texts, rare);

		if (frag_tape_op(&tape->events[rare->event]) == FRAG_OP_MARK)
			good = frag_lasting_note(&marks, rare->event, name.text, name.length);
	}
	good = good && frag_lasting_find(&marks);
	it->start = good ? calloc((size_t)marks.count + 1, sizeof(*it->start)) : NULL;
	for (uint32_t i = 0; i < marks.count && it->start; i++)
		it->start[it->count++] = marks.mark[i].at;
	free(marks.mark);
	return it->start;
}

int frag_iterations_find(struct frag_iterations *it, const struct frag_tape *tape,
			 struct frag_error *err)
{
	int rc = find_marks(it, tape, NULL, UINT64_MAX, false, err);

	if (!rc && !it->count)
		rc = frag_iterations_by_sizes(it, tape, UINT64_MAX, err);
	if (rc || it->count)
		return rc;
	frag_iterations_fini(it);
	*it = (struct frag_iterations){ .count = 0 };
	if (strstr(frag_tape_info(tape)->form, "snapshot") || take_repeated_marks(it, tape))
		return 0;
	return frag_fail_nomem(err);
}

void frag_iterations_fini(struct frag_iterations *it)
{
	free(it->start);
	free(it->mark);
	free(it->loop);
}
