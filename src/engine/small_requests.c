/* small_requests.c - the small requests of a tape, simulated once for runs on many capacities. */
#include "engine/small_requests.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "engine/fast_path.h"
#include "heap/heap_tables.h"
#include "policy/small_pool.h"

/* Events that a timeline is simulated ahead of the run that asks. */
#define AHEAD 8192
/* A tape is worth it if at least one of so many requests is small. */
#define SHARE 8
/* Timelines may take so much, beside half as much as the tape. */
#define BYTES_MAX (UINT64_C(8) << 20)

/* From this event on one more segment is in use, or one less. */
struct small_change {
	uint32_t event;
	bool more;
};

/* Changes that a run has copied, so that it plays them without the lock. */
#define CHANGES 64
struct small_changes {
	struct small_change at[CHANGES];
	uint32_t count;
	uint32_t end;                   /* before this event there are no others */
};

struct frag_smallreq_timeline {
	struct frag_smallreq_timeline *parent;
	struct frag_smallreq_timeline *older;   /* in the list of all */
	uint32_t from;                  /* at this event it branched off its parent */
	uint32_t known;                 /* changes before this event are known */
	uint32_t told;                  /* so many changes runs may have had */
	struct small_change *changes;
	uint32_t count, capacity;
	struct frag_sim *begin;         /* after `from`; NULL: the first timeline, or no memory */
	struct frag_sim *sim;           /* at `known`; NULL: not begun, or at its end */
	uint64_t bytes;                 /* of sim */
};

struct frag_smallreq {
	const struct frag_tape *tape;
	struct frag_choice choice;
	struct frag_device_figures figures;
	uint64_t *small, *large;        /* sets of events, 64 a word */
	struct frag_tape_site site;     /* of any small request */
	uint32_t slots;                 /* slots from here on are nobody's */
	uint32_t ahead;
	pthread_mutex_t lock;           /* of all that follows, and the timelines */
	struct frag_smallreq_timeline first, *newest;
	uint64_t bytes, bytes_max;
};

/* A run, and where it is. */
struct small_run {
	struct frag_smallreq *small;
	struct frag_smallreq_cursor *at;
	struct frag_sim *sim;
	bool branched;                  /* off the timeline whose changes it has */
};

static bool small_has(const uint64_t *set, uint32_t event)
{
	return set[event / 64] >> event % 64 & 1;
}

static void small_add(uint64_t *set, uint32_t event)
{
	set[event / 64] |= UINT64_C(1) << event % 64;
}

/* The event in full, as far as a report of a failure needs it. */
static struct frag_event small_event(const struct frag_smallreq *s, uint32_t event)
{
	const struct frag_tape_event *ev = &s->tape->events[event];
	const struct frag_tape_site *site = &s->tape->sites[ev->site];
	const bool alloc = frag_tape_is_alloc(ev);

	return (struct frag_event){
		.op = alloc ? FRAG_OP_ALLOC : FRAG_OP_FREE, .step = event, .slot = ev->slot,
		.bytes = alloc ? ev->word >> FRAG_TAPE_VALUE_SHIFT : 0, .stream = site->stream,
		.pool = site->pool, .stream_order = site->stream_order,
	};
}

static int small_play_event(struct frag_smallreq *s, struct frag_sim *sim, uint32_t event,
			    struct frag_error *err)
{
	const struct frag_tape_event *ev = &s->tape->events[event];
	struct frag_engine *e = &sim->engines[0];

	frag_begin_record(sim, e, event);
	return frag_tape_is_alloc(ev) ? frag_play_alloc(sim, e, ev, &s->tape->sites[ev->site], err)
				      : frag_plain_free(e, &sim->slots[ev->slot]);
}

/*
 * Is the event small or large? The last alloc of a slot decides for a free. False: it is neither;
 * or small, but of another free list than the first small request. A private pool keeps its
 * segments when all others go back, so its requests are none of these.
 */
