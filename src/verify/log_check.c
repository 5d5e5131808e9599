/*
 * log_check.c - compares the run of a recording with its log, and finds a change of settings.
 *
 * A file has the settings at its end. A program that changed them in mid-run decided otherwise
 * before: then some other settings agree with the log up to an event, and those of the file from
 * there on. Both are proven by the whole log: a change is only found where no decision differs.
 */
#include "verify/log_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "events/recording_info.h"
#include "policy/choice.h"
#include "policy/policies.h"
#include "policy/pytorch_settings.h"
#include "trace/reader.h"
#include "verify/verifier.h"

#define BY_ADDRESS 11           /* releases with other orders of equal blocks */
#define BY_CREATION 12
#define RULES_MAX 3
#define RECORDS_MAX 1000000     /* no change is searched for in more: that takes seconds */
#define PLACES_MAX 64           /* for a change: each is simulated */

/* Settings that programs begin with, in addition to those that follow from the file. */
static const char *const usual_settings[] = {
	"", "expandable_segments:True", "roundup_power2_divisions:2", "roundup_power2_divisions:4",
	"roundup_power2_divisions:8", "roundup_power2_divisions:16", "roundup_power2_divisions:32",
};
#define USUAL_MAX (sizeof(usual_settings) / sizeof(usual_settings[0]))
#define FILE_MAX 8              /* those of the file without one of them */

struct search {
	struct frag_trace *trace;
	struct frag_verification verdict;       /* of the last simulation */
	/* of the rules that the file allows, those that order equal blocks in different ways, and
	 * of each the settings that get furthest */
	struct beginning {
		const char *before;
		uint32_t minor;
		uint64_t until;         /* the first difference */
	} begin[RULES_MAX];
	uint32_t begin_count;
	char after[FRAG_SETTINGS_MAX];          /* the file's */
};

/* The step of the first difference; UINT64_MAX: all agree, or *rc is a failure. */
static uint64_t log_check_run(struct search *s, uint32_t minor, const char *settings, bool first,
			      int *rc, struct frag_error *err)
{
	struct frag_choice choice;

	*rc = frag_choose_version(&choice, minor, err);
	if (*rc)
		return UINT64_MAX;
	if (frag_choice_settings(&choice, settings, err))
		return 0;       /* that release does not know them */
	*rc = frag_verify(&s->verdict, s->trace, &choice, !minor || minor > BY_ADDRESS, first, 0,
			  err);
	/* what cannot be simulated agrees with nothing */
	if (*rc && *rc != -FRAG_ENOMEM) {
		*rc = 0;
		return 0;
	}
	return s->verdict.difference_count ? s->verdict.differences[0].step : UINT64_MAX;
}

/* With the settings of the file from a step on: the first difference, by the unchanged steps. */
static uint64_t log_check_change(struct search *s, const struct beginning *b, uint64_t at, int *rc,
				 struct frag_error *err)
{
	uint64_t step;

	*rc = frag_trace_change_settings(s->trace, at, b->before, s->after, err);
	step = *rc ? UINT64_MAX : log_check_run(s, b->minor, b->before, true, rc, err);
	return step != UINT64_MAX && step > at ? step - 1 : step;
}

/*
 * Looks for the change before the event at which the old settings fail. Where it is put too early,
 * the new settings fail before that event; so halving finds the first place at which they do not,
 * and the change is there or soon after.
 */
static int find_change(struct search *s, const struct beginning *b, uint64_t *at,
		       struct frag_error *err)
{
	uint64_t low = 0, high = b->until, end;
	int rc = 0;

	while (low < high && !rc) {
		const uint64_t middle = low + (high - low) / 2;

		if (log_check_change(s, b, middle, &rc, err) < b->until)
			low = middle + 1;
		else
			high = middle;
	}
	end = frag_min(b->until, low + PLACES_MAX);
	for (; low <= end && !rc; low++)
		if (log_check_change(s, b, low, &rc, err) == UINT64_MAX && !rc) {
			*at = low;
			return 0;
		}
	return rc;
}

/* Keeps the settings if they get furthest under one of the rules. */
static int try_beginning(struct search *s, const char *before, struct frag_error *err)
{
	int rc = 0;

	for (struct beginning *b = s->begin; b < s->begin + s->begin_count && !rc; b++) {
		const uint64_t step = log_check_run(s, b->minor, before, true, &rc, err);

		if (rc || step <= b->until)
			continue;
		b->before = before;
		b->until = step;
	}
	return rc;
}

/* The settings without the item that begins at `item`. */
static void leave_out(char *to, const char *settings, const char *item, size_t length)
{
	const int before = item > settings ? (int)(item - settings) - 1 : 0;
	const char *rest = item + length + (item[length] == ',');

	snprintf(to, FRAG_SETTINGS_MAX, "%.*s%s%s", before, settings, before && *rest ? "," : "",
		 rest);
}

