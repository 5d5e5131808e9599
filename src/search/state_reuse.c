/* state_reuse.c - runs that begin where they part from others, and end where they join one. */
#include "search/state_reuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "search/fit_intervals.h"

/* To look a state up and to keep it costs what some hundreds of events do. */
#define STRIDE_LEAST 2048
#define KNOTS 64                /* along a run, of a tape that is long */
/* Knots may take so much, beside half as much as the tape. */
#define ROOM (UINT64_C(24) << 20)

/* What a run did between two knots: as an interval of its own, calls and so on of this part. */
struct stretch {
	struct frag_interval part;
	uint32_t to;                    /* knot; END: the run has ended */
	uint64_t made;                  /* that one's: else it has been dropped since */
};
#define END UINT32_MAX

struct frag_saved_state {
	struct frag_sim *sim;           /* NULL: dropped */
	uint64_t made;                  /* a number that no other has had */
	uint64_t run;                   /* that came by last */
	uint64_t hash, bytes;
	uint32_t next;                  /* dropped: another one that is */
	struct frag_smallreq_cursor place;
	struct stretch *stretches;
	uint32_t count, capacity;
};

/* Where a run is; sim NULL: as its knot has it. */
struct walker {
	struct frag_state_reuse *joins;
	const struct frag_fit_case *subject;
	uint64_t total;
	uint32_t knot;
	struct frag_sim *sim;
	struct frag_smallreq_cursor place;
};

void frag_state_reuse_clear(struct frag_state_reuse *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		frag_sim_del(j->knots[i]->sim);
		free(j->knots[i]->stretches);
		free(j->knots[i]);
	}
	if (j->count)
		frag_map_fini(&j->by_state);
	free(j->knots);
	free(j->here.words);
	free(j->there.words);
	*j = (struct frag_state_reuse){ .stride = j->stride, .most = j->most };
}

/* Another one; a dropped one comes first. END where memory is short. */
static uint32_t new_knot(struct frag_state_reuse *j)
{
	const uint32_t unused = j->unused;

	if (unused != END) {
		j->unused = j->knots[unused]->next;
		return unused;
	}
	if (!frag_grow(&j->knots, &j->capacity, (uint64_t)j->count + 1,
		       sizeof(struct frag_saved_state *)))
		return END;
	j->knots[j->count] = calloc(1, sizeof(struct frag_saved_state));
	return j->knots[j->count] ? j->count++ : END;
}

/* A knot of this simulation, which it owns from then on; END where memory is short. */
static uint32_t add_knot(struct frag_state_reuse *j, struct frag_sim *sim,
			 const struct frag_smallreq_cursor *place, uint64_t hash)
{
	const uint32_t knot = new_knot(j);

	if (knot == END)
		return END;
	*j->knots[knot] = (struct frag_saved_state){
		.sim = sim, .made = j->made++, .run = j->runs, .hash = hash, .place = *place,
		.bytes = sizeof(struct frag_saved_state) + frag_sim_bytes(sim),
	};
	j->bytes += j->knots[knot]->bytes;
	return knot;
}

/* What leads there is of no use any more. */
static void state_reuse_drop(struct frag_state_reuse *j, uint32_t knot)
{
	struct frag_saved_state *k = j->knots[knot];

	frag_map_remove(&j->by_state, k->hash, knot);
	frag_sim_del(k->sim);
	free(k->stretches);
	j->bytes -= k->bytes;
	*k = (struct frag_saved_state){ .next = j->unused };
	j->unused = knot;
}

/* Those go that no run has come by for long; the first knot and those of this run stay. */
static void state_reuse_make_room(struct frag_state_reuse *j, uint64_t bytes)
{
	for (uint64_t young = j->runs / 2; j->bytes + bytes > j->most && young < j->runs;
	     young += (j->runs - young + 1) / 2)
		for (uint32_t i = 1; i < j->count; i++)
			if (j->knots[i]->sim && j->knots[i]->run < young)
				state_reuse_drop(j, i);
}