static bool small_sort_event(struct frag_smallreq *s, uint64_t rule, uint64_t *slots,
			     uint32_t event, uint32_t *count)
{
	const struct frag_tape_event *ev = &s->tape->events[event];
	const struct frag_tape_site *site = &s->tape->sites[ev->site];
	bool small;

	if (!frag_tape_is_plain(ev))
		return (ev->word & ((1 << FRAG_TAPE_OP_BITS) - 1)) == FRAG_OP_MARK;
	small = small_has(slots, ev->slot);
	if (frag_tape_is_alloc(ev)) {
		small = frag_is_small(rule, ev->word >> FRAG_TAPE_VALUE_SHIFT);
		slots[ev->slot / 64] &= ~(UINT64_C(1) << ev->slot % 64);
		if (small && !(*count)++)
			s->site = *site;
		if (small && (site->pool || site->stream != s->site.stream
			      || site->stream_order != s->site.stream_order))
			return false;
		if (small)
			small_add(slots, ev->slot);
	}
	small_add(small ? s->small : s->large, event);
	return true;
}

/* Can small requests be simulated separately, and is it worth it? -FRAG_ENOMEM */
static int small_sort(struct frag_smallreq *s, uint64_t rule, bool *good, struct frag_error *err)
{
	const struct frag_tape *tape = s->tape;
	uint32_t count = 0;
	uint64_t *slots;

	for (uint32_t i = 0; i < tape->count; i++)
		if (frag_tape_is_plain(&tape->events[i]) && tape->events[i].slot >= s->slots)
			s->slots = tape->events[i].slot + 1;
	s->small = calloc((size_t)tape->count / 64 + 1, sizeof(*s->small));
	s->large = calloc((size_t)tape->count / 64 + 1, sizeof(*s->large));
	slots = calloc((size_t)s->slots / 64 + 1, sizeof(*slots));
	*good = s->small && s->large && slots;
	if (!*good) {
		free(slots);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < tape->count && *good; i++)
		*good = small_sort_event(s, rule, slots, i, &count);
	*good &= count && count >= tape->count / 2 / SHARE;
	free(slots);
	return 0;
}

/* Steps are events, nothing is there at the beginning, and there is one device. */
static bool small_tape_is_simple(const struct frag_tape *tape)
{
	if (tape->gap_count > 1 || (tape->gap_count && tape->gaps[0].step != tape->gaps[0].event))
		return false;
	return !frag_tape_symbols(tape)->initial_count && frag_tape_info(tape)->device_count == 1;
}

static void small_del(struct frag_smallreq *s)
{
	struct frag_smallreq_timeline *line = s ? s->newest : NULL;

	while (line) {
		struct frag_smallreq_timeline *older = line->older;

		frag_sim_del(line->begin);
		frag_sim_del(line->sim);
		free(line->changes);
		if (line != &s->first)
			free(line);
		line = older;
	}
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->small);
	free(s->large);
	free(s);
}

static int small_new(struct frag_smallreq **out, const struct frag_choice *choice,
		     const struct frag_tape *tape, const struct frag_device_figures *figures,
		     struct frag_error *err)
{
	struct frag_smallreq *s;
	uint64_t rule;
	bool good;
	int rc;

	*out = NULL;
	if (!small_tape_is_simple(tape) || !frag_small_rule(choice, &rule))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return frag_fail_nomem(err);
	s->tape = tape;
	s->choice = *choice;
	s->figures = *figures;
	s->figures.total = 0;
	s->bytes_max = frag_tape_bytes(tape) / 2 + BYTES_MAX;
	s->ahead = AHEAD;
	s->newest = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	rc = small_sort(s, rule, &good, err);
	if (rc || !good)
		small_del(s);
	else
		*out = s;
	return rc;
}

static bool small_is_same(const struct frag_choice *a, const struct frag_choice *b)
{
	uint64_t first, second;

	return frag_small_rule(a, &first) && frag_small_rule(b, &second) && first == second;
}

