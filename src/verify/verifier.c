/*
 * verifier.c - compares the recorded decisions of a real allocator with the simulated ones.
 *
 * A logged device answers like the device of the log: it returns the segments of the log at
 * their addresses, and refuses where the log shows that memory was released first. It counts
 * the calls that the log lacks, and those of the log that were not made.
 */
#include "verify/verifier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/atomic_file.h"
#include "events/recording_info.h"

#define NEVER_REFUSED UINT32_MAX

struct logged_device {
	const struct frag_snapshot *snapshot;
	struct frag_engine engine;
	struct frag_verification *verdict;
	/* where segments compare by address: all of the log's, rising, each once */
	uint64_t *addresses;
	uint32_t address_count;
	/* where they compare by age: of each initial segment, its place among them; or NULL */
	const uint32_t *ages;
	uint64_t *bases;                /* by ordinal: the address, or FRAG_NOWHERE */
	uint32_t base_count, base_capacity;
	struct frag_map due;            /* address -> call: releases required in this step */
	uint32_t refused_at;            /* how many were due at the last refusal */
	uint32_t device;                /* ordinal */
	uint32_t first, at, end;        /* the step's calls in the log; at: the next of them */
	uint32_t event;                 /* of the log, for differences */
	uint64_t step;
	bool beginning;                 /* segments of the first state */
	bool oom;                       /* the log has an out-of-memory here */
	bool apart;                     /* the step's own pool is private */
};

static struct logged_device *logged_of(const struct frag_device *dev)
{
	struct logged_device **l = dev->state;

	return *l;
}

static const struct frag_logged_call *calls_of(const struct logged_device *l)
{
	return l->snapshot->devices[l->device].calls;
}

static bool logged_device_is_release(const struct frag_logged_call *c)
{
	return c->action == FRAG_ACT_SEGMENT_FREE || c->action == FRAG_ACT_SEGMENT_UNMAP;
}

/* Counts a decision; one that differs is kept among the first. */
static void logged_judge(struct logged_device *l, const struct frag_difference *d, bool agree,
		       bool apart)
{
	struct frag_verification *v = l->verdict;
	struct frag_match_count *score = apart ? &v->apart[d->decision] : &v->score[d->decision];

	score->agree += agree;
	score->of++;
	if (agree || apart)
		return;
	if (v->difference_count < FRAG_DIFFERENCES_MAX) {
		struct frag_difference *kept = &v->differences[v->difference_count];

		*kept = *d;
		kept->step = l->step;
		kept->device = l->device;
	}
	v->difference_count++;
}

/* The log's next call that gives memory; NULL where this step has none left. */
static const struct frag_logged_call *next_gain(struct logged_device *l)
{
	const struct frag_logged_call *calls = calls_of(l);

	while (l->at < l->end && logged_device_is_release(&calls[l->at]))
		l->at++;
	return l->at < l->end ? &calls[l->at] : NULL;
}

/*
 * The calls of the step come in the log's order: where a release is next, it comes
 * first; but where the last refusal brought no release, none ever will.
 */
static bool refuses(struct logged_device *l)
{
	const struct frag_logged_call *calls = calls_of(l);

	if (l->beginning)
		return false;
	while (l->at < l->end && logged_device_is_release(&calls[l->at])
	       && frag_map_get(&l->due, calls[l->at].addr) != l->at)
		l->at++;
	if (l->at == l->end)
		return l->oom;
	if (!logged_device_is_release(&calls[l->at]) || l->due.count == l->refused_at)
		return false;
	l->refused_at = l->due.count;
	return true;
}

/* The place of an address among all; of one that the log does not have, behind them. */
static uint32_t rank_in_log(const struct logged_device *l, uint64_t address)
{
	uint32_t low;

	if (address == FRAG_NOWHERE)
		return l->address_count + l->base_count;
	FRAG_COUNT_WHILE(low, l->address_count, l->addresses[low] < address);
	return low;
}

/*
 * The next ordinal is that of a segment at this address. What the heap gets as an
 * address: below its place among all segments, above its ordinal.
 */
static int logged_device_enter(struct logged_device *l, uint64_t address, uint32_t order,
			       frag_addr *addr)
{
	if (!FRAG_GROW(l->bases, l->base_capacity, l->base_count))
		return -FRAG_ENOMEM;
	*addr = (frag_addr)l->base_count << 32 | order;
	l->bases[l->base_count++] = address;
	return 0;
}

