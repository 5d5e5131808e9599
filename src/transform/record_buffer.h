/*
 * record_buffer.h - records that are kept in memory in their order, and read again from any of
 * them.
 */
#pragma once

#include "fragsim/trace.h"

#define FRAG_NO_BLOCK_NUMBER UINT32_MAX

/* A record, and which block it is about. */
struct frag_item {
	struct frag_record rec;
	uint32_t block;         /* FRAG_NO_BLOCK_NUMBER: of none */
	bool lasts;             /* an alloc of a long-lived block, if classes are requested */
	bool begins;            /* an iteration of the unchanged trace, if those are given */
	uint8_t class;          /* of an alloc of the unchanged trace, likewise; 0: of none */
};

/* The record gets the time of another one, or none. */
static inline void frag_record_take_time(struct frag_record *to, const struct frag_record *from)
{
	to->members = (to->members & ~(uint32_t)FRAG_HAS_T) | (from->members & FRAG_HAS_T);
	to->t = from->t;
	to->t_text = from->t_text;
}

struct frag_record_chunk {
	struct frag_record_chunk *next;
	size_t used, room;
	char bytes[];
};

/* Zeroed, it is empty. */
struct frag_record_buffer {
	struct frag_record_chunk *first, *last;
};

/* A place between two of them; zeroed, before the first. */
struct frag_record_place {
	const struct frag_record_chunk *piece;
	size_t at;
};

/* A copy of it, about 60 bytes and its texts. False: out of memory. */
bool frag_record_buffer_add(struct frag_record_buffer *h, const struct frag_item *item);
/* The place behind the last one. */
static inline struct frag_record_place frag_record_buffer_end(const struct frag_record_buffer *h)
{
	return (struct frag_record_place){ .piece = h->last, .at = h->last ? h->last->used : 0 };
}

/* The next one, and on. False: there is none. Its texts stay as long as h does. */
bool frag_record_buffer_next(const struct frag_record_buffer *h, struct frag_record_place *place,
			     struct frag_item *item);
void frag_record_buffer_fini(struct frag_record_buffer *h);

/* A record that owns its texts. */
struct frag_owned_record {
	struct frag_owned_record *next;       /* the user's own */
	uint64_t step;
	struct frag_record rec;         /* its texts follow it */
};

/* NULL where the host is out of memory; freed with free(). */
struct frag_owned_record *frag_record_copy(const struct frag_record *rec, uint64_t step);
