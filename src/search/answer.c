/* answer.c - what a run leaves open, found by simulating its tape again. */
#include "search/answer.h"

#include <string.h>

/* Events that a search may simulate: some seconds. */
#define EVENTS_MAX (UINT64_C(1) << 25)
/* Above the smallest device it is looked so far whether larger ones survive too. */
#define FAR 1.05
/* Where less than this part of what is requested is lost, no other setting is looked for. */
#define WORTH_IT 0.05

static int check_stop(const struct frag_inquiry *q, struct frag_error *err)
{
	if (q->stop && q->stop(q->ctx))
		return frag_fail(err, FRAG_EINTERRUPTED, "interrupted");
	return 0;
}

/*
 * The tape again, up to event `until`, on the run's device with another total. Released with
 * frag_sim_del(), also where this fails.
 */
static int play(struct frag_sim **sim, const struct frag_inquiry *q, const struct frag_result *run,
		const struct frag_choice *choice, uint64_t total, enum frag_level level,
		uint64_t until, struct frag_error *err)
{
	struct frag_sim_options options = *q->options;
	struct frag_tape_reader *reader = frag_tape_reader_new(q->tape);
	struct frag_devices devices = { .count = 0 };
	int rc = check_stop(q, err);

	*sim = NULL;
	if (!rc && !reader)
		rc = frag_fail_nomem(err);
	rc = rc ? rc : frag_devices_copy(&devices, q->options->devices,
					 frag_tape_info(q->tape)->device_count, err);
	if (!rc) {
		devices.figures[run->device].total = total;
		options.devices = devices.figures;
		options.level = level;
		options.check = options.on_oom_continue = false;
		options.on_oom = NULL;
		rc = frag_sim_on_tape(sim, choice, q->tape, &options, err);
	}
	rc = rc ? rc : frag_sim_play(*sim, reader, until, err);
	frag_devices_fini(&devices);
	frag_tape_reader_del(reader);
	return rc;
}

/* The same run to its end, for what it comes to on its device. */
static int try(const struct frag_inquiry *q, const struct frag_result *run,
	       const struct frag_choice *choice, uint64_t total, enum frag_level level,
	       struct frag_result *out, struct frag_error *err)
{
	struct frag_sim *sim;
	uint32_t count;
	int rc = play(&sim, q, run, choice, total, level, UINT64_MAX, err);

	if (!rc) {
		*out = frag_sim_results(sim, false, &count)[run->device];
		/* figures only: the rest goes with the simulation */
		out->ooms = NULL;
		out->marks = NULL;
		out->oom_count = out->mark_count = 0;
	}
	frag_sim_del(sim);
	return rc;
}

static int find_needs(struct frag_answer *a, const struct frag_inquiry *q,
		      const struct frag_result *run, struct frag_error *err)
{
	struct frag_result r;
	int rc = try(q, run, &run->choice, 0, FRAG_LEVEL_PEAKS, &r, err);

	if (!rc && r.status == FRAG_RUN_OK) {
		a->requested = r.peak.requested;
		a->allocated = r.peak.allocated;
	}
	return rc;
}

/* Is the fraction in force at the failure that of the rest of the trace, too? */
static int find_limit(struct frag_answer *a, const struct frag_inquiry *q,
		      const struct frag_result *run, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(q->tape);
	struct frag_batch batch;

	if (!reader)
		return frag_fail_nomem(err);
	a->limit_stays = true;
	frag_tape_seek(reader, frag_tape_event(q->tape, run->ooms[0].step));
	do {
		frag_tape_next(reader, UINT64_MAX, &batch);
		for (uint32_t i = 0; i < batch.count; i++)
			if (batch.events[i].op == FRAG_OP_SET_FRACTION
			    || batch.events[i].op == FRAG_OP_CONFIGURE)
				a->limit_stays = false;
	} while (batch.count && a->limit_stays);
	frag_tape_reader_del(reader);
	return 0;
}

/* The least total that is a whole number of the device's pages beside others, and not below. */
static uint64_t next_total(const struct frag_result *run, uint64_t minimal)
{
	const uint64_t taken = run->context + run->other;

	return minimal <= taken ? taken : taken + frag_round_up(minimal - taken, run->granularity);
}

/*
 * Upwards, none left out, as a larger device may fail where a smaller one survives: each run
 * says up to which total it would be the same.
 */
