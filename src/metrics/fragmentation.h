/*
 * fragmentation.h - the measures of fragsim-result(5), Metrics, pure functions of sums.
 *
 * The index is Johnstone and Wilson's textbook one, 1 - largest hole / all
 * holes ("The memory fragmentation problem: solved?", ISMM 1998).
 */
#pragma once

#include <stdint.h>

#define FRAG_SEVERE_PCT 70.0

/* Bytes of a device are below 2^63, where this is one instruction. */
static inline double frag_real(uint64_t bytes)
{
	return (double)(int64_t)bytes;
}

/* 100 * (1 - part / whole); 0 where whole is 0. */
static inline double frag_lack_pct(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (1.0 - frag_real(part) / frag_real(whole)) : 0.0;
}

/* Of the policy's own free memory. */
static inline double frag_index_pct(uint64_t largest_free, uint64_t free)
{
	return frag_lack_pct(largest_free, free);
}

/* Fragmentation of all free memory; releasable memory counts as one block with the device's
 * own. */
static inline double frag_index_device_pct(uint64_t largest_free, uint64_t free,
					   uint64_t releasable, uint64_t device_free)
{
	uint64_t all = free + device_free;
	uint64_t piece = device_free + releasable;

	if (piece > all)
		piece = all;
	return frag_lack_pct(largest_free > piece ? largest_free : piece, all);
}

static inline double frag_internal_pct(uint64_t requested, uint64_t allocated)
{
	return frag_lack_pct(requested, allocated);
}

static inline double frag_utilization_pct(uint64_t allocated, uint64_t reserved)
{
	return reserved ? 100.0 * frag_real(allocated) / frag_real(reserved) : 100.0;
}
