/* fit_intervals.c - finds the capacities that a run fits. */
#include "search/fit_intervals.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "engine/tape_run.h"
#include "events/tape.h"
#include "policy/policies.h"

/* A copy costs as much as several hundred events: the minimum number of events between two. */
#define STRIDE_LEAST 8192
#define SLICE 256 /* events between two calls of stop */
/* Bytes of all copies: this number, or the size of the tape. */
#define ROOM (UINT64_C(16) << 20)

/* A run, and how far it has come. */
struct run {
	const struct frag_fit_case *subject;
	struct frag_sim *sim;
	uint64_t total;
	struct frag_tape_reader *reader;        /* or, where small requests are separate, */
	struct frag_smallreq *small;
	struct frag_smallreq_cursor cursor;
};

static void drop_last(struct frag_checkpoints *c)
{
	struct frag_checkpoint *last = &c->at[--c->count];

	c->bytes -= last->bytes;
	frag_sim_del(last->sim);
	*last = (struct frag_checkpoint){ .sim = NULL };
}

void frag_checkpoints_forget(struct frag_checkpoints *c)
{
	while (c->count)
		drop_last(c);
}

/*
 * Gives the run a copy of the last checkpoint that is valid for its total, and moves its reader
 * or cursor there. Returns false if the run must begin at the first event. Later checkpoints are
 * dropped.
 */
static bool checkpoints_begin(struct frag_checkpoints *c, struct run *run)
{
	const struct frag_checkpoint *last;
	struct frag_error ignored;

	/* what is played otherwise cannot go on with them */
	if (c->small != run->small)
		frag_checkpoints_forget(c);
	c->small = run->small;
	while (c->count && (run->total < c->at[c->count - 1].min_capacity
			    || run->total >= c->at[c->count - 1].end_capacity))
		drop_last(c);
	if (!c->count || frag_sim_copy(&run->sim, c->at[c->count - 1].sim, &ignored))
		return false;
	last = &c->at[c->count - 1];
	run->cursor = last->cursor;
	if (!run->small)
		frag_tape_seek(run->reader, last->event);
	if (!frag_sim_retotal(run->sim, run->subject->device, run->total))
		FRAG_BUG("a run whose interval has the total cannot have it");
	return true;
}

static uint64_t fit_intervals_event_of(const struct run *run)
{
	return run->small ? run->cursor.event : frag_tape_at(run->reader);
}

static int run_play(struct run *run, uint64_t until, struct frag_error *err)
{
	return run->small ? frag_smallreq_play(run->small, &run->cursor, run->sim, until, err)
			  : frag_sim_play(run->sim, run->reader, until, err);
}

/*
 * Adds a checkpoint, which replaces the last one if both have the same interval. If it does not
 * fit in memory, runs begin at an earlier checkpoint, which costs only time.
 */
static void checkpoints_keep(struct frag_checkpoints *c, const struct run *run)
{
	struct frag_checkpoint new = {
		.event = fit_intervals_event_of(run),
		.cursor = run->cursor,
		.bytes = frag_sim_bytes(run->sim),
	};
	const uint64_t tape_bytes = frag_tape_bytes(run->subject->tape);
	const uint64_t room = tape_bytes > ROOM ? tape_bytes : ROOM;
	struct frag_error ignored;

	frag_sim_interval(run->sim, run->subject->device, &new.min_capacity, &new.end_capacity);
	if (c->count && c->at[c->count - 1].min_capacity == new.min_capacity
	    && c->at[c->count - 1].end_capacity == new.end_capacity)
		drop_last(c);
	if (c->count == FRAG_CHECKPOINTS || c->bytes + new.bytes > room
	    || frag_sim_copy(&new.sim, run->sim, &ignored))
		return;
	c->bytes += new.bytes;
	c->at[c->count++] = new;
}

/*
 * Plays the run to its end, or until it has stopped, and keeps checkpoints meanwhile.
 * -FRAG_EINTERRUPTED
 */
