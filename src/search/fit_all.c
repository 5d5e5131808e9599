/* fit_all.c - every trace under every policy fitted, side by side. */
#include "search/fit_all.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "events/tape.h"

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

/* All traces on one capacity: one that fails decides, and the next that could differ. */
static int fit_all_judge(void *ctx, uint64_t total, struct frag_fit_verdict *v,
			    struct frag_error *err)
{
	const struct intervals *intervals = ctx;

	*v = (struct frag_fit_verdict){ .fits = true, .end_capacity = NONE };
	for (uint32_t i = 0; i < intervals->count; i++) {
		const struct frag_interval *here;
		int rc = frag_fit_intervals_at(intervals->of[i], total, &here, err);

		if (rc)
			return rc;
		v->fits = v->fits && here->outcome.fits;
		/* a limit of the program's own refuses before the device is called */
		v->refused = v->refused || here->outcome.refused || here->outcome.retries
			     || !here->outcome.fits;
		v->min_capacity = frag_max(v->min_capacity, here->min_capacity);
		v->end_capacity = frag_min(v->end_capacity, here->end_capacity);
		if (!i)
			v->outcome = here->outcome;
		frag_attempt_max(&v->outcome, &here->outcome);
	}
	return 0;
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
static int fit_all_note(struct frag_fit *fit, uint64_t total, const struct frag_fit_verdict *v,
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

/* Nothing is known. */
static void fit_reset(struct frag_fit *fit)
{
	*fit = (struct frag_fit){
		.smallest = NONE,
		.at_most = NONE,
		.reliable = NONE,
		.no_refusal = NONE,
		.headroom = NONE,
	};
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

	fit_reset(fit);
	fit->lower_bound = fit->examined_to = total;
	while (!rc && total < CAPACITY_MAX && !is_enough(fit, bounds, total)) {
		struct frag_fit_verdict v;

		if (bounds->hurry && !bounded && fit->smallest == NONE
		    && bounds->hurry(bounds->ctx)) {
			bounded = true;
			rc = find_upper_bound(fit, judge, ctx, lattice, total, err);
		}
		rc = rc ? rc : judge(ctx, total, &v, err);
		rc = rc ? rc : fit_all_note(fit, total, &v, err);
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

	return frag_fit_walk_by(fit, fit_all_judge, &all, &intervals[0]->subject, lower_bound,
				bounds, err);
}

static int find_peak(struct frag_attempt *outcome, const struct frag_fit_case *s, uint64_t total,
		     struct frag_error *err)
{
	struct frag_interval again;
	int rc = total == NONE ? 0
			       : frag_fit_case_run(s, total, 0, FRAG_LEVEL_PEAKS, &again, err);

	if (total != NONE && !rc)
		*outcome = again.outcome;
	return rc;
}

int frag_fit_peaks(struct frag_fit *fit, const struct frag_fit_case *s, struct frag_error *err)
{
	int rc = find_peak(&fit->at_smallest, s, fit->smallest, err);

	if (fit->reliable == fit->smallest)
		fit->at_reliable = fit->at_smallest;
	else
		rc = rc ? rc : find_peak(&fit->at_reliable, s, fit->reliable, err);
	fit->peaks = !rc;
	return rc;
}

/*
 * When other processes use more, the total is unchanged, and so is everything that a policy
 * derives from the total: only the grants and refusals of the device can change. The device
 * refuses again all that it refused, and grants all that it granted as long as the peak in use
 * fits.
 */
int frag_fit_headroom(const struct frag_fit_case *s, uint64_t total, uint64_t *room,
		     struct frag_error *err)
{
	const struct frag_device_figures *f = &s->devices[s->device];
	const uint64_t taken = f->context + f->other, page = f->granularity;
	uint64_t next = 0;

	*room = NONE;
	while (taken + next <= total) {
		struct frag_interval r;
		const int rc = frag_fit_case_run(s, total, next, FRAG_LEVEL_PEAKS, &r, err);
		uint64_t used = r.outcome.peak_used;

		if (rc || !r.outcome.fits)
			return rc;
		/* where nothing was in use at all, the context is there still */
		used = used > f->context ? used : f->context;
		*room = next + (total - f->other - next - used) / page * page;
		next = *room + page;
	}
	return 0;
}

/* The run of one policy in one place. */
static int fit_all_add(struct frag_fits *f, uint32_t place, uint32_t choice,
		       struct frag_error *err)
{
	const struct frag_place *at = &f->places[place];
	const struct frag_fit_source *from = &f->sources[at->source];
	const struct frag_fit_case subject = {
		.tape = from->tape, .choice = &from->choices[choice], .devices = from->devices,
		.device = at->device, .model = f->model, .stop = f->stop, .ctx = f->ctx,
	};
	struct frag_fitted *one = &f->fitted[f->count++];

	*one = (struct frag_fitted){
		.source = at->source, .choice = choice, .device = at->device, .place = place,
	};
	fit_reset(&one->fit);
	return frag_fit_intervals_init(&one->intervals, &subject, at->part, &f->smalls, err);
}

/* By source, policy and device. */
static int fit_all_make_room(struct frag_fits *f, struct frag_error *err)
{
	int rc = frag_places_find(&f->places, &f->place_count, f->sources, f->source_count, err);
	uint32_t end;

	f->fitted = calloc((size_t)f->place_count * f->choice_count + 1, sizeof(*f->fitted));
	f->joint = calloc((size_t)f->place_count * f->choice_count + 1, sizeof(*f->joint));
	if (!rc && (!f->fitted || !f->joint))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->place_count && !rc; i = end) {
		for (end = i; end < f->place_count && f->places[end].source == f->places[i].source;)
			end++;
		for (uint32_t k = 0; k < f->choice_count; k++)
			for (uint32_t at = i; at < end && !rc; at++)
				rc = fit_all_add(f, at, k, err);
	}
	return rc;
}

/*
 * The peak of requested bytes is the same under every policy, so only the first of a source is
 * run.
 */
static int fit_all_lower_bound(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_fits *f = ctx;
	struct frag_fitted *one = &f->fitted[index];
	const struct frag_fit_case *s = &one->intervals.subject;
	struct frag_interval run;
	int rc;

	if (one->choice && !f->unlimited)
		return 0;
	rc = frag_fit_case_unlimited(s, &run, err);
	if (rc)
		return rc;
	one->unlimited = run.outcome;
	/* a policy that collects garbage runs otherwise wherever there is a limit */
	if (run.outcome.fits && run.end_capacity == UINT64_MAX)
		one->fit.at_most = frag_fit_case_round_up(s, run.min_capacity);
	if (!one->choice)
		f->places[one->place].lower_bound = s->devices[s->device].context
			+ s->devices[s->device].other + one->unlimited.peak_requested;
	return 0;
}

static int fit_one(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_fits *f = ctx;
	struct frag_fitted *one = &f->fitted[index];
	struct frag_fit_intervals *intervals = &one->intervals;
	const uint64_t at_most = one->fit.at_most;
	int rc = frag_fit_walk(&one->fit, &intervals, 1, one->fit.lower_bound, &f->bounds, err);

	if (rc && one->fit.smallest == UINT64_MAX && one->fit.at_most == UINT64_MAX)
		one->fit.at_most = at_most;

	rc = rc ? rc : frag_fit_peaks(&one->fit, &intervals->subject, err);
	if (!rc && f->headroom_total)
		rc = frag_fit_headroom(&intervals->subject, f->headroom_total, &one->fit.headroom,
				      err);
	return rc;
}

static struct frag_fitted *fit_all_find(struct frag_fits *f, uint32_t source, uint32_t choice,
					uint32_t device)
{
	for (struct frag_fitted *i = f->fitted; i < f->fitted + f->count; i++)
		if (i->source == source && i->choice == choice && i->device == device)
			return i;
	return NULL;
}

/* The policies' runs on this device of all sources; what is known of each is gone on with. */
static int fit_jointly(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_fits *f = ctx;
	struct frag_fitted *joint = &f->joint[index];
	struct frag_fit_intervals **intervals =
		calloc(f->source_count, sizeof(struct frag_fit_intervals *));
	uint64_t lower_bound = 0;
	int rc;

	if (!intervals)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->source_count; i++) {
		struct frag_fitted *one = fit_all_find(f, i, joint->choice, joint->device);

		intervals[i] = &one->intervals;
		if (one->fit.lower_bound > lower_bound)
			lower_bound = one->fit.lower_bound;
	}
	rc = frag_fit_walk(&joint->fit, intervals, f->source_count, lower_bound, &f->bounds, err);
	free(intervals);
	return rc;
}

static int run(struct frag_fits *f, uint32_t count,
	       int (*task)(void *ctx, uint32_t index, struct frag_error *err),
	       struct frag_error *err)
{
	const struct frag_tasks tasks = {
		.count = count,
		.threads = f->threads,
		.task = task,
		.progress = task == fit_one ? f->progress : NULL,
		.progress_ctx = f->ctx,
		.ctx = f,
	};

