/*
 * simulated.c - the simulated device: counts what is in use (fragsim-trace(5), Members of a
 * device).
 *
 * Physical pages are fungible, so a segment fits wherever enough bytes are free, and addresses
 * only must be distinct. Pages of expandable segments have their own size, so they count
 * unchanged. Small requests, on devices that have them, share pages as closely as possible: the
 * layout of a driver, and when it releases a page that is partly in use, are not known.
 */
#include <math.h>
#include <stdbool.h>

#include "device/driver_cost_model.h"
#include "fragsim/device.h"

/* No sum may come near 2^64, on an unlimited device either. */
#define MAX_BYTES (UINT64_C(1) << 62)

/* The pages that small requests of `bytes` in total share. */
static uint64_t shared_pages(const struct frag_device *dev, uint64_t bytes)
{
	return (bytes + dev->granularity - 1) / dev->granularity * dev->granularity;
}

/* What `used` grows by; what is too much stays too much. */
static uint64_t counted(const struct frag_device *dev, uint64_t bytes)
{
	if (bytes > MAX_BYTES)
		return bytes;
	if (bytes > dev->small_max)
		return frag_device_round(dev, bytes);
	return shared_pages(dev, dev->small_used + frag_device_round(dev, bytes))
	       - shared_pages(dev, dev->small_used);
}

static bool simulated_has_room(const struct frag_device *dev, uint64_t bytes)
{
	uint64_t used = dev->used + bytes;

	if (used > dev->limit)
		return false;
	return dev->total == 0 || dev->context + dev->other + used <= dev->total;
}

/*
 * The duration of a call of this many bytes. If none of the size was measured, uses the next
 * smaller measured size, or else the next larger. False: no call of the kind was measured.
 */
static bool driver_model_look(const struct frag_driver_model *m, enum frag_gpu_kind kind,
				   uint64_t bytes, uint64_t *ns)
{
	const uint64_t *count = m->count[kind];
	uint32_t which = frag_size_class(bytes);

	while (which > 0 && !count[which])
		which--;
	for (; which < FRAG_SIZE_CLASSES; which++) {
		if (!count[which])
			continue;
		*ns = (m->total_ns[kind][which] + count[which] / 2) / count[which];
		return true;
	}
	return false;
}

/* What a driver would take for the call, refused or not. */
static void charge(struct frag_device *dev, enum frag_gpu_kind kind, uint64_t bytes,
		   uint64_t *cost_ns)
{
	*cost_ns = 0;
	if (!dev->model)
		return;
	dev->model_calls++;
	if (!driver_model_look(dev->model, kind, bytes, cost_ns))
		dev->model_unknown++;
	dev->model_ns += *cost_ns;
}

/* The smallest total whose fraction is `bytes`. Bisects, because a product of doubles is
 * rounded. */
static uint64_t total_with_limit(double fraction, uint64_t used)
{
	uint64_t low = 0, high = MAX_BYTES;

	if (floor(fraction * (double)high) < (double)used)
		return UINT64_MAX;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (floor(fraction * (double)middle) < (double)used)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The smallest total that fits `bytes` more. */
static uint64_t total_wanted(const struct frag_device *dev, uint64_t bytes)
{
	const uint64_t used = dev->used + bytes, whole = dev->context + dev->other + used;
	const uint64_t limited = dev->fraction < 1 ? total_with_limit(dev->fraction, used) : 0;

	return limited > whole ? limited : whole;
}

/* Reserves in `count` calls, if all fit. */
static int simulated_take(struct frag_device *dev, uint64_t bytes, uint64_t calls)
{
	if (bytes > MAX_BYTES || dev->used + bytes > MAX_BYTES) {
		dev->refused++;
		return -FRAG_EDEVMEM;
	}
	if (!simulated_has_room(dev, bytes)) {
		dev->refused++;
		frag_device_narrow(dev, 0, total_wanted(dev, bytes));
		return -FRAG_EDEVMEM;
	}
	frag_device_narrow(dev, total_wanted(dev, bytes), UINT64_MAX);
	dev->used += bytes;
	dev->calls += calls;
	return 0;
}

static int simulated_acquire(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			     uint64_t *cost_ns)
{
	int rc = simulated_take(dev, counted(dev, bytes), 1);

	charge(dev, FRAG_GPU_MALLOC, bytes, cost_ns);
	*addr = 0;
	if (!rc && bytes <= dev->small_max)
		dev->small_used += frag_device_round(dev, bytes);
	return rc;
}

static int simulated_release(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			     uint64_t *cost_ns)
{
	(void)addr;
	charge(dev, FRAG_GPU_FREE, bytes, cost_ns);
	dev->calls++;
	/* first what it shares its pages with must be without it */
	if (bytes <= dev->small_max)
		dev->small_used -= frag_device_round(dev, bytes);
	dev->used -= counted(dev, bytes);
	return 0;
}

/* Address space costs nothing. */
static int simulated_reserve(struct frag_device *dev, uint64_t bytes, frag_addr *addr,
			     uint64_t *cost_ns)
{
	(void)dev;
	(void)bytes;
	*cost_ns = 0;
	*addr = 0;
	return 0;
}

static int simulated_unreserve(struct frag_device *dev, frag_addr addr, uint64_t bytes,
			       uint64_t *cost_ns)
{
	return simulated_reserve(dev, bytes, &addr, cost_ns);
}

static int simulated_map(struct frag_device *dev, frag_addr addr, uint64_t offset, uint64_t bytes,
			 uint64_t page, uint64_t *cost_ns)
{
	(void)addr;
	(void)offset;
	charge(dev, FRAG_GPU_MAP, bytes, cost_ns);
	return simulated_take(dev, bytes, bytes / page);
}

static int simulated_unmap(struct frag_device *dev, frag_addr addr, uint64_t offset,
			   uint64_t bytes, uint64_t page, uint64_t *cost_ns)
{
	(void)addr;
	(void)offset;
	charge(dev, FRAG_GPU_UNMAP, bytes, cost_ns);
	dev->calls += bytes / page;
	dev->used -= bytes;
	return 0;
}

const struct frag_device_ops frag_device_simulated = {
	.name = "simulated",
	.summary = "the size of the trace's device, simulated",
	.plain = true,
	.acquire = simulated_acquire,
	.release = simulated_release,
	.reserve = simulated_reserve,
	.unreserve = simulated_unreserve,
	.map = simulated_map,
	.unmap = simulated_unmap,
};
