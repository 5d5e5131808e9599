/* tune_search.c - of many settings the one that does best. */
#include "search/tune_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parallel.h"
#include "events/tape.h"
#include "policy/policies.h"

#define NONE UINT64_MAX
/* Larger than all that is ever asked for. */
#define ENDLESS (UINT64_C(1) << 52)
/* Settings of one round, which are tried concurrently. The number does not depend on the
 * threads, so the trials that are wasted because an earlier one fits are the same on every
 * machine. */
#define ROUND 8
#define NEARLY 1.01             /* up to this factor of the best is as good as the best */
#define WORTH_FACTOR 0.98           /* more than that of the defaults is no gain */

/* What a search is over: places from `first` on, with or without expandable segments. */
struct scope {
	struct frag_tune *tune;
	uint32_t first, count;
	bool without;
	bool newer;                     /* only settings that newer releases accept; else none */
	/* the best candidate, and the device that it needs */
	uint32_t choice;
	uint64_t total;
	struct trial *trials;           /* as many as there are settings; all scopes share them */
};

/* A setting tried on all places of a scope. */
struct trial {
	uint32_t choice;
	bool done;                      /* else it was interrupted, and the other members are not
					 * set */
	bool fits;
	struct frag_attempt worst;
	uint64_t min_capacity;          /* of a survivor: the same run down to this capacity */
	uint32_t failed;                /* else: the place, and its interval's end */
	uint64_t end_capacity;
};

typedef int try_fn(struct scope *scope, struct trial *trial, struct frag_error *err);

struct round {
	struct scope *scope;
	struct trial *trials;
	try_fn *try;
};

static bool is_expandable(const struct frag_choice *choice)
{
	const struct frag_param_spec *spec = choice->ops->params;

	for (uint32_t i = 0; spec && spec[i].name; i++)
		if (strcmp(spec[i].name, "expandable_segments") == 0)
			return choice->param[i] != 0;
	return false;
}

static struct frag_fit_intervals *intervals_of(const struct frag_tune *t, uint32_t choice,
					       uint32_t place)
{
	return &t->intervals[(size_t)choice * t->place_count + place];
}

/* Whose lattice it is. */
static const struct frag_fit_case *tune_search_subject_of(const struct scope *s)
{
	return &intervals_of(s->tune, 0, s->first)->subject;
}

static uint64_t tune_search_page_of(const struct scope *s)
{
	const struct frag_fit_case *subject = tune_search_subject_of(s);

	return subject->devices[subject->device].granularity;
}

static uint64_t tune_lower_bound_of(const struct scope *s)
{
	uint64_t lower_bound = 0;

	for (uint32_t i = s->first; i < s->first + s->count; i++)
		lower_bound = frag_max(lower_bound, s->tune->places[i].lower_bound);
	return lower_bound;
}

/* On one place; one that fails ends the trial. */
static int try_place(const struct scope *s, struct trial *trial, uint32_t place, uint64_t total,
		     struct frag_error *err)
{
	struct frag_fit_intervals *intervals = intervals_of(s->tune, trial->choice, place);
	const struct frag_interval *here;
	int rc = frag_fit_intervals_at(intervals, total, &here, err);

	if (rc)
		return rc;
	frag_attempt_max(&trial->worst, &here->outcome);
	if (!here->outcome.fits) {
		trial->fits = false;
		trial->failed = place;
		trial->end_capacity = here->end_capacity;
		trial->worst.oom_step = here->outcome.oom_step;
		trial->worst.broken = here->outcome.broken;
		return 0;
	}
	trial->min_capacity = frag_max(here->min_capacity, trial->min_capacity);
	return 0;
}

/* The granularity is that of the first place; the others are simulated at the same capacities. */
static int tune_search_try_at(const struct scope *s, struct trial *trial, uint64_t total,
			      struct frag_error *err)
{
	int rc = 0;

