/*
 * pickler.h - data as Python's pickle, protocol 2: what every Python and every
 * viewer reads.
 *
 * Opcodes are put one after the other, at p, and the place after them is
 * returned. A box comes before its items: an empty list, a mark, the items,
 * APPENDS; the same with SETITEMS for the keys and values of a dict. So a list
 * can be written as it grows, in batches.
 */
#ifndef BASE_PICKLER_H
#define BASE_PICKLER_H

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

/* What is no UTF-8 becomes U+FFFD. Room: 3 for each byte, and 5. */
char *frag_pickle_text(char *p, const char *text, size_t length);

/* Gives the value before it a number; and that value again. A number can be given anew. */
char *frag_pickle_put(char *p, uint32_t number);
char *frag_pickle_get(char *p, uint32_t number);

#endif
