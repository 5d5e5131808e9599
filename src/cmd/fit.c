/* fit.c - fragsim fit: the smallest device that a trace survives on. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/exit_conditions.h"
#include "cmd/question.h"
#include "cmd/time_budget.h"
#include "answers/answers.h"

enum {
	OPT_UP_TO = FRAG_OPT_FIRST_OWN, OPT_RUNS, OPT_MAP, OPT_HEADROOM,
};

static const struct frag_opt opts[] = {
	{ 'p', "policy", "NAME",
	  "placement policy, NAME[:key=value,...]; repeatable (pytorch twice, bestfit)",
	  FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "up-to", "SIZE", "the largest device that is tried (half above the smallest)",
	  OPT_UP_TO },
	{ 0, "runs", "N", "simulations of a policy at most (10000)", OPT_RUNS },
	{ 0, "map", NULL, "every range of devices with identical runs, in the JSON", OPT_MAP },
	{ 0, "headroom", NULL, "memory that --device leaves to other processes throughout",
	  OPT_HEADROOM },
	{ 0, "static-room", NULL, "=--headroom", OPT_HEADROOM },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'reliable > 24GiB'; repeatable",
	  FRAG_OPT_FAIL_IF },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW(0),
	FRAG_TIME_ROW(0),
	{ 0, "threads", "N", "concurrent simulations (0: one per processor)", FRAG_OPT_THREADS },
	{ 0 },
};

struct fit {
	struct frag_question q;
	struct frag_fit_bounds bounds;
	struct frag_conditions conditions;
	bool map, headroom;
	struct frag_fits fits;
};

static const char *const paths[] = { "smallest", "reliable", "runs", NULL };

static int fit_set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct fit *fit = ctx;

	switch (id) {
	case OPT_UP_TO:
		return frag_option_capacity(&fit->bounds.up_to, "up-to", value, err);
	case OPT_RUNS:
		return frag_option_count(&fit->bounds.runs, "runs", value, 1, FRAG_COUNT_MAX, err);
	case OPT_MAP:
		fit->map = true;
		return 0;
	case OPT_HEADROOM:
		fit->headroom = true;
		return 0;
	case FRAG_OPT_FAIL_IF:
		return frag_conditions_add(&fit->conditions, value, paths, err);
	default:
		return frag_answer_set_option(&fit->q.printed, &fit->q.run, id, value, err);
	}
}

/* The best that a policy without segments does is beside them. */
static int fit_usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		     const struct frag_trace *trace, const struct frag_log *log,
		     struct frag_error *err)
{
	const int rc = frag_usual_settings(choices, count, trace, log, err);

	return rc ? rc : frag_choice_parse(&choices[(*count)++], "bestfit", err);
}

static int fit_check(struct frag_question *q, const struct frag_cmd *cmd, struct frag_error *err)
{
	const bool wanted = ((struct fit *)q)->headroom;

	if (wanted && (q->run.total == UINT64_MAX || !q->run.total))
		return frag_usage(cmd,
				  "--headroom requires --device CARD or a size",
				  err);
	if (!wanted && q->run.total != UINT64_MAX)
		return frag_usage(cmd, "the capacity is searched for: --device-bytes and"
				  " --device are for --headroom, --up-to is for a limit", err);
	return 0;
}

static int fit_prepare(struct frag_question *q, struct frag_error *err)
{
	return frag_run_settings(&q->run, true, err);
}

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
		.model = q->run.sim.model,
		.threads = q->run.threads,
		.stop = frag_time_is_up,
		.progress = frag_question_progress,
		.ctx = q,
	};
	return frag_fits_run(&fit->fits, err);
}

static double value_at(const void *ctx, const char *path)
{
	const struct frag_fit *fit = ctx;
	const uint64_t least = fit->smallest == UINT64_MAX ? fit->at_most : fit->smallest;
	const uint64_t bytes = strcmp(path, "reliable") == 0 ? fit->safe : least;

	if (strcmp(path, "runs") == 0)
		return (double)fit->runs;
	return bytes == UINT64_MAX ? INFINITY : (double)bytes;
}

/*
 * A policy without a device that is known to do is a no, and so is a condition that holds. A value
 * that the search did not find counts as the highest possible value.
 */
static void fit_judge(const struct fit *fit, const struct frag_fitted *one, int *status)
{
	const struct frag_choice *choice = &fit->fits.sources[one->source].choices[one->choice];
	char who[PATH_MAX + sizeof(choice->text) + 40];

	snprintf(who, sizeof(who), "%s, %s, device %u", fit->q.paths[one->source],
		 frag_choice_label(choice), one->device);
	frag_conditions_judge(&fit->conditions, value_at, &one->fit, who, status);
	if (one->fit.smallest == UINT64_MAX && one->fit.at_most == UINT64_MAX)
		*status = 1;
}

/* The least on which the policy survives; false: there is none on one of the devices. */
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
static int fit_draw(struct frag_question *q, struct frag_redrawn *x, uint32_t source,
		    struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	const struct frag_loaded_trace *taped = &q->taped[source];
	struct frag_devices devices = { .count = 0 };
	int rc = frag_devices_copy(&devices, taped->devices.figures, taped->devices.count, err);

	x->fits = &fit->fits;
	x->source = source;
	for (uint32_t i = 0; i < taped->choice_count && !rc; i++)
		if (set_smallest(fit, source, i, &devices))
			rc = frag_redrawn_run(x, &taped->choices[i], devices.figures, err);
	frag_devices_fini(&devices);
	return rc;
}

static int fit_print(struct frag_question *q, struct frag_error *err)
{
	struct fit *fit = (struct fit *)q;
	const struct frag_fit_answer answer = {
		.traces = q->traces,
		.fits = &fit->fits,
		.map = fit->map,
		.usual = !q->run.choice_count,
		.interrupted = q->interrupted,
		.time_up = q->time_up,
	};
	int rc = frag_question_answer(q, &answer, err);

	for (uint32_t i = 0; i < fit->fits.count && !rc && (!q->interrupted || q->time_up); i++)
		fit_judge(fit, &fit->fits.fitted[i], q->status);
	return rc;
}

static void fit_fini(struct frag_question *q)
{
	struct fit *fit = (struct fit *)q;

	frag_fits_fini(&fit->fits);
	frag_conditions_fini(&fit->conditions);
}

static const struct frag_question_ops question = {
	.unit = "fits",
	.formats = frag_fit_formats,
	.set = fit_set_option,
	.check = fit_check,
	.prepare = fit_prepare,
	.usual = fit_usual,
	.search = fit_search,
	.draw = fit_draw,
	.print = fit_print,
	.fini = fit_fini,
};

static int fit_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		    struct frag_error *err)
{
	struct fit fit = { .q.ops = &question };

	return frag_question_run(&fit.q, cmd, argc, argv, status, err);
}

const struct frag_cmd frag_cmd_fit = {
	.name = "fit",
	.job = FRAG_JOB_SIZE,
	.args = "[options] TRACE...",
	.summary = "find the smallest device that fits a trace",
	.opts = opts,
	.exec = fit_exec,
};
