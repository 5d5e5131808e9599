/* engine.c - one policy on one device: the event loop's body. */
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "engine/fast_path.h"
#include "events/id_map.h"
#include "heap/refusal.h"
#include "heap/relocate.h"

const char *frag_step_status_name(enum frag_step_status status)
{
	static const char *const names[] = { "ok", "oom", "skipped" };

	return names[status];
}

/*
 * The heap calls the policy to choose the list of a free block; the policy reads this engine's
 * state.
 */
static void set_sorter(struct frag_engine *e)
{
	const struct frag_sorter by = {
		.which = e->policy.ops->which, .key = e->policy.ops->key,
		.state = e->policy.state, .param = e->policy.param,
	};

	FRAG_ASSERT(e->policy.heap);
	frag_heap_sort_by(e->policy.heap, &by);
}

static enum frag_releases releases(const struct frag_policy *p)
{
	return p->ops->releases ? p->ops->releases(p->param) : FRAG_RELEASES_ALWAYS;
}

static const char *name_of(const struct frag_choice *choice)
{
	return *choice->text ? choice->text : choice->ops->name;
}

/* What was made before a failure stays in *e, for frag_engine_fini(). */
int frag_engine_init(struct frag_engine *e, const struct frag_choice *choice,
		     const struct frag_device_figures *f, const struct frag_device_ops *device,
		     enum frag_level level, struct frag_error *err)
{
	const struct frag_policy_ops *ops = choice->ops;
	int rc;

	FRAG_ASSERT(choice->ops && device);
	*e = (struct frag_engine){
		.policy = { .ops = ops, .param = choice->param, .err = &e->policy_error },
		.name = name_of(choice),
	};
	rc = frag_device_open(&e->device, device, f->total, f->context, f->other, f->granularity,
			      err);
	if (rc)
		return rc;
	e->open = true;
	e->device.small_max = f->small_max;
	e->device.small_granularity = f->small_granularity;
	e->device.err = &e->policy_error;
	e->policy.heap = frag_heap_new(&e->device, ops->order);
	e->policy.state = ops->state_size ? calloc(1, ops->state_size) : NULL;
	if (!e->policy.heap || (ops->state_size && !e->policy.state)
	    || !frag_run_metrics_init(&e->metrics, level))
		return frag_fail_nomem(err);
	e->totals = frag_heap_totals(e->policy.heap);
	set_sorter(e);
	if (releases(&e->policy) == FRAG_RELEASES_NEVER)
		frag_heap_keep_all(e->policy.heap);
	return 0;
}

/* Each member is named, as in frag_heap_copy(). */
int frag_engine_copy(struct frag_engine *e, const struct frag_engine *from,
		     const struct frag_choice *choice, struct frag_error *err)
{
	const struct frag_policy_ops *ops = from->policy.ops;
	bool good;

	FRAG_ASSERT(from->device.ops->plain);
	*e = (struct frag_engine){
		.device = from->device, .name = name_of(choice), .counts = from->counts,
		.policy = {
			.ops = ops, .param = choice->param, .err = &e->policy_error,
			.state = from->policy.state, .device = from->policy.device,
		},
		.restored = from->restored, .restored_count = from->restored_count,
		.restoring = from->restoring, .restoring_blocks = from->restoring_blocks,
		.trusted = from->trusted, .open = from->open,
		.pool_refused = from->pool_refused, .stopped = from->stopped,
	};
	e->device.err = &e->policy_error;
	e->policy.heap = frag_heap_copy(from->policy.heap, &e->device);
	good = e->policy.heap != NULL;
	good &= frag_array_copy(&e->policy.state, ops->state_size, 0, 1);
	good &= frag_array_copy(&e->restored, e->restored_count, 0, sizeof(*e->restored));
	good &= frag_run_metrics_copy(&e->metrics, &from->metrics);
	if (!good)
		return frag_fail_nomem(err);
	e->totals = frag_heap_totals(e->policy.heap);
	set_sorter(e);
	return 0;
}

