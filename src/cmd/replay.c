/* replay.c - fragsim replay: a trace under policies on the GPUs of this machine. */
#include "replay/pair.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/judge.h"
#include "cmd/outputs.h"
#include "cmd/progress.h"
#include "cmd/replay_options.h"
#include "cmd/terminal.h"
#include "cmd/witness.h"

/* One policy; it reads the trace by itself, because they run one after the other. */
struct turn {
	struct frag_trace *trace;
	struct frag_replay *replay;
	struct frag_chart *charts;      /* one a device */
};

struct job {
	struct frag_replay_args args;
	const char *path;
	struct frag_gpu *gpus[FRAG_REPLAY_GPUS];
	uint32_t gpu_count;             /* open */
	uint32_t device_count;
	struct turn *turns;
	uint32_t turn_count;
	struct frag_report_run *runs;
	uint32_t run_count;
	struct frag_outputs outputs;
	struct frag_progress progress;
};

static void warn(void *ctx, const char *message)
{
	struct job *job = ctx;

	if (job->args.run.quiet)
		return;
	frag_progress_end(&job->progress);
	fprintf(stderr, "fragsim: warning: %s\n", message);
}

static void show_progress(void *ctx, const struct frag_trace_info *info)
{
	struct job *job = ctx;

	frag_progress_show(&job->progress, info);
}

/* The first reading of the trace says how many GPUs there must be. */
static int open_gpus(struct job *job, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_replay_args *args = &job->args;
	uint32_t devices = frag_trace_info(trace)->device_count;
	struct frag_witness witness;
	struct frag_gpu_witness look;
	int rc;

	if (devices > FRAG_REPLAY_GPUS)
		return frag_fail(err, FRAG_EDEVICE, "%s has %u devices: replay drives %d at most",
				 job->path, devices, FRAG_REPLAY_GPUS);
	if (args->gpu_count && args->gpu_count != devices)
		return frag_fail(err, FRAG_EUSAGE, "--device is given %u times, and %s has %u "
				 "device%s", args->gpu_count, job->path, devices,
				 devices == 1 ? "" : "s");
	for (uint32_t i = 0; i < devices && !args->gpu_count; i++)
		args->gpus[i] = i;
	frag_witness_begin(&witness, &look);
	rc = frag_gpu_open(job->gpus, args->gpus, devices, args->limit, &look, err);
	frag_witness_end(&witness);
	job->gpu_count = rc ? 0 : devices;
	job->device_count = devices;
	return rc;
}

static int open_turn(struct job *job, struct turn *turn, const struct frag_choice *choice,
		     struct frag_error *err)
{
	const struct frag_replay_args *args = &job->args;
	const struct frag_trace_options reading = {
		.lenient = args->run.lenient,
		.log = { .warn = turn == job->turns ? warn : NULL, .ctx = job },
	};
	const struct frag_replay_options options = {
		.on_oom_continue = args->run.sim.on_oom_continue, .check = args->run.sim.check,
		.verify = args->verify, .pace = args->pace, .stop = frag_interrupted,
		.progress = show_progress, .ctx = job,
	};
	int rc = frag_trace_open(&turn->trace, job->path, &reading, err);

	if (rc && frag_interrupted(NULL))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	if (!rc && !job->gpu_count)
		rc = open_gpus(job, turn->trace, err);
	rc = rc ? rc : frag_replay_figures(turn->trace, job->gpus, args->limit, err);
	return rc ? rc : frag_replay_new(&turn->replay, choice, turn->trace, job->gpus, &options,
					 err);
}

static void close_turn(struct turn *turn)
{
	frag_replay_del(turn->replay);
	frag_trace_close(turn->trace);
	free(turn->charts);
	*turn = (struct turn){ .trace = NULL };
}

/* All policies are there before the first begins: they write into the same files. */
static int open_turns(struct job *job, struct frag_error *err)
{
	const struct frag_run_options *o = &job->args.run;
	struct frag_sim **sims = calloc(o->choice_count, sizeof(struct frag_sim *));
	int rc = 0;

	job->turns = calloc(o->choice_count, sizeof(*job->turns));
	if (!sims || !job->turns)
		rc = frag_fail_nomem(err);
	while (job->turn_count < o->choice_count && !rc) {
		struct turn *turn = &job->turns[job->turn_count];
		struct frag_observer chart = { .step = frag_chart_observe };

		rc = open_turn(job, turn, &o->choices[job->turn_count], err);
		job->turn_count++;
		if (rc)
			break;
		sims[job->turn_count - 1] = frag_replay_sim(turn->replay);
		turn->charts = calloc(job->device_count, sizeof(*turn->charts));
		chart.ctx = turn->charts;
		rc = !turn->charts ? frag_fail_nomem(err)
		     : o->report ? frag_sim_observe(sims[job->turn_count - 1], &chart) : 0;
	}
	rc = rc ? rc : frag_outputs_open(&job->outputs, sims, o->choices, job->turn_count,
					 job->device_count > 1, err);
	free(sims);
	return rc;
}

