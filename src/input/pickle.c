/*
 * pickle.c - a reader of Python's pickles that knows data only.
 *
 * A pickle is a program for a small stack machine. Each opcode of the table pushes a value, or
 * puts values of the stack into a container. The memo maps numbers to values, so shared values
 * stay shared. Nothing recurses. The file is read through a window: values that stay are
 * copied.
 */
#include "input/value_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/word64.h"

#define FRAG_PICKLE_MARKS FRAG_VALUES_DEEP
#define FRAG_PICKLE_HOLE UINT32_MAX     /* in the memo: nothing */
#define FRAG_PICKLE_OPEN (UINT32_MAX - 1)       /* a new box that is being filled */
#define FRAG_PICKLE_GONE (UINT32_MAX - 2)       /* a dict that was taken; the lowest of the three */
#define FRAG_PICKLE_SMALL 65536         /* integers below it are one value each */
#define FRAG_PICKLE_BATCH 1000          /* items that CPython adds to a box at once, at most */
#define FRAG_PICKLE_AHEAD ((size_t)16 << 10)    /* bytes in the window, where it has that many */
#define FRAG_PICKLE_OPCODE_MAX 512      /* bytes: no opcode but that of a string has more */
#define FRAG_PICKLE_MAX ((uint64_t)4 << 30)     /* bytes, decompressed */

/*
 * Strings, and boxes that are complete, are stored once. CPython fills a box directly after it made
 * it: the box, its number in the memo, MARK, the items, APPENDS or SETITEMS. Until then the memo
 * has FRAG_PICKLE_OPEN, so a box that something refers to is seen, and is never merged.
 */
enum opcode {
	MARK = '(', STOP = '.', BINFLOAT = 'G', BININT = 'J', BININT1 = 'K', BININT2 = 'M',
	NONE = 'N', BINUNICODE = 'X', EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e', BINGET = 'h',
	LONG_BINGET = 'j', BINPUT = 'q', LONG_BINPUT = 'r', SETITEM = 's', TUPLE = 't',
	SETITEMS = 'u', EMPTY_DICT = '}', EMPTY_TUPLE = ')', PROTO = 0x80, TUPLE1 = 0x85,
	TUPLE2 = 0x86, TUPLE3 = 0x87, NEWTRUE = 0x88, NEWFALSE = 0x89, LONG1 = 0x8a,
	SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d, MEMOIZE = 0x94, FRAME = 0x95,
};

struct pickle {
	struct frag_values *values;
	const unsigned char *begin, *at, *end;  /* a window over the file */
	const unsigned char *op;        /* the opcode that is being done */
	struct frag_input *in;          /* fills the window; NULL: it is all there is */
	uint64_t before;                /* bytes that have left the window */
	uint64_t frames_end;            /* the file must have at least this many bytes */
	const char *what;
	uint32_t *stack, *memo;         /* numbers of values */
	uint32_t count, capacity;       /* of the stack */
	uint32_t memo_count, memo_capacity;
	uint32_t memoized;
	struct pickle_mark {
		uint32_t height;        /* of the stack */
		bool fresh;             /* a box is below it that nothing refers to but ... */
		uint32_t memo;          /* ... this number of the memo, plus 1; 0: nothing */
	} marks[FRAG_PICKLE_MARKS];
	uint32_t mark_count;
	uint64_t fresh_place;           /* behind a new box and its number of the memo ... */
	uint32_t fresh_memo;            /* ... plus 1 */
	uint32_t *small;                /* numbers of the values of small integers, plus 1 */
	uint32_t empty;                 /* of the empty list in dicts that were taken, plus 1 */
	const struct frag_taker *taker;
	bool plain;                     /* nothing is stored once or taken */
	bool again;                     /* it failed because it is not read so */
	struct frag_error *err;
};

