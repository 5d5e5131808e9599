/* pickler.c - data as Python's pickle. */
#include "base/pickler.h"

#include <string.h>

#include "base/format.h"

#define PROTOCOL 2

enum opcode {
	PROTO = 0x80, BINFLOAT = 'G', BININT = 'J', BININT1 = 'K', BININT2 = 'M', LONG1 = 0x8a,
	NEWTRUE = 0x88, NEWFALSE = 0x89, BINUNICODE = 'X', BINPUT = 'q', LONG_BINPUT = 'r',
	BINGET = 'h', LONG_BINGET = 'j',
};

static char *pickler_put_byte(char *p, unsigned byte)
{
	*p = (char)(unsigned char)byte;
	return p + 1;
}

static char *put_little(char *p, uint64_t value, int bytes)
{
	return (char *)memcpy(p, &value, (size_t)bytes) + bytes;
}

char *frag_pickle_begin(char *p)
{
	return pickler_put_byte(pickler_put_byte(p, PROTO), PROTOCOL);
}

/* In two's complement, the sign in the highest bit. */
static char *put_long(char *p, uint64_t value)
{
	int bytes = 4;

	while (bytes < 8 && value >> (8 * bytes - 1))
		bytes++;
	p = pickler_put_byte(pickler_put_byte(p, LONG1),
			     bytes == 8 && value >> 63 ? 9 : (unsigned)bytes);
	p = put_little(p, value, bytes);
	return bytes == 8 && value >> 63 ? pickler_put_byte(p, 0) : p;
}

char *frag_pickle_u64(char *p, uint64_t value)
{
	if (value <= 0xff)
		return pickler_put_byte(pickler_put_byte(p, BININT1), (unsigned)value);
	if (value <= 0xffff)
		return put_little(pickler_put_byte(p, BININT2), value, 2);
	if (value <= INT32_MAX)
		return put_little(pickler_put_byte(p, BININT), value, 4);
	return put_long(p, value);
}

char *frag_pickle_i64(char *p, int64_t value)
{
	if (value >= 0)
		return frag_pickle_u64(p, (uint64_t)value);
	if (value >= INT32_MIN)
		return put_little(pickler_put_byte(p, BININT), (uint64_t)value, 4);
	return put_little(pickler_put_byte(pickler_put_byte(p, LONG1), 8), (uint64_t)value, 8);
}

char *frag_pickle_real(char *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	p = pickler_put_byte(p, BINFLOAT);
	for (int shift = 56; shift >= 0; shift -= 8)
		p = pickler_put_byte(p, (unsigned)(bits >> shift & 0xff));
	return p;
}

char *frag_pickle_bool(char *p, bool value)
{
	return pickler_put_byte(p, value ? NEWTRUE : NEWFALSE);
}

char *frag_pickle_text(char *p, const char *text, size_t length)
{
	char *end = frag_put_utf8(p + 5, text, length);

	put_little(pickler_put_byte(p, BINUNICODE), (uint64_t)(end - p - 5), 4);
	return end;
}

static char *pickler_put_number(char *p, unsigned short_form, unsigned long_form, uint32_t number)
{
	if (number <= 0xff)
		return pickler_put_byte(pickler_put_byte(p, short_form), number);
	return put_little(pickler_put_byte(p, long_form), number, 4);
}

char *frag_pickle_put(char *p, uint32_t number)
{
	return pickler_put_number(p, BINPUT, LONG_BINPUT, number);
}

char *frag_pickle_get(char *p, uint32_t number)
{
	return pickler_put_number(p, BINGET, LONG_BINGET, number);
}