int frag_smallreq_of(struct frag_smallreq_cache *cache, struct frag_smallreq **out,
		     const struct frag_choice *choice, const struct frag_tape *tape,
		     const struct frag_device_figures *figures, struct frag_error *err)
{
	int rc;

	for (uint32_t i = 0; i < cache->count; i++)
		if (cache->entries[i].tape == tape
		    && small_is_same(cache->entries[i].choice, choice)) {
			*out = cache->entries[i].small;
			return 0;
		}
	if (!frag_grow(&cache->entries, &cache->capacity, (uint64_t)cache->count + 1,
		       sizeof(*cache->entries)))
		return frag_fail_nomem(err);
	rc = small_new(out, choice, tape, figures, err);
	if (!rc)
		cache->entries[cache->count++] = (struct frag_smallreq_entry){
			.tape = tape, .choice = choice, .small = *out,
		};
	return rc;
}

void frag_smallreq_fini(struct frag_smallreq_cache *cache)
{
	for (uint32_t i = 0; i < cache->count; i++)
		small_del(cache->entries[i].small);
	free(cache->entries);
	*cache = (struct frag_smallreq_cache){ .count = 0 };
}

void frag_smallreq_set_ahead(struct frag_smallreq *s, uint32_t events)
{
	s->ahead = events;
}

bool frag_smallreq_has_room(struct frag_smallreq *s)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = s->bytes < s->bytes_max;
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* Small segments that have something in them. */
static uint32_t small_used(const struct frag_sim *sim)
{
	const struct frag_heap *h = sim->engines[0].policy.heap;

	return h->totals.segments - h->idle_count;
}

/*
 * A segment becomes empty and is in use again before any large request: nothing could see the
 * difference, so both changes are left out.
 */
static bool small_note(struct frag_smallreq_timeline *line, uint32_t event, bool more,
		       uint32_t last_request)
{
	if (more && line->count > line->told && !line->changes[line->count - 1].more
	    && line->changes[line->count - 1].event > last_request) {
		line->count--;
		return true;
	}
	if (!frag_grow(&line->changes, &line->capacity, (uint64_t)line->count + 1,
		       sizeof(*line->changes)))
		return false;
	line->changes[line->count++] = (struct small_change){ .event = event, .more = more };
	return true;
}

/* The small requests among events [from, to); changes are noted in `line`, which may be NULL. */
static int small_simulate(struct frag_smallreq *s, struct frag_sim *sim, uint32_t from,
			  uint32_t to, struct frag_smallreq_timeline *line, struct frag_error *err)
{
	uint32_t used = small_used(sim), last_request = from ? from - 1 : 0;

	for (uint32_t i = from; i < to; i++) {
		uint32_t now;
		int rc;

		if (!small_has(s->small, i)) {
			if (small_has(s->large, i) && frag_tape_is_alloc(&s->tape->events[i]))
				last_request = i;
			continue;
		}
		rc = small_play_event(s, sim, i, err);
		if (rc) {
			const struct frag_event ev = small_event(s, i);

			return frag_engine_fail(&sim->engines[0], &ev, 0, rc, err);
		}
		now = small_used(sim);
		if (line && now != used && !small_note(line, i, now > used, last_request))
			return frag_fail_nomem(err);
		used = now;
	}
	return 0;
}

/* All that is unused goes back, as when a device refuses something. */
static int small_release_unused(struct frag_sim *sim, uint32_t event, struct frag_error *err)
{
	const struct frag_event ev = { .op = FRAG_OP_EMPTY_CACHE, .step = event };
	const struct frag_batch batch = { .events = &ev, .count = 1 };

	return frag_sim_feed(sim, &batch, err);
}

/*
 * A simulation of the small requests before an event: from the copy that is kept of the beginning
 * of each branch, or from the first event on. *sim is the caller's, also after a failure.
 */
static int small_begin(struct frag_smallreq *s, struct frag_smallreq_timeline *line,
		       uint32_t event, struct frag_sim **sim, struct frag_error *err)
{
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_SURVIVE, .devices = &s->figures,
	};
	uint32_t from = line->parent ? line->from + 1 : 0;
	struct frag_error ignored;
	int rc;

	*sim = NULL;
	if (line->begin) {
		rc = frag_sim_copy(sim, line->begin, err);
	} else if (line->parent) {
		rc = small_begin(s, line->parent, line->from, sim, err);
		rc = rc ? rc : small_release_unused(*sim, line->from, err);
		if (!rc && !frag_sim_copy(&line->begin, *sim, &ignored))
			s->bytes += frag_sim_bytes(line->begin);
	} else {
		rc = frag_sim_on_tape(sim, &s->choice, s->tape, &options, err);
		if (!rc)
			(*sim)->fed = true;
		rc = rc ? rc : frag_sim_begin(*sim, err);
	}
	return rc ? rc : small_simulate(s, *sim, from, event, NULL, err);
}

