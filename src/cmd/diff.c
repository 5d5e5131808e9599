/* diff.c - fragsim diff: policies and runs compared, and held to conditions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/account_answer.h"
#include "answers/answers.h"
#include "answers/diff_answer.h"
#include "cmd/diff_traces.h"
#include "documents/documents.h"
#include "events/resolve.h"
#include "fragsim/version.h"
#include "messages/message_log.h"
#include "verify/log_check.h"

struct diff {
	struct frag_changes changes;    /* whose question is that of every comparison */
	const char *baseline;           /* path; NULL: none */
	bool update, gate;
	bool smallest;                  /* the smallest device of each run is searched for */
	const char **traces;            /* of the baseline, where no operand is one */
	struct frag_comparison comparison;
	struct frag_gate judged;
	struct frag_account_changes accounts;   /* of two texts */
};

#define ALLOWS_NEED_GATE                                                                          \
	{ "allow-new-traces !gate !fail-if", "--allow-new-traces is for --gate or --fail-if" },     \
	{ "allow-partial !gate !fail-if", "--allow-partial is for --gate or --fail-if" },           \
	{ "allow-missing !gate !fail-if", "--allow-missing is for --gate or --fail-if" }
#define NEEDS_POLICIES "--smallest is for policies that are compared now (-p)"

/* The gate is a list of conditions that --fail-if could give, too. */
static int set_gate(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct diff *d = at;
	struct frag_run_options *run = at;
	uint32_t written = run->condition_count;
	int rc = 0;

	(void)o;
	(void)value;
	for (uint32_t i = 0; frag_gate_defaults[i] && !d->gate && !rc; i++)
		rc = frag_run_add_condition(run, NULL, frag_gate_defaults[i], err);
	for (; written < run->condition_count; written++)
		run->conditions[written].implied = run->conditions[written].of_gate = true;
	d->gate = true;
	return rc;
}

static const struct frag_opt of_change = { .name = "fail-if", .words = frag_change_paths };

/* Conditions on a change of one trace are kept apart from those on runs. */
static int add_condition(void *at, const struct frag_opt *o, const char *value,
			 struct frag_error *err)
{
	struct frag_question *q = at;

	(void)o;
	if (strncmp(value, "change.", strlen("change.")) == 0
	    || strncmp(value, "reserved.", strlen("reserved.")) == 0)
		return frag_conditions_set(&q->conditions, &of_change, value, err);
	return frag_run_add_condition(&q->run, NULL, value, err);
}

static const struct frag_opt opts[] = {
	FRAG_POLICY_ROWS("a policy to simulate, NAME[:key=value,...]; repeatable"),
	{ 0, "smallest", NULL, "search for the smallest device of each run too, as fit does",
	  FRAG_FLAG(struct diff, smallest) },
	{ 'b', "baseline", "FILE", "compare what is simulated now with this",
	  FRAG_INPUT(struct diff, baseline, "the baseline") },
	{ 0, "update-baseline", NULL, "write what is simulated now to the baseline",
	  FRAG_FLAG(struct diff, update) },
	{ 0, "gate", NULL, "exit with 1 if it got worse: conditions for CI, printed",
	  FRAG_CALL(set_gate) },
	{ 0, "allow-new-traces", NULL, "a trace that is new, or has changed, breaks no --gate",
	  FRAG_FLAG(struct frag_changes, new_traces) },
	{ 0, "allow-missing", NULL, "what OLD or the baseline has and NEW lacks breaks no --gate",
	  FRAG_FLAG(struct frag_changes, missing) },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'peak.reserved > +2%'; repeatable",
	  FRAG_CALL(add_condition) },
	FRAG_PARTIAL_ROW,
	FRAG_FORMAT_ROW("text, markdown, json, junit, github, csv or html (text)"),
	FRAG_OUTPUT_ROW("write it to a file too, .txt, .md, .json, .xml (JUnit), .csv or .html; repeatable"),
	FRAG_JSON_ROW("write it as JSON (- is standard output)"),
	FRAG_TOP_ROW(FRAG_TOP_HELP),
	FRAG_COLOR_ROW,
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_ON_OOM_ROW,
	FRAG_LENIENT_ROW,
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS,
	FRAG_THREADS_ROW("threads for traces and policies (0: one a processor)"),
	{ 0 },
};

/* A condition other than those of --gate. */
static bool has_own_condition(const struct diff *d)
{
	const struct frag_run_options *run = &d->changes.q.run;

	for (uint32_t i = 0; i < run->condition_count; i++)
		if (!run->conditions[i].of_gate)
			return true;
	return false;
}