	*trial = (struct trial){ .choice = trial->choice, .fits = true };
	for (uint32_t i = s->first; i < s->first + s->count && !rc && trial->fits; i++)
		rc = try_place(s, trial, i, total, err);
	trial->done = !rc;
	trial->worst.fits = trial->fits;
	trial->min_capacity = frag_fit_case_round_up(tune_search_subject_of(s), trial->min_capacity);
	return rc;
}

/* Tries one page below the device that the best candidate needs. */
static int try_below(struct scope *s, struct trial *trial, struct frag_error *err)
{
	return tune_search_try_at(s, trial, s->total - tune_search_page_of(s), err);
}

/* Examines capacities from the lower bound up to that of the best candidate. */
static int try_upwards(struct scope *s, struct trial *trial, struct frag_error *err)
{
	const struct frag_fit_case *subject = tune_search_subject_of(s);
	uint64_t total = frag_fit_case_round_up(subject, tune_lower_bound_of(s));
	int rc = 0;

	trial->fits = false;
	while (!rc && total < s->total) {
		rc = tune_search_try_at(s, trial, total, err);
		trial->min_capacity = total;
		if (rc || trial->fits)
			return rc;
		total = trial->end_capacity >= s->total ? s->total
			: frag_fit_case_round_up(subject, trial->end_capacity);
	}
	return rc;
}

static int try_and_forget(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct round *round = ctx;
	const struct scope *s = round->scope;
	struct trial *trial = &round->trials[index];
	const int rc = round->try(round->scope, trial, err);

	for (uint32_t i = s->first; i < s->first + s->count; i++)
		frag_checkpoints_forget(&intervals_of(s->tune, trial->choice, i)->checkpoints);
	return rc;
}

static int run_round(struct scope *s, struct trial *trials, uint32_t count, try_fn *try,
		     struct frag_error *err)
{
	struct round round = { .scope = s, .trials = trials, .try = try };
	const struct frag_tasks tasks = {
		.count = count, .job = &s->tune->job, .task = try_and_forget, .ctx = &round,
	};

	return frag_tasks_run(&tasks, err);
}

/*
 * A setting that fits becomes the best candidate, with the smallest device that it fits. The
 * search goes upwards from the lower bound, because runs that fail end early, and many
 * capacities just fit.
 */
static int become_candidate(struct scope *s, const struct trial *survivor, struct frag_error *err)
{
	struct trial trial = *survivor;
	int rc;

	s->choice = trial.choice;
	s->total = trial.min_capacity;
	rc = try_upwards(s, &trial, err);
	if (!rc && trial.fits)
		s->total = trial.min_capacity;
	return rc;
}

/*
 * Takes from a round the first setting that fits below the best candidate; the later ones must
 * be tried again.
 */
static int take_first(struct scope *s, const struct trial *trials, uint32_t count, uint32_t *taken,
		      struct frag_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		*taken = i + 1;
		if (trials[i].fits)
			return become_candidate(s, &trials[i], err);
	}
	return 0;
}

/* All of a round have walked: the smallest, and the first of equals. */
static void take_smallest(struct scope *s, const struct trial *trials, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (trials[i].fits && trials[i].min_capacity < s->total) {
			s->choice = trials[i].choice;
			s->total = trials[i].min_capacity;
		}
}

static bool is_in(const struct scope *s, uint32_t choice)
{
	return (s->tune->since[choice] != 0) == s->newer
	       && !(s->without && is_expandable(&s->tune->sources[0].choices[choice]));
}

/* Lists the settings of a scope, or all, in order: a trial each. */
static uint32_t list_trials(const struct scope *s, bool all)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->tune->choice_count; i++)
		if (all || is_in(s, i))
			s->trials[count++] = (struct trial){ .choice = i };
	return count;
}

/*
 * The first setting that fits an endless device becomes the first best candidate, with the
 * memory that it needs there. If no setting fits even that device, total is NONE.
 */
