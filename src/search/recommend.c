/* recommend.c - the one ranking of allocator settings: which setting a program should have. */
#include "search/recommend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "events/tape.h"
#include "policy/choice.h"
#include "policy/evidence.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"

#define NONE UINT64_MAX
#define ENDLESS (UINT64_C(1) << 52)     /* more than any trace requests */
/* Candidates that are tried at once, whatever the number of threads, so that the answer is one. */
#define ROUND 8
#define ALONE 2                 /* the first are tried alone: the own, and expandable segments */
/* Bounds of a search: events of the runs of one candidate, and of all settings beyond the usual. */
#define EVENTS_MAX (UINT64_C(1) << 23)
#define RUNS_MAX 1024

/* What a candidate must be to be eligible: reliable from this capacity on, without gaps below. */
struct demand {
	uint64_t most;                  /* the highest `reliable`; NONE: any */
	bool without_gaps;
};

static const struct frag_fit_case *lattice_of(const struct frag_recommendation *r)
{
	return &r->candidates[0].intervals[0].subject;
}

static uint64_t recommend_page_of(const struct frag_recommendation *r)
{
	const struct frag_fit_case *s = lattice_of(r);

	return s->devices[s->device].granularity;
}

/* The highest capacity of the lattice that is no more than these bytes; 0: there is none. */
static uint64_t round_down(const struct frag_recommendation *r, uint64_t bytes)
{
	const uint64_t up = frag_fit_case_round_up(lattice_of(r), bytes), page = recommend_page_of(r);

	return up <= bytes ? up : up < page ? 0 : up - page <= bytes ? up - page : 0;
}

/* Candidates ------------------------------------------------------------------ */

static uint32_t count_keys(const char *settings)
{
	uint32_t keys = 0;

	for (const char *p = settings; *p; p += frag_setting_length(p), p += *p == ',')
		keys++;
	return keys;
}

/* The releases that a program may run under all have the setting. */
static bool has_setting(const struct frag_choice *own, const char *line)
{
	struct frag_choice oldest;
	struct frag_error unused;

	return !frag_choose_version(&oldest, frag_oldest_release(own), &unused)
	       && !frag_choice_settings(&oldest, line, &unused);
}

/* The choice is called by its settings, behind the release where its own name has that. */
static void name_setting(struct frag_choice *c, const struct frag_choice *own)
{
	const size_t whole = strlen(own->label), tail = strlen(CONF(own));
	const bool ends = whole >= tail && strcmp(own->label + whole - tail, CONF(own)) == 0;
	const int release = strncmp(own->label, "pytorch ", 8) == 0 && ends ? (int)(whole - tail) : 0;
	const bool blank = release && own->label[release - 1] == ' ';
	struct frag_choice spelt = *c;
	struct frag_error unused;

	if (whole)
		snprintf(c->label, sizeof(c->label), "%.*s%s%.200s", release - blank, own->label,
			 release ? " " : "", CONF(c));
	if (!frag_choice_expand_settings(&spelt, &unused))
		memcpy(c->text, spelt.text, sizeof(c->text));
}

/* Gives each source's choice the setting. The candidate is skipped where one cannot have it. */
static int set_choices(const struct frag_recommendation *r, struct frag_setting_rank *c,
		       const char *line, struct frag_error *err)
{
	struct frag_error refused = { .code = 0 };

	c->choices = calloc(r->source_count, sizeof(*c->choices));
	if (!c->choices)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->source_count; i++) {
		c->choices[i] = r->sources[i].choices[0];
		if (!line || c->status == FRAG_RANK_SKIPPED)
			continue;
		if (frag_choice_settings(&c->choices[i], line, &refused))
			snprintf(c->why, sizeof(c->why), "%.200s", refused.message);
		else if (!has_setting(&r->sources[i].choices[0], line))
			snprintf(c->why, sizeof(c->why), "PyTorch 2.%u does not have it",
				 (unsigned)frag_oldest_release(&r->sources[i].choices[0]));
		name_setting(&c->choices[i], &r->sources[i].choices[0]);
		c->status = *c->why ? FRAG_RANK_SKIPPED : FRAG_RANK_OPEN;
	}
	return 0;
}

static void candidate_fini(struct frag_setting_rank *c, uint32_t places)
{
	for (uint32_t i = 0; c->intervals && i < places; i++)
		frag_fit_intervals_fini(&c->intervals[i]);
	free(c->intervals);
	free(c->by_place);
	free(c->choices);
}