/*
 * A single policy without a baseline has no changes. Refuses conditions on changes, and --gate
 * unless another condition can be judged.
 */
static int check_single(const struct diff *d, struct frag_error *err)
{
	const struct frag_run_options *run = &d->changes.q.run;
	int rc = 0;

	for (uint32_t i = 0; i < run->condition_count && !rc; i++)
		if (!run->conditions[i].of_gate)
			rc = frag_condition_absolute(&run->conditions[i], err);
	return rc || !d->gate || has_own_condition(d) ? rc
		: frag_usage(d->changes.q.cmd, "--gate has nothing to compare: one policy and no baseline;"
			     " add --baseline FILE or a second --policy", err);
}

/*
 * Two traces, with at most one policy and no other job for diff, are OLD and NEW: one recording
 * is compared with the other.
 */
static bool is_change(const struct diff *d, const struct frag_args *args)
{
	const uint32_t policies = d->changes.q.run.choice_count;

	return args->count == 2 && policies <= 1 && !d->baseline && !d->update && !d->smallest
	       && (!has_own_condition(d) || !policies)
	       && !frag_may_have_runs(args->words[0]) && !frag_may_have_runs(args->words[1]);
}

/* Of two traces, and of all else. */
static const struct frag_refusal of_changes[] = {
	{ "device|context-bytes|other-bytes|profile", "two traces are compared on an unlimited device;"
	  " options about a device need a second policy (-p)" },
	ALLOWS_NEED_GATE,
	{ 0 },
};
static const struct frag_refusal of_runs[] = {
	{ "update-baseline !baseline", "--update-baseline requires --baseline FILE" },
	{ "update-baseline baseline=-", "a baseline on standard input cannot be written" },
	ALLOWS_NEED_GATE,
	{ "update-baseline gate|fail-if", "--update-baseline judges nothing: leave --gate and --fail-if"
					  " out" },
	{ "!policy !alloc-conf !baseline !TRACE2|TRACE3",
	  "which policies (-p) on which traces, or which two results?" },
	{ "profile !policy !alloc-conf !baseline", "--profile is for what is simulated now (-p)" },
	{ "smallest baseline", NEEDS_POLICIES },
	{ "smallest !policy !alloc-conf", NEEDS_POLICIES },
	{ "smallest -", "--smallest reads a trace twice, and standard input can be read only once" },
	{ "policy !baseline !TRACE", "missing argument: TRACE" },
	{ 0 },
};

static int changes_check(struct frag_question *q, struct frag_error *err)
{
	const struct diff *d = (struct diff *)q;

	if (has_own_condition(d))
		return frag_usage(q->cmd, "two traces without a policy (-p) have the conditions"
				  " change.reserved, change.version, change.settings,"
				  " change.requested, change.rounding and change.fragmentation", err);
	return d->gate ? frag_conditions_set(&q->conditions, &of_change, "change.reserved > 0", err)
		       : 0;
}

static bool simulates(const struct diff *d)
{
	return d->changes.q.run.choice_count || d->changes.q.run.settings.count || d->baseline;
}

/* Everything that can be wrong with the command line is found before a trace is read. */
static int diff_check(struct frag_question *q, struct frag_error *err)
{
	struct diff *d = (struct diff *)q;

	if (q->conditions.count)
		return frag_usage(q->cmd, "--fail-if 'change...' is for two traces, OLD and NEW, with"
				  " one policy at most", err);
	return q->run.settings.count && !q->run.choice_count && !d->baseline
		       ? frag_run_add_policy(&q->run, NULL, "pytorch", err) : 0;
}

static int diff_choose(struct frag_question *q, struct frag_error *err)
{
	struct diff *d = (struct diff *)q;
	int rc = 0;

	if (simulates(d) && !(q->run.settings.count && !q->run.choice_count))
		rc = frag_run_settings(&q->run, true, err);
	return rc || !simulates(d) || d->baseline || q->run.choice_count > 1 ? rc
		: check_single(d, err);
}

static bool has_policy(const struct frag_run_options *run, const char *text)
{
	for (uint32_t i = 0; i < run->choice_count; i++)
		if (strcmp(run->choices[i].text, text) == 0)
			return true;
	return false;
}

static int add_policies(struct frag_run_options *run, const struct frag_run_set *base,
			struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < base->count; i++)
		for (uint32_t k = 0; k < base->trace[i].count && !rc; k++)
			if (!has_policy(run, base->trace[i].run[k].policy))
				rc = frag_run_add_policy(run, NULL, base->trace[i].run[k].policy, err);
	return rc;
}