static int tune_search_find_first(struct scope *s, uint32_t count, struct frag_error *err)
{
	const uint64_t endless = frag_fit_case_round_up(tune_search_subject_of(s), ENDLESS);
	int rc = 0;

	s->total = NONE;
	for (uint32_t i = 0; i < count && !rc && s->total == NONE; i++) {
		struct trial trial = s->trials[i];

		rc = tune_search_try_at(s, &trial, endless, err);
		if (!rc && trial.fits) {
			s->choice = trial.choice;
			s->total = trial.min_capacity;
		}
	}
	return rc;
}

/* Each setting in turn is tried on less than the best one so far needs. */
static int try_settings(struct scope *s, uint32_t count, struct frag_error *err)
{
	const struct frag_tune *t = s->tune;
	uint32_t taken = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc && s->total != NONE; i += taken) {
		struct trial *trials = s->trials + i;

		if (s->total < tune_search_page_of(s) + tune_lower_bound_of(s))
			break;
		taken = count - i < ROUND ? count - i : ROUND;
		rc = run_round(s, trials, taken, t->exact ? try_upwards : try_below, err);
		if (!rc && t->exact)
			take_smallest(s, trials, taken);
		else
			rc = rc ? rc : take_first(s, trials, taken, &taken, err);
		frag_job_show(&t->job, "settings", i, t->choice_count);
	}
	return rc;
}

static int find_candidate(struct scope *s, struct frag_error *err)
{
	const uint32_t count = list_trials(s, false);
	const int rc = tune_search_find_first(s, count, err);

	return rc ? rc : try_settings(s, count, err);
}

static bool is_better(const struct frag_tune *t, const struct frag_point *a,
		      const struct frag_point *b)
{
	if (b->choice == UINT32_MAX)
		return true;
	if (t->total && t->model && a->at.driver_ns != b->at.driver_ns)
		return a->at.driver_ns < b->at.driver_ns;
	if (a->at.calls != b->at.calls)
		return a->at.calls < b->at.calls;
	if (t->total && a->at.retries != b->at.retries)
		return a->at.retries < b->at.retries;
	return t->total && strcmp(t->texts[a->choice], t->texts[b->choice]) < 0;
}

static struct frag_point point_of(const struct frag_tune *t, const struct trial *trial)
{
	return (struct frag_point){
		.choice = trial->choice,
		.tried = true,
		.at = trial->worst,
		.qualifies = trial->fits,
		.oom_trace = trial->fits ? 0 : t->places[trial->failed].source,
		.smallest = NONE,
		.reliable = NONE,
	};
}

static int try_here(struct scope *s, struct trial *trial, struct frag_error *err)
{
	return tune_search_try_at(s, trial, s->total, err);
}

static const struct frag_point no_point = { .choice = UINT32_MAX,
					    .smallest = NONE,
					    .reliable = NONE };

/* Finds the best of the scope on its device; with points, runs the other candidates there too. */
static int compare_all(struct scope *s, struct frag_point *points, struct frag_point *best,
		       struct frag_error *err)
{
	struct frag_tune *t = s->tune;
	const uint32_t count = s->total == NONE ? 0 : list_trials(s, points);
	const int rc = run_round(s, s->trials, count, try_here, err);

	*best = no_point;
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_point p = point_of(t, &s->trials[i]);

		if (!s->trials[i].done)
			continue;
		if (points)
			points[p.choice] = p;
		if (p.at.fits && is_in(s, p.choice) && is_better(t, &p, best))
			*best = p;
	}
	return rc;
}

/* The settings that only newer releases accept are tried on less than the others need. */
static int find_newer(struct frag_tune *t, const struct scope *s, struct frag_error *err)
{
	struct scope newer = *s;
	int rc;

	newer.newer = true;
	rc = try_settings(&newer, list_trials(&newer, false), err);
	return rc || newer.total >= s->total ? rc : compare_all(&newer, NULL, &t->newer, err);
}

