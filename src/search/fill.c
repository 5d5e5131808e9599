/* fill.c - repeats the last iterations of a recorded program until a request fails. */
#include "search/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "base/format.h"
#include "engine/tape_run.h"
#include "events/tape.h"
#include "fragsim/engine.h"

#define PERIOD_MAX 64
#define NO_EVENT UINT32_MAX

/* The events of a period, which begin at `first`, and what they refer to. */
struct template {
	const struct frag_tape *tape;
	uint32_t first, length;
	uint32_t checked;       /* from this event on each was compared with one a period before */
	uint32_t known;         /* and from this one on each has another a period after it */
	uint32_t *of;           /* by event: the alloc of its block; NO_EVENT: it has none */
	uint32_t *of_ended;     /* likewise, of the tape's list of ended blocks */
	uint32_t *rare;         /* by event: its entry in the list of rare values; NO_EVENT */
	int64_t *rise;          /* of an alloc's bytes, by place in the period */
	bool rises;
	uint32_t depth;         /* periods between an alloc and what refers to it, at most */
};

/* The blocks of the last periods that were fed. */
struct repeating {
	const struct template *t;
	struct frag_sim *sim;
	struct frag_tape_reader *reader;
	uint32_t *slots;        /* by period modulo the depth, and place of the alloc */
	uint32_t *unused;       /* slots */
	uint32_t unused_count, unused_capacity, next_slot;
	struct frag_ended *ended;       /* of the events of a batch */
	uint32_t ended_count, ended_capacity;
};

static bool refers_to_block(const struct frag_tape_event *e)
{
	const enum frag_op op = frag_tape_op(e);

	return op == FRAG_OP_FREE || op == FRAG_OP_COMPLETE || op == FRAG_OP_RECORD_STREAM;
}

/* Finds the alloc of every block that an event names or ends. False: out of memory. */
static bool find_allocs(struct template *t)
{
	const struct frag_tape *tape = t->tape;
	uint32_t *allocs = malloc(((size_t)tape->alloc_count + 1) * sizeof(*allocs));
	uint32_t *owners = NULL, owner_capacity = 0, owner_count = 0, alloc = 0, rare = 0;
	bool good = allocs;

	for (uint32_t i = 0; i < tape->count && good; i++) {
		const struct frag_tape_event *e = &tape->events[i];

		t->of[i] = t->rare[i] = NO_EVENT;
		if (frag_tape_is_alloc(e)) {
			allocs[alloc++] = i;
			good = FRAG_EXTEND(owners, owner_capacity, owner_count, e->slot);
			if (good)
				owners[e->slot] = i;
		} else if (refers_to_block(e)) {
			const uint64_t of = e->word >> FRAG_TAPE_VALUE_SHIFT;

			t->of[i] = of < alloc ? allocs[of] : NO_EVENT;
		}
		if (!(e->word & FRAG_TAPE_RARE))
			continue;
		while (rare < tape->rare_count && tape->rare[rare].event < i)
			rare++;
		if (rare == tape->rare_count || tape->rare[rare].event != i)
			continue;
		t->rare[i] = rare;
		for (uint32_t k = 0; k < tape->rare[rare].ended_count; k++) {
			const uint64_t at = tape->rare[rare].ended + k;
			const uint32_t slot = tape->ended[at].slot;

			t->of_ended[at] = slot < owner_count ? owners[slot] : NO_EVENT;
		}
	}
	free(allocs);
	free(owners);
	return good;
}

/*
 * Is the block of one event that of the other, a period later? Blocks from before all that is
 * compared may be used, but not freed.
 */
static bool is_same_block(const struct template *t, uint32_t i, uint32_t one, uint32_t other)
{
	if (one == NO_EVENT || other == NO_EVENT)
		return one == other;
	if (one == other)
		return frag_tape_op(&t->tape->events[i]) == FRAG_OP_RECORD_STREAM;
	return one >= t->known && one - other == t->length;
}

/* Have both the same fraction and settings, and do they end the same pending blocks? */
static bool is_same_rare(const struct template *t, uint32_t i)
{
	const struct frag_tape *tape = t->tape;
	const uint32_t one = t->rare[i], other = t->rare[i - t->length];
	const enum frag_op op = frag_tape_op(&tape->events[i]);
	const struct frag_tape_rare *a, *b;

	if (one == NO_EVENT || other == NO_EVENT)
		return one == other;
	a = &tape->rare[one];
	b = &tape->rare[other];
	if (a->ended_count != b->ended_count)
		return false;
	if (op == FRAG_OP_SET_FRACTION && (a->fraction < b->fraction || a->fraction > b->fraction))
		return false;
	if (op == FRAG_OP_CONFIGURE
	    && (a->text.length != b->text.length
		|| (a->text.length
		    && memcmp(tape->texts + a->text_at, tape->texts + b->text_at, a->text.length))))
		return false;
	for (uint32_t k = 0; k < a->ended_count; k++)
		if (!is_same_block(t, i, t->of_ended[a->ended + k], t->of_ended[b->ended + k]))
			return false;
	return true;
}

