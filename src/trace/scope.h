/*
 * scope.h - the scope of a recording in `meta` of a trace: {"scope":{...}}. Readers of fragsim's
 * own forms take it out of the text, and writers put it back, so it is nowhere twice.
 */
#pragma once

#include "base/json.h"
#include "fragsim/trace.h"

/*
 * Takes the member `scope` out of meta, an object of JSON on one line; *length is that of the others.
 * It is left where it is no object. path is for messages. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_scope_take(struct frag_scope *scope, char *meta, uint32_t *length, const char *path,
		    struct frag_error *err);

/*
 * The meta of a trace with the scope as its last member, for the caller to free; *meta is borrowed,
 * and unchanged, where nothing is to be said. NULL: out of memory, if `failed`; else nothing.
 */
char *frag_scope_meta(const struct frag_trace_info *info, struct frag_text *meta, bool *failed);

/* Are the bytes at the first event known? A slice does not count them. */
bool frag_scope_knows_before(const struct frag_scope *scope);

/* The words for `begins` and `ends`, each list ended by NULL. */
extern const char *const frag_begins_words[], *const frag_ends_words[];

/* Reads the object; `what` names it in messages. -FRAG_ETRACE */
int frag_scope_read(struct frag_scope *scope, struct frag_node_ref object, const char *path,
		    const char *what, struct frag_error *err);

