/* extrapolated_header.h - the trace of a program at a number that it was not recorded at, as it is written. */
#ifndef TRANSFORM_EXTRAPOLATED_HEADER_H
#define TRANSFORM_EXTRAPOLATED_HEADER_H

#include "trace/trace_formats.h"
#include "transform/recordings.h"

/*
 * The head: that of the first recording with this "meta", none where its text is NULL, to which a
 * member `extrapolated` is added that says what the trace was made of. What the sink's begin
 * returned, -FRAG_ENOMEM.
 */
int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_text meta, struct frag_error *err);

#endif
