/* tune.c - fragsim tune: the settings of PyTorch's allocator that suit a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/c_locale.h"
#include "cmd/grid_choices.h"
#include "cmd/interrupt.h"
#include "cmd/output_formats.h"
#include "cmd/progress.h"
#include "cmd/default_policy.h"
#include "cmd/answer_page.h"
#include "cmd/loaded_trace.h"
#include "policy/alloc_conf_text.h"
#include "report/tune_formats.h"

enum {
	OPT_HEADROOM = FRAG_OPT_FIRST_OWN, OPT_GRID, OPT_EXACT, OPT_TEST,
};

static const struct frag_opt opts[] = {
	{ 0, "headroom", "PERCENT", "of --device-bytes, that must not be needed (5%)",
	  OPT_HEADROOM },
	{ 0, "grid", "GRID", "settings to try: short, default, or a file of lines (default)",
	  OPT_GRID },
	{ 'p', "policy", "NAME", "a policy to try too, NAME[:key=value,...]; repeatable",
	  FRAG_OPT_POLICY },
	{ 0, "exact", NULL, "try each setting on every smaller device too (slow)", OPT_EXACT },
	{ 0, "test", "TRACE", "a trace to try the best on, not to tune on; repeatable", OPT_TEST },
	FRAG_ANSWER_ROWS,
	FRAG_HTML_ROW(0),
	{ 0, "threads", "N", "simulations at a time (0: one a processor)", FRAG_OPT_THREADS },
	{ 0 },
};

#define USUAL_HEADROOM 0.05
#define EXPANDABLE "expandable_segments:True"

struct tune {
	struct frag_run_options run;    /* its choices become the candidates */
	struct frag_answer_output printed;
	const char *grid_name;
	double headroom;
	bool has_headroom, exact;
	const char **paths;             /* the traces, and behind them the tests */
	uint32_t count, trace_count, capacity;
	const char **tests;
	uint32_t test_count, test_capacity;
	struct frag_loaded_trace *taped;
	char **texts;                   /* one a candidate: what one pastes */
	struct frag_fit_source *sources;
	struct frag_tune tune;
	struct frag_progress progress;
	struct frag_answer_page redraw;      /* of the page, where there is --html */
};

static int set_headroom(struct tune *t, const char *value, struct frag_error *err)
{
	char *end;
	const double percent = frag_strtod(value, &end);

	if (end == value || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
		return frag_fail(err, FRAG_EUSAGE, "--headroom %.60s: a percentage from 0%% to 100%%"
				 " is required, as in 5%%", value);
	t->headroom = percent / 100;
	t->has_headroom = true;
	return 0;
}

static int add_test(struct tune *t, const char *path, struct frag_error *err)
{
	if (!frag_grow(&t->tests, &t->test_capacity, (uint64_t)t->test_count + 1,
		       sizeof(*t->tests)))
		return frag_fail_nomem(err);
	t->tests[t->test_count++] = path;
	return 0;
}

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct tune *t = ctx;

	switch (id) {
	case OPT_HEADROOM:
		return set_headroom(t, value, err);
	case OPT_GRID:
		t->grid_name = value;
		return 0;
	case OPT_EXACT:
		t->exact = true;
		return 0;
	case OPT_TEST:
		return add_test(t, value, err);
	default:
		return frag_answer_set_option(&t->printed, &t->run, id, value, err);
	}
}

static int name_candidates(struct tune *t, struct frag_error *err)
{
	const uint32_t count = t->run.choice_count;
	char conf[FRAG_CONF_ROOM];

	t->texts = calloc((size_t)count + 1, sizeof(*t->texts));
	t->tune.plain_expandable = UINT32_MAX;
	for (uint32_t i = 0; t->texts && i < count; i++) {
		frag_conf_text(&t->run.choices[i], conf, sizeof(conf));
		if (strcmp(conf, EXPANDABLE) == 0)
			t->tune.plain_expandable = i;
		t->texts[i] = strdup(t->run.choices[i].ops->settings ? conf
				     : t->run.choices[i].text);
		if (!t->texts[i])
			return frag_fail_nomem(err);
	}
	return t->texts ? 0 : frag_fail_nomem(err);
}

