/* diagnose_run.c - what a run leaves open, found by simulating its tape again. */
#include "explain/diagnose_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "device/usable.h"
#include "engine/sim_queries.h"
#include "engine/tape_run.h"
#include "events/recording_info.h"
#include "events/tape.h"
#include "policy/policies.h"
#include "search/fit_intervals.h"
#include "search/recommend.h"

/* On one device. Bytes: peaks, and what is wasted at that of reserved. */
struct frag_trial_figures {
	enum frag_run_status status;
	uint64_t requested, allocated, reserved, wasted;
};

struct frag_trial {
	struct frag_choice choice;      /* borrows what it names */
	bool unlimited;                 /* no device has a capacity */
	struct frag_trial_figures *figures;  /* by device */
};

static uint32_t device_count_of(const struct frag_trials *t)
{
	return frag_tape_info(t->tape)->device_count;
}

/*
 * Creates a simulation over the tape, fed nothing yet; total: replaces the capacity of one
 * device, or of FRAG_ALL. Released with frag_sim_del(), also where this fails.
 */
static int trials_sim(const struct frag_trials *t, const struct frag_choice *choice, uint32_t device,
		      uint64_t total, enum frag_level level, struct frag_sim **out,
		      struct frag_error *err)
{
	struct frag_sim_options options = *t->options;
	struct frag_devices devices = { .count = 0 };
	int rc = frag_devices_copy(&devices, options.devices, device_count_of(t), err);

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

static int trials_play(const struct frag_trials *t, struct frag_sim *sim,
		       struct frag_tape_reader *reader, uint64_t until, struct frag_error *err)
{
	return frag_tape_play(sim, reader, until, &t->job, err);
}

static struct frag_trial_figures figures_of(const struct frag_result *run)
{
	return (struct frag_trial_figures){
		.status = run->status, .requested = run->peak.requested,
		.allocated = run->peak.allocated, .reserved = run->peak.reserved,
		.wasted = run->at_peak.wasted,
	};
}

static int trials_add(struct frag_trials *t, const struct frag_choice *choice,
		      bool unlimited, const struct frag_result *runs,
		      struct frag_error *err)
{
	struct frag_trial *trial;

	if (!FRAG_GROW(t->trial, t->capacity, t->count))
		return frag_fail_nomem(err);
	trial = &t->trial[t->count];
	*trial = (struct frag_trial){ .choice = *choice, .unlimited = unlimited };
	trial->figures = calloc(device_count_of(t), sizeof(*trial->figures));
	if (!trial->figures)
		return frag_fail_nomem(err);
	for (uint32_t d = 0; d < device_count_of(t); d++)
		trial->figures[d] = figures_of(&runs[d]);
	t->count++;
	return 0;
}

/* Simulates up to the level of peaks: percentages are not needed here. */
static int trials_simulate(struct frag_trials *t, const struct frag_choice *choice,
			   bool unlimited, struct frag_error *err)
{
	const uint64_t total = unlimited ? 0 : t->options->devices[0].total;
	struct frag_tape_reader *reader = frag_tape_reader_new(t->tape);
	struct frag_sim *sim = NULL;
	uint32_t count;
	int rc = reader ? trials_sim(t, choice, unlimited ? FRAG_ALL : 0, total,
				     FRAG_LEVEL_PEAKS, &sim, err) : frag_fail_nomem(err);

	rc = rc ? rc : trials_play(t, sim, reader, UINT64_MAX, err);
	if (!rc)
		rc = trials_add(t, choice, unlimited, frag_sim_results(sim, false, &count),
				err);
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

/*
 * Finds the metrics on one device of the trace, on the runs' devices or on unlimited ones.
 * -FRAG_ENOMEM, -FRAG_EINTERRUPTED, or why the policy cannot be simulated.
 */
static int trials_find(struct frag_trials *t, const struct frag_choice *choice, bool unlimited,
		       uint32_t device, struct frag_trial_figures *out, struct frag_error *err)
{
	uint32_t i = 0;
	int rc = 0;

	while (i < t->count && (t->trial[i].unlimited != unlimited
				|| t->trial[i].choice.ops != choice->ops
				|| memcmp(t->trial[i].choice.param, choice->param,
					  sizeof(choice->param)) != 0))
		i++;
	if (i == t->count)
		rc = trials_simulate(t, choice, unlimited, err);
	if (!rc)
		*out = t->trial[i].figures[device];
	return rc;
}

static void trials_fini(struct frag_trials *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->trial[i].figures);
	free(t->trial);
}

/* What a policy fails to simulate stays unknown. */
static int known(int rc)
{
	return rc == -FRAG_EPOLICY ? 0 : rc;
}

/* Judges by the OOM record alone, where nothing was simulated again. */
static struct frag_oom_diagnosis oom_diagnose_record(const struct frag_result *run)
{
	const struct frag_oom *oom = run->oom_count ? &run->ooms[0] : NULL;