	return frag_tasks_run(&tasks, err);
}

int frag_fits_run(struct frag_fits *f, struct frag_error *err)
{
	int rc = fit_all_make_room(f, err);

	rc = rc ? rc : run(f, f->count, fit_all_lower_bound, err);
	for (uint32_t i = 0; i < f->count && !rc; i++)
		f->fitted[i].fit.lower_bound = f->places[f->fitted[i].place].lower_bound;
	rc = rc ? rc : run(f, f->count, fit_one, err);
	if (rc || f->source_count < 2 || f->separate)
		return rc;
	for (uint32_t k = 0; k < f->choice_count; k++)
		for (uint32_t p = 0; p < f->place_count && !f->places[p].source; p++) {
			struct frag_fitted *joint = &f->joint[f->joint_count];
			const uint32_t d = f->places[p].device;
			bool all = true;

			*joint = (struct frag_fitted){ .choice = k, .device = d };
			fit_reset(&joint->fit);
			for (uint32_t i = 0; i < f->source_count; i++)
				all = all && fit_all_find(f, i, k, d);
			f->joint_count += all;
		}
	return run(f, f->joint_count, f->together ? frag_together_fit : fit_jointly, err);
}

void frag_fits_fini(struct frag_fits *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		free(f->fitted[i].fit.failing);
		frag_fit_intervals_fini(&f->fitted[i].intervals);
	}
	for (uint32_t i = 0; i < f->joint_count; i++)
		free(f->joint[i].fit.failing);
	frag_smallreq_fini(&f->smalls);
	frag_places_free(f->places, f->place_count);
	for (uint32_t i = 0; f->clocks && i < f->source_count; i++)
		free(f->clocks[i]);
	free(f->clocks);
	free(f->fitted);
	free(f->joint);
}