static int enter_new(struct logged_device *l, uint64_t address, frag_addr *addr)
{
	return logged_device_enter(
		l, address,
		l->ages ? l->snapshot->initial_count + l->base_count : rank_in_log(l, address),
		addr);
}

static int begin_with(struct logged_device *l, frag_addr *addr)
{
	uint32_t i = l->engine.restoring;
	uint64_t address = l->snapshot->initial[i].address;

	FRAG_ASSERT(l->beginning && i < l->snapshot->initial_count);
	return logged_device_enter(l, address, l->ages ? l->ages[i] : rank_in_log(l, address),
				   addr);
}

/* The call of the log that a decision is compared with. */
static void take_from_log(struct frag_difference *d, const struct frag_logged_call *c)
{
	d->in_log = true;
	d->event = c->event;
	d->recorded = c->addr;
	d->recorded_bytes = c->bytes;
}

/* Compares a call that gives memory with the log's next. at: where ours begins, if known. */
static const struct frag_logged_call *gain(struct logged_device *l, uint64_t at,
					   uint64_t bytes, enum frag_decision decision)
{
	const enum frag_action action = decision == FRAG_DECIDED_MAP ? FRAG_ACT_SEGMENT_MAP
								     : FRAG_ACT_SEGMENT_ALLOC;
	const struct frag_logged_call *c = next_gain(l);
	struct frag_difference d = {
		.decision = (uint8_t)decision, .event = l->event, .in_run = true,
		.simulated = at, .simulated_bytes = bytes,
	};

	if (c && c->action != action)
		c = NULL;
	if (c) {
		l->at++;
		take_from_log(&d, c);
	}
	logged_judge(l, &d, c && c->bytes == bytes
			  && (decision == FRAG_DECIDED_ALLOC || c->addr == at), l->apart);
	return c;
}

static int logged_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	struct logged_device *l = logged_of(dev);
	const struct frag_logged_call *c;

	*cost_ns = 0;
	if (refuses(l))
		return -FRAG_EDEVMEM;
	if (l->beginning)
		return begin_with(l, addr);
	c = gain(l, FRAG_NOWHERE, bytes, FRAG_DECIDED_ALLOC);
	return enter_new(l, c ? c->addr : FRAG_NOWHERE, addr);
}

/* A call that releases memory; the log must have it in this step, in any order. */
static void loss(struct logged_device *l, uint64_t at, uint64_t bytes,
		 enum frag_decision decision)
{
	uint32_t i = at == FRAG_NOWHERE ? FRAG_MAP_NONE : frag_map_get(&l->due, at);
	struct frag_difference d = {
		.decision = (uint8_t)decision, .event = l->event, .in_run = true,
		.simulated = at, .simulated_bytes = bytes,
	};
	bool apart = l->apart;

	if (l->step == FRAG_NEVER)      /* the heap's own end is no decision */
		return;
	if (i != FRAG_MAP_NONE) {
		const struct frag_logged_call *c = &calls_of(l)[i];

		frag_map_remove(&l->due, at, i);
		take_from_log(&d, c);
		apart = c->pool != 0;
	}
	logged_judge(l, &d, d.in_log && d.recorded_bytes == bytes, apart);
}

/* The log's address of a place in the segment of that ordinal. */
static uint64_t address_at(const struct logged_device *l, uint64_t ordinal, uint64_t offset)
{
	const uint64_t base = ordinal < l->base_count ? l->bases[ordinal] : FRAG_NOWHERE;

	return base == FRAG_NOWHERE ? FRAG_NOWHERE : base + offset;
}

static int logged_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			  uint64_t *cost_ns)
{
	struct logged_device *l = logged_of(dev);

	*cost_ns = 0;
	loss(l, address_at(l, addr >> 32, 0), bytes, FRAG_DECIDED_FREE);
	return 0;
}

/* A new range begins where the log maps its first page. */
static int logged_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	struct logged_device *l = logged_of(dev);
	const struct frag_logged_call *c;

	(void)bytes;
	*cost_ns = 0;
	if (l->beginning)
		return begin_with(l, addr);
	c = next_gain(l);
	return enter_new(l, c && c->action == FRAG_ACT_SEGMENT_MAP ? c->addr : FRAG_NOWHERE, addr);
}

