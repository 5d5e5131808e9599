/*
 * play.c - a tape into a simulation.
 *
 * Nearly all of a tape are allocs and frees of which nobody wants to know more than what comes of
 * them. They go from the tape's records to the policy, and no event is made of them, unless one
 * runs out of memory or fails. All others are fed as any batch is.
 */
#include "engine/plain.h"
#include "engine/sim.h"
#include "events/tape.h"

#define STAGE 4         /* events from one hint to the next */
#define NEAR_SLOTS 8192 /* of so few the nearer caches hold all, and hints only cost */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/*
 * The hints of feeding (sim.c), for allocs and frees alike: which it is, is nothing that a
 * processor could guess, and a block that an alloc's slot had before does no harm.
 */
HINT void look_ahead(const struct frag_sim *sim, const struct frag_tape_event *ev)
{
	const uint32_t count = sim->slot_count;

	if (ev[3 * STAGE].slot < count)
		__builtin_prefetch(&sim->slots[ev[3 * STAGE].slot]);
	if (ev[2 * STAGE].slot < count) {
		const struct frag_slot *slot = &sim->slots[ev[2 * STAGE].slot];
		const struct frag_heap *heap = sim->engines[slot->device].policy.heap;

		frag_expect(heap, exists(heap, slot->block) ? slot->block : 0);
	}
	if (ev[STAGE].slot < count) {
		const struct frag_slot *slot = &sim->slots[ev[STAGE].slot];
		const struct frag_heap *heap = sim->engines[slot->device].policy.heap;

		frag_approach(heap, exists(heap, slot->block) ? slot->block : 0);
	}
}

/* 0; -FRAG_EDEVMEM: an OOM; else the policy's failure. */
ALWAYS_INLINE int play_alloc(struct frag_engine *e, const struct frag_tape_event *ev,
			     const struct frag_tape_site *site, uint64_t step,
			     struct frag_slot *slot)
{
	const struct frag_request rq = {
		.bytes = ev->word >> FRAG_TAPE_VALUE_SHIFT, .stream = site->stream,
		.pool = site->pool, .tick = step, .stream_order = site->stream_order,
	};
	const uint32_t blocks_before = e->totals->blocks;
	int rc;

	e->counts.allocs++;
	frag_begin_slot(slot, &rq, site->tag, site->stack, site->device);
	if (!rq.bytes) {
		e->counts.hits++;
		return 0;
	}
	rc = e->policy.ops->alloc(&e->policy, &rq, &slot->block);
	return frag_end_alloc(e, &rq, slot, blocks_before, rc);
}

ALWAYS_INLINE int play_free(struct frag_engine *e, struct frag_slot *slot)
{
	const frag_block b = slot->block;

	if (b >= SLOT_FIRST_STATE) {
		e->counts.skipped += b == SLOT_FAILED;
		e->counts.frees += b != SLOT_FAILED;
		return 0;
	}
	e->counts.frees++;
	slot->pending = false;
	slot->block = SLOT_NONE;
	return frag_free_live(e, b);
}

/* The step at the reader's place was no plain one after all: what comes of it needs the event. */
__attribute__((cold, noinline))
static int play_again(struct frag_sim *sim, struct frag_tape_reader *r, int failed,
		      struct frag_error *err)
{
	struct frag_batch batch;
	const struct frag_event *ev;

	frag_tape_next(r, (uint64_t)r->next + 1, &batch);
	ev = &batch.events[0];
	return failed == -FRAG_EDEVMEM
		? frag_sim_oom(sim, ev->device, ev, err)
		: frag_engine_fail(&sim->engines[ev->device], ev, ev->device, failed, err);
}

/*
 * Plain events from the reader's place on, up to event `end` or one that is not plain. The level is
 * a constant of whoever calls, so that each has a loop without what it does not keep. 0; else what
 * came of the event at the reader's place.
 */
ALWAYS_INLINE int play_plain(struct frag_sim *sim, struct frag_tape_reader *r, uint32_t end,
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
		if (!one)
			e += site->device;
		if (e->stopped | e->restoring_blocks)
			break;
		if (i < hinted && sim->slot_count > NEAR_SLOTS)
			look_ahead(sim, ev);
		sim->step = i + r->skipped;
		frag_begin_plain(e);
		if (frag_tape_is_alloc(ev)) {
			if (ev->slot >= sim->slot_count)
				rc = frag_sim_make_slot(sim, ev->slot, err);
			rc = rc ? rc : play_alloc(e, ev, site, sim->step, &sim->slots[ev->slot]);
			r->next_alloc += !rc;
		} else {
			rc = play_free(e, &sim->slots[ev->slot]);
		}
		if (rc && rc != -FRAG_EDEVMEM)
			break;
		if (level == FRAG_LEVEL_ALL && t->times && site->members & FRAG_HAS_T)
			at = &t->times[i];
		frag_run_metrics_keep(&e->metrics, e->policy.heap, &e->device, sim->step, at,
				      level);
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
static uint32_t find_end(const struct frag_tape_reader *r, uint32_t end)
{
	const struct frag_tape *t = r->tape;

	return r->next_gap < t->gap_count && t->gaps[r->next_gap].event < end
		? t->gaps[r->next_gap].event : end;
}

/* Events that are not plain are often in a row: so many. The one at the reader's place counts. */
static uint32_t count_others(const struct frag_tape_reader *r, uint32_t end)
{
	uint32_t n = 1;

	while (r->next + n < end && n < FRAG_TAPE_BATCH
	       && !frag_tape_is_plain(&r->tape->events[r->next + n]))
		n++;
	return n;
}

/* Nobody looks at steps, and the devices' figures change by calls of the heap alone. */
static bool is_unwatched(const struct frag_sim *sim)
{
	return !sim->watched && sim->engines[0].device.ops->plain;
}

int frag_sim_play(struct frag_sim *sim, struct frag_tape_reader *r, uint64_t until,
		  struct frag_error *err)
{
	const uint32_t end = until < r->tape->count ? (uint32_t)until : r->tape->count;
	const bool unwatched = is_unwatched(sim);
	struct frag_batch batch;
	int rc = 0;

	do {
		uint32_t n = FRAG_TAPE_BATCH;

		if (unwatched && sim->fed) {
			frag_sim_watch(sim, &sim->step);
			rc = play_level(sim, r, find_end(r, end), err);
			rc = rc ? play_again(sim, r, rc, err) : 0;
			frag_sim_unwatch(sim);
			if (rc || r->next >= end || frag_sim_stopped(sim))
				break;
		}
		if (unwatched)
			n = count_others(r, end);
		frag_tape_next(r, end - r->next < n ? end : r->next + n, &batch);
		rc = frag_sim_feed(sim, &batch, err);
	} while (!rc && r->next < end && !frag_sim_stopped(sim));
	return rc;
}