	if (!oom)
		return (struct frag_oom_diagnosis){ .verdict = FRAG_VERDICT_NONE };
	return frag_oom_diagnosis_of(&(struct frag_oom_facts){
		.need = (int64_t)oom->need, .live = (int64_t)oom->metrics.active,
		.usable = run->total ? (int64_t)frag_usable_bytes(run) : -1,
		.limited = !run->total || frag_oom_is_limit(oom),
	});
}

/* The run halts before the request that fails; a copy makes the request. */
static int diagnose_halted(struct frag_oom_diagnosis *out, struct frag_run_until_oom *run,
			   const struct frag_fit_case *subject, uint64_t lower_bound,
			   const struct frag_history *history, struct frag_error *err)
{
	const struct frag_next request = frag_until_oom_next(run);
	struct frag_memory_state memory = { .segment_count = 0 };
	struct frag_failed_state state = {
		.device = subject->device, .figures = &subject->devices[subject->device],
		.memory = &memory, .request = &request, .lower_bound = lower_bound,
		.history = history,
	};
	struct frag_sim *after = NULL;
	int rc = frag_until_oom_after(run, &request, &after, &memory, err);

	state.after = after;
	rc = rc ? rc : frag_oom_diagnose(out, &state, err);
	frag_memory_state_fini(&memory);
	frag_sim_del(after);
	return rc;
}

/* Names what the diagnosis is of by the history and the tape's texts. */
static void name_past(struct frag_oom_diagnosis *out, const struct frag_history *h, uint64_t step)
{
	const struct frag_symbols *symbols = frag_tape_symbols(h->tape);
	const uint32_t i = frag_history_framed(h, step);

	out->past_tag = frag_symbols_tag(symbols, frag_oom_past_tag(&out->past, out->verdict));
	out->recorded = frag_history_failures(h);
	if (i == FRAG_ALL)
		return;
	out->requested_by = frag_symbols_tag(symbols, h->requests[i].tag);
	out->requested_before = h->requests[i].born != step;
}

/* Repeats the run up to its first OOM, and diagnoses the state there. */
static int oom_find_cause(struct frag_oom_diagnosis *out, const struct frag_fit_case *subject,
			  uint64_t lower_bound, struct frag_error *err)
{
	const struct frag_memory_state empty = { .segment_count = 0 };
	struct frag_history history = { .request_count = 0 };
	struct frag_run_until_oom run;
	bool halted = false;
	int rc = frag_until_oom_begin(&run, subject, err);

	*out = (struct frag_oom_diagnosis){ .verdict = FRAG_VERDICT_NONE };
	if (!rc && frag_sim_last_oom(run.sim, subject->device))
		rc = frag_oom_diagnose(out, &(struct frag_failed_state){
			.after = run.sim, .device = subject->device,
			.figures = &subject->devices[subject->device], .memory = &empty,
			.lower_bound = lower_bound,
		}, err);
	else if (!rc)
		rc = frag_until_oom_play(&run, UINT64_MAX, &halted, err);
	if (!rc && halted)
		rc = frag_history_read_whole(&history, subject->tape, subject->device, err);
	if (!rc && halted)
		rc = frag_history_read_before(&history, subject->tape, subject->device,
					      frag_until_oom_next(&run).event.step, err);
	if (!rc && halted)
		rc = diagnose_halted(out, &run, subject, lower_bound, &history, err);
	if (!rc && halted)
		name_past(out, &history, frag_until_oom_next(&run).event.step);
	frag_history_fini(&history);
	frag_until_oom_fini(&run);
	return rc;
}

/*
 * Bounds of a search for a larger device: simulated events, and runs. The start of a run counts as
 * EVENTS_OF_BEGIN events of each device.
 */
#define EVENTS_MAX (UINT64_C(1) << 25)
#define EVENTS_OF_BEGIN 2048
#define RUNS_MAX 1024
#define EVENTS_OF_MOVES 256
/* Above the smallest device, larger ones are examined up to this factor. */
#define FAR 1.5

static int find_needs(struct frag_diagnosis *a, struct frag_trials *t,
		      const struct frag_result *run, struct frag_error *err)
{
	struct frag_trial_figures o;
	int rc = trials_find(t, &run->choice, true, run->device, &o, err);

	if (!rc && o.status == FRAG_RUN_OK) {
		a->requested = o.requested;
		a->allocated = o.allocated;
	}
	return rc;
}

/* Does the fraction in force at the failure stay in force to the end of the trace? */
static int find_limit(struct frag_diagnosis *a, const struct frag_trials *t,
		      const struct frag_result *run, struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(t->tape) };
	const struct frag_event *ev;

