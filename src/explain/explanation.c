/*
 * explanation.c - a trace at the moments that matter.
 *
 * Each device is examined in a separate run, which halts before the request that fails. A copy
 * of the run shows the memory state after that request.
 */
#include "explain/explanation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "device/usable.h"
#include "engine/sim_queries.h"
#include "engine/tape_run.h"
#include "events/id_map.h"
#include "events/tape.h"
#include "explain/state_owners.h"
#include "explain/oom_diagnosis.h"
#include "explain/explain_memory.h"
#include "explain/explain_past.h"
#include "explain/main_cause.h"
#include "live_blocks/live_blocks.h"
#include "search/fit_intervals.h"

/* With their default settings. */
static const char *const policies[] = { "pytorch", "bestfit", NULL };

static struct frag_fit_case explanation_subject_of(const struct frag_explanation *x,
						   uint32_t device,
						   const struct frag_choice *choice)
{
	return (struct frag_fit_case){
		.tape = x->tape, .choice = choice, .devices = x->devices, .device = device,
		.job = frag_job_part(&x->job),
	};
}

struct study {
	struct frag_explanation *x; /* what is simulated: one device alone, or all */
	struct frag_explanation *all;
	uint32_t on; /* the device as x counts it; m->device: as `all` does */
	struct frag_explained *m;
	struct frag_run_until_oom run;
	struct frag_history history;
	uint64_t target;        /* step of the failure to explain; FRAG_FIRST_FAILURE: the first */
};

/* Does another policy, with its default settings, fit the device? One that fails does not. */
static int try_policy(const struct study *s, const char *name, struct frag_error *err)
{
	const struct frag_explanation *x = s->x;
	struct frag_explained *m = s->m;
	struct frag_fit_case subject;
	struct frag_choice choice;
	struct frag_interval out;
	int rc = frag_choice_parse(&choice, name, err);

	if (rc || choice.ops == x->choice->ops)
		return rc;
	subject = explanation_subject_of(x, s->on, &choice);
	rc = frag_fit_case_run(&subject, x->devices[s->on].total, 0, FRAG_LEVEL_SURVIVE, &out,
			       err);
	m->others++;
	if (!rc && out.outcome.fits)
		m->survivors[m->survivor_count++] = choice;
	return rc == -FRAG_EINTERRUPTED || rc == -FRAG_ENOMEM ? rc : 0;
}

/* Ranks the settings once, for all devices. */
static int rank_settings(struct frag_explanation *all, const struct frag_explained *m,
		     struct frag_error *err)
{
	struct frag_recommendation *r = &all->ranked;
	int rc;

	if (all->is_ranked)
		return 0;
	all->source = (struct frag_fit_source){
		.tape = all->tape, .choices = all->choice, .devices = all->devices,
	};
	*r = (struct frag_recommendation){
		.sources = &all->source, .source_count = 1, .every = true, .job = all->job,
	};
	if (frag_tape_info(all->tape)->device_count == 1)
		r->requested = &m->lower_bound;
	rc = frag_recommend(r, err);
	r->requested = NULL;
	all->is_ranked = !rc;
	return rc;
}

/* Lists what fits on the same device: the recommended setting first, other settings, policies. */
static int try_others(const struct study *s, struct frag_error *err)
{
	const struct frag_recommendation *r = &s->all->ranked;
	struct frag_explained *m = s->m;
	const struct frag_setting_rank *best;
	int rc = rank_settings(s->all, m, err);

	if (rc || r->lower_bound > r->device)
		return rc;
	best = frag_recommended(r);
	m->others = m->settings = frag_recommend_tried(r);
	m->survivors = calloc(r->count + sizeof(policies) / sizeof(policies[0]), sizeof(*m->survivors));
	if (!m->survivors)
		return frag_fail_nomem(err);
	if (best) {
		m->survivors[m->survivor_count++] = *best->choices;
		m->setting = m->survivors;
		m->setting_left = frag_setting_left(r, best);
	}
	for (uint32_t i = 1; i < r->count; i++)
		if (&r->candidates[i] != best && r->candidates[i].status == FRAG_RANK_FITS)
			m->survivors[m->survivor_count++] = *r->candidates[i].choices;
	for (uint32_t i = 0; policies[i] && !rc; i++)
		rc = try_policy(s, policies[i], err);
	return rc;
}