static int tune_search_find_smallest(struct frag_tune *t, struct scope *s, struct frag_error *err)
{
	struct scope without = {
		.tune = t, .count = t->tuned, .without = true, .trials = s->trials,
	};
	int rc = find_candidate(s, err);

	/* if no setting fits, this records that for each */
	if (s->total == NONE)
		s->total = frag_fit_case_round_up(tune_search_subject_of(s), ENDLESS);
	rc = rc ? rc : compare_all(s, t->points, &t->best, err);
	rc = rc ? rc : find_newer(t, s, err);
	if (rc || t->best.choice == UINT32_MAX)
		return rc;
	if (!is_expandable(&t->sources[0].choices[t->best.choice])) {
		t->without = t->best;
		return 0;
	}
	rc = find_candidate(&without, err);
	return rc ? rc : compare_all(&without, NULL, &t->without, err);
}

/* Does a setting fit every capacity from `total` up to the device, on one place? */
static int try_range(const struct frag_tune *t, uint32_t choice, uint32_t place, uint64_t total,
		     bool *fits, struct frag_error *err)
{
	struct frag_fit_intervals *intervals = intervals_of(t, choice, place);

	*fits = true;
	while (total < t->total && *fits) {
		const struct frag_interval *here;
		const int rc = frag_fit_intervals_at(intervals, total, &here, err);

		if (rc)
			return rc;
		*fits = here->outcome.fits;
		total = here->end_capacity;
	}
	return 0;
}

/* On the device, and with less: trial->min_capacity is NONE where the headroom is not there. */
static int try_headroom(struct scope *s, struct trial *trial, struct frag_error *err)
{
	const struct frag_tune *t = s->tune;
	const uint64_t min_capacity = (uint64_t)ceil((double)t->total / (1 + t->headroom));
	int rc = tune_search_try_at(s, trial, t->total, err);
	bool fits = trial->fits;

	for (uint32_t i = s->first; i < s->first + s->count && !rc && fits; i++)
		rc = try_range(t, trial->choice, i, min_capacity, &fits, err);
	trial->min_capacity = fits ? min_capacity : NONE;
	trial->done = !rc;
	return rc;
}

/*
 * Chooses the best of the settings that qualify, or if none does, of those that fit; and the
 * best without expandable segments.
 */
static void tune_search_choose(struct frag_tune *t)
{
	bool any = false;

	for (uint32_t i = 0; i < t->choice_count; i++)
		any = any || (t->points[i].qualifies && !t->since[i]);
	t->no_headroom = !any;
	for (uint32_t i = 0; i < t->choice_count; i++) {
		const struct frag_point *p = &t->points[i];

		if (any ? !p->qualifies : !p->at.fits)
			continue;
		if (t->since[i]) {
			if (is_better(t, p, &t->newer))
				t->newer = *p;
			continue;
		}
		if (is_better(t, p, &t->best))
			t->best = *p;
		if (!is_expandable(&t->sources[0].choices[i]) && is_better(t, p, &t->without))
			t->without = *p;
	}
	if (t->newer.choice != UINT32_MAX && t->best.choice != UINT32_MAX
	    && !is_better(t, &t->newer, &t->best))
		t->newer = no_point;
}

static int find_for_device(struct frag_tune *t, struct scope *s, struct frag_error *err)
{
	const uint32_t count = list_trials(s, true);
	const int rc = run_round(s, s->trials, count, try_headroom, err);

	for (uint32_t i = 0; i < count; i++) {
		if (!s->trials[i].done)
			continue;
		t->points[i] = point_of(t, &s->trials[i]);
		t->points[i].qualifies = s->trials[i].min_capacity != NONE;
	}
	tune_search_choose(t);
	return rc;
}

/* The whole of what is to be known of one setting: a fit over all places of the scope. */
static int walk(const struct scope *s, uint32_t choice, struct frag_point *out,
		struct frag_error *err)
{
	static const struct frag_fit_bounds bounds = { .up_to = 0 };
	struct frag_fit_intervals **intervals =
		calloc(s->count, sizeof(struct frag_fit_intervals *));
	struct frag_fit fit = { .runs = 0 };
	int rc;

