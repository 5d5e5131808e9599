/* inflate.h - a member of gzip, unpacked as its bytes come: by ISA-L, where the program has it, else by zlib. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fragsim/error.h"

struct frag_inflater;

/* Bytes of earlier steps that lie before those of the next one: their member may have ended there. */
#define FRAG_INFLATE_BEHIND 8

/* Begins a member, whose first byte comes next. *i may be NULL: it is made. -FRAG_ENOMEM */
int frag_inflater_begin(struct frag_inflater **i, struct frag_error *err);
void frag_inflater_del(struct frag_inflater *i);        /* NULL is fine */

/* What one step takes and gives. */
struct frag_inflate {
	const unsigned char *in, *in_end;       /* `in` moves on, or back by less than those behind */
	char *out;
	size_t space, got;                      /* space: less than 4 GiB */
	bool over;                              /* the member has ended */
};

/*
 * Goes on: it may take bytes and give none, or do neither where it needs more of them. NULL, or
 * why the member is damaged; FRAG_INFLATE_NOMEM: out of memory (host).
 */
const char *frag_inflater_step(struct frag_inflater *i, struct frag_inflate *step);
extern const char FRAG_INFLATE_NOMEM[];
