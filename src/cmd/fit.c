/* fit.c - fragsim fit: which device a trace fits, and with which setting. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/frame.h"
#include "answers/fit_answer.h"
#include "cmd/model.h"
#include "answers/answers.h"

#define OFFSET_MAX 8999999999999999.0   /* below 2^53 */

struct fit {
	struct frag_question q;
	struct frag_fit_bounds bounds;
	bool map, headroom, together, no_expandable, exact;
	double offset;          /* NAN: every one */
	double spare;           /* per cent of the device */
	const char *settings;   /* NULL: the usual ones; "none"; those of frag_grid_read() */
	struct frag_texts tests;
	const char **paths;     /* the traces, and behind them the tests */
	uint32_t trace_count;
	struct frag_grid grid;
	uint32_t own;           /* index of the choice that is ranked; UINT32_MAX: none */
	struct frag_recommendation ranked;
	struct frag_fit_source *ranked_sources, *sources;       /* with the recommended setting */
	struct frag_choice *choices;    /* of `sources` */
	uint32_t choice_count, best;    /* best: of `choices`; UINT32_MAX: none is recommended */
	struct frag_fit_test *test_answers;
	struct frag_fits fits;
	struct frag_model model;
	struct frag_extra_memory extras[FRAG_EXTRA_MEMORY];
};

static const char *const paths[] = { "smallest", "reliable", "runs", NULL };

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROWS("placement policy, NAME[:key=value,...]; repeatable (pytorch twice,"
			   " bestfit)"),
	{ 0, "up-to", "SIZE", "the largest device that is tried (half above the smallest)",
	  FRAG_CAPACITY(struct fit, bounds.up_to) },
	{ 0, "runs", "N", "simulations of a policy at most (10000)",
	  FRAG_COUNT(struct fit, bounds.runs, 1, FRAG_COUNT_MAX) },
	{ 0, "map", NULL, "every range of devices with identical runs, in the JSON",
	  FRAG_FLAG(struct fit, map) },
	{ 0, "headroom", NULL, "memory that --device leaves to other processes throughout",
	  FRAG_FLAG(struct fit, headroom) },
	{ 0, "together", NULL, "the programs of the traces run at the same time on one device",
	  FRAG_FLAG(struct fit, together) },
	{ 0, "offset", "N", "events, or recorded microseconds, from one's begin to the next's; else"
			     " all",
	  FRAG_NUMBER(struct fit, offset, -OFFSET_MAX, OFFSET_MAX, "a number is required, as in 100 or"
								  " -100") },
	{ 0, "settings", "WHICH", "allocator settings to try: short, all, none, or a file of lines"
				  " (short)",
	  .words = frag_grid_words, FRAG_TEXT(struct fit, settings) },
	{ 0, "spare", "PERCENT", "of --device, that must not be needed (0%)",
	  FRAG_NUMBER(struct fit, spare, 0, 100, "a percentage from 0% to 100% is required, as in 5%"),
	  .unit = "%" },
	{ 0, "no-expandable", NULL, "try no setting with expandable segments",
	  FRAG_FLAG(struct fit, no_expandable) },
	{ 0, "exact", NULL, "find the smallest and reliable device of each setting (slow)",
	  FRAG_FLAG(struct fit, exact) },
	{ 0, "test", "TRACE", "a trace to try the recommended setting on; repeatable",
	  FRAG_LIST(struct fit, tests) },
	FRAG_MODEL_ROWS(struct fit, "of --model: training iterations (3)"),
	{ 'v', "verbose", NULL, "with all settings, and the devices that fail", FRAG_RUN_FLAG(verbose) },
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'reliable > 24GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_SEARCH_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	FRAG_MODEL_REFUSALS,
	{ "iterations !model", "--iterations is for --model" },
	{ "spare !device|device=0", "--spare requires --device CARD or a size" },
	{ "together test", "--test is without --together" },
	{ "model TRACE", "--model is without a TRACE" },
	{ "model headroom|together", "--model is without --headroom and --together" },
	{ "!model !TRACE", "missing argument: TRACE" },
	{ "together !TRACE2", "--together requires two traces or more" },
	{ "together headroom", "--headroom is for each trace alone, without --together" },
	{ "together device", "--device is without --together" },
	{ "offset !together", "--offset is for --together" },
	{ "headroom !device|device=0", "--headroom requires --device CARD or a size" },
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "device=0", "--device-bytes 0 is no limit: without it the smallest device is searched for" },
	{ 0 },
};

