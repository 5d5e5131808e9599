/* verify.c - fragsim verify: a snapshot's recorded decisions against ours. */
#include <stdio.h>

#include "cmd/recorded_policy.h"
#include "verify/verifier.h"
#include "events/recorded.h"
#include "report/verdict.h"

enum { OPT_ALLOC_CONF = 1, OPT_TIES, OPT_QUIET, OPT_DEVICE_BYTES, OPT_CARD };
enum ties { TIES_ADDRESS, TIES_AGE, TIES_AUTO };

struct verify_options {
	const char *settings;   /* NULL: the snapshot's own */
	enum ties ties;
	uint64_t total;         /* bytes of the device; 0: not known */
	const char *total_given;        /* the option that gave it; NULL: none */
	bool quiet;
};

static const struct frag_opt opts[] = {
	{ 0, "alloc-conf", "STRING", "other settings than those of the snapshot", OPT_ALLOC_CONF },
	{ 0, "ties", "WHAT", "which of two equal blocks: address, age or auto (auto)", OPT_TIES },
	{ 0, "device-bytes", "SIZE", "what the device had: expandable ranges reach that far",
	  OPT_DEVICE_BYTES },
	FRAG_CARD_ROW(OPT_CARD),
	{ 'q', "quiet", NULL, "no report and no warnings: the exit status says it", OPT_QUIET },
	{ 0 },
};

const char *const frag_ties_words[] = {
	[TIES_ADDRESS] = "address", [TIES_AGE] = "age", [TIES_AUTO] = "auto", NULL,
};

static int set_option(void *ctx, int id, const char *value, struct frag_error *err)
{
	struct verify_options *o = ctx;
	int ties = TIES_AUTO, rc = 0;

	switch (id) {
	case OPT_ALLOC_CONF:
		o->settings = value;
		return 0;
	case OPT_DEVICE_BYTES:
		return frag_option_total(&o->total, &o->total_given, "device-bytes", value, err);
	case OPT_CARD:
		return frag_option_total(&o->total, &o->total_given, "device", value, err);
	case OPT_TIES:
		rc = frag_option_word(&ties, "ties", value, frag_ties_words, err);
		o->ties = (enum ties)ties;
		return rc;
	default:
		o->quiet = true;
		return 0;
	}
}

/* The policy under the settings that the recording ran with. */
static int choose(struct verify_options *o, const struct frag_trace *trace,
		  struct frag_choice *choice, char *settings, struct frag_error *err)
{
	const struct frag_log log = { .warn = frag_warn, .ctx = &o->quiet };
	int rc = frag_choice_parse(choice, "pytorch", err);

	*settings = '\0';
	if (rc || !o->settings)
		return rc ? rc : frag_recorded_settings(choice, trace, settings, &log, err);
	if (!frag_trace_snapshot(trace))
		return 0;
	snprintf(settings, FRAG_SETTINGS_MAX, "%s", o->settings);
	return frag_choice_settings(choice, settings, err);
}

/* Older releases go by address, newer ones by age; the file seldom says which it is. */
static int compare(const struct verify_options *o, const struct frag_trace *trace,
		   const struct frag_choice *choice, struct frag_verdict *verdict,
		   struct frag_error *err)
{
	struct frag_verdict other;
	int rc = frag_verify(verdict, trace, choice, o->ties == TIES_AGE, o->total, err);

	if (rc || o->ties != TIES_AUTO || !verdict->difference_count)
		return rc;
	rc = frag_verify(&other, trace, choice, true, o->total, err);
	if (!rc && other.difference_count < verdict->difference_count)
		*verdict = other;
	return rc;
}

/*
 * Settings come from the snapshot unless they are given; a difference makes the
 * exit status 1, as diff does.
 */
static int verify(const char *path, struct verify_options *o, int *status, struct frag_error *err)
{
	const struct frag_trace_options options = {
		.stacks = FRAG_STACKS_NONE, .sized = o->total,
		.log = { .warn = frag_warn, .ctx = &o->quiet },
	};
	char settings[FRAG_SETTINGS_MAX];
	struct frag_verdict verdict;
	struct frag_choice choice;
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, path, &options, err);

	if (rc)
		return rc;
	rc = choose(o, trace, &choice, settings, err);
	rc = rc ? rc : compare(o, trace, &choice, &verdict, err);
	if (!rc && !o->quiet)
		frag_report_verdict(&verdict, trace, settings, stdout);
	if (!rc && (verdict.difference_count || verdict.not_restored))
		*status = 1;
	frag_trace_close(trace);
	return rc;
}

static int verify_exec(const struct frag_cmd *cmd, int argc, char **argv, int *status,
		       struct frag_error *err)
{
	struct verify_options o = { .ties = TIES_AUTO };
	int rest, rc = frag_options(cmd, argc, argv, &o, set_option, &rest, err);

	if (rc || !rest)
		return rc;
	if (argc - rest != 1)
		return frag_usage(cmd, argc == rest ? "which snapshot?" : "one snapshot at a time",
				  err);
	return verify(argv[rest], &o, status, err);
}

const struct frag_cmd frag_cmd_verify = {
	.name = "verify",
	.job = FRAG_JOB_COMPARE,
	.args = "[options] SNAPSHOT",
	.summary = "compare a PyTorch snapshot's recorded decisions with ours",
	.opts = opts,
	.exec = verify_exec,
};
