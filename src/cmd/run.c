/* run.c - fragsim run: a trace under one or more policies. */
#include <stdlib.h>

#include "cmd/answer_page.h"
#include "cmd/interrupt.h"
#include "cmd/default_policy.h"
#include "cmd/session.h"

struct run {
	struct frag_run_options options;
	struct frag_trace *trace;
	struct frag_devices devices;
	struct frag_session session;
	struct frag_answers answers;
	struct frag_configured configured;
	struct frag_html_page drawing;            /* where there is --html, as the next two */
	struct frag_page_section section;
	const char *command;
};

/* The host is the last device, where there is one. */
static void miss_host(struct run *run)
{
	const struct frag_trace_info *info = frag_trace_info(run->trace);

	if (!info->devices[info->device_count - 1].host)
		frag_session_warn(&run->session, "--host: the trace has no pinned host"
				  " memory, which a snapshot of PyTorch does that was recorded with"
				  " record_pinned_host_memory");
}

/* Without the option the program's own frames, where there is a place for them. */
static enum frag_stacks stacks_of(const struct frag_run_options *o)
{
	if (o->has_stacks)
		return o->stacks;
	return o->json || o->html || (o->report && o->verbose) ? FRAG_STACKS_PYTHON
							       : FRAG_STACKS_TOP;
}

static int run_open_trace(struct run *run, const char *path, struct frag_error *err)
{
	const struct frag_run_options *o = &run->options;
	const struct frag_trace_options options = {
		.lenient = o->lenient, .stacks = stacks_of(o), .host = o->host,
		.sized = o->total != UINT64_MAX || o->profile_path,
		.log = { .warn = frag_session_warn, .ctx = &run->session },
		.configured = frag_configured_next, .configured_ctx = &run->configured,
	};
	int rc;

	if (!frag_configured_init(&run->configured, o->choices, o->choice_count))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&run->trace, path, &options, err);
	rc = frag_or_interrupted(rc, err);
	rc = rc ? rc : frag_run_default(&run->options, run->trace, &run->configured, &options.log,
					err);
	if (!rc && o->host)
		miss_host(run);
	return rc ? rc : frag_run_devices(o, run->trace, &run->devices, err);
}

static struct frag_sim_options sim_options(const struct run *run)
{
	struct frag_sim_options options = run->options.sim;

	options.devices = run->devices.figures;
	options.on_oom = &frag_oom_explain;
	return options;
}

static int make_sims(struct run *run, struct frag_error *err)
{
	const struct frag_run_options *o = &run->options;
	const struct frag_sim_options options = sim_options(run);
	const uint32_t devices = frag_trace_info(run->trace)->device_count;
	int rc = frag_session_room(&run->session, devices, err);

	if (!rc && o->html)
		rc = frag_drawing_room(&run->drawing, o->choice_count, err);
	for (uint32_t i = 0; i < o->choice_count && !rc; i++) {
		struct frag_sim *sim;

		rc = frag_sim_new(&sim, &o->choices[i], run->trace, &options, err);
		rc = rc ? rc : frag_session_add(&run->session, sim, err);
		if (!rc && o->html)
			rc = frag_drawing_watch(&run->drawing, sim, devices, err);
	}
	rc = rc ? rc : frag_answers_begin(&run->answers, &run->session, run->trace, err);
	return rc ? rc : frag_session_open(&run->session, err);
}

static int run_read_trace(struct run *run, struct frag_error *err)
{
	struct frag_session *s = &run->session;
	const struct frag_worker_options workers = {
		.threads = run->options.threads, .stop = frag_interrupted,
		.progress = frag_session_progress, .ctx = s, .tape = run->answers.writer,
	};
	int rc;

	frag_progress_begin(&s->progress, !run->options.quiet);
	rc = frag_workers_run(s->sims, s->sim_count, run->trace, &workers, err);
	frag_progress_end(&s->progress);
	return rc;
}

/* Before the report, which writes it. */
static int run_draw(struct run *run, struct frag_error *err)
{
	struct frag_session *s = &run->session;

	if (!run->options.html)
		return 0;
	s->outputs.section = &run->section;
	s->outputs.command = run->command;
	return frag_drawing_section(&run->drawing, s, run->trace, run->answers.tape, &run->section,
				    err);
}

/* An interruption still gives a report of what was simulated, and then is returned. */
static int run_simulate(struct run *run, const char *path, int *status, struct frag_error *err)
{
	struct frag_session *s = &run->session;
	struct frag_sim_options options;
	int rc, interrupted;

	rc = frag_session_begin(s, &run->options, path, err);
	rc = rc ? rc : frag_run_read_profile(&run->options, err);
	rc = rc ? rc : run_open_trace(run, path, err);
	rc = rc ? rc : make_sims(run, err);
	interrupted = rc ? rc : run_read_trace(run, err);
	if (interrupted && (rc || interrupted != -FRAG_EINTERRUPTED))
		return interrupted;
	rc = frag_drawing_end(&run->drawing, err);
	if (rc)
		return rc;
	frag_session_collect(s, interrupted != 0);
	options = sim_options(run);
	/* a signal during the search for answers does not discard the results */
	s->cut_short = interrupted != 0;
	if (!interrupted)
		interrupted = frag_answers_find(&run->answers, s, &options, err);
	if (interrupted && interrupted != -FRAG_EINTERRUPTED)
		return interrupted;
	rc = run_draw(run, err);
	rc = rc ? rc : frag_session_report(s, run->trace, status, err);
	return rc ? rc : interrupted;
}

static int run_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct run *run = own;
	const int rc = frag_run_options_check(&run->options, args->cmd, err);

	run->command = args->line;
	return rc ? rc : run_simulate(run, args->words[0], args->status, err);
}

/* Simulations go before the trace that they borrow. */
static void run_fini(void *own)
{
	struct run *run = own;

	for (uint32_t i = 0; i < run->session.sim_count; i++)
		frag_sim_del(run->session.sims[i]);
	frag_session_fini(&run->session);
	frag_drawing_fini(&run->drawing);
	frag_page_section_fini(&run->section);
	frag_answers_fini(&run->answers);
	frag_devices_fini(&run->devices);
	frag_trace_close(run->trace);
	frag_configured_fini(&run->configured);
}

const struct frag_cmd frag_cmd_run = {
	.name = "run",
	.job = FRAG_JOB_FAILURE,
	.args = "[options] TRACE",
	.summary = "simulate a trace on a device: does it fit, and if not, why",
	.opts = frag_run_opts,
	.needs = FRAG_NEEDS_TRACE | FRAG_NEEDS_RUN,
	.size = sizeof(struct run),
	.foreign = frag_run_foreign,
	.exec = run_exec,
	.fini = run_fini,
};
