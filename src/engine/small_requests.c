/* small_requests.c - a run whose small requests are simulated apart. */
#include "engine/small_requests.h"

#include "engine/fast_path_tape.h"
#include "engine/small_requests_timeline.h"
#include "policy/small_pool.h"

/* A run's place, and what it plays. */
struct course {
	struct frag_smallreq *apart;
	struct frag_smallreq_cursor *place;
	struct frag_sim *sim;
	bool parted;                    /* from the way whose changes it has */
};

/* What came of the event: the run goes on, or it is an OOM, or it failed. */
static int end_event(const struct course *c, uint32_t event, bool alloc, int rc,
		     struct frag_error *err)
{
	struct frag_event ev;

	if (!rc)
		return 0;
	ev = frag_apart_event(c->apart, event);
	return rc == -FRAG_EDEVMEM && alloc
		? frag_sim_oom(c->sim, 0, &ev, err)
		: frag_engine_fail(&c->sim->engines[0], &ev, 0, rc, err);
}

/* Where all that was unused went back, small segments did too, if there were any. */
static int note_refusal(struct course *c, uint32_t event, struct frag_error *err)
{
	struct frag_smallreq_cursor *p = c->place;

	if (frag_sim_stopped(c->sim) || p->held == p->used)
		return 0;
	p->held = p->used;
	c->parted = true;
	return frag_smallreq_branch(c->apart, p, event, err);
}

static int play_other(struct course *c, uint32_t event, struct frag_error *err)
{
	const struct frag_tape *tape = frag_apart_tape(c->apart);
	const struct frag_tape_event *ev = &tape->events[event];
	struct frag_engine *e = &c->sim->engines[0];
	const bool alloc = frag_tape_is_alloc(ev);
	const uint64_t retries = e->totals->retries;
	int rc;

	frag_begin_record(c->sim, e, event);
	rc = alloc ? frag_play_alloc(c->sim, e, ev, &tape->sites[ev->site], err)
		   : frag_plain_free(e, &c->sim->slots[ev->slot]);
	if (rc)
		rc = end_event(c, event, alloc, rc, err);
	if (!rc && e->totals->retries != retries)
		rc = note_refusal(c, event, err);
	return rc;
}

/* Those that are not small, before event `end`, or up to one at which the ways part. */
static int play_others(struct course *c, uint32_t end, struct frag_error *err)
{
	const uint64_t *others = frag_smallreq_large_events(c->apart);
	struct frag_smallreq_cursor *p = c->place;
	int rc = 0;

	while (p->event < end && !rc && !c->parted && !frag_sim_stopped(c->sim)) {
		const uint64_t rest = others[p->event / 64] >> p->event % 64;
		const uint32_t skipped = rest ? (uint32_t)__builtin_ctzll(rest)
					      : 64 - p->event % 64;

		if (skipped >= end - p->event) {
			p->event = end;
			break;
		}
		p->event += skipped;
		if (rest)
			rc = play_other(c, p->event++, err);
	}
	return rc;
}

static uint32_t slot_of(const struct course *c, uint32_t half)
{
	return frag_apart_slots(c->apart) + 2 * c->place->used + half;
}

/* Half a segment twice: the second is what the first has left of it. */
static int use_more(struct course *c, uint32_t event, struct frag_error *err)
{
	const struct frag_tape_site *site = frag_apart_site(c->apart);
	const struct frag_request rq = {
		.bytes = FRAG_SMALL_SEGMENT / 2, .stream = site->stream, .pool = site->pool,
		.tick = event, .stream_order = site->stream_order,
	};
	struct frag_smallreq_cursor *p = c->place;
	int rc = 0;

	for (uint32_t i = 0; i < 2 && !rc; i++) {
		rc = frag_slot_room(c->sim, slot_of(c, i), err);
		if (rc)
			return rc;
		rc = frag_plain_alloc(&c->sim->engines[0], &rq, 0, 0, 0,
				      &c->sim->slots[slot_of(c, i)]);
	}
	if (rc)
		return end_event(c, event, true, rc, err);
	p->used++;
	p->held = p->held > p->used ? p->held : p->used;
	return 0;
}

static int use_less(struct course *c, uint32_t event, struct frag_error *err)
{
	int rc = 0;

	c->place->used--;
	for (uint32_t i = 0; i < 2 && !rc; i++)
		rc = frag_plain_free(&c->sim->engines[0], &c->sim->slots[slot_of(c, i)]);
	return rc ? end_event(c, event, false, rc, err) : 0;
}

/* At the place of a change. */
static int play_change(struct course *c, const struct frag_small_change *change, struct frag_error *err)
{
	frag_begin_record(c->sim, &c->sim->engines[0], change->event);
	c->place->next++;
	c->place->event = change->event + 1;
	return change->more ? use_more(c, change->event, err) : use_less(c, change->event, err);
}

/* Up to event `until`, or as far as these changes tell. */
static int play_changes(struct course *c, const struct frag_changes *changes, uint32_t until,
			struct frag_error *err)
{
	const uint32_t end = until < changes->end ? until : changes->end;
	int rc = 0;

	c->parted = false;
	for (uint32_t i = 0; i < changes->count && changes->at[i].event < end; i++) {
		rc = play_others(c, changes->at[i].event, err);
		if (!rc && !c->parted && !frag_sim_stopped(c->sim))
			rc = play_change(c, &changes->at[i], err);
		if (rc || c->parted || frag_sim_stopped(c->sim))
			return rc;
	}
	return play_others(c, end, err);
}

int frag_apart_play(struct frag_smallreq *apart, struct frag_smallreq_cursor *place,
		    struct frag_sim *sim, uint64_t until, struct frag_error *err)
{
	const uint32_t count = frag_apart_tape(apart)->count;
	const uint32_t end = until < count ? (uint32_t)until : count;
	struct course c = { .apart = apart, .place = place, .sim = sim };
	int rc = frag_sim_begin(sim, err);

	sim->fed = true;
	while (!rc && place->event < end && !frag_sim_stopped(sim)) {
		struct frag_changes changes;

		rc = frag_smallreq_next_changes(apart, place, &changes, err);
		rc = rc ? rc : play_changes(&c, &changes, end, err);
	}
	return rc;
}

void frag_apart_begin_stretch(struct frag_sim *sim)
{
	sim->engines[0].device.least = 0;
	sim->engines[0].device.beyond = UINT64_MAX;
}
