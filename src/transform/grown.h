/* grown.h - the trace of a program at a number that it was not recorded at, as it is written. */
#ifndef TRANSFORM_GROWN_H
#define TRANSFORM_GROWN_H

#include "trace/sinks.h"
#include "transform/recordings.h"

/*
 * The head: that of the first recording, whose "meta" says what the trace was made of in a
 * member `extrapolated`. What the sink's begin returned, -FRAG_ENOMEM.
 */
int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_error *err);

#endif