static int logged_unreserve(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			    uint64_t *cost_ns)
{
	(void)dev;
	(void)addr;
	(void)bytes;
	*cost_ns = 0;
	return 0;
}

static int logged_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		      uint64_t page, uint64_t *cost_ns)
{
	struct logged_device *l = logged_of(dev);
	const struct frag_logged_call *c;

	(void)page;
	*cost_ns = 0;
	if (refuses(l))
		return -FRAG_EDEVMEM;
	c = next_gain(l);
	/* the range may have been reserved by a request that failed */
	if (!l->beginning && l->bases[addr >> 32] == FRAG_NOWHERE && c
	    && c->action == FRAG_ACT_SEGMENT_MAP && c->addr > offset)
		l->bases[addr >> 32] = c->addr - offset;
	if (!l->beginning)
		gain(l, address_at(l, addr >> 32, offset), bytes, FRAG_DECIDED_MAP);
	return 0;
}

static int logged_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
			uint64_t page, uint64_t *cost_ns)
{
	struct logged_device *l = logged_of(dev);

	(void)page;
	*cost_ns = 0;
	loss(l, address_at(l, addr >> 32, offset), bytes, FRAG_DECIDED_UNMAP);
	return 0;
}

/* Begins a step whose calls are those of the log up to `end`. False: out of memory. */
static bool logged_begin(struct logged_device *l, uint32_t end)
{
	const struct frag_logged_call *calls = calls_of(l);

	FRAG_ASSERT(end >= l->at && end <= l->snapshot->devices[l->device].call_count);
	l->end = end;
	l->refused_at = NEVER_REFUSED;
	for (uint32_t i = l->at; i < end; i++)
		if (logged_device_is_release(&calls[i]) && !frag_map_add(&l->due, calls[i].addr, i))
			return false;
	return true;
}

/*
 * Ends the step: its remaining calls were not made. Of releases, in any order, these are those
 * still in `due`; of gains, in the log's order, those from l->at on.
 */
static void logged_end(struct logged_device *l)
{
	const struct frag_logged_call *calls = calls_of(l);
	uint32_t at = l->at;

	/* releases that were made have left `due` */
	for (uint32_t i = l->first; i < l->end; i++) {
		const struct frag_logged_call *c = &calls[i];
		struct frag_difference d = { .in_run = false };

		take_from_log(&d, c);
		if (logged_device_is_release(c)) {
			if (frag_map_get(&l->due, c->addr) != i)
				continue;
			frag_map_remove(&l->due, c->addr, i);
			d.decision = c->action == FRAG_ACT_SEGMENT_FREE ? FRAG_DECIDED_FREE
									: FRAG_DECIDED_UNMAP;
		} else if (i < at) {
			continue;
		} else {
			d.decision = c->action == FRAG_ACT_SEGMENT_ALLOC ? FRAG_DECIDED_ALLOC
									  : FRAG_DECIDED_MAP;
		}
		logged_judge(l, &d, false, c->pool != 0);
	}
	l->at = l->first = l->end;
}

static const struct frag_device_ops device_logged = {
	.name = "logged",
	.state_size = sizeof(struct logged_device *),
	.acquire = logged_acquire,
	.release = logged_release,
	.reserve = logged_reserve,
	.unreserve = logged_unreserve,
	.map = logged_map,
	.unmap = logged_unmap,
};

#define STEPS_MAX 20000000      /* of all tries at the ages of segments together */
#define ORDERS_MAX 512

/* An initial segment that must be older than another. */
struct order {
	uint32_t older, younger;
};

struct verify {
	const struct frag_snapshot *snapshot;
	struct logged_device *logged;           /* one a device */
	uint32_t count;
	struct frag_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct order orders[ORDERS_MAX];
	uint32_t order_count;
	uint32_t *ages;                         /* of each initial segment; NULL: by address */
	uint64_t total;                         /* bytes of each device; 0: not known */
	bool first;                             /* stops at the first difference */
	struct order hint;                      /* the text of the first difference, if any */
	bool hinted;
	struct frag_verification *out;
};