static uint64_t device_of(const struct fit *fit)
{
	return fit->q.run.total == UINT64_MAX ? 0 : fit->q.run.total;
}

/* The tests are behind the operands. */
static int fit_check(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	const bool none = fit->settings && strcmp(fit->settings, "none") == 0;
	bool is_file = false;
	int rc = none || !fit->settings ? 0 : frag_grid_read(&fit->grid, fit->settings, &is_file, err);

	q->grid = is_file ? fit->settings : NULL;
	fit->trace_count = q->count;
	fit->paths = calloc((size_t)q->count + fit->tests.count, sizeof(*fit->paths));
	if (!rc && !fit->paths)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count && !rc; i++)
		fit->paths[i] = q->paths[i];
	for (uint32_t i = 0; i < fit->tests.count && !rc; i++)
		fit->paths[q->count++] = fit->tests.at[i];
	q->paths = rc ? q->paths : fit->paths;
	return rc;
}

/* The question about settings, on some of the traces. */
static struct frag_recommendation rank_question(struct fit *fit, uint32_t first, uint32_t count)
{
	return (struct frag_recommendation){
		.sources = fit->ranked_sources + first, .source_count = count,
		.grid = fit->settings ? &fit->grid : NULL, .total = device_of(fit),
		.spare = fit->spare / 100, .no_expandable = fit->no_expandable,
		.own = true, .every = true, .exact = fit->exact,
		.model = fit->q.run.sim.model, .job = frag_question_job(&fit->q, frag_time_is_up),
	};
}

/* Ranks the settings of the first policy that has some. */
static int rank_settings_of(struct fit *fit, struct frag_error *err)
{
	struct frag_question *q = &fit->q;
	const struct frag_loaded_trace *t = q->taped;

	fit->own = 0;
	while (fit->own < t->choice_count && !t->choices[fit->own].ops->settings)
		fit->own++;
	if (fit->own == t->choice_count || fit->together
	    || (fit->settings && strcmp(fit->settings, "none") == 0)) {
		fit->own = UINT32_MAX;
		return 0;
	}
	fit->ranked_sources = calloc(q->count, sizeof(*fit->ranked_sources));
	if (!fit->ranked_sources)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < q->count; i++) {
		fit->ranked_sources[i] = q->sources[i];
		fit->ranked_sources[i].choices += fit->own;
	}
	fit->ranked = rank_question(fit, 0, fit->trace_count);
	return frag_recommend(&fit->ranked, err);
}

/* Is it one of the choices? */
static uint32_t place_of(const struct frag_choice *choices, uint32_t count,
			 const struct frag_choice *wanted)
{
	uint32_t i = 0;

	while (i < count && (choices[i].ops != wanted->ops
			     || memcmp(choices[i].param, wanted->param, sizeof(wanted->param)) != 0))
		i++;
	return i;
}

/*
 * The choices of the sources, with the recommended setting: in the place of the usual second one, or
 * behind those that were given.
 */
static int add_recommended(struct fit *fit, struct frag_error *err)
{
	const struct frag_setting_rank *best = frag_recommended(&fit->ranked);
	const struct frag_question *q = &fit->q;
	const struct frag_choice *known = q->taped->choices;
	const uint32_t count = q->taped->choice_count, room = count + 1;

	fit->best = fit->ranked.best == 0 && fit->ranked.count ? fit->own : UINT32_MAX;
	fit->choice_count = count;
	fit->sources = calloc(fit->trace_count, sizeof(*fit->sources));
	fit->choices = calloc((size_t)fit->trace_count * room, sizeof(*fit->choices));
	if (!fit->sources || !fit->choices)
		return frag_fail_nomem(err);
	if (best) {
		fit->best = place_of(known, count, best->choices);
		if (fit->best == count && !q->run.choice_count)
			fit->best = 1;
		fit->choice_count += fit->best == count;
	}
	for (uint32_t i = 0; i < fit->trace_count; i++) {
		struct frag_choice *own = &fit->choices[(size_t)i * room];

		memcpy(own, q->taped[i].choices, count * sizeof(*own));
		if (best && (fit->best == count || fit->best == 1))
			own[fit->best] = best->choices[i];
		fit->sources[i] = q->sources[i];
		fit->sources[i].choices = own;
	}
	return 0;
}

