/* loaded_trace.c - a trace in memory, with the policies and devices that simulate it. */
#include "cmd/loaded_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/progress.h"
#include "events/recording_info.h"
#include "iterations/leak_detect.h"
#include "policy/pytorch_settings.h"
#include "verify/log_check.h"

#define FOR_OTHERS "bestfit"

/*
 * Names a choice in tables by the release that its rules are of, and its settings: "pytorch 2.8
 * max_split_size_mb:64". Without a release the settings alone, or "" for none.
 */
static void name_choice(struct frag_choice *choice, const struct frag_release *release,
			const char *settings)
{
	char version[FRAG_RELEASE_ROOM];

	*choice->label = '\0';
	if (release->minor)
		snprintf(choice->label, sizeof(choice->label), "pytorch %s%s%.200s",
			 frag_release_text(release, version), *settings ? " " : "", settings);
	else
		snprintf(choice->label, sizeof(choice->label), "%.250s", settings);
}

/* The release's rules under these settings; keeps the choice where the release refuses them. */
static int follow_one(struct frag_choice *choice, const struct frag_release *release,
		      const char *settings, struct frag_error *err)
{
	struct frag_choice own, spelt;
	struct frag_error unused;
	int rc = frag_choose_version(&own, release->minor, err);

	rc = rc ? rc : frag_choice_settings(&own, settings, err);
	if (rc)
		return rc;
	name_choice(&own, release, settings);
	own.oldest = (uint8_t)release->least;
	spelt = own;
	if (!frag_choice_expand_settings(&spelt, &unused))
		memcpy(own.text, spelt.text, sizeof(own.text));
	*choice = own;
	return 0;
}

/*
 * Gives the choices that come from --alloc-conf alone, and those of a grid, the rules of the
 * release that recorded the trace, where it is known. A choice of a grid that the release refuses
 * keeps the newest rules. *release: minor 0 where it is unknown or nothing follows it.
 * -FRAG_EUSAGE: the release refuses --alloc-conf.
 */
static int follow_release(struct frag_choice *choices, const struct frag_run_options *run,
			  const struct frag_trace *trace, struct frag_release *release, struct frag_error *err)
{
	char conf[FRAG_CONF_ROOM];
	struct frag_error refused;
	int rc = 0;

	release->minor = 0;
	if ((!run->follows_release && !run->grid_count) || !frag_trace_info(trace)->pytorch)
		return 0;
	rc = frag_find_release(release, trace, err);
	for (uint32_t i = 0; run->follows_release && i < run->choice_count && !rc
			     && release->minor; i++)
		rc = follow_one(&choices[i], release, run->settings.at[i], err);
	for (uint32_t i = 0; i < run->grid_count && !rc && release->minor; i++) {
		frag_conf_text(&choices[i], conf, sizeof(conf));
		if (follow_one(&choices[i], release, conf, &refused) == -FRAG_ENOMEM)
			rc = frag_fail_nomem(err);
	}
	return rc;
}

/*
 * pytorch with the recorded settings, if the trace has them, and with `more` (may be NULL).
 * Settings that are too long to be spelt out are in force, and in the result, all the same.
 */
static int choose_pytorch(struct frag_choice *choice, const struct frag_trace *trace,
			  const char *more, const struct frag_log *log, struct frag_error *err)
{
	struct frag_release release;
	int rc = frag_find_release(&release, trace, err);
	char text[FRAG_SETTINGS_MAX], conf[FRAG_CONF_ROOM];
	struct frag_choice plain;
	struct frag_error unused;

	rc = rc ? rc : frag_choose_release(choice, trace, release.minor, text, log, err);
	if (!rc && more)
		rc = frag_choice_settings(choice, more, err);
	plain = *choice;
	if (!rc && frag_choice_expand_settings(choice, &unused))
		*choice = plain;
	if (!rc && release.minor) {
		choice->oldest = (uint8_t)release.least;
		frag_conf_text(choice, conf, sizeof(conf));
		name_choice(choice, &release, conf);
	}
	return rc;
}

/* Files of the options' choices stay theirs. */
static int loaded_trace_choose(struct frag_loaded_trace *t, const struct frag_run_options *o,
			       frag_usual *usual, const struct frag_log *log,
			       struct frag_error *err)
{
	const uint32_t room = o->choice_count ? o->choice_count : FRAG_USUAL_MAX;

	t->choices = calloc(room, sizeof(*t->choices));
	if (!t->choices)
		return frag_fail_nomem(err);
	t->choice_count = o->choice_count;
	if (!o->choice_count)
		return !usual ? 0 : usual(t->choices, &t->choice_count, t->trace, log, err);
	memcpy(t->choices, o->choices, room * sizeof(*t->choices));
	return follow_release(t->choices, o, t->trace, &t->release, err);
}

/*
 * The devices of a run: those that the trace suggests, the profile's in their place, and what
 * options say above both. Their capacities are 0 where these are searched for.
 */
static int loaded_trace_set_devices(struct frag_loaded_trace *t, const struct frag_run_options *o,
				    bool capacity, struct frag_error *err)
{
	const struct frag_trace_info *info = frag_trace_info(t->trace);
	const uint64_t total = capacity ? o->total : 0;
	int rc = frag_devices_copy(&t->devices, info->devices, info->device_count, err);

	if (!rc && o->profile_path)
		rc = frag_devices_replace_all(&t->devices, &o->profile.figures, err);
	if (rc)
		return rc;
	frag_devices_override(&t->devices, total, o->context, o->other, o->granularity);
	frag_devices_assume_context(&t->devices, frag_run_card_context(o));
	/* the device sizes of a trace itself are simulated without a check */
	if ((total & o->context & o->other) != UINT64_MAX)
		rc = frag_devices_have_room(&t->devices, err);
	for (uint32_t d = 0; d < t->devices.count && !capacity; d++)
		t->devices.figures[d].total = 0;
	return rc;
}

