/* fit_search.c - finds the smallest device that a run fits, and the smallest reliable one. */
#include "search/fit_search.h"

#include <stdlib.h>

#include "base/array_grow.h"

#define NONE UINT64_MAX
/* Sizes are below it. */
#define CAPACITY_MAX (UINT64_C(1) << 53)

/* Runs for an upper bound, where the time is short. */
#define BOUND_RUNS 24

/* All traces on one capacity: one that fails decides, and the next that could differ. */
struct verdict {
	bool survives, refused;
	uint64_t least, beyond;
	struct frag_attempt outcome;    /* the worst */
};

static uint64_t larger_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void frag_attempt_add(struct frag_attempt *worst, const struct frag_attempt *a)
{
	worst->calls = larger_of(worst->calls, a->calls);
	worst->refused = larger_of(worst->refused, a->refused);
	worst->retries = larger_of(worst->retries, a->retries);
	worst->driver_ns = larger_of(worst->driver_ns, a->driver_ns);
}

static int fit_search_judge(struct frag_fit_intervals *const *survivals, uint32_t count,
			    uint64_t total, struct verdict *v, struct frag_error *err)
{
	*v = (struct verdict){ .survives = true, .beyond = NONE };
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_interval *here;
		int rc = frag_survival_at(survivals[i], total, &here, err);

		if (rc)
			return rc;
		v->survives = v->survives && here->outcome.survives;
		/* a limit of the program's own refuses before the device is called */
		v->refused = v->refused || here->outcome.refused || here->outcome.retries
			     || !here->outcome.survives;
		v->least = larger_of(v->least, here->least);
		v->beyond = here->beyond < v->beyond ? here->beyond : v->beyond;
		if (!i)
			v->outcome = here->outcome;
		frag_attempt_add(&v->outcome, &here->outcome);
	}
	return 0;
}

static int begin_hole(struct frag_fit *fit, uint64_t from, struct frag_error *err)
{
	if (!frag_grow(&fit->holes, &fit->hole_capacity, (uint64_t)fit->hole_count + 1,
		       sizeof(*fit->holes)))
		return frag_fail_nomem(err);
	fit->holes[fit->hole_count++] = (struct frag_failing_range){ .from = from, .to = NONE };
	return 0;
}

/* Updates smallest, safe and the failing ranges with the verdict of the next interval. */
static int fit_search_note(struct frag_fit *fit, uint64_t total, const struct verdict *v,
			   struct frag_error *err)
{
	if (v->refused)
		fit->no_refusal = NONE;
	else if (fit->no_refusal == NONE)
		fit->no_refusal = total;
	if (!v->survives) {
		const bool begins = fit->safe != NONE;

		fit->safe = NONE;
		return begins ? begin_hole(fit, total, err) : 0;
	}
	if (fit->smallest == NONE) {
		fit->smallest = total;
		fit->at_most = NONE;
		fit->at_smallest = v->outcome;
	}
	if (fit->safe == NONE) {
		fit->safe = total;
		fit->at_safe = v->outcome;
		if (fit->hole_count)
			fit->holes[fit->hole_count - 1].to = total;
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

void frag_fit_init(struct frag_fit *fit)
{
	*fit = (struct frag_fit){
		.smallest = NONE,
		.at_most = NONE,
		.safe = NONE,
		.no_refusal = NONE,
		.headroom = NONE,
	};
}

/*
 * An upper bound of the smallest device, by halving what is between the walk's next capacity and
 * the largest. Capacities that were not simulated may contain a smaller device that is enough.
 */
static int find_upper_bound(struct frag_fit *fit, struct frag_fit_intervals *const *survivals,
			    uint32_t count, uint64_t low, struct frag_error *err)
{
	const struct frag_fit_case *first = &survivals[0]->subject;
	uint64_t total = frag_subject_lattice(first, CAPACITY_MAX / 2), high = NONE;
	int rc = 0;

	for (uint32_t i = 0; i < BOUND_RUNS && low < high; i++) {
		struct verdict v;

		rc = fit_search_judge(survivals, count, total, &v, err);
		if (rc || (!i && !v.survives))
			return rc;
		if (v.survives)
			high = fit->at_most = frag_subject_lattice(first, v.least);
		else
			low = frag_subject_lattice(first, v.beyond);
		if (low < high)
			total = frag_subject_lattice(first, low + (high - low - 1) / 2);
		if (total >= high)
			break;
	}
	return rc;
}

/* Examines one interval after the other, from the lower bound to half above the smallest device. */
int frag_fit_walk(struct frag_fit *fit, struct frag_fit_intervals *const *survivals, uint32_t count,
		  uint64_t floor, const struct frag_fit_bounds *bounds, struct frag_error *err)
{
	const struct frag_fit_case *first = &survivals[0]->subject;
	uint64_t total = frag_subject_lattice(first, floor);
	bool bounded = false;
	int rc = 0;

	frag_fit_init(fit);
	fit->floor = fit->examined_to = total;
	while (!rc && total < CAPACITY_MAX && !is_enough(fit, bounds, total)) {
		struct verdict v;

		if (bounds->hurry && !bounded && fit->smallest == NONE
		    && bounds->hurry(bounds->ctx)) {
			bounded = true;
			rc = find_upper_bound(fit, survivals, count, total, err);
		}
		rc = rc ? rc : fit_search_judge(survivals, count, total, &v, err);
		rc = rc ? rc : fit_search_note(fit, total, &v, err);
		if (rc)
			break;
		fit->runs++;
		fit->examined_to = v.beyond;
		total = v.beyond == NONE ? CAPACITY_MAX : frag_subject_lattice(first, v.beyond);
	}
	if (fit->examined_to >= CAPACITY_MAX)
		fit->examined_to = NONE;
	/* what was not examined to its end is no promise */
	if (rc)
		fit->safe = NONE;
	if (fit->hole_count && fit->holes[fit->hole_count - 1].to == NONE)
		fit->holes[fit->hole_count - 1].to = fit->examined_to;
	return rc;
}

void frag_fit_fini(struct frag_fit *fit)
{
	free(fit->holes);
	*fit = (struct frag_fit){ .runs = 0 };
}

static int find_peak(struct frag_attempt *outcome, const struct frag_fit_case *s, uint64_t total,
		     struct frag_error *err)
{
	struct frag_interval again;
	int rc = total == NONE ? 0
			       : frag_subject_run(s, total, 0, FRAG_LEVEL_PEAKS, &again, err);

	if (total != NONE && !rc)
		*outcome = again.outcome;
	return rc;
}

int frag_fit_peaks(struct frag_fit *fit, const struct frag_fit_case *s, struct frag_error *err)
{
	int rc = find_peak(&fit->at_smallest, s, fit->smallest, err);

	if (fit->safe == fit->smallest)
		fit->at_safe = fit->at_smallest;
	else
		rc = rc ? rc : find_peak(&fit->at_safe, s, fit->safe, err);
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
		const int rc = frag_subject_run(s, total, next, FRAG_LEVEL_PEAKS, &r, err);
		uint64_t used = r.outcome.peak_used;

		if (rc || !r.outcome.survives)
			return rc;
		/* where nothing was in use at all, the context is there still */
		used = used > f->context ? used : f->context;
		*room = next + (total - f->other - next - used) / page * page;
		next = *room + page;
	}
	return 0;
}