static int checkpoints_play(struct frag_checkpoints *c, struct run *run, struct frag_error *err)
{
	const uint64_t end = frag_tape_event(run->subject->tape, UINT64_MAX);
	const uint64_t stride = c->stride ? c->stride
				: frag_max(end / FRAG_CHECKPOINTS + 1, STRIDE_LEAST);
	int rc = 0;

	/* a plug-in's run cannot go on with another total, so no copy of it is of use */
	if (!frag_sim_retotal(run->sim, run->subject->device, run->total))
		return run_play(run, end, err);
	while (!rc && !frag_sim_stopped(run->sim) && fit_intervals_event_of(run) < end) {
		const uint64_t at = fit_intervals_event_of(run);
		const uint64_t until = frag_min(at + stride - at % stride, at + SLICE);

		rc = frag_job_check(&run->subject->job, err);
		rc = rc ? rc : run_play(run, until, err);
		if (!rc && until % stride == 0 && !frag_sim_stopped(run->sim)
		    && fit_intervals_event_of(run) < end)
			checkpoints_keep(c, run);
	}
	return rc;
}

/* The devices of the tape, without limits except the examined one. */
static int fit_intervals_set_devices(const struct frag_fit_case *s, uint64_t total, uint64_t other,
				     struct frag_devices *devices, struct frag_error *err)
{
	const uint32_t count = frag_tape_info(s->tape)->device_count;
	int rc = frag_devices_copy(devices, s->devices, count, err);

	for (uint32_t d = 0; d < count && !rc; d++)
		devices->figures[d].total = 0;
	if (rc)
		return rc;
	devices->figures[s->device].total = total;
	devices->figures[s->device].other += other;
	return 0;
}

struct frag_interval frag_interval_of(struct frag_sim *sim, uint32_t device)
{
	uint32_t count;
	const struct frag_result *r = &frag_sim_results(sim, false, &count)[device];

	return (struct frag_interval){
		.min_capacity = r->min_capacity, .end_capacity = r->end_capacity,
		.outcome = {
			.fits = r->status == FRAG_RUN_OK,
			.oom_step = r->oom_count ? r->ooms[0].step : 0,
			.calls = r->calls, .refused = r->refused, .retries = r->counts.retries,
			.peak_reserved = r->peak.reserved, .peak_requested = r->lower_bound,
			.peak_allocated = r->peak.allocated,
			.peak_used = (uint64_t)r->peak.process_used,
			.driver_ns = r->modelled.driver_ns, .steps = r->steps,
		},
	};
}

/*
 * The same of a run that ended with rc. A policy that failed is one that does not fit, from here on
 * where another capacity cannot be told to be another run. Returns rc, or 0 for such a policy.
 */
static int interval_at_end(struct frag_sim *sim, const struct frag_fit_case *s, uint64_t total,
			   int rc, struct frag_interval *out)
{
	if (rc && rc != -FRAG_EPOLICY)
		return rc;
	*out = sim ? frag_interval_of(sim, s->device)
		   : (struct frag_interval){ .min_capacity = total };
	if (!rc)
		return 0;
	if (!sim || !frag_sim_retotal(sim, s->device, total)) {
		out->min_capacity = total;
		out->end_capacity = UINT64_MAX;
	}
	out->outcome.fits = false;
	out->outcome.broken = true;
	return 0;
}

int frag_fit_case_begin(const struct frag_fit_case *s, uint64_t total, uint64_t other,
			enum frag_level level, struct frag_sim **sim, struct frag_error *err)
{
	struct frag_devices devices = { .count = 0 };
	struct frag_sim_options options = { .level = level, .model = s->model };
	int rc = fit_intervals_set_devices(s, total, other, &devices, err);

	options.devices = devices.figures;
	rc = rc ? rc : frag_sim_on_tape(sim, s->choice, s->tape, &options, err);
	frag_devices_fini(&devices);
	return rc;
}

int frag_fit_case_run(const struct frag_fit_case *s, uint64_t total, uint64_t other,
		      enum frag_level level, struct frag_interval *out, struct frag_error *err)
{
	struct frag_tape_reader *reader = NULL;
	struct frag_sim *sim = NULL;
	int rc = frag_job_check(&s->job, err);

	rc = rc ? rc : frag_fit_case_begin(s, total, other, level, &sim, err);
	if (!rc && !(reader = frag_tape_reader_new(s->tape)))
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_tape_play(sim, reader, UINT64_MAX, &s->job, err);
	rc = interval_at_end(sim, s, total, rc, out);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

int frag_fit_case_unlimited(const struct frag_fit_case *s, struct frag_interval *out,
			    struct frag_error *err)
{
	struct frag_fit_case to_its_end = *s;
	struct frag_interval run;
	struct frag_choice direct;
	int rc = frag_fit_case_run(s, 0, 0, FRAG_LEVEL_PEAKS, out, err);