static int verifier_by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Every address that a segment or a mapped run of the device ever began at. */
static uint64_t *gather_addresses(const struct frag_snapshot *s, uint32_t device, uint32_t *count)
{
	const struct frag_snap_device *d = &s->devices[device];
	uint64_t *list = malloc(((size_t)s->initial_count + d->call_count + 1) * sizeof(*list));
	uint32_t n = 0, kept = 0;

	if (!list)
		return NULL;
	for (uint32_t i = 0; i < s->initial_count; i++)
		if (s->initial[i].device == device)
			list[n++] = s->initial[i].address;
	for (uint32_t i = 0; i < d->call_count; i++)
		list[n++] = d->calls[i].addr;
	FRAG_SORT(list, n, verifier_by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || list[i] != list[kept - 1])
			list[kept++] = list[i];
	*count = kept;
	return list;
}

/*
 * The count goes up first, so that a half open device is closed with the others.
 * The device keeps the address of *l, so v->logged must not move. Sizes of a log
 * are what the device gave: nothing is rounded.
 */
static int open_device(struct verify *v, const struct frag_choice *choice, struct frag_error *err)
{
	uint32_t i = v->count;
	const struct frag_device_figures figures = {
		.granularity = 1, .total = v->total ? v->total : v->snapshot->figures[i].total,
	};
	struct logged_device *l = &v->logged[i];
	int rc;

	v->count++;
	*l = (struct logged_device){
		.snapshot = v->snapshot, .verdict = v->out, .device = i, .beginning = true,
		.ages = v->ages,
	};
	rc = frag_engine_init(&l->engine, choice, &figures, &device_logged, FRAG_LEVEL_SURVIVE, err);
	if (rc)
		return rc;
	memcpy(l->engine.device.state, &l, sizeof(l));
	l->addresses = gather_addresses(v->snapshot, i, &l->address_count);
	if (!l->addresses || !frag_map_init(&l->due, frag_hash_seed()))
		return frag_fail_nomem(err);
	frag_heap_by_address(l->engine.policy.heap);
	rc = frag_engine_begin(&l->engine, err);
	rc = rc ? rc : frag_engine_restore(&l->engine, i, v->snapshot->initial,
					   v->snapshot->initial_count, err);
	l->beginning = false;
	return rc;
}

static void close_all(struct verify *v)
{
	for (uint32_t i = 0; i < v->count; i++) {
		v->logged[i].step = FRAG_NEVER;
		frag_engine_fini(&v->logged[i].engine);
		frag_map_fini(&v->logged[i].due);
		free(v->logged[i].bases);
		free(v->logged[i].addresses);
	}
	free(v->logged);
	free(v->slots);
	v->logged = NULL;
	v->slots = NULL;
	v->count = v->slot_count = v->slot_capacity = 0;
}

/* The initial segment that holds the address; UINT32_MAX where none does. */
static uint32_t verifier_find_initial(const struct verify *v, uint32_t device, uint64_t address)
{
	const struct frag_snapshot *s = v->snapshot;

	for (uint32_t i = 0; i < s->initial_count; i++)
		if (s->initial[i].device == device && address >= s->initial[i].address
		    && address - s->initial[i].address < s->initial[i].bytes)
			return i;
	return UINT32_MAX;
}

/* The first wrong address: if the segments are equal, the recorded one is older. */
static void take_hint(struct verify *v, const struct frag_difference *d, uint32_t device)
{
	if (v->out->difference_count || !v->ages)
		return;
	v->hint.older = verifier_find_initial(v, device, d->recorded);
	v->hint.younger = verifier_find_initial(v, device, d->simulated);
	v->hinted = v->hint.older != UINT32_MAX && v->hint.younger != UINT32_MAX
		    && v->hint.older != v->hint.younger;
}

/*
 * A block of the first state is no decision: where it is not as recorded, it could
 * not be restored, and later decisions may differ for it.
 */
