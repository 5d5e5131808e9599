/* verifier.c - the recorded decisions of a real allocator against ours. */
#include "verify/verifier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/array_grow.h"
#include "base/output_path.h"
#include "events/recording_info.h"

#define STEPS_MAX 20000000      /* of all tries at the ages of segments together */
#define ORDERS_MAX 512

/* An initial segment that must be older than another. */
struct order {
	uint32_t older, younger;
};

struct verify {
	const struct frag_snapshot *snapshot;
	struct frag_engine *engines;            /* one a device */
	struct frag_logged_device *logged;      /* likewise */
	uint64_t **addresses;                   /* likewise */
	uint32_t count;
	struct frag_slot *slots;
	uint32_t slot_count, slot_capacity;
	struct order orders[ORDERS_MAX];
	uint32_t order_count;
	uint32_t *ages;                         /* of each initial segment; NULL: by address */
	uint64_t total;                         /* bytes of each device; 0: not known */
	struct order hint;                      /* the text of the first difference, if any */
	bool hinted;
	struct frag_verdict *out;
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
	qsort(list, n, sizeof(*list), verifier_by_value);
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
	struct frag_logged_device *l = &v->logged[i];
	int rc = frag_engine_init(&v->engines[i], choice, &figures, &frag_device_logged,
				  FRAG_LEVEL_ALL, err);

	v->count++;
	*l = (struct frag_logged_device){
		.snapshot = v->snapshot, .engine = &v->engines[i], .verdict = v->out, .device = i,
		.beginning = true, .ages = v->ages,
	};
	if (rc)
		return rc;
	memcpy(v->engines[i].device.state, &l, sizeof(l));
	v->addresses[i] = gather_addresses(v->snapshot, i, &l->address_count);
	l->addresses = v->addresses[i];
	if (!v->addresses[i] || !frag_map_init(&l->due, frag_hash_seed()))
		return frag_fail_nomem(err);
	frag_heap_by_address(v->engines[i].policy.heap);
	rc = frag_engine_begin(&v->engines[i], err);
	rc = rc ? rc : frag_engine_restore(&v->engines[i], i, v->snapshot->initial,
					   v->snapshot->initial_count, err);
	l->beginning = false;
	return rc;
}

static void close_all(struct verify *v)
{
	for (uint32_t i = 0; i < v->count; i++) {
		v->logged[i].step = FRAG_NEVER;
		frag_engine_fini(&v->engines[i]);
		frag_map_fini(&v->logged[i].due);
		free(v->logged[i].bases);
		free(v->addresses[i]);
	}
	free(v->engines);
	free(v->logged);
	free(v->addresses);
	free(v->slots);
	v->engines = NULL;
	v->logged = NULL;
	v->addresses = NULL;
	v->slots = NULL;
	v->count = v->slot_count = v->slot_capacity = 0;
}

static int verifier_open_all(struct verify *v, const struct frag_choice *choice,
			     struct frag_error *err)
{
	uint32_t devices = v->snapshot->device_count;
	int rc = 0;

	v->engines = calloc(devices, sizeof(*v->engines));
	v->logged = calloc(devices, sizeof(*v->logged));
	v->addresses = calloc(devices, sizeof(*v->addresses));
	if (!v->engines || !v->logged || !v->addresses)
		return frag_fail_nomem(err);
	while (v->count < devices && !rc)
		rc = open_device(v, choice, err);
	return rc;
}

