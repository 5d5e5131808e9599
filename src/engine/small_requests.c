/* small_requests.c - simulates the small requests of a tape once for runs on many capacities. */
#include "engine/small_requests.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "engine/fast_path.h"
#include "heap/heap_tables.h"
#include "policy/small_pool.h"

/* Events that a timeline is simulated ahead of the run that needs it. */
#define AHEAD 8192
/* A tape is worth it if at least one request in SHARE is small. */
#define SHARE 8
/* Events between two calls of stop. */
#define ASKS 65536
/* Bytes that beginnings of timelines may use, in addition to half the size of the tape. */
#define BYTES_MAX (UINT64_C(8) << 20)

/* From this event on one more segment is in use, or one less. */
struct small_change {
	uint32_t event;
	bool more;
};

struct frag_smallreq_timeline {
	const struct frag_smallreq_timeline *parent;    /* NULL: the first */
	struct frag_smallreq_timeline *older;           /* in the list of all */
	uint32_t start;                 /* its first event */
	pthread_mutex_t lock;           /* of all that follows */
	uint32_t known;                 /* the changes before this event are known */
	uint32_t count;                 /* of these changes; they do not move, for readers */
	struct frag_chunks changes;     /* of struct small_change */
	struct frag_sim *begin;         /* the small requests alone, before `start`; made once */
	struct frag_sim *sim;           /* the same before `known`; NULL: to be made again */
};

struct frag_smallreq {
	struct frag_smallreq *older;    /* in the cache */
	const struct frag_tape *tape;
	const struct frag_choice *choice;
	struct frag_device_figures figures;     /* without a limit */
	uint64_t rule;
	bool worth_it;
	uint64_t *large;                /* the set of large events, 64 a word */
	const struct frag_tape_site *site;      /* of the first small request */
	uint32_t slots;                 /* the tape uses no slot from here on */
	uint32_t ahead;
	struct frag_job job;            /* its stop alone */
	pthread_mutex_t lock;           /* of all that follows; taken last */
	struct frag_smallreq_timeline *newest;
	uint64_t bytes, bytes_max;
};

/* Reports what an event of the tape led to: nothing, an OOM of the run, or a failure. */
static int small_end_event(const struct frag_smallreq *s, struct frag_sim *sim, uint32_t event,
			   int rc, struct frag_error *err)
{
	struct frag_tape_reader *r;

	if (!rc)
		return 0;
	r = frag_tape_reader_new(s->tape);
	if (!r)
		return frag_fail_nomem(err);
	frag_tape_seek(r, event);
	rc = frag_report_failed(sim, r, rc, err);
	frag_tape_reader_del(r);
	return rc;
}

static int small_play_event(const struct frag_smallreq *s, struct frag_sim *sim, uint32_t event,
			    struct frag_error *err)
{
	const struct frag_tape_event *ev = &s->tape->events[event];
	struct frag_engine *e = &sim->engines[0];
	int rc;

	frag_begin_fast_step(sim, e, event);
	rc = frag_tape_is_alloc(ev) ? frag_play_alloc(sim, e, ev, &s->tape->sites[ev->site], err)
				    : frag_plain_free(e, &sim->slots[ev->slot]);
	return small_end_event(s, sim, event, rc, err);
}

/*
 * Sets whether the event is large; the last alloc of its slot decides for a free. False: it is
 * no alloc, free or mark; or it is small, but uses another free list than the first small
 * request. A private pool keeps its segments when all others are released: it is excluded.
 */
static bool small_sort_event(struct frag_smallreq *s, bool *small_slots, uint32_t event,
			     uint32_t *count)
{
	const struct frag_tape_event *ev = &s->tape->events[event];
	const struct frag_tape_site *site = &s->tape->sites[ev->site];
	bool *small;

	if (!frag_tape_is_plain(ev))
		return frag_tape_op(ev) == FRAG_OP_MARK;
	small = &small_slots[ev->slot];
	if (frag_tape_is_alloc(ev)) {
		*small = frag_is_small(s->rule, ev->word >> FRAG_TAPE_VALUE_SHIFT);
		if (*small && !(*count)++)
			s->site = site;
		if (*small && (site->pool || site->stream != s->site->stream
			       || site->stream_order != s->site->stream_order))
			return false;
	}
	s->large[event / 64] |= (uint64_t)!*small << event % 64;
	return true;
}

