/* prediction.c - a program as it was not recorded: changed, or at other numbers. */
#include "search/prediction.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/parallel.h"
#include "base/parse.h"
#include "engine/tape_run.h"
#include "events/tape.h"
#include "policy/policies.h"

enum verdict { NOT_TRIED, FITS, FAILS };

/* One task tries one number under all policies. */
struct trying {
	struct frag_predicted *x;
	uint32_t count;                 /* numbers */
	uint8_t *verdicts;              /* enum verdict: by number, then policy */
};

/* Simulates the tape on devices of `total` bytes; *out is owned by the caller. */
static int prediction_simulate(const struct frag_predicted *x, const struct frag_tape *tape,
				const struct frag_choice *choice, uint64_t total,
				enum frag_level level, struct frag_sim **out,
				struct frag_error *err)
{
	struct frag_devices devices = { .count = 0 };
	struct frag_sim_options options = { .level = level };
	const struct frag_job job = frag_job_part(&x->job);
	int rc = frag_devices_copy(&devices, x->devices, frag_tape_info(tape)->device_count, err);

	*out = NULL;
	for (uint32_t d = 0; d < devices.count; d++)
		devices.figures[d].total = total;
	options.devices = devices.figures;
	rc = rc ? rc : frag_tape_run(out, choice, tape, &options, &job, err);
	frag_devices_fini(&devices);
	return rc;
}

/*
 * All sizes at another number, by their order in r->sizes; which of them are not explained goes
 * into *unexplained, where that is not NULL. False: one would not be below FRAG_SIZE_LIMIT.
 */
static bool sizes_at(const struct frag_recordings *r, uint32_t x, uint64_t *sizes,
		     bool *unexplained)
{
	bool good = true;

	for (uint32_t i = 0; i < r->size_count; i++) {
		const bool explained = frag_size_at(&r->numbers, r->sizes[i].at, x, &sizes[i]);

		if (unexplained)
			unexplained[i] = !explained;
		good = good && sizes[i] < FRAG_SIZE_LIMIT;
	}
	return good;
}

/* The tape at a number, owned by the caller. *out stays NULL where a size is too large. */
static int predicted_tape(const struct frag_predicted *x, uint32_t number,
			    struct frag_tape **out, struct frag_error *err)
{
	const struct frag_recordings *r = x->recordings;
	uint64_t *sizes = malloc(((size_t)r->size_count + 1) * sizeof(*sizes));
	bool good = true;

	*out = NULL;
	if (!sizes)
		return frag_fail_nomem(err);
	if (sizes_at(r, number, sizes, NULL)) {
		*out = frag_tape_resized(x->tape, r->which, sizes);
		good = *out != NULL;
	}
	free(sizes);
	return good ? 0 : frag_fail_nomem(err);
}

/*
 * Can any policy fit there: is the peak of requested bytes at most the usable size of each
 * device? The policy `direct` measures this peak, because a limit of another policy could end
 * its run earlier.
 */
static int could_fit(const struct frag_predicted *x, uint32_t number, bool *fits,
		     struct frag_error *err)
{
	const struct frag_result *results;
	struct frag_sim *sim = NULL;
	struct frag_choice direct;
	struct frag_tape *tape;
	uint32_t count = 0;
	int rc = predicted_tape(x, number, &tape, err);

	*fits = false;
	if (rc || !tape)
		return rc;
	rc = frag_choice_of(&direct, &frag_policy_direct, "direct", err);
	rc = rc ? rc : prediction_simulate(x, tape, &direct, 0, FRAG_LEVEL_PEAKS, &sim, err);
	*fits = !rc;
	results = rc ? NULL : frag_sim_results(sim, false, &count);
	for (uint32_t d = 0; d < count; d++) {
		const struct frag_device_figures *f = &x->devices[d];

		if (f->context + f->other + results[d].lower_bound > x->total)
			*fits = false;
	}
	frag_sim_del(sim);
	frag_tape_del(tape);
	return rc;
}