static void small_drop(struct frag_smallreq *s, struct frag_smallreq_timeline *line)
{
	frag_sim_del(line->sim);
	line->sim = NULL;
	s->bytes -= line->bytes;
	line->bytes = 0;
}

/* Simulates the timeline so many events farther. */
static int small_go_on(struct frag_smallreq *s, struct frag_smallreq_timeline *line,
		       struct frag_error *err)
{
	const uint32_t count = s->tape->count, had = line->capacity;
	const uint32_t to = count - line->known > s->ahead ? line->known + s->ahead : count;
	int rc = line->sim ? 0 : small_begin(s, line, line->known, &line->sim, err);

	rc = rc ? rc : small_simulate(s, line->sim, line->known, to, line, err);
	s->bytes += (line->capacity - had) * sizeof(*line->changes);
	if (rc) {
		/* it may have stopped in the middle of an event */
		line->count = line->told;
		small_drop(s, line);
		return rc;
	}
	line->known = to;
	line->told = line->count;
	s->bytes -= line->bytes;
	line->bytes = frag_sim_bytes(line->sim);
	s->bytes += line->bytes;
	if (to == count)
		small_drop(s, line);
	return 0;
}

/* The next changes from the cursor on; the timeline is simulated as far as that takes. */
static int small_next_changes(struct frag_smallreq *s, struct frag_smallreq_cursor *at,
			      struct small_changes *changes, struct frag_error *err)
{
	const struct frag_smallreq_timeline *line;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	at->line = at->line ? at->line : &s->first;
	line = at->line;
	if (line->known <= at->event)
		rc = small_go_on(s, at->line, err);
	changes->count = 0;
	while (!rc && at->next + changes->count < line->count && changes->count < CHANGES) {
		changes->at[changes->count] = line->changes[at->next + changes->count];
		changes->count++;
	}
	changes->end = changes->count < CHANGES ? line->known : changes->at[CHANGES - 1].event + 1;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* At this event, a large one, the empty segments have gone back. -FRAG_ENOMEM */
static int small_branch(struct frag_smallreq *s, struct frag_smallreq_cursor *at, uint32_t event,
			struct frag_error *err)
{
	struct frag_smallreq_timeline *line;

	pthread_mutex_lock(&s->lock);
	line = s->newest;
	while (line && (line->parent != at->line || line->from != event))
		line = line->older;
	if (!line && (line = calloc(1, sizeof(*line)))) {
		line->parent = at->line;
		line->from = event;
		line->known = event + 1;
		line->older = s->newest;
		s->newest = line;
		s->bytes += sizeof(*line);
	}
	if (line) {
		at->line = line;
		at->next = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return line ? 0 : frag_fail_nomem(err);
}

/* What the event has led to: the run goes on, or it is an OOM, or it failed. */
static int small_end_event(const struct small_run *r, uint32_t event, bool alloc, int rc,
			   struct frag_error *err)
{
	struct frag_event ev;

