/* verify.c - fragsim verify: a snapshot's recorded decisions against ours. */
#include <stdio.h>

#include "cmd/loaded_trace.h"
#include "verify/verifier.h"
#include "events/recording_info.h"
#include "answers/report.h"
#include "verify/log_check.h"

enum ties { TIES_ADDRESS, TIES_AGE, TIES_CREATION, TIES_AUTO };

struct verify_options {
	const char *settings;   /* NULL: the snapshot's own */
	int ties;               /* of enum ties */
	struct frag_capacity capacity;  /* total of 0: not known */
	bool quiet;
};

static const char *const ties_words[] = {
	[TIES_ADDRESS] = "address", [TIES_AGE] = "age", [TIES_CREATION] = "creation",
	[TIES_AUTO] = "auto", NULL,
};

static const struct frag_opt opts[] = {
	{ 0, "alloc-conf", "STRING", "other settings than those of the snapshot",
	  FRAG_TEXT(struct verify_options, settings) },
	{ 0, "ties", "WHAT", "of two equal blocks: address, age, creation, auto (auto)",
	  FRAG_WORD(struct verify_options, ties, ties_words), .usual = TIES_AUTO },
	FRAG_TOTAL_ROWS(FRAG_MEMBER(struct verify_options, capacity, struct frag_capacity),
			"what the device had: expandable ranges reach that far", 0),
	{ 'q', "quiet", NULL, "no report and no warnings: the exit status says it",
	  FRAG_FLAG(struct verify_options, quiet) },
	{ 0 },
};

/* The policy of a release, under the settings that the recording ran with. */
static int verify_choose(struct verify_options *o, const struct frag_trace *trace, uint32_t minor,
			 struct frag_choice *choice, char *settings, struct frag_error *err)
{
	const struct frag_log log = { .warn = frag_warn, .ctx = &o->quiet };
	int rc = frag_choose_release(choice, trace, minor, settings, &log, err);

	if (rc || !o->settings || !frag_trace_snapshot(trace))
		return rc;
	rc = frag_choose_version(choice, minor, err);
	snprintf(settings, FRAG_SETTINGS_MAX, "%s", o->settings);
	return rc ? rc : frag_choice_settings(choice, settings, err);
}

/* The rules of a release. */
static int compare_with(struct verify_options *o, const struct frag_trace *trace, uint32_t minor,
			enum ties ties, char *settings, struct frag_verification *verdict,
			struct frag_error *err)
{
	struct frag_choice choice;
	int rc = verify_choose(o, trace, minor, &choice, settings, err);

	rc = rc ? rc : frag_verify(verdict, trace, &choice, ties != TIES_ADDRESS, false,
			       o->capacity.total, err);
	verdict->by_creation = ties == TIES_CREATION;
	return rc;
}

/*
 * Releases up to 2.11 order equal blocks by address, 2.12 by creation, newer ones by age; the
 * file seldom names the release. Without --ties, the rule with the fewest differences is kept.
 */
static int verify_compare(struct verify_options *o, const struct frag_trace *trace, char *settings,
			  struct frag_verification *verdict, struct frag_error *err)
{
	static const enum ties later[] = { TIES_AGE, TIES_CREATION };
	enum ties ties = o->ties == TIES_AUTO ? TIES_ADDRESS : (enum ties)o->ties;
	struct frag_release release;
	struct frag_verification other;
	int rc = frag_find_release(&release, trace, err);
	uint32_t minor = release.minor == 12 ? 0 : release.minor;

	rc = rc ? rc : compare_with(o, trace, ties == TIES_CREATION ? 12 : minor, ties, settings,
				    verdict, err);
	for (size_t i = 0; !rc && o->ties == TIES_AUTO && verdict->difference_count
			   && i < sizeof(later) / sizeof(later[0]); i++) {
		rc = compare_with(o, trace, later[i] == TIES_CREATION ? 12 : minor, later[i],
				  settings, &other, err);
		if (!rc && other.difference_count < verdict->difference_count)
			*verdict = other;
	}
	return rc;
}

/*
 * Settings come from the snapshot unless they are given; a difference makes the
 * exit status 1, as diff does.
 */
static int verify_exec(void *own, struct frag_args *args, struct frag_error *err)
{
	struct verify_options *o = own;
	const struct frag_trace_options options = {
		.stacks = FRAG_STACKS_NONE, .sized = o->capacity.total,
		.log = { .warn = frag_warn, .ctx = &o->quiet },
	};
	char settings[FRAG_SETTINGS_MAX];
	struct frag_verification verdict;
	struct frag_trace *trace;
	int rc = frag_trace_open(&trace, args->words[0], &options, err);

	if (rc)
		return rc;
	rc = o->settings ? 0 : frag_check_log(trace, err);
	rc = rc ? rc : verify_compare(o, trace, settings, &verdict, err);
	if (!rc && !o->quiet)
		frag_report_verdict(&verdict, trace, settings, stdout);
	if (!rc && (verdict.difference_count || verdict.not_restored))
		*args->status = 1;
	frag_trace_close(trace);
	return rc;
}

const struct frag_cmd frag_cmd_verify = {
	.name = "verify",
	.group = FRAG_GROUP_OTHER,
	.args = "[options] SNAPSHOT",
	.summary = "compare a PyTorch snapshot's recorded decisions with ours",
	.opts = opts,
	.needs = FRAG_NEEDS_TRACE,
	.operand = "SNAPSHOT",
	.size = sizeof(struct verify_options),
	.exec = verify_exec,
};
