/*
 * fit_together.c - the smallest device on which several programs run at the same time.
 *
 * Each program has its own context and its own allocator; memory of the others is in use by other
 * processes. So a refused request releases the cache of that program only. A program keeps its
 * memory after its last event. The programs run on one clock, and each next one begins a number of
 * ticks, the offset, after the one before it; of events at the same time those of the first program
 * come first.
 *
 * Programs affect each other by calls of the device alone. So a run is the same, event for event,
 * for all offsets that leave these calls in their order, and every offset of two programs can be
 * simulated. Where no request is refused, the order does not matter: the sum of the memory that
 * each program reserves alone is enough whatever they do.
 */
#include "search/fit_together.h"

#include <math.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "engine/sim.h"
#include "events/tape.h"

#define ENDLESS (UINT64_C(1) << 52)     /* a capacity that no request reaches */
#define SLICE 256               /* events between two calls of stop */

/* What runs together. */
struct together {
	const struct frag_fit_case *programs;   /* of one granularity and other memory */
	const int64_t *const *clocks;   /* of each: when its events happen, rising; or NULL */
	uint32_t count;
	bool every;                     /* every offset */
	/* the only one; or a result: the last that fails below the smallest device */
	int64_t offset;
};

/* A program on its way. */
struct player {
	struct frag_sim *sim;
	struct frag_tape_reader *reader;
	struct frag_device *device;
	const struct frag_totals *totals;       /* of its heap */
	uint64_t events, other;         /* other: memory of processes that are no program here */
	uint64_t held, requested;       /* bytes now; held: with the context */
	uint64_t highest;               /* held, within the last event */
	int64_t begin;
};

/* A run of all programs. */
struct joint_run {
	bool fits, refused;
	uint64_t min_capacity, end_capacity;
	uint64_t requested;             /* the peak of what all request */
	int64_t peak_at;
	int64_t later;                  /* to the next offset of the second with another run */
	int64_t last_call, last_release;        /* of the second; INT64_MIN: none */
};

static int64_t time_of(const struct together *t, const struct player *players, uint32_t i)
{
	const uint64_t event = frag_tape_at(players[i].reader);

	return players[i].begin + (t->clocks ? t->clocks[i][event] : (int64_t)event);
}

/* The program whose event is next; t->count: all have ended. */
static uint32_t next_player(const struct together *t, const struct player *players)
{
	uint32_t first = t->count;

	for (uint32_t i = 0; i < t->count; i++)
		if (frag_tape_at(players[i].reader) < players[i].events
		    && (first == t->count
			|| time_of(t, players, i) < time_of(t, players, first)))
			first = i;
	return first;
}

static int open_player(struct player *p, const struct frag_fit_case *s, uint64_t total,
		       struct frag_error *err)
{
	const int rc = frag_fit_case_begin(s, total, 0, FRAG_LEVEL_SURVIVE, &p->sim, err);

	if (rc)
		return rc;
	p->reader = frag_tape_reader_new(s->tape);
	p->device = &p->sim->engines[s->device].device;
	p->totals = p->sim->engines[s->device].totals;
	p->events = frag_tape_event(s->tape, UINT64_MAX);
	p->other = p->device->other;
	p->held = p->device->context;
	return p->reader ? 0 : frag_fail_nomem(err);
}

/* One event of one program, next to the memory that the others hold. *called: the device was. */
static int play_event(struct player *players, uint32_t count, struct player *p, bool *called,
		      struct frag_error *err)
{
	const uint64_t before = p->device->calls + p->device->refused;
	int rc;

	p->device->other = p->other;
	for (uint32_t i = 0; i < count; i++)
		if (&players[i] != p)
			p->device->other += players[i].held;
	rc = frag_sim_play(p->sim, p->reader, frag_tape_at(p->reader) + 1, err);
	p->held = p->device->context + p->device->used;
	p->highest = p->device->context + p->totals->step_peak_used;
	p->requested = p->totals->requested;
	*called = p->device->calls + p->device->refused != before;
	return rc;
}

/*
 * Notes how much later the second program can begin until one of its calls comes after a call of
 * the first that it now precedes. Before the first refusal the order of two calls does not matter
 * where the second program's call only takes memory: what both take fits in any order.
 */
