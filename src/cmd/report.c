/* report.c - fragsim report: writes the runs of traces as one HTML report. */
#include <stdlib.h>
#include <string.h>

#include "cmd/session.h"
#include "cmd/answer_page.h"
#include "cmd/interrupt.h"
#include "cmd/default_policy.h"

struct reporting {
	struct frag_run_options options;
	bool quiet, has_policies;
	const char *html, *svg;
	const char *command;
	struct frag_page_section *sections;
	uint32_t section_count;
	struct frag_outfile page, picture;
};

static const struct frag_opt opts[] = {
	{ 'o', "output", "FILE", "write the page there (- is standard output)",
	  FRAG_TEXT(struct reporting, html) },
	{ 0, "svg", "FILE", "write its timelines there, as one picture",
	  FRAG_TEXT(struct reporting, svg) },
	FRAG_POLICY_ROW(0, "placement policy, NAME[:key=value,...]; up to six (by the trace)"),
	FRAG_ALLOC_CONF_ROW(0, FRAG_ALLOC_CONF_HELP),
	FRAG_STACKS_ROW(0, FRAG_STACKS_HELP " (python)"),
	{ 'q', "quiet", NULL, "no warnings or progress", FRAG_FLAG(struct reporting, quiet) },
	FRAG_ON_OOM_ROW(0),
	FRAG_LENIENT_ROW(0),
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS(0),
	FRAG_SEARCH_THREADS_ROW,
	{ 0 },
};

/* One trace, from its first event to its section. */
struct one {
	struct reporting *r;
	struct frag_run_options options;        /* those of the command, with the trace's policy */
	struct frag_trace *trace;
	struct frag_devices devices;
	struct frag_session session;
	struct frag_answers answers;
	struct frag_configured configured;
	struct frag_html_page drawing;
};

static void report_warn(void *ctx, const char *message)
{
	struct one *one = ctx;

	if (!one->r->quiet)
		frag_session_warn(&one->session, message);
}

static int report_open_trace(struct one *one, const char *path, struct frag_error *err)
{
	const struct frag_run_options *o = &one->options;
	const struct frag_trace_options options = {
		.lenient = o->lenient,
		.stacks = o->has_stacks ? o->stacks : FRAG_STACKS_PYTHON,
		.sized = o->total != UINT64_MAX || o->profile_path,
		.log = { .warn = report_warn, .ctx = one },
		.configured = frag_configured_next,
		.configured_ctx = &one->configured,
	};
	int rc;

	if (!frag_configured_init(&one->configured, o->choices, o->choice_count))
		return frag_fail_nomem(err);
	rc = frag_or_interrupted(frag_trace_open(&one->trace, path, &options, err), err);
	rc = rc ? rc : frag_run_default(&one->options, one->trace, &one->configured, &options.log,
					err);
	return rc ? rc : frag_run_devices(o, one->trace, &one->devices, err);
}

static struct frag_sim_options sim_options(const struct one *one)
{
	struct frag_sim_options options = one->options.sim;

	options.devices = one->devices.figures;
	options.on_oom = &frag_oom_explain;
	return options;
}

/* One simulation a policy, which the page watches. */
static int make_sims(struct one *one, struct frag_error *err)
{
	const struct frag_run_options *o = &one->options;
	const struct frag_sim_options options = sim_options(one);
	const uint32_t devices = frag_trace_info(one->trace)->device_count;
	int rc = frag_session_room(&one->session, devices, err);

	rc = rc ? rc : frag_drawing_room(&one->drawing, o->choice_count, err);
	for (uint32_t i = 0; i < o->choice_count && !rc; i++) {
		struct frag_sim *sim;

		rc = frag_sim_new(&sim, &o->choices[i], one->trace, &options, err);
		rc = rc ? rc : frag_session_add(&one->session, sim, err);
		rc = rc ? rc : frag_drawing_watch(&one->drawing, sim, devices, err);
	}
	return rc ? rc : frag_answers_begin(&one->answers, &one->session, one->trace, err);
}

static int report_read_trace(struct one *one, struct frag_error *err)
{
	struct frag_session *s = &one->session;
	const struct frag_worker_options workers = {
		.threads = one->options.threads, .stop = frag_interrupted,
		.progress = frag_session_progress, .ctx = s, .tape = one->answers.writer,
	};
	int rc;

	frag_progress_begin(&s->progress, !one->r->quiet);
	rc = frag_workers_run(s->sims, s->sim_count, one->trace, &workers, err);
	frag_progress_end(&s->progress);
	return rc ? rc : frag_drawing_end(&one->drawing, err);
}