/*
 * Decides whether small requests can be simulated separately, and are worth it: not where the search
 * is stopped. -FRAG_ENOMEM
 */
static int small_sort(struct frag_smallreq *s, struct frag_error *err)
{
	const struct frag_tape *tape = s->tape;
	uint32_t count = 0;
	bool *small_slots;

	for (uint32_t i = 0; i < tape->count; i++)
		if (frag_tape_is_plain(&tape->events[i]) && tape->events[i].slot >= s->slots)
			s->slots = tape->events[i].slot + 1;
	s->large = calloc((size_t)tape->count / 64 + 1, sizeof(*s->large));
	small_slots = calloc((size_t)s->slots + 1, sizeof(*small_slots));
	if (!s->large || !small_slots) {
		free(small_slots);
		return frag_fail_nomem(err);
	}
	s->worth_it = true;
	for (uint32_t i = 0; i < tape->count && s->worth_it; i++)
		s->worth_it = small_sort_event(s, small_slots, i, &count)
			      && !(i % ASKS == 0 && frag_job_is_stopped(&s->job));
	s->worth_it &= count && count >= tape->count / 2 / SHARE;
	free(small_slots);
	return 0;
}

/*
 * Searches the cache for the tape and the rule, else adds an entry, also for a tape that is not
 * worth it.
 */
