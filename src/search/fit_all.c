/* fit_all.c - every trace under every policy fitted, side by side. */
#include "search/fit_all.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "events/tape.h"
#include "search/fit_together.h"
#include "search/recommend.h"

static int find_peak(struct frag_attempt *outcome, const struct frag_fit_case *s, uint64_t total,
		     struct frag_error *err)
{
	struct frag_interval again;
	int rc;

	if (total == UINT64_MAX)
		return 0;
	rc = frag_fit_case_run(s, total, 0, FRAG_LEVEL_PEAKS, &again, err);
	if (!rc)
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

	*room = UINT64_MAX;
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
		.device = at->device, .model = f->model, .job = frag_job_part(&f->job),
	};
	struct frag_fitted *one = &f->fitted[f->count++];

	*one = (struct frag_fitted){
		.source = at->source, .choice = choice, .device = at->device, .place = place,
		.fit = FRAG_FIT_UNKNOWN,
	};
	const int rc = frag_fit_intervals_init(&one->intervals, &subject, at->part, &f->smalls, err);

	one->intervals.known = frag_recommend_intervals(f->ranked, at->source, at->device, subject.choice,
							NULL);
	return rc;
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
	const struct frag_interval *known;
	struct frag_interval run;
	int rc = 0;

	if (one->choice && !f->unlimited)
		return 0;
	frag_recommend_intervals(f->ranked, one->source, one->device, s->choice, &known);
	if (known)
		run = *known;
	else
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

/* A walk without an end has examined what is below its bounds. */
static int fit_all_claim(const struct frag_fits *f, struct frag_fitted *one, struct frag_error *err)
{
	const struct frag_fit_case *s = &one->intervals.subject;

	return frag_claim_make(&one->claim, &(struct frag_claim_facts){
		.scope = frag_source_scope(&f->sources[one->source]), .tape = s->tape, .choice = s->choice,
		.figures = &s->devices[s->device], .device = s->device,
		.smallest = one->fit.smallest,
		.examined_to = frag_max(one->fit.examined_to, one->fit.lower_bound),
	}, err);
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
	rc = rc ? rc : fit_all_claim(f, one, err);
	if (!rc && f->headroom_total)
		rc = frag_fit_headroom(&intervals->subject, f->headroom_total, &one->fit.headroom,
				      err);
	return rc;
}

/* A fit, and about how many events it simulates at least. */
struct fit_task {
	struct frag_fits *fits;
	uint64_t events;
	uint32_t index;
};

static int fit_all_longest_first(const void *one, const void *other)
{
	const struct fit_task *a = one, *b = other;

	return frag_order_two(b->events, a->events, a->index, b->index);
}

static int fit_in_order(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct fit_task *t = (const struct fit_task *)ctx + index;

	return fit_one(t->fits, t->index, err);
}

/* The longest ones begin, so that no thread waits at the end; what was ranked is partly known. */
static int fit_each(struct frag_fits *f, struct frag_error *err)
{
	struct fit_task *order = malloc(((size_t)f->count + 1) * sizeof(*order));
	const struct frag_tasks tasks = {
		.count = f->count, .job = &f->job, .what = "policies", .task = fit_in_order, .ctx = order,
	};
	int rc;

	if (!order)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct frag_fit_intervals *v = &f->fitted[i].intervals;

		order[i] = (struct fit_task){
			f, v->known ? 0 : frag_tape_event(v->subject.tape, UINT64_MAX), i,
		};
	}
	FRAG_SORT(order, f->count, fit_all_longest_first);
	rc = frag_tasks_run(&tasks, err);
	free(order);
	return rc;
}

static struct frag_fitted *fit_all_find(struct frag_fits *f, uint32_t source, uint32_t choice,
					uint32_t device)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct frag_fitted *one = &f->fitted[i];

		if (one->source == source && one->choice == choice && one->device == device)
			return one;
	}
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
		lower_bound = frag_max(lower_bound, one->fit.lower_bound);
	}
	rc = frag_fit_walk(&joint->fit, intervals, f->source_count, lower_bound, &f->bounds, err);
	free(intervals);
	return rc;
}

static int run(struct frag_fits *f, uint32_t count,
	       int (*task)(void *ctx, uint32_t index, struct frag_error *err),
	       struct frag_error *err)
{
	const struct frag_tasks tasks = { .count = count, .job = &f->job, .task = task, .ctx = f };

	return frag_tasks_run(&tasks, err);
}

/*
 * What several recordings prove together. Beginnings are simulated one after the other on each
 * capacity, so the smallest that fits all is a bound; at the same time, on any offset, they are none
 * of the run of the whole programs.
 */
static void claim_jointly(struct frag_fits *f, struct frag_fitted *joint)
{
	for (uint32_t i = 0; i < f->source_count; i++)
		frag_claim_all(&joint->claim,
			       &fit_all_find(f, i, joint->choice, joint->device)->claim);
	if (joint->fit.smallest != UINT64_MAX
	    && (frag_claim_is_exact(&joint->claim)
		|| (joint->claim.part < FRAG_PART_LATE && !f->together)))
		joint->claim.at_least = joint->fit.smallest;
}

/* A policy that fails is a result where another has one; else it is the error. */
static int check_any(const struct frag_fits *f, struct frag_error *err)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (!f->fitted[i].intervals.why || f->fitted[i].fit.smallest != UINT64_MAX)
			return 0;
	return f->count ? frag_fail(err, FRAG_EPOLICY, "%s", f->fitted[0].intervals.why) : 0;
}

int frag_fits_run(struct frag_fits *f, struct frag_error *err)
{
	int rc = f->together ? frag_fit_together_prepare(f, err) : 0;

	f->smalls.job = f->job;
	rc = rc ? rc : fit_all_make_room(f, err);
	rc = rc ? rc : run(f, f->count, fit_all_lower_bound, err);
	for (uint32_t i = 0; i < f->count && !rc; i++)
		f->fitted[i].fit.lower_bound = f->places[f->fitted[i].place].lower_bound;
	rc = rc ? rc : fit_each(f, err);
	rc = rc ? rc : check_any(f, err);
	if (rc || f->source_count < 2 || f->separate)
		return rc;
	for (uint32_t k = 0; k < f->choice_count; k++)
		for (uint32_t p = 0; p < f->place_count && !f->places[p].source; p++) {
			struct frag_fitted *joint = &f->joint[f->joint_count];
			const uint32_t d = f->places[p].device;
			bool all = true;

			*joint = (struct frag_fitted){
				.choice = k, .device = d, .fit = FRAG_FIT_UNKNOWN,
			};
			for (uint32_t i = 0; i < f->source_count; i++)
				all = all && fit_all_find(f, i, k, d);
			f->joint_count += all;
		}
	rc = run(f, f->joint_count, f->together ? frag_fit_together : fit_jointly, err);
	for (uint32_t i = 0; i < f->joint_count; i++)
		claim_jointly(f, &f->joint[i]);
	return rc;
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