static bool ends_with_it(const struct frag_explanation *x, const struct frag_explained *m)
{
	const struct frag_trace_info *info = frag_tape_info(x->tape);

	return m->size && frag_tape_event(x->tape, m->step) + 1 >= info->events;
}

/*
 * Simulates the whole trace on an unlimited device: fills in the lower bound, and whether the
 * blocks fit at their peak. Where the trace ends with the failure nothing tells the latter.
 */
static int find_peak_of_trace(const struct study *s, bool at_end, struct frag_error *err)
{
	const struct frag_device_figures *d = &s->x->devices[s->on];
	const struct frag_fit_case subject = explanation_subject_of(s->x, s->on, s->x->choice);
	struct frag_explained *m = s->m;
	struct frag_interval all;
	int rc;

	m->limited = d->total > 0;
	m->fits_known = m->fits = !m->limited;
	if (!m->limited)
		return 0;
	rc = frag_fit_case_run(&subject, 0, 0, FRAG_LEVEL_PEAKS, &all, err);
	if (rc || !all.outcome.fits)
		return rc;
	m->lower_bound = all.outcome.peak_requested;
	m->fits_known = !at_end;
	if (m->fits_known)
		m->peak = all.outcome.peak_allocated;
	m->fits = m->fits_known && m->peak <= frag_usable(d->total, d->context, d->other);
	return 0;
}

/* Where a request has failed: the other settings and policies that fit, each simulated. */
static int find_alternatives(const struct study *s, struct frag_error *err)
{
	return s->m->verdict && s->m->limited ? try_others(s, err) : 0;
}

const char *const frag_moment_kind_names[] = {
	[FRAG_MOMENT_OOM] = "oom", [FRAG_MOMENT_PEAK] = "peak", [FRAG_MOMENT_WORST] = "worst",
	[FRAG_MOMENT_STEP] = "step", [FRAG_MOMENT_MARK] = "mark", NULL,
};

/* What the device has left, and what a limit of the program's own leaves of that. */
static uint64_t left_of(const struct frag_device_figures *d, const struct frag_metrics *now,
			const struct frag_oom *oom)
{
	uint64_t left = UINT64_MAX;

	if (d->total)
		left = now->device_free > 0 ? (uint64_t)now->device_free : 0;
	if (oom && oom->limit != UINT64_MAX) {
		const uint64_t more = oom->limit > oom->used ? oom->limit - oom->used : 0;

		left = more < left ? more : left;
	}
	return left;
}

/* The largest pieces: an unlimited device has no end, so only what is free counts. */
static void fill_largest(struct frag_explained *m, const struct frag_device_figures *d,
			 const struct frag_metrics *now, uint64_t left)
{
	uint64_t room = frag_usable(d->total, d->context, d->other), all = now->free;

	room = frag_min(room, m->limit);
	if (m->limited)
		all = room > m->live ? room - m->live : 0;
	left = m->limited ? left : 0;
	m->largest_now = left > now->largest_free ? left : now->largest_free;
	m->largest_after_flush = left + now->releasable;
	m->largest_after_flush = frag_max(m->largest_after_flush, now->largest_free);
	m->largest_after_compaction = all;
}

/*
 * Sets the metrics of the device at the simulation's present step. oom: of the failed request,
 * or NULL.
 */
static void fill_figures(struct frag_explained *m, const struct frag_device_figures *d,
			 const struct frag_metrics *now, const struct frag_oom *oom)
{
	m->live = now->active;
	m->free = now->free;
	m->releasable = now->releasable;
	m->non_releasable = now->non_releasable;
	m->reserved = now->reserved;
	m->limited = d->total > 0;
	m->limit = oom ? oom->limit : UINT64_MAX;
	m->limit_key = oom ? oom->limit_key : NULL;
	if (m->limited) {
		m->device_free = now->device_free > 0 ? (uint64_t)now->device_free : 0;
		m->outside = d->context + d->other;
	}
	fill_largest(m, d, now, left_of(d, now, oom));
}

/* Of what was requested of the device last, as that counts it. */
static uint64_t missing_of(const struct frag_sim *sim, uint32_t device,
			   const struct frag_oom *oom, uint64_t left)
{
	const uint64_t demand = frag_heap_round(frag_sim_heap(sim, device), oom->demand);

	return demand > left ? demand - left : 0;
}