/* Those of the file without one each, and the usual ones. */
static int find_beginnings(struct search *s, char (*others)[FRAG_SETTINGS_MAX],
			   struct frag_error *err)
{
	const char *item = s->after;
	uint32_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < USUAL_MAX && !rc; i++)
		rc = try_beginning(s, usual_settings[i], err);
	while (*item && count < FILE_MAX && !rc) {
		const size_t length = frag_setting_length(item);

		leave_out(others[count], s->after, item, length);
		rc = try_beginning(s, others[count++], err);
		item += length + (item[length] == ',');
	}
	return rc;
}

/* first: the difference under the file's settings, which others must get past. */
static void list_rules(struct search *s, uint64_t first)
{
	static const uint32_t orders[RULES_MAX] = { 0, BY_CREATION, BY_ADDRESS };
	struct frag_release allowed;
	uint32_t least, most;

	frag_allowed_releases(&allowed, s->trace);
	least = allowed.minor ? allowed.least : OLDEST_VERSION;
	most = allowed.minor ? allowed.most : NEWEST_VERSION;
	for (size_t i = 0; i < RULES_MAX; i++)
		if (!i || (orders[i] >= least && orders[i] < most))
			s->begin[s->begin_count++] = (struct beginning){
				.minor = i ? orders[i] : most, .until = first,
			};
}

/* The trace gets the change, if there is one. */
static int look_for_change(struct search *s, uint64_t first, struct frag_error *err)
{
	char (*others)[FRAG_SETTINGS_MAX] = malloc(FILE_MAX * sizeof(*others));
	uint64_t at = UINT64_MAX;
	int rc = others ? 0 : frag_fail_nomem(err);

	list_rules(s, first);
	rc = rc ? rc : find_beginnings(s, others, err);
	for (uint32_t i = 0; i < s->begin_count && !rc && at == UINT64_MAX; i++)
		if (s->begin[i].before && s->begin[i].until != UINT64_MAX)
			rc = find_change(s, &s->begin[i], &at, err);
	free(others);
	if (rc || at != UINT64_MAX)
		return rc;
	return frag_trace_change_settings(s->trace, 0, NULL, NULL, err);
}

static uint64_t decisions(const struct frag_verification *v)
{
	uint64_t sum = 0;

	for (int i = 0; i < FRAG_DECISIONS; i++)
		sum += v->score[i].of;
	return sum;
}

/* Compares under the release and the settings that the trace has now. */
static int compare(struct search *s, char settings[FRAG_SETTINGS_MAX],
		   struct frag_log_check *check, struct frag_error *err)
{
	const struct frag_log silent = { .warn = NULL };
	struct frag_choice choice;
	struct frag_release release;
	int rc = frag_find_release(&release, s->trace, err);

	rc = rc ? rc : frag_choose_release(&choice, s->trace, release.minor, settings,
				      &silent, err);
	rc = rc ? rc : frag_verify(&s->verdict, s->trace, &choice,
				   !release.minor || release.minor > BY_ADDRESS, false, 0, err);
	if (rc)
		return rc;
	check->decisions = decisions(&s->verdict);
	check->differences = s->verdict.difference_count;
	check->first = check->differences ? s->verdict.differences[0].step : 0;
	return 0;
}

int frag_check_log(struct frag_trace *trace, struct frag_error *err)
{
	const struct frag_snapshot *snapshot = frag_trace_snapshot(trace);
	struct frag_log_check check = { .decisions = 0 };
	char before[FRAG_SETTINGS_MAX];
	struct frag_error none;
	struct search *s;
	int rc;

	if (!snapshot || frag_trace_info(trace)->log.decisions
	    || !frag_trace_recording(trace).unread)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return frag_fail_nomem(err);
	s->trace = trace;
	/* a log without addresses, or settings that are not understood: nothing to compare */
	rc = compare(s, s->after, &check, &none);
	if (!rc && check.differences && snapshot->plan_count < RECORDS_MAX) {
		rc = look_for_change(s, check.first, &none);
		if (!rc && snapshot->change)
			rc = compare(s, before, &check, &none);
	}
	if (!rc)
		frag_trace_set_log(trace, &check);
	free(s);
	return rc == -FRAG_ENOMEM ? frag_fail_nomem(err) : 0;
}

int frag_check_log_warn(struct frag_trace *trace, const struct frag_log *log,
			struct frag_error *err)
{
	const int rc = frag_check_log(trace, err);
	const struct frag_trace_info *info = frag_trace_info(trace);

	if (!rc && info->log.differences)
		frag_note(log, "%s: its simulation differs from the recorded log from event %" PRIu64
			  " on: settings changed in mid-run?", info->path, info->log.first);
	return rc;
}
