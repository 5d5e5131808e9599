/*
 * json_members.h - JSON documents, read member by member: each there, once, and of its kind.
 *
 * A text that is read is first held to RFC 8259, by the scanner that traces go through. The first
 * failure sticks in the reader, names file and place, and after it nothing is read any more: what
 * is answered then is 0, NULL or a place without a node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "fragsim/error.h"

/* Where in the document we are, for messages: a chain up to the root. */
struct frag_at {
	const struct frag_at *up;    /* NULL: the root */
	const char *key;        /* NULL: an element */
	uint32_t index;
	struct frag_node_ref node;
};

struct frag_members {
	const char *path;
	struct frag_error *err;
	int rc;                 /* the first failure; nothing is read after it */
};

/* Reads a whole file ("-": standard input), which messages call `what`; the root.
 * The document is to be ended in any case. */
struct frag_at frag_members_open(struct frag_members *r, struct frag_json *doc, const char *path,
				const char *what, struct frag_error *err);

/* The same of a text in memory, which zeros follow; path and err of the reader are set. */
struct frag_at frag_members_parse(struct frag_members *r, struct frag_json *doc, char *text,
				  size_t length, const char *what);

/* What is required at the place is not there: -FRAG_ETRACE. */
void frag_bad(struct frag_members *r, const struct frag_at *at, const char *wanted);
void frag_bad_memory(struct frag_members *r);

/* The member, of the kind that is required. */
struct frag_at frag_take(struct frag_members *r, const struct frag_at *in, const char *key,
			 enum frag_json_kind kind, const char *wanted);
struct frag_at frag_take_object(struct frag_members *r, const struct frag_at *in, const char *key);
/* A copy, the caller's. */
char *frag_take_text(struct frag_members *r, const struct frag_at *in, const char *key);
/* An integer from 0 and below 2^53. */
uint64_t frag_take_count(struct frag_members *r, const struct frag_at *in, const char *key);
struct frag_at frag_take_array(struct frag_members *r, const struct frag_at *in, const char *key);
/* Below 2^63: what is live or held in all, where a single size is below 2^53. */
uint64_t frag_as_sum(struct frag_members *r, const struct frag_at *at);
uint64_t frag_take_sum(struct frag_members *r, const struct frag_at *in, const char *key);
bool frag_take_bool(struct frag_members *r, const struct frag_at *in, const char *key);
int64_t frag_take_signed(struct frag_members *r, const struct frag_at *in, const char *key);
/* From 0 to 100. */
double frag_take_percent(struct frag_members *r, const struct frag_at *in, const char *key);

/* Questions that are no failure. */
bool frag_has(struct frag_members *r, const struct frag_at *in, const char *key);
bool frag_is_null(struct frag_members *r, const struct frag_at *in, const char *key);

/*
 * Moves *at, which begins zeroed, to the next element of an array. False where there is none, or
 * after a failure.
 */
bool frag_next_element(struct frag_members *r, const struct frag_at *list, struct frag_at *at);
uint32_t frag_length_of(struct frag_members *r, const struct frag_at *list);

/*
 * Is the root an object of one of these formats (NULL ends them), of version 1 or 2? Returns
 * its index; the error contains `wanted`: "a baseline is required".
 */
uint32_t frag_take_format(struct frag_members *r, const struct frag_at *root,
			  const char *const *formats, const char *wanted);

void frag_want_object(struct frag_members *r, const struct frag_at *at);