/* What is refused by name: the first kind is why this reader exists. */
static const struct {
	unsigned char opcode;
	bool runs;              /* it could name a class or call a function */
	const char *name;
} refused[] = {
	{ 'c', true, "GLOBAL" }, { 0x93, true, "STACK_GLOBAL" }, { 'R', true, "REDUCE" },
	{ 'i', true, "INST" }, { 'o', true, "OBJ" }, { 0x81, true, "NEWOBJ" },
	{ 0x92, true, "NEWOBJ_EX" }, { 'b', true, "BUILD" }, { 0x82, true, "EXT1" },
	{ 0x83, true, "EXT2" }, { 0x84, true, "EXT4" }, { 'P', true, "PERSID" },
	{ 'Q', true, "BINPERSID" }, { 0x97, true, "NEXT_BUFFER" },
	{ 0x98, true, "READONLY_BUFFER" },
	{ '0', false, "POP" }, { '1', false, "POP_MARK" }, { '2', false, "DUP" },
	{ 'F', false, "FLOAT" }, { 'I', false, "INT" }, { 'L', false, "LONG" },
	{ 0x8b, false, "LONG4" }, { 'S', false, "STRING" }, { 'T', false, "BINSTRING" },
	{ 'U', false, "SHORT_BINSTRING" }, { 'V', false, "UNICODE" }, { 'B', false, "BINBYTES" },
	{ 'C', false, "SHORT_BINBYTES" }, { 0x8e, false, "BINBYTES8" },
	{ 0x96, false, "BYTEARRAY8" }, { 'd', false, "DICT" }, { 'l', false, "LIST" },
	{ 'g', false, "GET" }, { 'p', false, "PUT" }, { 0x8f, false, "EMPTY_SET" },
	{ 0x90, false, "ADDITEMS" }, { 0x91, false, "FROZENSET" },
};

/* The height below which values belong to an outer mark. */
static uint32_t pickle_mark_depth(const struct pickle *p)
{
	return p->mark_count ? p->marks[p->mark_count - 1].height : 0;
}

/* n bytes, the lowest first. */
static uint64_t pickle_little(const struct pickle *p, const unsigned char *bytes, size_t n)
{
	uint64_t value = 0;

	FRAG_ASSERT(n <= 8);
	if (p->end - bytes >= 8) {
		value = frag_word_at((const char *)bytes);
		return n < 8 ? value & ((UINT64_C(1) << 8 * n) - 1) : value;
	}
	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

/* Where the opcode is in the file. */
static uint64_t pickle_place(const struct pickle *p)
{
	return p->before + (uint64_t)(p->op - p->begin);
}

/* -FRAG_ETRACE, with the place of the opcode. */
static int pickle_bad(const struct pickle *p, const char *text)
{
	return frag_fail(p->err, FRAG_ETRACE, "%s: byte %" PRIu64 ": %s", p->what,
			 pickle_place(p), text);
}

/* 0, or the message for the reason why a value could not be added. */
static int pickle_added(const struct pickle *p, enum frag_add rc)
{
	switch (rc) {
	case FRAG_ADDED:
		return 0;
	case FRAG_ADD_TOO_MUCH:
		if (p->values->file)
			return frag_kept_too_much(p->what, p->values->file, p->err);
		return pickle_bad(p, "more lists, dicts and references than a snapshot of this"
				     " size has");
	case FRAG_ADD_TOO_DEEP:
		return pickle_bad(p, "lists and dicts nested deeper than 64");
	case FRAG_ADD_NOMEM:
		break;
	}
	return frag_fail_nomem(p->err);
}

static int truncated(const struct pickle *p)
{
	return frag_fail(p->err, FRAG_ETRACE, "%s: byte %" PRIu64 ": truncated: the pickle ends"
			 " here", p->what, p->before + (uint64_t)(p->end - p->begin));
}

static int pickle_refuse(const struct pickle *p)
{
	char text[140];

	snprintf(text, sizeof(text), "0x%02x is no opcode of a pickle", *p->op);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].opcode == *p->op)
			snprintf(text, sizeof(text), "opcode %s %s", refused[i].name,
				 refused[i].runs
				 ? "could name a class or call a function: a snapshot has"
				   " only data, and nothing of this file was run"
				 : "is in no snapshot");
	return pickle_bad(p, text);
}

