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
#include "transform/workspaces.h"

enum verdict { NOT_TRIED, FITS, FAILS };

#define NAMED_MAX 64    /* numbers of --largest that are fitted */

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

/* Under the policy `direct`, because a limit of another policy could end its run earlier. */
static int peak_of(const struct frag_predicted *x, const struct frag_tape *tape, uint64_t *peak, struct frag_error *err)
{
	const struct frag_result *results;
	struct frag_sim *sim = NULL;
	struct frag_choice direct;
	uint32_t count = 0;
	int rc = frag_choice_of(&direct, &frag_policy_direct, "direct", err);

	*peak = 0;
	rc = rc ? rc : prediction_simulate(x, tape, &direct, 0, FRAG_LEVEL_PEAKS, &sim, err);
	results = rc ? NULL : frag_sim_results(sim, false, &count);
	for (uint32_t d = 0; d < count; d++)
		*peak = frag_max(*peak, results[d].lower_bound);
	frag_sim_del(sim);
	return rc;
}

int frag_predicted_peak(const struct frag_predicted *x, uint32_t number, const struct frag_tape *recorded, uint64_t *peak,
			struct frag_error *err)
{
	struct frag_tape *tape = NULL;
	int rc = recorded ? 0 : predicted_tape(x, number, &tape, err);

	*peak = UINT64_MAX;
	if (!rc && (recorded || tape))
		rc = peak_of(x, recorded ? recorded : tape, peak, err);
	frag_tape_del(tape);
	return rc;
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

/*
 * What is simulated of a number besides its trace: workspaces that may start there, and those that end at a
 * size that depends on the GPU, by count of its multiprocessors: none ends; A100; H100 and H200; B200.
 */
static const uint32_t multiprocessors[] = { 0, 108, 132, 148 };
#define VARIANTS (sizeof(multiprocessors) / sizeof(*multiprocessors))

struct variants {
	struct frag_tape *tapes[2 * VARIANTS];  /* its own; some are parts of others */
	uint32_t tape_count;
	const struct frag_tape *of[VARIANTS];
	uint32_t count;
	bool sums, rows_unknown;
};

static void variants_fini(struct variants *v)
{
	while (v->tape_count)
		frag_tape_del(v->tapes[--v->tape_count]);
}

/* Takes the new tape. False: out of memory. */
static bool variants_take(struct variants *v, struct frag_tape *tape)
{
	if (tape)
		v->tapes[v->tape_count++] = tape;
	return tape != NULL;
}

/* sizes: those of r->sizes, with workspaces as such a GPU has them. */
static int add_variant(struct variants *v, const struct frag_predicted *x, const uint64_t *sizes,
		       const struct frag_workspaces *w, struct frag_error *err)
{
	struct frag_tape *tape = frag_tape_resized(x->tape, x->recordings->which, sizes);
	int rc = variants_take(v, tape) ? 0 : frag_fail_nomem(err);

	if (!rc && w->count) {
		const struct frag_tape *from = tape;

		rc = frag_tape_with_blocks(&tape, from, w->blocks, w->count, err);
		if (!rc)
			variants_take(v, tape);
	}
	if (!rc)
		v->of[v->count++] = tape;
	return rc;
}

/* Of the tape at a number. */
static int make_variants(struct variants *v, const struct frag_predicted *x, uint32_t number,
			 const struct frag_tape *base, struct frag_error *err)
{
	const struct frag_recordings *r = x->recordings;
	const size_t count = (size_t)r->size_count + 1;
	uint64_t *sizes = malloc(2 * count * sizeof(*sizes)), *last = sizes ? sizes + count : NULL;
	struct frag_workspaces before = { .count = 0 };
	int rc = sizes ? 0 : frag_fail_nomem(err);

	*v = (struct variants){ .count = 0 };
	if (!rc)
		sizes_at(r, number, last, NULL);
	for (uint32_t k = 0; !rc && k < VARIANTS; k++) {
		struct frag_workspaces w;
		bool same;

		sizes_at(r, number, sizes, NULL);
		if (!frag_workspaces_find(&w, r, base, number, multiprocessors[k], sizes)) {
			rc = frag_fail_nomem(err);
			break;
		}
		same = memcmp(sizes, last, r->size_count * sizeof(*sizes)) == 0 && w.count == before.count
		       && (!w.count || memcmp(w.blocks, before.blocks, w.count * sizeof(*w.blocks)) == 0);
		if (!same)
			rc = add_variant(v, x, sizes, &w, err);
		v->sums |= w.sums != 0;
		v->rows_unknown |= w.rows_unknown;
		memcpy(last, sizes, r->size_count * sizeof(*sizes));
		frag_workspaces_fini(&before);
		before = w;
	}
	frag_workspaces_fini(&before);
	free(sizes);
	return rc;
}

/*
 * Is the device that a prediction at the number names no larger than the given one? A number can fit it
 * although a larger device fails, or although a workspace may start there: then none is named.
 */
static int is_named(const struct frag_predicted *x, uint32_t number, uint32_t choice, bool *named,
		    struct frag_error *err)
{
	struct frag_tape *tape;
	struct variants v = { .count = 0 };
	struct frag_fit_source sources[VARIANTS + 1];
	struct frag_fits fits = { .sources = sources, .source_count = 1, .choice_count = 1,
		.bounds = { .runs = x->runs, .hurry = x->hurry, .ctx = x->job.ctx },
		.headroom_total = x->total, .unlimited = true, .separate = true, .model = x->model,
		.job = frag_job_part(&x->job),
	};
	int rc = predicted_tape(x, number, &tape, err);