	if (rc || out->outcome.fits)
		return rc;
	to_its_end.choice = &direct;
	rc = frag_choice_of(&direct, &frag_policy_direct, "direct", err);
	rc = rc ? rc : frag_fit_case_run(&to_its_end, 0, 0, FRAG_LEVEL_PEAKS, &run, err);
	if (!rc)
		out->outcome.peak_requested = run.outcome.peak_requested;
	return rc;
}

/* Runs a capacity, from the checkpoint at which this run diverges from the last one. */
static int run_on(struct frag_fit_intervals *v, uint64_t total, struct frag_interval *out,
		  struct frag_error *err)
{
	const struct frag_fit_case *s = &v->subject;
	struct run run = { .subject = s, .total = total };
	int rc = frag_job_check(&s->job, err);

	if (rc)
		return rc;
	if (s->small && frag_smallreq_has_room(s->small))
		run.small = s->small;
	run.reader = frag_tape_reader_new(s->tape);
	if (!run.reader)
		return frag_fail_nomem(err);
	if (!checkpoints_begin(&v->checkpoints, &run))
		rc = frag_fit_case_begin(s, total, 0, FRAG_LEVEL_SURVIVE, &run.sim, err);
	rc = rc ? rc : checkpoints_play(&v->checkpoints, &run, err);
	rc = interval_at_end(run.sim, s, total, rc, out);
	if (!rc && out->outcome.broken) {
		frag_checkpoints_forget(&v->checkpoints);
		v->why = v->why ? v->why : strdup(err->message);
		rc = v->why ? 0 : frag_fail_nomem(err);
	}
	frag_sim_del(run.sim);
	frag_tape_reader_del(run.reader);
	return rc;
}

uint64_t frag_fit_case_round_up(const struct frag_fit_case *s, uint64_t bytes)
{
	const struct frag_device_figures *f = &s->devices[s->device];
	const uint64_t taken = f->context + f->other;

	return bytes <= taken ? taken : taken + frag_round_up(bytes - taken, f->granularity);
}

int frag_places_find(struct frag_place **places, uint32_t *count,
		     const struct frag_fit_source *sources, uint32_t source_count,
		     struct frag_error *err)
{
	size_t devices = 0;
	int rc = 0;

	for (uint32_t i = 0; i < source_count; i++)
		devices += frag_tape_info(sources[i].tape)->device_count;
	*places = calloc(devices + 1, sizeof(**places));
	if (!*places)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < source_count; i++)
		for (uint32_t d = 0; d < frag_tape_info(sources[i].tape)->device_count; d++) {
			struct frag_place *p = &(*places)[*count];

			if (sources[i].devices[d].host || rc)
				continue;
			*p = (struct frag_place){ .source = i, .device = d };
			rc = frag_tape_of_device(&p->part, sources[i].tape, d, err);
			++*count;
		}
	return rc;
}

void frag_places_free(struct frag_place *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		frag_tape_del(places[i].part);
	free(places);
}

int frag_fit_intervals_init(struct frag_fit_intervals *s, const struct frag_fit_case *subject,
			    const struct frag_tape *part, struct frag_smallreq_cache *cache,
			    struct frag_error *err)
{
	struct frag_fit_case *own = &s->subject;

	*s = (struct frag_fit_intervals){ .subject = *subject };
	if (part) {
		own->tape = part;
		own->devices += own->device;
		own->device = 0;
	}
	return cache ? frag_smallreq_of(cache, &own->small, own->choice, own->tape,
					&own->devices[own->device], err) : 0;
}

void frag_fit_intervals_fini(struct frag_fit_intervals *s)
{
	free(s->intervals);
	free(s->why);
	frag_checkpoints_forget(&s->checkpoints);
	*s = (struct frag_fit_intervals){ .count = 0 };
}

/* How many begin at or below. */
static uint32_t fit_intervals_place_of(const struct frag_fit_intervals *s, uint64_t total)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, s->count, s->intervals[low].min_capacity <= total);
	return low;
}

