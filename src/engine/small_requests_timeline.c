/* small_requests_timeline.c - what becomes of small requests as long as no refusal takes their unused segments. */
#include "engine/small_requests_timeline.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "engine/fast_path_tape.h"
#include "heap/heap_tables.h"
#include "policy/small_pool.h"

/* Events that a way is simulated ahead of the run that asks. */
#define AHEAD 8192
/* Of a tape's events so many are small at least: else there is little to be had. */
#define SHARE 8
/* What is known may take so much, beside half as much as the tape. */
#define ROOM (UINT64_C(8) << 20)
#define MARKS 64

/* A simulation of the small requests up to an event. */
struct mark {
	struct frag_sim *sim;
	uint32_t event;
	uint64_t bytes;
};

struct frag_smallreq_timeline {
	struct frag_smallreq_timeline *parent, *first,
		*next;				      /* first: of its own; next: of its parent's */
	struct frag_smallreq_timeline *older;         /* of all */
	uint32_t from;                  /* at this event it parted from its parent */
	uint32_t known;                 /* changes before this event are known */
	uint32_t told;                  /* so many changes runs may have had */
	struct frag_small_change *changes;
	uint32_t count, capacity;
	struct mark *marks;             /* by event */
	uint32_t mark_count, mark_capacity;
	struct mark head;               /* at `known`; sim NULL: it has to be made again */
};

struct frag_smallreq {
	const struct frag_tape *tape;
	struct frag_choice choice;
	struct frag_device_figures figures;
	uint64_t *small, *others;       /* by event, 64 a word */
	struct frag_tape_site site;
	uint32_t slots;
	uint32_t ahead, stride;         /* events: that a way is simulated at a time; to a mark */
	pthread_mutex_t lock;           /* of all that follows, and the ways */
	struct frag_smallreq_timeline way;
	struct frag_smallreq_timeline *newest;
	uint64_t bytes, most;           /* that ways take, and may */
	bool full;
};

static bool has(const uint64_t *set, uint32_t event)
{
	return set[event / 64] >> event % 64 & 1;
}

static void small_requests_timeline_add(uint64_t *set, uint32_t event)
{
	set[event / 64] |= UINT64_C(1) << event % 64;
}

const struct frag_tape *frag_apart_tape(const struct frag_smallreq *a)
{
	return a->tape;
}

const uint64_t *frag_smallreq_large_events(const struct frag_smallreq *a)
{
	return a->others;
}

const struct frag_tape_site *frag_apart_site(const struct frag_smallreq *a)
{
	return &a->site;
}

uint32_t frag_apart_slots(const struct frag_smallreq *a)
{
	return a->slots;
}

struct frag_event frag_apart_event(const struct frag_smallreq *a, uint32_t event)
{
	const struct frag_tape_event *ev = &a->tape->events[event];
	const bool alloc = frag_tape_is_alloc(ev);

	return (struct frag_event){
		.op = alloc ? FRAG_OP_ALLOC : FRAG_OP_FREE, .step = event, .slot = ev->slot,
		.bytes = alloc ? ev->word >> FRAG_TAPE_VALUE_SHIFT : 0,
		.stream = a->tape->sites[ev->site].stream, .pool = a->tape->sites[ev->site].pool,
		.stream_order = a->tape->sites[ev->site].stream_order,
	};
}

bool frag_smallreq_same(const struct frag_choice *a, const struct frag_choice *b)
{
	uint64_t first, second;

	return frag_small_rule(a, &first) && frag_small_rule(b, &second) && first == second;
}

/* Small requests of one list; what a slot had last says which a free is of. */
struct sorting {
	struct frag_smallreq *apart;
	uint64_t rule;
	uint64_t *small_slots;          /* by slot, 64 a word */
	uint32_t small_count;
};

/* A private pool keeps its segments when all that is unused goes back. */
static bool is_list_of(const struct frag_smallreq *a, const struct frag_tape_site *site)
{
	return site->pool == 0 && site->stream == a->site.stream
	       && site->stream_order == a->site.stream_order;
}

