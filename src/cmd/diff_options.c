/* diff_options.c - the options of fragsim diff. */
#include "cmd/diff_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/answers.h"
#include "base/array_grow.h"
#include "base/names.h"
#include "cmd/output_formats.h"

void frag_diff_options_fini(struct frag_diff_options *o)
{
	frag_trace_change_fini(&o->trace_change);
	free(o->traces);
}

static const struct frag_diff_format *find_format(const char *name, size_t length)
{
	for (uint32_t i = 0; frag_diff_formats[i]; i++)
		if (strlen(frag_diff_formats[i]->name) == length
		    && memcmp(frag_diff_formats[i]->name, name, length) == 0)
			return frag_diff_formats[i];
	return NULL;
}

static int no_format(const char *option, const char *value, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; frag_diff_formats[i]; i++)
		frag_listed_add(&names, frag_diff_formats[i]->name);
	return frag_fail(err, FRAG_EUSAGE, "%s %.60s: use %s", option, value,
			 frag_listed_text(&names, " or "));
}

static int add_file(struct frag_diff_options *o, const char *option, const char *value,
		    const struct frag_diff_format *format, const char *path, struct frag_error *err)
{
	if (o->output_count == FRAG_DIFF_OUTPUTS_MAX)
		return frag_fail(err, FRAG_EUSAGE, "--%s %.60s: at most %d are possible", option,
				 value, FRAG_DIFF_OUTPUTS_MAX);
	o->outputs[o->output_count++] = (struct frag_diff_output){
		.format = format, .path = path,
	};
	return 0;
}

static int add_output(void *at, const struct frag_opt *opt, const char *value,
		      struct frag_error *err)
{
	struct frag_diff_options *o = at;
	const struct frag_output_name name = frag_output_named(value);
	const struct frag_diff_format *format = NULL;

	(void)opt;
	if (strcmp(name.format, "html") == 0) {
		o->run.html = name.path;
		return 0;
	}
	if (*name.format)
		format = find_format(name.format, strlen(name.format));
	if (*name.format && !format)
		return no_format("--output", value, err);
	return add_file(o, "output", value, format, name.path, err);
}

/* The gate is a list of conditions that --fail-if could give, too. */
static int set_gate(void *at, const struct frag_opt *opt, const char *value,
		    struct frag_error *err)
{
	struct frag_diff_options *o = at;
	uint32_t written = o->run.condition_count;
	int rc = 0;

	(void)opt;
	(void)value;
	for (uint32_t i = 0; frag_gate_defaults[i] && !o->gate && !rc; i++)
		rc = frag_run_condition(&o->run, frag_gate_defaults[i], err);
	for (; written < o->run.condition_count; written++)
		o->run.conditions[written].implied = o->run.conditions[written].of_gate = true;
	o->gate = true;
	return rc;
}

static int set_format(void *at, const struct frag_opt *opt, const char *value,
		      struct frag_error *err)
{
	struct frag_diff_options *o = at;

	(void)opt;
	o->format = find_format(value, strlen(value));
	return o->format ? 0 : no_format("--format", value, err);
}

static int add_json(void *at, const struct frag_opt *opt, const char *value,
		    struct frag_error *err)
{
	return add_file(at, opt->name, value, find_format("json", strlen("json")), value, err);
}

/* Conditions on a change of one trace are kept apart from those on runs. */
static int add_condition(void *at, const struct frag_opt *opt, const char *value,
			 struct frag_error *err)
{
	struct frag_diff_options *o = at;

	(void)opt;
	if (strncmp(value, "change.", strlen("change.")) == 0
	    || strncmp(value, "reserved.", strlen("reserved.")) == 0)
		return frag_conditions_add(&o->trace_change.conditions, value,
					   frag_trace_change_paths, err);
	return frag_run_condition(&o->run, value, err);
}

