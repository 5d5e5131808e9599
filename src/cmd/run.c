/* run.c - fragsim run: a trace under one or more policies. */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/judge.h"
#include "cmd/outputs.h"
#include "cmd/progress.h"
#include "cmd/run_options.h"
#include "cmd/terminal.h"

struct run {
	struct frag_run_options options;
	struct frag_trace *trace;
	struct frag_sim **sims;
	uint32_t sim_count;
	struct frag_chart *charts;      /* one a run: policy by policy, device by device */
	struct frag_report_run *runs;
	uint32_t run_count;
	struct frag_outputs outputs;
	struct frag_progress progress;
};

static void warn(void *ctx, const char *message)
{
	struct run *run = ctx;

	if (run->options.quiet)
		return;
	frag_progress_end(&run->progress);
	fprintf(stderr, "fragsim: warning: %s\n", message);
}

static int open_trace(struct run *run, const char *path, struct frag_error *err)
{
	const struct frag_run_options *o = &run->options;
	const struct frag_trace_options options = {
		.lenient = o->lenient, .stacks = o->stacks, .log = { .warn = warn, .ctx = run },
	};
	int rc = frag_trace_open(&run->trace, path, &options, err);

	if (rc && frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	if (!rc)
		frag_trace_override(run->trace, o->total, o->context, o->other, o->granularity);
	return rc;
}

/* A simulation for each policy, watched by a chart for each device. */
static int make_sims(struct run *run, struct frag_error *err)
{
	uint32_t count = run->options.choice_count;
	uint32_t devices = frag_trace_info(run->trace)->device_count;
	int rc = 0;

	run->sims = calloc(count, sizeof(*run->sims));
	run->charts = calloc((size_t)count * devices, sizeof(*run->charts));
	run->runs = calloc((size_t)count * devices, sizeof(*run->runs));
	if (!run->sims || !run->charts || !run->runs)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < count && !rc; i++) {
		const struct frag_observer chart = {
			.step = frag_chart_observe, .ctx = &run->charts[(size_t)i * devices],
		};

		rc = frag_sim_new(&run->sims[i], &run->options.choices[i], run->trace,
				  &run->options.sim, err);
		if (rc)
			break;
		run->sim_count++;
		if (run->options.report)
			rc = frag_sim_observe(run->sims[i], &chart);
	}
	return rc ? rc : frag_outputs_open(&run->outputs, run->sims, run->options.choices, count,
					   devices > 1, err);
}

static void show_progress(void *ctx, const struct frag_trace_info *info)
{
	struct run *run = ctx;

	frag_progress_show(&run->progress, info);
}

static void collect(struct run *run, bool interrupted)
{
	for (uint32_t i = 0; i < run->sim_count; i++) {
		uint32_t devices;
		const struct frag_result *results = frag_sim_results(run->sims[i], interrupted,
								     &devices);

		for (uint32_t d = 0; d < devices; d++, run->run_count++)
			run->runs[run->run_count] = (struct frag_report_run){
				.result = &results[d], .chart = &run->charts[run->run_count],
			};
	}
}

static int simulate(struct run *run, const char *path, int *status, struct frag_error *err)
{
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	struct frag_report report = {
		.colour = frag_terminal_colour(columns), .columns = columns,
	};
	struct frag_crew_options crew = {
		.threads = run->options.threads, .stop = frag_interrupted,
		.progress = show_progress, .ctx = run,
	};
	int rc, interrupted = 0;

	run->outputs.steps.path = run->options.steps;
	run->outputs.placements.path = run->options.placements;
	run->outputs.json_path = run->options.json;
	rc = frag_outputs_apart(&run->outputs, path, err);
	rc = rc ? rc : open_trace(run, path, err);
	rc = rc ? rc : make_sims(run, err);
	if (rc)
		return rc;
	frag_progress_begin(&run->progress, !run->options.quiet);
	rc = frag_crew_run(run->sims, run->sim_count, run->trace, &crew, err);
	frag_progress_end(&run->progress);
	if (rc == -FRAG_EINTERRUPTED)
		interrupted = rc;
	else if (rc)
		return rc;
	collect(run, interrupted != 0);
	report.trace = frag_trace_info(run->trace);
	report.runs = run->runs;
	report.summary = run->options.summary;
	report.whole_tags = run->options.stacks == FRAG_STACKS_ALL;
	report.run_count = run->run_count;
	rc = frag_outputs_finish(&run->outputs, &report, err);
	if (!rc && run->options.report) {
		frag_report_text(&report, stdout);
		rc = frag_flush_stdout(err);
	}
	/* no file takes its place before all that can fail has been done */
	rc = rc ? rc : frag_judge_runs(&run->options, run->runs, run->run_count,
				       status, err);
	rc = rc ? rc : frag_outputs_commit(&run->outputs, err);
	return rc ? rc : interrupted;
}

static int run_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		    struct frag_error *err)
{
	struct run run = { .trace = NULL };
	int rest, rc;

	frag_run_options_init(&run.options);
	rc = frag_options(cmd, argc, argv, &run.options, frag_run_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	rc = frag_run_options_check(&run.options, cmd, err);
	if (!rc && argc - rest != 1)
		rc = frag_usage(cmd, argc == rest ? "which trace?" : "one trace at a time", err);
	rc = rc ? rc : simulate(&run, argv[rest], status, err);
out:
	frag_outputs_fini(&run.outputs);
	for (uint32_t i = 0; i < run.sim_count; i++)
		frag_sim_del(run.sims[i]);
	frag_trace_close(run.trace);
	free(run.sims);
	free(run.charts);
	free(run.runs);
	frag_run_options_fini(&run.options);
	return rc;
}

const struct frag_cmd frag_cmd_run = {
	.name = "run",
	.args = "[options] TRACE",
	.summary = "simulate a trace under one or more policies",
	.opts = frag_run_opts,
	.exec = run_exec,
};