/* The operands, and the tests behind them. */
static int list_paths(struct tune *t, char **operands, uint32_t count, struct frag_error *err)
{
	t->trace_count = count;
	t->count = count + t->test_count;
	t->paths = calloc((size_t)t->count + 1, sizeof(*t->paths));
	if (!t->paths)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++)
		t->paths[i] = operands[i];
	for (uint32_t i = 0; i < t->test_count; i++)
		t->paths[count + i] = t->tests[i];
	return 0;
}

static int check(struct tune *t, const struct frag_cmd *cmd, struct frag_error *err)
{
	uint32_t standard = t->run.profile_path && strcmp(t->run.profile_path, "-") == 0;
	int rc;

	if (!t->trace_count)
		return frag_usage(cmd, "which traces?", err);
	if (t->run.total == 0)
		return frag_usage(cmd, "--device-bytes 0 is no limit: without it the smallest device"
				  " is looked for", err);
	if (t->has_headroom && t->run.total == UINT64_MAX)
		return frag_usage(cmd, "--headroom is for --device-bytes SIZE", err);
	if (t->exact && t->run.total != UINT64_MAX)
		return frag_usage(cmd, "--exact is for the smallest device: without --device-bytes",
				  err);
	for (uint32_t i = 0; i < t->count; i++)
		standard += strcmp(t->paths[i], "-") == 0;
	if (standard > 1)
		return frag_usage(cmd, "standard input can be read only once", err);
	t->printed.quiet = t->run.quiet;
	rc = frag_answer_page_set_path(&t->redraw, t->run.html, &t->printed, err);
	rc = rc ? rc : frag_answer_output_check_input(&t->printed, t->run.profile_path, "the profile", err);
	if (!rc && !frag_grid_is_named(t->grid_name))
		rc = frag_answer_output_check_input(&t->printed, t->grid_name, "the grid", err);
	return rc ? rc : frag_printed_apart(&t->printed, cmd, t->paths, t->count, "the trace",
					    err);
}

static void show_progress(void *ctx, uint32_t done, uint32_t count)
{
	struct tune *t = ctx;

	frag_progress_count(&t->progress, "settings", done, count);
}

static int search(struct tune *t, struct frag_error *err)
{
	const uint64_t total = t->run.total;
	int rc;

	t->sources = calloc(t->count, sizeof(*t->sources));
	if (!t->sources)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < t->count; i++)
		t->sources[i] = (struct frag_fit_source){
			.tape = t->taped[i].tape, .choices = t->taped[i].choices,
			.devices = t->taped[i].devices.figures,
		};
	t->tune.sources = t->sources;
	t->tune.source_count = t->trace_count;
	t->tune.test_count = t->test_count;
	t->tune.choice_count = t->run.choice_count;
	t->tune.texts = (const char *const *)t->texts;
	t->tune.total = total == UINT64_MAX ? 0 : total;
	t->tune.headroom = t->headroom;
	t->tune.exact = t->exact;
	t->tune.model = t->run.sim.model;
	t->tune.threads = t->run.threads;
	t->tune.stop = frag_interrupted;
	t->tune.progress = show_progress;
	t->tune.ctx = t;
	frag_progress_begin(&t->progress, !t->run.quiet);
	rc = frag_tune_run(&t->tune, err);
	frag_progress_end(&t->progress);
	return rc;
}

/* The best and what a program has anyway, on the device, or on the smallest that does. */
static int draw_trace(struct tune *t, uint32_t source, struct frag_error *err)
{
	const struct frag_loaded_trace *taped = &t->taped[source];
	const uint64_t total = t->tune.total ? t->tune.total : t->tune.best.smallest;
	const uint32_t drawn[] = { t->tune.best.choice, 0 };
	struct frag_devices devices = { .count = 0 };
	struct frag_redrawn x;
	int rc = frag_redrawn_begin(&x, taped, err);

	rc = rc ? rc : frag_devices_copy(&devices, taped->devices.figures, taped->devices.count,
					 err);
	for (uint32_t d = 0; !rc && d < devices.count; d++)
		if (!devices.figures[d].host)
			devices.figures[d].total = total;
	for (uint32_t i = drawn[0] == UINT32_MAX; i < 1 + (drawn[0] != 0) && !rc; i++)
		rc = frag_redrawn_run(&x, &taped->choices[drawn[i]], devices.figures, err);
	rc = rc ? rc : frag_redrawn_end(&x, &t->redraw, err);
	frag_redrawn_fini(&x);
	frag_devices_fini(&devices);
	return rc;
}

