/* fit.c - fragsim fit: the smallest device that a trace survives on. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/interrupt.h"
#include "cmd/exit_conditions.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/answer_page.h"
#include "cmd/loaded_trace.h"
#include "report/fit_formats.h"

enum {
	OPT_UP_TO = FRAG_OPT_FIRST_OWN, OPT_RUNS, OPT_MAP, OPT_STATIC_ROOM,
};

static const struct frag_opt opts[] = {
	{ 'p', "policy", "NAME",
	  "placement policy, NAME[:key=value,...]; repeatable (pytorch twice, bestfit)",
	  FRAG_OPT_POLICY },
	FRAG_ALLOC_CONF_ROW(0),
	{ 0, "up-to", "SIZE", "the largest device that is tried (half above the smallest)",
	  OPT_UP_TO },
	{ 0, "runs", "N", "simulations of a policy at most (10000)", OPT_RUNS },
	{ 0, "map", NULL, "every stretch of devices whose runs are alike, in the JSON", OPT_MAP },
	{ 0, "static-room", NULL, "how much others may hold of a device of --device-bytes",
	  OPT_STATIC_ROOM },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'safe > 24GiB'; repeatable",
	  FRAG_OPT_FAIL_IF },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW(0),
	{ 0, "threads", "N", "simulations at a time (0: one a processor)", FRAG_OPT_THREADS },
	{ 0 },
};

struct fit {
	struct frag_run_options run;
	struct frag_answer_output printed;
	struct frag_fit_bounds bounds;
	struct frag_conditions conditions;
	bool map, static_room;
	const char *const *paths;
	uint32_t count;
	struct frag_loaded_trace *taped;
	struct frag_fits fits;
	struct frag_progress progress;
	struct frag_answer_page redraw;      /* of the page, where there is --html */
};

static const char *const paths[] = { "smallest", "safe", "runs", NULL };

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
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
	case OPT_STATIC_ROOM:
		fit->static_room = true;
		return 0;
	case FRAG_OPT_FAIL_IF:
		return frag_conditions_add(&fit->conditions, value, paths, err);
	default:
		return frag_answer_set_option(&fit->printed, &fit->run, id, value, err);
	}
}

/* The best that a policy without segments does is beside them. */
static int usual(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		 const struct frag_trace *trace, const struct frag_log *log,
		 struct frag_error *err)
{
	const int rc = frag_usual_settings(choices, count, trace, log, err);

	return rc ? rc : frag_choice_parse(&choices[(*count)++], "bestfit", err);
}

static int check(struct fit *fit, const struct frag_cmd *cmd, struct frag_error *err)
{
	uint32_t standard = fit->run.profile_path && strcmp(fit->run.profile_path, "-") == 0;
	int rc;

	if (!fit->count)
		return frag_usage(cmd, "which traces?", err);
	if (fit->static_room && (fit->run.total == UINT64_MAX || !fit->run.total))
		return frag_usage(cmd, "--static-room requires --device-bytes SIZE or --device CARD: of"
				  " which device?", err);
	if (!fit->static_room && fit->run.total != UINT64_MAX)
		return frag_usage(cmd, "the capacity is what is looked for: --device-bytes and"
				  " --device are for --static-room, --up-to is for a limit", err);
	for (uint32_t i = 0; i < fit->count; i++)
		standard += strcmp(fit->paths[i], "-") == 0;
	if (standard > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	fit->printed.quiet = fit->run.quiet;
	rc = frag_answer_page_set_path(&fit->redraw, fit->run.html, &fit->printed, err);
	if (rc)
		return rc;
	if (fit->run.setting_count && !fit->run.choice_count) {
		rc = frag_run_set_option(&fit->run, FRAG_OPT_POLICY, "pytorch", err);
		if (rc)
			return rc;
	}
	rc = frag_run_settings(&fit->run, true, err);
	rc = rc ? rc : frag_answer_output_check_input(&fit->printed, fit->run.profile_path, "the profile", err);
	return rc ? rc : frag_printed_apart(&fit->printed, cmd, fit->paths, fit->count,
					    "the trace", err);
}

static void show_fits(void *ctx, uint32_t done, uint32_t count)
{
	struct fit *fit = ctx;

	frag_progress_count(&fit->progress, "fits", done, count);
}

static int search(struct fit *fit, struct frag_error *err)
{
	struct frag_fit_source *sources = calloc(fit->count, sizeof(*sources));
	int rc;

	if (!sources)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < fit->count; i++)
		sources[i] = (struct frag_fit_source){
			.tape = fit->taped[i].tape, .choices = fit->taped[i].choices,
			.devices = fit->taped[i].devices.figures,
		};
	fit->fits = (struct frag_fits){
		.sources = sources, .source_count = fit->count,
		.choice_count = fit->taped[0].choice_count, .bounds = fit->bounds,
		.room_total = fit->static_room ? fit->run.total : 0, .model = fit->run.sim.model,
		.threads = fit->run.threads, .stop = frag_interrupted, .progress = show_fits,
		.ctx = fit,
	};
	frag_progress_begin(&fit->progress, !fit->run.quiet);
	rc = frag_fits_run(&fit->fits, err);
	frag_progress_end(&fit->progress);
	return rc;
}

