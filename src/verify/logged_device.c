/* logged_device.c - a device that answers as the log of a real one did. */
#include "verify/logged_device.h"

#include "base/bug.h"
#include "base/array_grow.h"

#define NEVER_REFUSED UINT32_MAX

static struct frag_logged_device *logged_of(const struct frag_device *dev)
{
	struct frag_logged_device **l = dev->state;

	return *l;
}

static const struct frag_logged_call *calls_of(const struct frag_logged_device *l)
{
	return l->snapshot->devices[l->device].calls;
}

static bool logged_device_is_release(const struct frag_logged_call *c)
{
	return c->action == FRAG_ACT_SEGMENT_FREE || c->action == FRAG_ACT_SEGMENT_UNMAP;
}

void frag_logged_judge(struct frag_logged_device *l, const struct frag_difference *d, bool agree,
		       bool apart)
{
	struct frag_verdict *v = l->verdict;
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
static const struct frag_logged_call *next_gain(struct frag_logged_device *l)
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
static bool refuses(struct frag_logged_device *l)
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
static uint32_t rank_of(const struct frag_logged_device *l, uint64_t address)
{
	uint32_t low = 0, high = l->address_count;

	if (address == FRAG_NOWHERE)
		return l->address_count + l->base_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The next ordinal is that of a segment at this address. What the heap gets as an
 * address: below its place among all segments, above its ordinal.
 */
static int logged_device_enter(struct frag_logged_device *l, uint64_t address, uint32_t order,
			       frag_addr *addr)
{
	if (!frag_grow(&l->bases, &l->base_capacity, (uint64_t)l->base_count + 1,
		       sizeof(*l->bases)))
		return -FRAG_ENOMEM;
	*addr = (frag_addr)l->base_count << 32 | order;
	l->bases[l->base_count++] = address;
	return 0;
}

static int enter_new(struct frag_logged_device *l, uint64_t address, frag_addr *addr)
{
	return logged_device_enter(
		l, address,
		l->ages ? l->snapshot->initial_count + l->base_count : rank_of(l, address), addr);
}

static int begin_with(struct frag_logged_device *l, frag_addr *addr)
{
	uint32_t i = l->engine->restoring;
	uint64_t address = l->snapshot->initial[i].address;

	FRAG_ASSERT(l->beginning && i < l->snapshot->initial_count);
	return logged_device_enter(l, address, l->ages ? l->ages[i] : rank_of(l, address), addr);
}

/* Compares a call that gives memory with the log's next. at: where ours begins, if known. */
static const struct frag_logged_call *gain(struct frag_logged_device *l, uint64_t at,
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
		d.event = c->event;
		d.in_log = true;
		d.recorded = c->addr;
		d.recorded_bytes = c->bytes;
	}
	frag_logged_judge(l, &d, c && c->bytes == bytes
			  && (decision == FRAG_DECIDED_ALLOC || c->addr == at), l->apart);
	return c;
}

static int logged_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	struct frag_logged_device *l = logged_of(dev);
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
static void loss(struct frag_logged_device *l, uint64_t at, uint64_t bytes,
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
		d.in_log = true;
		d.event = c->event;
		d.recorded = c->addr;
		d.recorded_bytes = c->bytes;
		apart = c->pool != 0;
	}
	frag_logged_judge(l, &d, d.in_log && d.recorded_bytes == bytes, apart);
}

static uint64_t logged_device_address_of(const struct frag_logged_device *l, frag_addr addr)
{
	FRAG_ASSERT(addr >> 32 < l->base_count);
	return l->bases[addr >> 32];
}

static int logged_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			  uint64_t *cost_ns)
{
	struct frag_logged_device *l = logged_of(dev);

	*cost_ns = 0;
	loss(l, logged_device_address_of(l, addr), bytes, FRAG_DECIDED_FREE);
	return 0;
}

/* A new range begins where the log maps its first page. */
static int logged_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			  uint64_t *cost_ns)
{
	struct frag_logged_device *l = logged_of(dev);
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

static uint64_t page_address(const struct frag_logged_device *l, frag_addr addr, uint64_t offset)
{
	uint64_t base = logged_device_address_of(l, addr);

	return base == FRAG_NOWHERE ? FRAG_NOWHERE : base + offset;
}

static int logged_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
		      uint64_t page, uint64_t *cost_ns)
{
	struct frag_logged_device *l = logged_of(dev);
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
		gain(l, page_address(l, addr, offset), bytes, FRAG_DECIDED_MAP);
	return 0;
}

static int logged_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
			uint64_t page, uint64_t *cost_ns)
{
	struct frag_logged_device *l = logged_of(dev);

	(void)page;
	*cost_ns = 0;
	loss(l, page_address(l, addr, offset), bytes, FRAG_DECIDED_UNMAP);
	return 0;
}

bool frag_logged_begin(struct frag_logged_device *l, uint32_t end)
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
 * The calls of the step that were not made: of releases, in any order, those still in `due`; of
 * gains, in the log's order, those from l->at on.
 */
void frag_logged_end(struct frag_logged_device *l)
{
	const struct frag_logged_call *calls = calls_of(l);
	uint32_t at = l->at;

	/* releases that were made have left `due` */
	for (uint32_t i = l->first; i < l->end; i++) {
		const struct frag_logged_call *c = &calls[i];
		struct frag_difference d = {
			.event = c->event, .in_log = true, .recorded = c->addr,
			.recorded_bytes = c->bytes,
		};

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
		frag_logged_judge(l, &d, false, c->pool != 0);
	}
	l->at = l->first = l->end;
}

const struct frag_device_ops frag_device_logged = {
	.name = "logged",
	.summary = "answers as the log of a real device",
	.state_size = sizeof(struct frag_logged_device *),
	.acquire = logged_acquire,
	.release = logged_release,
	.reserve = logged_reserve,
	.unreserve = logged_unreserve,
	.map = logged_map,
	.unmap = logged_unmap,
};
