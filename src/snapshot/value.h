/*
 * value.h - what a pickle or a JSON document holds, in memory, as it is: an
 * object that the file refers to twice is there once.
 *
 * Values stand in a table, 16 bytes each, and are known by their number in it;
 * lists and dicts are boxes, which hold such numbers. Text is borrowed from the
 * bytes of the file, which must outlive it.
 */
#ifndef SNAPSHOT_VALUE_H
#define SNAPSHOT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fragsim/trace.h"

#define FRAG_VALUES_DEEP 64     /* deepest nesting of boxes */

enum frag_kind {
	FRAG_NULL,
	FRAG_TRUTH,
	FRAG_INTEGER,
	FRAG_REAL,
	FRAG_STRING,
	FRAG_LIST,              /* a tuple too */
	FRAG_DICT,
};

struct frag_value {
	uint8_t kind;           /* enum frag_kind */
	bool    minus;          /* INTEGER: as = -magnitude */
	uint8_t depth;          /* LIST, DICT: 1 where it holds no other */
	uint32_t length;        /* STRING: bytes; LIST, DICT: items */
	union {
		uint64_t magnitude;     /* INTEGER; TRUTH: 0 or 1 */
		double real;
		const char *text;
		uint32_t *items;        /* numbers of values; DICT: keys and values in turn */
	} as;
};

struct frag_values {
	struct frag_value *table;       /* by number; it moves while values are added */
	uint32_t count, capacity;
	struct frag_chunk *chunks;      /* where items lie */
	uint64_t bytes, most;           /* taken so far, and allowed */
	uint64_t cells;                 /* items added so far */
};

/* Nothing is taken yet. most: bytes of memory that may be. */
void frag_values_init(struct frag_values *v, uint64_t most);
void frag_values_fini(struct frag_values *v);

enum frag_add { FRAG_ADDED, FRAG_ADD_NOMEM, FRAG_ADD_TOO_MUCH, FRAG_ADD_TOO_DEEP };

/* A new value; of a box, an empty one. */
enum frag_add frag_values_new(struct frag_values *v, const struct frag_value *value,
			      uint32_t *out);
/* Adds items to a box; of a dict, keys and values in turn. */
enum frag_add frag_values_add(struct frag_values *v, uint32_t box, const uint32_t *items,
			      uint32_t count);
/* Room for text that stands nowhere in the file; NULL where there is none. */
char *frag_values_text(struct frag_values *v, uint32_t length);
/* Books memory that the reader itself takes. */
bool frag_values_take(struct frag_values *v, uint64_t bytes);

/* Questions. A value of another kind has no items, and no members. */
uint32_t frag_list_count(const struct frag_values *v, const struct frag_value *list);
const struct frag_value *frag_list_at(const struct frag_values *v, const struct frag_value *list,
				      uint32_t i);
/* The member's value, the last where it stands twice; NULL where there is none. */
const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name);
/* Its number. */
uint32_t frag_value_number(const struct frag_values *v, const struct frag_value *value);
bool frag_is(const struct frag_value *value, enum frag_kind kind);
/* The value where it is an integer of at least 0; false: it is not. */
bool frag_value_u64(const struct frag_value *value, uint64_t *out);
bool frag_text_is(const struct frag_value *value, const char *text);

#endif
