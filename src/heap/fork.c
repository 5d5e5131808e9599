/* fork.c - before live blocks are moved: a fork of the heap to try it in, and what is missing. */
#include "heap/fork.h"

#include "heap/heap_tables.h"

bool frag_heap_can_fork(const struct frag_heap *h)
{
	return h->dev->ops->plain;
}

int frag_heap_fork(struct frag_fork *fork, const struct frag_heap *h)
{
	FRAG_ASSERT(frag_heap_can_fork(h));
	fork->device = *h->dev;
	fork->heap = frag_heap_copy(h, &fork->device);
	return fork->heap ? 0 : -FRAG_ENOMEM;
}

/*
 * Where a limit caused the refusal, the demand is the last size that the policy tried; otherwise
 * it is the size that the device refused.
 */
struct frag_shortfall frag_heap_shortfall(struct frag_heap *h, uint64_t own)
{
	const struct frag_device *dev = h->dev;
	const uint64_t limit = own < dev->limit ? own : dev->limit;
	struct frag_shortfall lack = { .left = UINT64_MAX };
	uint64_t demand = h->totals.tried;

	frag_heap_pin_capacity(h);
	if (dev->total)
		lack.left = frag_device_free(dev) > 0 ? (uint64_t)frag_device_free(dev) : 0;
	if (limit != UINT64_MAX) {
		const uint64_t more = limit > dev->used ? limit - dev->used : 0;

		lack.left = more < lack.left ? more : lack.left;
	}
	if (h->refused_bytes && (limit == UINT64_MAX || dev->used + demand <= limit))
		demand = h->refused_bytes;
	demand = frag_device_round(dev, demand);
	lack.missing = demand > lack.left ? demand - lack.left : 0;
	return lack;
}