/* Moves the window on, the opcode first in it; 0 also where the file has no more. */
static int move_window(struct pickle *p)
{
	const size_t done = (size_t)(p->at - p->op), used = (size_t)(p->op - p->begin);
	int rc = frag_input_fill(p->in, used, p->err);

	p->before += used;
	p->begin = p->op = (const unsigned char *)p->in->buf;
	p->at = p->begin + done;
	p->end = p->begin + p->in->end;
	if (rc < 0)
		return rc;
	if (p->before + p->in->end > FRAG_PICKLE_MAX)
		return frag_fail(p->err, FRAG_ETRACE, "%s: more than %u GiB of a snapshot", p->what,
				 (unsigned)(FRAG_PICKLE_MAX >> 30));
	frag_values_allow(p->values, p->before + p->in->end, frag_input_bytes(p->in));
	return 0;
}

/* Bytes from p->at on: at least n, or all that the file has. */
static int pickle_fetch(struct pickle *p, uint64_t n)
{
	int rc = 0;

	while (!rc && (uint64_t)(p->end - p->at) < n && p->in && !p->in->eof)
		rc = move_window(p);
	return rc;
}

/* Grows one of the machine's own tables, which count as memory of the values. */
static int pickle_make_room(struct pickle *p, uint32_t **table, uint32_t *capacity, uint64_t need)
{
	uint32_t before = *capacity;

	if (need <= before)
		return 0;
	if (!frag_grow(table, capacity, need, sizeof(**table)))
		return frag_fail_nomem(p->err);
	if (!frag_values_take(p->values, (uint64_t)(*capacity - before) * sizeof(**table)))
		return pickle_added(p, FRAG_ADD_TOO_MUCH);
	return 0;
}

static inline int pickle_push_number(struct pickle *p, uint32_t number)
{
	int rc = p->count < p->capacity
			 ? 0
			 : pickle_make_room(p, &p->stack, &p->capacity, (uint64_t)p->count + 1);

	if (!rc)
		p->stack[p->count++] = number;
	return rc;
}

static inline int pickle_push(struct pickle *p, const struct frag_value *value)
{
	uint32_t number;
	enum frag_add rc = frag_values_new(p->values, value, &number);

	return rc != FRAG_ADDED ? pickle_added(p, rc) : pickle_push_number(p, number);
}

/* The next n bytes as a little-endian number; NULL where they are not there. */
static const unsigned char *pickle_take(struct pickle *p, size_t n)
{
	const unsigned char *at = p->at;

	if ((size_t)(p->end - at) < n)
		return NULL;
	p->at += n;
	return at;
}

/* A value of these bits; of a box, an empty one. */
static int push_value(struct pickle *p, enum frag_kind kind, uint64_t magnitude, bool minus)
{
	const struct frag_value value = {
		.kind = (uint8_t)kind, .minus = minus, .as.magnitude = magnitude,
	};

	return pickle_push(p, &value);
}

/* An integer of n bytes, 2 at most: the same one is one value, however often it is there. */
static int pickle_read_small(struct pickle *p, size_t n)
{
	const unsigned char *bytes = pickle_take(p, n);
	uint64_t value;
	int rc;

	if (!bytes)
		return truncated(p);
	value = pickle_little(p, bytes, n);
	if (p->small[value])
		return pickle_push_number(p, p->small[value] - 1);
	rc = push_value(p, FRAG_INTEGER, value, false);
	if (rc)
		return rc;
	p->small[value] = p->stack[p->count - 1] + 1;
	p->values->table[p->stack[p->count - 1]].shared = true;
	return 0;
}

/* An integer of n bytes, little-endian; signed where it is. */
static inline int read_integer(struct pickle *p, size_t n, bool is_signed)
{
	const unsigned char *bytes = pickle_take(p, n);
	uint64_t value;

	if (!bytes)
		return truncated(p);
	value = pickle_little(p, bytes, n);
	if (!is_signed || n == 0 || !(bytes[n - 1] & 0x80))
		return push_value(p, FRAG_INTEGER, value, false);
	if (n < 8)
		value |= UINT64_MAX << 8 * n;
	return push_value(p, FRAG_INTEGER, UINT64_C(0) - value, true);
}