/*
 * Finds the last number that could fit. No size falls from the last recorded number on, so
 * doubling and bisection find it. Where the last recorded number could not fit, smaller ones are
 * tried nevertheless.
 */
static int find_bound(struct frag_predicted *x, struct frag_error *err)
{
	const struct frag_numbers *n = &x->recordings->numbers;
	uint64_t good = n->at[n->count - 1], bad, step = 1;
	const uint64_t end = x->up_to ? x->up_to : FRAG_NUMBER_MAX;
	bool fits = true;
	int rc = 0;

	x->bound = FRAG_NO_NUMBER;
	for (bad = good; !rc && fits && good < end; step *= 2) {
		rc = could_fit(x, (uint32_t)bad, &fits, err);
		if (!fits)
			break;
		good = bad;
		bad = good + step < end ? good + step : end;
	}
	if (rc || fits)
		return rc;
	while (!rc && bad - good > 1) {
		const uint64_t middle = good + (bad - good) / 2;

		rc = could_fit(x, (uint32_t)middle, &fits, err);
		if (fits)
			good = middle;
		else
			bad = middle;
	}
	x->bound = (uint32_t)good;
	return rc;
}

/* Simulates one number under every policy: a number without a tape fails. */
static int try_number(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct trying *t = ctx;
	const struct frag_predicted *x = t->x;
	uint8_t *verdicts = t->verdicts + (size_t)index * x->choice_count;
	struct frag_tape *tape;
	int rc = predicted_tape(x, x->first + index * x->stride, &tape, err);

	for (uint32_t i = 0; i < x->choice_count && !rc; i++) {
		struct frag_sim *sim = NULL;
		uint32_t count = 0;
		const struct frag_result *results;

		verdicts[i] = FAILS;
		if (!tape)
			continue;
		rc = prediction_simulate(x, tape, &x->choices[i], x->total, FRAG_LEVEL_SURVIVE,
					  &sim, err);
		results = rc ? NULL : frag_sim_results(sim, false, &count);
		verdicts[i] = rc ? NOT_TRIED : FITS;
		for (uint32_t d = 0; d < count; d++)
			if (results[d].status != FRAG_RUN_OK)
				verdicts[i] = FAILS;
		frag_sim_del(sim);
	}
	frag_tape_del(tape);
	return rc;
}

/* Of one policy: what was tried, up to the first number that was not. */
static int draw_map(const struct trying *t, uint32_t choice, struct frag_error *err)
{
	const struct frag_predicted *x = t->x;
	struct frag_reach *reach = &x->reaches[choice];
	bool all = true;

	for (uint32_t i = 0; i < t->count; i++) {
		const uint8_t verdict = t->verdicts[(size_t)i * x->choice_count + choice];
		const uint32_t number = x->first + i * x->stride;
		const bool fits = verdict == FITS;

		if (verdict == NOT_TRIED)
			break;
		all = all && fits;
		if (all)
			reach->reliable = number;
		if (fits)
			reach->largest = number;
		if (reach->count && reach->map[reach->count - 1].fits == fits) {
			reach->map[reach->count - 1].to = number;
			continue;
		}
		if (!FRAG_GROW(reach->map, reach->capacity, reach->count))
			return frag_fail_nomem(err);
		reach->map[reach->count++] = (struct frag_reach_part){
			.from = number, .to = number, .fits = fits,
		};
	}
	return 0;
}

/* Up to the first that was not tried, under all policies alike. */
static uint32_t count_tried(const struct trying *t)
{
	const size_t policies = t->x->choice_count;

	for (uint32_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < policies; k++)
			if (t->verdicts[i * policies + k] == NOT_TRIED)
				return i;
	return t->count;
}