static void note_order(struct joint_run *run, const struct player *p, bool second, int64_t now)
{
	int64_t *last = &run->last_call;

	run->refused = run->refused || p->device->refused;
	if (second) {
		run->last_call = now;
		if (p->highest > p->held)
			run->last_release = now;
		return;
	}
	if (!run->refused)
		last = &run->last_release;
	if (*last != INT64_MIN && now - *last < run->later)
		run->later = now - *last;
}

static int play_all(const struct together *t, struct player *players, struct joint_run *run,
		    struct frag_error *err)
{
	const struct frag_fit_case *s = t->programs;
	uint32_t i;
	int rc = 0;

	for (uint64_t n = 0; !rc && (i = next_player(t, players)) < t->count; n++) {
		const int64_t now = time_of(t, players, i);
		uint64_t requested = 0;
		bool called;

		if (n % SLICE == 0 && frag_job_is_stopped(&s->job))
			return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
		rc = play_event(players, t->count, &players[i], &called, err);
		for (uint32_t k = 0; k < t->count; k++)
			requested += players[k].requested;
		if (requested > run->requested) {
			run->requested = requested;
			run->peak_at = now;
		}
		if (called)
			note_order(run, &players[i], i, now);
		if (frag_sim_stopped(players[i].sim))
			break;
	}
	return rc;
}

/* Runs all programs on a device of this capacity; begins: one a program. */
static int run_together(const struct together *t, const int64_t *begins, uint64_t total,
			struct joint_run *run, struct frag_error *err)
{
	struct player *players = calloc(t->count, sizeof(*players));
	int rc = players ? 0 : frag_fail_nomem(err);

	*run = (struct joint_run){
		.fits = true, .end_capacity = UINT64_MAX, .later = INT64_MAX,
		.last_call = INT64_MIN, .last_release = INT64_MIN,
	};
	for (uint32_t i = 0; i < t->count && !rc; i++) {
		players[i].begin = begins[i];
		/* 0 would be no limit */
		rc = open_player(&players[i], &t->programs[i], total ? total : 1, err);
	}
	rc = rc ? rc : play_all(t, players, run, err);
	for (uint32_t i = 0; i < t->count && players; i++) {
		if (!rc) {
			const struct frag_interval k =
				frag_interval_of(players[i].sim, t->programs[i].device);

			run->fits = run->fits && k.outcome.fits;
			run->refused = run->refused || k.outcome.refused || k.outcome.retries;
			run->min_capacity = frag_max(k.min_capacity, run->min_capacity);
			run->end_capacity = frag_min(k.end_capacity, run->end_capacity);
		}
		frag_sim_del(players[i].sim);
		frag_tape_reader_del(players[i].reader);
	}
	free(players);
	return rc;
}

/* Offsets, first to last, with the same runs on all capacities below `end_capacity`: all fit. */
struct known_offsets {
	int64_t first, last;
	uint64_t end_capacity;
	bool refused;
};

/* The question, and what is known so far. */
struct search {
	struct together *t;
	struct frag_fit *fit;
	struct frag_device_figures device;      /* with all contexts */
	struct frag_fit_case lattice;
	/* what the programs reserve, each alone, with contexts: from there on the device refuses
	 * nothing; UINT64_MAX: unknown */
	uint64_t sum;
	int64_t *begins;                /* of each program; first those that align the peaks */
	int64_t first, last;            /* offsets: all of the second before the first, or behind */
	struct known_offsets *known;    /* of the last capacity, in order */
	uint32_t known_count, known_capacity;
};

/* Each program alone, on an endless device. */
static int run_alone(struct search *s, struct frag_error *err)
{
	const struct together *t = s->t;
	int64_t at_once = 0, peak_at = 0;
	int rc = 0;

	for (uint32_t i = 0; i < t->count && !rc; i++) {
		const struct frag_fit_case *p = &t->programs[i];
		const struct together alone = {
			.programs = p, .count = 1, .clocks = t->clocks ? t->clocks + i : NULL,
		};
		const uint64_t events = frag_tape_event(p->tape, UINT64_MAX);
		const int64_t end = !events ? 0 : t->clocks ? t->clocks[i][events - 1]
							    : (int64_t)events - 1;
		struct joint_run run;

		rc = run_together(&alone, &at_once, ENDLESS, &run, err);
		if (rc || !run.fits || run.end_capacity != UINT64_MAX || s->sum == UINT64_MAX)
			s->sum = UINT64_MAX;
		else
			s->sum += run.min_capacity > s->device.other
				  ? run.min_capacity - s->device.other : 0;
		peak_at = i ? peak_at : run.peak_at;
		s->begins[i] = peak_at - run.peak_at;
		s->first = i == 1 ? -end - 1 : s->first;
		s->last = i == 0 ? end : s->last;
	}
	return rc;
}

