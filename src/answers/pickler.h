/*
 * pickler.h - data as Python's pickle, protocol 2: what every Python and every
 * viewer reads.
 *
 * Opcodes are put one after the other, at p, and the place after them is
 * returned. A box comes before its items: an empty list, a mark, the items,
 * APPENDS; the same with SETITEMS for the keys and values of a dict. So a list
 * can be written as it grows, in batches. Inlined, as an event of a snapshot has fifty of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/format.h"

#define FRAG_PICKLE_PROTOCOL "\x80\2"   /* what it begins with */

enum frag_pickle_opcode {
	FRAG_PICKLE_MARK = '(',
	FRAG_PICKLE_STOP = '.',
	FRAG_PICKLE_LIST = ']',         /* an empty one */
	FRAG_PICKLE_APPENDS = 'e',      /* the items since the mark join the list below it */
	FRAG_PICKLE_DICT = '}',         /* likewise */
	FRAG_PICKLE_SETITEMS = 'u',
	FRAG_PICKLE_TUPLE2 = 0x86,      /* of the two values before it */
	/* of the functions below */
	FRAG_PICKLE_BINFLOAT = 'G', FRAG_PICKLE_BININT = 'J', FRAG_PICKLE_BININT1 = 'K',
	FRAG_PICKLE_BININT2 = 'M', FRAG_PICKLE_LONG1 = 0x8a, FRAG_PICKLE_NEWTRUE = 0x88,
	FRAG_PICKLE_NEWFALSE = 0x89, FRAG_PICKLE_BINUNICODE = 'X', FRAG_PICKLE_BINPUT = 'q',
	FRAG_PICKLE_LONG_BINPUT = 'r', FRAG_PICKLE_BINGET = 'h', FRAG_PICKLE_LONG_BINGET = 'j',
};

#define FRAG_PICKLE_ROOM 16     /* of any value below but a text, and of a memo number */

static inline char *frag_pickle_op(char *p, enum frag_pickle_opcode opcode)
{
	*p = (char)(unsigned char)opcode;
	return p + 1;
}

/* A byte, an opcode or a length, and the lowest bytes of the value behind it. */
static inline char *frag_pickle_bytes(char *p, unsigned first, uint64_t value, size_t bytes)
{
	*p = (char)(unsigned char)first;
	memcpy(p + 1, &value, bytes);
	return p + 1 + bytes;
}

static inline char *frag_pickle_u64(char *p, uint64_t value)
{
	uint32_t bytes = 4;

	if (value <= 0xff)
		return frag_pickle_bytes(p, FRAG_PICKLE_BININT1, value, 1);
	if (value <= 0xffff)
		return frag_pickle_bytes(p, FRAG_PICKLE_BININT2, value, 2);
	if (value <= INT32_MAX)
		return frag_pickle_bytes(p, FRAG_PICKLE_BININT, value, 4);
	/* in two's complement, the sign in the highest bit */
	while (bytes < 8 && value >> (8 * bytes - 1))
		bytes++;
	p = frag_pickle_bytes(frag_pickle_op(p, FRAG_PICKLE_LONG1), bytes + (uint32_t)(value >> 63),
			      value, bytes);
	*p = 0;
	return p + (value >> 63);
}

static inline char *frag_pickle_i64(char *p, int64_t value)
{
	if (value >= 0)
		return frag_pickle_u64(p, (uint64_t)value);
	if (value >= INT32_MIN)
		return frag_pickle_bytes(p, FRAG_PICKLE_BININT, (uint64_t)value, 4);
	return frag_pickle_bytes(frag_pickle_op(p, FRAG_PICKLE_LONG1), 8, (uint64_t)value, 8);
}

static inline char *frag_pickle_real(char *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return frag_pickle_bytes(p, FRAG_PICKLE_BINFLOAT, __builtin_bswap64(bits), 8);
}

static inline char *frag_pickle_bool(char *p, bool value)
{
	return frag_pickle_op(p, value ? FRAG_PICKLE_NEWTRUE : FRAG_PICKLE_NEWFALSE);
}

/* Bytes that are not UTF-8 become U+FFFD. Needs at most 3 bytes for each byte of text, and 5. */
static inline char *frag_pickle_text(char *p, const char *text, size_t length)
{
	char *end = frag_put_utf8(p + 5, text, length);

	frag_pickle_bytes(p, FRAG_PICKLE_BINUNICODE, (uint64_t)(end - p - 5), 4);
	return end;
}

/* put numbers the preceding value; get repeats the value of that number. A number can be
 * reused. */
static inline char *frag_pickle_put(char *p, uint32_t number)
{
	return number <= 0xff ? frag_pickle_bytes(p, FRAG_PICKLE_BINPUT, number, 1)
			      : frag_pickle_bytes(p, FRAG_PICKLE_LONG_BINPUT, number, 4);
}

static inline char *frag_pickle_get(char *p, uint32_t number)
{
	return number <= 0xff ? frag_pickle_bytes(p, FRAG_PICKLE_BINGET, number, 1)
			      : frag_pickle_bytes(p, FRAG_PICKLE_LONG_BINGET, number, 4);
}
