/* escape.c - text from outside, as it may be shown to people. Lines of a terminal. */
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/format.h"

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
	return (size_t)(frag_put_unit(to, code) - to);
}

static size_t escape_put_byte(char *to, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";

	memcpy(to, "\\x", 2);
	to[2] = hex[byte >> 4];
	to[3] = hex[byte & 15];
	return 4;
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
		return escape_put_byte(to, byte);
	if (is_control(code))
		return put_unit(to, code);
	/* what we print after it may begin with the second colon */
	if (code == ':' && leading && (w->at == w->end || *w->at == ':'))
		return put_unit(to, code);
	if (code == '[' && frag_is_ci_command(w->begin, from))
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

static bool wrap_is_digit(char c)
{
	return c >= '0' && c <= '9';
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
		if (text[n] == ' ' && n && !(wrap_is_digit(text[n - 1]) && is_unit(text + n + 1)))
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