/* Each next program begins this number of ticks later. */
static int run_offset(struct search *s, int64_t offset, uint64_t total,
		      struct joint_run *run, struct frag_error *err)
{
	for (uint32_t i = 0; i < s->t->count; i++)
		s->begins[i] = i * offset;
	return run_together(s->t, s->begins, total, run, err);
}

/* Adds one offset to the verdict on a capacity, and notes it where it fails; *later: as in the run. */
static int judge_offset(struct search *s, int64_t offset, uint64_t total,
			struct frag_fit_verdict *v, int64_t *later, struct frag_error *err)
{
	struct joint_run run;
	const int rc = run_offset(s, offset, total, &run, err);

	if (rc)
		return rc;
	*later = run.later;
	v->fits = run.fits;
	v->refused = v->refused || run.refused || !run.fits;
	v->min_capacity = frag_max(run.min_capacity, v->min_capacity);
	v->end_capacity = run.fits ? frag_min(run.end_capacity, v->end_capacity)
				   : run.end_capacity;
	if (!run.fits && s->fit->smallest == UINT64_MAX)
		s->t->offset = offset;
	return 0;
}

/* The one offset. */
static int judge_given(void *ctx, uint64_t total, struct frag_fit_verdict *v,
		       struct frag_error *err)
{
	struct search *s = ctx;
	int64_t unused;

	*v = (struct frag_fit_verdict){ .fits = true, .end_capacity = UINT64_MAX };
	return judge_offset(s, s->t->offset, total, v, &unused, err);
}

/* One more at the end of a list. */
static int keep_offsets(struct search *list, struct known_offsets k, struct frag_error *err)
{
	if (!FRAG_GROW(list->known, list->known_capacity, list->known_count))
		return frag_fail_nomem(err);
	list->known[list->known_count++] = k;
	return 0;
}

/* The offsets from this one on that are known to fit the capacity; NULL: none. *i rises. */
static const struct known_offsets *find_known(const struct search *s, uint32_t *i, int64_t offset,
					      uint64_t total)
{
	while (*i < s->known_count && s->known[*i].last < offset)
		++*i;
	return *i < s->known_count && s->known[*i].first <= offset
	       && s->known[*i].end_capacity > total ? &s->known[*i] : NULL;
}

/* All offsets; those that are known from a smaller capacity are not simulated again. */
static int judge_each(struct search *s, uint64_t total, struct frag_fit_verdict *v,
		      struct frag_error *err)
{
	struct search now = { .known_count = 0 };
	uint32_t i = 0;
	int rc = 0;

	for (int64_t offset = s->first; !rc && v->fits && offset <= s->last;) {
		const struct known_offsets *old = find_known(s, &i, offset, total);
		struct frag_fit_verdict one = { .fits = true, .end_capacity = UINT64_MAX };
		struct known_offsets k = { .first = offset };
		int64_t later = INT64_MAX;

		if (old) {
			k = *old;
		} else {
			rc = judge_offset(s, offset, total, &one, &later, err);
			k.last = later <= s->last - offset ? offset + later - 1 : s->last;
			k.end_capacity = one.end_capacity;
			k.refused = one.refused;
		}
		v->fits = one.fits;
		v->refused = v->refused || k.refused;
		v->end_capacity = one.fits ? frag_min(k.end_capacity, v->end_capacity)
					   : k.end_capacity;
		offset = k.last + 1;
		rc = rc || !v->fits ? rc : keep_offsets(&now, k, err);
	}
	for (; !rc && i < s->known_count; i++)
		rc = keep_offsets(&now, s->known[i], err);
	free(s->known);
	s->known = now.known;
	s->known_count = now.known_count;
	s->known_capacity = now.known_capacity;
	return rc;
}