static int find_smallest(struct frag_answer *a, const struct frag_inquiry *q,
			 const struct frag_result *run, struct frag_error *err)
{
	const uint64_t floor = run->context + run->other + a->requested;
	struct frag_result r = *run;
	uint64_t events = 0;
	int rc = 0;

	if (r.beyond < floor)
		r.beyond = floor;
	while (!rc && events < EVENTS_MAX && r.beyond < UINT64_C(1) << 53
	       && (!a->smallest || (double)r.beyond < FAR * (double)a->smallest)) {
		const uint64_t total = next_total(run, r.beyond);

		rc = try(q, run, &run->choice, total, FRAG_LEVEL_SURVIVE, &r, err);
		events += r.steps + 1;
		if (rc || r.status != FRAG_RUN_OK) {
			a->safe = 0;
			continue;
		}
		a->smallest = a->smallest ? a->smallest : total;
		a->safe = a->safe ? a->safe : total;
	}
	a->failing = r.beyond;
	return rc;
}

static int find_peak(struct frag_answer *a, const struct frag_inquiry *q,
		     const struct frag_result *run, struct frag_error *err)
{
	struct frag_sim *sim;
	int rc = play(&sim, q, run, &run->choice, run->total, FRAG_LEVEL_SURVIVE,
		      frag_tape_event(q->tape, run->peak_step) + 1, err);

	if (!rc) {
		a->has_peak = true;
		rc = frag_moment_init(&a->peak, sim, run->device, err);
	}
	frag_sim_del(sim);
	return rc;
}

/* Lines to paste, the one that cures most first. */
static const char *const remedies[] = {
	"expandable_segments:True",
	"max_split_size_mb:512",
	"max_split_size_mb:256",
	"max_split_size_mb:128",
	"max_split_size_mb:64",
	"roundup_power2_divisions:8",
	NULL,
};

static bool is_remedy(const struct frag_result *run, const struct frag_result *r)
{
	if (r->status != FRAG_RUN_OK)
		return false;
	return run->status == FRAG_RUN_OOM
	       || (double)r->peak.reserved < (1 - WORTH_IT / 2) * (double)run->peak.reserved;
}

/* The run's other settings stay, so what is found is the whole line. */
static int try_remedy(struct frag_answer *a, const struct frag_inquiry *q,
		      const struct frag_result *run, const char *conf, struct frag_error *err)
{
	struct frag_error refused = { .code = 0 };
	struct frag_choice choice = run->choice;
	struct frag_result r;
	int rc = frag_choice_settings(&choice, conf, &refused);

	if (!rc && memcmp(choice.param, run->choice.param, sizeof(choice.param)) == 0)
		return 0;
	a->remedies++;
	rc = rc ? rc : try(q, run, &choice, run->total, FRAG_LEVEL_PEAKS, &r, &refused);
	if (rc == -FRAG_EINTERRUPTED || rc == -FRAG_ENOMEM) {
		*err = refused;
		return rc;
	}
	if (!rc && is_remedy(run, &r))
		a->remedy = (struct frag_remedy){
			.found = true, .choice = choice, .requested = r.peak.requested,
			.reserved = r.peak.reserved, .lost = r.at_peak.lost,
		};
	return 0;
}

/* Of a run that fits only the first: what a device has too much needs no cure. */
static int find_remedy(struct frag_answer *a, const struct frag_inquiry *q,
		       const struct frag_result *run, struct frag_error *err)
{
	const bool fits = run->status == FRAG_RUN_OK;
	int rc = 0;

	if (!run->choice.ops->settings)
		return 0;
	if (fits && (double)run->at_peak.lost
		    < WORTH_IT * (double)run->peak.requested)
		return 0;
	for (uint32_t i = 0; remedies[i] && !rc && !a->remedy.found && !(fits && i); i++)
		rc = try_remedy(a, q, run, remedies[i], err);
	return rc;
}

int frag_answer_init(struct frag_answer *a, const struct frag_inquiry *q,
		     const struct frag_result *run, struct frag_error *err)
{
	int rc = 0;

	*a = (struct frag_answer){ .requested = 0 };
	if (run->last.opaque || run->status == FRAG_RUN_INTERRUPTED)
		return 0;
	if (run->status == FRAG_RUN_OOM) {
		rc = find_needs(a, q, run, err);
		if (!rc && run->oom_count && run->ooms[0].limit != UINT64_MAX)
			rc = find_limit(a, q, run, err);
		if (!rc && run->total)
			rc = find_smallest(a, q, run, err);
	} else {
		a->requested = run->peak.requested;
		a->allocated = run->peak.allocated;
		rc = run->steps ? find_peak(a, q, run, err) : 0;
	}
	/* no setting helps where the bytes themselves are too many */
	if (!rc && q->remedies
	    && (!run->total || run->context + run->other + a->requested <= run->total))
		rc = find_remedy(a, q, run, err);
	return rc;
}

void frag_answer_fini(struct frag_answer *a)
{
	frag_moment_fini(&a->peak);
	*a = (struct frag_answer){ .requested = 0 };
}
