/* settings_trials.c - what policies come to on a tape: each is simulated once, on all devices. */
#include "search/settings_trials.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

static uint32_t device_count(const struct frag_trials *t)
{
	return frag_tape_info(t->tape)->device_count;
}

int frag_trials_sim(const struct frag_trials *t, const struct frag_choice *choice, uint32_t device,
		    uint64_t total, enum frag_level level, struct frag_sim **out,
		    struct frag_error *err)
{
	struct frag_sim_options options = *t->options;
	struct frag_devices devices = { .count = 0 };
	int rc = frag_devices_copy(&devices, options.devices, device_count(t), err);

	*out = NULL;
	for (uint32_t d = 0; !rc && d < devices.count; d++)
		if (device == FRAG_ALL || d == device)
			devices.figures[d].total = total;
	options.devices = devices.figures;
	options.level = level;
	options.check = options.on_oom_continue = false;
	options.on_oom = NULL;
	rc = rc ? rc : frag_sim_on_tape(out, choice, t->tape, &options, err);
	frag_devices_fini(&devices);
	return rc;
}

int frag_trials_play(const struct frag_trials *t, struct frag_sim *sim,
		     struct frag_tape_reader *reader, uint64_t until, struct frag_error *err)
{
	if (t->stop && t->stop(t->ctx))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return frag_sim_play(sim, reader, until, err);
}

static struct frag_trial_figures figures_of(const struct frag_result *run)
{
	return (struct frag_trial_figures){
		.status = run->status, .requested = run->peak.requested,
		.allocated = run->peak.allocated, .reserved = run->peak.reserved,
		.wasted = run->at_peak.wasted,
	};
}

static int settings_trials_add(struct frag_trials *t, const struct frag_choice *choice,
			       bool unlimited, const struct frag_result *runs,
			       struct frag_error *err)
{
	struct frag_trial *trial;

	if (!frag_grow(&t->trial, &t->capacity, (uint64_t)t->count + 1, sizeof(*t->trial)))
		return frag_fail_nomem(err);
	trial = &t->trial[t->count];
	*trial = (struct frag_trial){ .choice = *choice, .unlimited = unlimited };
	trial->figures = calloc(device_count(t), sizeof(*trial->figures));
	if (!trial->figures)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < device_count(t); d++)
		trial->figures[d] = figures_of(&runs[d]);
	t->count++;
	return 0;
}

int frag_trials_add(struct frag_trials *t, const struct frag_result *runs, struct frag_error *err)
{
	return settings_trials_add(t, &runs->choice, false, runs, err);
}

/* As far as the peaks: percentages are nobody's business here. */
static int settings_trials_simulate(struct frag_trials *t, const struct frag_choice *choice,
				    bool unlimited, struct frag_error *err)
{
	const uint64_t total = unlimited ? 0 : t->options->devices[0].total;
	struct frag_tape_reader *reader = frag_tape_reader_new(t->tape);
	struct frag_sim *sim = NULL;
	uint32_t count;
	int rc = reader ? frag_trials_sim(t, choice, unlimited ? FRAG_ALL : 0, total,
					  FRAG_LEVEL_PEAKS, &sim, err) : frag_fail_nomem(err);

	rc = rc ? rc : frag_trials_play(t, sim, reader, UINT64_MAX, err);
	if (!rc)
		rc = settings_trials_add(t, choice, unlimited, frag_sim_results(sim, false, &count),
					 err);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

static const struct frag_trial *settings_trials_find(const struct frag_trials *t,
						     const struct frag_choice *choice,
						     bool unlimited)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct frag_trial *trial = &t->trial[i];

		if (trial->unlimited == unlimited && trial->choice.ops == choice->ops
		    && memcmp(trial->choice.param, choice->param, sizeof(choice->param)) == 0)
			return trial;
	}
	return NULL;
}

int frag_trials_find(struct frag_trials *t, const struct frag_choice *choice, bool unlimited,
		     uint32_t device, struct frag_trial_figures *out, struct frag_error *err)
{
	const struct frag_trial *trial = settings_trials_find(t, choice, unlimited);
	int rc = trial ? 0 : settings_trials_simulate(t, choice, unlimited, err);

	if (rc)
		return rc;
	trial = trial ? trial : &t->trial[t->count - 1];
	*out = trial->figures[device];
	return 0;
}

void frag_trials_fini(struct frag_trials *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->trial[i].figures);
	free(t->trial);
	t->trial = NULL;
	t->count = t->capacity = 0;
}