/* The offset that failed last is tried first. */
static int judge_every(void *ctx, uint64_t total, struct frag_fit_verdict *v,
		       struct frag_error *err)
{
	struct search *s = ctx;
	int rc;

	*v = (struct frag_fit_verdict){ .fits = true, .end_capacity = UINT64_MAX };
	if (total >= s->sum)
		return 0;
	rc = judge_given(ctx, total, v, err);
	return rc || !v->fits ? rc : judge_each(s, total, v, err);
}

/* The lower bound: the peaks of all programs at once, or what they request at this offset. */
static int find_bounds(struct search *s, struct frag_error *err)
{
	struct joint_run run;
	int rc = run_alone(s, err);

	if (rc)
		return rc;
	if (s->t->every && s->t->count == 2)
		s->t->offset = s->begins[1];
	rc = s->t->every ? run_together(s->t, s->begins, ENDLESS, &run, err)
			 : run_offset(s, s->t->offset, ENDLESS, &run, err);
	if (!rc)
		s->fit->lower_bound = frag_fit_case_round_up(&s->lattice, s->device.context
							  + s->device.other + run.requested);
	return rc;
}

/* For every offset, what the programs reserve alone is enough: an upper bound. */
static int fit_programs(struct search *s, const struct frag_fit_bounds *bounds,
			struct frag_error *err)
{
	const bool every = s->t->every;
	struct frag_fit *fit = s->fit;
	int rc = find_bounds(s, err);
	const bool bounded = !rc && every && s->sum != UINT64_MAX;
	const uint64_t lower_bound = fit->lower_bound;
	uint64_t sum;

	if (!rc && (!every || s->t->count == 2))
		rc = frag_fit_walk_by(fit, every ? judge_every : judge_given, s, &s->lattice,
				      lower_bound, bounds, err);
	if (!bounded)
		return rc;
	sum = frag_fit_case_round_up(&s->lattice, s->sum);
	fit->lower_bound = lower_bound;
	fit->reliable = frag_min(fit->reliable, sum);
	fit->no_refusal = sum;
	fit->at_most = fit->smallest == UINT64_MAX ? sum : UINT64_MAX;
	fit->examined_to = fit->runs ? fit->examined_to : lower_bound;
	return rc;
}

int frag_fit_together(void *fits, uint32_t index, struct frag_error *err)
{
	struct frag_fits *f = fits;
	struct frag_fitted *joint = &f->joint[index];
	struct frag_fit_case *programs = calloc(f->source_count, sizeof(*programs));
	struct together t = {
		.programs = programs, .count = f->source_count,
		.clocks = (const int64_t *const *)f->clocks,
		.every = f->every_offset, .offset = f->offset,
	};
	struct search s = {
		.t = &t, .fit = &joint->fit, .begins = calloc(t.count, sizeof(*s.begins)),
	};
	struct frag_fit_bounds bounds = f->bounds;
	int rc = programs && s.begins ? 0 : frag_fail_nomem(err);

	for (uint32_t i = 0; i < f->count && !rc; i++) {
		const struct frag_fit_case *p = &f->fitted[i].intervals.subject;

		if (f->fitted[i].choice != joint->choice)
			continue;
		programs[f->fitted[i].source] = *p;
		s.device.context += p->devices[p->device].context;
	}
	if (!rc) {
		const struct frag_device_figures *first = &programs->devices[programs->device];
		const uint64_t contexts = s.device.context;

		s.device = *first;
		s.device.context = contexts;
		s.sum = first->other;
		s.lattice = (struct frag_fit_case){ .devices = &s.device };
		/* every offset has a separate bound */
		if (f->every_offset)
			bounds.hurry = NULL;
		rc = fit_programs(&s, &bounds, err);
	}
	joint->offset = t.offset;
	free(s.known);
	free(s.begins);
	free(programs);
	return rc;
}

/*
 * When the events of a tape happen: recorded nanoseconds since the first one, never backwards.
 * *out is owned by the caller, and NULL where an event has no time.
 */