/* False: it is one that cannot be told apart. */
static bool sort_event(struct sorting *s, uint32_t event)
{
	struct frag_smallreq *a = s->apart;
	const struct frag_tape_event *ev = &a->tape->events[event];
	const struct frag_tape_site *site = &a->tape->sites[ev->site];
	bool small;

	if (!frag_tape_is_plain(ev))
		return (ev->word & ((1 << FRAG_TAPE_OP_BITS) - 1)) == FRAG_OP_MARK;
	if (!frag_tape_is_alloc(ev)) {
		small = has(s->small_slots, ev->slot);
	} else {
		small = frag_is_small(s->rule, ev->word >> FRAG_TAPE_VALUE_SHIFT);
		if (small && !s->small_count++)
			a->site = *site;
		if (small && !is_list_of(a, site))
			return false;
		s->small_slots[ev->slot / 64] &= ~(UINT64_C(1) << ev->slot % 64);
		if (small)
			small_requests_timeline_add(s->small_slots, ev->slot);
	}
	small_requests_timeline_add(small ? a->small : a->others, event);
	return true;
}

static uint32_t count_slots(const struct frag_tape *tape)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < tape->count; i++)
		if (frag_tape_is_plain(&tape->events[i]) && tape->events[i].slot >= slots)
			slots = tape->events[i].slot + 1;
	return slots;
}

/* Can they be told apart, and is it worth it? -FRAG_ENOMEM */
static int sort_events(struct frag_smallreq *a, uint64_t rule, bool *good, struct frag_error *err)
{
	const struct frag_tape *tape = a->tape;
	struct sorting s = { .apart = a, .rule = rule };

	*good = true;
	a->slots = count_slots(tape);
	a->small = calloc((size_t)tape->count / 64 + 1, sizeof(*a->small));
	a->others = calloc((size_t)tape->count / 64 + 1, sizeof(*a->others));
	s.small_slots = calloc((size_t)a->slots / 64 + 1, sizeof(*s.small_slots));
	if (!a->small || !a->others || !s.small_slots) {
		free(s.small_slots);
		return frag_fail_nomem(err);
	}
	for (uint32_t i = 0; i < tape->count && *good; i++)
		*good = sort_event(&s, i);
	*good &= s.small_count >= tape->count / 2 / SHARE && s.small_count;
	free(s.small_slots);
	return 0;
}

/* Steps are events, nothing is there at the beginning, and there is one device. */
static bool is_simple(const struct frag_tape *tape)
{
	if (tape->gap_count > 1 || (tape->gap_count && tape->gaps[0].step != tape->gaps[0].event))
		return false;
	return !frag_tape_symbols(tape)->initial_count && frag_tape_info(tape)->device_count == 1;
}

int frag_apart_new(struct frag_smallreq **out, const struct frag_choice *choice,
		   const struct frag_tape *tape, const struct frag_device_figures *figures,
		   struct frag_error *err)
{
	struct frag_smallreq *a;
	uint64_t rule;
	bool good;
	int rc;

	*out = NULL;
	if (!is_simple(tape) || !frag_small_rule(choice, &rule))
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return frag_fail_nomem(err);
	a->tape = tape;
	a->choice = *choice;
	a->figures = *figures;
	a->figures.total = 0;
	a->most = frag_tape_bytes(tape) / 2 + ROOM;
	a->ahead = AHEAD;
	a->stride = tape->count / MARKS > AHEAD ? tape->count / MARKS : AHEAD;
	a->newest = &a->way;
	pthread_mutex_init(&a->lock, NULL);
	rc = sort_events(a, rule, &good, err);
	if (rc || !good)
		frag_apart_del(a);
	else
		*out = a;
	return rc;
}

static void small_requests_timeline_drop(struct frag_smallreq *a, struct mark *mark)
{
	a->bytes -= mark->bytes;
	frag_sim_del(mark->sim);
	*mark = (struct mark){ .sim = NULL };
}

static void drop_marks(struct frag_smallreq *a, struct frag_smallreq_timeline *way)
{
	while (way->mark_count)
		small_requests_timeline_drop(a, &way->marks[--way->mark_count]);
}

void frag_apart_del(struct frag_smallreq *a)
{
	struct frag_smallreq_timeline *way = a ? a->newest : NULL;

	while (way) {
		struct frag_smallreq_timeline *older = way->older;

		drop_marks(a, way);
		small_requests_timeline_drop(a, &way->head);
		free(way->marks);
		free(way->changes);
		if (way != &a->way)
			free(way);
		way = older;
	}
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a->small);
	free(a->others);
	free(a);
}

void frag_apart_set_ahead(struct frag_smallreq *a, uint32_t events)
{
	a->ahead = a->stride = events;
}

bool frag_apart_has_room(struct frag_smallreq *a)
{
	bool room;

	pthread_mutex_lock(&a->lock);
	room = !a->full;
	pthread_mutex_unlock(&a->lock);
	return room;
}

