/* strip_whitespace.c - any bytes as text without white space. */
#include "messages/strip_whitespace.h"

/* What may be under way between two bytes. */
enum { IN_TEXT, IN_ESCAPE, IN_SEQUENCE, IN_TITLE, AFTER_BACKSLASH, IN_ESCAPED, AFTER_C2 };

#define ESCAPE 0x1b
#define BELL 0x07
#define STEP_MOST 8             /* bytes of text that one byte may bring */

/* Prefixes of quotes and comments before each line are not part of the text. */
static bool is_margin(unsigned char byte)
{
	return byte == '>' || byte == '#' || byte == '|' || byte == '*';
}

static void strip_whitespace_put(struct frag_stripped_text *to, unsigned char byte)
{
	if (to->fresh && is_margin(byte))
		return;
	to->text[to->used] = (char)byte;
	to->begins[to->used] = to->fresh;
	to->line[to->used++] = (uint32_t)to->lines;
	to->fresh = false;
}

/* NUL, blanks, line ends, what else cannot be seen, and what may begin something of that kind. */
static bool strip_whitespace_is_plain(unsigned char c)
{
	return c > ' ' && c != '\\' && c != 0x7f && c != 0xc2;
}

static uint8_t strip_whitespace_begin(struct frag_stripped_text *to, unsigned char c)
{
	switch (c) {
	case '\n':
		to->lines++;
		to->fresh = true;
		return IN_TEXT;
	case ESCAPE:
		return IN_ESCAPE;
	case '\\':
		return AFTER_BACKSLASH;
	case 0xc2:
		return AFTER_C2;
	default:
		if (strip_whitespace_is_plain(c))
			strip_whitespace_put(to, c);
		return IN_TEXT;
	}
}

/* The bytes that looked escaped are text. */
static void put_held(struct frag_stripped_text *to)
{
	strip_whitespace_put(to, '\\');
	for (uint8_t i = 0; to->state == IN_ESCAPED && i < to->matched; i++)
		strip_whitespace_put(to, (unsigned char)to->escaped[i]);
}

/*
 * Strings of JSON or Python escape line ends, tabs and the byte that begins a colour; a log of
 * such strings has the escapes.
 */
static uint8_t after_backslash(struct frag_stripped_text *to, unsigned char c)
{
	switch (c) {
	case 'n':
		to->fresh = true;
		return IN_TEXT;
	case 't':
	case 'r':
		return IN_TEXT;
	case 'u':
	case 'x':
		to->escaped = c == 'u' ? "u001b" : "x1b";
		to->matched = 1;
		return IN_ESCAPED;
	default:
		put_held(to);
		return strip_whitespace_begin(to, c);
	}
}

static uint8_t in_escaped(struct frag_stripped_text *to, unsigned char c)
{
	const char wanted = to->escaped[to->matched];

	if (c != (unsigned char)wanted && !(wanted == 'b' && c == 'B')) {
		put_held(to);
		return strip_whitespace_begin(to, c);
	}
	return to->escaped[++to->matched] ? IN_ESCAPED : IN_ESCAPE;
}

/* A byte in a state that is not IN_TEXT. Returns the next one. A line end ends them all. */
static uint8_t strip_whitespace_step(struct frag_stripped_text *to, unsigned char c)
{
	switch (to->state) {
	case IN_ESCAPE:         /* CSI, a command of the operating system, or two bytes in all */
		return c == '['	   ? IN_SEQUENCE
		       : c == ']'  ? IN_TITLE
		       : c == '\n' ? strip_whitespace_begin(to, c)
				   : IN_TEXT;
	case IN_SEQUENCE:
		if (c >= 0x20 && c < 0x40)
			return IN_SEQUENCE;
		return c >= 0x40 && c < 0x7f ? IN_TEXT : strip_whitespace_begin(to, c);
	case IN_TITLE:
		if (c == ESCAPE || c == '\n')
			return strip_whitespace_begin(to, c);
		return c == BELL || c == '\\' ? IN_TEXT : IN_TITLE;    /* or escaped itself */
	case AFTER_C2:          /* U+00A0 is a blank */
		if (c == 0xa0)
			return IN_TEXT;
		strip_whitespace_put(to, 0xc2);
		return strip_whitespace_begin(to, c);
	case IN_ESCAPED:
		return in_escaped(to, c);
	default:
		return after_backslash(to, c);
	}
}

size_t frag_stripped_text(struct frag_stripped_text *to, const char *bytes, size_t n)
{
	size_t i = 0;

	for (; i < n && to->used + STEP_MOST <= to->capacity; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (to->state != IN_TEXT)
			to->state = strip_whitespace_step(to, c);
		else if (strip_whitespace_is_plain(c))
			strip_whitespace_put(to, c);
		else
			to->state = strip_whitespace_begin(to, c);
	}
	return i;
}

void frag_squeeze_end(struct frag_stripped_text *to)
{
	if (to->used + STEP_MOST <= to->capacity) {
		if (to->state == AFTER_BACKSLASH || to->state == IN_ESCAPED)
			put_held(to);
		else if (to->state == AFTER_C2)
			strip_whitespace_put(to, 0xc2);
	}
	to->state = IN_TEXT;
}