/* What the recommended setting does on traces that it was not chosen for, and their own best. */
static int run_tests(struct fit *fit, struct frag_error *err)
{
	const struct frag_setting_rank *best = frag_recommended(&fit->ranked);
	int rc = 0;

	fit->test_answers = calloc((size_t)fit->tests.count + 1, sizeof(*fit->test_answers));
	if (!fit->test_answers)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < fit->tests.count && !rc && fit->own != UINT32_MAX; i++) {
		struct frag_fit_test *test = &fit->test_answers[i];

		test->ranked = rank_question(fit, fit->trace_count + i, 1);
		test->ranked.also = best ? best->line : NULL;
		rc = frag_recommend(&test->ranked, err);
		test->tried = !rc;
		test->with = best ? test->ranked.also_index : 0;
	}
	return rc;
}

static int fit_search(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	int rc = rank_settings_of(fit, err), late;

	/* after an interruption the fits are what is proven */
	if (rc && rc != -FRAG_EINTERRUPTED)
		return rc;
	late = add_recommended(fit, err);
	if (late)
		return late;
	fit->fits = (struct frag_fits){
		.sources = fit->sources,
		.source_count = fit->trace_count,
		.choice_count = fit->choice_count,
		.bounds = { .up_to = fit->bounds.up_to,
			    .runs = fit->bounds.runs,
			    .hurry = frag_time_is_short },
		.headroom_total = fit->headroom ? device_of(fit) : 0,
		.device_total = device_of(fit),
		.together = fit->together,
		.begins_apart = fit->offset,
		.model = q->run.sim.model,
		.ranked = fit->ranked.count ? &fit->ranked : NULL,
		.job = frag_question_job(q, frag_time_is_up),
	};
	late = frag_fits_run(&fit->fits, err);
	return late ? late : rc ? rc : run_tests(fit, err);
}

/*
 * A policy without a device that is known to fit is a no, and so is a condition that holds. A value
 * that the search did not find counts as the highest possible value.
 */
static void fit_judge(struct frag_question *q)
{
	const struct fit *fit = (struct fit *)q;
	const struct frag_fits *fits = &fit->fits;
	const uint32_t count = fit->together ? fits->joint_count : fits->count;

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_fitted *one = fit->together ? &fits->joint[i] : &fits->fitted[i];

		if (one->choice >= q->taped->choice_count)
			continue;
		const uint64_t smallest = one->fit.smallest == UINT64_MAX ? one->fit.at_most
									  : one->fit.smallest;
		const double values[] = { frag_bytes_or_none(smallest),
					  frag_bytes_or_none(one->fit.reliable),
					  (double)one->fit.runs };

		const double least = frag_at_least_or_none(&one->claim);
		const double at_least[] = { least, least, NAN };

		frag_question_judge(q, values, at_least, "%s, %s, device %u",
				    fit->together ? "together" : q->paths[one->source],
				    frag_choice_label(&fits->sources[one->source]
							       .choices[one->choice]),
				    one->device);
		if (smallest == UINT64_MAX && !device_of(fit))
			*q->status = 1;
	}
}

/* Sets the smallest size that fits the policy; false: one of the devices has none. */
static bool set_smallest(const struct fit *fit, uint32_t source, uint32_t choice,
			 struct frag_devices *devices)
{
	for (uint32_t i = 0; i < fit->fits.count; i++) {
		const struct frag_fitted *one = &fit->fits.fitted[i];

		if (one->source != source || one->choice != choice)
			continue;
		if (one->fit.smallest == UINT64_MAX)
			return false;
		devices->figures[one->device].total = one->fit.smallest;
	}
	return true;
}

/* Each policy on its own smallest device. */
static int fit_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	const struct fit *fit = ctx;
	const struct frag_loaded_trace *taped = x->taped;
	struct frag_devices devices = { .count = 0 };
	int rc = frag_devices_copy(&devices, taped->devices.figures, taped->devices.count, err);

	x->fits = &fit->fits;
	for (uint32_t i = 0; i < fit->choice_count && !rc && x->source < fit->trace_count; i++)
		if (set_smallest(fit, x->source, i, &devices))
			rc = frag_redrawn_run(x, &fit->sources[x->source].choices[i],
					      devices.figures, err);
	frag_devices_fini(&devices);
	return rc;
}