/* Two's complement of any length; beyond 64 bits nothing in a snapshot goes. */
static int read_long(struct pickle *p)
{
	const unsigned char *n = pickle_take(p, 1);

	if (!n)
		return truncated(p);
	if (*n <= 8)
		return read_integer(p, *n, true);
	if (*n == 9 && p->end - p->at >= 9 && p->at[8] == 0) {
		p->at += 9;
		return push_value(p, FRAG_INTEGER, pickle_little(p, p->at - 9, 8), false);
	}
	return pickle_bad(p, (size_t)(p->end - p->at) < *n
			       ? "truncated: an integer ends the file"
			       : "an integer of more than 64 bits");
}

static int read_real(struct pickle *p)
{
	const unsigned char *bytes = pickle_take(p, 8);
	struct frag_value value = { .kind = FRAG_REAL };
	uint64_t bits = 0;

	if (!bytes)
		return truncated(p);
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | bytes[i];
	memcpy(&value.as.real, &bits, sizeof(bits));
	return pickle_push(p, &value);
}

/*
 * The file must have all bytes before memory is taken for them: a length alone
 * costs nothing. Fetching may move the window, so the prefix is decoded before.
 */
static int pickle_read_text(struct pickle *p, size_t prefix)
{
	const unsigned char *bytes = pickle_take(p, prefix);
	struct frag_value value = { .kind = FRAG_STRING };
	uint64_t length = bytes ? pickle_little(p, bytes, prefix) : 0;
	uint32_t number;
	char *copy;
	int rc;

	if (!bytes)
		return truncated(p);
	rc = pickle_fetch(p, length);
	if (rc)
		return rc;
	if (length > (uint64_t)(p->end - p->at))
		return truncated(p);
	if (length > UINT32_MAX)
		return pickle_bad(p, "a string of more than 4 GiB");
	value.length = (uint32_t)length;
	if (!p->plain) {
		rc = pickle_added(p, frag_values_text_once(p->values, (const char *)p->at,
							   value.length, &number));
		p->at += length;
		return rc ? rc : pickle_push_number(p, number);
	}
	rc = pickle_added(p, frag_values_text(p->values, value.length, &copy));
	if (rc)
		return rc;
	value.as.text = memcpy(copy, p->at, value.length);
	p->at += length;
	return pickle_push(p, &value);
}

/* That the file has as many bytes is seen at its end. */
static int read_frame(struct pickle *p)
{
	const unsigned char *bytes = pickle_take(p, 8);
	uint64_t length = bytes ? pickle_little(p, bytes, 8) : 0;
	uint64_t from = p->before + (uint64_t)(p->at - p->begin);

	if (!bytes)
		return truncated(p);
	length = length < UINT64_MAX - from ? length : UINT64_MAX - from;
	p->frames_end = from + length > p->frames_end ? from + length : p->frames_end;
	return 0;
}

static int push_box(struct pickle *p, enum frag_kind kind)
{
	p->fresh_place = pickle_place(p) + 1;
	p->fresh_memo = 0;
	return push_value(p, kind, 0, false);
}

static int mark(struct pickle *p)
{
	struct pickle_mark *m = &p->marks[p->mark_count];

	if (p->mark_count == FRAG_PICKLE_MARKS)
		return pickle_added(p, FRAG_ADD_TOO_DEEP);
	*m = (struct pickle_mark){ .height = p->count };
	p->mark_count++;
	if (p->plain || p->fresh_place != pickle_place(p))
		return 0;
	m->fresh = true;
	m->memo = p->fresh_memo;
	if (m->memo)
		p->memo[m->memo - 1] = FRAG_PICKLE_OPEN;
	return 0;
}