/* The further times: only their costs count. */
static int repeat(struct job *job, uint32_t i, struct frag_error *err)
{
	int rc = 0;

	for (uint64_t n = 1; n < job->args.repeat && !rc; n++) {
		struct turn again = { .trace = NULL };

		rc = open_turn(job, &again, &job->args.run.choices[i], err);
		rc = rc ? rc : frag_replay_run(again.replay, err);
		if (!rc) {
			frag_replay_retire(again.replay, false);
			rc = frag_replay_join(job->turns[i].replay, again.replay, err);
		}
		close_turn(&again);
	}
	return rc;
}

static int run_turns(struct job *job, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < job->turn_count && !rc; i++) {
		rc = frag_replay_run(job->turns[i].replay, err);
		if (rc && rc != -FRAG_EINTERRUPTED)
			return rc;
		frag_replay_retire(job->turns[i].replay, rc != 0);
		rc = rc ? rc : repeat(job, i, err);
	}
	return rc;
}

/* What has not had its turn was interrupted before its first step. */
static int collect(struct job *job, struct frag_error *err)
{
	job->runs = calloc((size_t)job->turn_count * job->device_count, sizeof(*job->runs));
	if (!job->runs)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < job->turn_count; i++) {
		uint32_t count;
		const struct frag_result *results =
			frag_sim_results(frag_replay_sim(job->turns[i].replay), true, &count);

		for (uint32_t d = 0; d < count; d++)
			job->runs[job->run_count++] = (struct frag_report_run){
				.result = &results[d], .chart = &job->turns[i].charts[d],
			};
	}
	return 0;
}

static int report(struct job *job, int *status, struct frag_error *err)
{
	const int columns = frag_terminal_columns(STDOUT_FILENO);
	struct frag_report report = {
		.colour = frag_terminal_colour(columns), .columns = columns,
		.run_count = job->run_count,
		.trace = frag_trace_info(job->turns[0].trace), .runs = job->runs,
	};
	int rc = frag_outputs_finish(&job->outputs, &report, err);

	if (!rc && job->args.run.report) {
		frag_report_text(&report, stdout);
		rc = frag_flush_stdout(err);
	}
	rc = rc ? rc : frag_judge_runs(&job->args.run, job->runs, job->run_count,
				       status, err);
	return rc ? rc : frag_outputs_commit(&job->outputs, err);
}

static int replay(struct job *job, int *status, struct frag_error *err)
{
	const struct frag_run_options *o = &job->args.run;
	struct frag_error late = { .code = 0 };
	int rc, closed;

	job->outputs.steps.path = o->steps;
	job->outputs.placements.path = o->placements;
	job->outputs.json_path = o->json;
	if (strcmp(job->path, "-") == 0 && (o->choice_count > 1 || job->args.repeat > 1))
		return frag_fail(err, FRAG_EUSAGE, "standard input can be read once only: one "
				 "policy, once, or a file");
	rc = frag_outputs_apart(&job->outputs, job->path, err);
	rc = rc ? rc : open_turns(job, err);
	if (!rc) {
		frag_progress_begin(&job->progress, !o->quiet);
		rc = run_turns(job, err);
		frag_progress_end(&job->progress);
	}
	for (uint32_t i = 0; i < job->turn_count; i++)
		if (job->turns[i].replay && (!rc || rc == -FRAG_EINTERRUPTED))
			frag_replay_retire(job->turns[i].replay, true);
		else
			close_turn(&job->turns[i]);
	closed = frag_gpu_close(job->gpus, job->gpu_count, &late);
	if (closed && (!rc || rc == -FRAG_EINTERRUPTED))
		rc = frag_fail(err, FRAG_EDEVICE, "%s", late.message);
	if (rc && (rc != -FRAG_EINTERRUPTED || !job->device_count || !job->turns[0].replay))
		return rc;
	closed = collect(job, err);
	closed = closed ? closed : report(job, status, err);
	return closed ? closed : rc;
}

static int replay_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct job job = { .path = NULL };
	int rest, rc;

	frag_replay_args_init(&job.args);
	rc = frag_options(cmd, argc, argv, &job.args, frag_replay_set_option, &rest, err);
	if (rc || !rest)
		goto out;
	rc = frag_run_options_check(&job.args.run, cmd, err);
	if (!rc && argc - rest != 1)
		rc = frag_usage(cmd, argc == rest ? "which trace?" : "one trace at a time", err);
	job.path = argv[rest];
	rc = rc ? rc : replay(&job, status, err);
out:
	frag_outputs_fini(&job.outputs);
	for (uint32_t i = 0; i < job.turn_count; i++)
		close_turn(&job.turns[i]);
	free(job.turns);
	free(job.runs);
	frag_replay_args_fini(&job.args);
	return rc;
}

const struct frag_cmd frag_cmd_replay = {
	.name = "replay",
	.args = "[options] TRACE",
	.summary = "run a trace under one or more policies on real GPUs",
	.opts = frag_replay_opts,
	.exec = replay_exec,
};