/* Is the event that of a period before, with more bytes at most? */
static bool is_same_event(struct template *t, uint32_t i)
{
	const struct frag_tape *tape = t->tape;
	const struct frag_tape_event *e = &tape->events[i], *before = e - t->length;
	const struct frag_tape_site *at = &tape->sites[e->site], *then = &tape->sites[before->site];
	const uint64_t flags = (UINT64_C(1) << FRAG_TAPE_VALUE_SHIFT) - 1;
	const uint32_t place = (i - t->checked + t->length - (t->first - t->checked) % t->length)
			       % t->length;
	int64_t rise;

	if ((e->word & flags) != (before->word & flags) || at->device != then->device
	    || at->stream != then->stream || at->pool != then->pool || !is_same_rare(t, i))
		return false;
	if (!frag_tape_is_alloc(e))
		return is_same_block(t, i, t->of[i], t->of[i - t->length]);
	rise = (int64_t)(e->word >> FRAG_TAPE_VALUE_SHIFT)
	       - (int64_t)(before->word >> FRAG_TAPE_VALUE_SHIFT);
	if (i - t->checked >= t->length && t->rise[place] != rise)
		return false;
	t->rise[place] = rise;
	t->rises = t->rises || rise;
	return true;
}

/*
 * Do the iterations repeat every `period`, through the later half of them? Sizes that rise must rise
 * twice by as much. The tape of them begins at the second iteration, as the first makes the blocks that stay.
 */
static bool repeats_every(struct template *t, const struct frag_fill *f, uint32_t period)
{
	const uint32_t whole = f->count - 1, end = (uint32_t)f->start[whole];
	const uint32_t least = whole / 2 > period ? whole / 2 : period;
	const uint64_t length = end - f->start[whole - period];

	if (least + period + 1 > whole || !length)
		return false;
	for (uint32_t i = whole - least; i <= whole; i++)
		if (f->start[i] - f->start[i - period] != length)
			return false;
	t->length = (uint32_t)length;
	t->first = end - t->length;
	t->checked = (uint32_t)f->start[whole - least];
	t->known = t->checked - t->length;
	t->rises = false;
	for (uint32_t i = t->checked; i < end; i++)
		if (!is_same_event(t, i))
			return false;
	return !t->rises || end - t->checked >= 2 * t->length;
}

static uint32_t periods_to(const struct template *t, uint32_t of)
{
	return of == NO_EVENT || of >= t->first || of < t->known
		       ? 0 : (t->first - of + t->length - 1) / t->length;
}

/* The farthest block that an event of the template names decides how many periods are remembered. */
static void find_depth(struct template *t)
{
	t->depth = 1;
	for (uint32_t i = t->first; i < t->first + t->length; i++) {
		uint32_t depth = periods_to(t, t->of[i]);

		if (t->rare[i] != NO_EVENT) {
			const struct frag_tape_rare *r = &t->tape->rare[t->rare[i]];

			for (uint32_t k = 0; k < r->ended_count; k++) {
				const uint32_t ended = periods_to(t, t->of_ended[r->ended + k]);

				depth = ended > depth ? ended : depth;
			}
		}
		t->depth = depth + 1 > t->depth ? depth + 1 : t->depth;
	}
}

/* Finds what repeats. period stays 0 where nothing does. */
static int find_template(struct frag_fill *f, struct template *t, struct frag_error *err)
{
	const size_t events = (size_t)f->tape->count + 1;

	*t = (struct template){
		.tape = f->tape,
		.of = malloc(events * sizeof(*t->of)),
		.rare = malloc(events * sizeof(*t->rare)),
		.of_ended = calloc((size_t)f->tape->ended_count + 1, sizeof(*t->of_ended)),
		.rise = calloc(events, sizeof(*t->rise)),
	};
	if (!t->of || !t->rare || !t->of_ended || !t->rise || !find_allocs(t))
		return frag_fail_nomem(err);
	for (uint32_t period = 1; period <= PERIOD_MAX && period < f->count; period++)
		if (repeats_every(t, f, period)) {
			f->period = period;
			find_depth(t);
			return 0;
		}
	return 0;
}

static void template_fini(struct template *t)
{
	free(t->of);
	free(t->rare);
	free(t->of_ended);
	free(t->rise);
}