	if (!w.reader)
		return frag_fail_nomem(err);
	a->limit_stays = true;
	frag_tape_seek(w.reader, frag_tape_event(t->tape, run->ooms[0].step));
	while (a->limit_stays && (ev = frag_tape_walk_next(&w)))
		a->limit_stays = ev->op != FRAG_OP_SET_FRACTION && ev->op != FRAG_OP_CONFIGURE;
	frag_tape_reader_del(w.reader);
	return 0;
}

/*
 * Examines all capacities upwards, because a trace that fits a smaller device can fail on a
 * larger one. Each run returns the capacity up to which it is the same; the next run begins
 * where it diverges from the previous one.
 */
static int walk_upwards(struct frag_diagnosis *a, struct frag_fit_intervals *intervals,
			const struct frag_result *run, struct frag_error *err)
{
	const uint64_t lower_bound = frag_diagnosis_lower_bound(a, run);
	const uint32_t devices = frag_tape_info(intervals->subject.tape)->device_count;
	uint64_t end_capacity = frag_max(run->end_capacity, lower_bound), events = 0, runs = 0;
	int rc = 0;

	while (!rc && events < EVENTS_MAX && runs < RUNS_MAX && end_capacity < UINT64_C(1) << 53) {
		const uint64_t total = frag_fit_case_round_up(&intervals->subject, end_capacity);
		const struct frag_interval *here;

		if (a->smallest && (double)total >= FAR * (double)a->smallest)
			break;
		rc = frag_fit_intervals_at(intervals, total, &here, err);
		if (rc)
			break;
		end_capacity = here->end_capacity;
		runs++;
		events += here->outcome.steps + (uint64_t)EVENTS_OF_BEGIN * devices;
		/* each refusal makes it try moves, each in a copy of all segments */
		if (run->choice.ops->moves)
			events += here->outcome.refused * here->outcome.calls * EVENTS_OF_MOVES;
		if (!here->outcome.fits) {
			a->reliable = 0;
			continue;
		}
		a->smallest = a->smallest ? a->smallest : total;
		a->reliable = a->reliable ? a->reliable : total;
	}
	a->failing = end_capacity;
	return rc;
}