/* The first knot: before the first event. */
static int state_reuse_begin(struct frag_state_reuse *j, const struct frag_fit_case *s,
			     uint64_t total, struct frag_error *err)
{
	const struct frag_smallreq_cursor start = { .event = 0 };
	const uint64_t events = frag_tape_event(s->tape, UINT64_MAX);
	struct frag_sim *sim = NULL;
	int rc;

	j->unused = END;
	if (!j->stride)
		j->stride = events / KNOTS > STRIDE_LEAST ? events / KNOTS : STRIDE_LEAST;
	if (!j->most)
		j->most = frag_tape_bytes(s->tape) / 2 + ROOM;
	if (!frag_map_init(&j->by_state, 0))
		return frag_fail_nomem(err);
	rc = frag_subject_begin(s, total, &sim, err);
	if (!rc && add_knot(j, sim, &start, 0) == END) {
		frag_sim_del(sim);
		rc = frag_fail_nomem(err);
	}
	if (rc)
		frag_map_fini(&j->by_state);
	return rc;
}

/* With this total from the knot on; NULL: not known, or where it led to has been dropped. */
static struct stretch *state_reuse_find(const struct frag_state_reuse *j,
					const struct frag_saved_state *knot, uint64_t total)
{
	for (uint32_t i = knot->count; i-- > 0;) {
		struct stretch *s = &knot->stretches[i];

		if (s->part.least <= total && total < s->part.beyond
		    && (s->to == END || j->knots[s->to]->made == s->made))
			return s;
	}
	return NULL;
}

static uint64_t hash_of(const struct frag_state_key *outline)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < outline->count; i++)
		hash = frag_hash_mix(hash + outline->words[i]);
	return hash;
}

/* The knot whose state the walker is in, of those with this hash; END: none. */
static uint32_t find_same(const struct walker *w, uint64_t hash)
{
	struct frag_state_reuse *j = w->joins;
	const struct frag_state_key *here = &j->here, *there = &j->there;
	uint32_t at = frag_map_home(&j->by_state, hash), knot;

	while ((knot = frag_map_next(&j->by_state, hash, &at)) != FRAG_MAP_NONE)
		if (frag_apart_outline(w->subject->apart, &j->knots[knot]->place,
				       j->knots[knot]->sim, &j->there)
		    && there->count == here->count
		    && memcmp(there->words, here->words, here->count * sizeof(*here->words)) == 0)
			return knot;
	return END;
}

/* A copy of the walker's simulation becomes a knot, where there is room; else END. */
static uint32_t state_reuse_keep(const struct walker *w, uint64_t hash)
{
	struct frag_state_reuse *j = w->joins;
	const uint64_t bytes = frag_sim_bytes(w->sim);
	struct frag_error ignored;
	struct frag_sim *copy;
	uint32_t knot;

	state_reuse_make_room(j, bytes);
	if (j->bytes + bytes > j->most || !frag_map_reserve(&j->by_state, 1)
	    || frag_sim_copy(&copy, w->sim, &ignored))
		return END;
	knot = add_knot(j, copy, &w->place, hash);
	if (knot == END)
		frag_sim_del(copy);
	else
		frag_map_add(&j->by_state, hash, knot);
	return knot;
}

/* From the knot on with the walker's total, in a simulation of its own. */
static int take_up(struct walker *w, struct frag_error *err)
{
	const struct frag_saved_state *knot = w->joins->knots[w->knot];
	int rc = 0;

	if (!w->sim)
		rc = frag_sim_copy(&w->sim, knot->sim, err);
	if (rc)
		return rc;
	w->place = knot->place;
	frag_apart_begin_stretch(w->sim);
	if (!frag_sim_retotal(w->sim, w->subject->device, w->total))
		FRAG_BUG("a run that nothing was decided in cannot have another total");
	return 0;
}

/* The knot that the walker has come to: one that is there already, or a new one; END: none. */
static uint32_t arrive(struct walker *w)
{
	struct frag_state_reuse *j = w->joins;
	uint64_t hash;
	uint32_t knot;

	if (!frag_apart_outline(w->subject->apart, &w->place, w->sim, &j->here))
		return END;
	hash = hash_of(&j->here);
	knot = find_same(w, hash);
	return knot != END ? knot : state_reuse_keep(w, hash);
}