/* Tries all numbers; where it is interrupted, the map contains the numbers tried so far. */
static int try_all(struct trying *t, struct frag_error *err)
{
	struct frag_predicted *x = t->x;
	const struct frag_tasks tasks = {
		.count = t->count,
		.job = &x->job,
		.what = "numbers",
		.task = try_number,
		.ctx = t,
	};
	int rc, drawn = 0;

	t->verdicts = calloc((size_t)t->count * x->choice_count + 1, 1);
	rc = t->verdicts ? frag_tasks_run(&tasks, err) : frag_fail_nomem(err);
	if (!rc || rc == -FRAG_EINTERRUPTED) {
		t->count = count_tried(t);
		for (uint32_t i = 0; i < x->choice_count && !drawn; i++)
			drawn = draw_map(t, i, err);
		x->tried = t->count;
	}
	free(t->verdicts);
	return drawn ? drawn : rc;
}

/* Fills in reaches, first, tried and bound, as far as it comes. -FRAG_ENOMEM, -FRAG_EINTERRUPTED */
static int find_max_fitting(struct frag_predicted *x, struct frag_error *err)
{
	const struct frag_numbers *n = &x->recordings->numbers;
	const uint64_t runs = x->runs ? x->runs : FRAG_FIT_RUNS;
	struct trying t = { .x = x };
	uint64_t count, end = x->up_to ? x->up_to : FRAG_NUMBER_MAX;
	int rc;

	x->reaches = calloc((size_t)x->choice_count + 1, sizeof(*x->reaches));
	if (!x->reaches)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < x->choice_count; i++)
		x->reaches[i].largest = x->reaches[i].reliable = FRAG_NO_NUMBER;
	x->first = (n->at[0] + x->stride - 1) / x->stride * x->stride;
	rc = find_bound(x, err);
	if (rc)
		return rc;
	end = x->bound < end ? x->bound : end;
	count = end < x->first ? 0 : (end - x->first) / x->stride + 1;
	t.count = (uint32_t)(count < runs ? count : runs);
	return try_all(&t, err);
}

struct tags {
	struct frag_odd *odd;           /* by the tape's number of the tag, 0: none */
	uint32_t count, capacity;
};

/* Which sizes are not explained at a number; returns of how many allocs. */
static uint64_t add_number(const struct frag_recordings *r, uint32_t number, uint64_t *sizes,
			   bool *here, bool *any)
{
	uint64_t allocs = 0;

	sizes_at(r, number, sizes, here);
	for (uint32_t i = 0; i < r->size_count; i++) {
		allocs += here[i] ? r->sizes[i].allocs : 0;
		any[i] = any[i] || here[i];
	}
	return allocs;
}

static bool count_alloc(struct tags *tags, const struct frag_event *ev,
			const struct frag_symbols *symbols, const struct frag_sizes *sizes)
{
	struct frag_odd *odd;

	if (!FRAG_EXTEND(tags->odd, tags->capacity, tags->count, ev->tag))
		return false;
	odd = &tags->odd[ev->tag];
	if (odd->allocs++ == 0) {
		odd->step = ev->step;
		odd->sizes = sizes;
		if (ev->tag)
			odd->tag = frag_symbols_tag(symbols, ev->tag);
	}
	return true;
}

/* The tags of those allocs, from the tape. False: out of memory. */
static bool prediction_count_tags(const struct frag_predicted *x, const bool *any,
				     struct tags *tags)
{
	const struct frag_recordings *r = x->recordings;
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(x->tape) };
	const struct frag_event *ev;
	bool good = w.reader;
	uint32_t alloc = 0;

	while (good && (ev = frag_tape_walk_next(&w))) {
		uint32_t which;

		if (ev->op != FRAG_OP_ALLOC)
			continue;
		which = r->which[alloc++];
		if (any[which])
			good = count_alloc(tags, ev, frag_tape_symbols(x->tape), &r->sizes[which]);
	}
	frag_tape_reader_del(w.reader);
	return good;
}

static int by_allocs(const void *a, const void *b)
{
	const struct frag_odd *x = a, *y = b;

	return frag_order_two(y->allocs, x->allocs, x->step, y->step);
}