/* The devices of one trace may differ: bytes of this one beyond those of the first. */
static int64_t bytes_beyond(const struct frag_recommendation *r, const struct frag_place *at)
{
	if (r->total || !r->device)
		return 0;
	return (int64_t)r->sources[at->source].devices[at->device].total - (int64_t)r->device;
}

/* Prepares what is known of a candidate in each place; nothing is simulated yet. */
static int candidate_init(struct frag_recommendation *r, struct frag_setting_rank *c,
			  struct frag_error *err)
{
	int rc = 0;

	c->intervals = calloc((size_t)r->place_count + 1, sizeof(*c->intervals));
	c->by_place = calloc((size_t)r->place_count + 1, sizeof(struct frag_fit_intervals *));
	if (!c->intervals || !c->by_place)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->place_count && !rc; i++) {
		const struct frag_place *at = &r->places[i];
		const struct frag_fit_source *from = &r->sources[at->source];
		const struct frag_fit_case subject = {
			.tape = from->tape, .choice = &c->choices[at->source],
			.devices = from->devices, .device = at->device, .model = r->model,
			.job = frag_job_part(&r->job),
		};

		rc = frag_fit_intervals_init(&c->intervals[i], &subject, at->part, &r->smalls, err);
		c->intervals[i].offset = bytes_beyond(r, at);
		c->by_place[i] = &c->intervals[i];
	}
	return rc;
}

/* Is it left out, as there is the same, or by the options? */
static bool is_left_out(const struct frag_recommendation *r, const struct frag_setting_rank *c)
{
	const uint64_t *param = c->choices->param;

	if (r->no_expandable && r->candidates->choices->ops == &frag_policy_pytorch
	    && param[EXPANDABLE_SEGMENTS])
		return true;
	for (uint32_t i = 0; i < r->count; i++)
		if ((i && strcmp(r->candidates[i].line, c->line) == 0)
		    || (c->status != FRAG_RANK_SKIPPED
			&& memcmp(r->candidates[i].choices->param, param,
				  sizeof(c->choices->param)) == 0))
			return true;
	return false;
}

/* One more; line NULL: the programs' own settings. */
static int recommend_add(struct frag_recommendation *r, const char *line, struct frag_error *err)
{
	struct frag_setting_rank c = { .smallest = NONE, .reliable = NONE };
	int rc;

	snprintf(c.line, sizeof(c.line), "%s", line ? line : "");
	rc = FRAG_GROW(r->candidates, r->capacity, r->count) ? set_choices(r, &c, line, err)
							     : frag_fail_nomem(err);

	if (!rc && r->count && is_left_out(r, &c)) {
		free(c.choices);
		return 0;
	}
	rc = rc ? rc : candidate_init(r, &c, err);
	if (rc)
		candidate_fini(&c, r->place_count);
	c.keys = !rc && line ? count_keys(CONF(c.choices)) : 0;
	if (!rc)
		r->candidates[r->count++] = c;
	return rc;
}

static int add_lines(struct frag_recommendation *r, const struct frag_grid *grid, uint32_t most,
		     struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < grid->count && r->count < most && !rc; i++)
		rc = recommend_add(r, grid->lines[i], err);
	return rc;
}

/* Trying ---------------------------------------------------------------------- */

/* A simulation that fails is no failure of the search: that setting is no candidate. */
static void note_error(struct frag_setting_rank *c, uint32_t places)
{
	for (uint32_t i = 0; i < places; i++)
		if (c->intervals[i].why)
			snprintf(c->why, sizeof(c->why), "%.200s", c->intervals[i].why);
	if (*c->why)
		c->status = FRAG_RANK_ERROR;
}

/* A setting on one capacity. */
static int try_setting(struct frag_setting_rank *c, uint32_t places, uint64_t total,
		  struct frag_fit_verdict *v, struct frag_error *err)
{
	const int rc = frag_fit_judge_at(c->by_place, places, total, v, err);

	if (rc || v->fits)
		return rc;
	c->fails_at = frag_max(c->fails_at, total);
	note_error(c, places);
	return 0;
}

/*
 * Examines all capacities upwards, up to the device where there is one. Where that takes too many
 * runs, the run on the device proves the capacities down to which it is the same.
 */
static int recommend_walk(const struct frag_recommendation *r, struct frag_setting_rank *c,
			  struct frag_error *err)
{
	const uint64_t events = frag_tape_info(lattice_of(r)->tape)->events + 1;
	const struct frag_fit_bounds bounds = {
		.up_to = r->device,
		.runs = r->exact ? FRAG_FIT_RUNS
				 : frag_max(ROUND, frag_min(RUNS_MAX, EVENTS_MAX / events)),
	};
	struct frag_fit_verdict v;
	struct frag_fit fit;
	int rc;

