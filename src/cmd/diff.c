/* diff.c - fragsim diff: policies and runs compared, and held to conditions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/diff_answer.h"
#include "base/atomic_file.h"
#include "cmd/answer_page.h"
#include "cmd/diff_options.h"
#include "cmd/interrupt.h"
#include "cmd/loaded_trace.h"
#include "cmd/progress.h"
#include "compare/policy_matrix.h"
#include "documents/documents.h"
#include "fragsim/version.h"
#include "search/fit_all.h"

struct frag_diff_outputs {
	struct frag_outfile files[FRAG_DIFF_OUTPUTS_MAX + 1];   /* the baseline is the last */
};

/* Opens all that is required, so that what cannot be written is known before the work. */
int frag_diff_outputs_open(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			   struct frag_error *err);

/*
 * Writes all files and standard output, then renames the files to their final names. page: of
 * --html.
 */
int frag_diff_outputs_write(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			    struct frag_diff *diff, struct frag_answer_page *page,
			    struct frag_error *err);

/* Leaves no file behind that was not committed. */
void frag_diff_outputs_fini(struct frag_diff_outputs *outputs);

#define BASELINE FRAG_DIFF_OUTPUTS_MAX          /* its place among the files */

static int open_file(struct frag_diff_outputs *outputs, uint32_t i, const char *path,
		     struct frag_error *err)
{
	frag_register_partial_file(&outputs->files[i]);
	return frag_outfile_open(&outputs->files[i], path, err);
}

int frag_diff_outputs_open(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			   struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->output_count && !rc; i++)
		rc = open_file(outputs, i, o->outputs[i].path, err);
	if (!rc && o->update)
		rc = open_file(outputs, BASELINE, o->baseline, err);
	return rc;
}

/* A comparison as an answer of a page. */
static int print_answer(const void *what, const struct frag_text_style *paper, FILE *f,
			struct frag_error *err)
{
	(void)paper;
	return frag_diff_text.print(what, f, err);
}

static const struct frag_format answer = { .name = "text", .print = print_answer };