/* Only a second reading, which stores nothing once, can do it right. */
static int read_again(struct pickle *p)
{
	p->again = !p->in || p->in->rewindable;
	return p->again ? -FRAG_ETRACE : pickle_bad(p, "a list or dict changes after it was complete, so"
					 " it must be read twice, which a pipe cannot be: store it"
					 " in a file");
}

/* The n values on top become items of the box below them, and go. */
static int pickle_join(struct pickle *p, enum frag_kind kind, uint32_t n)
{
	uint32_t box;
	int rc;

	if (p->count - pickle_mark_depth(p) < n + 1 || p->count < n + 1)
		return pickle_bad(p, "the stack has too little for it");
	box = p->stack[p->count - n - 1];
	if (p->values->table[box].kind == FRAG_TAKEN)
		return read_again(p);
	if (p->values->table[box].kind != kind)
		return pickle_bad(p, kind == FRAG_LIST ? "items for something that is no list"
						: "members for something that is no dict");
	if (kind == FRAG_DICT && n % 2)
		return pickle_bad(p, "a key without a value");
	if (n && p->values->table[box].minus)
		return read_again(p);
	rc = pickle_added(p, frag_values_add(p->values, box, p->stack + p->count - n, n));
	p->count -= n;
	return rc;
}

static int make_tuple(struct pickle *p, uint32_t n)
{
	const struct frag_value empty_tuple = { .kind = FRAG_LIST };
	const uint32_t *items;
	uint32_t tuple;
	int rc;

	if (p->count - pickle_mark_depth(p) < n)
		return pickle_bad(p, "the stack has too little for it");
	rc = pickle_added(p, frag_values_new(p->values, &empty_tuple, &tuple));
	if (rc)
		return rc;
	items = p->stack + p->count - n;
	rc = pickle_added(p, n && !p->plain
				     ? frag_values_fill_once(p->values, &tuple, items, n)
				     : frag_values_add(p->values, tuple, items, n));
	p->count -= n;
	return rc ? rc : pickle_push_number(p, tuple);
}

/*
 * The name of the root's member under which the dict below mark m is an item of a list, or of a
 * list of lists, and not the list's first one; NULL: it is elsewhere. The outer list has a mark only
 * where it has several items.
 */
static const struct frag_value *list_name(const struct pickle *p, const struct pickle_mark *m)
{
	const struct frag_value *table = p->values->table;
	const uint32_t depth = (uint32_t)(m - p->marks);
	uint32_t list, name;

	if (depth < 2 || depth > 3 || p->marks[0].height != 1
	    || table[p->stack[0]].kind != FRAG_DICT)
		return NULL;
	list = p->marks[depth - 1].height - 1;
	if (depth == 3)
		name = p->marks[1].height - 2;
	else
		name = list > 2 && table[p->stack[list - 1]].kind == FRAG_LIST ? list - 2 : list - 1;
	if (list < 2 || name < 1 || name >= list || table[p->stack[list]].kind != FRAG_LIST)
		return NULL;
	if (!table[p->stack[list]].length && m->height == list + 2)
		return NULL;
	return &table[p->stack[name]];
}

/*
 * Forgets the values behind a dict that was taken, where they are only numbers that are its own,
 * and empty lists, which become one.
 */
static void forget_members(struct pickle *p, uint32_t box, const uint32_t *items, uint32_t count)
{
	struct frag_values *v = p->values;
	uint32_t own = 0;

	for (uint32_t i = 1; i < count; i += 2) {
		struct frag_value *value = &v->table[items[i]];

		if (items[i] <= box || value->shared)
			continue;
		if (value->kind == FRAG_LIST && !value->length) {
			if (!p->empty) {
				p->empty = items[i] + 1;
				value->minus = value->shared = true;
				continue;
			}
			if (value->as.magnitude)
				p->memo[value->as.magnitude - 1] = p->empty - 1;
		} else if (value->kind != FRAG_INTEGER && value->kind != FRAG_REAL
			   && value->kind != FRAG_TRUTH && value->kind != FRAG_NULL) {
			continue;
		}
		value->shared = true;   /* it counts once */
		own++;
	}
	if (own == v->count - box - 1)
		v->count = box + 1;
}