static int fill_request(struct study *s, const struct frag_sim *after, const struct frag_next *request,
			struct frag_error *err)
{
	const struct frag_symbols *symbols = frag_tape_symbols(s->x->tape);
	const struct frag_device_figures *d = &s->x->devices[s->on];
	const struct frag_oom *oom = frag_sim_last_oom(after, s->on);

	fill_figures(s->m, d, &oom->metrics, oom);
	s->m->step = oom->step;
	s->m->size = oom->size;
	s->m->need = oom->need;
	s->m->demand = oom->demand;
	s->m->missing = missing_of(after, s->on, oom, left_of(d, &oom->metrics, oom));
	if (!request)
		return 0;
	s->m->id = frag_id_json(&request->event.id);
	return s->m->id && frag_tag_json(symbols, request->event.tag, &s->m->tag)
	       ? 0 : frag_fail_nomem(err);
}

static int explanation_judge(struct study *s, const struct frag_sim *after,
			     const struct frag_memory_state *memory,
			     const struct frag_next *request, struct frag_error *err)
{
	struct frag_oom_diagnosis found;
	int rc = frag_oom_diagnose(&found, &(struct frag_failed_state){
		.after = after, .device = s->on,
		.figures = &s->x->devices[s->on], .memory = memory,
		.request = request, .lower_bound = s->m->lower_bound, .history = &s->history,
	}, err);

	s->m->verdict = found.verdict;
	s->m->nearly_full = found.nearly_full;
	s->m->waiting_succeeds = found.waiting_succeeds;
	return rc ? rc : frag_explain_past(s->m, &found.past, s->x->tape, err);
}

/* What could be moved for the request that the run halts before. */
static int explanation_find_candidates(const struct study *s, const struct frag_sim *after,
				    const struct frag_memory_state *memory,
				    const struct frag_next *request,
				    struct frag_move_candidates *out, struct frag_error *err)
{
	const uint32_t device = s->on;
	struct frag_move_target target = {
		.pool = request->event.pool, .block_cost = s->x->block_cost,
	};
	const struct frag_oom *oom = frag_sim_last_oom(after, device);

	target.list = frag_sim_seek(after, &request->event).list;
	target.left = left_of(&s->x->devices[device], &oom->metrics, oom);
	target.need = oom->need;
	target.missing = missing_of(after, device, oom, target.left);
	return frag_move_candidates_find(out, memory, &target, err);
}

/* A move at the run's halt; then the run goes on to its next one, or the end. */
static int explanation_try_move(struct study *s, const struct frag_sim *after,
				const struct frag_memory_state *memory,
				const struct frag_next *request, bool *found, bool *halted,
				struct frag_error *err)
{
	struct frag_move *move = &s->m->moves[s->m->move_count];
	struct frag_move_candidates candidates = { .count = 0 };
	int rc = explanation_find_candidates(s, after, memory, request, &candidates, err);

	*found = *halted = false;
	rc = rc ? rc
		: frag_until_oom_move(&s->run, memory, &candidates, move, found, &s->m->tried, err);
	frag_move_candidates_fini(&candidates);
	s->m->move_count += *found;
	if (rc || !*found)
		return rc;
	rc = frag_until_oom_play(&s->run, UINT64_MAX, halted, err);
	move->reaches = UINT64_MAX;
	if (!rc && *halted)
		move->reaches = frag_until_oom_next(&s->run).event.step;
	return rc;
}

/* After the first one, at every later halt. */
static int go_on_moving(struct study *s, struct frag_error *err)
{
	bool found = true, halted = true;
	int rc = 0;

	while (!rc && found && halted && s->m->move_count < s->x->moves) {
		const struct frag_next request = frag_until_oom_next(&s->run);
		struct frag_memory_state memory = { .segment_count = 0 };
		struct frag_sim *after = NULL;

		rc = frag_until_oom_after(&s->run, &request, &after, &memory, err);
		rc = rc ? rc
			: explanation_try_move(s, after, &memory, &request, &found, &halted, err);
		frag_memory_state_fini(&memory);
		frag_sim_del(after);
	}
	return rc;
}

/*
 * Do the live blocks and the request exceed the device at the failure? The lower bound of the
 * whole trace may exceed it, too, but a move can serve this request all the same.
 */
static bool exceeds_now(const struct study *s)
{
	const struct frag_device_figures *d = &s->x->devices[s->on];

	return s->m->limited
	       && s->m->live + s->m->need > frag_usable(d->total, d->context, d->other);
}