const struct frag_opt frag_diff_opts[] = {
	FRAG_POLICY_ROW(0, "a policy to simulate, NAME[:key=value,...]; repeatable"),
	FRAG_ALLOC_CONF_ROW(0, FRAG_ALLOC_CONF_HELP),
	{ 0, "smallest", NULL, "search for the smallest device of each run too, as fit does",
	  FRAG_FLAG(struct frag_diff_options, smallest) },
	{ 'b', "baseline", "FILE", "compare what is simulated now with this",
	  FRAG_TEXT(struct frag_diff_options, baseline) },
	{ 0, "update-baseline", NULL, "write what is simulated now to the baseline",
	  FRAG_FLAG(struct frag_diff_options, update) },
	{ 0, "gate", NULL, "exit with 1 if it got worse: conditions for CI, printed",
	  FRAG_CALL(set_gate) },
	{ 0, "allow-new-traces", NULL, "a trace that is new, or has changed, breaks no --gate",
	  FRAG_FLAG(struct frag_diff_options, new_traces) },
	{ 0, "fail-if", "CONDITION", "exit with 1 if it is true: 'peak.reserved > +2%'; repeatable",
	  FRAG_CALL(add_condition) },
	{ 0, "format", "FORMAT", "text, markdown, json, junit, github or csv (text)",
	  FRAG_CALL(set_format) },
	{ 'o', "output", "FILE", "write it to a file too, .txt, .md, .json, .xml (JUnit) or .csv;"
	  " repeatable", FRAG_CALL(add_output) },
	{ 0, "json", "FILE", "write it as JSON (- is standard output)", FRAG_CALL(add_json) },
	FRAG_HTML_ROW,
	FRAG_COLOR_ROW,
	FRAG_QUIET_ROW("no text, warnings or progress"),
	FRAG_ON_OOM_ROW(0),
	FRAG_LENIENT_ROW(0),
	FRAG_PROFILE_ROW,
	FRAG_DEVICE_ROWS(0),
	FRAG_THREADS_ROW("threads for traces and policies (0: one a processor)"),
	{ 0 },
};

static int add_trace(struct frag_diff_options *o, const char *path, struct frag_error *err)
{
	if (!frag_grow(&o->traces, &o->trace_capacity, (uint64_t)o->trace_count + 1,
		       sizeof(*o->traces)))
		return frag_fail_nomem(err);
	o->traces[o->trace_count++] = path;
	return 0;
}

static int add_page(struct frag_diff_options *o, struct frag_error *err)
{
	if (o->output_count == FRAG_DIFF_OUTPUTS_MAX)
		return frag_fail(err, FRAG_EUSAGE, "--html %.60s: at most %d outputs are possible",
				 o->run.html, FRAG_DIFF_OUTPUTS_MAX);
	o->outputs[o->output_count++].path = o->run.html;
	return 0;
}

/* What is compared, the profile and the baseline are inputs. */
static int check_files(const struct frag_diff_options *o, const struct frag_cmd *cmd,
		       struct frag_error *err)
{
	struct frag_files files = { .standard = o->format != NULL };

	frag_files_read(&files, &o->run.profile_path, 1, "the profile");
	frag_files_read(&files, &o->baseline, 1, "the baseline");
	frag_files_read(&files, o->traces, o->trace_count, o->files ? "the result" : "the trace");
	for (uint32_t i = 0; i < o->output_count; i++)
		frag_files_write(&files, o->outputs[i].path);
	return frag_files_check(&files, cmd, err);
}

/* A page reads the traces twice. */
static int check_page(const struct frag_diff_options *o, const struct frag_cmd *cmd,
		      struct frag_error *err)
{
	bool standard = (o->baseline && strcmp(o->baseline, "-") == 0)
			|| (o->run.profile_path && strcmp(o->run.profile_path, "-") == 0);

	for (uint32_t i = 0; i < o->trace_count; i++)
		standard = standard || strcmp(o->traces[i], "-") == 0;
	if (o->run.html && standard)
		return frag_usage(cmd,
				  "--html reads what is compared twice, and standard input can be"
				  " read only once",
				  err);
	return 0;
}