/* Of the run's device alone: the verdict of its failure, or the smallest larger device that fits. */
static int diagnose_device(struct frag_diagnosis *a, const struct frag_trials *t,
			   const struct frag_result *run, bool verdict, struct frag_error *err)
{
	const struct frag_fit_case subject = {
		.tape = t->tape, .choice = &run->choice, .devices = t->options->devices,
		.device = run->device, .model = t->options->model, .job = t->job,
	};
	struct frag_fit_intervals intervals;
	struct frag_tape *part;
	int rc = frag_tape_of_device(&part, t->tape, run->device, err);

	rc = rc ? rc : frag_fit_intervals_init(&intervals, &subject, part, NULL, err);
	if (rc)
		return rc;
	if (verdict)
		rc = oom_find_cause(&a->oom, &intervals.subject, a->requested, err);
	else
		rc = walk_upwards(a, &intervals, run, err);
	frag_fit_intervals_fini(&intervals);
	frag_tape_del(part);
	return rc;
}

static bool has_peak(const struct frag_result *run)
{
	return run->status == FRAG_RUN_OK && run->steps && !run->last.opaque;
}

/* After which event of the tape the peak is. */
static uint64_t peak_event(const struct frag_trials *t, const struct frag_result *run)
{
	return frag_tape_event(t->tape, run->peak_step) + 1;
}

/* The device whose peak comes first of those that are not answered yet; count: none is left. */
static uint32_t next_peak(const struct frag_diagnosis *a, const struct frag_result *runs,
			  uint32_t count)
{
	uint32_t next = count;

	for (uint32_t d = 0; d < count; d++)
		if (has_peak(&runs[d]) && !a[d].has_peak
		    && (next == count || runs[d].peak_step < runs[next].peak_step))
			next = d;
	return next;
}

static int note_peak_state(struct frag_diagnosis *a, const struct frag_sim *sim, uint32_t device,
			     struct frag_error *err)
{
	a[device].has_peak = true;
	return frag_device_state_init(&a[device].peak, sim, device, err);
}

/* Of devices whose peak is at the end of the simulation that has made the runs. */
static int peaks_at_end(struct frag_diagnosis *a, const struct frag_trials *t,
			const struct frag_sim *sim, const struct frag_result *runs, uint32_t count,
			struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < count && !rc; d++)
		if (has_peak(&runs[d])
		    && peak_event(t, &runs[d]) >= frag_tape_info(t->tape)->events)
			rc = note_peak_state(a, sim, d, err);
	return rc;
}

/* Simulates the tape again up to each peak, for devices without an answer. */
static int find_peaks(struct frag_diagnosis *a, const struct frag_trials *t,
		      const struct frag_result *runs, uint32_t count, struct frag_error *err)
{
	uint32_t d = next_peak(a, runs, count);
	struct frag_tape_reader *reader;
	struct frag_sim *sim = NULL;
	int rc;

	if (d == count)
		return 0;
	reader = frag_tape_reader_new(t->tape);
	rc = reader ? trials_sim(t, &runs[d].choice, d, runs[d].total, FRAG_LEVEL_SURVIVE,
				 &sim, err) : frag_fail_nomem(err);
	for (; d < count && !rc; d = next_peak(a, runs, count)) {
		rc = trials_play(t, sim, reader, peak_event(t, &runs[d]), err);
		rc = rc ? rc : note_peak_state(a, sim, d, err);
	}
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	return rc;
}

/* A run that the driver's own pool served, or that did not end, shows too little. */
static bool is_searched(const struct frag_result *run)
{
	return !run->last.opaque && run->status != FRAG_RUN_INTERRUPTED
	       && run->status != FRAG_RUN_ERROR;
}

/* No other setting gains 2 % where so little is reserved beyond what is requested. */
static bool is_tight(const struct frag_diagnosis *a, const struct frag_result *run)
{
	return run->status == FRAG_RUN_OK && !run->counts.retries
	       && (double)run->peak.process_used
			  < (1 + FRAG_EQUAL_DEVICES) * (double)frag_diagnosis_lower_bound(a, run);
}

