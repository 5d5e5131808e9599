/*
 * format.c - numbers and strings as fragsim writes them, into memory; printf and strtod as the C
 * locale has them; text from outside as it may be shown; lines of a terminal.
 */
#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"

static locale_t c_locale;

/* glibc and musl have this locale ready: it is never allocated or freed. */
static void find_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t frag_locale_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_c_locale);
	return uselocale(c_locale);
}

/* A name in parentheses calls the function that banned.h poisons for all other files. */
double frag_strtod(const char *text, char **end)
{
	const locale_t before = frag_locale_begin();
	const double value = (strtod)(text, end);

	uselocale(before);
	return value;
}

int frag_vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
	const locale_t before = frag_locale_begin();
	const int length = (vsnprintf)(buf, size, format, args);

	uselocale(before);
	return length;
}

int frag_snprintf(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = frag_vsnprintf(buf, size, format, args);
	va_end(args);
	return length;
}

int frag_fprintf(FILE *f, const char *format, ...)
{
	const locale_t before = frag_locale_begin();
	va_list args;
	int length;

	va_start(args, format);
	length = vfprintf(f, format, args);
	va_end(args);
	uselocale(before);
	return length;
}

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
static bool is_ci_command(const char *begin, const char *bracket)
{
	const char *p = bracket;

	while (p > begin && ((p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= 'A' && p[-1] <= 'Z')))
		p--;
	return p - begin >= 2 && p[-1] == '#' && p[-2] == '#';
}

/* \u0041: a unit of UTF-16 as JSON escapes it. */
static char *put_utf16(char *p, uint32_t unit)
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
			   && (code != '[' || !is_ci_command(text, s))) {
			*p++ = (char)code;
			s++;
		} else if (code < 0x80) {
			p = put_utf16(p, code);
			s++;
		} else {
			code = frag_code_point(&s, end);
			if (code >= 0x10000) {
				p = put_utf16(p, 0xd800 + ((code - 0x10000) >> 10));
				code = 0xdc00 + (code & 0x3ff);
			}
			p = put_utf16(p, code);
		}
	}
	*p++ = '"';
	return p;
}

char *frag_new_json(const char *text, size_t length)
{
	char *json = malloc(length * 6 + 3), *end, *fitting;

	if (!json)
		return NULL;
	end = frag_put_json(json, text, length);
	*end = '\0';
	fitting = realloc(json, (size_t)(end - json) + 1);
	return fitting ? fitting : json;
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

char *frag_size_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	if (bytes >= 1024)
		return size_text(buf, (double)bytes);
	snprintf(buf, FRAG_NUMBER_ROOM, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
	return buf;
}

char *frag_capacity_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB" };
	uint32_t unit = 0;

	for (; unit < 2 && bytes && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu64 " %s", bytes, names[unit]);
	return buf;
}

char *frag_device_text(char buf[FRAG_NUMBER_ROOM], uint64_t bytes)
{
	return bytes % (UINT64_C(1) << 20) ? frag_size_text(buf, bytes)
					   : frag_capacity_text(buf, bytes);
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

/* Most that a code point becomes: \u2028 */
#define ESCAPE_MAX 6

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029
	       || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* What a reader of logs may take away from the beginning of a line. */
static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a)
	       || code == 0x202f || code == 0x205f || code == 0x3000;
}

static size_t put_unit(char *to, uint32_t code)
{
	static const char short_forms[] = "\nn\rr\tt";

	for (const char *f = short_forms; *f; f += 2) {
		if ((uint32_t)*f == code) {
			to[0] = '\\';
			to[1] = f[1];
			return 2;
		}
	}
	return (size_t)(put_utf16(to, code) - to);
}

struct walk {
	const char *begin, *at, *end;
	bool leading;                   /* nothing but blanks yet */
};

static struct walk walk_over(const char *text, size_t length)
{
	return (struct walk){ .begin = text, .at = text, .end = text + length, .leading = true };
}

