/* sim.c - one policy over all devices of a trace: its steps, observers, OOMs and marks. */
#include "engine/sim.h"

#include <inttypes.h>

#include "base/array_grow.h"
#include "base/format.h"
#include "base/inline.h"
#include "engine/fast_path.h"
#include "events/id_map.h"
#include "heap/relocate.h"
#include "heap/tie_break.h"
#include "metrics/metric.h"

int frag_sim_observe(struct frag_sim *sim, const struct frag_observer *observer)
{
	FRAG_ASSERT(observer->step);
	if (sim->observer_count == FRAG_OBSERVERS_MAX)
		return -FRAG_ENOMEM;
	sim->observers[sim->observer_count++] = *observer;
	sim->watched = true;
	return 0;
}

const char *frag_sim_failure(const struct frag_sim *sim)
{
	return sim->failure.code ? sim->failure.message : NULL;
}

bool frag_sim_stopped(const struct frag_sim *sim)
{
	return sim->stopped == sim->device_count;
}

/* Sets the size that the policy searched for, and the one last requested from the device. */
static void note_sought(const struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
			struct frag_oom *oom)
{
	const struct frag_heap *heap = sim->engines[d].policy.heap;

	oom->need = oom->size;
	oom->demand = oom->tried;
	if (!frag_oom_is_limit(oom) && heap->refused_bytes)
		oom->demand = heap->refused_bytes;
	if (ev)
		oom->need = frag_sim_seek(sim, ev).bytes;
}

/* Describes an OOM by the data that is available at no cost: the metrics and the cause. */
static struct frag_oom describe_oom(const struct frag_engine *e, const struct frag_event *ev)
{
	const struct frag_metrics *m = &e->metrics.now;
	const uint64_t tried = e->totals->tried;
	const uint64_t own = e->policy.ops->limit ? e->policy.ops->limit(&e->policy) : UINT64_MAX;

	return (struct frag_oom){
		.step = ev ? ev->step : 0, .size = ev ? ev->bytes : tried, .tried = tried,
		.id = ev ? frag_id_json(&ev->id) : NULL, .used = e->device.used,
		.limit = own < e->device.limit ? own : e->device.limit,
		.limit_key = own < e->device.limit ? e->policy.ops->limit_key : NULL,
		.fragmentation = (int64_t)m->free + m->device_free >= (int64_t)tried,
		.metrics = *m,
	};
}

/* ev is NULL for an initial pool, which has no request and no id. */
static int sim_note_oom(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
			struct frag_error *err)
{
	const struct frag_oom_hook *hook = sim->options.on_oom;
	struct frag_engine *e;
	struct frag_result *r;
	struct frag_oom *oom;

	FRAG_ASSERT(d < sim->device_count);
	e = &sim->engines[d];
	r = &sim->results[d];
	if (r->oom_count == FRAG_OOMS_MAX)
		return 0;
	if (!FRAG_GROW(r->ooms, r->oom_capacity, r->oom_count))
		return frag_fail_nomem(err);
	frag_run_metrics_look(&e->metrics, e->policy.heap, &e->device);
	oom = &r->ooms[r->oom_count++];
	*oom = describe_oom(e, ev);
	note_sought(sim, d, ev, oom);
	if (ev && !oom->id)
		return frag_fail_nomem(err);
	if (!hook || sim->options.level == FRAG_LEVEL_SURVIVE)
		return 0;
	return hook->explain(hook->ctx, sim, d, ev, oom, err);
}

/*
 * Are fewer marks than FRAG_MARKS_ALL_MAX kept, also with this one of all remaining devices?
 * If not, none is kept from now on.
 */
static bool mark_fits(const struct frag_sim *sim, uint32_t d, const struct frag_event *ev)
{
	const uint32_t more = ev->device == FRAG_ALL ? sim->device_count - d : 1;

	return !sim->marks_cut && more <= FRAG_MARKS_ALL_MAX - sim->marks;
}

/* Keeps a mark's name and the metrics at it, up to the limits per device and per run. */
static int sim_note_mark(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
			 struct frag_error *err)
{
	struct frag_result *r = &sim->results[d];
	struct frag_mark *mark;

