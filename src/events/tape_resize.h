/* tape_resize.h - a tape again, with blocks of other sizes. */
#ifndef EVENTS_TAPE_RESIZE_H
#define EVENTS_TAPE_RESIZE_H

#include "fragsim/trace.h"

/*
 * The same events, but the n-th alloc has sizes[which[n]] bytes, each below FRAG_SIZE_LIMIT.
 * Segments from before the first event do not fit such blocks: their blocks are requests as any.
 * It has events of its own, 16 bytes each, and shares all else with `from`, which must outlive
 * it. NULL: memory is short.
 */
struct frag_tape *frag_tape_resized(const struct frag_tape *from, const uint32_t *which,
				    const uint64_t *sizes);

#endif