/* Is a setting searched for on one of the devices of a policy's run? */
static bool wants_fix(const struct frag_diagnosis *answers, const unsigned *wanted,
		      const struct frag_result *runs, uint32_t devices)
{
	for (uint32_t d = 0; d < devices; d++)
		if (wanted[d] & FRAG_WANTED_FIX && is_searched(&runs[d]) && !is_tight(&answers[d], &runs[d]))
			return true;
	return false;
}

/*
 * Ranks the settings of a policy for all devices of its run. What a policy fails to simulate stays
 * unknown. No setting helps where the bytes themselves are too many.
 */
static int find_fixes(struct frag_diagnosis *answers, struct frag_trials *t,
		      const struct frag_result *runs, uint32_t devices, struct frag_error *err)
{
	const struct frag_fit_source source = {
		.tape = t->tape, .choices = &runs->choice, .devices = t->options->devices,
	};
	struct frag_recommendation r = {
		.sources = &source, .source_count = 1, .model = t->options->model, .job = t->job,
	};
	const struct frag_setting_rank *found;
	uint64_t *requested = calloc((size_t)devices + 1, sizeof(*requested));
	int rc;

	/* a run that fits has the peak of the whole trace */
	for (uint32_t d = 0; d < devices && requested; d++)
		requested[d] = runs[d].status == FRAG_RUN_OK ? runs[d].lower_bound : 0;
	r.requested = requested;
	rc = requested ? frag_recommend(&r, err) : frag_fail_nomem(err);
	found = rc ? NULL : frag_recommended(&r);
	for (uint32_t d = 0; d < devices && !rc; d++) {
		struct frag_setting_fix *fix = &answers[d].fix;
		struct frag_trial_figures o;

		answers[d].fixes = frag_recommend_tried(&r);
		rc = found ? trials_find(t, found->choices, false, d, &o, err) : 0;
		if (!rc && found)
			*fix = (struct frag_setting_fix){
				.found = true, .choice = *found->choices,
				.requested = o.requested, .reserved = o.reserved, .wasted = o.wasted,
				.left = frag_setting_left(&r, found),
			};
	}
	frag_recommend_fini(&r);
	free(requested);
	return rc == -FRAG_EPOLICY ? 0 : rc;
}

/* Where an order decides that is not recorded: simulates the run with the other one. */
static int find_order(struct frag_diagnosis *a, const struct frag_trials *t,
		      const struct frag_result *run, struct frag_error *err)
{
	struct frag_sim_options options = *t->options;
	struct frag_trials other = {
		.tape = t->tape, .options = &options, .job = t->job,
	};
	struct frag_trial_figures o;
	uint32_t count;
	int rc;

	if (!frag_unknown_order(&run->choice))
		return 0;
	a->order.recorded = run->choice.ops == &frag_policy_pytorch
			    && frag_trace_places(t->tape->trace, run->device, &count)
			    && run->counts.segment_allocs <= count && !run->beginning.as_requests;
	if (a->order.recorded)
		return 0;
	options.reversed = true;
	rc = trials_find(&other, &run->choice, false, run->device, &o, err);
	if (!rc)
		a->order = (struct frag_block_order){
			.tried = true, .status = o.status, .reserved = o.reserved,
		};
	trials_fini(&other);
	return rc;
}

/* Finds the verdict of an OOM and the smallest device. */
static int find_rest(struct frag_diagnosis *a, struct frag_trials *t, unsigned wanted,
		     const struct frag_result *run, struct frag_error *err)
{
	int rc = 0;

	if (!is_searched(run))
		return 0;
	if (run->status == FRAG_RUN_OOM) {
		rc = known(find_needs(a, t, run, err));
		rc = rc ? rc : known(diagnose_device(a, t, run, true, err));
		if (!rc && run->oom_count && run->ooms[0].limit != UINT64_MAX)
			rc = known(find_limit(a, t, run, err));
		if (!rc && run->total && wanted & FRAG_WANTED_DEVICE)
			rc = known(diagnose_device(a, t, run, false, err));
	} else {
		a->requested = run->peak.requested;
		a->allocated = run->peak.allocated;
	}
	return rc ? rc : known(find_order(a, t, run, err));
}