	FRAG_ASSERT(ev->op == FRAG_OP_MARK);
	if (r->mark_count == FRAG_MARKS_MAX)
		return 0;
	if (!mark_fits(sim, d, ev)) {
		sim->marks_cut = true;
		return 0;
	}
	if (!FRAG_GROW(r->marks, r->mark_capacity, r->mark_count))
		return frag_fail_nomem(err);
	mark = &r->marks[r->mark_count];
	*mark = (struct frag_mark){ .step = ev->step, .metrics = sim->engines[d].metrics.now };
	mark->name = frag_new_json(ev->text.text, ev->text.length);
	if (!mark->name)
		return frag_fail_nomem(err);
	r->mark_count++;
	sim->marks++;
	return 0;
}

/* The sums of fragsim-result(5), Metrics again, from a walk over all blocks. */
static int check_step(const struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
		      struct frag_error *err)
{
	struct frag_error first;
	int rc = frag_heap_check(sim->engines[d].policy.heap, &first);

	FRAG_ASSERT(sim->options.check);
	if (rc == 0)
		return 0;
	if (rc == -FRAG_ENOMEM)
		return frag_fail_nomem(err);
	return frag_fail(err, FRAG_ECHECK, "policy %s, device %u, after event %" PRIu64 ": %.800s",
			 sim->choice.text, d, ev->step, first.message);
}

/*
 * Returns the slot of an allocated block, which must have one. Moves are rare, so this searches
 * all slots instead of storing a reverse map.
 */
static uint32_t slot_of(const struct frag_sim *sim, uint32_t d, frag_block b)
{
	uint32_t i;

	for (i = 0; i < sim->slot_count; i++)
		if (sim->slots[i].block == b && sim->slots[i].device == d && !sim->slots[i].pending)
			break;
	FRAG_ASSERT(i < sim->slot_count);
	return i;
}

/* The blocks that the policy has moved in this step. */
static int describe_moves(struct frag_sim *sim, uint32_t d, struct frag_step *step,
			  struct frag_error *err)
{
	const struct frag_heap *heap = sim->engines[d].policy.heap;

	step->moves = NULL;
	step->move_count = 0;
	if (!heap->moved_count)
		return 0;
	if (!frag_grow(&sim->moves, &sim->move_capacity, heap->moved_count, sizeof(*sim->moves)))
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < heap->moved_count; i++) {
		struct frag_allocation a;

		const bool there = frag_heap_look_allocated(heap, heap->moved[i], &a);

		FRAG_ASSERT(there);
		sim->moves[i] = (struct frag_step_move){
			.slot = slot_of(sim, d, heap->moved[i]), .segment = a.ordinal,
			.offset = a.offset, .bytes = a.bytes,
		};
	}
	step->moves = sim->moves;
	step->move_count = heap->moved_count;
	return 0;
}

/* Calls the observers of every step, including those of refused pools, and records marks. */
__attribute__((noinline))
static int notify(struct frag_sim *sim, uint32_t d, struct frag_step *step, struct frag_error *err)
{
	const struct frag_event *ev = step->event;
	int rc = describe_moves(sim, d, step, err);

	frag_engine_describe(&sim->engines[d], sim->slots, step);
	if (!rc && sim->options.check)
		rc = check_step(sim, d, ev, err);
	for (uint32_t i = 0; i < sim->observer_count && !rc; i++)
		rc = sim->observers[i].step(sim->observers[i].ctx, step, err);
	if (!rc && ev->op == FRAG_OP_MARK && step->status == FRAG_STEP_OK
	    && sim->options.level == FRAG_LEVEL_ALL)
		rc = sim_note_mark(sim, d, ev, err);
	return rc;
}

static void sim_stop(struct frag_sim *sim, uint32_t d)
{
	FRAG_ASSERT(!sim->engines[d].stopped && sim->stopped < sim->device_count);
	sim->engines[d].stopped = true;
	sim->stopped++;
}

__attribute__((cold))
static int step_refused(struct frag_sim *sim, uint32_t d, struct frag_step *step,
			struct frag_error *err)
{
	FRAG_ASSERT(sim->engines[d].pool_refused);
	step->status = FRAG_STEP_OOM;
	step->placed = false;
	frag_count_step(&sim->engines[d], step->event);
	return notify(sim, d, step, err);
}