static int do_trace(struct one *one, const char *path, struct frag_page_section *section,
		    struct frag_error *err)
{
	struct frag_sim_options options;
	int rc = frag_session_begin(&one->session, &one->options, path, err);

	rc = rc ? rc : report_open_trace(one, path, err);
	rc = rc ? rc : make_sims(one, err);
	rc = rc ? rc : report_read_trace(one, err);
	if (rc)
		return rc;
	frag_session_collect(&one->session, false);
	options = sim_options(one);
	rc = frag_answers_find(&one->answers, &one->session, &options, err);
	return rc ? rc : frag_drawing_section(&one->drawing, &one->session, one->trace,
					      one->answers.tape, section, err);
}

static void report_fini(struct one *one)
{
	frag_drawing_fini(&one->drawing);
	for (uint32_t i = 0; i < one->session.sim_count; i++)
		frag_sim_del(one->session.sims[i]);
	frag_session_fini(&one->session);
	frag_answers_fini(&one->answers);
	frag_devices_fini(&one->devices);
	frag_trace_close(one->trace);
	frag_configured_fini(&one->configured);
	for (uint32_t i = 0; !one->r->has_policies && i < one->options.choice_count; i++)
		frag_choice_fini(&one->options.choices[i]);
	if (!one->r->has_policies)
		free(one->options.choices);
}

static int do_traces(struct reporting *r, char *const *paths, int count, struct frag_error *err)
{
	int rc = 0;

	r->sections = calloc((size_t)count, sizeof(*r->sections));
	if (!r->sections)
		return frag_fail_nomem(err);
	for (int i = 0; i < count && !rc; i++) {
		struct one one = { .r = r, .options = r->options };

		rc = do_trace(&one, paths[i], &r->sections[i], err);
		r->section_count = (uint32_t)i + 1;
		report_fini(&one);
	}
	return rc;
}

static int write_file(struct reporting *r, struct frag_outfile *f, const char *path,
		      struct frag_error *err)
{
	int rc;

	if (!path)
		return 0;
	rc = frag_outfile_open(f, path, err);
	if (!rc && f == &r->page)
		rc = frag_page_write(r->sections, r->section_count, r->command, f, err);
	else if (!rc)
		rc = frag_page_write_svg(r->sections, r->section_count, f, err);
	return rc ? rc : frag_outfile_finish(f, err);
}

/* The page and the picture are the outputs, all traces inputs. */
static int report_check(struct reporting *r, const struct frag_args *args, struct frag_error *err)
{
	const char *const *paths = (const char *const *)args->words;
	struct frag_files files = { .input_count = 0 };
	int rc;

	if (!r->html && !r->svg)
		return frag_usage(args->cmd, "where to? -o FILE", err);
	if (r->html && r->svg && strcmp(r->html, r->svg) == 0)
		return frag_fail(err, FRAG_EUSAGE, "%s: two outputs to one file", r->html);
	frag_files_read(&files, paths, args->count, "the trace");
	frag_files_write(&files, r->html);
	frag_files_write(&files, r->svg);
	rc = frag_files_check(&files, args->cmd, err);
	if (rc)
		return rc;
	rc = frag_run_options_check(&r->options, args->cmd, err);
	r->has_policies = r->options.choice_count > 0;
	/* the answers are searched for as for any page, and nothing is charted */
	r->options.report = false;
	r->options.html = r->html ? r->html : r->svg;
	return rc ? rc : frag_run_read_profile(&r->options, err);
}

static int report_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct reporting *r = own;
	struct frag_outfile *files[] = { &r->page, &r->picture };
	int rc = report_check(r, args, err);

	r->command = args->line;
	rc = rc ? rc : do_traces(r, args->words, (int)args->count, err);
	rc = rc ? rc : write_file(r, &r->page, r->html, err);
	rc = rc ? rc : write_file(r, &r->picture, r->svg, err);
	return rc ? rc : frag_outfile_commit_all(files, 2, err);
}

static void reporting_fini(void *own)
{
	struct reporting *r = own;

	frag_outfile_abandon(&r->page);
	frag_outfile_abandon(&r->picture);
	for (uint32_t i = 0; i < r->section_count; i++)
		frag_page_section_fini(&r->sections[i]);
	free(r->sections);
}

const struct frag_cmd frag_cmd_report = {
	.name = "report",
	.job = FRAG_JOB_HOLDERS,
	.args = "[options] TRACE...",
	.summary = "write an HTML report",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACES | FRAG_NEEDS_RUN,
	.size = sizeof(struct reporting),
	.exec = report_exec,
	.fini = reporting_fini,
};
