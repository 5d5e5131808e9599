/* export_run.c - convert, where what is written is a run of the trace. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/export_run.h"
#include "cmd/interrupt.h"
#include "cmd/default_policy.h"
#include "report/initial_state_text.h"

struct job {
	struct frag_run_options *options;
	bool quiet;
	struct frag_trace *trace;
	struct frag_devices devices;
	struct frag_sim *sim;
	struct frag_outfile out;
	struct frag_export x;
	struct frag_configured configured;
};

/*
 * The trace and the simulation come before the output, so that a bad input leaves
 * no file behind.
 */
static int open_all(struct job *job, enum frag_packing packing, const char *from, const char *to,
		    struct frag_error *err)
{
	const struct frag_run_options *o = job->options;
	const struct frag_trace_options options = {
		.lenient = o->lenient, .stacks = o->stacks, .sized = o->total != UINT64_MAX,
		.log = { .warn = frag_warn, .ctx = &job->quiet },
		.configured = frag_configured_next, .configured_ctx = &job->configured,
	};
	struct frag_sim_options sim = o->sim;
	int rc;

	if (!frag_configured_init(&job->configured, o->choices, o->choice_count))
		return frag_fail_nomem(err);
	rc = frag_trace_open(&job->trace, from, &options, err);
	rc = rc ? rc : frag_run_default(job->options, job->trace, &job->configured, &options.log,
					err);
	rc = rc ? rc : frag_run_devices(o, job->trace, &job->devices, err);
	if (rc)
		return rc;
	sim.devices = job->devices.figures;
	rc = frag_sim_new(&job->sim, &o->choices[0], job->trace, &sim, err);
	rc = rc ? rc : frag_outfile_open(&job->out, to, err);
	return rc ? rc : frag_outfile_pack(&job->out, packing, err);
}

static int simulate(struct job *job, struct frag_error *err)
{
	const struct frag_observer watch = { .step = frag_export_observe, .ctx = &job->x };
	const struct frag_worker_options workers = { .threads = 1, .stop = frag_interrupted };
	int rc = frag_sim_begin(job->sim, err);

	job->x.out = &job->out;
	job->x.sim = job->sim;
	job->x.choice = &job->options->choices[0];
	job->x.goes_on = job->options->sim.on_oom_continue;
	rc = rc ? rc : job->x.ops->begin(&job->x, err);
	rc = rc ? rc : frag_sim_observe(job->sim, &watch);
	rc = rc ? rc : frag_workers_run(&job->sim, 1, job->trace, &workers, err);
	return rc ? rc : job->x.ops->end(&job->x, err);
}

static void report_beginnings(struct job *job)
{
	char text[FRAG_BEGINNING_ROOM];
	uint32_t count;
	const struct frag_result *results = frag_sim_results(job->sim, false, &count);

	for (uint32_t i = 0; i < count; i++)
		if (frag_beginning_text(&results[i], true, text))
			frag_warn(&job->quiet, text);
}

/* The file says it too, but nobody looks there first. */
static void report_policy(const struct job *job)
{
	const struct frag_choice *given = &job->options->choices[0];
	struct frag_choice choice = *given;
	struct frag_error unused;

	if (job->quiet)
		return;
	if (strchr(given->text, ':') || frag_choice_expand_settings(&choice, &unused))
		choice = *given;
	frag_print_message("exported a run under %s", choice.text);
}

/* It is no failure of the conversion; but the viewer's user would wonder. */
static void report_oom(struct job *job)
{
	const struct frag_export *x = &job->x;
	char message[400];

	if (!x->ooms)
		return;
	snprintf(message, sizeof(message), "policy %.100s: out of memory at step %" PRIu64
		 " on device %" PRIu32 "%s", x->choice->text, x->first_oom, x->first_oom_device,
		 x->goes_on ? ""
			    : ": the run of that device ends there (--on-oom continue goes on)");
	frag_warn(&job->quiet, message);
}

/*
 * The file is guarded before it is opened: a signal at any later moment removes it
 * unless it is whole.
 */
int frag_export_run(const struct frag_export_ops *form, enum frag_packing packing,
		    struct frag_run_options *options, const char *from, const char *to,
		    struct frag_error *err)
{
	struct job job = {
		.options = options, .quiet = options->quiet, .out.fd = -1, .x.ops = form,
	};
	int rc;

	frag_register_partial_file(&job.out);
	rc = open_all(&job, packing, from, to, err);
	rc = rc ? rc : simulate(&job, err);
	rc = rc ? rc : frag_outfile_commit(&job.out, err);
	if (!rc) {
		report_beginnings(&job);
		report_policy(&job);
		report_oom(&job);
	}
	form->fini(&job.x);
	frag_outfile_abandon(&job.out);
	frag_register_partial_file(NULL);
	frag_sim_del(job.sim);
	frag_devices_fini(&job.devices);
	frag_trace_close(job.trace);
	frag_configured_fini(&job.configured);
	return frag_or_interrupted(rc, err);
}