/* Where the slot of an alloc of a repeated period is noted. */
static uint32_t *repeated_slot(const struct repeating *r, uint64_t period, uint32_t place)
{
	return &r->slots[(size_t)(period % r->t->depth) * r->t->length + place];
}

/* The slot of the block that the template's alloc `of` has in the period `period` of the repeats. */
static uint32_t slot_of(const struct repeating *r, uint64_t period, uint32_t of)
{
	const struct template *t = r->t;
	const uint64_t end = (uint64_t)t->first + t->length;
	const uint64_t at = of + (period + 1) * t->length;

	if (of < t->known)
		return t->tape->events[of].slot;
	if (at < end)
		return t->tape->events[at].slot;
	return *repeated_slot(r, (at - end) / t->length, (uint32_t)((at - end) % t->length));
}

static bool give_slot(struct repeating *r, uint32_t slot)
{
	if (!FRAG_GROW(r->unused, r->unused_capacity, r->unused_count))
		return false;
	r->unused[r->unused_count++] = slot;
	return true;
}

/* The blocks that an event ends, under the slots of this period. False: out of memory. */
static bool repeat_ended(struct repeating *r, uint64_t period, uint32_t i, struct frag_event *e)
{
	const struct frag_tape_rare *rare;

	if (!e->ended_count)
		return true;
	rare = &r->t->tape->rare[r->t->rare[i]];
	for (uint32_t k = 0; k < e->ended_count; k++) {
		const uint32_t of = r->t->of_ended[rare->ended + k];

		if (!FRAG_GROW(r->ended, r->ended_capacity, r->ended_count))
			return false;
		r->ended[r->ended_count] = e->ended[k];
		r->ended[r->ended_count].slot = of == NO_EVENT ? e->ended[k].slot
							       : slot_of(r, period, of);
		if (!give_slot(r, r->ended[r->ended_count++].slot))
			return false;
	}
	return true;
}

/* Event i of the template in this period. False: out of memory, or no size is so large. */
static bool repeat_event(struct repeating *r, uint64_t period, uint32_t i, struct frag_event *e)
{
	const struct template *t = r->t;
	const uint32_t place = i - t->first;

	e->step += (period + 1) * t->length;
	e->place = NULL;
	e->members &= ~(uint32_t)FRAG_HAS_PLACE;
	if (e->op == FRAG_OP_ALLOC) {
		int64_t rise;

		e->slot = r->unused_count ? r->unused[--r->unused_count] : r->next_slot++;
		*repeated_slot(r, period, place) = e->slot;
		if (__builtin_mul_overflow((int64_t)period + 1, t->rise[place], &rise)
		    || __builtin_add_overflow((int64_t)e->bytes, rise, &rise) || rise < 0
		    || (uint64_t)rise >= FRAG_SIZE_LIMIT)
			return false;
		e->bytes = (uint64_t)rise;
	} else if (t->of[i] != NO_EVENT) {
		e->slot = slot_of(r, period, t->of[i]);
		if (e->op == FRAG_OP_FREE && !e->waits && !give_slot(r, e->slot))
			return false;
	}
	return repeat_ended(r, period, i, e);
}

/* Feeds one period. *good becomes false where a size is none. */
static int feed_period(struct repeating *r, uint64_t period, uint32_t from, uint32_t to, bool *good,
		       struct frag_error *err)
{
	struct frag_event events[FRAG_TAPE_BATCH];
	struct frag_batch batch;
	int rc = 0;

	frag_tape_seek(r->reader, from);
	for (uint32_t i = from; i < to && !rc && *good && !frag_sim_stopped(r->sim); i += batch.count) {
		uint32_t ended = 0;

		frag_tape_next(r->reader, to, &batch);
		memcpy(events, batch.events, batch.count * sizeof(*events));
		r->ended_count = 0;
		for (uint32_t k = 0; k < batch.count && *good; k++)
			*good = repeat_event(r, period, i + k, &events[k]);
		for (uint32_t k = 0; k < batch.count && *good; k++) {
			events[k].ended = events[k].ended_count ? r->ended + ended : NULL;
			ended += events[k].ended_count;
		}
		batch.events = events;
		rc = *good ? frag_sim_feed(r->sim, &batch, err) : 0;
	}
	return rc;
}