	if (!intervals)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++)
		intervals[i] = intervals_of(s->tune, choice, s->first + i);
	rc = frag_fit_walk(&fit, intervals, s->count, tune_lower_bound_of(s), &bounds, err);
	*out = (struct frag_point){
		.choice = choice, .tried = true, .at = fit.at_smallest,
		.smallest = fit.smallest, .reliable = fit.reliable,
	};
	free(fit.failing);
	free(intervals);
	return rc;
}

static int fit_choice(struct frag_tune *t, struct frag_point *p, struct frag_error *err)
{
	const struct scope all = { .tune = t, .count = t->tuned };
	struct frag_point fitted;
	int rc;

	if (p->choice == UINT32_MAX || p->smallest != NONE)
		return 0;
	rc = walk(&all, p->choice, &fitted, err);
	p->smallest = fitted.smallest;
	p->reliable = fitted.reliable;
	return rc;
}

static int fit_task(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_tune *t = ctx;
	const uint32_t choices[] = {
		t->best.choice, t->without.choice, 0, t->plain_expandable, t->newer.choice,
	};

	/* two tasks may not work on one setting */
	for (uint32_t i = 0; i < index; i++)
		if (choices[i] == choices[index])
			return 0;
	if (choices[index] == UINT32_MAX)
		return 0;
	return fit_choice(t, &t->points[choices[index]], err);
}

/* How many keys a setting has; a policy that has no settings counts as more. */
static uint32_t keys_of(const struct frag_tune *t, uint32_t choice)
{
	uint32_t keys = 0;

	if (!t->sources[0].choices[choice].ops->settings)
		return UINT32_MAX;
	for (const char *p = t->texts[choice]; *p; p += frag_setting_length(p), p += *p == ',')
		keys++;
	return keys;
}

/* Is a simpler than b? Expandable segments alone are simpler than another single key. */
static bool is_simpler(const struct frag_tune *t, uint32_t a, uint32_t b)
{
	const uint32_t x = keys_of(t, a), y = keys_of(t, b);

	return x != y ? x < y : a == t->plain_expandable && b != a;
}

/* Driver time, or calls, on the device that was given; else bytes of the smallest device. */
static uint64_t cost_of(const struct frag_tune *t, const struct frag_point *p)
{
	return !t->total ? p->smallest : t->model ? p->at.driver_ns : p->at.calls;
}

/* On the device: does it fit as the best does, and costs 1 % more than the best at most? */
static bool is_near(const struct frag_tune *t, const struct frag_point *p)
{
	return (t->no_headroom ? p->at.fits : p->qualifies)
	       && (double)cost_of(t, p) <= NEARLY * (double)cost_of(t, &t->best);
}

/* Without a device a setting is as good where it fits on 1 % more than the best needs. */
static int find_simplest(struct frag_tune *t, const struct scope *all, uint32_t *found,
			 struct frag_error *err)
{
	struct scope s = *all;
	uint32_t count = 0;
	int rc;

	s.total = (uint64_t)(NEARLY * (double)t->best.smallest);
	for (uint32_t i = 0; i < t->choice_count; i++)
		if (!t->since[i] && is_simpler(t, i, t->best.choice))
			s.trials[count++] = (struct trial){ .choice = i };
	rc = run_round(&s, s.trials, count, try_here, err);
	for (uint32_t i = 0; i < count && !rc; i++)
		if (s.trials[i].fits && is_simpler(t, s.trials[i].choice, *found))
			*found = s.trials[i].choice;
	return rc ? rc : fit_choice(t, &t->points[*found], err);
}

/*
 * Of the settings within 1 % of the best the simplest; the defaults where it gains less than 2 %.
 */
