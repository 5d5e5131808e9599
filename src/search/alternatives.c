/* alternatives.c - what the whole trace needs, and which other policies and settings survive. */
#include "search/alternatives.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "search/settings_grid.h"
#include "search/fit_intervals.h"

/* As they are by default. */
static const char *const policies[] = { "pytorch", "bestfit", NULL };

#define OTHERS_MAX (FRAG_REMEDIES + sizeof(policies) / sizeof(policies[0]))

struct trials {
	const struct frag_explanation *x;
	uint32_t device;
	struct frag_choice choices[OTHERS_MAX];
	bool survives[OTHERS_MAX];
	uint32_t count;
};

static struct frag_fit_case subject_of(const struct frag_explanation *x, uint32_t device,
				      const struct frag_choice *choice)
{
	return (struct frag_fit_case){
		.tape = x->tape, .choice = choice, .devices = x->devices, .device = device,
		.stop = x->stop, .ctx = x->ctx,
	};
}

static bool is_known(const struct trials *t, const struct frag_choice *choice)
{
	const struct frag_choice *own = t->x->choice;

	if (own->ops == choice->ops
	    && memcmp(own->param, choice->param, sizeof(choice->param)) == 0)
		return true;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->choices[i].ops == choice->ops
		    && memcmp(t->choices[i].param, choice->param, sizeof(choice->param)) == 0)
			return true;
	return false;
}

static void list_others(struct trials *t)
{
	const struct frag_choice *own = t->x->choice;
	struct frag_error unused;

	for (uint32_t i = 0; own->ops->settings && i < FRAG_REMEDIES; i++) {
		struct frag_choice choice = *own;

		if (frag_choice_settings(&choice, frag_remedies[i], &unused) == 0
		    && !is_known(t, &choice))
			t->choices[t->count++] = choice;
	}
	for (uint32_t i = 0; policies[i]; i++) {
		struct frag_choice choice;

		if (frag_choice_parse(&choice, policies[i], &unused) == 0
		    && choice.ops != own->ops && !is_known(t, &choice))
			t->choices[t->count++] = choice;
	}
}

/* One with which a simulation fails is none that survives. */
static int try_one(void *ctx, uint32_t i, struct frag_error *err)
{
	struct trials *t = ctx;
	const struct frag_fit_case subject = subject_of(t->x, t->device, &t->choices[i]);
	struct frag_interval out;
	const int rc = frag_subject_run(&subject, t->x->devices[t->device].total, 0,
					FRAG_LEVEL_SURVIVE, &out, err);

	t->survives[i] = !rc && out.outcome.survives;
	return rc == -FRAG_EINTERRUPTED || rc == -FRAG_ENOMEM ? rc : 0;
}

static void show_progress(void *ctx, uint32_t done, uint32_t count)
{
	const struct trials *t = ctx;

	t->x->progress(t->x->ctx, "settings", done, count);
}

static int try_others(const struct frag_explanation *x, struct frag_explained *m,
		      struct frag_error *err)
{
	struct trials *t = calloc(1, sizeof(*t));
	struct frag_tasks tasks = {
		.task = try_one, .progress = x->progress ? show_progress : NULL, .ctx = t,
		.threads = x->threads,
	};
	int rc;

	m->survivors = calloc(OTHERS_MAX, sizeof(*m->survivors));
	if (!t || !m->survivors) {
		free(t);
		return frag_fail_nomem(err);
	}
	t->x = x;
	t->device = m->device;
	list_others(t);
	tasks.count = m->others = t->count;
	rc = frag_tasks_run(&tasks, err);
	for (uint32_t i = 0; i < t->count && !rc; i++)
		if (t->survives[i])
			m->survivors[m->survivor_count++] = t->choices[i];
	free(t);
	return rc;
}

static bool ends_with_it(const struct frag_explanation *x, const struct frag_explained *m)
{
	const struct frag_trace_info *info = frag_tape_info(x->tape);

	return m->failure && frag_tape_event(x->tape, m->step) + 1 >= info->events;
}

int frag_find_alternatives(const struct frag_explanation *x, struct frag_explained *m,
		     struct frag_error *err)
{
	const struct frag_device_figures *d = &x->devices[m->device];
	const struct frag_fit_case subject = subject_of(x, m->device, x->choice);
	const uint64_t room = d->total - d->context - d->other;
	struct frag_interval all;
	int rc;

	m->fits_known = m->fits = !m->limited;
	if (!m->limited || ends_with_it(x, m))
		return 0;
	rc = frag_subject_run(&subject, 0, 0, FRAG_LEVEL_PEAKS, &all, err);
	if (rc)
		return rc;
	m->fits_known = all.outcome.survives;
	m->peak = all.outcome.peak_allocated;
	m->fits = m->peak <= room;
	if (!m->failure || m->failure == FRAG_FAILURE_OVER_DEVICE
	    || all.outcome.peak_requested > room)
		return 0;
	return try_others(x, m, err);
}
