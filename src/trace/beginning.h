/*
 * beginning.h - the member `beginning` of a trace's header: the state that the first event meets.
 * fragsim-lines(5) describes it. Both of fragsim's own forms have it, as the same text.
 */
#pragma once

#include "trace/header_scan.h"

/*
 * Reads the header's text, an object of good JSON. *out is owned by the caller; NULL: it has none.
 * -FRAG_ETRACE where a value contradicts the others, -FRAG_ENOMEM; *out is NULL then.
 */
int frag_first_state_read(struct frag_first_state **out, const struct frag_header *header,
			  const char *path, struct frag_error *err);

/* As JSON, for the caller to free, and its length; NULL: out of memory. */
char *frag_first_state_text(const struct frag_first_state *beginning, size_t *length);

void frag_first_state_del(struct frag_first_state *beginning);      /* NULL is fine */