/*
 * What was not given comes from the baseline: policies, values of the device, traces. So a bare
 * --baseline repeats the runs that it was made of.
 */
static int complete(struct diff *d, const struct frag_run_set *base, struct frag_error *err)
{
	struct frag_question *q = &d->changes.q;
	int rc = 0;

	if (!q->run.choice_count) {
		rc = add_policies(&q->run, base, err);
		rc = rc ? rc : frag_run_settings(&q->run, true, err);
	}
#define X(name)                                                               \
	if (q->run.name == UINT64_MAX && base->given.has_##name)              \
		q->run.name = base->given.name;
	FRAG_GIVEN(X)
#undef X
	if (!q->count) {
		d->traces = calloc((size_t)base->count + 1, sizeof(*d->traces));
		if (!d->traces)
			return frag_fail_nomem(err);
		for (; q->count < base->count; q->count++)
			d->traces[q->count] = base->trace[q->count].path;
		q->paths = d->traces;
	}
	if (!rc && (!q->run.choice_count || !q->count))
		rc = frag_usage(q->cmd, "the baseline has no runs: add policies (-p) and traces",
				err);
	return rc ? rc : frag_question_check_files(q, err);
}

/* The line of the progress, where there is one, gives way. */
static void warn(void *ctx, const char *message)
{
	struct diff *d = ctx;

	frag_progress_end(&d->changes.q.progress);
	frag_warn(&d->changes.q.run.quiet, message);
}

/* Of each run of the trace, which is read again without its warnings. */
static int find_smallest(struct diff *d, uint32_t index, struct frag_runs *runs,
			 struct frag_error *err)
{
	const struct frag_run_options *run = &d->changes.q.run;
	struct frag_loaded_trace taped = { .trace = NULL };
	struct frag_fit_source source;
	struct frag_fits fits = {
		.sources = &source, .source_count = 1, .choice_count = run->choice_count,
		.separate = true,
		.job = { .stop = frag_interrupted,
			 .threads = d->changes.q.count > 1 ? 1 : run->threads },
	};
	int rc = frag_question_read_again(&d->changes.q, index, NULL, false, &taped, err);

	if (!rc) {
		source = frag_taped_source(&taped, taped.tape);
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
	const int rc = d->smallest ? find_smallest(d, index, runs, err) : 0;

	return rc ? rc : frag_comparison_trace(&d->comparison, index, runs, err);
}

/*
 * An interruption leaves a comparison of what was done until then, which is
 * reported; any other failure leaves none.
 */
static int simulate(struct frag_question *q, struct frag_error *err)
{
	struct diff *d = (struct diff *)q;
	const struct frag_run_options *run = &q->run;
	const struct frag_sweep sweep = {
		.traces = q->paths, .trace_count = q->count,
		.choices = run->choices, .choice_count = run->choice_count, .sim = run->sim,
		.total = run->total, .context = run->context, .other = run->other,
		.card_context = frag_run_card_context(run),
		.granularity = run->granularity, .lenient = run->lenient,
		.like = run->profile_path ? &run->profile.figures : NULL,
		.job = frag_question_job(q, frag_interrupted), .log = { .warn = warn, .ctx = d },
		.opened = frag_check_log_warn, .done = trace_done, .ctx = d,
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
	rc = frag_sweep_run(&sweep, &c->now, err);
	c->interrupted = rc == -FRAG_EINTERRUPTED;
	if (rc && !c->interrupted)
		return rc;
	/* of an interruption nothing is judged, and what it came before is not missing */
	rc = frag_comparison_end(c, run->condition_count && !d->update && !c->interrupted, err);
	return rc || !c->interrupted ? rc : frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
}

/* The baseline; one that is to be written need not be there yet. */
static int read_baseline(struct diff *d, struct frag_error *err)
{
	const char *path = d->baseline;

	if (access(path, F_OK) == 0 || strcmp(path, "-") == 0)
		return frag_read_runs(&d->comparison.base, path, err);
	if (!d->update)
		return frag_fail(err, FRAG_ETRACE, "%s: there is no such file; --update-baseline"
				 " makes it", path);
	d->comparison.base.path = strdup(path);
	d->comparison.base.version = strdup(FRAG_VERSION);
	return d->comparison.base.path && d->comparison.base.version ? 0 : frag_fail_nomem(err);
}

/* Reads what there is before anything long begins. */
static int diff_open(struct frag_question *q, struct frag_error *err)
{
	struct diff *d = (struct diff *)q;
	struct frag_comparison *c = &d->comparison;
	int rc;

	if (!simulates(d)) {
		rc = frag_read_runs(&c->base, q->paths[0], err);
		return rc ? rc : frag_read_runs(&c->now, q->paths[1], err);
	}
	c->policies = !d->baseline;
	if (!d->baseline)
		return 0;
	rc = read_baseline(d, err);
	rc = rc ? rc : complete(d, &c->base, err);
	if (d->update)
		q->extra_path = d->baseline;
	return rc;
}

/* A trace under all policies, as it was compared: a comparison keeps their metrics only. */
static int diff_draw(void *ctx, struct frag_redrawn *x, struct frag_error *err)
{
	int rc = 0;

	x->sim = &((const struct frag_question *)ctx)->run.sim;
	for (uint32_t i = 0; i < x->taped->choice_count && !rc; i++)
		rc = frag_redrawn_run(x, &x->taped->choices[i], x->taped->devices.figures, err);
	return rc;
}

/* What broke, for who does not see the text. */
static void report_broken(const struct diff *d)
{
	const struct frag_answer_output *printed = &d->changes.q.printed;

	if (!printed->quiet && (!printed->format || printed->format == printed->formats[0]))
		return;
	for (uint32_t i = 0; i < d->judged.count; i++) {
		const struct frag_broken *b = &d->judged.broken[i];

		frag_print_message("%s: %s", PAIR_NAME(b->group, b->pair), frag_broken_text(b));
	}
}

/* What is simulated now becomes the baseline, which is committed with the answer. */
static int write_baseline(struct diff *d, struct frag_error *err)
{
	struct frag_outfile *out = &d->changes.q.extra;
	FILE *f = frag_outfile_stream(out);
	int rc;

	if (!f)
		return frag_outfile_status(out, err);
	rc = frag_baseline_write(&d->comparison.now, f, err);
	frag_outfile_stream_end(out, f);
	return rc ? rc : frag_outfile_finish(out, err);
}

/*
 * After an interruption or an update nothing is judged: the first is incomplete, the second is the
 * new measure.
 */
static int diff_print(struct frag_question *q, struct frag_error *err)
{
	struct diff *d = (struct diff *)q;
	const struct frag_comparison *c = &d->comparison;
	struct frag_diff diff = {
		.comparison = c, .gate = &d->judged, .outcome = &c->outcome,
		.standings = c->standings, .standing_count = c->standing_count,
		.updated = d->update && !c->interrupted,
	};
	int rc = 0;

	/* each row is of a run that was requested */
	q->printed.top = frag_question_top(q, FRAG_TOP_ALL);
	if (!rc && !d->update && !c->interrupted) {
		d->judged.conditions = q->run.conditions;
		d->judged.condition_count = q->run.condition_count;
		d->judged.same_traces = d->gate;
		d->judged.new_traces = d->changes.new_traces;
		d->judged.missing = d->changes.missing;
		d->judged.partial = q->run.partial;
		rc = frag_gate_judge(&d->judged, c, err);
	}
	q->redraw.bad = d->judged.count > 0;
	if (!diff.updated)
		q->printed.beside = NULL;
	else if (!rc)
		rc = write_baseline(d, err);
	rc = rc ? rc : frag_question_answer(q, &diff, err);
	if (!rc) {
		report_broken(d);
		*q->status = d->judged.count ? 1 : 0;
		/* the others are compared all the same */
		for (uint32_t i = 0; i < c->count; i++)
			for (uint32_t k = 0; k < c->group[i].count && simulates(d); k++)
				if (c->group[i].pair[k].run
				    && c->group[i].pair[k].run->result.status == FRAG_RUN_ERROR)
					*q->status = frag_error_status(-FRAG_EPOLICY);
	}
	return rc;
}

/* Policies are simulated now, and compared among themselves or with a baseline. */
static const struct frag_question_ops now = {
	.unit = "traces",
	.reads = true,
	.check = diff_check,
	.choose = diff_choose,
	.open = diff_open,
	.search = simulate,
	.draw = diff_draw,
	.print = diff_print,
};

static void diff_init(void *own)
{
	struct frag_run_options *run = own;

	run->has_base = true;
}

/* Two files of results, without a policy or a baseline, are compared without a simulation. */
static int compare_files(struct frag_question *q, struct frag_error *err)
{
	struct frag_comparison *c = &((struct diff *)q)->comparison;
	int rc = frag_comparison_begin(c, c->now.count, err);

	for (uint32_t i = 0; i < c->now.count && !rc; i++)
		rc = frag_comparison_trace(c, i, &c->now.trace[i], err);
	return rc ? rc : frag_comparison_end(c, true, err);
}

/* A page is drawn of runs, and each is simulated again for it. */
static int check_page(const struct diff *d, const struct frag_args *args, struct frag_error *err)
{
	const char *const others[] = { d->baseline, d->changes.q.run.profile_path };
	bool standard = false;

	if (!simulates(d))
		return frag_usage(args->cmd, "a page draws what is simulated now (-p)", err);
	for (uint32_t i = 0; i < args->count + 2; i++) {
		const char *path = i < 2 ? others[i] : args->words[i - 2];

		standard = standard || (path && strcmp(path, "-") == 0);
	}
	return !standard ? 0 : frag_usage(args->cmd, "a page reads what is compared twice, and standard"
					  " input can be read only once", err);
}

/* Both, or it is no comparison of texts. A file that cannot be read is refused by its reader. */
static bool are_texts(const struct frag_args *args)
{
	struct frag_error err;
	bool are = true;

	for (uint32_t i = 0; i < args->count && are; i++)
		are = !frag_is_folder(args->words[i]) && frag_is_text(args->words[i], &are, &err) == 0 && are;
	return are;
}

static int texts_read(const char *path, struct frag_accounts *to, struct frag_error *err)
{
	struct frag_message_groups groups = { .count = 0 };
	struct frag_message_log log = { .path = path, .stop = frag_interrupted, .groups = &groups };
	int rc = frag_message_log_read(&log, err);

	free(groups.groups);
	*to = groups.accounts;
	frag_accounts_derive(to);
	return rc || to->count ? rc : frag_fail(err, FRAG_ETRACE, "%s: no memory figures were found in %" PRIu64
						" line%s", frag_input_name(path), log.lines, frag_s(log.lines));
}

static int texts_search(struct frag_question *q, struct frag_error *err)
{
	struct frag_account_changes *c = &((struct diff *)q)->accounts;
	int rc = texts_read(q->paths[0], &c->old, err);

	rc = rc ? rc : texts_read(q->paths[1], &c->new, err);
	return rc ? rc : frag_accounts_compare(c, err);
}

static int texts_print(struct frag_question *q, struct frag_error *err)
{
	return frag_question_answer(q, &((struct diff *)q)->accounts, err);
}

static const struct frag_question_ops texts_ops = {
	.formats = frag_account_formats,
	.input = "the text",
	.whole = true,
	.reads = true,
	.search = texts_search,
	.print = texts_print,
};

static const struct frag_refusal of_texts[] = {
	{ "fail-if|gate|policy|alloc-conf|device|context-bytes|other-bytes|profile|allow-partial|allow-missing"
	  "|allow-new-traces", "two texts are compared by their memory figures alone" },
	{ 0 },
};

static int diff_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	const struct diff *d = own;
	const bool change = is_change(d, args);
	struct frag_question_ops ops = change ? frag_changes_ops : now;
	int rc;

	if (change && are_texts(args)) {
		rc = d->changes.q.run.html ? frag_usage(args->cmd, "a page is of traces", err)
		     : frag_refuse_options(args, of_texts, err);
		return rc ? rc : frag_question_run(own, &texts_ops, args, err);
	}
	rc = frag_refuse_options(args, change ? of_changes : of_runs, err);
	if (!rc && !change && d->changes.q.run.html)
		rc = check_page(d, args, err);
	if (change) {
		ops.check = changes_check;
	} else if (!simulates(d)) {
		ops.input = "the result";
		ops.search = compare_files;
	}
	return rc ? rc : frag_question_run(own, &ops, args, err);
}

/* Each part can be released as it was initialized, whatever failed. */
static void diff_fini(void *own)
{
	struct diff *d = own;

	free(d->judged.broken);
	free(d->judged.checked);
	frag_comparison_fini(&d->comparison);
	frag_change_fini(&d->changes.found);
	frag_rank_folder_fini(&d->changes.old);
	frag_rank_folder_fini(&d->changes.now);
	free(d->changes.pairs);
	free(d->changes.alone);
	free(d->traces);
	frag_account_changes_fini(&d->accounts);
}

const struct frag_cmd frag_cmd_diff = {
	.name = "diff",
	.group = FRAG_GROUP_CI,
	.args = "[options] OLD NEW; or -p POLICY... TRACE...; or BASE.json NEW.json",
	.summary = "compare traces, policies, or a run with a baseline",
	.opts = opts,
	.needs = FRAG_NEEDS_ANSWER,
	.formats = frag_diff_formats,
	.size = sizeof(struct diff),
	.init = diff_init,
	.foreign = frag_run_foreign,
	.exec = diff_exec,
	.fini = diff_fini,
};
