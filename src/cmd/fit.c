/* fit.c - fragsim fit: finds the smallest device that a trace fits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/frame.h"
#include "answers/fit_answer.h"
#include "cmd/model.h"
#include "answers/answers.h"

#define OFFSET_MAX 8999999999999999.0   /* below 2^53 */

struct fit {
	struct frag_question q;
	struct frag_fit_bounds bounds;
	bool map, headroom, together;
	double offset;          /* NAN: every one */
	struct frag_fits fits;
	struct frag_model model;
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
	{ 0, "static-room", NULL, "=--headroom", FRAG_FLAG(struct fit, headroom) },
	{ 0, "together", NULL, "the programs of the traces run at the same time on one device",
	  FRAG_FLAG(struct fit, together) },
	{ 0, "offset", "N", "steps, or recorded microseconds, from one's begin to the next's; else all",
	  FRAG_NUMBER(struct fit, offset, -OFFSET_MAX, OFFSET_MAX, "a number is required, as in 100 or"
								  " -100") },
	FRAG_MODEL_ROWS(struct fit, "of --model: training steps (3)"),
	FRAG_FAIL_IF_ROW("exit with 1 if it is true: 'reliable > 24GiB'; repeatable", paths),
	FRAG_PARTIAL_ROW,
	FRAG_SEARCH_ROWS,
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	FRAG_MODEL_REFUSALS,
	{ "steps !model", "--steps is for --model" },
	{ "model TRACE", "--model is without a TRACE" },
	{ "model headroom|together", "--model is without --headroom and --together" },
	{ "!model !TRACE", "missing argument: TRACE" },
	{ "together !TRACE2", "--together requires two traces or more" },
	{ "together headroom", "--headroom is for each trace alone, without --together" },
	{ "offset !together", "--offset is for --together" },
	{ "headroom !device|device=0", "--headroom requires --device CARD or a size" },
	{ "allow-partial !fail-if", "=--allow-partial is for --fail-if" },
	{ "device !headroom !model", "the capacity is searched for: --device-bytes and --device are for"
				     " --headroom, --up-to is for a limit" },
	{ 0 },
};

static int fit_search(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;

	fit->fits = (struct frag_fits){
		.sources = q->sources,
		.source_count = q->count,
		.choice_count = q->taped[0].choice_count,
		.bounds = { .up_to = fit->bounds.up_to,
			    .runs = fit->bounds.runs,
			    .hurry = frag_time_is_short },
		.headroom_total = fit->headroom ? q->run.total : 0,
		.together = fit->together,
		.begins_apart = fit->offset,
		.model = q->run.sim.model,
		.job = frag_question_job(q, frag_time_is_up),
	};
	return frag_fits_run(&fit->fits, err);
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
		if (smallest == UINT64_MAX)
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
	for (uint32_t i = 0; i < taped->choice_count && !rc; i++)
		if (set_smallest(fit, x->source, i, &devices))
			rc = frag_redrawn_run(x, &taped->choices[i], devices.figures, err);
	frag_devices_fini(&devices);
	return rc;
}

static int fit_print(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	struct frag_fit_answer answer = {
		.traces = q->traces,
		.fits = &fit->fits,
		.map = fit->map,
		.usual = !q->run.choice_count,
		.context_given = q->run.context != UINT64_MAX,
		.extras = fit->model.config ? frag_extra_memory : NULL,
		.sharded = fit->model.shard != 0,
		.interrupted = q->interrupted,
		.time_up = q->time_up,
	};

	const int rc = frag_question_iterations(q, &answer.iterations, err);

	return rc ? rc : frag_question_answer(q, &answer, err);
}

static const struct frag_question_ops question = {
	.unit = "fits",
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
	char *argv[] = { (char[]){ "extrapolate" }, (char[]){ "--largest" }, words[0], words[1],
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
	return frag_command_run(&frag_cmd_extrapolate, 7, argv, status, err);
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
	for (const struct frag_extra_memory *x = frag_extra_memory; x->name; x++)
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
	frag_fits_fini(&((struct fit *)own)->fits);
}

const struct frag_cmd frag_cmd_fit = {
	.name = "fit",
	.group = FRAG_GROUP_SIZE,
	.args = "[options] TRACE... | --model CONFIG",
	.summary = "find the smallest device that fits a trace, or a model",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_fit_formats,
	.size = sizeof(struct fit),
	.init = fit_init,
	.exec = fit_exec,
	.fini = fit_fini,
};
