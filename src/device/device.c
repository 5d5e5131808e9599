/* device.c - opens and closes devices; the devices of a run; the cost model of driver calls. */
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

#define FIRST_CLASS_BITS 20

const char *frag_gpu_kind_name(enum frag_gpu_kind kind)
{
	static const char *const names[FRAG_GPU_KINDS] = {
		[FRAG_GPU_MALLOC] = "cudaMalloc", [FRAG_GPU_FREE] = "cudaFree",
		[FRAG_GPU_MAP] = "map", [FRAG_GPU_UNMAP] = "unmap",
		[FRAG_GPU_MALLOC_ASYNC] = "cudaMallocAsync",
		[FRAG_GPU_FREE_ASYNC] = "cudaFreeAsync",
	};

	return names[kind];
}

uint32_t frag_size_class(uint64_t bytes)
{
	uint32_t which = 0;

	while (which < FRAG_SIZE_CLASSES - 1 && bytes > UINT64_C(1) << (FIRST_CLASS_BITS + which))
		which++;
	return which;
}

uint64_t frag_size_class_max(uint32_t which)
{
	return which == FRAG_SIZE_CLASSES - 1 ? UINT64_MAX
					      : UINT64_C(1) << (FIRST_CLASS_BITS + which);
}

