/*
 * pickler.h - data as Python's pickle, protocol 2: what every Python and every
 * viewer reads.
 *
 * Opcodes are put one after the other, at p, and the place after them is
 * returned. A box comes before its items: an empty list, a mark, the items,
 * APPENDS; the same with SETITEMS for the keys and values of a dict. So a list
 * can be written as it grows, in batches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frag_pickle_opcode {
	FRAG_PICKLE_MARK = '(',
	FRAG_PICKLE_STOP = '.',
	FRAG_PICKLE_LIST = ']',         /* an empty one */
	FRAG_PICKLE_APPENDS = 'e',      /* the items since the mark join the list below it */
	FRAG_PICKLE_DICT = '}',         /* likewise */
	FRAG_PICKLE_SETITEMS = 'u',
	FRAG_PICKLE_TUPLE2 = 0x86,      /* of the two values before it */
};

#define FRAG_PICKLE_ROOM 16     /* of any value below but a text, and of a memo number */

static inline char *frag_pickle_op(char *p, enum frag_pickle_opcode opcode)
{
	*p = (char)(unsigned char)opcode;
	return p + 1;
}

/* The two bytes that a pickle begins with. */
char *frag_pickle_begin(char *p);

char *frag_pickle_u64(char *p, uint64_t value);
char *frag_pickle_i64(char *p, int64_t value);
char *frag_pickle_real(char *p, double value);
char *frag_pickle_bool(char *p, bool value);

/* Bytes that are not UTF-8 become U+FFFD. Needs at most 3 bytes for each byte of text, and 5. */
char *frag_pickle_text(char *p, const char *text, size_t length);

/* put numbers the preceding value; get repeats the value of that number. A number can be
 * reused. */
char *frag_pickle_put(char *p, uint32_t number);
char *frag_pickle_get(char *p, uint32_t number);