	if (c->walked)
		return 0;
	rc = frag_fit_walk(&fit, c->by_place, r->place_count, r->lower_bound, &bounds, err);
	free(fit.failing);
	if (rc)
		return rc;
	c->walked = true;
	c->smallest = fit.smallest;
	c->reliable = fit.reliable;
	c->without_gaps = fit.smallest == fit.reliable && (!r->device || fit.examined_to > r->device);
	c->at = fit.at_reliable;
	if (c->reliable == NONE)
		note_error(c, r->place_count);
	if (!r->device)
		return 0;
	rc = try_setting(c, r->place_count, r->device, &v, err);
	if (rc)
		return rc;
	c->at = v.outcome;
	if (!v.fits)
		c->reliable = NONE;
	else if (fit.examined_to <= r->device)
		c->reliable = frag_fit_case_round_up(lattice_of(r), v.min_capacity);
	return 0;
}

/* Ranking --------------------------------------------------------------------- */

static bool is_eligible(const struct frag_setting_rank *c, const struct demand *d)
{
	return c->walked && c->reliable != NONE && c->reliable <= d->most
	       && (c->without_gaps || !d->without_gaps);
}

/* Candidates that are tried at one capacity, and examined further where they fit it. */
struct recommend_round {
	struct frag_recommendation *r;
	const uint32_t *order;
	uint64_t total;
};

static int try_and_walk(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct recommend_round *round = ctx;
	struct frag_recommendation *r = round->r;
	struct frag_setting_rank *c = &r->candidates[round->order[index]];
	struct frag_fit_verdict v;
	int rc = c->walked || c->fails_at >= round->total || c->status > FRAG_RANK_OOM ? 0
		 : try_setting(c, r->place_count, round->total, &v, err);

	/* what has failed at a capacity is reliable above it, if at all */
	if (!rc && !c->walked && c->fails_at < round->total && c->status <= FRAG_RANK_OOM)
		rc = recommend_walk(r, c, err);
	for (uint32_t i = 0; i < r->place_count; i++)
		frag_checkpoints_forget(&c->intervals[i].checkpoints);
	return rc;
}

static int try_round(struct frag_recommendation *r, const uint32_t *order, uint32_t count,
		     uint64_t total, struct frag_error *err)
{
	struct recommend_round round = { .r = r, .order = order, .total = total };
	const struct frag_tasks tasks = {
		.count = count, .job = &r->job, .task = try_and_walk, .ctx = &round,
	};

	return frag_tasks_run(&tasks, err);
}

/*
 * Finds the eligible candidate that is reliable on the smallest device; FRAG_ALL: none is. Each is
 * tried one page below the best so far: one that is reliable on less fits there. The first ones
 * alone: they are the most likely, and those after them then fail early.
 */
static int find_least(struct frag_recommendation *r, const uint32_t *order, uint32_t count,
		      const struct demand *d, uint32_t *best, struct frag_error *err)
{
	const uint64_t page = recommend_page_of(r);
	uint64_t most = d->most == NONE ? frag_fit_case_round_up(lattice_of(r), ENDLESS)
					: round_down(r, d->most);
	int rc = 0;

	*best = FRAG_ALL;
	for (uint32_t i = 0, taken; i < count && !rc && most >= r->lower_bound; i += taken) {
		taken = i < ALONE ? 1 : (uint32_t)frag_min(ROUND, count - i);
		rc = try_round(r, order + i, taken, most, err);
		for (uint32_t k = i; k < i + taken && !rc; k++) {
			const struct frag_setting_rank *c = &r->candidates[order[k]];

			if (!is_eligible(c, d) || c->reliable > most)
				continue;
			*best = order[k];
			most = c->reliable < page ? 0 : c->reliable - page;
		}
		frag_job_show(&r->job, "settings", i, count);
	}
	return rc;
}

/*
 * Of those that need less than 2 % more than the smallest, the first candidate with the fewest keys
 * and then the fewest calls: `order` is by keys.
 */
static int find_simplest_equal(struct frag_recommendation *r, const uint32_t *order, uint32_t count,
			       const struct demand *d, uint64_t least, struct frag_error *err)
{
	const uint64_t equal = frag_min(d->most, least + (uint64_t)ceil(FRAG_EQUAL_DEVICES * (double)least) - 1);
	const uint64_t most = round_down(r, equal);
	uint32_t end;
	int rc = 0;

	r->best = FRAG_ALL;
	for (uint32_t i = 0; i < count && !rc && r->best == FRAG_ALL; i = end) {
		const uint32_t keys = r->candidates[order[i]].keys;

		for (end = i; end < count && r->candidates[order[end]].keys == keys;)
			end++;
		rc = try_round(r, order + i, end - i, most, err);
		for (uint32_t k = i; k < end && !rc; k++) {
			const struct frag_setting_rank *c = &r->candidates[order[k]];

			if (is_eligible(c, d) && c->reliable <= most
			    && (r->best == FRAG_ALL || c->at.calls < r->candidates[r->best].at.calls))
				r->best = order[k];
		}
	}
	return rc;
}