/* Another search of the same case has simulated it. */
static bool is_known(const struct frag_fit_intervals *s, uint64_t total, struct frag_interval *out)
{
	const struct frag_fit_intervals *known = s->known;
	const uint32_t at = known ? fit_intervals_place_of(known, total) : 0;

	if (!at || total >= known->intervals[at - 1].end_capacity || known->intervals[at - 1].outcome.broken)
		return false;
	*out = known->intervals[at - 1];
	return true;
}

/* Returns the known interval of a capacity, else simulates it and inserts the result in order. */
int frag_fit_intervals_at(struct frag_fit_intervals *s, uint64_t total,
			  const struct frag_interval **out, struct frag_error *err)
{
	struct frag_interval *here;
	uint32_t at;
	int rc = 0;

	/* 0 would be no limit: a device of nothing has one byte */
	total = total ? total : 1;
	at = fit_intervals_place_of(s, total);
	if (at && total < s->intervals[at - 1].end_capacity) {
		*out = &s->intervals[at - 1];
		return 0;
	}
	if (!FRAG_GROW(s->intervals, s->capacity, s->count))
		return frag_fail_nomem(err);
	here = &s->intervals[at];
	memmove(here + 1, here, (s->count - at) * sizeof(*here));
	if (!is_known(s, total, here)) {
		rc = run_on(s, total, here, err);
		s->runs += !rc;
	}
	if (rc) {
		memmove(here, here + 1, (s->count - at) * sizeof(*here));
		return rc;
	}
	if (here->outcome.broken && at < s->count)
		here->end_capacity = frag_min(here->end_capacity, here[1].min_capacity);
	FRAG_ASSERT(here->min_capacity <= total && total < here->end_capacity);
	s->count++;
	*out = here;
	return 0;
}

/* The walk over intervals ------------------------------------------------------- */

#define NONE UINT64_MAX
/* Sizes are below it. */
#define CAPACITY_MAX (UINT64_C(1) << 53)

/* Runs for an upper bound, where the time is short. */
#define BOUND_RUNS 24

/* The simulations that are to fit a capacity. */
struct intervals {
	struct frag_fit_intervals *const *of;
	uint32_t count;
};

/* A capacity of the first device, as that of another one; and back, where UINT64_MAX has no end. */
static uint64_t shifted(uint64_t capacity, int64_t offset)
{
	if (capacity == NONE)
		return NONE;
	return offset < 0 && capacity < (uint64_t)-offset ? 0 : capacity + (uint64_t)offset;
}

int frag_fit_judge_at(struct frag_fit_intervals *const *intervals, uint32_t count, uint64_t total,
		      struct frag_fit_verdict *v, struct frag_error *err)
{
	*v = (struct frag_fit_verdict){ .fits = true, .end_capacity = NONE };
	for (uint32_t i = 0; i < count; i++) {
		const int64_t offset = intervals[i]->offset;
		const struct frag_interval *here;
		int rc = frag_fit_intervals_at(intervals[i], shifted(total, offset), &here, err);

		if (rc)
			return rc;
		v->fits = v->fits && here->outcome.fits;
		/* a limit of the program's own refuses before the device is called */
		v->refused = v->refused || here->outcome.refused || here->outcome.retries
			     || !here->outcome.fits;
		v->min_capacity = frag_max(v->min_capacity, shifted(here->min_capacity, -offset));
		v->end_capacity = frag_min(v->end_capacity, shifted(here->end_capacity, -offset));
		if (!i)
			v->outcome = here->outcome;
		frag_attempt_max(&v->outcome, &here->outcome);
	}
	return 0;
}

/* All traces on one capacity, and the next that could differ. */
static int judge_all(void *ctx, uint64_t total, struct frag_fit_verdict *v,
		     struct frag_error *err)
{
	const struct intervals *intervals = ctx;

	return frag_fit_judge_at(intervals->of, intervals->count, total, v, err);
}

static int begin_failing(struct frag_fit *fit, uint64_t from, struct frag_error *err)
{
	if (!FRAG_GROW(fit->failing, fit->failing_capacity, fit->failing_count))
		return frag_fail_nomem(err);
	fit->failing[fit->failing_count++] =
		(struct frag_failing_range){ .from = from, .to = NONE };
	return 0;
}

