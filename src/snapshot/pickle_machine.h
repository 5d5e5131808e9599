/*
 * pickle_machine.h - the state of the pickle reader: pickle.c does the opcodes,
 * pickle_refs.c the references, of which most of a snapshot is made.
 */
#ifndef SNAPSHOT_PICKLE_MACHINE_H
#define SNAPSHOT_PICKLE_MACHINE_H

#include "base/word.h"
#include "snapshot/value.h"

#define FRAG_PICKLE_MARKS FRAG_VALUES_DEEP
#define FRAG_PICKLE_HOLE UINT32_MAX     /* in the memo */
#define FRAG_PICKLE_SEEN 1024           /* a power of two */
#define FRAG_PICKLE_NO_DEPTH UINT8_MAX

enum opcode {
	MARK = '(', STOP = '.', BINFLOAT = 'G', BININT = 'J', BININT1 = 'K', BININT2 = 'M',
	NONE = 'N', BINUNICODE = 'X', EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e', BINGET = 'h',
	LONG_BINGET = 'j', BINPUT = 'q', LONG_BINPUT = 'r', SETITEM = 's', TUPLE = 't',
	SETITEMS = 'u', EMPTY_DICT = '}', EMPTY_TUPLE = ')', PROTO = 0x80, TUPLE1 = 0x85,
	TUPLE2 = 0x86, TUPLE3 = 0x87, NEWTRUE = 0x88, NEWFALSE = 0x89, LONG1 = 0x8a,
	SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d, MEMOIZE = 0x94, FRAME = 0x95,
};

/*
 * A list that was made by one mark and references alone, as every stack is. Stacks
 * end alike, in the program's outer frames, and so do their bytes: where the rest
 * of a list has stood before, it is not read again, and not kept again.
 */
struct run {
	uint32_t begin, end;    /* bytes of its MARK and its APPENDS */
	uint32_t list, count;   /* its value, and items of it that are the run's */
	uint8_t depth;          /* of each item */
};

/* A reference of a run, by what follows it. */
struct seen {
	uint32_t behind;        /* the byte behind it; 0: none */
	uint32_t run, item;     /* items of the run up to and with it */
};

struct pickle {
	struct frag_values *values;
	const unsigned char *begin, *at, *end;
	const unsigned char *op;        /* the opcode that is being done */
	const char *what;
	uint32_t *stack, *memo;         /* numbers of values */
	uint32_t count, capacity;       /* of the stack */
	uint32_t memo_count, memo_capacity;
	uint32_t memoized;
	uint32_t marks[FRAG_PICKLE_MARKS];     /* heights of the stack */
	uint32_t mark_count;
	const unsigned char *marked;    /* the last MARK */
	const unsigned char *before;    /* the opcode before op, references apart */
	bool listing;           /* the last mark is that of an empty list, and on top */
	struct run *runs;
	uint32_t run_count, run_capacity;
	struct seen *seen;      /* NULL: lists are not shared */
	uint32_t seen_from;     /* what lies before this byte may mean something else now */
	const unsigned char *quiet;     /* up to here nothing is looked for */
	struct frag_error *err;
};

/* The height below which values belong to an outer mark. */
static inline uint32_t frag_pickle_ground(const struct pickle *p)
{
	return p->mark_count ? p->marks[p->mark_count - 1] : 0;
}

/* n bytes, the lowest first. */
static inline uint64_t frag_pickle_little(const struct pickle *p, const unsigned char *bytes,
					  size_t n)
{
	uint64_t value = 0;

	if (p->end - bytes >= 8) {
		value = frag_word_at((const char *)bytes);
		return n < 8 ? value & ((UINT64_C(1) << 8 * n) - 1) : value;
	}
	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

/* -FRAG_ETRACE, with the place of the opcode. */
int frag_pickle_bad(const struct pickle *p, const char *text);
/* 0, or the message for what a value could not be added for. */
int frag_pickle_added(const struct pickle *p, enum frag_add rc);

/* The depth of all these values, or FRAG_PICKLE_NO_DEPTH where they differ. */
uint8_t frag_pickle_depth(const struct pickle *p, const uint32_t *items, uint32_t n);
/*
 * The list may be a run, if the opcode at end is its last: then others may share
 * it. count: its items; depth: of each.
 */
int frag_pickle_note_run(struct pickle *p, uint32_t list, uint8_t depth, uint32_t count,
			 const unsigned char *end);

/*
 * From a reference on, those that are plainly good; the rest is left to the
 * opcodes one by one. Of a list, and of whatever else.
 */
int  frag_pickle_get_many(struct pickle *p);
void frag_pickle_get_members(struct pickle *p);

#endif