/*
 * A single policy without a baseline has no changes. Refuses conditions on changes, and --gate
 * unless another condition can be judged.
 */
static int check_single(const struct frag_diff_options *o, const struct frag_cmd *cmd,
			struct frag_error *err)
{
	bool judged = false;
	int rc = 0;

	for (uint32_t i = 0; i < o->run.condition_count && !rc; i++) {
		if (o->run.conditions[i].of_gate)
			continue;
		rc = frag_condition_absolute(&o->run.conditions[i], err);
		judged = true;
	}
	return rc || !o->gate || judged ? rc
		: frag_usage(cmd, "--gate has nothing to compare: one policy and no baseline;"
			     " add --baseline FILE or a second --policy", err);
}

/* A condition other than those of --gate. */
static bool has_own_condition(const struct frag_diff_options *o)
{
	for (uint32_t i = 0; i < o->run.condition_count; i++)
		if (!o->run.conditions[i].of_gate)
			return true;
	return false;
}

/*
 * Two traces, with at most one policy and no other job for diff, are OLD and NEW: one recording
 * is compared with the other.
 */
static bool is_change(const struct frag_diff_options *o, char **operands, int count)
{
	return count == 2 && o->run.choice_count <= 1 && !o->baseline && !o->update
	       && !o->smallest && !o->new_traces
	       && (!has_own_condition(o) || !o->run.choice_count)
	       && frag_trace_change_is_wanted(operands[0], operands[1]);
}

/* Prepares the outputs in the formats of such an answer. */
static int check_change(struct frag_diff_options *o, char **operands, struct frag_error *err)
{
	struct frag_trace_change *t = &o->trace_change;
	int rc = 0;

	o->change = true;
	t->paths[0] = operands[0];
	t->paths[1] = operands[1];
	t->run = &o->run;
	if (o->gate)
		rc = frag_conditions_add(&t->conditions, "change.reserved > 0",
					 frag_trace_change_paths, err);
	t->printed.formats = frag_change_formats;
	t->printed.quiet = o->run.quiet;
	if (o->format && !rc)
		rc = frag_printed_format(&t->printed, o->format->name, err);
	for (uint32_t i = 0; i < o->output_count && !rc; i++)
		rc = frag_printed_named(&t->printed, o->outputs[i].format->name,
					o->outputs[i].path, err);
	return rc ? rc : frag_run_settings(&o->run, true, err);
}

/* Files whose ending names no format get that of --format; `--format csv -o -` is one output. */
static void set_formats(struct frag_diff_options *o)
{
	for (uint32_t i = 0; i < o->output_count; i++) {
		if (o->outputs[i].format)
			continue;
		o->outputs[i].format = o->format ? o->format : find_format("text", strlen("text"));
		if (strcmp(o->outputs[i].path, "-") == 0)
			o->format = NULL;
	}
}

