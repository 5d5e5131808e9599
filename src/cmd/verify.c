/* verify.c - fragsim verify: a snapshot's recorded decisions against ours. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "engine/verify.h"
#include "report/verdict.h"

enum { OPT_ALLOC_CONF = 1, OPT_TIES, OPT_QUIET };
enum ties { TIES_AUTO, TIES_ADDRESS, TIES_AGE };

#define SETTINGS_MOST 4096

struct verify_options {
	const char *settings;   /* NULL: the snapshot's own */
	enum ties ties;
	bool quiet;
};

static const struct frag_opt opts[] = {
	{ 0, "alloc-conf", "STRING", "other settings than those of the snapshot", OPT_ALLOC_CONF },
	{ 0, "ties", "WHAT", "which of two equal blocks: address, age or auto (auto)", OPT_TIES },
	{ 'q', "quiet", NULL, "no report and no warnings: the exit status says it", OPT_QUIET },
	{ 0 },
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	static const char *const ties[] = { "auto", "address", "age" };
	struct verify_options *o = ctx;

	if (id == OPT_ALLOC_CONF)
		o->settings = value;
	if (id == OPT_QUIET)
		o->quiet = true;
	if (id != OPT_TIES)
		return 0;
	for (int i = TIES_AUTO; i <= TIES_AGE; i++) {
		o->ties = (enum ties)i;
		if (strcmp(value, ties[i]) == 0)
			return 0;
	}
	return frag_fail(err, FRAG_EUSAGE, "--ties %.60s: address, age or auto is wanted", value);
}

static void warn(void *ctx, const char *message)
{
	const struct verify_options *o = ctx;

	if (!o->quiet)
		fprintf(stderr, "fragsim: warning: %s\n", message);
}

/* The policy under the settings that the recording ran with. */
static int choose(struct verify_options *o, const struct frag_trace *trace,
		  struct frag_choice *choice, char *settings, struct frag_error *err)
{
	const struct frag_snapshot *s = frag_trace_snapshot(trace);
	char message[1200];
	int rc = frag_choice_parse(choice, "pytorch", err);

	*settings = '\0';
	if (rc || !s)
		return rc;
	if (o->settings) {
		snprintf(settings, SETTINGS_MOST, "%s", o->settings);
		return frag_choice_settings(choice, settings, err);
	}
	if (frag_snapshot_settings(s, settings, SETTINGS_MOST)) {
		if (frag_choice_settings(choice, settings, err) == 0)
			return 0;
		snprintf(message, sizeof(message), "the snapshot's own settings are not understood"
			 " (%.900s); the values beside them are taken", err->message);
		warn(o, message);
	}
	frag_snapshot_settings_values(s, settings, SETTINGS_MOST);
	return *settings ? frag_choice_settings(choice, settings, err) : 0;
}

static int run_once(const char *path, const struct verify_options *o, bool by_age,
		    struct frag_verdict *verdict, struct frag_trace **trace, char *settings,
		    struct frag_error *err)
{
	struct verify_options shown = *o;
	const struct frag_trace_options options = {
		.stacks = FRAG_STACKS_NONE, .log = { .warn = warn, .ctx = &shown },
	};
	struct frag_choice choice;
	int rc;

	/* the second run over the same file has nothing new to warn of */
	shown.quiet = o->quiet || *trace;
	frag_trace_close(*trace);
	*trace = NULL;
	rc = frag_trace_open(trace, path, &options, err);
	rc = rc ? rc : choose(&shown, *trace, &choice, settings, err);
	return rc ? rc : frag_verify(verdict, *trace, &choice, by_age, err);
}

/* Older releases go by address, newer ones by age; the file seldom says which it is. */
static int run_both(const char *path, const struct verify_options *o, struct frag_verdict *verdict,
		    struct frag_trace **trace, char *settings, struct frag_error *err)
{
	struct frag_verdict other;
	int rc = run_once(path, o, o->ties == TIES_AGE, verdict, trace, settings, err);

	if (rc || o->ties != TIES_AUTO || !verdict->difference_count || strcmp(path, "-") == 0)
		return rc;
	rc = run_once(path, o, true, &other, trace, settings, err);
	if (!rc && other.difference_count < verdict->difference_count)
		*verdict = other;
	return rc;
}

static int verify_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct verify_options o = { .settings = NULL };
	struct frag_trace *trace = NULL;
	struct frag_verdict verdict;
	static char settings[SETTINGS_MOST];
	int rest, rc = frag_options(cmd, argc, argv, &o, set_option, &rest, err);

	if (rc || !rest)
		return rc;
	if (argc - rest != 1)
		return frag_usage(cmd, argc == rest ? "which snapshot?" : "one snapshot at a time",
				  err);
	rc = run_both(argv[rest], &o, &verdict, &trace, settings, err);
	if (!rc && !o.quiet)
		frag_report_verdict(&verdict, trace, settings, stdout);
	if (!rc && (verdict.difference_count || verdict.unplaced))
		*status = 1;
	frag_trace_close(trace);
	return rc;
}

const struct frag_cmd frag_cmd_verify = {
	.name = "verify",
	.args = "[options] SNAPSHOT",
	.summary = "compare a PyTorch snapshot's recorded decisions with ours",
	.opts = opts,
	.exec = verify_exec,
};