/* By the number of keys, and of equals as they were added. */
static void order_candidates(const struct frag_recommendation *r, uint32_t *order)
{
	uint32_t count = 0;

	for (uint32_t keys = 0; count < r->count; keys++)
		for (uint32_t i = 0; i < r->count; i++)
			if (r->candidates[i].keys == keys)
				order[count++] = i;
}

/* First those without gaps that have the spare, in the end any that fits. */
static int rank_candidates(struct frag_recommendation *r, struct frag_error *err)
{
	const uint64_t spared = (uint64_t)((double)r->device / (1 + r->spare));
	const struct demand demands[] = {
		{ r->device ? spared : NONE, r->device }, { spared, false },
		{ r->device, true }, { r->device, false },
	};
	const uint32_t stages = !r->device ? 1 : r->spare > 0 ? 4 : 2;
	uint32_t *order = calloc((size_t)r->count + 1, sizeof(*order)), least = FRAG_ALL;
	int rc = 0;

	if (!order)
		return frag_fail_nomem(err);
	order_candidates(r, order);
	r->best = FRAG_ALL;
	for (uint32_t i = 0; i < stages && !rc && least == FRAG_ALL; i++) {
		rc = find_least(r, order, r->count, &demands[i], &least, err);
		r->no_spare = i > 1;
		if (!rc && least != FRAG_ALL)
			rc = find_simplest_equal(r, order, r->count, &demands[i],
						 r->candidates[least].reliable, err);
	}
	free(order);
	return rc;
}

/* The whole ------------------------------------------------------------------- */

/* The peak of a place; 0: not known. */
static uint64_t known_request(const struct frag_recommendation *r, uint32_t place)
{
	return r->requested ? r->requested[r->places[place].device] : 0;
}

static int run_unlimited(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_recommendation *r = ctx;

	return known_request(r, index) ? 0
		: frag_fit_case_unlimited(&r->candidates[0].intervals[index].subject, &r->unlimited[index],
					  err);
}

/* Of the place that needs the most, each being simulated where what it requests is not known. */
static int find_lower_bound(struct frag_recommendation *r, struct frag_error *err)
{
	const struct frag_tasks tasks = {
		.count = r->place_count, .job = &r->job, .task = run_unlimited, .ctx = r,
	};
	int rc;

	r->unlimited = calloc((size_t)r->place_count + 1, sizeof(*r->unlimited));
	rc = r->unlimited ? frag_tasks_run(&tasks, err) : frag_fail_nomem(err);
	for (uint32_t i = 0; i < r->place_count && !rc; i++) {
		const struct frag_fit_case *s = &r->candidates[0].intervals[i].subject;
		const struct frag_device_figures *d = &s->devices[s->device];
		const uint64_t known = known_request(r, i);
		const uint64_t requested = known ? known : r->unlimited[i].outcome.peak_requested;

		r->lower_bound = frag_max(r->lower_bound, frag_fit_case_round_up(
			s, (uint64_t)((int64_t)(d->context + d->other + requested)
				      - r->candidates[0].intervals[i].offset)));
	}
	/* what was interrupted is half known */
	if (rc) {
		free(r->unlimited);
		r->unlimited = NULL;
	}
	return rc;
}

/* If a device of a trace has a capacity, the others without one have no part. */
static int recommend_find_places(struct frag_recommendation *r, struct frag_error *err)
{
	const int rc = frag_places_find(&r->places, &r->place_count, r->sources, r->source_count, err);
	uint32_t kept = 0;

	r->device = r->total;
	for (uint32_t i = 0; i < r->place_count && !rc && !r->device; i++)
		r->device = r->sources[r->places[i].source].devices[r->places[i].device].total;
	for (uint32_t i = 0; i < r->place_count && !rc && r->device && !r->total; i++) {
		const struct frag_place at = r->places[i];

		if (r->sources[at.source].devices[at.device].total)
			r->places[kept++] = at;
		else
			frag_tape_del(at.part);
	}
	if (!rc && r->device && !r->total)
		r->place_count = kept;
	return rc;
}