static int find_simple(struct frag_tune *t, const struct scope *all, struct frag_error *err)
{
	const struct frag_point *usual = &t->points[0];
	uint32_t found = t->best.choice;
	bool fits;
	int rc = 0;

	if (found == UINT32_MAX || (!t->total && t->best.smallest == NONE))
		return 0;
	for (uint32_t i = 0; t->total && i < t->choice_count; i++)
		if (!t->since[i] && is_near(t, &t->points[i]) && is_simpler(t, i, found))
			found = i;
	rc = t->total ? 0 : find_simplest(t, all, &found, err);
	if (rc)
		return rc;
	t->simple = t->points[found];
	fits = !t->total ? usual->smallest != NONE
	       : t->no_headroom ? usual->at.fits : usual->qualifies;
	if (fits && WORTH_FACTOR * (double)cost_of(t, usual) < (double)cost_of(t, &t->simple))
		t->simple = *usual;
	return 0;
}

/*
 * After an interruption the best candidate so far is the result; its metrics are known without
 * another run.
 */
static void note_reached(struct frag_tune *t, struct scope *s, int rc)
{
	struct trial trial = { .choice = s->choice };
	struct frag_error unused;

	if (rc && !t->total && t->best.choice == UINT32_MAX && s->total != NONE
	    && !try_here(s, &trial, &unused) && trial.fits)
		t->best = point_of(t, &trial);
	if (t->best.choice != UINT32_MAX)
		t->reached = t->total ? t->total : s->total;
}

static void copy_fit(struct frag_point *to, const struct frag_tune *t)
{
	if (to->choice == UINT32_MAX)
		return;
	to->smallest = t->points[to->choice].smallest;
	to->reliable = t->points[to->choice].reliable;
}

/* What the recordings prove of a setting: all of them must fit. */
static int claim_point(struct frag_tune *t, struct frag_point *p, struct frag_error *err)
{
	int rc = 0;

	p->claim.at_least = 0;
	for (uint32_t i = 0; i < t->tuned && !rc; i++) {
		const struct frag_fit_case *s = &intervals_of(t, p->choice, i)->subject;
		struct frag_claim one;

		rc = frag_claim_make(&one, &(struct frag_claim_facts){
			.scope = frag_source_scope(&t->sources[t->places[i].source]),
			.tape = s->tape, .choice = s->choice,
			.figures = &s->devices[s->device], .device = s->device,
			.smallest = p->smallest, .examined_to = t->places[i].lower_bound,
		}, err);
		if (!rc)
			frag_claim_all(&p->claim, &one);
	}
	return rc;
}

/* All that have a smallest device, and those that the answer names. */
static int claim_points(struct frag_tune *t, struct frag_error *err)
{
	struct frag_point *const named[] = { &t->best, &t->without, &t->newer, &t->simple };
	int rc = 0;

	for (uint32_t i = 0; i < t->choice_count && !rc; i++)
		if (!i || t->points[i].smallest != NONE)
			rc = claim_point(t, &t->points[i], err);
	for (uint32_t i = 0; i < sizeof(named) / sizeof(named[0]) && !rc; i++)
		if (named[i]->choice != UINT32_MAX)
			rc = claim_point(t, named[i], err);
	return rc;
}

/* Tests the best setting on a trace that was not used for tuning. */
static int test_best(struct frag_tune *t, struct scope *s, struct frag_tune_test *result,
		     struct frag_error *err)
{
	struct trial trial = { .choice = t->best.choice };
	struct frag_point fitted = no_point;
	int rc = tune_search_try_at(s, &trial, s->total, err);

	result->tried = !rc;
	result->fits = trial.fits;
	rc = rc ? rc : walk(s, t->best.choice, &fitted, err);
	result->smallest = fitted.smallest;
	return rc;
}

/* That, and what would have been the best for it alone. */
static int run_test(struct frag_tune *t, uint32_t test, const struct scope *all,
		    struct frag_error *err)
{
	struct scope s = {
		.tune = t, .total = t->total ? t->total : t->best.smallest, .trials = all->trials,
	};
	struct frag_tune_test *result = &t->tests[test];
	int rc;