static int print_page(struct frag_outfile *to, struct frag_answer_page *page,
		      const struct frag_diff *diff, struct frag_error *err)
{
	static const struct frag_text_style plain = { .columns = 0 };
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	page->text = &answer;
	page->what = diff;
	rc = frag_redraw_page.print(page, &plain, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

/* What print makes, to the file. A baseline is one where format is NULL. */
static int print_into(struct frag_outfile *to, const struct frag_diff_format *format,
		      const struct frag_diff *diff, struct frag_error *err)
{
	FILE *f = frag_outfile_stream(to);
	int rc;

	if (!f)
		return frag_outfile_status(to, err);
	rc = format ? format->print(diff, f, err)
		    : frag_baseline_write(&diff->comparison->now, f, err);
	frag_outfile_stream_end(to, f);
	return rc ? rc : frag_outfile_finish(to, err);
}

/* Text where nothing else was requested. */
static int print_standard(const struct frag_diff_options *o, struct frag_diff *diff,
			  struct frag_error *err)
{
	const struct frag_diff_format *format = o->format ? o->format : &frag_diff_text;
	struct frag_outfile standard;
	int rc;

	for (uint32_t i = 0; i < o->output_count; i++)
		if (strcmp(o->outputs[i].path, "-") == 0)
			return 0;
	if (format == &frag_diff_text && o->run.quiet)
		return 0;
	rc = frag_outfile_open(&standard, "-", err);
	if (rc)
		return rc;
	diff->colour = frag_terminal_colour(frag_terminal_columns(STDOUT_FILENO));
	rc = print_into(&standard, format, diff, err);
	diff->colour = false;
	frag_outfile_abandon(&standard);
	return rc;
}

int frag_diff_outputs_write(struct frag_diff_outputs *outputs, const struct frag_diff_options *o,
			    struct frag_diff *diff, struct frag_answer_page *page,
			    struct frag_error *err)
{
	struct frag_outfile *files[BASELINE + 1];
	int rc = 0;

	for (uint32_t i = 0; i < o->output_count && !rc; i++)
		rc = o->outputs[i].format
			? print_into(&outputs->files[i], o->outputs[i].format, diff, err)
			: print_page(&outputs->files[i], page, diff, err);
	if (!rc && diff->updated)
		rc = print_into(&outputs->files[BASELINE], NULL, diff, err);
	else
		frag_outfile_abandon(&outputs->files[BASELINE]);
	rc = rc ? rc : print_standard(o, diff, err);
	for (uint32_t i = 0; i <= BASELINE; i++)
		files[i] = &outputs->files[i];
	return rc ? rc : frag_outfile_commit_all(files, BASELINE + 1, err);
}

void frag_diff_outputs_fini(struct frag_diff_outputs *outputs)
{
	for (uint32_t i = 0; i <= BASELINE; i++)
		frag_outfile_abandon(&outputs->files[i]);
	frag_register_partial_file(NULL);
}

struct diff {
	struct frag_diff_options options;
	struct frag_comparison comparison;
	struct frag_gate gate;
	struct frag_diff_outputs outputs;
	struct frag_progress progress;
	struct frag_answer_page redraw;      /* of the page, where there is --html */
};

/* The line of the progress, where there is one, gives way. */
static void warn(void *ctx, const char *message)
{
	struct diff *d = ctx;

	frag_progress_end(&d->progress);
	frag_warn(&d->options.run.quiet, message);
}

static void show_progress(void *ctx, uint32_t done, uint32_t count)
{
	struct diff *d = ctx;

	frag_progress_count(&d->progress, "traces", done, count);
}

/* Of each run of the trace, which is read again without its warnings. */
static int find_smallest(struct diff *d, uint32_t index, struct frag_runs *runs,
			 struct frag_error *err)
{
	struct frag_run_options run = d->options.run;
	struct frag_loaded_trace taped = { .trace = NULL };
	struct frag_fit_source source;
	struct frag_fits fits = {
		.sources = &source, .source_count = 1, .choice_count = run.choice_count,
		.threads = d->options.trace_count > 1 ? 1 : run.threads, .apart = true,
		.stop = frag_interrupted,
	};
	int rc;

	run.quiet = true;
	rc = frag_taped_read(&taped, &d->options.traces[index], 1, &run, frag_usual_settings, err);
	if (!rc) {
		source = (struct frag_fit_source){
			.tape = taped.tape, .choices = taped.choices,
			.devices = taped.devices.figures,
		};
		rc = frag_fits_run(&fits, err);
	}
	/* a run for each policy and device, in that order: as fits are */
	for (uint32_t i = 0; i < fits.count && i < runs->count && !rc; i++)
		runs->run[i].result.smallest = fits.fitted[i].fit.smallest;
	frag_fits_fini(&fits);
	frag_taped_close(&taped, 1);
	return rc;
}

static int trace_done(void *ctx, uint32_t index, struct frag_runs *runs, struct frag_error *err)
{
	struct diff *d = ctx;
	const int rc = d->options.smallest ? find_smallest(d, index, runs, err) : 0;

	return rc ? rc : frag_comparison_trace(&d->comparison, index, runs, err);
}

/*
 * An interruption leaves a comparison of what was done until then, which is
 * reported; any other failure leaves none.
 */
static int simulate(struct diff *d, struct frag_error *err)
{
	const struct frag_run_options *run = &d->options.run;
	const struct frag_sweep sweep = {
		.traces = d->options.traces, .trace_count = d->options.trace_count,
		.choices = run->choices, .choice_count = run->choice_count, .sim = run->sim,
		.total = run->total, .context = run->context, .other = run->other,
		.granularity = run->granularity, .lenient = run->lenient,
		.like = run->profile_path ? &run->profile.figures : NULL,
		.threads = run->threads, .log = { .warn = warn, .ctx = d },
		.stop = frag_interrupted, .progress = show_progress, .done = trace_done, .ctx = d,
	};
	struct frag_comparison *c = &d->comparison;
	int rc = frag_comparison_begin(c, sweep.trace_count, err);

	if (rc)
		return rc;
#define X(name)                                                               \
	c->now.given.has_##name = run->name != UINT64_MAX;                    \
	c->now.given.name = run->name;
	FRAG_GIVEN(X)
#undef X
	frag_progress_begin(&d->progress, !run->quiet);
	rc = frag_sweep_run(&sweep, &c->now, err);
	frag_progress_end(&d->progress);
	c->interrupted = rc == -FRAG_EINTERRUPTED;
	if (rc && !c->interrupted)
		return rc;
	return frag_comparison_end(c, false, err);
}

/* The baseline; one that is to be written need not be there yet. */
static int read_baseline(struct diff *d, struct frag_error *err)
{
	const char *path = d->options.baseline;

	if (access(path, F_OK) == 0 || strcmp(path, "-") == 0)
		return frag_read_runs(&d->comparison.base, path, err);
	if (!d->options.update)
		return frag_fail(err, FRAG_ETRACE, "%s: there is no such file; --update-baseline"
				 " makes it", path);
	d->comparison.base.path = strdup(path);
	d->comparison.base.version = strdup(FRAG_VERSION);
	return d->comparison.base.path && d->comparison.base.version ? 0 : frag_fail_nomem(err);
}

/*
 * Two files are read and compared; otherwise the policies are simulated now,
 * against a baseline or among themselves. Outputs are opened before anything long
 * begins, so that a bad path costs no time.
 */
static int compare(struct diff *d, const struct frag_cmd *cmd, struct frag_error *err)
{
	struct frag_diff_options *o = &d->options;
	struct frag_comparison *c = &d->comparison;
	int rc = 0;

	if (o->files) {
		rc = frag_read_runs(&c->base, o->traces[0], err);
		rc = rc ? rc : frag_read_runs(&c->now, o->traces[1], err);
		rc = rc ? rc : frag_diff_outputs_open(&d->outputs, o, err);
		return rc ? rc : frag_comparison_files(c, err);
	}
	rc = frag_run_read_profile(&o->run, err);
	if (rc)
		return rc;
	c->policies = !o->baseline;
	if (o->baseline) {
		rc = read_baseline(d, err);
		rc = rc ? rc : frag_diff_options_complete(o, cmd, &c->base, err);
	}
	rc = rc ? rc : frag_diff_outputs_open(&d->outputs, o, err);
	return rc ? rc : simulate(d, err);
}

/* One trace under all policies, as it was compared. */
static int draw_trace(struct diff *d, const char *path, struct frag_error *err)
{
	struct frag_run_options run = d->options.run;
	struct frag_loaded_trace taped = { .choice_count = 0 };
	struct frag_devices devices = { .count = 0 };
	struct frag_redrawn x = { .sim_count = 0 };
	int rc;

	/* it has warned before */
	run.quiet = true;
	rc = frag_taped_read(&taped, &path, 1, &run, NULL, err);
	rc = rc ? rc : frag_run_devices(&run, taped.trace, &devices, err);
	rc = rc ? rc : frag_redrawn_begin(&x, &taped, err);
	x.sim = &run.sim;
	for (uint32_t i = 0; i < run.choice_count && !rc; i++)
		rc = frag_redrawn_run(&x, &taped.choices[i], devices.figures, err);
	rc = rc ? rc : frag_redrawn_end(&x, &d->redraw, err);
	frag_redrawn_fini(&x);
	frag_devices_fini(&devices);
	frag_taped_close(&taped, 1);
	return rc;
}

/* Reads and simulates the compared traces again: a comparison keeps their metrics only. */
static int draw(struct diff *d, struct frag_error *err)
{
	int rc = frag_redraw_room(&d->redraw, d->options.trace_count, err);

	for (uint32_t i = 0; i < d->options.trace_count && !rc; i++)
		rc = draw_trace(d, d->options.traces[i], err);
	return rc;
}

/* What broke, for who does not see the text. */
static void report_broken(const struct diff *d)
{
	const struct frag_diff_format *format = d->options.format;
	char name[1024];

	if (!d->options.run.quiet && (!format || format == &frag_diff_text))
		return;
	for (uint32_t i = 0; i < d->gate.count; i++) {
		frag_pair_name(name, sizeof(name), d->gate.broken[i].group, d->gate.broken[i].pair);
		frag_print_message("%s: %s", name, frag_broken_text(&d->gate.broken[i]));
	}
}

/*
 * After an interruption or an update nothing is judged: the first is incomplete,
 * the second is the new measure.
 */
static int report(struct diff *d, int *status, struct frag_error *err)
{
	const struct frag_comparison *c = &d->comparison;
	const struct frag_outcome outcome = frag_comparison_outcome(c);
	const bool judged = !d->options.update && !c->interrupted;
	struct frag_diff diff = {
		.comparison = c, .gate = &d->gate, .outcome = &outcome,
		.updated = d->options.update && !c->interrupted,
	};
	struct frag_policy_summary *standings = frag_comparison_standings(c, &diff.standing_count);
	int rc = standings ? 0 : frag_fail_nomem(err);

	diff.standings = standings;
	if (!rc && judged) {
		d->gate.conditions = d->options.run.conditions;
		d->gate.condition_count = d->options.run.condition_count;
		d->gate.same_traces = d->options.gate;
		d->gate.new_traces = d->options.new_traces;
		rc = frag_gate_judge(&d->gate, c, err);
	}
	d->redraw.bad = d->gate.count > 0;
	if (!rc && d->options.run.html && !c->interrupted)
		rc = draw(d, err);
	rc = rc ? rc : frag_diff_outputs_write(&d->outputs, &d->options, &diff, &d->redraw, err);
	free(standings);
	if (!rc) {
		report_broken(d);
		*status = d->gate.count ? 1 : 0;
	}
	if (!rc && c->interrupted)
		rc = frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return rc;
}

static void diff_init(void *own)
{
	struct diff *d = own;

	d->options.run.has_base = true;
}

static int diff_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct diff *d = own;
	int rc = frag_diff_options_check(&d->options, args->cmd, args->words, (int)args->count,
					 err);

	d->redraw.command = args->line;
	if (!rc && d->options.change) {
		d->options.trace_change.page = &d->redraw;
		return frag_trace_change_run(&d->options.trace_change, args->cmd, args->status,
					     err);
	}
	rc = rc ? rc : compare(d, args->cmd, err);
	return rc ? rc : report(d, args->status, err);
}

/*
 * The parts are released here whatever failed; each can be released as it was
 * initialized.
 */
static void diff_fini(void *own)
{
	struct diff *d = own;

	frag_diff_outputs_fini(&d->outputs);
	frag_redraw_fini(&d->redraw);
	frag_gate_fini(&d->gate);
	frag_comparison_fini(&d->comparison);
	frag_diff_options_fini(&d->options);
}

const struct frag_cmd frag_cmd_diff = {
	.name = "diff",
	.job = FRAG_JOB_CI,
	.args = "[options] OLD NEW; or -p POLICY... TRACE...; or BASE.json NEW.json",
	.summary = "compare traces, policies, or a run with a baseline",
	.opts = frag_diff_opts,
	.needs = FRAG_NEEDS_RUN,
	.size = sizeof(struct diff),
	.init = diff_init,
	.foreign = frag_run_foreign,
	.exec = diff_exec,
	.fini = diff_fini,
};