/* Where the simulation has put the step's block, in the log's addresses. */
static uint64_t verifier_address_of(const struct frag_logged_device *l,
				    const struct frag_step *step)
{
	uint64_t base = step->segment < l->base_count ? l->bases[step->segment] : FRAG_NOWHERE;

	return base == FRAG_NOWHERE ? FRAG_NOWHERE : base + step->offset;
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
	struct frag_logged_device *l = &v->logged[p->device];
	const struct frag_snap_device *d = &v->snapshot->devices[p->device];
	struct frag_difference diff = {
		.decision = FRAG_DECIDED_ADDRESS,
		.event = p->index,
		.in_log = true,
		.in_run = step->placed,
		.simulated = step->placed ? verifier_address_of(l, step) : FRAG_NOWHERE,
	};

	if (p->kind == FRAG_PLAN_INITIAL) {
		v->out->not_restored +=
			!step->placed || diff.simulated != d->first_live[p->index].addr;
	} else if (p->kind == FRAG_PLAN_ALLOC) {
		diff.recorded = d->log[p->index].addr;
		if (diff.recorded != diff.simulated && !l->apart)
			take_hint(v, &diff, p->device);
		frag_logged_judge(l, &diff, diff.recorded == diff.simulated, l->apart);
	} else if (p->kind == FRAG_PLAN_OOM) {
		diff.decision = FRAG_DECIDED_OOM;
		frag_logged_judge(l, &diff, step->status == FRAG_STEP_OOM, l->apart);
	}
}

static bool is_private(const struct frag_snapshot *s, const struct frag_snapshot_plan *p)
{
	const struct frag_snap_device *d = &s->devices[p->device];
	uint32_t pool;

	if (p->kind == FRAG_PLAN_REMARK)
		return false;
	pool = p->kind == FRAG_PLAN_INITIAL || p->kind == FRAG_PLAN_INITIAL_FREE
		? d->first_live[p->index].pool : d->log[p->index].pool;
	return pool != 0 && pool != FRAG_NO_POOL;
}

static bool make_slot(struct verify *v, uint32_t slot)
{
	if (!frag_grow(&v->slots, &v->slot_capacity, (uint64_t)slot + 1, sizeof(*v->slots)))
		return false;
	while (v->slot_count <= slot)
		v->slots[v->slot_count++].block = SLOT_NONE;
	return true;
}

/*
 * The step owns the log's calls up to calls_end, but never fewer than have been
 * made: devices of the plan share its order, not their calls.
 */
static int run_step(struct verify *v, const struct frag_event *ev, struct frag_error *err)
{
	const struct frag_snapshot_plan *p = &v->snapshot->plan[ev->step];
	struct frag_logged_device *l = &v->logged[p->device];
	struct frag_step step = { .event = ev, .device = p->device };
	int rc;

	FRAG_ASSERT(ev->step < v->snapshot->plan_count && p->device < v->count);
	if (ev->op == FRAG_OP_ALLOC && !make_slot(v, ev->slot))
		return frag_fail_nomem(err);
	l->step = ev->step;
	l->event = p->kind == FRAG_PLAN_REMARK ? 0 : p->index;
	l->oom = p->kind == FRAG_PLAN_OOM;
	l->apart = is_private(v->snapshot, p);
	if (!frag_logged_begin(l, p->calls_end > l->at ? p->calls_end : l->at))
		return frag_fail_nomem(err);
	rc = frag_engine_step(&v->engines[p->device], ev, v->slots, &step, err);
	if (rc)
		return rc;
	frag_engine_describe(&v->engines[p->device], v->slots, &step);
	frag_logged_end(l);
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
	} while (!rc && batch.count);
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
	rc = rc ? rc : verifier_open_all(v, choice, err);
	rc = rc ? rc : run_all(v, again, err);
	close_all(v);
	frag_trace_close(again);
	return rc;
}

/* Gives i its place, those that must be older before it. A circle ends nowhere. */
static bool place_age(const struct verify *v, uint32_t i, uint32_t *next, uint32_t depth)
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
	struct frag_verdict best;
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
		*v->out = (struct frag_verdict){ .by_age = true, .guessed = v->order_count };
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

int frag_verify(struct frag_verdict *out, const struct frag_trace *trace,
		const struct frag_choice *choice, bool by_age, uint64_t total,
		struct frag_error *err)
{
	struct verify v = {
		.snapshot = frag_trace_snapshot(trace), .out = out, .total = total,
	};
	const char *path = frag_input_name(frag_trace_info(trace)->path);
	int rc;

	*out = (struct frag_verdict){ .by_age = by_age };
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