	while (t->places[s.first].source != t->source_count + test)
		s.first++;
	while (s.first + s.count < t->place_count
	       && t->places[s.first + s.count].source == t->source_count + test)
		s.count++;
	rc = s.total == NONE ? 0 : test_best(t, &s, result, err);
	rc = rc ? rc : find_candidate(&s, err);
	if (rc)
		return rc;
	result->own = s.choice;
	result->own_smallest = s.total;
	return 0;
}

/* Every device of every source, also of those of tests, and its part of the changed tapes. */
static int find_places(struct frag_tune *t, struct frag_error *err)
{
	int rc = frag_places_find(&t->places, &t->place_count, t->sources,
				  t->source_count + t->test_count, err);

	while (t->tuned < t->place_count && t->places[t->tuned].source < t->source_count)
		t->tuned++;
	t->changed_parts = calloc((size_t)t->tuned + 1, sizeof(*t->changed_parts));
	if (!rc && !t->changed_parts)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; t->changed && i < t->tuned && !rc; i++)
		rc = frag_tape_of_device(&t->changed_parts[i], t->changed[t->places[i].source],
					 t->places[i].device, err);
	return rc;
}

/* One setting in one place; behind the last setting the first one with the line of code. */
static int make_intervals(struct frag_tune *t, uint32_t i, uint32_t k, struct frag_error *err)
{
	const bool code = i == t->choice_count;
	const struct frag_place *place = &t->places[k];
	const struct frag_fit_source *source = &t->sources[place->source];
	const struct frag_fit_case subject = {
		.tape = code ? t->changed[place->source] : source->tape,
		.choice = &source->choices[code ? 0 : i], .devices = source->devices,
		.device = place->device, .model = t->model, .job = frag_job_part(&t->job),
	};

	return frag_fit_intervals_init(intervals_of(t, i, k), &subject,
				       code ? t->changed_parts[k] : place->part, &t->smalls, err);
}

/* Prepares the intervals of every setting in every place; nothing is simulated yet. */
static int tune_search_make_room(struct frag_tune *t, struct frag_error *err)
{
	const uint32_t rows = t->choice_count + 1;
	int rc = 0;

	t->points = calloc(rows, sizeof(*t->points));
	t->tests = calloc((size_t)t->test_count + 1, sizeof(*t->tests));
	t->intervals = calloc((size_t)rows * t->place_count + 1, sizeof(*t->intervals));
	if (!t->points || !t->tests || !t->intervals)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < t->test_count; i++)
		t->tests[i].smallest = t->tests[i].own_smallest = NONE;
	for (uint32_t i = 0; i < rows; i++)
		t->points[i] =
			(struct frag_point){ .choice = i, .smallest = NONE, .reliable = NONE };
	for (uint32_t i = 0; i < t->choice_count && !rc; i++)
		for (uint32_t k = 0; k < t->place_count && !rc; k++)
			rc = make_intervals(t, i, k, err);
	for (uint32_t k = 0; t->changed && k < t->tuned && !rc; k++)
		rc = make_intervals(t, t->choice_count, k, err);
	return rc;
}

static int tune_find_lower_bound(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_tune *t = ctx;
	const struct frag_fit_case *s = &intervals_of(t, 0, index)->subject;
	const struct frag_device_figures *d = &s->devices[s->device];
	struct frag_interval run;
	const int rc = frag_fit_case_unlimited(s, &run, err);

	if (!rc)
		t->places[index].lower_bound = frag_fit_case_round_up(
			s, d->context + d->other + run.outcome.peak_requested);
	return rc;
}

static int run_tasks(struct frag_tune *t, uint32_t count,
		     int (*task)(void *ctx, uint32_t index, struct frag_error *err),
		     struct frag_error *err)
{
	const struct frag_tasks tasks = {
		.count = count, .job = &t->job, .task = task, .ctx = t,
	};

	return frag_tasks_run(&tasks, err);
}

static void count_runs(struct frag_tune *t)
{
	const size_t count = (size_t)t->choice_count * t->place_count;

	t->runs = t->place_count;
	for (size_t i = 0; i < count; i++)
		t->runs += t->intervals[i].runs;
}