/*
 * Simulates from the walker's knot to the next, or to the end where there is no room for one. It
 * goes on from a new one with what it has, from one that was there with a copy of that.
 */
static int state_reuse_simulate(struct walker *w, struct stretch *new, struct frag_error *err)
{
	const uint64_t made = w->joins->made;
	const uint64_t end = frag_tape_event(w->subject->tape, UINT64_MAX);
	/* of many settings there is one run each, and nobody else would come by its knots */
	const uint64_t stride = w->joins->runs > 1 ? w->joins->stride : end;
	struct frag_attempt before;
	int rc = take_up(w, err);

	if (rc)
		return rc;
	before = frag_survival_of(w->sim, w->subject->device).outcome;
	new->to = END;
	while (!rc && new->to == END && w->place.event < end && !frag_sim_stopped(w->sim)) {
		const uint64_t at = w->place.event;

		rc = frag_apart_play(w->subject->apart, &w->place, w->sim,
				     at + stride - at % stride, err);
		if (!rc && w->place.event < end && !frag_sim_stopped(w->sim))
			new->to = arrive(w);
	}
	if (rc)
		return rc;
	new->part = frag_survival_of(w->sim, w->subject->device);
	new->part.outcome.calls -= before.calls;
	new->part.outcome.refused -= before.refused;
	new->part.outcome.retries -= before.retries;
	new->part.outcome.driver_ns -= before.driver_ns;
	new->made = new->to == END ? 0 : w->joins->knots[new->to]->made;
	if (new->to != END && new->made < made) {
		frag_sim_del(w->sim);
		w->sim = NULL;
	}
	return 0;
}

static void state_reuse_add(struct frag_interval *sum, const struct frag_interval *part)
{
	sum->least = part->least > sum->least ? part->least : sum->least;
	sum->beyond = part->beyond < sum->beyond ? part->beyond : sum->beyond;
	sum->outcome.calls += part->outcome.calls;
	sum->outcome.refused += part->outcome.refused;
	sum->outcome.retries += part->outcome.retries;
	sum->outcome.driver_ns += part->outcome.driver_ns;
	sum->outcome.survives = part->outcome.survives;
	sum->outcome.oom_step = part->outcome.oom_step;
}

/* In place of one that has led to a knot that was dropped, or as one more. */
static void state_reuse_note(struct frag_state_reuse *j, struct frag_saved_state *knot,
			     const struct stretch *new)
{
	for (uint32_t i = 0; i < knot->count; i++) {
		struct stretch *s = &knot->stretches[i];

		if (s->to != END && j->knots[s->to]->made != s->made) {
			*s = *new;
			return;
		}
	}
	if (!frag_grow(&knot->stretches, &knot->capacity, (uint64_t)knot->count + 1,
		       sizeof(*knot->stretches)))
		return;
	knot->stretches[knot->count++] = *new;
	knot->bytes += sizeof(*new);
	j->bytes += sizeof(*new);
}

/* The walker's next stretch: one that is known, or a new one, which is kept where it can be. */
static int go(struct walker *w, struct stretch *stretch, struct frag_error *err)
{
	struct frag_saved_state *knot = w->joins->knots[w->knot];
	const struct stretch *known = state_reuse_find(w->joins, knot, w->total);
	int rc = 0;

	knot->run = w->joins->runs;
	if (known) {
		*stretch = *known;
		return 0;
	}
	rc = state_reuse_simulate(w, stretch, err);
	if (!rc)
		state_reuse_note(w->joins, knot, stretch);
	return rc;
}

int frag_joins_run(struct frag_state_reuse *j, const struct frag_fit_case *subject, uint64_t total,
		   struct frag_interval *out, struct frag_error *err)
{
	struct walker w = { .joins = j, .subject = subject, .total = total };
	int rc = 0;

	j->runs++;
	if (!j->count)
		rc = state_reuse_begin(j, subject, total, err);
	*out = (struct frag_interval){ .beyond = UINT64_MAX };
	while (!rc && w.knot != END) {
		struct stretch stretch;

		rc = go(&w, &stretch, err);
		if (rc)
			break;
		state_reuse_add(out, &stretch.part);
		w.knot = stretch.to;
	}
	frag_sim_del(w.sim);
	return rc;
}