static double value_at(const void *ctx, const char *path)
{
	const struct frag_fit *fit = ctx;
	const uint64_t bytes = strcmp(path, "safe") == 0 ? fit->safe : fit->smallest;

	if (strcmp(path, "runs") == 0)
		return (double)fit->runs;
	return bytes == UINT64_MAX ? INFINITY : (double)bytes;
}

/* A policy that survives nowhere is a no, and so is a condition that holds. */
static void judge(const struct fit *fit, const struct frag_fitted *one, int *status)
{
	const struct frag_choice *choice = &fit->fits.sources[one->source].choices[one->choice];
	char who[PATH_MAX + sizeof(choice->text) + 40];

	snprintf(who, sizeof(who), "%s, %s, device %u", fit->paths[one->source],
		 frag_choice_label(choice), one->device);
	frag_conditions_judge(&fit->conditions, value_at, &one->fit, who, status);
	if (one->fit.smallest == UINT64_MAX)
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
static int draw_trace(struct fit *fit, uint32_t source, struct frag_error *err)
{
	const struct frag_loaded_trace *taped = &fit->taped[source];
	struct frag_devices devices = { .count = 0 };
	struct frag_redrawn x;
	int rc = frag_redrawn_begin(&x, taped, err);

	x.fits = &fit->fits;
	x.source = source;
	rc = rc ? rc : frag_devices_copy(&devices, taped->devices.figures, taped->devices.count,
					 err);
	for (uint32_t i = 0; i < taped->choice_count && !rc; i++)
		if (set_smallest(fit, source, i, &devices))
			rc = frag_redrawn_run(&x, &taped->choices[i], devices.figures, err);
	rc = rc ? rc : frag_redrawn_end(&x, &fit->redraw, err);
	frag_redrawn_fini(&x);
	frag_devices_fini(&devices);
	return rc;
}

static int draw(struct fit *fit, struct frag_error *err)
{
	int rc = frag_redraw_room(&fit->redraw, fit->count, err);

	for (uint32_t i = 0; i < fit->count && !rc; i++)
		rc = draw_trace(fit, i, err);
	return rc;
}

static int report(struct fit *fit, bool interrupted, int *status, struct frag_error *err)
{
	const struct frag_trace_info **traces = calloc(fit->count, sizeof(*traces));
	const struct frag_fit_answer answer = {
		.traces = traces, .fits = &fit->fits, .map = fit->map,
		.interrupted = interrupted,
	};
	int rc = 0;

	if (!traces)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < fit->count; i++)
		traces[i] = frag_trace_info(fit->taped[i].trace);
	fit->redraw.what = &answer;
	if (fit->redraw.path && !interrupted)
		rc = draw(fit, err);
	rc = rc ? rc : frag_printed_write(&fit->printed, &answer, err);
	free(traces);
	for (uint32_t i = 0; i < fit->fits.count && !rc && !interrupted; i++)
		judge(fit, &fit->fits.fitted[i], status);
	return rc;
}

/* What is proven when it is interrupted is printed all the same. */
static int fit_traces(struct fit *fit, int *status, struct frag_error *err)
{
	int rc = frag_run_read_profile(&fit->run, err), interrupted;

	rc = rc ? rc : frag_printed_open(&fit->printed, err);
	fit->taped = calloc(fit->count, sizeof(*fit->taped));
	if (!rc && !fit->taped)
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_taped_read(fit->taped, fit->paths, fit->count, &fit->run, usual, err);
	if (rc)
		return rc;
	interrupted = search(fit, err);
	if (interrupted && interrupted != -FRAG_EINTERRUPTED)
		return interrupted;
	rc = report(fit, interrupted != 0, status, err);
	return rc ? rc : interrupted;
}

static int fit_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		    struct frag_error *err)
{
	struct fit fit = { .printed = { .formats = frag_fit_formats } };
	int rest, rc;

	frag_run_options_init(&fit.run);
	rc = frag_redraw_init(&fit.redraw, "fit", argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &fit, set_option, &rest, err);
	if (rc || !rest)
		goto out;
	fit.paths = (const char *const *)argv + rest;
	fit.count = (uint32_t)(argc - rest);
	rc = check(&fit, cmd, err);
	rc = rc ? rc : fit_traces(&fit, status, err);
out:
	frag_printed_fini(&fit.printed);
	frag_redraw_fini(&fit.redraw);
	free((void *)(uintptr_t)fit.fits.sources);
	frag_fits_fini(&fit.fits);
	frag_taped_close(fit.taped, fit.count);
	free(fit.taped);
	frag_conditions_fini(&fit.conditions);
	frag_run_options_fini(&fit.run);
	return rc;
}

const struct frag_cmd frag_cmd_fit = {
	.name = "fit",
	.job = FRAG_JOB_SIMULATE,
	.args = "[options] TRACE...",
	.summary = "find the smallest device that a trace survives on",
	.opts = opts,
	.exec = fit_exec,
};
