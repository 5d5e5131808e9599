/* convert.c - fragsim convert: writes a trace, or a run of it, in another form. */
#include <string.h>

#include "base/name_list.h"
#include "cmd/export_run.h"
#include "cmd/transform_trace.h"

/* The options of a run follow our own. */
#define RUN(id) (FRAG_REWRITE_OWN + (id))

static const struct frag_opt opts[] = {
	{ 't', "to", "FORM", "lines, object, fsb, minimalloc, rmm; of a run: snapshot, perfetto",
	  FRAG_REWRITE_TO },
	FRAG_STACKS_ROW(FRAG_REWRITE_OWN),
	{ 'p', "policy", "NAME", "of a run: placement policy, NAME[:key=value,...] (by the trace)",
	  RUN(FRAG_OPT_POLICY) },
	{ 0, "alloc-conf", "STRING", "settings as in PYTORCH_ALLOC_CONF, for policy pytorch",
	  RUN(FRAG_OPT_ALLOC_CONF) },
	FRAG_ON_OOM_ROW(FRAG_REWRITE_OWN),
	FRAG_DEVICE_ROWS(FRAG_REWRITE_OWN),
	FRAG_LENIENT_ROW(FRAG_REWRITE_LENIENT),
	{ 'q', "quiet", NULL, "no warnings", FRAG_REWRITE_QUIET },
	{ 0 },
};

struct convert {
	struct frag_rewrite rewrite;
	struct frag_run_options run;
	const struct frag_export_ops *form;     /* NULL: the trace itself is written */
	const char *run_option;                 /* the last one that was given, or NULL */
};

static void list_run_forms(struct frag_name_list *names)
{
	for (uint32_t i = 0; frag_exports()[i]; i++)
		frag_listed_add(names, frag_exports()[i]->name);
}

static int no_form(const char *value, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	for (uint32_t i = 0; frag_sinks()[i]; i++)
		frag_listed_add(&names, frag_sinks()[i]->name);
	list_run_forms(&names);
	return frag_fail(err, FRAG_EUSAGE, "--to %.60s: no such form; there are: %s",
			 value, frag_listed_text(&names, ", "));
}

static int needs_run_form(const char *option, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };

	list_run_forms(&names);
	return frag_fail(err, FRAG_EUSAGE, "--%s is for a run: --to %s", option,
			 frag_listed_text(&names, " or "));
}

static int set_form(struct convert *c, const char *value, struct frag_error *err)
{
	c->form = frag_export_named(value);
	c->rewrite.form = frag_sink_named(value);
	return c->form || c->rewrite.form ? 0 : no_form(value, err);
}

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct convert *c = ctx;

	if (id == FRAG_REWRITE_TO)
		return set_form(c, value, err);
	if (id < FRAG_REWRITE_OWN)
		return frag_rewrite_set(&c->rewrite, id, value, err);
	for (const struct frag_opt *o = opts; o->name; o++)
		if (o->id == id && id != RUN(FRAG_OPT_STACKS))
			c->run_option = o->name;
	return frag_run_set_option(&c->run, id - FRAG_REWRITE_OWN, value, err);
}

/* The form that OUT's name stands for, where it is one of a run. */
static void find_run_form(struct convert *c, const char *path)
{
	size_t length;

	c->rewrite.packing = frag_packing_of(path, &length);
	if (!c->form && !c->rewrite.form)
		c->form = frag_export_ending(path, length);
}

/*
 * A form is one of a trace, or of a run of it: only the second takes the options
 * of a simulation.
 */
static int convert(struct convert *c, const struct frag_cmd *cmd, const char *from,
		   const char *to, struct frag_error *err)
{
	int rc;

	find_run_form(c, to);
	if (!c->form && c->run_option)
		return needs_run_form(c->run_option, err);
	if (!c->form) {
		c->rewrite.stacks = c->run.stacks;
		rc = frag_rewrite_find_form(&c->rewrite, to, err);
		return rc ? rc : frag_rewrite(&c->rewrite, from, to, err);
	}
	if (c->run.choice_count > 1)
		return frag_fail(err, FRAG_EUSAGE,
				 "--policy %.100s: %s contains one run, so one policy",
				 c->run.choices[1].text, c->form->name);
	if (c->run.setting_count > 1)
		return frag_fail(err, FRAG_EUSAGE,
				 "--alloc-conf %.100s: %s holds one run, so one string of settings",
				 c->run.settings[1], c->form->name);
	c->run.lenient = c->rewrite.lenient;
	c->run.quiet = c->rewrite.quiet;
	rc = frag_run_options_check(&c->run, cmd, err);
	return rc ? rc : frag_export_run(c->form, c->rewrite.packing, &c->run, from, to, err);
}

static int convert_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
			struct frag_error *err)
{
	struct convert c = { .form = NULL };
	int rest, rc;

	(void)status;
	frag_run_options_init(&c.run);
	rc = frag_options(cmd, argc, argv, &c, set_option, &rest, err);
	rc = rc || !rest ? rc : frag_rewrite_files(cmd, argc - rest, err);
	if (!rc && rest)
		rc = convert(&c, cmd, argv[rest], argv[rest + 1], err);
	frag_run_options_fini(&c.run);
	return rc;
}

const struct frag_cmd frag_cmd_convert = {
	.name = "convert",
	.job = FRAG_JOB_TRACES,
	.args = "[options] IN OUT",
	.summary = "write a trace, or a run of it, in another form",
	.opts = opts,
	.exec = convert_exec,
};