/* Everything that can be wrong with the command line is found before a trace is read. */
int frag_diff_options_check(struct frag_diff_options *o, const struct frag_cmd *cmd,
			    char **operands, int count, struct frag_error *err)
{
	bool simulate;
	int rc = 0;

	set_formats(o);
	if (is_change(o, operands, count)) {
		if (has_own_condition(o))
			return frag_usage(cmd, "two traces without a policy (-p) have the conditions"
					  " change.reserved, change.version, change.settings,"
					  " change.requested, change.rounding and"
					  " change.fragmentation", err);
		if (o->run.total != UINT64_MAX || o->run.context != UINT64_MAX
		    || o->run.other != UINT64_MAX || o->run.profile_path)
			return frag_usage(cmd, "two traces are compared on an unlimited device;"
					  " options about a device need a second policy (-p)", err);
		return check_change(o, operands, err);
	}
	if (o->trace_change.conditions.count)
		return frag_usage(cmd, "--fail-if 'change...' is for two traces, OLD and NEW, with one"
				  " policy at most", err);
	if (o->run.setting_count && !o->run.choice_count && !o->baseline)
		rc = frag_run_policy(&o->run, "pytorch", err);
	simulate = o->run.choice_count || o->baseline;

	for (int i = 0; i < count && !rc; i++)
		rc = add_trace(o, operands[i], err);
	if (rc)
		return rc;
	if (o->update && !o->baseline)
		return frag_usage(cmd, "--update-baseline requires --baseline FILE", err);
	if (o->update && strcmp(o->baseline, "-") == 0)
		return frag_usage(cmd, "a baseline on standard input cannot be written", err);
	if (o->new_traces && !o->gate && !o->run.condition_count)
		return frag_usage(cmd, "--allow-new-traces is for --gate or --fail-if", err);
	if (!simulate && count != 2)
		return frag_usage(cmd, "which policies (-p) on which traces, or which two results?",
				  err);
	if (!simulate && o->run.profile_path)
		return frag_usage(cmd, "--profile is for what is simulated now (-p)", err);
	if (o->smallest && (!simulate || o->baseline))
		return frag_usage(cmd, "--smallest is for policies that are compared now (-p)",
				  err);
	for (int i = 0; o->smallest && i < count; i++)
		if (strcmp(operands[i], "-") == 0)
			return frag_usage(cmd, "--smallest reads a trace twice, and standard input"
					  " can be read only once", err);
	if (o->run.choice_count && !o->baseline && count == 0)
		return frag_usage(cmd, "missing argument: TRACE", err);
	o->files = !simulate;
	if (o->run.html && o->files)
		return frag_usage(cmd, "--html draws what is simulated now (-p)", err);
	rc = o->run.html ? add_page(o, err) : 0;
	rc = rc ? rc : check_page(o, cmd, err);
	rc = rc ? rc : check_files(o, cmd, err);
	if (!rc && !o->files && !(o->run.setting_count && !o->run.choice_count))
		rc = frag_run_settings(&o->run, true, err);
	return rc || o->files || o->baseline || o->run.choice_count > 1 ? rc
		: check_single(o, cmd, err);
}

static bool has_policy(const struct frag_run_options *run, const char *text)
{
	for (uint32_t i = 0; i < run->choice_count; i++)
		if (strcmp(run->choices[i].text, text) == 0)
			return true;
	return false;
}

static int add_policies(struct frag_diff_options *o, const struct frag_run_set *base,
			struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < base->count; i++)
		for (uint32_t k = 0; k < base->trace[i].count && !rc; k++)
			if (!has_policy(&o->run, base->trace[i].run[k].policy))
				rc = frag_run_policy(&o->run, base->trace[i].run[k].policy, err);
	return rc;
}

/*
 * What was not given comes from the baseline: policies, values of the device,
 * traces. So a bare --baseline repeats the runs that it was made of.
 */
int frag_diff_options_complete(struct frag_diff_options *o, const struct frag_cmd *cmd,
			       const struct frag_run_set *base, struct frag_error *err)
{
	const bool own_traces = o->trace_count > 0;
	int rc = 0;

	if (!o->run.choice_count) {
		rc = add_policies(o, base, err);
		rc = rc ? rc : frag_run_settings(&o->run, true, err);
	}
#define X(name)                                                               \
	if (o->run.name == UINT64_MAX && base->given.has_##name)              \
		o->run.name = base->given.name;
	FRAG_GIVEN(X)
#undef X
	for (uint32_t i = 0; i < base->count && !own_traces && !rc; i++)
		rc = add_trace(o, base->trace[i].path, err);
	if (!rc && (!o->run.choice_count || !o->trace_count))
		rc = frag_usage(cmd,
				"the baseline has no runs: add policies (-p) and traces",
				err);
	return rc ? rc : check_files(o, cmd, err);
}