	if (!rc)
		return 0;
	ev = small_event(r->small, event);
	return rc == -FRAG_EDEVMEM && alloc
		? frag_sim_oom(r->sim, 0, &ev, err)
		: frag_engine_fail(&r->sim->engines[0], &ev, 0, rc, err);
}

/* A large request, or its free. A retry after a refusal has given back empty small segments. */
static int small_play_large(struct small_run *r, uint32_t event, struct frag_error *err)
{
	const bool alloc = frag_tape_is_alloc(&r->small->tape->events[event]);
	const uint64_t *retries = &r->sim->engines[0].totals->retries, before = *retries;
	struct frag_smallreq_cursor *at = r->at;
	int rc = small_play_event(r->small, r->sim, event, err);

	rc = small_end_event(r, event, alloc, rc, err);
	if (rc || *retries == before || frag_sim_stopped(r->sim) || at->held == at->used)
		return rc;
	at->held = at->used;
	r->branched = true;
	return small_branch(r->small, at, event, err);
}

/* The large requests before event `end`, or up to one at which the timeline branches. */
static int small_play_larges(struct small_run *r, uint32_t end, struct frag_error *err)
{
	struct frag_smallreq_cursor *at = r->at;
	int rc = 0;

	while (at->event < end && !rc && !r->branched && !frag_sim_stopped(r->sim)) {
		const uint64_t rest = r->small->large[at->event / 64] >> at->event % 64;
		const uint32_t skipped = rest ? (uint32_t)__builtin_ctzll(rest)
					      : 64 - at->event % 64;

		if (skipped >= end - at->event) {
			at->event = end;
			break;
		}
		at->event += skipped;
		if (rest)
			rc = small_play_large(r, at->event++, err);
	}
	return rc;
}

static uint32_t small_slot(const struct small_run *r, uint32_t half)
{
	return r->small->slots + 2 * r->at->used + half;
}

/* Half a segment twice: the second takes the rest of the segment that the first obtained. */
static int small_use_more(struct small_run *r, uint32_t event, struct frag_error *err)
{
	const struct frag_tape_site *site = &r->small->site;
	const struct frag_request rq = {
		.bytes = FRAG_SMALL_SEGMENT / 2, .stream = site->stream, .pool = site->pool,
		.tick = event, .stream_order = site->stream_order,
	};
	struct frag_smallreq_cursor *at = r->at;
	int rc = 0;

	for (uint32_t i = 0; i < 2 && !rc; i++) {
		rc = frag_slot_room(r->sim, small_slot(r, i), err);
		if (rc)
			return rc;
		rc = frag_plain_alloc(&r->sim->engines[0], &rq, 0, 0, 0,
				      &r->sim->slots[small_slot(r, i)]);
	}
	if (rc)
		return small_end_event(r, event, true, rc, err);
	at->used++;
	at->held = at->held > at->used ? at->held : at->used;
	return 0;
}

static int small_use_less(struct small_run *r, uint32_t event, struct frag_error *err)
{
	int rc = 0;

	r->at->used--;
	for (uint32_t i = 0; i < 2 && !rc; i++)
		rc = frag_plain_free(&r->sim->engines[0], &r->sim->slots[small_slot(r, i)]);
	return small_end_event(r, event, false, rc, err);
}

/* Up to event `until`, or as far as these changes reach. */
static int small_play_changes(struct small_run *r, const struct small_changes *changes,
			      uint32_t until, struct frag_error *err)
{
	const uint32_t end = until < changes->end ? until : changes->end;
	int rc = 0;

	r->branched = false;
	for (uint32_t i = 0; i < changes->count && changes->at[i].event < end; i++) {
		const struct small_change *change = &changes->at[i];

		rc = small_play_larges(r, change->event, err);
		if (rc || r->branched || frag_sim_stopped(r->sim))
			return rc;
		frag_begin_record(r->sim, &r->sim->engines[0], change->event);
		r->at->next++;
		r->at->event = change->event + 1;
		rc = change->more ? small_use_more(r, change->event, err)
				  : small_use_less(r, change->event, err);
		if (rc || frag_sim_stopped(r->sim))
			return rc;
	}
	return small_play_larges(r, end, err);
}

int frag_smallreq_play(struct frag_smallreq *s, struct frag_smallreq_cursor *at,
		       struct frag_sim *sim, uint64_t until, struct frag_error *err)
{
	const uint32_t end = until < s->tape->count ? (uint32_t)until : s->tape->count;
	struct small_run r = { .small = s, .at = at, .sim = sim };
	int rc = frag_sim_begin(sim, err);

	sim->fed = true;
	while (!rc && at->event < end && !frag_sim_stopped(sim)) {
		struct small_changes changes;

		rc = small_next_changes(s, at, &changes, err);
		rc = rc ? rc : small_play_changes(&r, &changes, end, err);
	}
	return rc;
}
