/*
 * value_tree.h - the values of a pickle or a JSON document in memory: an object to which the
 * file refers twice is stored once.
 *
 * Values are in a table, 16 bytes each, and are known by their number in it;
 * lists and dicts are boxes, which hold such numbers. Dicts that have the same
 * keys in the same order have a shape, where these are once for all of them.
 * Text of a JSON document is borrowed from its bytes, which must outlive it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "fragsim/error.h"
#include "input/input.h"

#define FRAG_VALUES_DEEP 64     /* deepest nesting of boxes */

enum frag_kind {
	FRAG_NULL,
	FRAG_TRUTH,
	FRAG_INTEGER,
	FRAG_REAL,
	FRAG_STRING,
	FRAG_LIST,              /* a tuple too */
	FRAG_DICT,
	FRAG_TAKEN,             /* a dict that was handed on as it was read: its number there */
};

struct frag_value {
	uint8_t kind;           /* enum frag_kind */
	bool    minus;          /* INTEGER: as = -magnitude; LIST, DICT: several of the file are
				   this one, so it must not change */
	uint8_t depth;          /* LIST, DICT: 1 where it holds no other */
	bool shared;            /* DICT: a shape has its keys; others: more than one may refer to it */
	uint32_t length;        /* STRING: bytes; LIST, DICT: items */
	union {
		uint64_t magnitude;     /* INTEGER; TRUTH: 0 or 1 */
		double real;
		const char *text;
		uint32_t *items;        /* numbers of values; DICT: keys and values in turn,
					   or values alone: the shape's number precedes */
	} as;
};

#define FRAG_SHAPES 64          /* a power of two */
#define FRAG_SHAPE_KEYS 16      /* dicts with more have none */

struct frag_shape {
	uint32_t count;                         /* 0: none */
	uint32_t keys[FRAG_SHAPE_KEYS];         /* numbers of strings */
};

struct frag_values {
	struct frag_value *table;       /* by number; it moves while values are added */
	uint32_t count, capacity;
	bool own_table;                 /* the first one is in a chunk */
	struct frag_chunk *chunks;      /* where items are */
	struct frag_shape *shapes;      /* FRAG_SHAPES; NULL before the first dict */
	size_t expected;                /* bytes of the file that they come from; 0: unknown */
	uint64_t bytes, max;            /* taken so far, and allowed */
	uint64_t file;                  /* the bytes of the compressed file, if these permit less */
	uint64_t cells;                 /* items added so far */
	struct frag_map once;           /* by hash: strings, and boxes that are complete */
	uint32_t again;                 /* boxes that were one of them */
};

/* Nothing is taken yet. bytes: of the file; most: of memory that may be taken. */
void frag_values_init(struct frag_values *v, size_t bytes, uint64_t max);
/* What may be taken: as much as `unpacked` bytes can need, and a file of `file` bytes may. */
void frag_values_allow(struct frag_values *v, uint64_t unpacked, uint64_t file);
void frag_values_fini(struct frag_values *v);

enum frag_add { FRAG_ADDED, FRAG_ADD_NOMEM, FRAG_ADD_TOO_MUCH, FRAG_ADD_TOO_DEEP };

/* Grows the array of values. */
enum frag_add frag_values_widen(struct frag_values *v);

/* A new value; of a box, an empty one. */
static inline enum frag_add frag_values_new(struct frag_values *v, const struct frag_value *value,
					    uint32_t *out)
{
	enum frag_add rc = v->count < v->capacity ? FRAG_ADDED : frag_values_widen(v);

	*out = v->count;
	if (rc != FRAG_ADDED)
		return rc;
	v->table[v->count] = *value;
	v->table[v->count++].depth = value->kind == FRAG_LIST || value->kind == FRAG_DICT;
	return FRAG_ADDED;
}

/* Adds items to a box; of a dict, keys and values in turn. */
enum frag_add frag_values_add(struct frag_values *v, uint32_t box, const uint32_t *items,
			      uint32_t count);
/*
 * Fills a box that is empty and is not expected to change: where another has the same items, *box
 * becomes that one.
 */
enum frag_add frag_values_fill_once(struct frag_values *v, uint32_t *box, const uint32_t *items,
				    uint32_t count);
