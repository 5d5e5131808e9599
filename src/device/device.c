/* device.c - opens and closes devices; values that all devices share. */
#include "fragsim/device.h"

#include <math.h>
#include <stdlib.h>

int frag_device_open(struct frag_device *dev, const struct frag_device_ops *ops, uint64_t total,
		     uint64_t context, uint64_t other, uint64_t granularity,
		     struct frag_error *err)
{
	int rc;

	*dev = (struct frag_device){
		.ops = ops, .total = total, .context = context, .other = other,
		.granularity = granularity, .limit = UINT64_MAX, .fraction = 1,
		.beyond = UINT64_MAX,
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
