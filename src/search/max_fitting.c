/* max_fitting.c - the numbers at which a program fits a device. */
#include "search/max_fitting.h"

#include <stdlib.h>

#include "base/array_grow.h"
#include "base/parallel.h"
#include "policy/policies.h"

enum verdict { NOT_TRIED, FITS, FAILS };

/* A number under all policies is a task of its own. */
struct trying {
	struct frag_extrapolation *x;
	uint32_t count;                 /* numbers */
	uint8_t *verdicts;              /* enum verdict: by number, then policy */
};

static int max_fitting_simulate(const struct frag_extrapolation *x, const struct frag_tape *tape,
				const struct frag_choice *choice, uint64_t total,
				enum frag_level level, struct frag_sim **out,
				struct frag_error *err)
{
	struct frag_devices devices = { .count = 0 };
	struct frag_sim_options options = { .level = level };
	struct frag_tape_reader *reader;
	int rc;

	*out = NULL;
	if (x->stop && x->stop(x->ctx))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	reader = frag_tape_reader_new(tape);
	rc = reader ? frag_devices_copy(&devices, x->devices, frag_tape_info(tape)->device_count,
					err)
		    : frag_fail_nomem(err);
	for (uint32_t d = 0; d < devices.count; d++)
		devices.figures[d].total = total;
	options.devices = devices.figures;
	rc = rc ? rc : frag_sim_on_tape(out, choice, tape, &options, err);
	rc = rc ? rc : frag_sim_play(*out, reader, UINT64_MAX, err);
	frag_devices_fini(&devices);
	frag_tape_reader_del(reader);
	return rc;
}

/*
 * Could any policy survive there: is what is requested at once no more than each device has? It
 * is `direct` that says so, as a limit of a policy's own could end its run before that.
 */
static int could_fit(const struct frag_extrapolation *x, uint32_t number, bool *fits,
		     struct frag_error *err)
{
	const struct frag_result *results;
	struct frag_sim *sim = NULL;
	struct frag_choice direct;
	struct frag_tape *tape;
	uint32_t count = 0;
	int rc = frag_extrapolation_tape(x, number, &tape, err);

	*fits = false;
	if (rc || !tape)
		return rc;
	rc = frag_choice_of(&direct, &frag_policy_direct, "direct", err);
	rc = rc ? rc : max_fitting_simulate(x, tape, &direct, 0, FRAG_LEVEL_PEAKS, &sim, err);
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
 * The last number that could fit. From the last recorded one on no size falls, so it is looked
 * for by doubling and halving; where that one could not, those before it are tried all the same.
 */
static int find_bound(struct frag_extrapolation *x, struct frag_error *err)
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

static int try_number(void *ctx, uint32_t index, struct frag_error *err)
{
	const struct trying *t = ctx;
	const struct frag_extrapolation *x = t->x;
	uint8_t *verdicts = t->verdicts + (size_t)index * x->choice_count;
	struct frag_tape *tape;
	int rc = frag_extrapolation_tape(x, x->first + index * x->stride, &tape, err);

	for (uint32_t i = 0; i < x->choice_count && !rc; i++) {
		struct frag_sim *sim = NULL;
		uint32_t count = 0;
		const struct frag_result *results;

		verdicts[i] = FAILS;
		if (!tape)
			continue;
		rc = max_fitting_simulate(x, tape, &x->choices[i], x->total, FRAG_LEVEL_SURVIVE,
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
	const struct frag_extrapolation *x = t->x;
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
			reach->safe = number;
		if (fits)
			reach->largest = number;
		if (reach->count && reach->map[reach->count - 1].survives == fits) {
			reach->map[reach->count - 1].to = number;
			continue;
		}
		if (!frag_grow(&reach->map, &reach->capacity, (uint64_t)reach->count + 1,
			       sizeof(*reach->map)))
			return frag_fail_nomem(err);
		reach->map[reach->count++] = (struct frag_reach_part){
			.from = number, .to = number, .survives = fits,
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

static void max_fitting_show_progress(void *ctx, uint32_t done, uint32_t count)
{
	const struct trying *t = ctx;

	t->x->progress(t->x->ctx, done, count);
}

static int try_all(struct trying *t, struct frag_error *err)
{
	struct frag_extrapolation *x = t->x;
	const struct frag_tasks tasks = {
		.count = t->count,
		.threads = x->threads,
		.task = try_number,
		.progress = x->progress ? max_fitting_show_progress : NULL,
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

int frag_find_max_fitting(struct frag_extrapolation *x, struct frag_error *err)
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
		x->reaches[i].largest = x->reaches[i].safe = FRAG_NO_NUMBER;
	x->first = (n->at[0] + x->stride - 1) / x->stride * x->stride;
	rc = find_bound(x, err);
	if (rc)
		return rc;
	end = x->bound < end ? x->bound : end;
	count = end < x->first ? 0 : (end - x->first) / x->stride + 1;
	t.count = (uint32_t)(count < runs ? count : runs);
	return try_all(&t, err);
}
