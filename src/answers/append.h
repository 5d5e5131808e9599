/* append.h - pieces of a line, put one after the other. */
#pragma once

#include <string.h>

#include "base/format.h"
#include "fragsim/trace.h"

#define PUT(p, literal) put_bytes((p), (literal), sizeof(literal) - 1)

static inline char *put_bytes(char *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

static inline char *put_word(char *p, const char *word)
{
	return put_bytes(p, word, strlen(word));
}

/* "key":value */
static inline char *put_member(char *p, const char *key, uint64_t value)
{
	*p++ = '"';
	p = put_word(p, key);
	*p++ = '"';
	*p++ = ':';
	return frag_put_u64(p, value);
}

/* An id as JSON; of an integer the same in CSV. */
static inline char *put_handle_json(char *p, const struct frag_handle *h)
{
	return h->text ? frag_put_json(p, h->text, (size_t)h->number)
		       : frag_put_u64(p, h->number);
}

/* Has the event this member, and does its op know it? */
static inline bool shows_id(const struct frag_event *ev)
{
	return ev->op <= FRAG_OP_RECORD_STREAM;
}

static inline bool shows_size(const struct frag_event *ev)
{
	return ev->op == FRAG_OP_ALLOC;
}
