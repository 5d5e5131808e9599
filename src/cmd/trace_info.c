/* trace_info.c - fragsim trace info: what a trace is. */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/progress.h"
#include "cmd/frame.h"
#include "cmd/loaded_trace.h"
#include "events/recording_info.h"
#include "iterations/leak_detect.h"
#include "answers/report.h"
#include "verify/log_check.h"

struct info {
	const char *json;
	bool lenient, quiet;
};

static const struct frag_opt opts[] = {
	{ 0, "json", "FILE", "write it as JSON (- is standard output)",
	  FRAG_OUTPUT(struct info, json) },
	{ 0, "lenient", NULL, "skip invalid events", FRAG_FLAG(struct info, lenient) },
	{ 'q', "quiet", NULL, "no warnings", FRAG_FLAG(struct info, quiet) },
	{ 0 },
};

/*
 * Simulates a snapshot with whose log the simulation agrees, for what the log does not say. *sim:
 * owned by the caller; NULL where the recording cannot be simulated.
 */
static int info_simulate(struct frag_sim **sim, struct frag_trace **again,
			 const struct frag_trace *trace, struct frag_error *err)
{
	const struct frag_sim_options options = { .level = FRAG_LEVEL_PEAKS };
	const struct frag_worker_options workers = { .threads = 1, .read.stop = frag_interrupted };
	const struct frag_log none = { .warn = NULL };
	struct frag_choice choices[FRAG_USUAL_MAX];
	uint32_t count = 0;
	int rc = frag_trace_again(again, trace, err);

	rc = rc ? rc : frag_check_log(*again, err);
	rc = rc ? rc : frag_usual_recorded(choices, &count, *again, &none, err);
	rc = rc ? rc : frag_sim_new(sim, choices, *again, &options, err);
	rc = rc ? rc : frag_sim_begin(*sim, err);
	rc = rc ? rc : frag_workers_run(sim, 1, *again, &workers, err);
	if (rc == -FRAG_ENOMEM || rc == -FRAG_EINTERRUPTED || !rc)
		return rc;
	frag_sim_del(*sim);
	*sim = NULL;
	return 0;
}

#define TAPE_MAX (UINT64_C(256) << 20)  /* whether memory grows is not found in more */

/*
 * Surveys the trace. The survey grows with live blocks and different sizes, not with events, so a
 * trace of any length can be described. A document includes the growth of memory.
 */
static int info_survey(const struct info *info, struct frag_survey *survey,
		       struct frag_trace *trace, struct frag_error *err)
{
	struct frag_tape_writer *writer = info->json ? frag_tape_writer_new(trace, TAPE_MAX) : NULL;
	struct frag_tape *tape;
	int rc = info->json && !writer ? frag_fail_nomem(err) : 0;

	rc = rc ? rc : frag_survey_read(survey, trace, writer, frag_interrupted, err);
	tape = writer && !rc ? frag_tape_finish(writer) : NULL;
	if (tape)
		rc = frag_growth_find(trace, tape, err);
	frag_tape_del(tape);
	frag_tape_writer_del(writer);
	return rc;
}

/* The survey as text or as a document; of a snapshot also what its simulation shows. */
static int info_report(struct info *info, const char *path, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.lenient = info->lenient,
		.stacks = info->json ? FRAG_STACKS_ALL : FRAG_STACKS_TOP,
		.log = { .warn = frag_warn, .ctx = &info->quiet },
	};
	struct frag_survey survey = { .devices = NULL };
	struct frag_trace_facts found = { .survey = &survey };
	struct frag_release release;
	char version[FRAG_RELEASE_ROOM];        /* of PyTorch: "2.8", "2.9 to 2.14" */
	struct frag_trace *trace, *again = NULL;
	struct frag_sim *sim = NULL;
	uint32_t count;
	int rc = frag_trace_open(&trace, path, &options, err);

	if (!rc) {
		rc = frag_check_log(trace, err);
		rc = rc ? rc : info_survey(info, &survey, trace, err);
		found.trace = frag_trace_info(trace);
		found.snapshot = frag_trace_snapshot(trace);
		/* nothing of the trace is read after this */
		rc = rc ? rc : frag_find_release(&release, trace, err);
		if (!rc)
			found.by = (struct frag_recorded_by){
				*frag_release_text(&release, version) ? version : NULL,
				release.why,
			};
		if (!rc && found.snapshot && found.trace->log.decisions
		    && !found.trace->log.differences)
			rc = info_simulate(&sim, &again, trace, err);
		if (sim && !rc)
			found.runs = frag_sim_results(sim, false, &count);
		if (!rc && info->json)
			rc = frag_write_file(info->json, false, frag_report_info_json, &found, err);
		else if (!rc)
			frag_report_info(&found, stdout);
		frag_sim_del(sim);
		frag_trace_close(again);
		frag_survey_fini(&survey);
		frag_trace_close(trace);
	}
	return frag_or_interrupted(rc, err);
}

static int info_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	return info_report(own, args->words[0], err);
}

const struct frag_cmd frag_cmd_trace_info = {
	.name = "trace info",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] TRACE",
	.summary = "describe a trace",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACE,
	.size = sizeof(struct info),
	.exec = info_exec,
};