void frag_engine_fini(struct frag_engine *e)
{
	free(e->metrics.series);
	free(e->policy.state);
	free(e->restored);
	frag_heap_del(e->policy.heap);
	if (e->open)
		frag_device_close(&e->device);
}

/* "step 17 (alloc id 5)": the step of a failure, for a message; ev is NULL before the first. */
static const char *when(const struct frag_event *ev, uint32_t device, char *buf, size_t size)
{
	char id[FRAG_ID_ROOM] = "", on[24] = "";

	if (!ev)
		return "before the first event";
	if (ev->members & FRAG_HAS_ID)
		frag_show_id(&ev->id, id);
	if (device)
		snprintf(on, sizeof(on), "device %" PRIu32 ", ", device);
	snprintf(buf, size, "%sevent %" PRIu64 " (%s%s%s)", on, ev->step,
		 frag_op_name((enum frag_op)ev->op), *id ? " id " : "", id);
	return buf;
}

/*
 * A code from policy or heap, with a message: the policy's own, or the heap's refusal. ev as in
 * when().
 */
__attribute__((cold)) static int engine_explain(const struct frag_engine *e,
						const struct frag_event *ev, uint32_t device,
						int rc, struct frag_error *err)
{
	const bool said = e->policy_error.code == rc;
	const char *refusal = frag_refusal(e->policy.heap);
	char buf[FRAG_ID_ROOM + 100];
	const char *at = when(ev, device, buf, sizeof(buf));

	if (rc == -FRAG_EDEVICE && said)
		return frag_fail(err, FRAG_EDEVICE, "%s", e->policy_error.message);
	if (rc == -FRAG_EDEVICE)
		return frag_fail(err, FRAG_EDEVICE, "device %s failed", e->device.ops->name);
	if (rc == -FRAG_ENOMEM && !said)
		return frag_fail_nomem(err);
	if (said)
		return frag_fail(err, (enum frag_error_code)-rc, "policy %.300s: %s: %.400s",
				 e->name, at, e->policy_error.message);
	if (rc == -FRAG_EPOLICY && *refusal)
		return frag_fail(err, FRAG_EPOLICY, "policy %.300s: %s: %s", e->name, at, refusal);
	return frag_fail(err, FRAG_EPOLICY, "policy %.300s: %s: answered with code %d, which means"
			 " nothing here", e->name, at, rc);
}

int frag_engine_begin(struct frag_engine *e, struct frag_error *err)
{
	int rc = 0;

	frag_heap_step_inline(e->policy.heap);
	if (e->policy.ops->init)
		rc = e->policy.ops->init(&e->policy);
	frag_run_metrics_begin(&e->metrics, e->policy.heap, &e->device);
	return rc && rc != -FRAG_EDEVMEM ? engine_explain(e, NULL, 0, rc, err) : rc;
}

/*
 * One segment from before the first event. A policy that has no place for it answers with no
 * block, and the run goes on without it.
 */
static int restore_segment(struct frag_engine *e, const struct frag_initial *from,
			   frag_block *out)
{
	struct frag_restored_segment seg = {
		.bytes = from->bytes, .stream = from->stream, .pool = from->pool,
		.stream_order = from->stream_order, .large = from->large, .range = from->range,
		.run_count = from->run_count,
	};
	struct frag_restored_run *runs = calloc((size_t)from->run_count + 1, sizeof(*runs));
	int rc;

	if (!runs)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < from->run_count; i++)
		runs[i] = (struct frag_restored_run){ from->runs[i].offset, from->runs[i].bytes };
	seg.runs = runs;
	rc = e->policy.ops->restore_segment(&e->policy, &seg, out);
	free(runs);
	return rc;
}

/*
 * Stops at the first segment that the device refuses: -FRAG_EDEVMEM without a message. The
 * simulation then begins the device again, without initial segments.
 */
