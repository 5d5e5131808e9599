/*
 * pickle_machine.h - the state of the pickle reader: pickle.c does any opcode,
 * pickle_plain.c those that most of a snapshot is made of.
 */
#ifndef INPUT_PICKLE_MACHINE_H
#define INPUT_PICKLE_MACHINE_H

#include "base/bug.h"
#include "base/word64.h"
#include "input/value_tree.h"
#include "input/input.h"

#define FRAG_PICKLE_MARKS FRAG_VALUES_DEEP
#define FRAG_PICKLE_HOLE UINT32_MAX     /* in the memo */
#define FRAG_PICKLE_AHEAD ((size_t)16 << 10)    /* bytes in the window, where there are so many */

enum opcode {
	MARK = '(', STOP = '.', BINFLOAT = 'G', BININT = 'J', BININT1 = 'K', BININT2 = 'M',
	NONE = 'N', BINUNICODE = 'X', EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e', BINGET = 'h',
	LONG_BINGET = 'j', BINPUT = 'q', LONG_BINPUT = 'r', SETITEM = 's', TUPLE = 't',
	SETITEMS = 'u', EMPTY_DICT = '}', EMPTY_TUPLE = ')', PROTO = 0x80, TUPLE1 = 0x85,
	TUPLE2 = 0x86, TUPLE3 = 0x87, NEWTRUE = 0x88, NEWFALSE = 0x89, LONG1 = 0x8a,
	SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d, MEMOIZE = 0x94, FRAME = 0x95,
};

/*
 * A list that was made by one mark and references alone, as every stack is. The same
 * stacks come again and again, and in the same order: where the bytes of a list have
 * occurred before, they are not read again, and its items not kept again.
 */
struct frag_pickle_run {
	const unsigned char *bytes;     /* a copy, from after the MARK up to the APPENDS */
	uint32_t *items;
	uint32_t length, count;         /* bytes, items */
	uint32_t next;                  /* the run that came after it; itself: none */
	uint8_t depth;                  /* of the list */
};

#define FRAG_PICKLE_RUNS 4096           /* a power of two: places by hash */
struct frag_pickle_runs {
	struct frag_pickle_run *runs;
	uint32_t count, capacity;
	uint32_t last;                  /* the one that came last */
	uint32_t by_hash[FRAG_PICKLE_RUNS];     /* plus 1 */
};

/* The keys of a dict as they are in the file: each a number of the memo. */
struct frag_template {
	uint32_t shape, count;          /* count 0: there is none */
	struct {
		uint64_t word, mask;    /* the opcode's bytes */
		uint32_t length, number;        /* the opcode's, and the value's */
	} keys[FRAG_SHAPE_KEYS];
};

#define FRAG_TEMPLATES 61               /* places by the first word: a prime number */

/* What pickle_plain.c knows of the file. */
struct frag_plain {
	struct frag_pickle_runs runs;
	struct frag_template templates[FRAG_TEMPLATES], made;
};

struct pickle {
	struct frag_values *values;
	const unsigned char *begin, *at, *end;  /* a window over the file */
	const unsigned char *op;        /* the opcode that is being done */
	struct frag_input *in;          /* fills the window; NULL: it is all there is */
	uint64_t before;                /* bytes that have left the window */
	uint64_t frames_end;            /* the file has to have so many bytes */
	const char *what;
	uint32_t *stack, *memo;         /* numbers of values */
	uint32_t count, capacity;       /* of the stack */
	uint32_t memo_count, memo_capacity;
	uint32_t memoized;
	uint32_t marks[FRAG_PICKLE_MARKS];     /* heights of the stack */
	uint32_t mark_count;
	uint32_t small[256];            /* numbers of the values of BININT1, plus 1 */
	struct frag_plain *plain;       /* NULL: memory is short, all is read as it is */
	uint64_t seed;
	struct frag_error *err;
};

/* The height below which values belong to an outer mark. */
static inline uint32_t frag_pickle_mark_depth(const struct pickle *p)
{
	return p->mark_count ? p->marks[p->mark_count - 1] : 0;
}

/* n bytes, the lowest first. */
static inline uint64_t frag_pickle_little(const struct pickle *p, const unsigned char *bytes,
					  size_t n)
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
static inline uint64_t frag_pickle_place(const struct pickle *p)
{
	return p->before + (uint64_t)(p->op - p->begin);
}

/* -FRAG_ETRACE, with the place of the opcode. */
int frag_pickle_bad(const struct pickle *p, const char *text);
/* 0, or the message for what a value could not be added for. */
int frag_pickle_added(const struct pickle *p, enum frag_add rc);
/* All values down to the last mark become items of the box below it, and go. */
int frag_pickle_join(struct pickle *p, enum frag_kind kind);

/*
 * From p->at on, opcodes that are plainly good, as long as they come; the first one
 * that is not, or that is not of the common ones, is left to who can say what is wrong.
 */
int frag_pickle_plain(struct pickle *p);

/* A number of the memo means something else from now on: so may runs and templates. */
void frag_pickle_forget(struct frag_plain *plain);

#endif
