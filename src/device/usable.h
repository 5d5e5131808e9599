/* usable.h - the bytes of a device that its allocator can reserve. */
#pragma once

#include <stdint.h>

/* Those without the context and other processes, which may have more than all. */
static inline uint64_t frag_usable(uint64_t total, uint64_t context, uint64_t other)
{
	return total > context + other ? total - context - other : 0;
}
