/* streams.h - what a trace calls its streams. */
#ifndef EVENTS_STREAMS_H
#define EVENTS_STREAMS_H

#include "fragsim/trace.h"

/* A stream by its index, as JSON, for the caller to free; NULL: memory is short. */
char *frag_stream_json(const struct frag_tape *tape, uint32_t stream);

#endif