/* After a step whose request has failed. */
__attribute__((cold))
static int sim_oom(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
		   struct frag_error *err)
{
	if (!sim->options.on_oom_continue)
		sim_stop(sim, d);
	return sim_note_oom(sim, d, ev, err);
}

/* A device that has stopped ignores the remaining events; the others continue. */
static int step_on(struct frag_sim *sim, uint32_t d, const struct frag_event *ev,
			  uint32_t stack, struct frag_error *err)
{
	struct frag_engine *e = &sim->engines[d];
	struct frag_step step;  /* what only observers see is filled in for them: notify() */
	int rc;

	if (e->stopped)
		return 0;
	step.event = ev;
	step.device = d;
	step.stack = stack;
	if (e->pool_refused)
		return step_refused(sim, d, &step, err);
	rc = frag_engine_step(e, ev, sim->slots, &step, err);
	if (!rc && (sim->watched || ev->op == FRAG_OP_MARK))
		rc = notify(sim, d, &step, err);
	return rc || step.status != FRAG_STEP_OOM ? rc : sim_oom(sim, d, ev, err);
}

__attribute__((noinline))
static int step_everywhere(struct frag_sim *sim, const struct frag_event *ev,
			   struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < sim->device_count && !rc; d++)
		rc = step_on(sim, d, ev, 0, err);
	return rc;
}

/* What the trace had on the device before its first event. */
static struct frag_beginning find_beginning(const struct frag_sim *sim, uint32_t d)
{
	struct frag_beginning b = { .segments = 0 };

	for (uint32_t i = 0; i < sim->symbols->initial_count; i++) {
		const struct frag_initial *seg = &sim->symbols->initial[i];

		if (seg->device != d)
			continue;
		b.live += seg->live;
		b.segments += seg->range ? 0 : seg->bytes;
		for (uint32_t k = 0; k < seg->run_count; k++)
			b.segments += seg->runs[k].bytes;
	}
	return b;
}

/*
 * The initial segments of the trace do not fit on the device, though their blocks may: they are
 * requested from an engine that begins empty. On a device that fits the segments the run is
 * different, so the capacity range ends there. Recorded addresses are of those segments: none is
 * known any more.
 */
static int begin_with_nothing(struct frag_sim *sim, uint32_t d, struct frag_error *err)
{
	struct frag_engine *e = &sim->engines[d];
	const uint64_t end_capacity = e->device.end_capacity;
	const uint32_t device = e->policy.device;
	int rc;

	FRAG_ASSERT(!sim->fed);
	sim->results[d].beginning.as_requests = true;
	frag_engine_fini(e);
	rc = frag_sim_open_engine(sim, d, err);
	if (rc)
		return rc;
	e->policy.device = device;
	frag_heap_set_places(e->policy.heap, NULL, 0, sim->options.reversed);
	frag_device_narrow(&e->device, 0, end_capacity);
	return frag_engine_begin(e, err);
}

