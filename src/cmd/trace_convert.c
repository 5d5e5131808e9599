/* trace_convert.c - fragsim trace convert: writes a trace, or a run of it, in another form. */
#include <string.h>

#include "base/parse.h"
#include "cmd/transform_trace.h"
#include <inttypes.h>
#include <stdio.h>
#include "base/atomic_file.h"
#include "cmd/loaded_trace.h"
#include "answers/export.h"
#include "cmd/progress.h"
#include "answers/report.h"

struct convert {
	struct frag_run_options run;
	struct frag_rewrite rewrite;
	const struct frag_export_ops *form;     /* NULL: the trace itself is written */
	/* a run that is written for another program's viewer: */
	struct frag_loaded_trace traced;
	struct frag_taped_reading reading;
	struct frag_sim *sim;
	struct frag_export x;
};

static enum frag_stacks stacks_of(const struct frag_run_options *o)
{
	return o->stacks < 0 ? FRAG_STACKS_TOP : (enum frag_stacks)o->stacks;
}

static int write_run(void *ctx, struct frag_outfile *out, struct frag_error *err)
{
	struct convert *c = ctx;
	const int rc = frag_outfile_pack(out, c->rewrite.packing, err);

	c->x.out = out;
	c->x.choice = c->traced.choices;
	c->x.goes_on = c->run.sim.on_oom_continue;
	return rc ? rc : frag_export_run(&c->x, c->sim, c->traced.trace, frag_interrupted, err);
}

static void report_beginnings(struct convert *c)
{
	char text[FRAG_BEGINNING_ROOM];
	uint32_t count;
	const struct frag_result *results = frag_sim_results(c->sim, false, &count);

	for (uint32_t i = 0; i < count; i++)
		if (frag_beginning_text(&results[i], true, text))
			frag_warn(&c->reading.quiet, text);
}

/* The file names the policy too, but the message is easier to find. */
static void report_policy(const struct convert *c)
{
	const struct frag_choice *given = c->traced.choices;
	struct frag_choice choice = *given;
	struct frag_error unused;

	if (c->reading.quiet)
		return;
	if (strchr(given->text, ':') || frag_choice_expand_settings(&choice, &unused))
		choice = *given;
	frag_print_message("exported a run under %s", choice.text);
}

/* It is no failure of the conversion; but the viewer's user would wonder. */
static void report_oom(struct convert *c)
{
	const struct frag_export *x = &c->x;
	char message[400];

	if (!x->ooms)
		return;
	snprintf(message, sizeof(message), "policy %.100s: OOM at event %" PRIu64
		 " on device %" PRIu32 "%s", x->choice->text, x->first_oom, x->first_oom_device,
		 x->goes_on ? ""
			    : ": the run of that device ends there (--on-oom continue goes on)");
	frag_warn(&c->reading.quiet, message);
}

/*
 * The trace and the simulation come before the output, so that a bad input leaves
 * no file behind.
 */
static int export_run(struct convert *c, const char *from, const char *to, struct frag_error *err)
{
	struct frag_sim_options sim = c->run.sim;
	int rc;

	c->x.ops = c->form;
	c->reading = (struct frag_taped_reading){
		.quiet = c->run.quiet, .capacity = true, .stacks = stacks_of(&c->run),
	};
	rc = frag_taped_open(&c->traced, from, &c->run, frag_usual_policy, &c->reading, err);
	sim.devices = c->traced.devices.figures;
	rc = rc ? rc : frag_sim_new(&c->sim, c->traced.choices, c->traced.trace, &sim, err);
	rc = rc ? rc : frag_write_file(to, false, write_run, c, err);
	if (!rc) {
		report_beginnings(c);
		report_policy(c);
		report_oom(c);
	}
	c->form->fini(&c->x);
	frag_sim_del(c->sim);
	frag_taped_close(&c->traced, 1);
	return frag_or_interrupted(rc, err);
}

static void list_run_forms(struct frag_name_list *names)
{
	for (uint32_t i = 0; frag_exports[i]; i++)
		frag_listed_add(names, frag_exports[i]->name);
}

static int no_form(const char *value, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; frag_sinks()[i]; i++)
		frag_listed_add(&names, frag_sinks()[i]->name);
	list_run_forms(&names);
	return frag_fail(err, FRAG_EUSAGE, "--to %.60s: use %s",
			 value, frag_listed_text(&names, ", "));
}