/* The values above the mark are those of the new box below it, which gets no others. */
static int complete_box(struct pickle *p, const struct pickle_mark *m)
{
	struct frag_values *v = p->values;
	uint32_t *const at = &p->stack[m->height - 1], box = *at, n = p->count - m->height;
	const struct frag_value *name = NULL;
	uint64_t number;
	int rc = 0;

	if (p->taker && v->table[box].kind == FRAG_DICT)
		name = list_name(p, m);
	if (name && p->taker->take(p->taker->state, name, at + 1, n, &number)) {
		forget_members(p, box, at + 1, n);
		v->table[box] = (struct frag_value){ .kind = FRAG_TAKEN, .as.magnitude = number };
		v->cells += n;
	} else {
		rc = pickle_added(p, frag_values_fill_once(v, &box, at + 1, n));
		*at = box;
	}
	p->count = m->height;
	if (m->memo && p->memo[m->memo - 1] == FRAG_PICKLE_OPEN)
		p->memo[m->memo - 1] = v->table[box].kind == FRAG_TAKEN ? FRAG_PICKLE_GONE : box;
	return rc;
}

/* The values since the last mark become items of the box below it, or of a tuple. */
static int use_mark(struct pickle *p, enum frag_kind kind, bool tuple)
{
	struct pickle_mark *m;
	uint32_t n;

	if (!p->mark_count)
		return pickle_bad(p, "no mark on the stack");
	m = &p->marks[--p->mark_count];
	n = p->count - m->height;
	if (m->fresh && !tuple && n && n < FRAG_PICKLE_BATCH && p->at < p->end && *p->at != MARK
	    && p->values->table[p->stack[m->height - 1]].kind == kind
	    && (kind == FRAG_LIST || n % 2 == 0))
		return complete_box(p, m);
	if (m->memo && p->memo[m->memo - 1] == FRAG_PICKLE_OPEN)
		p->memo[m->memo - 1] = p->stack[m->height - 1];
	return tuple ? make_tuple(p, n) : pickle_join(p, kind, n);
}

/*
 * What is stored under a number can be referred to from anywhere. A box that is new may have one
 * number, and keeps it while it is empty.
 */
static void note_memo(struct pickle *p, uint32_t index)
{
	struct frag_value *value = &p->values->table[p->memo[index]];
	const bool box = value->kind == FRAG_LIST || value->kind == FRAG_DICT;

	if (!box) {
		value->shared = true;
	} else if (pickle_place(p) == p->fresh_place && !p->fresh_memo) {
		value->as.magnitude = p->fresh_memo = index + 1;
		p->fresh_place = p->before + (uint64_t)(p->at - p->begin);
	} else if (value->kind == FRAG_LIST) {
		value->shared = true;
	}
}

/* Stores the top of the stack under this number, which may have been another value's. */
static inline int memoize(struct pickle *p, uint64_t index)
{
	int rc;

	if (p->count == pickle_mark_depth(p))
		return pickle_bad(p, "nothing on the stack for the memo");
	/* numbers in order need at least two bytes of the pickle each */
	if (index > pickle_place(p))
		return pickle_bad(p, "a memo number larger than so short a pickle can have");
	rc = index < p->memo_capacity ? 0
				      : pickle_make_room(p, &p->memo, &p->memo_capacity, index + 1);
	if (rc)
		return rc;
	while (p->memo_count <= index)
		p->memo[p->memo_count++] = FRAG_PICKLE_HOLE;
	p->memoized += p->memo[index] == FRAG_PICKLE_HOLE;
	p->memo[index] = p->stack[p->count - 1];
	note_memo(p, (uint32_t)index);
	return 0;
}