static int make_clock(int64_t **out, const struct frag_tape *tape, struct frag_error *err)
{
	struct frag_tape_reader *r = frag_tape_reader_new(tape);
	int64_t *clock = malloc(((size_t)frag_tape_event(tape, UINT64_MAX) + 1) * sizeof(*clock));
	struct frag_batch batch = { .count = 0 };
	double begin = 0;
	bool timed = true;
	uint64_t n = 0;

	*out = NULL;
	do {
		if (r && clock)
			frag_tape_next(r, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count && timed; i++, n++) {
			const struct frag_event *ev = &batch.events[i];

			timed = ev->members & FRAG_HAS_T;
			begin = n ? begin : ev->t;
			clock[n] = llround((ev->t - begin) * 1000);
			clock[n] = n && clock[n] < clock[n - 1] ? clock[n - 1] : clock[n];
		}
	} while (batch.count && timed);
	frag_tape_reader_del(r);
	if (timed && r && clock) {
		*out = clock;
		return 0;
	}
	free(clock);
	return timed ? frag_fail_nomem(err) : 0;
}

/* Is it one device that the traces were recorded on? */
static int check_one_device(const struct frag_fits *f, struct frag_error *err)
{
	const struct frag_device_figures *first = f->sources[0].devices;
	const char *path = frag_tape_info(f->sources[0].tape)->path;

	for (uint32_t i = 0; i < f->source_count; i++) {
		const struct frag_trace_info *info = frag_tape_info(f->sources[i].tape);
		const struct frag_device_figures *d = f->sources[i].devices;

		if (info->device_count > 1)
			return frag_fail(err, FRAG_EUSAGE, "--together: %s has %u devices, and is"
					 " to have one; fragsim trace slice --only-device selects it",
					 frag_input_name(info->path), info->device_count);
		if (d->granularity != first->granularity || d->other != first->other
		    || d->small_max != first->small_max)
			return frag_fail(err, FRAG_EUSAGE, "--together: %s and %s are of devices"
					 " with another granularity or other memory in use:"
					 " --granularity and --other-bytes set these for all",
					 frag_input_name(path), frag_input_name(info->path));
	}
	return 0;
}

/* Takes no offset that is longer than the program before it. */
static int check_offset(const struct frag_fits *f, double offset, double ticks,
			struct frag_error *err)
{
	if ((double)f->offset != ticks && !f->clocks)
		return frag_fail(err, FRAG_EUSAGE, "--offset %g: a whole number of events is"
				 " required, as the traces have no times", offset);
	for (uint32_t i = 0; i + 1 < f->source_count; i++) {
		const uint32_t before = ticks < 0 ? i + 1 : i;
		const struct frag_tape *tape = f->sources[before].tape;
		const uint64_t events = frag_tape_event(tape, UINT64_MAX);
		/* one tick after the last event it is over */
		const double end = !events ? 0 : !f->clocks ? (double)events
				   : (double)f->clocks[before][events - 1] + 1;
		const double shown = f->clocks ? floor(end / 1000) : end;

		if (fabs(ticks) > end)
			return frag_fail(err, FRAG_EUSAGE, "--offset %.16g: %s has %.16g %s%s",
					 offset, frag_input_name(frag_tape_info(tape)->path),
					 shown, f->clocks ? "microsecond" : "event",
					 frag_s((uint64_t)shown));
	}
	return 0;
}

int frag_fit_together_prepare(struct frag_fits *f, struct frag_error *err)
{
	const double offset = f->begins_apart;
	bool timed = true;
	int rc = check_one_device(f, err);

	f->every_offset = isnan(offset);
	f->clocks = rc ? NULL : calloc(f->source_count, sizeof(*f->clocks));
	if (!rc && !f->clocks)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->source_count && !rc && timed; i++) {
		rc = make_clock(&f->clocks[i], f->sources[i].tape, err);
		timed = f->clocks[i];
	}
	for (uint32_t i = 0; !rc && !timed && i < f->source_count; i++)
		free(f->clocks[i]);
	if (!rc && !timed) {
		free(f->clocks);
		f->clocks = NULL;
	}
	if (rc || f->every_offset)
		return rc;
	f->offset = llround(f->clocks ? offset * 1000 : offset);
	return check_offset(f, offset, f->clocks ? offset * 1000 : offset, err);
}