static int draw(struct tune *t, struct frag_error *err)
{
	int rc = frag_redraw_room(&t->redraw, t->count, err);

	for (uint32_t i = 0; i < t->count && !rc; i++)
		rc = draw_trace(t, i, err);
	return rc;
}

static int report(struct tune *t, bool interrupted, int *status, struct frag_error *err)
{
	const struct frag_trace_info **traces = calloc(t->count, sizeof(*traces));
	const struct frag_tune_answer answer = {
		.traces = traces, .tune = &t->tune, .grid = t->grid_name,
		.interrupted = interrupted,
	};
	int rc = 0;

	if (!traces)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < t->count; i++)
		traces[i] = frag_trace_info(t->taped[i].trace);
	t->redraw.what = &answer;
	if (t->redraw.path && !interrupted)
		rc = draw(t, err);
	rc = rc ? rc : frag_printed_write(&t->printed, &answer, err);
	free(traces);
	if (t->tune.best.choice == UINT32_MAX)
		*status = 1;
	for (uint32_t i = 0; i < t->test_count && t->tune.total; i++)
		if (!t->tune.tests[i].survives)
			*status = 1;
	return rc;
}

/* Interrupted it prints what is known until then. */
static int tune_traces(struct tune *t, int *status, struct frag_error *err)
{
	int rc = frag_run_read_profile(&t->run, err), interrupted;

	rc = rc ? rc : frag_printed_open(&t->printed, err);
	t->taped = calloc((size_t)t->count + 1, sizeof(*t->taped));
	if (!rc && !t->taped)
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_taped_read(t->taped, t->paths, t->count, &t->run, NULL, err);
	if (rc)
		return rc;
	interrupted = search(t, err);
	if (interrupted && interrupted != -FRAG_EINTERRUPTED)
		return interrupted;
	rc = report(t, interrupted != 0, status, err);
	return rc ? rc : interrupted;
}

static int tune_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		     struct frag_error *err)
{
	struct tune t = {
		.printed = { .formats = frag_tune_formats }, .grid_name = "default",
		.headroom = USUAL_HEADROOM,
	};
	int rest, rc;

	frag_run_options_init(&t.run);
	rc = frag_redraw_init(&t.redraw, "tune", argc, argv, err);
	rc = rc ? rc : frag_options(cmd, argc, argv, &t, set_option, &rest, err);
	if (rc || !rest)
		goto out;
	rc = list_paths(&t, argv + rest, (uint32_t)(argc - rest), err);
	rc = rc ? rc : check(&t, cmd, err);
	rc = rc ? rc : frag_grid_choices(&t.run, t.grid_name, err);
	rc = rc ? rc : name_candidates(&t, err);
	rc = rc ? rc : tune_traces(&t, status, err);
out:
	frag_printed_fini(&t.printed);
	frag_redraw_fini(&t.redraw);
	frag_tune_fini(&t.tune);
	frag_taped_close(t.taped, t.count);
	for (uint32_t i = 0; t.texts && i < t.run.choice_count; i++)
		free(t.texts[i]);
	free(t.texts);
	free(t.sources);
	free(t.taped);
	free(t.paths);
	free(t.tests);
	frag_run_options_fini(&t.run);
	return rc;
}

const struct frag_cmd frag_cmd_tune = {
	.name = "tune",
	.job = FRAG_JOB_SIMULATE,
	.args = "[options] TRACE...",
	.summary = "find the settings of PyTorch's allocator that suit a trace",
	.opts = opts,
	.exec = tune_exec,
};
