/* meta.h - the "meta" of a trace that was made of others. */
#ifndef TRANSFORM_META_H
#define TRANSFORM_META_H

#include "fragsim/trace.h"
#include "trace/trace_formats.h"
#include "transform/recordings.h"

/*
 * {"MEMBER":{BODY}, and the members of `old`, which may have no text. Where it has such a member
 * already, all of it becomes "meta" in the new one, except what decides how a trace is simulated,
 * which stays on top too. body: members as JSON. The caller's to free; NULL: out of memory.
 */
char *frag_meta_with(const char *member, const char *body, struct frag_text old);

/* Writes the predicted trace of a program at a number without a recording. */
/*
 * Writes the head of the first recording with this "meta" (none if its text is NULL), and adds a
 * member `extrapolated` that lists the recordings. Returns the result of the sink's begin, or
 * -FRAG_ENOMEM.
 */
int frag_grown_begin(struct frag_sink *sink, const struct frag_recordings *r, uint32_t number,
		     struct frag_text meta, struct frag_error *err);

#endif