/* The next character: itself, or its escape. How many bytes that are. */
static size_t escape_step(struct walk *w, char to[ESCAPE_MAX])
{
	const char *from = w->at;
	const bool leading = w->leading;
	const unsigned char byte = (unsigned char)*from;
	const uint32_t code = byte < 0x80 ? (w->at++, byte) : frag_code_point(&w->at, w->end);
	const size_t length = (size_t)(w->at - from);

	w->leading = leading && is_blank(code);
	if (length == 1 && byte >= 0x80)
		return (size_t)snprintf(to, ESCAPE_MAX, "\\x%02x", byte);
	if (is_control(code))
		return put_unit(to, code);
	/* what we print after it may begin with the second colon */
	if (code == ':' && leading && (w->at == w->end || *w->at == ':'))
		return put_unit(to, code);
	if (code == '[' && is_ci_command(w->begin, from))
		return put_unit(to, code);
	memcpy(to, from, length);
	return length;
}

char *frag_put_printable(char *p, const char *text, size_t length)
{
	struct walk w = walk_over(text, length);

	while (w.at < w.end)
		p += escape_step(&w, p);
	return p;
}

static bool escape_is_plain(const char *text, size_t length)
{
	struct walk w = walk_over(text, length);
	char one[ESCAPE_MAX];

	while (w.at < w.end) {
		const char *from = w.at;
		const size_t n = escape_step(&w, one);

		if (n != (size_t)(w.at - from) || memcmp(one, from, n) != 0)
			return false;
	}
	return true;
}

/* Writes whole characters and escapes only, as many as fit. */
static void put_truncated(char *buf, size_t size, const char *text)
{
	struct walk w = walk_over(text, strlen(text));
	char one[ESCAPE_MAX];
	size_t used = 0;

	while (w.at < w.end) {
		const size_t n = escape_step(&w, one);

		if (used + n >= size)
			break;
		memcpy(buf + used, one, n);
		used += n;
	}
	buf[used] = '\0';
}

const char *frag_printable(char buf[FRAG_PRINTABLE_ROOM], const char *text)
{
	if (escape_is_plain(text, strlen(text)))
		return text;
	put_truncated(buf, FRAG_PRINTABLE_ROOM, text);
	return buf;
}

void frag_vformat_printable(char *buf, size_t size, const char *format, va_list args)
{
	char raw[4096];

	frag_vsnprintf(raw, sizeof(raw), format, args);
	put_truncated(buf, size, raw);
}

void frag_format_printable(char *buf, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	frag_vformat_printable(buf, size, format, args);
	va_end(args);
}

/* Is the text after a space the unit of the number before it? */
static bool is_unit(const char *text)
{
	static const char *const units[] = {
		"bytes", "byte", "KiB", "MiB", "GiB", "TiB", "PiB", "%", NULL,
	};

	for (uint32_t i = 0; units[i]; i++) {
		const size_t n = strlen(units[i]);

		if (strncmp(text, units[i], n) == 0 && !strchr("abcdefghijklmnopqrstuvwxyz",
							       text[n] ? text[n] : ' '))
			return true;
	}
	return false;
}

/* Bytes of a sequence that changes the colour; 0: none is there. */
static size_t colour_at(const char *text)
{
	return text[0] == '\033' && text[1] == '[' ? strcspn(text, "m") + 1 : 0;
}

size_t frag_wrap(const char *text, size_t columns)
{
	size_t end = 0, used = 0, n = 0;

	while (text[n]) {
		const size_t colour = colour_at(text + n);

		if (colour) {
			n += colour;
			continue;
		}
		if (text[n] == ' ' && n && !(frag_is_digit(text[n - 1]) && is_unit(text + n + 1)))
			end = n;
		if (used == columns)
			return end ? end : n;
		used++;
		n++;
	}
	return n;
}

const char *frag_short_name(const char *json, char buf[FRAG_SHORT_NAME])
{
	const size_t length = strlen(json);
	size_t n = 0;

	if (length < FRAG_SHORT_NAME)
		return memcpy(buf, json, length + 1);
	for (;;) {
		const size_t unit = json[n] != '\\' ? 1 : json[n + 1] == 'u' ? 6 : 2;

		if (n + unit > FRAG_SHORT_NAME - sizeof("...\""))
			break;
		n += unit;
	}
	memcpy(buf, json, n);
	memcpy(buf + n, "...\"", sizeof("...\""));
	return buf;
}

char *frag_put_shell_word(char *p, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./@%";
	const bool quoted = !*word || word[strspn(word, plain)];

	p = stpcpy(p, quoted ? "'" : "");
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			p = stpcpy(p, "'\\''");
		else
			*p++ = *c;
	return stpcpy(p, quoted ? "'" : "");
}