/* GET of a number without a value. The box of one that is open is below a mark. */
static int get_special(struct pickle *p, uint32_t index)
{
	uint32_t i = p->mark_count;

	if (p->memo[index] == FRAG_PICKLE_HOLE)
		return pickle_bad(p, "a memo number that was never given");
	if (p->memo[index] == FRAG_PICKLE_GONE)
		return read_again(p);
	while (p->marks[--i].memo != index + 1)
		FRAG_ASSERT(i > 0);
	p->marks[i].fresh = false;
	p->memo[index] = p->stack[p->marks[i].height - 1];
	return pickle_push_number(p, p->memo[index]);
}

/* PUT or GET with a number of n bytes. */
static int use_memo(struct pickle *p, size_t n, bool put)
{
	const unsigned char *bytes = pickle_take(p, n);
	uint64_t index;

	if (!bytes)
		return truncated(p);
	index = pickle_little(p, bytes, n);
	if (put)
		return memoize(p, index);
	if (index >= p->memo_count)
		return pickle_bad(p, "a memo number that was never given");
	if (p->memo[index] >= FRAG_PICKLE_GONE)
		return get_special(p, (uint32_t)index);
	return pickle_push_number(p, p->memo[index]);
}

/* Executes one opcode; an opcode that could run code, or an unknown one, is an error. */
static int pickle_step(struct pickle *p)
{
	switch (*p->op) {
	case FRAME:
		return read_frame(p);
	case MARK:
		return mark(p);
	case NONE:
		return push_value(p, FRAG_NULL, 0, false);
	case NEWTRUE:
	case NEWFALSE:
		return push_value(p, FRAG_TRUTH, *p->op == NEWTRUE, false);
	case BININT:
		return read_integer(p, 4, true);
	case BININT1:
	case BININT2:
		return pickle_read_small(p, *p->op == BININT1 ? 1 : 2);
	case LONG1:
		return read_long(p);
	case BINFLOAT:
		return read_real(p);
	case SHORT_BINUNICODE:
		return pickle_read_text(p, 1);
	case BINUNICODE:
		return pickle_read_text(p, 4);
	case BINUNICODE8:
		return pickle_read_text(p, 8);
	case EMPTY_LIST:
	case EMPTY_TUPLE:
		return push_box(p, FRAG_LIST);
	case EMPTY_DICT:
		return push_box(p, FRAG_DICT);
	case APPEND:
		return pickle_join(p, FRAG_LIST, 1);
	case APPENDS:
		return use_mark(p, FRAG_LIST, false);
	case SETITEM:
		return pickle_join(p, FRAG_DICT, 2);
	case SETITEMS:
		return use_mark(p, FRAG_DICT, false);
	case TUPLE1:
	case TUPLE2:
	case TUPLE3:
		return make_tuple(p, (uint32_t)(*p->op - TUPLE1) + 1);
	case TUPLE:
		return use_mark(p, FRAG_LIST, true);
	case MEMOIZE:
		return memoize(p, p->memoized);
	case BINPUT:
	case BINGET:
		return use_memo(p, 1, *p->op == BINPUT);
	case LONG_BINPUT:
	case LONG_BINGET:
		return use_memo(p, 4, *p->op == LONG_BINPUT);
	default:
		return pickle_refuse(p);
	}
}

/*
 * References and small integers in a row, most of a snapshot, with the results of
 * pickle_step(), which gets everything else.
 */
static inline void pickle_references(struct pickle *p)
{
	const uint32_t *const memo = p->memo, *const small = p->small, memo_count = p->memo_count;
	const unsigned char *at = p->at;
	uint32_t *to = p->stack + p->count, *const full = p->stack + p->capacity, number;

	while (p->end - at >= 8 && to < full) {
		if (*at == LONG_BINGET) {
			number = frag_load32(at + 1);
			number = number < memo_count ? memo[number] : FRAG_PICKLE_HOLE;
			if (number >= FRAG_PICKLE_GONE)
				break;
			at += 5;
		} else if (*at == BINGET) {
			number = at[1] < memo_count ? memo[at[1]] : FRAG_PICKLE_HOLE;
			if (number >= FRAG_PICKLE_GONE)
				break;
			at += 2;
		} else if (*at == BININT1 && small[at[1]]) {
			number = small[at[1]] - 1;
			at += 2;
		} else {
			break;
		}
		*to++ = number;
	}
	p->at = at;
	p->count = (uint32_t)(to - p->stack);
}