/* Updates smallest, reliable and the failing ranges with the verdict of the next interval. */
static int note_verdict(struct frag_fit *fit, uint64_t total, const struct frag_fit_verdict *v,
			struct frag_error *err)
{
	if (v->refused)
		fit->no_refusal = NONE;
	else if (fit->no_refusal == NONE)
		fit->no_refusal = total;
	if (!v->fits) {
		const bool begins = fit->reliable != NONE;

		fit->reliable = NONE;
		return begins ? begin_failing(fit, total, err) : 0;
	}
	if (fit->smallest == NONE) {
		fit->smallest = total;
		fit->at_most = NONE;
		fit->at_smallest = v->outcome;
	}
	if (fit->reliable == NONE) {
		fit->reliable = total;
		fit->at_reliable = v->outcome;
		if (fit->failing_count)
			fit->failing[fit->failing_count - 1].to = total;
	}
	return 0;
}

/* Is the walk to end before this capacity? */
static bool is_enough(const struct frag_fit *fit, const struct frag_fit_bounds *b, uint64_t total)
{
	const uint64_t runs = b->runs ? b->runs : FRAG_FIT_RUNS;

	if (fit->runs >= runs || (b->up_to && total > b->up_to))
		return true;
	return !b->up_to && fit->smallest != NONE
	       && total > fit->smallest + fit->smallest / 2;
}

/*
 * An upper bound of the smallest device, by halving what is between the walk's next capacity and
 * the largest. Capacities that were not simulated may contain a smaller device that is enough.
 */
static int find_upper_bound(struct frag_fit *fit, frag_fit_judge *judge, void *ctx,
			    const struct frag_fit_case *first, uint64_t low,
			    struct frag_error *err)
{
	uint64_t total = frag_fit_case_round_up(first, CAPACITY_MAX / 2), high = NONE;
	int rc = 0;

	for (uint32_t i = 0; i < BOUND_RUNS && low < high; i++) {
		struct frag_fit_verdict v;

		rc = judge(ctx, total, &v, err);
		if (rc || (!i && !v.fits))
			return rc;
		if (v.fits)
			high = fit->at_most = frag_fit_case_round_up(first, v.min_capacity);
		else
			low = frag_fit_case_round_up(first, v.end_capacity);
		if (low < high)
			total = frag_fit_case_round_up(first, low + (high - low - 1) / 2);
		if (total >= high)
			break;
	}
	return rc;
}

/* Examines one interval after the other, from the lower bound to half above the smallest device. */
int frag_fit_walk_by(struct frag_fit *fit, frag_fit_judge *judge, void *ctx,
		     const struct frag_fit_case *lattice, uint64_t lower_bound,
		     const struct frag_fit_bounds *bounds, struct frag_error *err)
{
	uint64_t total = frag_fit_case_round_up(lattice, lower_bound);
	bool bounded = false;
	int rc = 0;

	*fit = (struct frag_fit)FRAG_FIT_UNKNOWN;
	fit->lower_bound = fit->examined_to = total;
	while (!rc && total < CAPACITY_MAX && !is_enough(fit, bounds, total)) {
		struct frag_fit_verdict v;

		if (bounds->hurry && !bounded && fit->smallest == NONE
		    && bounds->hurry(bounds->ctx)) {
			bounded = true;
			rc = find_upper_bound(fit, judge, ctx, lattice, total, err);
		}
		rc = rc ? rc : judge(ctx, total, &v, err);
		rc = rc ? rc : note_verdict(fit, total, &v, err);
		if (rc)
			break;
		fit->runs++;
		fit->examined_to = v.end_capacity;
		total = v.end_capacity == NONE ? CAPACITY_MAX
					       : frag_fit_case_round_up(lattice, v.end_capacity);
	}
	if (fit->examined_to >= CAPACITY_MAX)
		fit->examined_to = NONE;
	/* what was not examined to its end is no promise */
	if (rc)
		fit->reliable = NONE;
	if (fit->failing_count && fit->failing[fit->failing_count - 1].to == NONE)
		fit->failing[fit->failing_count - 1].to = fit->examined_to;
	return rc;
}

int frag_fit_walk(struct frag_fit *fit, struct frag_fit_intervals *const *intervals, uint32_t count,
		  uint64_t lower_bound, const struct frag_fit_bounds *bounds,
		  struct frag_error *err)
{
	struct intervals all = { .of = intervals, .count = count };

	return frag_fit_walk_by(fit, judge_all, &all, &intervals[0]->subject, lower_bound,
				bounds, err);
}
