/* lasting.c - marks that repeat, but for the numbers in their names. */
#include "events/lasting.h"

#include <stdlib.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

char *frag_mark_kind(const char *name, size_t length)
{
	char *kind = malloc(length + 1), *p = kind;

	for (size_t i = 0; kind && i < length; i++)
		if (!is_digit(name[i]))
			*p++ = name[i] ? name[i] : ' ';
		else if (!i || !is_digit(name[i - 1]))
			*p++ = '#';
	if (kind)
		*p = '\0';
	return kind;
}