int frag_engine_restore(struct frag_engine *e, uint32_t device, const struct frag_initial *initial,
			uint32_t count, struct frag_error *err)
{
	int rc = 0;

	if (!count || !e->policy.ops->restore_segment)
		return 0;
	e->restored = malloc(count * sizeof(*e->restored));
	if (!e->restored)
		return frag_fail_nomem(err);
	e->restored_count = count;
	e->restoring_blocks = true;
	for (uint32_t i = 0; i < count; i++)
		e->restored[i] = FRAG_NO_BLOCK;
	for (uint32_t i = 0; i < count && !rc; i++) {
		e->restoring = i;
		if (initial[i].device == device)
			rc = restore_segment(e, &initial[i], &e->restored[i]);
	}
	frag_run_metrics_begin(&e->metrics, e->policy.heap, &e->device);
	return rc && rc != -FRAG_EDEVMEM ? engine_explain(e, NULL, 0, rc, err) : rc;
}

/* The free block that holds the place; they come in rising order, so from the last one on. */
static frag_block engine_find_hole(const struct frag_engine *e, const struct frag_spot *place)
{
	frag_block b;

	FRAG_ASSERT(place->initial < e->restored_count);
	b = e->restored[place->initial];
	while (b != FRAG_NO_BLOCK) {
		const struct frag_block_view k = frag_heap_look(e->policy.heap, b);

		if (k.offset > place->offset)
			break;
		if (k.state == FRAG_FREE && place->offset - k.offset < k.bytes)
			return b;
		b = k.next;
	}
	return FRAG_NO_BLOCK;
}

/* Where the block was when the trace began; FRAG_NO_BLOCK where it cannot be there. */
__attribute__((noinline))
static int restore_block(struct frag_engine *e, const struct frag_spot *place,
			 const struct frag_request *rq, frag_block *out)
{
	frag_block hole = FRAG_NO_BLOCK;
	int rc;

	FRAG_ASSERT(e->restoring_blocks);
	*out = FRAG_NO_BLOCK;
	if (place && place->initial < e->restored_count)
		hole = engine_find_hole(e, place);
	if (hole == FRAG_NO_BLOCK)
		return 0;
	rc = e->policy.ops->restore_block(&e->policy, rq, hole, place->offset, place->bytes,
					  place->room, out);
	if (*out != FRAG_NO_BLOCK)
		e->restored[place->initial] = *out;
	return rc;
}

__attribute__((cold))
int frag_engine_refuse_count(struct frag_engine *e, const char *hook, uint32_t expected)
{
	return frag_refuse(e->policy.heap, hook,
			   "the number of allocated blocks after it is %" PRIu32 ", not %" PRIu32,
			   e->totals->blocks, expected);
}

__attribute__((cold))
int frag_engine_refuse_answer(struct frag_engine *e, const struct frag_request *rq,
			      frag_block b)
{
	static const char hook[] = "alloc";
	struct frag_allocation a;

	if (!frag_heap_look_allocated(e->policy.heap, b, &a))
		return frag_refuse_block(e->policy.heap, hook, b,
					 "is the answer, but not allocated");
	if (a.requested != rq->bytes)
		return frag_refuse_block(e->policy.heap, hook, b, "is the answer, but allocated for"
					 " %" PRIu64 " bytes, not the %" PRIu64 " requested",
					 a.requested, rq->bytes);
	return frag_refuse_block(e->policy.heap, hook, b, "is the answer, but of pool %"
				 PRIu32 ", not %" PRIu32, a.pool, rq->pool);
}

/*
 * A block that the trace knows from before its first event is handed out where it was; else the
 * policy chooses. What it returns is compared with the heap before the step reports it.
 */
static inline int run_alloc(struct frag_engine *e, const struct frag_event *ev,
			    struct frag_slot *slot, struct frag_step *step)
{
	const struct frag_request rq = frag_request_of(ev);
	const uint32_t blocks_before = e->totals->blocks;
	int rc = 0;