static int move_blocks(struct study *s, const struct frag_sim *after,
		       const struct frag_memory_state *memory, const struct frag_next *request,
		       struct frag_error *err)
{
	bool found, halted;
	int rc;

	if (!s->x->moves || s->m->verdict == FRAG_VERDICT_NONE
	    || s->m->verdict == FRAG_VERDICT_TOO_LARGE
	    || (frag_oom_is_size(s->m->verdict) && exceeds_now(s)))
		return 0;
	s->m->moves = calloc(s->x->moves, sizeof(*s->m->moves));
	if (!s->m->moves)
		return frag_fail_nomem(err);
	rc = explanation_try_move(s, after, memory, request, &found, &halted, err);
	return rc || !halted ? rc : go_on_moving(s, err);
}

/* The run halts before a request that fails. */
static int study_failure(struct study *s, struct frag_error *err)
{
	const struct frag_next request = frag_until_oom_next(&s->run);
	struct frag_memory_state memory = { .segment_count = 0 };
	struct frag_sim *after = NULL;
	int rc = frag_history_read_before(&s->history, s->x->tape, s->on,
					  request.event.step, err);

	rc = rc ? rc : frag_until_oom_after(&s->run, &request, &after, &memory, err);
	rc = rc ? rc : fill_request(s, after, &request, err);
	rc = rc ? rc : frag_explain_request(s->m, &s->history, s->x->tape, err);
	rc = rc ? rc : find_peak_of_trace(s, ends_with_it(s->all, s->m), err);
	rc = rc ? rc : explanation_judge(s, after, &memory, &request, err);
	rc = rc ? rc : frag_explain_memory(s->m, &memory, s->m->device, s->all->tape, s->x->folded,
					    err);
	rc = rc ? rc : move_blocks(s, after, &memory, &request, err);
	if (s->m->accounted)
		frag_main_cause_find(s->m);
	frag_memory_state_fini(&memory);
	frag_sim_del(after);
	return rc ? rc : find_alternatives(s, err);
}

/* The run is at the moment, and no request has failed. */
static int study_moment(struct study *s, struct frag_error *err)
{
	const struct frag_metrics now = frag_sim_metrics(s->run.sim, s->on);
	struct frag_memory_state memory = { .segment_count = 0 };
	int rc = frag_memory_state_read(&memory, s->run.sim, s->on, err);

	if (!rc)
		fill_figures(s->m, &s->x->devices[s->on], &now, NULL);
	rc = rc ? rc : frag_explain_memory(s->m, &memory, s->m->device, s->all->tape, s->x->folded,
					    err);
	if (!rc)
		frag_main_cause_find(s->m);
	frag_memory_state_fini(&memory);
	return rc ? rc : find_peak_of_trace(s, false, err);
}

/* The pool that the policy begins with was refused: nothing of the trace has happened. */
static int study_pool(struct study *s, struct frag_error *err)
{
	struct frag_memory_state memory = { .segment_count = 0 };
	int rc = fill_request(s, s->run.sim, NULL, err);

	s->m->kind = FRAG_MOMENT_OOM;
	rc = rc ? rc : find_peak_of_trace(s, ends_with_it(s->all, s->m), err);
	rc = rc ? rc : explanation_judge(s, s->run.sim, &memory, NULL, err);
	return rc ? rc : find_alternatives(s, err);
}

static int begin_study(struct study *s, struct frag_error *err)
{
	const struct frag_fit_case on = explanation_subject_of(s->x, s->on, s->x->choice);
	const int rc = frag_until_oom_begin(&s->run, &on, err);

	s->run.job = s->x->job;
	return rc;
}

/* Steps at which non-releasable or live bytes are the most, of each device. */
struct heights {
	bool worst;
	struct frag_height { uint64_t bytes, step; bool any; } *of;
};

static int note_height(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	const struct heights *heights = ctx;
	struct frag_height *h = &heights->of[step->device];
	uint64_t bytes;

	(void)err;
	if (!step->metrics)
		return 0;
	bytes = heights->worst ? step->metrics->non_releasable : step->metrics->allocated;
	if (!h->any || bytes > h->bytes)
		*h = (struct frag_height){ bytes, step->event->step, true };
	return 0;
}