/* An initial pool that is refused is an OOM at step 0. */
static int sim_begin(struct frag_sim *sim, struct frag_error *err)
{
	for (uint32_t d = 0; d < sim->device_count; d++) {
		int rc = frag_engine_begin(&sim->engines[d], err);

		sim->results[d].beginning = find_beginning(sim, d);
		if (!rc) {
			rc = frag_engine_restore(&sim->engines[d], d, sim->symbols->initial,
						 sim->symbols->initial_count, err);
			rc = rc == -FRAG_EDEVMEM ? begin_with_nothing(sim, d, err) : rc;
		}
		if (rc == -FRAG_EDEVMEM) {
			sim->engines[d].pool_refused = true;
			sim->engines[d].counts.ooms++;
			rc = sim_note_oom(sim, d, NULL, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}

int frag_sim_begin(struct frag_sim *sim, struct frag_error *err)
{
	int rc;

	if (sim->begun)
		return 0;
	sim->begun = true;
	frag_sim_enter_plugin(sim, NULL);
	sim->busy = true;
	rc = sim_begin(sim, err);
	sim->busy = false;
	frag_sim_leave_plugin(sim);
	return rc;
}

/* Step 0 is over: the runs that could not begin end there. */
static void stop_refused(struct frag_sim *sim)
{
	for (uint32_t d = 0; d < sim->device_count; d++)
		if (sim->engines[d].pool_refused && !sim->engines[d].stopped)
			sim_stop(sim, d);
}

__attribute__((noinline))
int frag_sim_make_slot(struct frag_sim *sim, uint32_t slot, struct frag_error *err)
{
	FRAG_ASSERT(slot >= sim->slot_count);
	if (!FRAG_GROW(sim->slots, sim->slot_capacity, slot))
		return frag_fail_nomem(err);
	while (sim->slot_count <= slot)
		sim->slots[sim->slot_count++] = (struct frag_slot){ .block = SLOT_NONE };
	return 0;
}

static int feed_event(struct frag_sim *sim, const struct frag_batch *batch, uint32_t i,
		    struct frag_error *err)
{
	const struct frag_event *ev = &batch->events[i];
	int rc = 0;

	sim->step = ev->step;
	if (ev->op == FRAG_OP_ALLOC && ev->slot >= sim->slot_count)
		rc = frag_sim_make_slot(sim, ev->slot, err);
	/* in the part of a trace that is of one device, a sync ends blocks of others, too */
	for (uint32_t k = 0; k < ev->ended_count && !rc; k++)
		if (ev->ended[k].slot >= sim->slot_count)
			rc = frag_sim_make_slot(sim, ev->ended[k].slot, err);
	if (rc)
		return rc;
	return ev->device == FRAG_ALL
		? step_everywhere(sim, ev, err)
		: step_on(sim, ev->device, ev, batch->stacks ? batch->stacks[i] : 0, err);
}

/* Plain events -------------------------------------------------------------- */

/*
 * Nearly all events are plain: allocs and frees without observers. They go from the tape's
 * records to the policy, and no struct frag_event is made of them, except for an OOM or a
 * failure. All others are fed individually. This is the fast path; frag_engine_step() is the
 * reference.
 */
#define STAGE 4         /* events from one hint to the next */
#define NEAR_SLOTS 8192 /* of so few the nearer caches hold all, and hints only cost */

/* The block that a slot holds; where it holds none, 0: a hint for any block is harmless. */
FRAG_INLINE frag_block block_ahead(const struct frag_sim *sim, uint32_t slot,
				   struct frag_heap **heap)
{
	const frag_block b = sim->slots[slot].block;

	*heap = sim->engines[sim->slots[slot].device].policy.heap;
	return frag_is_block(*heap, b) ? b : 0;
}

/*
 * A free reads a slot, then a block and its adjacent blocks, all at unrelated addresses: each
 * stage prefetches one of them while earlier events still run. Allocs and frees are prefetched
 * alike: a branch on the kind would be mispredicted, and prefetching the previous block of an
 * alloc's slot is harmless.
 */
FRAG_INLINE void look_ahead(const struct frag_sim *sim, uint32_t far, uint32_t middle,
			    uint32_t near)
{
	struct frag_heap *heap;
	frag_block b;

	if (far < sim->slot_count)
		__builtin_prefetch(&sim->slots[far]);
	if (middle < sim->slot_count) {
		b = block_ahead(sim, middle, &heap);
		frag_heap_prefetch_inline(heap, b);
	}
	if (near < sim->slot_count) {
		b = block_ahead(sim, near, &heap);
		frag_heap_prefetch_neighbours(heap, b);
	}
}

__attribute__((cold, noinline))
int frag_report_failed(struct frag_sim *sim, struct frag_tape_reader *r, int failed,
		    struct frag_error *err)
{
	struct frag_batch batch;
	const struct frag_event *ev;

	FRAG_ASSERT(failed && r->next < r->tape->count);
	frag_tape_next(r, (uint64_t)r->next + 1, &batch);
	ev = &batch.events[0];
	return failed == -FRAG_EDEVMEM && ev->op == FRAG_OP_ALLOC
		? sim_oom(sim, ev->device, ev, err)
		: frag_engine_fail(&sim->engines[ev->device], ev, ev->device, failed, err);
}

/* A request from an event. */
FRAG_INLINE int feed_alloc(struct frag_sim *sim, struct frag_engine *e,
			     const struct frag_event *ev, uint32_t stack, struct frag_error *err)
{
	const struct frag_request rq = frag_request_of(ev);
	const int rc = frag_ensure_slot(sim, ev->slot, err);

	return rc ? rc : frag_plain_alloc(e, &rq, ev->tag, stack, ev->device,
					  &sim->slots[ev->slot]);
}

/* rc: 0; -FRAG_EDEVMEM of an alloc: an OOM, a step as any; else what failed. */
FRAG_INLINE void end_step(const struct frag_sim *sim, struct frag_engine *e, const double *t,
			    enum frag_level level, bool alloc, int rc)
{
	if (!rc || (alloc && rc == -FRAG_EDEVMEM))
		frag_run_metrics_keep(&e->metrics, e->policy.heap, &e->device, sim->step, t, level);
}

/* Can it take plain events? Not once it has stopped, nor while initial blocks are restored. */
FRAG_INLINE bool is_running(const struct frag_engine *e)
{
	return !(e->stopped | e->restoring_blocks);
}

/*
 * Of a simulation that is unwatched and has been fed before: allocs and frees of a batch, from
 * event *i on, up to one that is neither, or has more to it, or stops its device. Each caller
 * passes a constant level, so that its loop contains only the metrics of that level.
 */
FRAG_INLINE int feed_plain(struct frag_sim *sim, const struct frag_batch *batch, uint32_t *i,
			     enum frag_level level, struct frag_error *err)
{
	int rc = 0;

	for (; *i < batch->count && !rc; ++*i) {
		const struct frag_event *ev = &batch->events[*i];
		struct frag_engine *e = sim->engines;

		if (ev->op > FRAG_OP_FREE || ev->waits)
			break;
		e += ev->device;
		if (!is_running(e))
			break;
		if (*i + 3 * STAGE < batch->count && sim->slot_count > NEAR_SLOTS)
			look_ahead(sim, ev[3 * STAGE].slot, ev[2 * STAGE].slot, ev[STAGE].slot);
		frag_begin_fast_step(sim, e, ev->step);
		rc = ev->op == FRAG_OP_ALLOC
			? feed_alloc(sim, e, ev, batch->stacks ? batch->stacks[*i] : 0, err)
			: frag_plain_free(e, &sim->slots[ev->slot]);
		end_step(sim, e, ev->members & FRAG_HAS_T ? &ev->t : NULL, level,
			 ev->op == FRAG_OP_ALLOC, rc);
		if (rc)
			rc = rc == -FRAG_EDEVMEM && ev->op == FRAG_OP_ALLOC
				? sim_oom(sim, ev->device, ev, err)
				: frag_engine_fail(e, ev, ev->device, rc, err);
	}
	return rc;
}

static int feed_level(struct frag_sim *sim, const struct frag_batch *batch, uint32_t *i,
		      struct frag_error *err)
{
	switch (sim->options.level) {
	case FRAG_LEVEL_PEAKS:
		return feed_plain(sim, batch, i, FRAG_LEVEL_PEAKS, err);
	case FRAG_LEVEL_SURVIVE:
		return feed_plain(sim, batch, i, FRAG_LEVEL_SURVIVE, err);
	case FRAG_LEVEL_ALL:
		break;
	}
	return feed_plain(sim, batch, i, FRAG_LEVEL_ALL, err);
}

/* Feeds events individually; without observers, plain ones take the fast path. */
int frag_sim_feed(struct frag_sim *sim, const struct frag_batch *batch, struct frag_error *err)
{
	const bool unwatched = frag_sim_is_unwatched(sim);
	int rc = frag_sim_begin(sim, err);
	uint32_t i = 0;

	frag_sim_enter_plugin(sim, &sim->step);
	sim->busy = true;
	if (!sim->fed) {
		sim->fed = true;
		if (!rc && batch->count)
			rc = feed_event(sim, batch, i++, err);
		stop_refused(sim);
	}
	while (i < batch->count && !rc && !frag_sim_stopped(sim)) {
		if (unwatched)
			rc = feed_level(sim, batch, &i, err);
		if (!rc && i < batch->count)
			rc = feed_event(sim, batch, i++, err);
	}
	sim->busy = false;
	frag_sim_leave_plugin(sim);
	return rc;
}

/*
 * The same from the reader's position, up to event `end` or to one that is not plain. Returns 0,
 * or the error of the event at the reader's position.
 */
FRAG_INLINE int play_plain(struct frag_sim *sim, struct frag_tape_reader *r, uint32_t end,
			     enum frag_level level, struct frag_error *err)
{
	const struct frag_tape *t = r->tape;
	const uint32_t hinted = t->count > 3 * STAGE ? t->count - 3 * STAGE : 0;
	const bool one = sim->device_count == 1;
	uint32_t i = r->next;
	int rc = 0;

	for (; i < end; i++) {
		const struct frag_tape_event *ev = &t->events[i];
		const struct frag_tape_site *site = &t->sites[ev->site];
		struct frag_engine *e = sim->engines;
		const double *at = NULL;

		if (!frag_tape_is_plain(ev))
			break;
		e += one ? 0 : site->device;
		if (!is_running(e))
			break;
		if (i < hinted && sim->slot_count > NEAR_SLOTS)
			look_ahead(sim, ev[3 * STAGE].slot, ev[2 * STAGE].slot, ev[STAGE].slot);
		if (level == FRAG_LEVEL_ALL && t->times && site->members & FRAG_HAS_T)
			at = &t->times[i];
		frag_begin_fast_step(sim, e, i + r->skipped);
		if (frag_tape_is_alloc(ev)) {
			rc = frag_play_alloc(sim, e, ev, site, err);
			r->next_alloc += !rc;
		} else {
			rc = frag_plain_free(e, &sim->slots[ev->slot]);
		}
		end_step(sim, e, at, level, frag_tape_is_alloc(ev), rc);
		if (rc)
			break;
	}
	r->next = i;
	return rc;
}

static int play_level(struct frag_sim *sim, struct frag_tape_reader *r, uint32_t end,
		      struct frag_error *err)
{
	switch (sim->options.level) {
	case FRAG_LEVEL_PEAKS:
		return play_plain(sim, r, end, FRAG_LEVEL_PEAKS, err);
	case FRAG_LEVEL_SURVIVE:
		return play_plain(sim, r, end, FRAG_LEVEL_SURVIVE, err);
	case FRAG_LEVEL_ALL:
		break;
	}
	return play_plain(sim, r, end, FRAG_LEVEL_ALL, err);
}

/* Where plain events that can be next to each other end: step numbers run on up to a gap. */
static uint32_t plain_end(const struct frag_tape_reader *r, uint32_t end)
{
	const struct frag_tape *t = r->tape;

	return r->next_gap < t->gap_count && t->gaps[r->next_gap].event < end
		? t->gaps[r->next_gap].event : end;
}

/* Counts the consecutive events that are not plain, including the one at the reader's position. */
static uint32_t count_others(const struct frag_tape_reader *r, uint32_t end)
{
	uint32_t n = 1;

	while (r->next + n < end && n < FRAG_TAPE_BATCH
	       && !frag_tape_is_plain(&r->tape->events[r->next + n]))
		n++;
	return n;
}

/* Alternates between plain events, on the fast path, and others, which are fed as a batch. */
int frag_sim_play(struct frag_sim *sim, struct frag_tape_reader *r, uint64_t until,
		  struct frag_error *err)
{
	const uint32_t end = until < r->tape->count ? (uint32_t)until : r->tape->count;
	const bool unwatched = frag_sim_is_unwatched(sim);
	struct frag_batch batch;
	int rc = 0;

	do {
		uint64_t n = FRAG_TAPE_BATCH;   /* events, if none is plain */

		if (unwatched && sim->fed) {
			frag_sim_enter_plugin(sim, &sim->step);
			rc = play_level(sim, r, plain_end(r, end), err);
			rc = rc ? frag_report_failed(sim, r, rc, err) : 0;
			frag_sim_leave_plugin(sim);
			if (rc || r->next >= end || frag_sim_stopped(sim))
				break;
		}
		if (unwatched)
			n = count_others(r, end);
		frag_tape_next(r, end < r->next + n ? end : r->next + n, &batch);
		rc = frag_sim_feed(sim, &batch, err);
	} while (!rc && r->next < end && !frag_sim_stopped(sim));
	return rc;
}