int frag_diagnose_runs(struct frag_diagnosis *answers, struct frag_trials *t,
		       struct frag_sim *const *sims, uint32_t sim_count, bool peaks,
		       const unsigned *wanted, struct frag_error *err)
{
	const struct frag_result *runs;
	uint32_t devices = 0;
	int rc = 0;

	for (uint32_t i = 0; i < sim_count && !rc; i++) {
		runs = frag_sim_results(sims[i], false, &devices);
		if (runs->status == FRAG_RUN_ERROR)
			continue;
		rc = peaks_at_end(&answers[(size_t)i * devices], t, sims[i], runs, devices, err);
	}
	for (uint32_t i = 0; i < sim_count && !rc; i++) {
		frag_sim_retire(sims[i], false);
		runs = frag_sim_results(sims[i], false, &devices);
		rc = trials_add(t, &runs->choice, false, runs, err);
	}
	for (uint32_t i = 0; i < sim_count && !rc && peaks; i++) {
		runs = frag_sim_results(sims[i], false, &devices);
		if (runs->status != FRAG_RUN_ERROR)
			rc = find_peaks(&answers[(size_t)i * devices], t, runs, devices, err);
	}
	for (uint32_t i = 0; i < sim_count * devices && !rc; i++) {
		runs = frag_sim_results(sims[i / devices], false, &devices);
		rc = find_rest(&answers[i], t, wanted[i], &runs[i % devices], err);
	}
	for (uint32_t i = 0; i < sim_count && !rc; i++) {
		struct frag_diagnosis *own = &answers[(size_t)i * devices];

		runs = frag_sim_results(sims[i], false, &devices);
		if (runs->choice.ops->settings
		    && wants_fix(own, &wanted[(size_t)i * devices], runs, devices))
			rc = find_fixes(own, t, runs, devices, err);
	}
	trials_fini(t);
	return rc;
}

uint64_t frag_usable_bytes(const struct frag_result *run)
{
	return frag_usable(run->total, run->context, run->other);
}

uint64_t frag_diagnosis_lower_bound(const struct frag_diagnosis *a, const struct frag_result *run)
{
	return frag_round_up(a->requested, run->granularity) + run->context + run->other;
}

bool frag_diagnosis_exceeds_capacity(const struct frag_diagnosis *a, const struct frag_result *run)
{
	return a && run->total && (a->requested > frag_usable_bytes(run)
				   || frag_diagnosis_is_over_limit(a, run));
}

struct frag_oom_diagnosis frag_diagnosis_oom(const struct frag_diagnosis *a,
					       const struct frag_result *run)
{
	return a && a->oom.verdict ? a->oom : oom_diagnose_record(run);
}

const char *frag_diagnosis_evidence(const struct frag_diagnosis *a,
				    const struct frag_result *run, char buf[FRAG_EVIDENCE_ROOM])
{
	const struct frag_block_order *order = a ? &a->order : NULL;
	const char *old = run->choice.ops == &frag_policy_pytorch ? " (2.11 and older)" : "";
	const uint64_t now = run->peak.reserved;
	char text[200];

	if (order && order->recorded)
		return frag_evidence_text(&run->choice, "as recorded", buf);
	if (!order || !order->tried)
		return frag_evidence_text(&run->choice, NULL, buf);
	if (order->status != run->status)
		snprintf(text, sizeof(text), "unknown%s: %s as simulated, %s in the other one", old,
			 run->status == FRAG_RUN_OK ? "fits" : "OOM",
			 order->status == FRAG_RUN_OK ? "fits" : "OOM");
	else if (run->status == FRAG_RUN_OK && order->reserved != now)
		snprintf(text, sizeof(text), "unknown%s: peak reserved %s to %s", old,
			 SIZE(order->reserved < now ? order->reserved : now),
			 SIZE(order->reserved < now ? now : order->reserved));
	else
		snprintf(text, sizeof(text), "assumed%s", old);
	return frag_evidence_text(&run->choice, text, buf);
}
