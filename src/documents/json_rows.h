/*
 * json_rows.h - JSON documents member by member: the members of an object as rows of a table, by
 * which it is written, and read where fragsim reads it; and a reader of single members, each there,
 * once, and of its kind.
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

enum frag_row_kind {
	FRAG_ROW_U64,           /* read: below 2^53 */
	FRAG_ROW_SUM,           /* the same below 2^63 */
	FRAG_ROW_I64,           /* an integer */
	FRAG_ROW_U32, FRAG_ROW_BOOL,
	FRAG_ROW_FIXED4,        /* read: a percentage */
	FRAG_ROW_TEXT,          /* a C string; NULL: null */
	FRAG_ROW_JSON,          /* text that is JSON already; NULL: null */
	FRAG_ROW_OBJECT, FRAG_ROW_LIST,
	FRAG_ROW_CALL,          /* members that no row describes */
};

struct frag_json_row {
	const char *name;
	enum frag_row_kind kind;
	bool or_null;           /* null where the value is `none`; of a text, read: may be null */
	uint64_t none;
	uint32_t at;            /* offset in the struct: of the value, or of a list's pointer */
	uint32_t there;         /* offset of a bool, and 1: null where it is false; 0: none */
	uint32_t count, size;   /* of a list: offset of a uint32_t, and size of an element */
	const struct frag_json_row *rows;       /* of an object, or of the elements of a list */
	void (*call)(struct frag_node_ref in, const void *of);
};

#define FRAG_ROW_MEMBER(type, m) ((struct frag_##type *)0)->m
#define FRAG_ROW_KIND(type, m)                                                        \
	_Generic(FRAG_ROW_MEMBER(type, m), uint64_t: FRAG_ROW_U64, uint32_t: FRAG_ROW_U32, \
		 int64_t: FRAG_ROW_I64, bool: FRAG_ROW_BOOL, double: FRAG_ROW_FIXED4,      \
		 char *: FRAG_ROW_TEXT, const char *: FRAG_ROW_TEXT)
#define FRAG_ROW_AT(key, k, type, m) \
	.name = (key), .kind = (k), .at = offsetof(struct frag_##type, m)

/* The member m of a struct frag_TYPE, by its name or by another one. */
#define ROW(type, m) { FRAG_ROW_AT(#m, FRAG_ROW_KIND(type, m), type, m) }
#define ROW_AS(key, type, m) { FRAG_ROW_AT(key, FRAG_ROW_KIND(type, m), type, m) }
#define ROW_SUM(key, type, m) { FRAG_ROW_AT(key, FRAG_ROW_SUM, type, m) }
#define ROW_JSON(key, type, m) { FRAG_ROW_AT(key, FRAG_ROW_JSON, type, m) }
/* null where it is the largest number, where it is 0, and where a bool of the struct is false */
#define ROW_MAX(key, type, m)                                                        \
	{ FRAG_ROW_AT(key, FRAG_ROW_KIND(type, m), type, m), .or_null = true,        \
	  .none = sizeof(FRAG_ROW_MEMBER(type, m)) == 4 ? UINT32_MAX : UINT64_MAX }
#define ROW_ZERO(key, type, m) \
	{ FRAG_ROW_AT(key, FRAG_ROW_KIND(type, m), type, m), .or_null = true }
#define ROW_IF(flag, key, type, m)                                                   \
	{ FRAG_ROW_AT(key, FRAG_ROW_KIND(type, m), type, m),                         \
	  .there = offsetof(struct frag_##type, flag) + 1 }
#define ROW_OBJECT(key, type, m, its) { FRAG_ROW_AT(key, FRAG_ROW_OBJECT, type, m), .rows = (its) }
#define ROW_LIST(key, type, m, n, its)                                               \
	{ FRAG_ROW_AT(key, FRAG_ROW_LIST, type, m), .rows = (its),                   \
	  .count = offsetof(struct frag_##type, n),                                  \
	  .size = sizeof(*FRAG_ROW_MEMBER(type, m)) }
#define ROW_CALL(function) { .kind = FRAG_ROW_CALL, .call = (function) }
#define ROW_END { .name = NULL }

/* The members of the struct at `of`, in the order of the rows, which ROW_END ends. */
void frag_json_rows(struct frag_node_ref in, const struct frag_json_row *rows, const void *of);

/*
 * An object of them, which is returned; null, and no node, where `of` is NULL. An array of such
 * objects, of as many as the document shows.
 */
struct frag_node_ref frag_json_of(struct frag_node_ref in, const char *key,
				  const struct frag_json_row *rows, const void *of);
struct frag_node_ref frag_json_list(struct frag_node_ref in, const char *key,
				    const struct frag_json_row *rows, const void *list,
				    uint32_t count, size_t size);
#define FRAG_JSON_LIST(in, key, rows, list, count) \
	frag_json_list(in, key, rows, list, count, sizeof(*(list)))