/* False: out of memory. */
static bool prediction_take(struct frag_predicted *x, struct tags *tags)
{
	uint32_t shown;
	bool good = true;

	FRAG_SORT(tags->odd, tags->count, by_allocs);
	while (x->odd_tags < tags->count && tags->odd[x->odd_tags].allocs)
		x->odd_allocs += tags->odd[x->odd_tags++].allocs;
	shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;
	if (shown)
		memcpy(x->odd, tags->odd, shown * sizeof(*x->odd));
	for (uint32_t i = 0; i < shown; i++) {
		struct frag_odd *odd = &x->odd[i];

		odd->bytes = odd->sizes->at[x->recordings->numbers.count - 1];
		for (uint32_t k = 0; k < x->at_count; k++) {
			uint64_t size;

			frag_size_at(&x->recordings->numbers, odd->sizes->at, x->at[k], &size);
			odd->bytes = size > odd->bytes ? size : odd->bytes;
		}
		odd->name = odd->tag.text ? frag_new_json(odd->tag.text, odd->tag.length) : NULL;
		good = good && (odd->name || !odd->tag.text);
	}
	return good;
}

/* Fills in unexplained, odd, odd_allocs and odd_tags. -FRAG_ENOMEM */
static int find_unexplained_sizes(struct frag_predicted *x, struct frag_error *err)
{
	const size_t count = (size_t)x->recordings->size_count + 1;
	uint64_t *sizes = calloc(count, sizeof(*sizes));
	bool *here = calloc(count, sizeof(*here)), *any = calloc(count, sizeof(*any));
	struct tags tags = { .count = 0 };
	bool good = sizes && here && any;

	for (uint32_t i = 0; i < x->at_count && good; i++)
		x->unexplained[i] = add_number(x->recordings, x->at[i], sizes, here, any);
	for (uint32_t i = 0; i < x->choice_count && x->reaches && good; i++)
		if (x->reaches[i].largest != FRAG_NO_NUMBER)
			add_number(x->recordings, x->reaches[i].largest, sizes, here, any);
	good = good && prediction_count_tags(x, any, &tags);
	good = good && prediction_take(x, &tags);
	free(tags.odd);
	free(any);
	free(here);
	free(sizes);
	return good ? 0 : frag_fail_nomem(err);
}

/* The trace, with its blocks from before the first event as requests; and the changed one. */
static int take_changed(struct frag_predicted *x, struct frag_error *err)
{
	const struct frag_tape *recorded = x->tape;

	if (frag_tape_symbols(x->tape)->initial_count) {
		recorded = x->tapes[0] = frag_tape_resized(x->tape, NULL, NULL);
		if (!recorded)
			return frag_fail_nomem(err);
	}
	x->sources[0].tape = recorded;
	x->sources[1].tape = x->changed;
	return 0;
}

static int make_tapes(struct frag_predicted *x, struct frag_error *err)
{
	for (uint32_t i = 0; i < x->at_count; i++) {
		int rc = predicted_tape(x, x->at[i], &x->tapes[i], err);

		if (rc)
			return rc;
		if (!x->tapes[i])
			return frag_fail(err, FRAG_EUSAGE, "at %" PRIu32 " an alloc would have 2^53"
					 " bytes or more", x->at[i]);
		x->sources[i].tape = x->tapes[i];
	}
	return 0;
}

/* Makes the tape of each source, and fits all of them. */
static int fit_sources(struct frag_predicted *x, struct frag_error *err)
{
	int rc;

	x->source_count = x->recordings ? x->at_count : 2;
	x->tapes = calloc((size_t)x->source_count + 1, sizeof(*x->tapes));
	x->sources = calloc((size_t)x->source_count + 1, sizeof(*x->sources));
	x->unexplained = calloc((size_t)x->source_count + 1, sizeof(*x->unexplained));
	x->margins = calloc((size_t)x->source_count + 1, sizeof(*x->margins));
	if (!x->tapes || !x->sources || !x->unexplained || !x->margins)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < x->source_count; i++)
		x->sources[i] = (struct frag_fit_source){
			.choices = x->choices, .devices = x->devices, .scope = x->scope,
		};
	rc = x->recordings ? make_tapes(x, err) : take_changed(x, err);
	if (rc || !x->source_count)
		return rc;
	x->fits = (struct frag_fits){
		.sources = x->sources,
		.source_count = x->source_count,
		.choice_count = x->choice_count,
		.bounds = { .runs = x->runs, .hurry = x->hurry, .ctx = x->job.ctx },
		.headroom_total = x->total,
		.unlimited = true,
		.separate = true,
		.model = x->model,
		.job = x->job,
	};
	return frag_fits_run(&x->fits, err);
}