static void judge_step(struct verify *v, const struct frag_snapshot_plan *p,
		       const struct frag_step *step)
{
	struct logged_device *l = &v->logged[p->device];
	const struct frag_snap_device *d = &v->snapshot->devices[p->device];
	struct frag_difference diff = {
		.decision = FRAG_DECIDED_ADDRESS,
		.event = p->index,
		.in_log = true,
		.in_run = step->placed,
		.simulated = step->placed ? address_at(l, step->segment, step->offset)
					  : FRAG_NOWHERE,
	};

	if (p->kind == FRAG_PLAN_INITIAL) {
		v->out->not_restored +=
			!step->placed || diff.simulated != d->first_live[p->index].addr;
	} else if (p->kind == FRAG_PLAN_ALLOC) {
		diff.recorded = d->log[p->index].addr;
		if (diff.recorded != diff.simulated && !l->apart)
			take_hint(v, &diff, p->device);
		logged_judge(l, &diff, diff.recorded == diff.simulated, l->apart);
	} else if (p->kind == FRAG_PLAN_OOM) {
		diff.decision = FRAG_DECIDED_OOM;
		logged_judge(l, &diff, step->status == FRAG_STEP_OOM, l->apart);
	}
}

static bool is_private(const struct frag_snapshot *s, const struct frag_snapshot_plan *p)
{
	const struct frag_snap_device *d = &s->devices[p->device];
	uint32_t pool;

	if (p->kind == FRAG_PLAN_REMARK || p->kind == FRAG_PLAN_CONFIGURE)
		return false;
	pool = p->kind == FRAG_PLAN_INITIAL || p->kind == FRAG_PLAN_INITIAL_FREE
		? d->first_live[p->index].pool : d->log[p->index].pool;
	return pool != 0 && pool != FRAG_NO_POOL;
}

static bool make_slot(struct verify *v, uint32_t slot)
{
	if (!FRAG_GROW(v->slots, v->slot_capacity, slot))
		return false;
	while (v->slot_count <= slot)
		v->slots[v->slot_count++].block = SLOT_NONE;
	return true;
}

/* A change of settings is one for all devices. */
static int configure_others(struct verify *v, const struct frag_event *ev, uint32_t device,
			    struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < v->count && !rc; i++) {
		struct frag_step step = { .event = ev, .device = i };

		if (i != device)
			rc = frag_engine_step(&v->logged[i].engine, ev, v->slots, &step, err);
	}
	return rc;
}

/*
 * The step owns the log's calls up to calls_end, but never fewer than have been
 * made: devices of the plan share its order, not their calls.
 */
static int run_step(struct verify *v, const struct frag_event *ev, struct frag_error *err)
{
	const struct frag_snapshot_plan *p = &v->snapshot->plan[ev->step];
	struct logged_device *l = &v->logged[p->device];
	struct frag_step step = { .event = ev, .device = p->device };
	int rc;

	FRAG_ASSERT(ev->step < v->snapshot->plan_count && p->device < v->count);
	if (ev->op == FRAG_OP_ALLOC && !make_slot(v, ev->slot))
		return frag_fail_nomem(err);
	l->step = ev->step;
	l->event = p->kind == FRAG_PLAN_REMARK || p->kind == FRAG_PLAN_CONFIGURE ? 0 : p->index;
	l->oom = p->kind == FRAG_PLAN_OOM;
	l->apart = is_private(v->snapshot, p);
	if (!logged_begin(l, p->calls_end > l->at ? p->calls_end : l->at))
		return frag_fail_nomem(err);
	rc = frag_engine_step(&l->engine, ev, v->slots, &step, err);
	if (!rc && ev->op == FRAG_OP_CONFIGURE)
		rc = configure_others(v, ev, p->device, err);
	if (rc)
		return rc;
	frag_engine_describe(&l->engine, v->slots, &step);
	logged_end(l);
	judge_step(v, p, &step);
	return 0;
}

static int run_all(struct verify *v, struct frag_trace *trace, struct frag_error *err)
{
	struct frag_batch batch;
	int rc;

	do {
		rc = frag_trace_next(trace, &batch, err);
		for (uint32_t i = 0; i < batch.count && !rc; i++)
			rc = run_step(v, &batch.events[i], err);
	} while (!rc && batch.count && !(v->first && v->out->difference_count));
	return rc;
}

/* Is there anything that decisions could be compared with? */
static int check_history(const struct frag_snapshot *s, const char *path, struct frag_error *err)
{
	uint64_t allocs = 0, homeless = 0;

	for (uint32_t i = 0; i < s->device_count; i++) {
		allocs += s->devices[i].alloc_count;
		homeless += s->devices[i].homeless;
	}
	if (!allocs)
		return frag_fail(err, FRAG_ETRACE, "%s: no history to compare: %s; record one with"
				 " torch.cuda.memory._record_memory_history()", path,
				 s->has_history ? "its device_traces show no allocation"
				 : "it has the state at its end only, and no device_traces");
	if (homeless == allocs)
		return frag_fail(err, FRAG_ETRACE, "%s: no history to compare: none of its %" PRIu64
				 " allocations is in a segment that the file shows (segments, or"
				 " segment_alloc and segment_map in device_traces)", path, allocs);
	return 0;
}