/* Notes the devices on which a request failed in this iteration. True: none runs any more. */
static bool note_failed(struct frag_fill *f, struct frag_sim *sim, uint64_t iteration)
{
	uint32_t count;
	const struct frag_result *results = frag_sim_results(sim, false, &count);
	bool over = true;

	for (uint32_t d = 0; d < count; d++) {
		if (f->of[d].bound == FRAG_FILL_EXACT)
			continue;
		f->of[d].iteration = iteration;
		f->of[d].bound = results[d].status != FRAG_RUN_OK ? FRAG_FILL_EXACT
								  : FRAG_FILL_AT_LEAST;
		over = over && (results[d].status != FRAG_RUN_OK || !f->devices[d].total);
	}
	return over;
}

/* The recorded iterations, up to the last, which may be cut. */
static int feed_recorded(struct frag_fill *f, struct repeating *r, bool *over, struct frag_error *err)
{
	int rc = 0;

	*over = false;
	for (uint32_t i = 0; i + 1 < f->count && !rc && !*over; i++) {
		rc = frag_tape_play(r->sim, r->reader, f->turn[i], &f->job, err);
		*over = !rc && note_failed(f, r->sim, (uint64_t)i + 1);
		if (rc || *over || f->turn[i] == f->start[i + 1])
			continue;
		rc = frag_tape_play(r->sim, r->reader, f->start[i + 1], &f->job, err);
		*over = !rc && note_failed(f, r->sim, (uint64_t)i + 2);
	}
	return rc;
}

/* Feeds iteration i of the recording as the iteration `number`, in period `period` of the repeats. */
static int feed_iteration(struct frag_fill *f, struct repeating *r, uint64_t period, uint32_t i,
			  uint64_t number, bool *over, struct frag_error *err)
{
	const uint32_t turn = (uint32_t)f->turn[i], end = (uint32_t)f->start[i + 1];
	bool good = true;
	int rc = feed_period(r, period, (uint32_t)f->start[i], turn, &good, err);

	*over = !rc && (!good || note_failed(f, r->sim, number));
	if (rc || *over || turn == end)
		return rc;
	rc = feed_period(r, period, turn, end, &good, err);
	*over = !rc && (!good || note_failed(f, r->sim, number + 1));
	return rc;
}

/* The iterations of the template, again and again, until no device runs or `events` are over. */
static int feed_repeated(struct frag_fill *f, struct repeating *r, struct frag_error *err)
{
	const struct template *t = r->t;
	const uint64_t limit = f->events ? f->events : FRAG_FILL_EVENTS;
	const uint32_t whole = f->count - 1;
	uint64_t fed = 0;
	bool over = false;
	int rc = 0;

	for (uint64_t period = 0; !rc && !over && fed < limit; period++) {
		for (uint32_t k = 0; k < f->period && !rc && !over; k++)
			rc = feed_iteration(f, r, period, whole - f->period + k,
					    whole + period * f->period + k + 1, &over, err);
		fed += t->length;
		rc = rc ? rc : frag_job_check(&f->job, err);
	}
	return rc;
}

/* Feeds the recording up to its last iteration, then the template. */
static int fill_simulate(struct frag_fill *f, const struct template *t, struct frag_error *err)
{
	const struct frag_sim_options options = { .level = FRAG_LEVEL_SURVIVE, .devices = f->devices };
	struct repeating r = {
		.t = t,
		.reader = frag_tape_reader_new(f->tape),
		.slots = calloc((size_t)t->depth * t->length + 1, sizeof(*r.slots)),
	};
	bool over = false;
	int rc = r.reader && r.slots ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < f->tape->count; i++)
		if (frag_tape_is_alloc(&f->tape->events[i]) && f->tape->events[i].slot >= r.next_slot)
			r.next_slot = f->tape->events[i].slot + 1;
	rc = rc ? rc : frag_sim_on_tape(&r.sim, f->choice, f->tape, &options, err);
	rc = rc ? rc : feed_recorded(f, &r, &over, err);
	if (!rc && !over)
		rc = feed_repeated(f, &r, err);
	frag_sim_del(r.sim);
	frag_tape_reader_del(r.reader);
	free(r.slots);
	free(r.unused);
	free(r.ended);
	return rc;
}

int frag_fill_run(struct frag_fill *f, struct frag_error *err)
{
	struct template t;
	int rc;

	f->period = 0;
	f->of = calloc((size_t)frag_tape_info(f->tape)->device_count + 1, sizeof(*f->of));
	if (!f->of)
		return frag_fail_nomem(err);
	if (f->count < 2)
		return 0;
	rc = find_template(f, &t, err);
	if (!rc && f->period)
		rc = fill_simulate(f, &t, err);
	template_fini(&t);
	for (uint32_t d = 0; d < frag_tape_info(f->tape)->device_count; d++)
		if (!f->devices[d].total)
			f->of[d].bound = FRAG_FILL_UNKNOWN;
	return rc;
}