/* A run as any, up to where it ends: when most is live, or most non-releasable. */
static int find_height(const struct study *s, uint64_t *step, struct frag_error *err)
{
	struct frag_tape_reader *reader = frag_tape_reader_new(s->x->tape);
	struct heights heights = {
		.worst = s->m->kind == FRAG_MOMENT_WORST,
		.of = calloc(frag_tape_info(s->x->tape)->device_count, sizeof(*heights.of)),
	};
	const struct frag_sim_options options = {
		.level = FRAG_LEVEL_PEAKS, .devices = s->x->devices,
	};
	const struct frag_observer observer = { .step = note_height, .ctx = &heights };
	struct frag_sim *sim = NULL;
	int rc = reader && heights.of
		 ? frag_sim_on_tape(&sim, s->x->choice, s->x->tape, &options, err)
		 : frag_fail_nomem(err);

	rc = rc ? rc : frag_sim_observe(sim, &observer);
	rc = rc ? rc : frag_tape_play(sim, reader, UINT64_MAX, &s->x->job, err);
	if (!rc)
		*step = heights.of[s->on].step;
	frag_sim_del(sim);
	frag_tape_reader_del(reader);
	free(heights.of);
	return rc;
}

/* Reports that the run ended before the requested step. */
static int refuse_later(uint64_t step, uint64_t failure, struct frag_error *err)
{
	return frag_fail(err, FRAG_EUSAGE, "--at: event %" PRIu64 " is after the out-of-memory at"
			 " event %" PRIu64 ", where the run ends", step, failure);
}

/*
 * Up to and with the moment's step. The request of that step may be the one that fails; at the
 * highest step it is not looked at, as nothing has grown with it.
 */
static int study_step(struct study *s, struct frag_error *err)
{
	const uint64_t until = frag_tape_event(s->x->tape, s->m->step) + 1;
	bool halted;
	int rc = frag_until_oom_play(&s->run, until, &halted, err);

	if (rc || !halted)
		return rc ? rc : study_moment(s, err);
	if (frag_tape_at(s->run.reader) + 1 < until)
		return refuse_later(s->m->step, frag_until_oom_next(&s->run).event.step, err);
	if (s->m->kind == FRAG_MOMENT_PEAK || s->m->kind == FRAG_MOMENT_WORST) {
		const struct frag_next request = frag_until_oom_next(&s->run);
		bool failed;

		frag_tape_seek(s->run.reader, until);
		rc = frag_next_feed(s->run.sim, &request, &failed, err);
		return rc ? rc : study_moment(s, err);
	}
	return study_failure(s, err);
}

static int play_to_failure(struct study *s, bool *halted, struct frag_error *err)
{
	const struct frag_fit_case on = explanation_subject_of(s->x, s->on, s->x->choice);

	return frag_play_to_failure(&s->run, &on, &s->history, s->target, halted, err);
}

/* The out-of-memory that ended the program, or the first; without one the peak. */
static int study_device(struct study *s, struct frag_error *err)
{
	bool halted = false;
	int rc = begin_study(s, err);

	if (!rc && frag_sim_last_oom(s->run.sim, s->on))
		return study_pool(s, err);
	if (!rc && s->m->kind == FRAG_MOMENT_OOM) {
		rc = play_to_failure(s, &halted, err);
		if (rc || halted)
			return rc ? rc : study_failure(s, err);
		frag_until_oom_fini(&s->run);
		s->m->kind = FRAG_MOMENT_PEAK;
		rc = begin_study(s, err);
	}
	if (!rc && (s->m->kind == FRAG_MOMENT_PEAK || s->m->kind == FRAG_MOMENT_WORST))
		rc = find_height(s, &s->m->step, err);
	if (!rc && !frag_tape_info(s->x->tape)->events)
		return study_moment(s, err);
	return rc ? rc : study_step(s, err);
}

/* The first mark of that name. */
static int find_mark(struct frag_explanation *x, struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(x->tape) };
	const struct frag_event *ev;
	bool found = false;

	if (!w.reader)
		return frag_fail_nomem(err);
	while (!found && (ev = frag_tape_walk_next(&w))) {
		found = ev->op == FRAG_OP_MARK && frag_text_equals(ev->text, x->at_mark);
		x->at_step = ev->step;
	}
	frag_tape_reader_del(w.reader);
	return found ? 0 : frag_fail(err, FRAG_EUSAGE, "--at: the trace has no mark \"%.200s\"",
				     x->at_mark);
}