/* Simulations can be made again; changes that runs have had must stay. */
static void keep_within(struct frag_smallreq *a, const struct frag_smallreq_timeline *busy)
{
	if (a->bytes <= a->most)
		return;
	for (struct frag_smallreq_timeline *way = a->newest; way; way = way->older) {
		drop_marks(a, way);
		if (way != busy)
			small_requests_timeline_drop(a, &way->head);
	}
	a->full = a->bytes > a->most;
}

/* Small segments that have something in them. */
static uint32_t used_of(const struct frag_engine *e)
{
	return e->policy.heap->totals.segments - e->policy.heap->idle_count;
}

/*
 * One was in use no more, and now one is again, so it is the same: it has been unused while nobody
 * asked for anything else, so nobody could see it.
 */
static bool is_unseen(const struct frag_smallreq_timeline *way, bool more, uint32_t last_request)
{
	return more && way->count > way->told && !way->changes[way->count - 1].more
	       && way->changes[way->count - 1].event > last_request;
}

static bool small_requests_timeline_note(struct frag_smallreq_timeline *way, uint32_t event,
					 bool more, uint32_t last_request)
{
	if (is_unseen(way, more, last_request)) {
		way->count--;
		return true;
	}
	if (!frag_grow(&way->changes, &way->capacity, (uint64_t)way->count + 1,
		       sizeof(*way->changes)))
		return false;
	way->changes[way->count++] = (struct frag_small_change){ .event = event, .more = more };
	return true;
}

static int small_requests_timeline_fail(const struct frag_smallreq *a, struct frag_sim *sim,
					uint32_t event, int rc, struct frag_error *err)
{
	const struct frag_event ev = frag_apart_event(a, event);

	return frag_engine_fail(&sim->engines[0], &ev, 0, rc, err);
}

/* The small requests among events [from, to); what changes is noted of a way, if there is one. */
static int small_requests_timeline_simulate(const struct frag_smallreq *a, struct frag_sim *sim,
					    uint32_t from, uint32_t to,
					    struct frag_smallreq_timeline *way,
					    struct frag_error *err)
{
	struct frag_engine *e = &sim->engines[0];
	uint32_t used = used_of(e), last_request = from ? from - 1 : 0;

	for (uint32_t i = from; i < to; i++) {
		const struct frag_tape_event *ev = &a->tape->events[i];
		uint32_t now;
		int rc;

		if (!has(a->small, i)) {
			if (has(a->others, i) && frag_tape_is_alloc(ev))
				last_request = i;
			continue;
		}
		frag_begin_record(sim, e, i);
		rc = frag_tape_is_alloc(ev)
			     ? frag_play_alloc(sim, e, ev, &a->tape->sites[ev->site], err)
			     : frag_plain_free(e, &sim->slots[ev->slot]);
		if (rc)
			return small_requests_timeline_fail(a, sim, i, rc, err);
		now = used_of(e);
		if (way && now != used
		    && !small_requests_timeline_note(way, i, now > used, last_request))
			return frag_fail_nomem(err);
		used = now;
	}
	return 0;
}

static int small_requests_timeline_begin(const struct frag_smallreq *a, struct frag_sim **sim,
					 struct frag_error *err)
{
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_SURVIVE, .devices = &a->figures,
	};
	int rc = frag_sim_on_tape(sim, &a->choice, a->tape, &options, err);

	if (rc) {
		*sim = NULL;
		return rc;
	}
	(*sim)->fed = true;
	return frag_sim_begin(*sim, err);
}

/* What is unused goes back, as when a device refuses something. */
static int release_unused(struct frag_sim *sim, uint32_t event, struct frag_error *err)
{
	const struct frag_event ev = { .op = FRAG_OP_EMPTY_CACHE, .step = event };
	const struct frag_batch batch = { .events = &ev, .count = 1 };

	return frag_sim_feed(sim, &batch, err);
}

/*
 * The small requests as they are before an event: from the last mark on, and where a way has none,
 * from what its parent had where they parted. *sim is the caller's, also where this fails.
 */
static int small_requests_timeline_make(struct frag_smallreq *a,
					const struct frag_smallreq_timeline *way, uint32_t event,
					struct frag_sim **sim, struct frag_error *err)
{
	uint32_t i = way->mark_count, from = 0;
	int rc;

