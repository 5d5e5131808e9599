/* format.c - numbers and strings as fragsim writes them, into memory. */
#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/c_locale.h"
#include "base/escape.h"

/* How many digits: the number of bits says it, except one. */
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
	const uint32_t min = bits * 1233 >> 12;         /* log10(2) is 0.30103 */

	return min + (value >= powers[min]);
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

char *frag_put_wide(char *p, frag_wide value)
{
	const uint64_t unit = UINT64_C(10000000000000000000);
	const uint64_t low = (uint64_t)(value % unit);

	if (value <= UINT64_MAX)
		return frag_put_u64(p, (uint64_t)value);
	p = frag_put_wide(p, value / unit);
	memset(p, '0', 19);
	p += 19;
	frag_put_u64(p - count_digits(low), low);
	return p;
}

uint64_t frag_scaled_tie(double value, int decimals)
{
	char text[64];
	char *point;

	FRAG_ASSERT(value >= 0 && value <= 1e7 && decimals > 0);
	frag_snprintf(text, sizeof(text), "%.*f", decimals, value);
	point = strchr(text, '.');
	memmove(point, point + 1, strlen(point));
	return strtoull(text, NULL, 10);
}

char *frag_put_fixed4(char *p, double value)
{
	uint64_t units;
	uint32_t part;

	if (signbit(value) || !(value < 1e7))
		return p + frag_snprintf(p, FRAG_NUMBER_ROOM, "%.4f", value);
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
	return frag_strtod(text, NULL);
}

char *frag_put_double(char *p, double value)
{
	int length = 0;

	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value && !signbit(value))
		return frag_put_u64(p, (uint64_t)value);
	for (int digits = 15; digits <= 17; digits++) {
		length = frag_snprintf(p, FRAG_NUMBER_ROOM, "%.*g", digits, value);
		if (frag_strtod(p, NULL) == value)
			break;
	}
	return p + length;
}

/* "##[" and "##vso[", wherever in a line: the bracket is what can be escaped. */
bool frag_is_ci_command(const char *begin, const char *bracket)
{
	const char *p = bracket;

	while (p > begin && ((p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= 'A' && p[-1] <= 'Z')))
		p--;
	return p - begin >= 2 && p[-1] == '#' && p[-2] == '#';
}

char *frag_put_unit(char *p, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";

	*p++ = '\\';
	*p++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*p++ = hex[unit >> shift & 15];
	return p;
}

/*
 * Table 3-7 of Unicode's chapter 3. On any flaw one byte alone is consumed, so
 * that decoding finds its way back at the next one.
 */
uint32_t frag_code_point(const char **s, const char *end)
{
	static const uint32_t min[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *q = (const unsigned char *)*s;
	int more = q[0] >= 0xf0 ? 3 : q[0] >= 0xe0 ? 2 : 1;
	uint32_t code = q[0] & (0x3fU >> more);

	FRAG_ASSERT(*s < end && (unsigned char)**s >= 0x80);
	(*s)++;
	if (q[0] < 0xc2 || q[0] > 0xf4 || end - *s < more)
		return 0xfffd;
	for (int i = 1; i <= more; i++) {
		if ((q[i] & 0xc0) != 0x80)
			return 0xfffd;
		code = code << 6 | (q[i] & 0x3fU);
	}
	/* written longer than need be, a surrogate, or beyond Unicode */
	if (code < min[more] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0xfffd;
	*s += more;
	return code;
}

/* A text of no bytes may be NULL, to which C adds not even 0. */
static const char *format_end_of(const char *text, size_t length)
{
	return length ? text + length : text;
}

/*
 * The output is ASCII for any text, so no reader can mistake its encoding. A code point above
 * U+FFFF becomes a pair of surrogates.
 */
char *frag_put_json(char *p, const char *text, size_t length)
{
	static const char short_forms[] = "b\bf\fn\nr\rt\t\"\"\\\\";
	const char *s = text, *end = format_end_of(s, length);

	*p++ = '"';
	while (s < end) {
		uint32_t code = (unsigned char)*s;
		const char *form = NULL;

		for (const char *f = short_forms; *f && !form; f += 2)
			if ((unsigned char)f[1] == code)
				form = f;
		if (form) {
			*p++ = '\\';
			*p++ = *form;
			s++;
		} else if (code >= 0x20 && code < 0x7f
			   && (code != '[' || !frag_is_ci_command(text, s))) {
			*p++ = (char)code;
			s++;
		} else if (code < 0x80) {
			p = frag_put_unit(p, code);
			s++;
		} else {
			code = frag_code_point(&s, end);
			if (code >= 0x10000) {
				p = frag_put_unit(p, 0xd800 + ((code - 0x10000) >> 10));
				code = 0xdc00 + (code & 0x3ff);
			}
			p = frag_put_unit(p, code);
		}
	}
	*p++ = '"';
	return p;
}

char *frag_put_utf8(char *p, const char *text, size_t length)
{
	const char *s = text, *end = format_end_of(s, length);

	while (s < end) {
		const char *from = s;
		uint32_t code = (unsigned char)*s < 0x80 ? (unsigned char)*s++
							 : frag_code_point(&s, end);

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

/* RFC 4180: quotes only where a field needs them, and each quote inside twice. */
char *frag_put_csv(char *p, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
			break;
	if (i == length) {
		if (length)
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

/* Two decimals; a value that rounds up to 1024 is printed in the next unit. */
static char *size_text(char buf[FRAG_NUMBER_ROOM], double size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", NULL };
	uint32_t unit = 0;

	for (size /= 1024; size >= 1023.995 && units[unit + 1]; unit++)
		size /= 1024;
	frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f %s", size, units[unit]);
	return buf;
}

char *frag_exact_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	size_t unit = 0;

	for (; unit < 3 && bytes && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 "%s", bytes, units[unit]);
	return buf;
}

char *frag_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	if (bytes >= 1024)
		return size_text(buf, (double)bytes);
	snprintf(buf, FRAG_NUMBER_ROOM, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
	return buf;
}

char *frag_wide_size_text(char buf[FRAG_NUMBER_ROOM], frag_wide bytes)
{
	return bytes <= UINT64_MAX ? frag_size_text(buf, (uint64_t)bytes)
				   : size_text(buf, (double)bytes);
}

char *frag_capacity_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB" };
	uint32_t i = 0;

	while (i < 2 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 " %s", bytes, units[i]);
	return buf;
}

char *frag_device_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	return bytes % (UINT64_C(1) << 20) ? frag_size_text(buf, bytes)
					   : frag_capacity_text(buf, bytes);
}

char *frag_pytorch_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	double size = (double)bytes;

	if (bytes <= UINT64_C(1) << 10)
		snprintf(buf, FRAG_NUMBER_ROOM, "%llu bytes", (unsigned long long)bytes);
	else if (bytes <= UINT64_C(1) << 20)
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f KiB", size / 1024);
	else if (bytes <= UINT64_C(1) << 30)
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f MiB", size / 1048576);
	else
		frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.2f GiB", size / 1073741824);
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
	frag_snprintf(buf, FRAG_NUMBER_ROOM, "%.*f %s", decimals, value, units[unit]);
	return buf;
}