int frag_smallreq_of(struct frag_smallreq_cache *cache, struct frag_smallreq **out,
		     const struct frag_choice *choice, const struct frag_tape *tape,
		     const struct frag_device_figures *figures, struct frag_error *err)
{
	struct frag_smallreq *s = cache->newest;
	uint64_t rule;

	*out = NULL;
	/* a step that is no event, blocks before the first event, several devices */
	if (tape->gap_count > 1 || (tape->gap_count && tape->gaps[0].step != tape->gaps[0].event)
	    || frag_tape_symbols(tape)->initial_count || frag_tape_info(tape)->device_count != 1
	    || !frag_small_rule(choice, &rule))
		return 0;
	while (s && (s->tape != tape || s->rule != rule))
		s = s->older;
	if (s) {
		*out = s->worth_it ? s : NULL;
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return frag_fail_nomem(err);
	s->tape = tape;
	s->choice = choice;
	s->figures = *figures;
	s->figures.total = 0;
	s->rule = rule;
	s->bytes_max = frag_tape_bytes(tape) / 2 + BYTES_MAX;
	s->ahead = cache->ahead ? cache->ahead : AHEAD;
	s->job = frag_job_part(&cache->job);
	pthread_mutex_init(&s->lock, NULL);
	s->older = cache->newest;
	cache->newest = s;
	if (small_sort(s, err))
		return -FRAG_ENOMEM;
	*out = s->worth_it ? s : NULL;
	return 0;
}

void frag_smallreq_fini(struct frag_smallreq_cache *cache)
{
	while (cache->newest) {
		struct frag_smallreq *s = cache->newest;

		while (s->newest) {
			struct frag_smallreq_timeline *line = s->newest;

			s->newest = line->older;
			frag_sim_del(line->begin);
			frag_sim_del(line->sim);
			frag_chunks_fini(&line->changes);
			pthread_mutex_destroy(&line->lock);
			free(line);
		}
		cache->newest = s->older;
		pthread_mutex_destroy(&s->lock);
		free(s->large);
		free(s);
	}
}

bool frag_smallreq_has_room(struct frag_smallreq *s)
{
	bool room;

	pthread_mutex_lock(&s->lock);
	room = s->bytes < s->bytes_max;
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* Counts the small segments that contain a block. */
static uint32_t small_used(const struct frag_sim *sim)
{
	const struct frag_heap *h = sim->engines[0].policy.heap;

	return h->totals.segments - h->idle_count;
}

static struct small_change *small_change_at(const struct frag_smallreq_timeline *line, uint32_t i)
{
	return frag_chunks_at(&line->changes, i, sizeof(struct small_change));
}

/* Plays the small requests among events [from, to); line: notes their changes, unless NULL. */
static int small_simulate(const struct frag_smallreq *s, struct frag_sim *sim, uint32_t from,
			  uint32_t to, struct frag_smallreq_timeline *line, struct frag_error *err)
{
	uint32_t used = small_used(sim), count = line ? line->count : 0;

	for (uint32_t i = from; i < to; i++) {
		int rc = i % ASKS ? 0 : frag_job_check(&s->job, err);
		uint32_t now;

		if (rc)
			return rc;
		if (s->large[i / 64] >> i % 64 & 1 || !frag_tape_is_plain(&s->tape->events[i]))
			continue;
		rc = small_play_event(s, sim, i, err);
		if (rc)
			return rc;
		now = small_used(sim);
		if (line && now != used) {
			if (!frag_chunks_grow(&line->changes, (uint64_t)count + 1,
					      sizeof(struct small_change)))
				return frag_fail_nomem(err);
			*small_change_at(line, count++) = (struct small_change){ i, now > used };
		}
		used = now;
	}
	if (line)
		line->count = count;
	return 0;
}

/* Simulates the timeline to the event after `event`, and some more. A failure changes nothing. */
static int small_go_on(struct frag_smallreq *s, struct frag_smallreq_timeline *line,
		       struct frag_error *err)
{
	const uint32_t count = s->tape->count;
	const uint32_t to = count - line->known > s->ahead ? line->known + s->ahead : count;
	int rc = 0;

	FRAG_ASSERT(line->known < count);
	if (!line->sim) {
		rc = frag_sim_copy(&line->sim, line->begin, err);
		rc = rc ? rc : small_simulate(s, line->sim, line->start, line->known, NULL, err);
	}
	rc = rc ? rc : small_simulate(s, line->sim, line->known, to, line, err);
	line->known = rc ? line->known : to;
	/* a failed simulation may have stopped in the middle of an event */
	if (rc || to == count) {
		frag_sim_del(line->sim);
		line->sim = NULL;
	}
	return rc;
}

/*
 * Simulates the small requests before event `start`, the first of a timeline: a branch of `parent`
 * begins after the event at which the policy released all unused segments. *sim is owned by the
 * caller, also after a failure.
 */
static int small_begin(const struct frag_smallreq *s, const struct frag_smallreq_timeline *parent,
		       uint32_t start, struct frag_sim **sim, struct frag_error *err)
{
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_SURVIVE, .devices = &s->figures,
	};
	const struct frag_event ev = { .op = FRAG_OP_EMPTY_CACHE, .step = start - 1 };
	const struct frag_batch batch = { .events = &ev, .count = 1 };
	int rc;

	FRAG_ASSERT(!parent == !start);
	if (!parent) {
		rc = frag_sim_on_tape(sim, s->choice, s->tape, &options, err);
		rc = rc ? rc : frag_sim_begin(*sim, err);
		if (!rc)
			(*sim)->fed = true;
		return rc;
	}
	rc = frag_sim_copy(sim, parent->begin, err);
	rc = rc ? rc : small_simulate(s, *sim, parent->start, start - 1, NULL, err);
	return rc ? rc : frag_sim_feed(*sim, &batch, err);
}

/* The timeline that begins with `start`: the first one, or a branch of `parent`. NULL: out of memory. */
static struct frag_smallreq_timeline *small_find(struct frag_smallreq *s,
						 const struct frag_smallreq_timeline *parent,
						 uint32_t start)
{
	struct frag_smallreq_timeline *line;

	pthread_mutex_lock(&s->lock);
	line = s->newest;
	while (line && (line->parent != parent || line->start != start))
		line = line->older;
	if (!line && (line = calloc(1, sizeof(*line)))) {
		line->parent = parent;
		line->start = line->known = start;
		pthread_mutex_init(&line->lock, NULL);
		line->older = s->newest;
		s->newest = line;
	}
	pthread_mutex_unlock(&s->lock);
	return line;
}

/* Makes the beginning of a timeline. A failure changes nothing. */
static int small_enter(struct frag_smallreq *s, struct frag_smallreq_timeline *line,
		       struct frag_error *err)
{
	struct frag_sim *begin = NULL;
	const int rc = small_begin(s, line->parent, line->start, &begin, err);

	if (rc) {
		frag_sim_del(begin);
		return rc;
	}
	line->begin = begin;
	pthread_mutex_lock(&s->lock);
	s->bytes += frag_sim_bytes(begin);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/*
 * Moves the cursor to another timeline, when it has none or empty segments were released, and makes
 * some changes from there on known: *count in all, which are those before event *end. Runs on one
 * timeline wait for each other, as each needs these changes; those on two do not.
 */
static int small_look_ahead(struct frag_smallreq *s, struct frag_smallreq_cursor *at,
			    uint32_t *count, uint32_t *end, struct frag_error *err)
{
	const bool enters = !at->line || at->branches;
	struct frag_smallreq_timeline *line = enters ? small_find(s, at->line, at->event) : at->line;
	int rc = 0;

	if (!line)
		return frag_fail_nomem(err);
	pthread_mutex_lock(&line->lock);
	if (!line->begin)
		rc = small_enter(s, line, err);
	if (!rc && line->known <= at->event)
		rc = small_go_on(s, line, err);
	*count = line->count;
	*end = line->known;
	pthread_mutex_unlock(&line->lock);
	if (!rc && enters) {
		at->line = line;
		at->next = 0;
		at->branches = false;
	}
	return rc;
}

/*
 * Plays the large requests before event `end`, or until the run stops, or until a retry after a
 * refusal released empty small segments.
 */
static int small_play_larges(const struct frag_smallreq *s, struct frag_smallreq_cursor *at,
			     struct frag_sim *sim, uint32_t end, struct frag_error *err)
{
	const uint64_t *retries = &sim->engines[0].totals->retries;

	while (at->event < end && !at->branches && !frag_sim_stopped(sim)) {
		const uint64_t left = s->large[at->event / 64] >> at->event % 64;
		const uint64_t before = *retries;
		int rc;

		at->event += left ? (uint32_t)__builtin_ctzll(left) : 64 - at->event % 64;
		if (at->event >= end)
			at->event = end;
		else if (left) {
			rc = small_play_event(s, sim, at->event++, err);
			if (rc)
				return rc;
			at->branches = *retries != before && at->held != at->used
				       && !frag_sim_stopped(sim);
			at->held = at->branches ? at->used : at->held;
		}
	}
	return 0;
}

/*
 * One more small segment comes into use, or one less. Half a segment is requested twice: the
 * second request takes the remainder of the segment that the first obtained.
 */
static int small_play_change(const struct frag_smallreq *s, struct frag_smallreq_cursor *at,
			     struct frag_sim *sim, const struct small_change *change,
			     struct frag_error *err)
{
	struct frag_engine *e = &sim->engines[0];
	struct frag_tape_event half = {
		.word = (FRAG_SMALL_SEGMENT / 2) << FRAG_TAPE_VALUE_SHIFT | FRAG_OP_ALLOC,
	};
	int rc = 0;

	FRAG_ASSERT(change->more || at->used);
	FRAG_ASSERT(at->event <= change->event);
	frag_begin_fast_step(sim, e, change->event);
	at->next++;
	at->event = change->event + 1;
	at->used -= !change->more;
	for (uint32_t i = 0; i < 2 && !rc; i++) {
		half.slot = s->slots + 2 * at->used + i;
		rc = change->more ? frag_play_alloc(sim, e, &half, s->site, err)
				  : frag_plain_free(e, &sim->slots[half.slot]);
	}
	at->used += change->more && !rc;
	at->held = at->held > at->used ? at->held : at->used;
	return small_end_event(s, sim, change->event, rc, err);
}

/* Plays large requests and changes in turn, and moves on along the timeline. */
int frag_smallreq_play(struct frag_smallreq *s, struct frag_smallreq_cursor *at,
		       struct frag_sim *sim, uint64_t until, struct frag_error *err)
{
	const uint32_t last = until < s->tape->count ? (uint32_t)until : s->tape->count;
	uint32_t count = 0, end = 0;
	int rc = frag_sim_begin(sim, err);

	FRAG_ASSERT(s->worth_it && at->used <= at->held);
	sim->fed = true;
	while (!rc && at->event < last && !frag_sim_stopped(sim)) {
		const struct small_change *change = NULL;
		uint32_t to;

		if (at->branches || at->event >= end)
			rc = small_look_ahead(s, at, &count, &end, err);
		if (rc)
			return rc;
		to = last < end ? last : end;
		if (at->next < count && small_change_at(at->line, at->next)->event < to) {
			change = small_change_at(at->line, at->next);
			to = change->event;
		}
		rc = small_play_larges(s, at, sim, to, err);
		if (!rc && change && !at->branches && !frag_sim_stopped(sim))
			rc = small_play_change(s, at, sim, change, err);
	}
	return rc;
}