	e->counts.allocs++;
	frag_begin_slot(slot, &rq, ev->tag, step->stack, ev->device);
	step->placed = !rq.bytes;
	if (!rq.bytes) {
		e->counts.hits++;
		return 0;
	}
	if (e->restoring_blocks)
		rc = restore_block(e, ev->place, &rq, &slot->block);
	if (!rc && slot->block == FRAG_NO_BLOCK)
		rc = e->policy.ops->alloc(&e->policy, &rq, &slot->block);
	rc = frag_end_alloc(e, &rq, slot, blocks_before, rc);
	/* what was moved may be where others of the beginning were */
	if (e->restoring_blocks && frag_heap_moves(e->policy.heap).moves)
		e->restoring_blocks = false;
	step->placed = !rc;
	if (rc != -FRAG_EDEVMEM)
		return rc;
	step->status = FRAG_STEP_OOM;
	return 0;
}

/* The policy's free comes later. */
__attribute__((noinline)) static int engine_defer_free(struct frag_engine *e, frag_block b,
						       uint32_t slot)
{
	int rc = frag_heap_defer_free(e->policy.heap, b, slot);

	if (!rc && e->policy.ops->deferred)
		e->policy.ops->deferred(&e->policy, b);
	return rc;
}

/*
 * A block that streams still use becomes pending, and is the policy's again only when they are
 * done.
 */
static inline int run_free(struct frag_engine *e, const struct frag_event *ev,
			   struct frag_slot *slot, struct frag_step *step)
{
	frag_block b = slot->block;

	if (b == SLOT_FAILED) {
		step->status = FRAG_STEP_SKIPPED;
		return 0;
	}
	e->counts.frees++;
	if (b >= SLOT_FIRST_STATE)
		return 0;
	slot->pending = ev->waits;
	if (ev->waits)
		return engine_defer_free(e, b, ev->slot);
	slot->block = SLOT_NONE;
	return frag_free_live(e, b);
}

/* Pending blocks that the event ends; a sync may end those of other devices too. */
static int run_ended(struct frag_engine *e, const struct frag_event *ev, uint32_t device,
		     struct frag_slot *slots)
{
	for (uint32_t i = 0; i < ev->ended_count; i++) {
		const struct frag_ended *ended = &ev->ended[i];
		frag_block b = slots[ended->slot].block;
		int rc;

		if (b >= SLOT_FIRST_STATE || slots[ended->slot].device != device)
			continue;
		slots[ended->slot].block = SLOT_NONE;
		/* a policy's last resort may have waited for it already */
		if (!frag_heap_is_pending(e->policy.heap, b, ended->slot))
			continue;
		rc = e->policy.ops->ended
			? e->policy.ops->ended(&e->policy, b, ended->synced)
			: e->policy.ops->free(&e->policy, b);
		if (rc)
			return rc;
	}
	return 0;
}

static int run_notice(struct frag_engine *e, const struct frag_event *ev,
		      enum frag_notice_kind kind)
{
	const struct frag_notice n = {
		.kind = kind, .stream = ev->stream, .fraction = ev->fraction,
		.text = ev->text.text, .length = ev->text.length, .tick = ev->step,
		.pool = ev->pool,
	};
	bool handled = e->policy.ops->notice != NULL;
	int rc = 0;

	if (handled)
		rc = e->policy.ops->notice(&e->policy, &n, &handled);
	if (!rc && !handled && kind == FRAG_NOTICE_EMPTY_CACHE
	    && releases(&e->policy) == FRAG_RELEASES_ALWAYS)
		rc = frag_heap_release_idle(e->policy.heap);
	if (!rc && !handled && kind == FRAG_NOTICE_SET_FRACTION)
		frag_device_limit(&e->device, ev->fraction);
	return rc;
}

void frag_engine_describe(struct frag_engine *e, const struct frag_slot *slots,
			  struct frag_step *step)
{
	const struct frag_event *ev = step->event;
	struct frag_allocation a = { .bytes = 0 };