static int run_once(struct verify *v, const struct frag_trace *trace,
		    const struct frag_choice *choice, struct frag_error *err)
{
	struct frag_trace *again = NULL;
	int rc = frag_trace_again(&again, trace, err);

	v->hinted = false;
	v->logged = calloc(v->snapshot->device_count, sizeof(*v->logged));
	if (!v->logged && !rc)
		rc = frag_fail_nomem(err);
	while (v->count < v->snapshot->device_count && !rc)
		rc = open_device(v, choice, err);
	rc = rc ? rc : run_all(v, again, err);
	close_all(v);
	frag_trace_close(again);
	return rc;
}

/* Gives i its place, those that must be older before it. A circle ends nowhere. */
static bool place_age(struct verify *v, uint32_t i, uint32_t *next, uint32_t depth)
{
	if (v->ages[i] != UINT32_MAX)
		return true;
	if (depth > ORDERS_MAX)
		return false;
	for (uint32_t k = 0; k < v->order_count; k++)
		if (v->orders[k].younger == i
		    && !place_age(v, v->orders[k].older, next, depth + 1))
			return false;
	if (v->ages[i] == UINT32_MAX)
		v->ages[i] = (*next)++;
	return true;
}

static bool place_ages(struct verify *v)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < v->snapshot->initial_count; i++)
		v->ages[i] = UINT32_MAX;
	for (uint32_t i = 0; i < v->snapshot->initial_count; i++)
		if (!place_age(v, i, &next, 0))
			return false;
	return true;
}

/*
 * The file does not contain the ages of initial segments. They are assumed to rise by address
 * until a block contradicts it: then the verification runs again, as long as it gets further.
 */
static int run_by_age(struct verify *v, const struct frag_trace *trace,
		      const struct frag_choice *choice, struct frag_error *err)
{
	struct frag_verification best;
	uint64_t steps = 0;
	int rc;

	v->ages = malloc(((size_t)v->snapshot->initial_count + 1) * sizeof(*v->ages));
	if (!v->ages)
		return frag_fail_nomem(err);
	place_ages(v);
	rc = run_once(v, trace, choice, err);
	while (!rc && v->hinted && v->order_count < ORDERS_MAX && steps < STEPS_MAX) {
		best = *v->out;
		steps += v->snapshot->plan_count;
		v->orders[v->order_count++] = v->hint;
		if (!place_ages(v))
			break;
		*v->out = (struct frag_verification){ .by_age = true, .guessed = v->order_count };
		rc = run_once(v, trace, choice, err);
		if (rc || !v->out->difference_count
		    || v->out->differences[0].step > best.differences[0].step)
			continue;
		*v->out = best;
		break;
	}
	free(v->ages);
	return rc;
}

int frag_verify(struct frag_verification *out, const struct frag_trace *trace,
		const struct frag_choice *choice, bool by_age, bool first,
		uint64_t total, struct frag_error *err)
{
	struct verify v = {
		.snapshot = frag_trace_snapshot(trace), .out = out, .total = total,
		.first = first,
	};
	const char *path = frag_input_name(frag_trace_info(trace)->path);
	int rc;

	*out = (struct frag_verification){ .by_age = by_age };
	if (!v.snapshot && strcmp(frag_trace_info(trace)->form, "fsb") == 0)
		return frag_fail(err, FRAG_ETRACE, "%s: only the events of a snapshot; to keep all of"
				 " it: fragsim trace convert --complete SNAPSHOT OUT.fsb", path);
	if (!v.snapshot)
		return frag_fail(err, FRAG_ETRACE,
				 "%s: no snapshot of PyTorch (%s): only those"
				 " contain what an allocator decided",
				 path, frag_trace_info(trace)->form);
	rc = check_history(v.snapshot, path, err);
	if (rc)
		return rc;
	return by_age ? run_by_age(&v, trace, choice, err) : run_once(&v, trace, choice, err);
}