/*
 * Workspaces that may start between the recordings and a number. A kernel that sums over rows (batch
 * x length) takes one from 1024 rows on; it has 8 bytes for each element of its input. The kernel is
 * seen by its result, a block whose size does not depend on the number, and by its input, which is
 * freed directly after that and is as many times as large as there are rows. Measured with PyTorch
 * 2.9 to 2.15.
 */
#define REDUCTION_ROWS 1024
#define REDUCTION_FACTOR 2              /* of the input's bytes, where its elements have 4 */

static bool grows_with_rows(const struct frag_sizes *s)
{
	return s->growth == FRAG_LINEAR || s->growth == FRAG_QUADRATIC;
}

/* The alloc that is the input of a reduction with the result of event i. FRAG_NO_SOURCE: none. */
#define FRAG_NO_SOURCE UINT32_MAX
static uint32_t reduction_input(const struct frag_recordings *r, const struct frag_tape *tape, uint32_t i,
				uint32_t alloc)
{
	const struct frag_tape_event *e = &tape->events[i], *next = e + 1;
	const uint64_t result = e->word >> FRAG_TAPE_VALUE_SHIFT;
	uint32_t input;

	if (i + 1 >= tape->count || frag_tape_op(next) != FRAG_OP_FREE || !result
	    || r->sizes[r->which[alloc]].growth != FRAG_CONSTANT)
		return FRAG_NO_SOURCE;
	input = (uint32_t)(next->word >> FRAG_TAPE_VALUE_SHIFT);
	if (input == alloc || !grows_with_rows(&r->sizes[r->which[input]]))
		return FRAG_NO_SOURCE;
	return r->sizes[r->which[input]].at[r->numbers.count - 1] / result < REDUCTION_ROWS
		       ? input : FRAG_NO_SOURCE;
}

/* The blocks that may start at a number, by event of its tape. False: out of memory. */
static bool find_reductions(const struct frag_recordings *r, const struct frag_tape *tape, uint32_t number,
			    struct frag_tape_block **blocks, uint32_t *count)
{
	uint32_t capacity = 0, alloc = 0;

	for (uint32_t i = 0; i < tape->count; i++) {
		const uint64_t result = tape->events[i].word >> FRAG_TAPE_VALUE_SHIFT;
		uint32_t input;
		uint64_t bytes;

		if (!frag_tape_is_alloc(&tape->events[i]))
			continue;
		input = reduction_input(r, tape, i, alloc++);
		if (input == FRAG_NO_SOURCE)
			continue;
		frag_size_at(&r->numbers, r->sizes[r->which[input]].at, number, &bytes);
		if (bytes % result || bytes / result < REDUCTION_ROWS
		    || bytes >= FRAG_SIZE_LIMIT / REDUCTION_FACTOR)
			continue;
		if (!FRAG_GROW(*blocks, capacity, *count))
			return false;
		(*blocks)[(*count)++] = (struct frag_tape_block){
			.after = i, .bytes = bytes * REDUCTION_FACTOR,
		};
	}
	return true;
}

/* A second tape of a source, if workspaces may start there. */
static int start_workspaces(struct frag_predicted *x, uint32_t source, struct frag_error *err)
{
	struct frag_tape_block *blocks = NULL;
	uint32_t count = 0;
	int rc = find_reductions(x->recordings, x->tapes[source], x->at[source], &blocks, &count)
			 ? 0 : frag_fail_nomem(err);

	if (!rc && count) {
		struct frag_tape **tape = &x->started_tapes[x->started_count];

		rc = frag_tape_with_blocks(tape, x->tapes[source], blocks, count, err);
		x->started_sources[x->started_count] = x->sources[source];
		x->started_sources[x->started_count].tape = *tape;
		x->started_of[x->started_count] = source;
		x->started_count += !rc;
	}
	free(blocks);
	return rc;
}

