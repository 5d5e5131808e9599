/*
 * fast_path.h - the fast way for plain allocs and frees, inlined into the loops that drive an
 * engine: sim.c for the records of a tape and for batches, small_requests.c for timelines.
 *
 * The reference is frag_engine_step() in engine.c, which takes every event and shares the checks
 * here. Where the two differ, the fast way is wrong (tests/property/fits.c compares them).
 */
#pragma once

#include "base/inline.h"
#include "engine/sim.h"
#include "events/tape.h"
#include "heap/heap_inline.h"
#include "metrics/run_metrics.h"

/* Which rule was broken; -FRAG_EPOLICY. */
int frag_engine_refuse_count(struct frag_engine *e, const char *hook, uint32_t expected);
int frag_engine_refuse_answer(struct frag_engine *e, const struct frag_request *rq,
			      frag_block b);

/*
 * Checks that a hook has left the expected number of allocated blocks. Returns 0 or
 * -FRAG_EPOLICY. This program's own policies are checked only in a checked run.
 */
static inline int frag_check_count(struct frag_engine *e, const char *hook,
				    uint32_t expected)
{
	if (e->trusted || e->totals->blocks == expected)
		return 0;
	return frag_engine_refuse_count(e, hook, expected);
}

/* Checks that the answer is a new block, as requested. Returns 0 or -FRAG_EPOLICY. */
static inline int frag_check_answer(struct frag_engine *e, const struct frag_request *rq,
				    frag_block b, uint32_t blocks_before)
{
	const struct frag_heap *h = e->policy.heap;

	if (e->trusted)
		return 0;
	if (!frag_is_block(h, b) || h->blocks[b].state != FRAG_ALLOCATED
	    || h->blocks[b].requested != rq->bytes
	    || h->segments[h->blocks[b].segment].pool != rq->pool)
		return frag_engine_refuse_answer(e, rq, b);
	return frag_check_count(e, "alloc", blocks_before + 1);
}

static inline struct frag_request frag_request_of(const struct frag_event *ev)
{
	return (struct frag_request){
		.bytes = ev->bytes, .stream = ev->stream, .pool = ev->pool, .tick = ev->step,
		.stream_order = ev->stream_order,
	};
}

/* Sets the slot of a new block, member by member: a compound literal would be cleared first. */
static inline void frag_begin_slot(struct frag_slot *slot, const struct frag_request *rq,
				   uint32_t tag, uint32_t stack, uint32_t device)
{
	slot->block = rq->bytes ? FRAG_NO_BLOCK : SLOT_EMPTY;
	slot->pending = false;
	slot->tag = tag;
	slot->stack = stack;
	slot->birth = rq->tick;
	slot->device = (uint16_t)device;
}

/*
 * The policy has answered a request with rc, and a block in the slot. 0; -FRAG_EDEVMEM: an OOM,
 * which is counted; else its failure.
 */
static inline int frag_end_alloc(struct frag_engine *e, const struct frag_request *rq,
				 struct frag_slot *slot, uint32_t blocks_before, int rc)
{
	if (rc == -FRAG_EDEVMEM) {
		slot->block = SLOT_FAILED;
		e->counts.ooms++;
		rc = frag_check_count(e, "alloc", blocks_before);
		return rc ? rc : -FRAG_EDEVMEM;
	}
	if (rc)
		return rc;
	e->counts.hits += frag_heap_call_count(e->policy.heap) == 0;
	return frag_check_answer(e, rq, slot->block, blocks_before);
}

/* The policy frees an allocated block: one less there must be. */
static inline int frag_free_live(struct frag_engine *e, frag_block b)
{
	const uint32_t blocks_before = e->totals->blocks;
	int rc = e->policy.ops->free(&e->policy, b);

	return rc ? rc : frag_check_count(e, "free", blocks_before - 1);
}

/* 0; -FRAG_EDEVMEM: an OOM; else the policy's failure. */
FRAG_INLINE int frag_plain_alloc(struct frag_engine *e, const struct frag_request *rq,
				   uint32_t tag, uint32_t stack, uint32_t device,
				   struct frag_slot *slot)
{
	const uint32_t blocks_before = e->totals->blocks;
	int rc;

	e->counts.allocs++;
	frag_begin_slot(slot, rq, tag, stack, device);
	if (!rq->bytes) {
		e->counts.hits++;
		return 0;
	}
	rc = e->policy.ops->alloc(&e->policy, rq, &slot->block);
	return frag_end_alloc(e, rq, slot, blocks_before, rc);
}

/* 0, or the policy's failure. */
FRAG_INLINE int frag_plain_free(struct frag_engine *e, struct frag_slot *slot)
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

/* Adds a step to the metrics: one that has run, or did nothing because its pool was refused. */
static inline void frag_count_step(struct frag_engine *e, const struct frag_event *ev)
{
	frag_run_metrics_keep(&e->metrics, e->policy.heap, &e->device, ev->step,
			      ev->members & FRAG_HAS_T ? &ev->t : NULL, e->metrics.level);
}

/*
 * Calls frag_heap_step_inline() only if the previous step called the device, was refused memory,
 * or a verb was refused: otherwise there is nothing to reset. Only for a device whose state
 * changes by calls of the heap alone.
 */
static inline void frag_reset_step(struct frag_engine *e)
{
	struct frag_heap *h = e->policy.heap;

	if (h->call_count || h->refused_bytes || h->refusal[0])
		frag_heap_step_inline(h);
	e->policy_error.code = 0;
}

/* The slot exists afterwards. 0 or -FRAG_ENOMEM */
FRAG_INLINE int frag_ensure_slot(struct frag_sim *sim, uint32_t slot, struct frag_error *err)
{
	return slot < sim->slot_count ? 0 : frag_sim_make_slot(sim, slot, err);
}

/*
 * Plays a tape's record of a plain alloc, without an event made of it: the record is its request;
 * what it has in common with others is its site's.
 */
FRAG_INLINE int frag_play_alloc(struct frag_sim *sim, struct frag_engine *e,
				  const struct frag_tape_event *ev,
				  const struct frag_tape_site *site, struct frag_error *err)
{
	const struct frag_request rq = {
		.bytes = ev->word >> FRAG_TAPE_VALUE_SHIFT, .stream = site->stream,
		.pool = site->pool, .tick = sim->step, .stream_order = site->stream_order,
	};
	const int rc = frag_ensure_slot(sim, ev->slot, err);

	return rc ? rc : frag_plain_alloc(e, &rq, site->tag, site->stack, site->device,
					  &sim->slots[ev->slot]);
}

/*
 * The plain event at the reader's place failed, with an OOM or an error: reports it with the event
 * in full. 0 after an OOM, which may have stopped the simulation. The reader is then after it.
 */
int frag_report_failed(struct frag_sim *sim, struct frag_tape_reader *r, int failed,
		       struct frag_error *err);

/* A step of the fast way: its number, and what frag_heap_step_inline() would reset. */
FRAG_INLINE void frag_begin_fast_step(struct frag_sim *sim, struct frag_engine *e, uint64_t step)
{
	sim->step = step;
	frag_reset_step(e);
}