/* Where none of the usual settings fits the device, all others are tried that the bound allows. */
static int rank_others(struct frag_recommendation *r, struct frag_error *err)
{
	const uint64_t events = frag_tape_info(lattice_of(r)->tape)->events + 1;
	struct frag_grid all = { .count = 0 };
	int rc = frag_grid_init(&all, "all") ? 0 : frag_fail_nomem(err);

	rc = rc ? rc : add_lines(r, &all, r->count + (uint32_t)frag_min(RUNS_MAX, EVENTS_MAX / events),
				 err);
	frag_grid_fini(&all);
	return rc ? rc : rank_candidates(r, err);
}

/* On the device, or on the one that the answer names: does a candidate fit it? */
static int recommend_finish(void *ctx, uint32_t index, struct frag_error *err)
{
	struct frag_recommendation *r = ctx;
	struct frag_setting_rank *c = &r->candidates[index];
	const struct frag_setting_rank *named = &r->candidates[r->best == FRAG_ALL ? 0 : r->best];
	const uint64_t total = r->device ? r->device : named->reliable;
	struct frag_fit_verdict v;
	int rc = 0;

	if (c->status > FRAG_RANK_OOM || total == NONE)
		return 0;
	if (total < r->lower_bound) {
		c->status = FRAG_RANK_OOM;
		return 0;
	}
	if (r->exact || (r->own && !index) || (r->also && index == r->also_index))
		rc = recommend_walk(r, c, err);
	if (rc || (!r->every && !c->walked))
		return rc;
	rc = try_setting(c, r->place_count, total, &v, err);
	if (!rc && c->status <= FRAG_RANK_OOM)
		c->status = v.fits ? FRAG_RANK_FITS : FRAG_RANK_OOM;
	if (!rc && !c->walked)
		c->at = v.outcome;
	return rc;
}

static int recommend_all(struct frag_recommendation *r, struct frag_error *err)
{
	struct frag_grid usual = { .count = 0 };
	struct frag_tasks each = { .job = &r->job, .task = recommend_finish, .ctx = r };
	int rc = r->grid || frag_grid_init(&usual, "short") ? 0 : frag_fail_nomem(err);

	rc = rc || !r->also ? rc : recommend_add(r, r->also, err);
	r->also_index = r->count - 1;
	rc = rc ? rc : add_lines(r, r->grid ? r->grid : &usual, UINT32_MAX, err);
	frag_grid_fini(&usual);
	rc = rc ? rc : find_lower_bound(r, err);
	if (!rc && !(r->device && r->lower_bound > r->device)) {
		rc = rank_candidates(r, err);
		if (!rc && r->best == FRAG_ALL && r->device && !r->grid)
			rc = rank_others(r, err);
	}
	each.count = r->count;
	return rc ? rc : frag_tasks_run(&each, err);
}

int frag_recommend(struct frag_recommendation *r, struct frag_error *err)
{
	int rc = recommend_find_places(r, err);

	r->smalls.job = r->job;
	r->best = FRAG_ALL;
	rc = rc || !r->place_count ? rc : recommend_add(r, NULL, err);
	return rc || !r->place_count || !r->candidates->choices->ops->settings
	       ? rc : recommend_all(r, err);
}

void frag_recommend_fini(struct frag_recommendation *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		candidate_fini(&r->candidates[i], r->place_count);
	free(r->candidates);
	free(r->unlimited);
	frag_smallreq_fini(&r->smalls);
	frag_places_free(r->places, r->place_count);
}

const struct frag_fit_intervals *frag_recommend_intervals(const struct frag_recommendation *r,
							  uint32_t source, uint32_t device,
							  const struct frag_choice *choice,
							  const struct frag_interval **unlimited)
{
	if (unlimited)
		*unlimited = NULL;
	for (uint32_t i = 0; r && i < r->count; i++)
		for (uint32_t k = 0; k < r->place_count; k++) {
			const struct frag_fit_intervals *s = &r->candidates[i].intervals[k];

			if (r->places[k].source != source || r->places[k].device != device
			    || s->subject.choice->ops != choice->ops
			    || memcmp(s->subject.choice->param, choice->param,
				      sizeof(choice->param)) != 0)
				continue;
			if (unlimited && !i && r->unlimited && r->unlimited[k].outcome.steps)
				*unlimited = &r->unlimited[k];
			return s;
		}
	return NULL;
}

uint32_t frag_recommend_tried(const struct frag_recommendation *r)
{
	uint32_t tried = 0;

	for (uint32_t i = 1; i < r->count; i++)
		tried += r->candidates[i].walked || r->candidates[i].fails_at
			 || r->candidates[i].status == FRAG_RANK_FITS;
	return tried;
}