/* The larger of two fits of one source counts, and the difference is its margin. */
static void take_started(struct frag_predicted *x)
{
	for (uint32_t i = 0; i < x->started.count; i++) {
		struct frag_fitted *one = &x->started.fitted[i], *base = x->fits.fitted;
		const uint32_t source = x->started_of[one->source];
		struct frag_fitted swap;

		while (base->source != source || base->choice != one->choice || base->device != one->device)
			base++;
		if (one->fit.reliable == UINT64_MAX || base->fit.reliable == UINT64_MAX
		    || one->fit.reliable <= base->fit.reliable)
			continue;
		if (one->fit.reliable - base->fit.reliable > x->margins[source])
			x->margins[source] = one->fit.reliable - base->fit.reliable;
		swap = *base;
		*base = *one;
		*one = swap;
		one->source = base->source;
		base->source = source;
	}
}

/* Fits the sources again with workspaces that may start there. */
static int fit_started(struct frag_predicted *x, struct frag_error *err)
{
	const size_t count = (size_t)x->at_count + 1;
	int rc = 0;

	x->started_tapes = calloc(count, sizeof(*x->started_tapes));
	x->started_sources = calloc(count, sizeof(*x->started_sources));
	x->started_of = calloc(count, sizeof(*x->started_of));
	if (!x->started_tapes || !x->started_sources || !x->started_of)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < x->at_count && !rc; i++)
		rc = start_workspaces(x, i, err);
	if (rc || !x->started_count)
		return rc;
	x->started = (struct frag_fits){
		.sources = x->started_sources, .source_count = x->started_count,
		.choice_count = x->choice_count, .bounds = x->fits.bounds,
		.headroom_total = x->total, .unlimited = true, .separate = true, .model = x->model,
		.job = x->job,
	};
	rc = frag_fits_run(&x->started, err);
	if (!rc || rc == -FRAG_EINTERRUPTED)
		take_started(x);
	return rc;
}

double frag_predicted_distance(const struct frag_predicted *x, uint32_t number)
{
	const struct frag_numbers *n = &x->recordings->numbers;
	uint32_t nearest = n->at[0];

	for (uint32_t i = 1; i < n->count; i++)
		if (llabs((int64_t)n->at[i] - number) < llabs((int64_t)nearest - number))
			nearest = n->at[i];
	return nearest ? (double)number / (double)nearest : 0;
}

int frag_predicted_run(struct frag_predicted *x, struct frag_error *err)
{
	int rc = fit_sources(x, err), odd;

	if (!rc && x->recordings)
		rc = fit_started(x, err);
	if (!rc && x->largest)
		rc = find_max_fitting(x, err);
	if (!x->recordings || (rc && rc != -FRAG_EINTERRUPTED))
		return rc;
	odd = find_unexplained_sizes(x, err);
	return odd ? odd : rc;
}

void frag_predicted_fini(struct frag_predicted *x)
{
	frag_fits_fini(&x->fits);
	frag_fits_fini(&x->started);
	for (uint32_t i = 0; i < x->started_count; i++)
		frag_tape_del(x->started_tapes[i]);
	free(x->started_tapes);
	free(x->started_sources);
	free(x->started_of);
	free(x->margins);
	for (uint32_t i = 0; i < x->choice_count && x->reaches; i++)
		free(x->reaches[i].map);
	free(x->reaches);
	for (uint32_t i = 0; i < x->source_count && x->tapes; i++)
		frag_tape_del(x->tapes[i]);
	for (uint32_t i = 0; i < FRAG_ODD_MAX; i++)
		free(x->odd[i].name);
	free(x->tapes);
	free(x->sources);
	free(x->unexplained);
}
