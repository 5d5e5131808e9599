/* device.c - devices: open and closed, those of a run, and the simulated one. */
#include "fragsim/device.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "device/driver_cost_model.h"

int frag_device_open(struct frag_device *dev, const struct frag_device_ops *ops, uint64_t total,
		     uint64_t context, uint64_t other, uint64_t granularity,
		     struct frag_error *err)
{
	int rc;

	*dev = (struct frag_device){
		.ops = ops, .total = total, .context = context, .other = other,
		.granularity = granularity, .limit = UINT64_MAX, .fraction = 1,
		.end_capacity = UINT64_MAX,
	};
	if (ops->state_size) {
		dev->state = calloc(1, ops->state_size);
		if (!dev->state)
			return frag_fail_nomem(err);
	}
	rc = ops->open ? ops->open(dev, err) : 0;
	if (rc)
		free(dev->state);
	return rc;
}

void frag_device_close(struct frag_device *dev)
{
	if (dev->ops->close)
		dev->ops->close(dev);
	free(dev->state);
	dev->state = NULL;
}

void frag_device_limit(struct frag_device *dev, double fraction)
{
	dev->fraction = fraction;
	dev->limit = fraction < 1 && dev->total
		? (uint64_t)floor(fraction * (double)dev->total) : UINT64_MAX;
}

uint64_t frag_device_round(const struct frag_device *dev, uint64_t bytes)
{
	const uint64_t to = bytes <= dev->small_max ? dev->small_granularity : dev->granularity;
	const uint64_t rest = bytes % to;

	return rest ? bytes + (to - rest) : bytes;
}

int frag_devices_copy(struct frag_devices *devices, const struct frag_device_figures *figures,
		      uint32_t count, struct frag_error *err)
{
	*devices = (struct frag_devices){ .figures = calloc((size_t)count + 1, sizeof(*figures)) };
	if (!devices->figures)
		return frag_fail_nomem(err);
	for (; devices->count < count; devices->count++) {
		struct frag_device_figures *to = &devices->figures[devices->count];

		if (figures[devices->count].granularity == 0)
			return frag_fail(err, FRAG_EUSAGE, "device %u: a granularity of 0 bytes",
					 devices->count);
		*to = figures[devices->count];
		if (to->name && !(to->name = strdup(to->name)))
			return frag_fail_nomem(err);
	}
	return 0;
}

int frag_devices_replace(struct frag_devices *devices, uint32_t ordinal,
			 const struct frag_device_figures *figures, const char *name,
			 struct frag_error *err)
{
	struct frag_device_figures *to = &devices->figures[ordinal];
	char *copy = name ? strdup(name) : NULL;

	if (name && !copy)
		return frag_fail_nomem(err);
	free(to->name);
	*to = *figures;
	to->name = copy;
	return 0;
}

int frag_devices_replace_all(struct frag_devices *devices,
			     const struct frag_device_figures *figures, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t d = 0; d < devices->count && !rc; d++)
		if (!devices->figures[d].host)
			rc = frag_devices_replace(devices, d, figures, figures->name, err);
	return rc;
}

void frag_devices_override(struct frag_devices *devices, uint64_t total, uint64_t context,
			   uint64_t other, uint64_t granularity)
{
	for (uint32_t d = 0; d < devices->count; d++) {
		struct frag_device_figures *f = &devices->figures[d];

		if (f->host)
			continue;
		f->total = total == UINT64_MAX ? f->total : total;
		f->context = context == UINT64_MAX ? f->context : context;
		f->other = other == UINT64_MAX ? f->other : other;
		if (granularity == UINT64_MAX)
			continue;
		f->granularity = granularity;
		f->small_max = f->small_granularity = 0;
	}
}

void frag_devices_assume_context(struct frag_devices *devices, uint64_t context)
{
	for (uint32_t d = 0; d < devices->count; d++)
		if (!devices->figures[d].host && !devices->figures[d].context)
			devices->figures[d].context = context;
}

int frag_devices_have_room(const struct frag_devices *devices, struct frag_error *err)
{
	for (uint32_t d = 0; d < devices->count; d++) {
		const struct frag_device_figures *f = &devices->figures[d];

		/* sums of two sizes below 2^53 */
		if (f->host || !f->total || f->context + f->other < f->total)
			continue;
		return frag_fail(err, FRAG_EUSAGE, "device %" PRIu32 " has %s, and context (%s) and"
				 " other processes (%s) leave nothing of it: --device-bytes,"
				 " --context-bytes, --other-bytes", d, SIZE(f->total),
				 SIZE(f->context), SIZE(f->other));
	}
	return 0;
}

void frag_devices_fini(struct frag_devices *devices)
{
	for (uint32_t d = 0; d < devices->count; d++)
		free(devices->figures[d].name);
	free(devices->figures);
	*devices = (struct frag_devices){ .figures = NULL };
}

/* Calls of a driver ----------------------------------------------------------- */


const char *const frag_gpu_kind_names[] = {
	[FRAG_GPU_MALLOC] = "cudaMalloc", [FRAG_GPU_FREE] = "cudaFree",
	[FRAG_GPU_MAP] = "map", [FRAG_GPU_UNMAP] = "unmap",
	[FRAG_GPU_MALLOC_ASYNC] = "cudaMallocAsync",
	[FRAG_GPU_FREE_ASYNC] = "cudaFreeAsync", [FRAG_GPU_KINDS] = NULL,
};

const char *frag_gpu_kind_name(enum frag_gpu_kind kind)
{
	return frag_gpu_kind_names[kind];
}

uint64_t frag_size_class_max(uint32_t which)
{
	return which == FRAG_SIZE_CLASSES - 1 ? UINT64_MAX
					      : UINT64_C(1) << (FRAG_FIRST_CLASS_BITS + which);
}

/* The simulated device: it counts what is in use (fragsim-lines(5), Members of a device) ---- */

/*
 * Physical pages are fungible, so a segment fits wherever enough bytes are free, and addresses
 * only must be distinct. Pages of expandable segments have their own size, so they count
 * unchanged. Small requests, on devices that have them, share pages as closely as possible: the
 * layout of a driver, and when it releases a page that is partly in use, are not known.
 */

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
	.plain = true,
	.acquire = simulated_acquire,
	.release = simulated_release,
	.reserve = simulated_reserve,
	.unreserve = simulated_unreserve,
	.map = simulated_map,
	.unmap = simulated_unmap,
};
