/*
 * driver_latency.h - what calls of the driver cost in time, and segments in memory.
 *
 * Costs are counted in buckets, 32 for each doubling, so what is kept does not
 * grow; a percentile is at most 1/32 too high, and never above the maximum.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/gpu.h"

struct frag_latency {
	uint64_t count, refused;        /* calls, and how many of them were refused */
	uint64_t total_ns, min_ns, max_ns;
	uint32_t *buckets;              /* NULL: none yet */
};

/* Device memory that the segments of a class took, at cudaMalloc. */
struct frag_taking {
	uint64_t count, requested;      /* bytes, as all below */
	uint64_t predicted, taken;
};

struct frag_driver_costs {
	struct frag_latency calls[FRAG_GPU_KINDS][FRAG_SIZE_CLASSES];
	struct frag_taking segments[FRAG_SIZE_CLASSES];
};

/* False where the host is out of memory. */
bool frag_latency_add(struct frag_latency *l, uint64_t ns, bool refused);
/* Adds all of `from`. */
bool frag_latency_merge(struct frag_latency *to, const struct frag_latency *from);
/* Nearest rank; 0 where there is nothing. */
uint64_t frag_latency_rank(const struct frag_latency *l, uint32_t percent);

/* Adds all of `from`; false where the host is out of memory. */
bool frag_driver_costs_merge(struct frag_driver_costs *to, const struct frag_driver_costs *from);
void frag_driver_costs_fini(struct frag_driver_costs *costs);
