/* loaded_trace.c - a trace in memory, with the policies and devices that simulate it. */
#include "cmd/loaded_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/interrupt.h"
#include "cmd/progress.h"
#include "cmd/default_policy.h"
#include "policy/configure_events.h"

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
		return usual(t->choices, &t->choice_count, t->trace, log, err);
	memcpy(t->choices, o->choices, room * sizeof(*t->choices));
	return frag_follow_release(t->choices, o, t->trace, &t->release, err);
}

/* Where the capacity is what is searched for, the rest is the trace's, a profile's or an option's. */
static int loaded_trace_set_devices(struct frag_loaded_trace *t, const struct frag_run_options *o,
				    bool capacity, struct frag_error *err)
{
	struct frag_run_options plain = *o;
	int rc;

	plain.total = capacity ? o->total : 0;
	rc = frag_run_devices(&plain, t->trace, &t->devices, err);
	for (uint32_t d = 0; d < t->devices.count && !capacity; d++)
		t->devices.figures[d].total = 0;
	return rc;
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
		.quiet = o->quiet, .stacks = o->html ? FRAG_STACKS_PYTHON : FRAG_STACKS_NONE,
	};
}

int frag_taped_open(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err)
{
	const struct frag_log own = { .warn = frag_taped_warn, .ctx = reading };
	const struct frag_trace_options options = {
		.lenient = o->lenient, .records = reading->records, .meta = reading->meta,
		.host = reading->host, .stacks = reading->stacks,
		.log = reading->log ? *reading->log : own,
		.sized = !reading->capacity || o->total != UINT64_MAX || o->profile_path,
		.configured = frag_configured_next, .configured_ctx = &t->configured,
	};
	int rc = frag_trace_open(&t->trace, path, &options, err);

	rc = frag_or_interrupted(rc, err);
	rc = rc ? rc : loaded_trace_choose(t, o, usual, &options.log, err);
	rc = rc ? rc : loaded_trace_set_devices(t, o, reading->capacity, err);
	if (!rc && !frag_configured_init(&t->configured, t->choices, t->choice_count))
		rc = frag_fail_nomem(err);
	return rc;
}

int frag_taped_load(struct frag_loaded_trace *t, const char *path, const struct frag_run_options *o,
		    frag_usual *usual, struct frag_taped_reading *reading, struct frag_error *err)
{
	const struct frag_tape_options tape = {
		.stop = frag_interrupted, .progress = frag_taped_show, .ctx = reading,
	};
	int rc = frag_taped_open(t, path, o, usual, reading, err);

	return rc ? rc : frag_tape_new(&t->tape, t->trace, &tape, err);
}

int frag_taped_read(struct frag_loaded_trace *traces, const char *const *paths, uint32_t count,
		    const struct frag_run_options *o, frag_usual *usual,
		    struct frag_taped_reading *reading, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < count && !rc; i++) {
		frag_progress_begin(&reading->progress, !reading->quiet);
		rc = frag_taped_load(&traces[i], paths[i], o, usual, reading, err);
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
	const int rc = frag_choose_pytorch(choice, trace, more, log, err);

	if (rc || *choice->label)
		return rc;
	frag_conf_text(choice, conf, sizeof(conf));
	snprintf(choice->label, sizeof(choice->label), "%.250s", *conf ? conf : "default");
	return 0;
}

static bool same_settings(const struct frag_choice *a, const struct frag_choice *b)
{
	return memcmp(a->param, b->param, sizeof(a->param)) == 0;
}

/* A trace recorded with expandable segments is compared with a run that has none. */
int frag_usual_settings(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
			const struct frag_trace *trace, const struct frag_log *log,
			struct frag_error *err)
{
	int rc = choose_setting(&choices[0], NULL, trace, log, err);

	rc = rc ? rc : choose_setting(&choices[1], "expandable_segments:True", trace, log, err);
	if (!rc && same_settings(&choices[0], &choices[1]))
		rc = choose_setting(&choices[1], "expandable_segments:False", trace, log, err);
	*count = 2;
	return rc;
}

int frag_usual_policy(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		      const struct frag_trace *trace, const struct frag_log *log,
		      struct frag_error *err)
{
	*count = 1;
	return frag_choose_policy(&choices[0], trace, log, err);
}

/* bestfit shows what a policy without segments needs. */
int frag_usual_three(struct frag_choice choices[FRAG_USUAL_MAX], uint32_t *count,
		     const struct frag_trace *trace, const struct frag_log *log,
		     struct frag_error *err)
{
	const int rc = frag_usual_settings(choices, count, trace, log, err);

	return rc ? rc : frag_choice_parse(&choices[(*count)++], "bestfit", err);
}