/* What a choice has of the recording that it simulates. */
static void describe_recording(struct frag_choice *choice, const struct frag_trace *trace)
{
	const struct frag_log_check *log = &frag_trace_info(trace)->log;

	choice->accelerator = (uint8_t)frag_trace_recording(trace).accelerator;
	choice->logged = log->decisions;
	choice->log_differences = log->differences;
	choice->log_first = log->first;
	choice->log_changed_at = log->changed_to ? log->changed_at : 0;
}

void frag_taped_warn(void *ctx, const char *message)
{
	struct frag_taped_reading *reading = ctx;

	frag_progress_end(&reading->progress);
	frag_warn(&reading->quiet, message);
}

void frag_taped_show(void *ctx, const struct frag_trace_info *info)
{
	struct frag_taped_reading *reading = ctx;

	frag_progress_show(&reading->progress, info);
}

struct frag_taped_reading frag_taped_reading(const struct frag_run_options *o)
{
	return (struct frag_taped_reading){
		.quiet = o->quiet, .stacks = o->html || o->svg ? FRAG_STACKS_PYTHON : FRAG_STACKS_NONE,
	};
}

int frag_taped_open(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err)
{
	const struct frag_log own = { .warn = frag_taped_warn, .ctx = reading };
	const struct frag_trace_options options = {
		.lenient = o->lenient, .records = reading->records,
		.host = reading->host, .stacks = reading->stacks,
		.log = reading->log ? *reading->log : own,
		.sized = !reading->capacity || o->total != UINT64_MAX || o->profile_path,
		.configured = frag_configured_next, .configured_ctx = &t->configured,
	};
	int rc = frag_trace_open(&t->trace, path, &options, err);

	rc = frag_or_interrupted(rc, err);
	rc = rc ? rc : frag_check_log(t->trace, err);
	rc = rc ? rc : loaded_trace_choose(t, o, usual, &options.log, err);
	for (uint32_t i = 0; i < t->choice_count && !rc; i++)
		describe_recording(&t->choices[i], t->trace);
	rc = rc ? rc : loaded_trace_set_devices(t, o, reading->capacity, err);
	if (!rc && !frag_configured_init(&t->configured, t->choices, t->choice_count))
		rc = frag_fail_nomem(err);
	return rc;
}

int frag_taped_read(struct frag_loaded_trace *traces, const char *const *paths, uint32_t count,
		    const struct frag_run_options *o, frag_usual *usual,
		    struct frag_taped_reading *reading, struct frag_error *err)
{
	const struct frag_read_job job = { frag_interrupted, frag_taped_show, reading };
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc; i++) {
		if (!reading->part)
			frag_progress_begin(&reading->progress, !reading->quiet);
		rc = frag_taped_open(&traces[i], paths[i], o, usual, reading, err);
		rc = rc ? rc : frag_tape_new(&traces[i].tape, traces[i].trace, &job, err);
		if (!rc && reading->growth)
			rc = frag_growth_find(traces[i].trace, traces[i].tape, err);
		frag_progress_end(&reading->progress);
	}
	return rc;
}

void frag_taped_close(struct frag_loaded_trace *traces, uint32_t count)
{
	for (struct frag_loaded_trace *t = traces; traces && t < traces + count; t++) {
		frag_tape_del(t->tape);
		frag_devices_fini(&t->devices);
		frag_trace_close(t->trace);
		frag_configured_fini(&t->configured);
		free(t->choices);
		*t = (struct frag_loaded_trace){ .choice_count = 0 };
	}
}

/* As it was recorded, and with other settings; called by what one pastes. */
static int choose_setting(struct frag_choice *choice, const char *more,
			  const struct frag_trace *trace, const struct frag_log *log,
			  struct frag_error *err)
{
	char conf[FRAG_CONF_ROOM];
	const int rc = choose_pytorch(choice, trace, more, log, err);

	if (rc || *choice->label)
		return rc;
	frag_conf_text(choice, conf, sizeof(conf));
	snprintf(choice->label, sizeof(choice->label), "%.250s", *conf ? conf : "default");
	return 0;
}

/* A trace recorded with expandable segments is compared with a run that has none. */
int frag_usual_settings(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
			const struct frag_trace *trace, const struct frag_log *log,
			struct frag_error *err)
{
	int rc = choose_setting(&choices[0], NULL, trace, log, err);

	rc = rc ? rc : choose_setting(&choices[1], "expandable_segments:True", trace, log, err);
	if (!rc && memcmp(choices[0].param, choices[1].param, sizeof(choices[0].param)) == 0)
		rc = choose_setting(&choices[1], "expandable_segments:False", trace, log, err);
	*count = 2;
	return rc;
}

int frag_usual_recorded(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
			const struct frag_trace *trace, const struct frag_log *log,
			struct frag_error *err)
{
	*count = 1;
	return choose_pytorch(&choices[0], trace, NULL, log, err);
}

int frag_usual_policy(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		      const struct frag_trace *trace, const struct frag_log *log,
		      struct frag_error *err)
{
	if (frag_trace_info(trace)->pytorch)
		return frag_usual_recorded(choices, count, trace, log, err);
	*count = 1;
	return frag_choice_parse(&choices[0], FOR_OTHERS, err);
}

/* bestfit shows what a policy without segments needs. */
int frag_usual_three(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		     const struct frag_trace *trace, const struct frag_log *log,
		     struct frag_error *err)
{
	const int rc = frag_usual_settings(choices, count, trace, log, err);

	return rc ? rc : frag_choice_parse(&choices[(*count)++], "bestfit", err);
}
