/* stream_pool_names.h - what a trace calls its streams and pools. */
#ifndef EVENTS_STREAM_POOL_NAMES_H
#define EVENTS_STREAM_POOL_NAMES_H

#include "fragsim/trace.h"

/* One by its index, as JSON, for the caller to free; NULL: memory is short. */
char *frag_stream_json(const struct frag_tape *tape, uint32_t stream);
char *frag_pool_json(const struct frag_tape *tape, uint32_t pool);

#endif