static int needs_run_form(const char *option, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	list_run_forms(&names);
	return frag_fail(err, FRAG_EUSAGE, "--%s is for a run: --to %s", option,
			 frag_listed_text(&names, " or "));
}

static int set_form(void *at, const struct frag_opt *o, const char *value, struct frag_error *err)
{
	struct convert *c = at;
	uint32_t i = 0;

	(void)o;
	while (frag_exports[i] && strcmp(frag_exports[i]->name, value) != 0)
		i++;
	c->form = frag_exports[i];
	c->rewrite.form = frag_sink_named(value);
	return c->form || c->rewrite.form ? 0 : no_form(value, err);
}

#define REWRITE offsetof(struct convert, rewrite)

static const struct frag_opt opts[] = {
	{ 't', "to", "FORM", "lines, object, fsb, minimalloc, rmm; of a run: snapshot, perfetto, sqlite",
	  FRAG_CALL(set_form) },
	FRAG_STACKS_ROW(FRAG_STACKS_HELP " (top)"),
	{ 0, "complete", NULL, "of a snapshot, in form fsb: keep all of it, as verify needs it",
	  .kind = FRAG_OPT_FLAG, .at = REWRITE + FRAG_MEMBER(struct frag_rewrite, complete, bool) },
	FRAG_POLICY_ROW("of a run: placement policy, NAME[:key=value,...] (by the trace)"),
	FRAG_ALLOC_CONF_ROW("settings as in PYTORCH_ALLOC_CONF, for policy pytorch"),
	FRAG_ON_OOM_ROW,
	FRAG_DEVICE_ROWS,
	FRAG_REWRITE_LENIENT_ROWS(REWRITE),
	{ 0 },
};

static const struct frag_refusal refusals[] = {
	{ "complete -", "--complete reads IN twice, and standard input can be read only once" }, { 0 },
};

/* The format that the ending of OUT names, if a run has that format. */
static void find_run_form(struct convert *c, const char *path)
{
	size_t length;

	c->rewrite.packing = frag_packing_of(path, &length);
	for (uint32_t i = 0; frag_exports[i] && !c->form && !c->rewrite.form; i++) {
		const char *ending = frag_exports[i]->ending;
		const size_t n = ending ? strlen(ending) : 0;

		if (n && length > n && memcmp(path + length - n, ending, n) == 0)
			c->form = frag_exports[i];
	}
}

/*
 * A form is one of a trace, or of a run of it: only the second takes the options
 * of a simulation.
 */
static int convert_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	static const char *const of_trace[] = { "to", "stacks", "complete", "lenient", "quiet", NULL };
	const char *from = args->words[0], *to = args->words[1];
	const char *run_option = frag_last_given(args, of_trace);
	struct convert *c = own;
	int rc;

	find_run_form(c, to);
	if (!c->form && run_option)
		return needs_run_form(run_option, err);
	if (c->rewrite.complete) {
		rc = c->form ? 0 : frag_rewrite_find_form(&c->rewrite, to, err);
		if (!rc && (c->form || strcmp(c->rewrite.form->name, "fsb") != 0))
			rc = frag_usage(args->cmd, "--complete is for the form fsb", err);
		if (rc)
			return rc;
	}
	if (!c->form) {
		c->rewrite.stacks = stacks_of(&c->run);
		return frag_rewrite(&c->rewrite, from, to, err);
	}
	if (c->run.choice_count > 1)
		return frag_fail(err, FRAG_EUSAGE,
				 "--policy %.100s: %s contains one run, so one policy",
				 c->run.choices[1].text, c->form->name);
	if (c->run.settings.count > 1)
		return frag_fail(err, FRAG_EUSAGE,
				 "--alloc-conf %.100s: %s holds one run, so one string of settings",
				 c->run.settings.at[1], c->form->name);
	c->run.lenient = c->rewrite.lenient;
	c->run.quiet = c->rewrite.quiet;
	rc = frag_run_options_check(&c->run, args->cmd, err);
	return rc ? rc : export_run(c, from, to, err);
}

const struct frag_cmd frag_cmd_trace_convert = {
	.name = "trace convert",
	.group = FRAG_GROUP_TRACE,
	.args = "[options] IN OUT",
	.summary = "write a trace, or a run of it, in another form",
	.opts = opts,
	.refusals = refusals,
	.needs = FRAG_NEEDS_IN_OUT | FRAG_NEEDS_RUN,
	.size = sizeof(struct convert),
	.exec = convert_exec,
};