/*
 * What a line of code brings: on its smallest device, next to the first candidate on its own; and
 * whether it fits the device that was given.
 */
static int find_code(struct frag_tune *t, struct scope *all, struct frag_error *err)
{
	struct trial trial = { .choice = t->choice_count };
	int rc;

	if (!t->changed)
		return 0;
	rc = walk(all, 0, &t->without_code, err);
	rc = rc ? rc : walk(all, t->choice_count, &t->code, err);
	rc = rc || !t->total ? rc : try_headroom(all, &trial, err);
	if (rc || t->code.smallest == NONE)
		t->code = no_point;
	else
		t->code.choice = 0;
	t->code.qualifies = trial.fits && trial.min_capacity != NONE;
	return rc;
}

const char *frag_tune_why(const struct frag_tune *t, uint32_t choice)
{
	const char *why = NULL;

	for (uint32_t i = 0; t->points[choice].at.broken && i < t->tuned && !why; i++)
		why = intervals_of(t, choice, i)->why;
	return why;
}

bool frag_tune_code_is_better(const struct frag_tune *t, const struct frag_point *than)
{
	if (t->code.choice == UINT32_MAX)
		return false;
	if (t->total)
		return t->code.qualifies && (than->choice == UINT32_MAX || t->no_headroom);
	return than->choice == UINT32_MAX
	       || (double)t->code.smallest < WORTH_FACTOR * (double)than->smallest;
}

/* Searches the best setting, fits the few that are reported, and tries the best on the tests. */
static int search_all(struct frag_tune *t, struct scope *all, struct frag_error *err)
{
	int rc;

	all->count = t->tuned;
	t->lower_bound = tune_lower_bound_of(all);
	rc = t->total ? find_for_device(t, all, err) : tune_search_find_smallest(t, all, err);
	note_reached(t, all, rc);
	if (!rc && !t->total && t->best.choice != UINT32_MAX)
		rc = run_tasks(t, 5, fit_task, err);
	copy_fit(&t->best, t);
	copy_fit(&t->without, t);
	copy_fit(&t->newer, t);
	rc = rc ? rc : find_simple(t, all, err);
	rc = rc ? rc : claim_points(t, err);
	for (uint32_t i = 0; i < t->test_count && !rc && t->best.choice != UINT32_MAX; i++)
		rc = run_test(t, i, all, err);
	count_runs(t);
	return rc ? rc : find_code(t, all, err);
}

int frag_tune_run(struct frag_tune *t, struct frag_error *err)
{
	struct scope all = {
		.tune = t, .total = NONE, .trials = calloc(t->choice_count, sizeof(*all.trials)),
	};
	int rc = all.trials ? find_places(t, err) : frag_fail_nomem(err);

	FRAG_ASSERT(t->choice_count && t->source_count);
	t->best = t->without = t->newer = t->simple = t->code = t->without_code = no_point;
	t->reached = NONE;
	rc = rc ? rc : tune_search_make_room(t, err);
	rc = rc ? rc : run_tasks(t, t->place_count, tune_find_lower_bound, err);
	rc = rc ? rc : search_all(t, &all, err);
	for (uint32_t i = 0; i < t->choice_count && !rc && frag_tune_why(t, i); i++)
		if (i + 1 == t->choice_count)
			rc = frag_fail(err, FRAG_EPOLICY, "%s", frag_tune_why(t, 0));
	free(all.trials);
	return rc;
}

void frag_tune_fini(struct frag_tune *t)
{
	const size_t count = ((size_t)t->choice_count + 1) * t->place_count;

	for (size_t i = 0; t->intervals && i < count; i++)
		frag_fit_intervals_fini(&t->intervals[i]);
	frag_smallreq_fini(&t->smalls);
	for (uint32_t i = 0; t->changed_parts && i < t->tuned; i++)
		frag_tape_del(t->changed_parts[i]);
	frag_places_free(t->places, t->place_count);
	free(t->changed_parts);
	free(t->intervals);
	free(t->points);
	free(t->tests);
}
