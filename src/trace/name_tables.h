/*
 * name_tables.h - what a trace calls things, as dense indexes: streams, pools, ids, tags,
 * stacks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array_grow.h"
#include "base/hash.h"
#include "fragsim/trace.h"

/*
 * Streams or pools: each handle permanently gets the next index. The integer 0 is index 0.
 * Handles never move: a thread may read the handle of an index while another adds handles.
 */
struct frag_handles {
	struct frag_map numbers, texts;
	struct frag_chunks handles;     /* struct frag_handle, by index; text is owned */
	uint32_t count;
	uint64_t last_number;           /* the integer asked for last, and its index */
	uint32_t last_index;
};

bool frag_handles_init(struct frag_handles *h, uint64_t seed);
void frag_handles_fini(struct frag_handles *h);
/* UINT32_MAX where the host is out of memory. */
uint32_t frag_handles_intern(struct frag_handles *h, const struct frag_handle *handle);
/* The same of a text. */
uint32_t frag_handles_intern_text(struct frag_handles *h, struct frag_text text);
/* UINT32_MAX where it was never interned. */
uint32_t frag_handles_find(const struct frag_handles *h, const struct frag_handle *handle);

static inline struct frag_handle *frag_handle_at(const struct frag_handles *h, uint32_t index)
{
	return frag_chunks_at(&h->handles, index, sizeof(struct frag_handle));
}

/* Of a handle that is a text, or 0; of 0 the text is NULL. */
static inline struct frag_text frag_handle_text(const struct frag_handles *h, uint32_t index)
{
	const struct frag_handle *handle = frag_handle_at(h, index);

	return (struct frag_text){ .text = handle->text, .length = (uint32_t)handle->number };
}

static inline uint32_t frag_handles_index(struct frag_handles *h, const struct frag_handle *handle)
{
	return !handle->text && handle->number == h->last_number ? h->last_index
								 : frag_handles_intern(h, handle);
}

/*
 * Tags, counted by their users. A tag without users is kept until many of them exist, so a
 * common tag is not created repeatedly, and tags of freed blocks cannot fill the memory. Index
 * 0 means no tag. A tag with users never moves: threads may read its text while another adds
 * tags.
 */
struct frag_tag {
	char *text;
	uint32_t length;
	uint32_t users;
	uint64_t hash;
	uint64_t content;       /* a hash that is the same in every process */
};

#define FRAG_TAGS_RECENT 256

struct frag_tags {
	struct frag_map map;
	struct frag_chunks tags;                /* struct frag_tag */
	uint32_t count, unused;                 /* unused: a list through `users` */
	uint32_t idle;                          /* tags with no user */
	uint32_t recent[FRAG_TAGS_RECENT];      /* the latest of each look; 0: none. A guess */
	uint64_t seed;
};

static inline struct frag_tag *frag_tag_at(const struct frag_tags *t, uint32_t tag)
{
	return frag_chunks_at(&t->tags, tag, sizeof(struct frag_tag));
}

/* NULL for tag 0, which has no text. */
static inline struct frag_text frag_tag_text(const struct frag_tags *t, uint32_t tag)
{
	if (tag == 0)
		return (struct frag_text){ .text = NULL };
	return (struct frag_text){ .text = frag_tag_at(t, tag)->text,
				   .length = frag_tag_at(t, tag)->length };
}

bool frag_tags_init(struct frag_tags *t, uint64_t seed);
void frag_tags_fini(struct frag_tags *t);
/* The tag of a text, with one user more. */
FRAG_OR_NOMEM frag_tags_acquire(struct frag_tags *t, struct frag_text text, uint32_t *tag);
void frag_tags_release(struct frag_tags *t, uint32_t tag);
/* Deletes the tags without users, if there are many. */
void frag_tags_sweep(struct frag_tags *t);

/*
 * The stacks that blocks were requested on, in a table: each text, each
 * frame, and each end that several stacks have in common is in it once.
 *
 * Stacks have numbers from 1 on: the innermost frame, and the number of the stack of its
 * callers. So equal stacks have equal numbers, and each number comes after those that it needs.
 * The tables never move: a thread may read a stack while another adds some.
 */

/* Numbers are from 1 on; 0 is none. */
struct frag_stack_frame {
	uint32_t file, name;    /* texts */
	uint64_t line;
};

struct frag_stack {
	uint32_t frame;         /* the innermost one */
	uint32_t below;         /* its parent: the stack of its callers */
};

/* The numbers of entries by a hash of these: 8 bytes each, as the keys are in the entries. */
struct frag_stack_numbers {
	struct frag_stack_slot {
		uint32_t hash, number;  /* number 0: it is empty */
	} *at;                          /* at most 3/4 are full */
	uint32_t mask, count;
};

struct frag_stack_table {
	struct frag_handles texts;
	struct frag_chunks frames;      /* struct frag_stack_frame */
	struct frag_chunks stacks;      /* struct frag_stack */
	uint32_t frame_count;           /* with number 0 */
	uint32_t count;                 /* likewise */
	struct frag_stack_numbers frame_numbers, numbers;
	uint64_t seed;
};

static inline struct frag_stack_frame *frag_stacks_frame_at(const struct frag_stack_table *s,
							    uint32_t frame)
{
	return frag_chunks_at(&s->frames, frame, sizeof(struct frag_stack_frame));
}

static inline struct frag_stack *frag_stacks_stack_at(const struct frag_stack_table *s,
						      uint32_t stack)
{
	return frag_chunks_at(&s->stacks, stack, sizeof(struct frag_stack));
}

bool frag_stacks_init(struct frag_stack_table *s, uint64_t seed);
void frag_stacks_fini(struct frag_stack_table *s);

/* Their numbers, new ones where they are not there yet. */
FRAG_OR_NOMEM frag_stacks_frame(struct frag_stack_table *s, const struct frag_frame *frame,
				uint32_t *number);
FRAG_OR_NOMEM frag_stacks_push(struct frag_stack_table *s, uint32_t frame, uint32_t below,
			       uint32_t *stack);

/* The frame at *at, which becomes the stack below; as frag_source_ops.frame. */
void frag_stacks_at(const struct frag_stack_table *s, uint64_t *at, struct frag_frame *frame);