static int fit_print(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	struct frag_fit_answer answer = {
		.traces = q->traces,
		.fits = &fit->fits,
		.ranked = fit->own == UINT32_MAX ? NULL : &fit->ranked,
		.best = fit->best,
		.given = q->taped->choice_count,
		.tests = fit->test_answers,
		.test_count = fit->tests.count,
		.verbose = q->run.verbose,
		.map = fit->map,
		.usual = !q->run.choice_count,
		.context_given = q->run.context != UINT64_MAX,
		.extras = fit->model.config ? fit->extras : NULL,
		.sharded = fit->model.shard != 0,
		.interrupted = q->interrupted,
		.time_up = q->time_up,
	};

	const int rc = frag_question_iterations(q, &answer.iterations, err);

	frag_model_extras(fit->extras, q->traces[0]->kept_outputs);
	if (device_of(fit) && frag_fit_on_device(&answer) == FRAG_ON_DEVICE_NOT)
		*q->status = 1;
	for (uint32_t i = 0; i < fit->tests.count && fit->test_answers && device_of(fit); i++)
		if (!frag_fit_test_fits(&fit->test_answers[i]))
			*q->status = 1;
	return rc ? rc : frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "fits",
	.check = fit_check,
	.usual = frag_usual_three,
	.search = fit_search,
	.draw = fit_draw,
	.print = fit_print,
	.judge = fit_judge,
};

/* The largest batch that fits the device, from recordings at two batch sizes of two and more. */
static int fit_largest(const struct fit *fit, uint64_t total, uint64_t context, int *status,
		       struct frag_error *err)
{
	const uint64_t batch = fit->model.batch > 1 ? fit->model.batch : 2;
	char path[FRAG_MODEL_PATH] = "", words[5][FRAG_MODEL_PATH + 40];
	char *argv[] = { (char[]){ "predict" }, (char[]){ "--largest" }, words[0], words[1],
			 words[2], words[3], words[4], NULL };
	int rc = 0;

	snprintf(words[0], sizeof(words[0]), "--device-bytes=%" PRIu64 "B", total);
	snprintf(words[1], sizeof(words[1]), "--other-bytes=%" PRIu64 "B", fit->q.run.other);
	snprintf(words[2], sizeof(words[2]), "--context-bytes=%" PRIu64 "B", context);
	for (uint64_t i = 0; i < 2 && !rc && !*status; i++) {
		rc = frag_model_record(&fit->model, batch << i, path, status, err);
		snprintf(words[3 + i], sizeof(words[3]), "%s=%" PRIu64, path, batch << i);
	}
	if (rc || *status)
		return rc;
	return frag_command_run(&frag_cmd_predict, 7, argv, status, err);
}

/* The trace of a model replaces the operand; the device is for its largest batch. */
static int fit_model(struct fit *fit, struct frag_args *args, struct frag_error *err)
{
	const uint64_t total = fit->q.run.total, batch = fit->model.batch ? fit->model.batch : 1;
	const uint64_t own = fit->q.run.context, card = fit->q.run.capacity.context;
	char path[FRAG_MODEL_PATH], *words[] = { path };
	int rc;

	rc = frag_model_record(&fit->model, batch, path, args->status, err);
	if (rc || *args->status)
		return rc;
	args->words = words;
	args->count = 1;
	fit->q.run.total = UINT64_MAX;
	if (fit->q.run.other == UINT64_MAX)
		fit->q.run.other = 0;
	frag_model_extras(fit->extras, 0);
	for (const struct frag_extra_memory *x = fit->extras; x->name; x++)
		fit->q.run.other += x->bytes;
	rc = frag_question_run(&fit->q, &question, args, err);
	if (rc || total == UINT64_MAX || !total || fit->q.printed.quiet || fit->q.printed.format)
		return rc;
	return fit_largest(fit, total, own != UINT64_MAX ? own : card, args->status, err);
}

static void fit_init(void *own)
{
	((struct fit *)own)->offset = NAN;
}

static int fit_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct fit *fit = own;

	return fit->model.config ? fit_model(fit, args, err)
				 : frag_question_run(&fit->q, &question, args, err);
}

static void fit_fini(void *own)
{
	struct fit *fit = own;

	frag_fits_fini(&fit->fits);
	frag_recommend_fini(&fit->ranked);
	for (uint32_t i = 0; i < fit->tests.count && fit->test_answers; i++)
		frag_recommend_fini(&fit->test_answers[i].ranked);
	frag_grid_fini(&fit->grid);
	free(fit->test_answers);
	free(fit->choices);
	free(fit->sources);
	free(fit->ranked_sources);
	free(fit->paths);
	free(fit->tests.at);
}

const struct frag_cmd frag_cmd_fit = {
	.name = "fit",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE... | --model CONFIG",
	.summary = "find the smallest device, and the settings to use",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_fit_formats,
	.size = sizeof(struct fit),
	.init = fit_init,
	.exec = fit_exec,
	.fini = fit_fini,
};
