/*
 * tape_player.c - plays a tape, or the plain events of a batch, into a simulation.
 *
 * Nearly all events are plain: allocs and frees without observers. They go from the tape's
 * records to the policy, and no struct frag_event is made of them, except for an OOM or a
 * failure. All others are fed individually. This is the fast path; frag_engine_step() is the
 * reference.
 */
#include "engine/fast_path.h"

#define STAGE 4         /* events from one hint to the next */
#define NEAR_SLOTS 8192 /* of so few the nearer caches hold all, and hints only cost */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/* A block that will be freed, or FRAG_NO_BLOCK and so on, in a slot. */
HINT frag_block block_ahead(const struct frag_sim *sim, uint32_t slot, struct frag_heap **heap)
{
	const frag_block b = sim->slots[slot].block;

	*heap = sim->engines[sim->slots[slot].device].policy.heap;
	return exists(*heap, b) ? b : 0;
}

/*
 * A free reads a slot, then a block and its adjacent blocks, all at unrelated addresses: each
 * stage prefetches one of them while earlier events still run. Allocs and frees are prefetched
 * alike: a branch on the kind would be mispredicted, and prefetching the previous block of an
 * alloc's slot is harmless.
 */
HINT void look_ahead(const struct frag_sim *sim, uint32_t far, uint32_t middle, uint32_t near)
{
	struct frag_heap *heap;
	frag_block b;

	if (far < sim->slot_count)
		__builtin_prefetch(&sim->slots[far]);
	if (middle < sim->slot_count) {
		b = block_ahead(sim, middle, &heap);
		frag_expect(heap, b);
	}
	if (near < sim->slot_count) {
		b = block_ahead(sim, near, &heap);
		frag_approach(heap, b);
	}
}

__attribute__((cold, noinline))
int frag_play_again(struct frag_sim *sim, struct frag_tape_reader *r, int failed,
		    struct frag_error *err)
{
	struct frag_batch batch;
	const struct frag_event *ev;

	FRAG_ASSERT(failed && r->next < r->tape->count);
	frag_tape_next(r, (uint64_t)r->next + 1, &batch);
	ev = &batch.events[0];
	return failed == -FRAG_EDEVMEM && ev->op == FRAG_OP_ALLOC
		? frag_sim_oom(sim, ev->device, ev, err)
		: frag_engine_fail(&sim->engines[ev->device], ev, ev->device, failed, err);
}

/* A request from an event. */
ALWAYS_INLINE int feed_alloc(struct frag_sim *sim, struct frag_engine *e,
			     const struct frag_event *ev, uint32_t stack, struct frag_error *err)
{
	const struct frag_request rq = {
		.bytes = ev->bytes, .stream = ev->stream, .pool = ev->pool, .tick = ev->step,
		.stream_order = ev->stream_order,
	};
	const int rc = frag_slot_room(sim, ev->slot, err);

	return rc ? rc : frag_plain_alloc(e, &rq, ev->tag, stack, ev->device,
					  &sim->slots[ev->slot]);
}

/* rc: 0; -FRAG_EDEVMEM of an alloc: an OOM, a step as any; else what failed. */
ALWAYS_INLINE void end_step(const struct frag_sim *sim, struct frag_engine *e, const double *t,
			    enum frag_level level, bool alloc, int rc)
{
	if (!rc || (alloc && rc == -FRAG_EDEVMEM))
		frag_run_metrics_keep(&e->metrics, e->policy.heap, &e->device, sim->step, t, level);
}

/* Can it take plain events, or is it over, or still with what it begins with? */
ALWAYS_INLINE bool is_running(const struct frag_engine *e)
{
	return !(e->stopped | e->restoring_blocks);
}

/*
 * Runs plain events from the reader's position, up to event `end` or to one that is not plain.
 * Each caller passes a constant level, so that its loop contains only the metrics of that level.
 * Returns 0, or the error of the event at the reader's position.
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
		e += one ? 0 : site->device;
		if (!is_running(e))
			break;
		if (i < hinted && sim->slot_count > NEAR_SLOTS)
			look_ahead(sim, ev[3 * STAGE].slot, ev[2 * STAGE].slot, ev[STAGE].slot);
		if (level == FRAG_LEVEL_ALL && t->times && site->members & FRAG_HAS_T)
			at = &t->times[i];
		frag_begin_record(sim, e, i + r->skipped);
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

/* Does the same for a batch, from event *i on, and reports OOMs and errors itself. */
ALWAYS_INLINE int feed_plain(struct frag_sim *sim, const struct frag_batch *batch, uint32_t *i,
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
		frag_begin_record(sim, e, ev->step);
		rc = ev->op == FRAG_OP_ALLOC
			? feed_alloc(sim, e, ev, batch->stacks ? batch->stacks[*i] : 0, err)
			: frag_plain_free(e, &sim->slots[ev->slot]);
		end_step(sim, e, ev->members & FRAG_HAS_T ? &ev->t : NULL, level,
			 ev->op == FRAG_OP_ALLOC, rc);
		if (rc)
			rc = rc == -FRAG_EDEVMEM && ev->op == FRAG_OP_ALLOC
				? frag_sim_oom(sim, ev->device, ev, err)
				: frag_engine_fail(e, ev, ev->device, rc, err);
	}
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

int frag_sim_feed_plain(struct frag_sim *sim, const struct frag_batch *batch, uint32_t *i,
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

/* Where plain events that can be next to each other end: step numbers run on up to a gap. */
static uint32_t tape_player_find_end(const struct frag_tape_reader *r, uint32_t end)
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
			frag_sim_watch(sim, &sim->step);
			rc = play_level(sim, r, tape_player_find_end(r, end), err);
			rc = rc ? frag_play_again(sim, r, rc, err) : 0;
			frag_sim_unwatch(sim);
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
