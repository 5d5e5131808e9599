/* format.c - numbers and strings as fragsim writes them, into memory. */
#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many digits: the number of bits says it, but for one. */
static uint32_t count_digits(uint64_t value)
{
	static const uint64_t powers[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
		UINT64_C(10000000000), UINT64_C(100000000000), UINT64_C(1000000000000),
		UINT64_C(10000000000000), UINT64_C(100000000000000),
		UINT64_C(1000000000000000), UINT64_C(10000000000000000),
		UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
		UINT64_C(10000000000000000000),
	};
	const uint32_t bits = 64 - (uint32_t)__builtin_clzll(value | 1);
	const uint32_t least = bits * 1233 >> 12;       /* log10(2) is 0.30103 */

	return least + (value >= powers[least]);
}

/* From the last digit to the first, at the place where they stay. */
char *frag_put_u64(char *p, uint64_t value)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324"
		"25262728293031323334353637383940414243444546474849"
		"50515253545556575859606162636465666768697071727374"
		"75767778798081828384858687888990919293949596979899";
	char *const end = p + count_digits(value);
	char *d = end;

	while (value >= 100) {
		d -= 2;
		memcpy(d, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10)
		memcpy(p, pairs + value * 2, 2);
	else
		*p = (char)('0' + value);
	return end;
}

char *frag_put_i64(char *p, int64_t value)
{
	if (value >= 0)
		return frag_put_u64(p, (uint64_t)value);
	*p = '-';
	return frag_put_u64(p + 1, (uint64_t)0 - (uint64_t)value);
}

uint64_t frag_scaled_tie(double value, int decimals)
{
	char text[64];
	char *point;

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	point = strchr(text, '.');
	memmove(point, point + 1, strlen(point));
	return strtoull(text, NULL, 10);
}

char *frag_put_fixed4(char *p, double value)
{
	uint64_t units;
	uint32_t part;

	if (signbit(value) || !(value < 1e7))
		return p + snprintf(p, FRAG_NUMBER_ROOM, "%.4f", value);
	units = frag_scaled(value, 1e4, 4);
	part = (uint32_t)(units % 10000);
	p = frag_put_u64(p, units / 10000);
	*p++ = '.';
	*p++ = (char)('0' + part / 1000);
	*p++ = (char)('0' + part / 100 % 10);
	*p++ = (char)('0' + part / 10 % 10);
	*p++ = (char)('0' + part % 10);
	return p;
}

double frag_fixed4(double value)
{
	char text[FRAG_NUMBER_ROOM];

	*frag_put_fixed4(text, value) = '\0';
	return strtod(text, NULL);
}

char *frag_put_double(char *p, double value)
{
	int length = 0;

	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value && !signbit(value))
		return frag_put_u64(p, (uint64_t)value);
	for (int digits = 15; digits <= 17; digits++) {
		length = snprintf(p, FRAG_NUMBER_ROOM, "%.*g", digits, value);
		if (strtod(p, NULL) == value)
			break;
	}
	return p + length;
}

static char *put_escape(char *p, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";

	*p++ = '\\';
	*p++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*p++ = hex[unit >> shift & 15];
	return p;
}

/*
 * One code point of UTF-8 from *s on; moves *s behind it. A byte that begins
 * none (in a file's name, say) counts as U+FFFD.
 */
static uint32_t code_point(const unsigned char **s, const unsigned char *end)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *q = *s;
	int more = q[0] >= 0xf0 ? 3 : q[0] >= 0xe0 ? 2 : 1;
	uint32_t code = q[0] & (0x3fU >> more);

	(*s)++;
	if (q[0] < 0xc2 || q[0] > 0xf4 || end - q <= more)
		return 0xfffd;
	for (int i = 1; i <= more; i++) {
		if ((q[i] & 0xc0) != 0x80)
			return 0xfffd;
		code = code << 6 | (q[i] & 0x3fU);
	}
	/* written longer than need be, a surrogate, or beyond Unicode */
	if (code < least[more] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0xfffd;
	*s += more;
	return code;
}

char *frag_put_json(char *p, const char *text, size_t length)
{
	static const char short_forms[] = "b\bf\fn\nr\rt\t\"\"\\\\";
	const unsigned char *s = (const unsigned char *)text, *end = s + length;

	*p++ = '"';
	while (s < end) {
		uint32_t code = *s;
		const char *form = NULL;

		for (const char *f = short_forms; *f && !form; f += 2)
			if ((unsigned char)f[1] == code)
				form = f;
		if (form) {
			*p++ = '\\';
			*p++ = *form;
			s++;
		} else if (code >= 0x20 && code < 0x7f) {
			*p++ = (char)code;
			s++;
		} else if (code < 0x80) {
			p = put_escape(p, code);
			s++;
		} else {
			code = code_point(&s, end);
			if (code >= 0x10000) {
				p = put_escape(p, 0xd800 + ((code - 0x10000) >> 10));
				code = 0xdc00 + (code & 0x3ff);
			}
			p = put_escape(p, code);
		}
	}
	*p++ = '"';
	return p;
}

char *frag_put_utf8(char *p, const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + length;

	while (s < end) {
		const unsigned char *from = s;
		uint32_t code = *s < 0x80 ? *s++ : code_point(&s, end);

		if (code == 0xfffd && s == from + 1) {
			memcpy(p, "\xef\xbf\xbd", 3);
			p += 3;
			continue;
		}
		memcpy(p, from, (size_t)(s - from));
		p += s - from;
	}
	return p;
}

char *frag_put_csv(char *p, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
			break;
	if (i == length) {
		memcpy(p, text, length);
		return p + length;
	}
	*p++ = '"';
	for (i = 0; i < length; i++) {
		if (text[i] == '"')
			*p++ = '"';
		*p++ = text[i];
	}
	*p++ = '"';
	return p;
}

char *frag_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	double size = (double)bytes;

	if (bytes <= UINT64_C(1) << 10)
		snprintf(buf, FRAG_NUMBER_ROOM, "%llu bytes", (unsigned long long)bytes);
	else if (bytes <= UINT64_C(1) << 20)
		snprintf(buf, FRAG_NUMBER_ROOM, "%.2f KiB", size / 1024);
	else if (bytes <= UINT64_C(1) << 30)
		snprintf(buf, FRAG_NUMBER_ROOM, "%.2f MiB", size / 1048576);
	else
		snprintf(buf, FRAG_NUMBER_ROOM, "%.2f GiB", size / 1073741824);
	return buf;
}

char *frag_time_text(char buf[FRAG_NUMBER_ROOM], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	int unit = 0, decimals = 0;

	while (unit < 3 && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	if (unit && value < 99.95)
		decimals = value < 9.995 ? 2 : 1;
	snprintf(buf, FRAG_NUMBER_ROOM, "%.*f %s", decimals, value, units[unit]);
	return buf;
}