	*named = false;
	if (!rc && tape)
		rc = make_variants(&v, x, number, tape, err);
	for (uint32_t i = 0; i <= v.count; i++)
		sources[i] = (struct frag_fit_source){
			.choices = &x->choices[choice], .devices = x->devices, .scope = x->scope,
			.tape = i ? v.of[i - 1] : tape,
		};
	fits.source_count += v.count;
	if (!rc && tape)
		rc = frag_fits_run(&fits, err);
	*named = !rc && tape;
	for (uint32_t i = 0; i < fits.count && *named; i++)
		*named = fits.fitted[i].fit.reliable <= x->total;
	frag_fits_fini(&fits);
	variants_fini(&v);
	frag_tape_del(tape);
	return rc;
}

/* Also of the largest numbers of --largest. */
static int note_unknown_rows(struct frag_predicted *x, uint32_t number, struct frag_error *err)
{
	struct frag_workspaces started = { .count = 0 };
	struct frag_tape *tape;
	int rc = number == FRAG_NO_NUMBER || x->rows_unknown ? 1 : predicted_tape(x, number, &tape, err);

	if (rc)
		return rc < 0 ? rc : 0;
	if (tape && !frag_workspaces_find(&started, x->recordings, tape, number, 0, NULL))
		rc = frag_fail_nomem(err);
	x->rows_unknown = started.rows_unknown;
	frag_workspaces_fini(&started);
	frag_tape_del(tape);
	return rc;
}

/* From the largest number that fits downwards, up to one whose named device the given one is. */
static int drop_unnamed(const struct trying *t, uint32_t choice, struct frag_error *err)
{
	uint32_t tries = 0;
	int rc = 0;

	for (uint32_t i = t->count; i-- && tries < NAMED_MAX && !rc;) {
		uint8_t *verdict = &t->verdicts[(size_t)i * t->x->choice_count + choice];
		bool named = false;

		if (*verdict != FITS)
			continue;
		rc = is_named(t->x, t->x->first + i * t->x->stride, choice, &named, err);
		if (!rc && named)
			break;
		if (!rc)
			*verdict = FAILS;
		tries++;
	}
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
		for (uint32_t i = 0; i < x->choice_count && !drawn; i++) {
			drawn = rc ? 0 : drop_unnamed(t, i, err);
			drawn = drawn ? drawn : draw_map(t, i, err);
			drawn = drawn ? drawn : note_unknown_rows(x, x->reaches[i].largest, err);
		}
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

/* More tapes of a source, if workspaces may start there or end. */
static int start_workspaces(struct frag_predicted *x, uint32_t source, struct frag_error *err)
{
	struct variants v;
	int rc = make_variants(&v, x, x->at[source], x->tapes[source], err);

	for (uint32_t k = 0; k < v.count && !rc; k++) {
		x->started_sources[x->started_count] = x->sources[source];
		x->started_sources[x->started_count].tape = v.of[k];
		x->started_of[x->started_count++] = source;
	}
	x->sums = x->sums || v.sums;
	x->rows_unknown = x->rows_unknown || v.rows_unknown;
	for (uint32_t k = 0; k < v.tape_count; k++)
		x->started_tapes[x->started_tape_count++] = v.tapes[k];
	return rc;
}

/* The largest fit of one source counts, and the difference is its margin. */
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
	const size_t count = (size_t)x->at_count * VARIANTS + 1;
	int rc = 0;

	x->started_tapes = calloc(2 * count, sizeof(*x->started_tapes));
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
	if (!rc && x->primed) {
		x->prime = (struct frag_prime_search){
			.tape = x->changed, .choices = x->choices, .devices = x->devices,
			.choice_count = x->choice_count,
			.runs = x->runs ? x->runs : FRAG_FIT_RUNS, .job = x->job,
		};
		rc = frag_prime_search_run(&x->prime, err);
	}
	if (!x->recordings || (rc && rc != -FRAG_EINTERRUPTED))
		return rc;
	odd = find_unexplained_sizes(x, err);
	return odd ? odd : rc;
}

void frag_predicted_fini(struct frag_predicted *x)
{
	frag_fits_fini(&x->fits);
	frag_fits_fini(&x->started);
	frag_prime_search_fini(&x->prime);
	while (x->started_tape_count)
		frag_tape_del(x->started_tapes[--x->started_tape_count]);
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