/* Nothing more is stored once. */
void frag_values_end_once(struct frag_values *v);
/* The string of this text, copied where it is new. */
enum frag_add frag_values_text_once(struct frag_values *v, const char *text, uint32_t length,
				    uint32_t *number);
/* Space for text that is kept. */
enum frag_add frag_values_text(struct frag_values *v, uint32_t length, char **out);
/* Books memory that the reader itself takes. */
bool frag_values_take(struct frag_values *v, uint64_t bytes);

/* Questions. A value of another kind has no items, and no members. */
static inline bool frag_is(const struct frag_value *value, enum frag_kind kind)
{
	return value && value->kind == kind;
}

/* The value where it is an integer of at least 0; false: it is not. */
static inline bool frag_value_u64(const struct frag_value *value, uint64_t *out)
{
	if (!frag_is(value, FRAG_INTEGER) || value->minus)
		return false;
	*out = value->as.magnitude;
	return true;
}

static inline uint32_t frag_list_count(const struct frag_value *list)
{
	return frag_is(list, FRAG_LIST) ? list->length : 0;
}

static inline const struct frag_value *frag_list_at(const struct frag_values *v,
						    const struct frag_value *list, uint32_t i)
{
	return i < frag_list_count(list) ? &v->table[list->as.items[i]] : NULL;
}

bool frag_text_is(const struct frag_value *value, const char *text);
/* The member's value, the last where it is given twice; NULL where there is none. */
const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name);

/* The name of member i, in their order; false: there are no more. Names that are no text are empty. */
bool frag_dict_key(const struct frag_values *v, const struct frag_value *dict, uint32_t i,
		   struct frag_text *key);

/* Members of many dicts, by the places where they stand: each shape is searched once. */
#define FRAG_MEMBERS_MAX 16
struct frag_layouts {
	const char *const *names;       /* count of them, FRAG_MEMBERS_MAX at most */
	uint32_t count;
	struct frag_layout {
		bool known;
		uint8_t at[FRAG_MEMBERS_MAX];   /* of the shape's values; UINT8_MAX: not there */
	} layouts[FRAG_SHAPES];
};

/* Each member as frag_dict_get() finds it. */
void frag_dict_members(const struct frag_values *v, const struct frag_value *dict,
		       struct frag_layouts *layouts, const struct frag_value **out);

/* The same of keys and values in turn, before they are a dict; false: they have no shape. */
bool frag_items_members(struct frag_values *v, const uint32_t *items, uint32_t count,
			struct frag_layouts *layouts, const struct frag_value **out);

/* Its number. */
uint32_t frag_value_number(const struct frag_values *v, const struct frag_value *value);

/*
 * The JSON document in bytes, followed by a 0; values borrow their text from
 * there. what names the bytes in messages. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_value_json_read(struct frag_values *values, struct frag_value *root, const char *bytes,
			 size_t length, const char *what, struct frag_error *err);

/*
 * Python's pickles that are data only: numbers, strings, lists, tuples and dicts in protocols 2 to
 * 5. Opcodes that name a class or call a function are refused, so no code of the file is ever
 * executed, and the file's length bounds the memory.
 */
/*
 * Takes a dict once it is complete, so that its members need not stay: any but the first of a list
 * that is a member of the root, or that is in such a list.
 */
struct frag_taker {
	/* name: of the root's member. items: keys and values in turn. False: it is to stay a dict. */
	bool (*take)(void *state, const struct frag_value *name, const uint32_t *items,
		     uint32_t count, uint64_t *number);
	void *state;
};

/*
 * The object of the pickle; bytes after its end are ignored. what names the bytes in messages.
 * taker may be NULL. Equal strings, and lists and dicts that are complete, are stored once. Where
 * the pickle changes one of these later, which CPython never writes, it is read again without
 * that, and nothing is taken. -FRAG_ETRACE, -FRAG_ENOMEM
 */
int frag_pickle_read(struct frag_values *values, struct frag_value *root, const char *bytes,
		     size_t length, const char *what, const struct frag_taker *taker,
		     struct frag_error *err);
/*
 * The same out of an input from its window on, which is read to its end and is not kept; a pipe
 * cannot be read again. The values begin empty, and may take memory for the bytes that were read.
 */
int frag_pickle_stream(struct frag_values *values, struct frag_value *root,
		       struct frag_input *in, const struct frag_taker *taker,
		       struct frag_error *err);
