/* wrap.c - text in lines of a terminal. */
#include "base/wrap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