/* The device of the step, or FRAG_ALL. */
static int find_step(const struct frag_explanation *x, uint32_t *device, struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(x->tape) };
	const struct frag_event *ev;
	int rc = 0;

	if (!w.reader)
		return frag_fail_nomem(err);
	frag_tape_seek(w.reader, frag_tape_event(x->tape, x->at_step));
	ev = frag_tape_walk_next(&w);
	if (ev)
		*device = ev->device;
	else
		rc = frag_fail(err, FRAG_EUSAGE, "--at: the trace has no event %" PRIu64,
			       x->at_step);
	frag_tape_reader_del(w.reader);
	return rc;
}

static void fini_move(struct frag_move *move)
{
	for (uint32_t i = 0; i < move->blocks; i++) {
		free(move->ids[i]);
		free(move->tags[i]);
	}
	free(move->ids);
	free(move->tags);
	free(move->sizes);
	free(move->from);
}

static void fini_moment(struct frag_explained *m)
{
	frag_explain_memory_fini(m);
	for (uint32_t i = 0; i < m->move_count; i++)
		fini_move(&m->moves[i]);
	free(m->past_tag);
	free(m->requested_by);
	free(m->frames);
	free(m->moves);
	free(m->survivors);
	free(m->id);
	free(m->tag);
	free(m->mark);
}

/* Copies the name of the last mark at or before the moment. */
static int note_mark(const struct frag_explanation *x, struct frag_explained *m,
		     struct frag_error *err)
{
	struct frag_tape_walk w = { .reader = frag_tape_reader_new(x->tape) };
	const struct frag_event *ev;
	bool good = true;

	if (!w.reader)
		return frag_fail_nomem(err);
	while (good && (ev = frag_tape_walk_next(&w)) && ev->step <= m->step) {
		if (ev->op != FRAG_OP_MARK)
			continue;
		free(m->mark);
		m->mark = frag_new_json(ev->text.text, ev->text.length);
		good = m->mark != NULL;
	}
	frag_tape_reader_del(w.reader);
	return good ? 0 : frag_fail_nomem(err);
}

/* Of several devices this one alone is simulated; in its part of the tape it is number 0. */
static int explain_device(struct frag_explanation *x, uint32_t device, struct frag_error *err)
{
	struct frag_explanation own = *x;
	struct study s = {
		.x = x,
		.all = x,
		.on = device,
		.m = &x->moments[x->count++],
	};
	struct frag_tape *part;
	int rc = frag_tape_of_device(&part, x->tape, device, err), marked = 0;

	*s.m = (struct frag_explained){
		.device = device, .kind = x->at, .step = x->at_step, .frames_at = UINT64_MAX,
		.setting_left = UINT64_MAX,
	};
	if (part) {
		own.tape = part;
		own.devices = &x->devices[device];
		s.x = &own;
		s.on = 0;
	}
	rc = rc ? rc : frag_history_read_whole(&s.history, s.x->tape, s.on, err);
	rc = rc ? rc : frag_oom_past_last_failure(&s.history, &s.target, err);
	rc = rc ? rc : study_device(&s, err);
	/* of a moment that a stop has cut short, too: it lacks moves and survivors alone */
	if (!rc || s.m->accounted)
		marked = note_mark(s.x, s.m, err);
	rc = marked ? marked : rc;
	frag_until_oom_fini(&s.run);
	frag_history_fini(&s.history);
	frag_tape_del(part);
	return rc;
}

int frag_explanation_run(struct frag_explanation *x, struct frag_error *err)
{
	const uint32_t devices = frag_tape_info(x->tape)->device_count;
	uint32_t only = FRAG_ALL;
	int rc = 0;

	x->moments = calloc(devices, sizeof(*x->moments));
	if (!x->moments)
		return frag_fail_nomem(err);
	if (x->at == FRAG_MOMENT_MARK)
		rc = find_mark(x, err);
	else if (x->at == FRAG_MOMENT_STEP)
		rc = find_step(x, &only, err);
	for (uint32_t d = 0; d < devices && !rc; d++)
		if (!x->devices[d].host && (only == FRAG_ALL || d == only))
			rc = explain_device(x, d, err);
	if (rc == -FRAG_EINTERRUPTED && x->count && !x->moments[x->count - 1].accounted)
		fini_moment(&x->moments[--x->count]);
	return rc;
}

void frag_explanation_fini(struct frag_explanation *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		fini_moment(&x->moments[i]);
	free(x->moments);
	frag_recommend_fini(&x->ranked);
}
