/* meta.h - the "meta" of a trace that was made of others. */
#ifndef TRANSFORM_META_H
#define TRANSFORM_META_H

#include "fragsim/trace.h"

/*
 * {"MEMBER":{BODY}, and the members of `old`, which may have no text. Where it has such a member
 * already, all of it becomes "meta" in the new one, but for what decides how a trace is simulated,
 * which stays on top too. body: members as JSON. The caller's to free; NULL: memory is short.
 */
char *frag_meta_with(const char *member, const char *body, struct frag_text old);

#endif