	*sim = NULL;
	while (i && way->marks[i - 1].event > event)
		i--;
	if (i) {
		from = way->marks[i - 1].event;
		rc = frag_sim_copy(sim, way->marks[i - 1].sim, err);
		*sim = rc ? NULL : *sim;
	} else if (way->parent) {
		from = way->from + 1;
		rc = small_requests_timeline_make(a, way->parent, way->from, sim, err);
		rc = rc ? rc : release_unused(*sim, way->from, err);
	} else {
		rc = small_requests_timeline_begin(a, sim, err);
	}
	return rc ? rc : small_requests_timeline_simulate(a, *sim, from, event, NULL, err);
}

/* A copy of the head, now and then. Where there is no room for one, that is all. */
static void keep_mark(struct frag_smallreq *a, struct frag_smallreq_timeline *way)
{
	struct mark mark = { .event = way->known, .bytes = frag_sim_bytes(way->head.sim) };
	struct frag_error ignored;

	if (way->mark_count && way->known - way->marks[way->mark_count - 1].event < a->stride)
		return;
	if (a->bytes + mark.bytes > a->most
	    || !frag_grow(&way->marks, &way->mark_capacity, (uint64_t)way->mark_count + 1,
			  sizeof(*way->marks))
	    || frag_sim_copy(&mark.sim, way->head.sim, &ignored))
		return;
	a->bytes += mark.bytes;
	way->marks[way->mark_count++] = mark;
}

static int small_requests_timeline_go_on(struct frag_smallreq *a,
					 struct frag_smallreq_timeline *way, struct frag_error *err)
{
	const uint32_t count = a->tape->count;
	const uint32_t to = count - way->known > a->ahead ? way->known + a->ahead : count;
	const uint32_t had = way->capacity;
	int rc = 0;

	if (!way->head.sim) {
		rc = small_requests_timeline_make(a, way, way->known, &way->head.sim, err);
		if (!rc)
			keep_mark(a, way);
	} else {
		keep_mark(a, way);
	}
	rc = rc ? rc : small_requests_timeline_simulate(a, way->head.sim, way->known, to, way, err);
	if (rc) {
		/* it may have got stuck in the midst of what it was to do */
		way->count = way->told;
		small_requests_timeline_drop(a, &way->head);
		return rc;
	}
	way->known = to;
	way->told = way->count;
	a->bytes -= way->head.bytes;
	way->head.bytes = frag_sim_bytes(way->head.sim);
	a->bytes += way->head.bytes + (way->capacity - had) * sizeof(*way->changes);
	if (to == count)
		small_requests_timeline_drop(a, &way->head);
	keep_within(a, way);
	return 0;
}

int frag_smallreq_next_changes(struct frag_smallreq *a, struct frag_smallreq_cursor *p,
			       struct frag_changes *changes, struct frag_error *err)
{
	const struct frag_smallreq_timeline *way;
	int rc = 0;

	pthread_mutex_lock(&a->lock);
	p->way = p->way ? p->way : &a->way;
	way = p->way;
	if (way->known <= p->event)
		rc = small_requests_timeline_go_on(a, p->way, err);
	changes->count = 0;
	while (!rc && p->next + changes->count < way->count && changes->count < FRAG_CHANGES) {
		changes->at[changes->count] = way->changes[p->next + changes->count];
		changes->count++;
	}
	changes->end = changes->count < FRAG_CHANGES ? way->known
						     : changes->at[FRAG_CHANGES - 1].event + 1;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static struct frag_smallreq_timeline *small_requests_timeline_find(
	const struct frag_smallreq_timeline *parent, uint32_t from)
{
	struct frag_smallreq_timeline *way = parent->first;

	while (way && way->from != from)
		way = way->next;
	return way;
}

int frag_smallreq_branch(struct frag_smallreq *a, struct frag_smallreq_cursor *p, uint32_t event,
		  struct frag_error *err)
{
	struct frag_smallreq_timeline *way;

	pthread_mutex_lock(&a->lock);
	way = small_requests_timeline_find(p->way, event);
	if (!way && (way = calloc(1, sizeof(*way)))) {
		way->parent = p->way;
		way->from = event;
		way->known = event + 1;
		way->next = p->way->first;
		p->way->first = way;
		way->older = a->newest;
		a->newest = way;
		a->bytes += sizeof(*way);
	}
	if (way) {
		p->way = way;
		p->next = 0;
	}
	pthread_mutex_unlock(&a->lock);
	return way ? 0 : frag_fail_nomem(err);
}