	if (step->placed && ev->bytes)
		frag_heap_look_allocated(e->policy.heap, slots[ev->slot].block, &a);
	step->segment = a.ordinal;
	step->offset = a.offset;
	step->bytes = a.bytes;
	step->calls = frag_heap_calls(e->policy.heap, &step->call_count);
	step->metrics = NULL;
	if (e->metrics.level == FRAG_LEVEL_SURVIVE)
		return;
	frag_run_metrics_look(&e->metrics, e->policy.heap, &e->device);
	step->metrics = &e->metrics.now;
}

/* Runs every event but alloc and free: ends of waits, and notices to the policy. */
__attribute__((noinline))
static int run_other(struct frag_engine *e, const struct frag_event *ev, struct frag_slot *slots,
		     struct frag_step *step)
{
	int rc;

	switch ((enum frag_op)ev->op) {
	case FRAG_OP_COMPLETE:
	case FRAG_OP_RECORD_STREAM:
		if (slots[ev->slot].block == SLOT_FAILED)
			step->status = FRAG_STEP_SKIPPED;
		return run_ended(e, ev, step->device, slots);
	case FRAG_OP_SYNC:
		rc = run_ended(e, ev, step->device, slots);
		return rc ? rc : run_notice(e, ev, FRAG_NOTICE_SYNC);
	case FRAG_OP_EMPTY_CACHE:
		return run_notice(e, ev, FRAG_NOTICE_EMPTY_CACHE);
	case FRAG_OP_RELEASE_POOL:
		return run_notice(e, ev, FRAG_NOTICE_RELEASE_POOL);
	case FRAG_OP_BEGIN_POOL:
		return run_notice(e, ev, FRAG_NOTICE_BEGIN_POOL);
	case FRAG_OP_END_POOL:
		return run_notice(e, ev, FRAG_NOTICE_END_POOL);
	case FRAG_OP_SET_FRACTION:
		return run_notice(e, ev, FRAG_NOTICE_SET_FRACTION);
	case FRAG_OP_CONFIGURE:
		/* without one it was skipped: a policy did not take it */
		if (ev->members & FRAG_HAS_VALUE)
			return run_notice(e, ev, FRAG_NOTICE_CONFIGURE);
		return 0;
	case FRAG_OP_MARK:
		return e->policy.ops->notice ? run_notice(e, ev, FRAG_NOTICE_MARK) : 0;
	case FRAG_OP_ALLOC:
	case FRAG_OP_FREE:
	case FRAG_OPS:
		break;
	}
	return 0;
}

__attribute__((cold))
int frag_engine_fail(struct frag_engine *e, const struct frag_event *ev, uint32_t device, int rc,
		     struct frag_error *err)
{
	FRAG_ASSERT(rc);
	/* settings that the policy does not take: the trace is bad, not the command line */
	if (rc == -FRAG_EUSAGE && e->policy_error.code == rc)
		rc = e->policy_error.code = -FRAG_ETRACE;
	return engine_explain(e, ev, device, rc, err);
}

/*
 * Runs one event, by its op. The totals are read and the peaks kept at the end of every step, also
 * of one that was skipped. This is the reference; the fast way for plain events is fast_path.h.
 */
int frag_engine_step(struct frag_engine *e, const struct frag_event *ev, struct frag_slot *slots,
		     struct frag_step *step, struct frag_error *err)
{
	int rc;

	FRAG_ASSERT(!e->stopped && !e->pool_refused);
	frag_heap_step_inline(e->policy.heap);
	e->policy_error.code = 0;
	e->restoring_blocks = e->restoring_blocks && ev->place;
	step->status = FRAG_STEP_OK;
	step->placed = false;
	if (ev->op == FRAG_OP_ALLOC)
		rc = run_alloc(e, ev, &slots[ev->slot], step);
	else if (ev->op == FRAG_OP_FREE)
		rc = run_free(e, ev, &slots[ev->slot], step);
	else
		rc = run_other(e, ev, slots, step);
	if (rc)
		return frag_engine_fail(e, ev, step->device, rc, err);
	e->counts.skipped += step->status == FRAG_STEP_SKIPPED;
	frag_count_step(e, ev);
	return 0;
}