/* p->op is set before the window moves, as that keeps everything from the opcode on. */
static int pickle_run(struct pickle *p, struct frag_value *root)
{
	int rc;

	if (p->end - p->at < 2)
		return truncated(p);
	if (p->at[0] != PROTO || p->at[1] < 2 || p->at[1] > 5)
		return pickle_bad(p, "no pickle of a protocol from 2 to 5");
	p->at += 2;
	rc = pickle_make_room(p, &p->stack, &p->capacity, 1);
	while (!rc) {
		pickle_references(p);
		p->op = p->at;
		if (p->end - p->at < FRAG_PICKLE_OPCODE_MAX)
			rc = pickle_fetch(p, FRAG_PICKLE_AHEAD);
		if (rc)
			break;
		if (p->at == p->end)
			return truncated(p);
		p->at++;
		if (*p->op == STOP)
			break;
		rc = pickle_step(p);
	}
	if (rc)
		return rc;
	if (p->count != 1 || p->mark_count)
		return pickle_bad(p, "the pickle ends with other than one object on its stack");
	*root = p->values->table[p->stack[0]];
	return 0;
}

/* Skips the bytes after the object; the end of a compressed file shows whether it is complete. */
static int pickle_read_all(struct pickle *p, struct frag_value *root)
{
	int rc;

	p->small = calloc(FRAG_PICKLE_SMALL, sizeof(*p->small));
	rc = p->small ? pickle_run(p, root) : frag_fail_nomem(p->err);
	while (!rc && p->in && !p->in->eof) {
		p->op = p->at = p->end;
		rc = move_window(p);
	}
	if (!rc && p->frames_end > p->before + (uint64_t)(p->end - p->begin))
		rc = truncated(p);
	frag_values_end_once(p->values);
	free(p->small);
	free(p->stack);
	free(p->memo);
	return rc;
}

int frag_pickle_read(struct frag_values *values, struct frag_value *root, const char *bytes,
		     size_t length, const char *what, const struct frag_taker *taker,
		     struct frag_error *err)
{
	const unsigned char *begin_at = (const unsigned char *)bytes;
	const struct pickle start = {
		.values = values, .begin = begin_at, .at = begin_at, .op = begin_at,
		.end = begin_at + length, .what = what, .err = err,
	};
	const uint64_t max = values->max, file = values->file;
	struct pickle p = start;
	int rc;

	p.taker = taker;
	rc = pickle_read_all(&p, root);
	if (!p.again)
		return rc;
	frag_values_fini(values);
	frag_values_init(values, length, max);
	values->file = file;
	p = start;
	p.plain = true;
	return pickle_read_all(&p, root);
}

/* Reads from the window on. */
static int stream_once(struct pickle *p, struct frag_value *root)
{
	struct frag_input *in = p->in;
	uint64_t read, total;
	int rc;

	frag_input_amount(in, &read, &total);
	frag_values_init(p->values, (size_t)total, 0);
	frag_values_allow(p->values, in->end, frag_input_bytes(in));
	p->begin = p->at = p->op = (const unsigned char *)in->buf;
	p->end = p->begin + in->end;
	in->by_byte = true;
	rc = pickle_fetch(p, 2);
	return rc ? rc : pickle_read_all(p, root);
}

int frag_pickle_stream(struct frag_values *values, struct frag_value *root,
		       struct frag_input *in, const struct frag_taker *taker,
		       struct frag_error *err)
{
	const struct pickle start = { .values = values, .in = in, .what = in->path, .err = err };
	struct pickle p = start;
	int rc;

	p.taker = taker;
	rc = stream_once(&p, root);
	if (!p.again)
		return rc;
	if (!frag_input_rewind(in))
		return frag_fail(err, FRAG_ETRACE, "%s: cannot be read a second time", in->path);
	frag_values_fini(values);
	p = start;
	p.plain = true;
	return stream_once(&p, root);
}
