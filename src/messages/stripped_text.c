/* stripped_text.c - any bytes without white space, colours and markup. */
#include "messages/stripped_text.h"

#include <string.h>

#include "base/parse.h"

/* What may be under way between two bytes. */
enum { IN_TEXT, IN_ESCAPE, IN_SEQUENCE, IN_TITLE, AFTER_BACKSLASH, IN_ESCAPED, AFTER_C2, IN_NAME, IN_TAG,
       IN_ENTITY };

#define ESCAPE 0x1b
#define BELL 0x07
#define STEP_MOST 16            /* bytes of text that one byte may bring */

static void strip_whitespace_put(struct frag_stripped_text *to, unsigned char byte)
{
	/* prefixes of quotes and comments before each line are not part of the text */
	if (to->fresh && byte && strchr(">#|*", byte))
		return;
	to->text[to->used] = (char)byte;
	to->begins[to->used] = to->fresh;
	to->line[to->used++] = (uint32_t)to->lines << 1 | to->blank;
	to->fresh = false;
	to->blank = false;
}

/* NUL, blanks, line ends, what else cannot be seen, and what may begin something of that kind. */
static bool strip_whitespace_is_plain(unsigned char c)
{
	/* a bit for each of '&', '<', '\\', 0x7f and 0xc2 would not be faster than this table */
	static const bool other[256] = {
		['\\'] = true, [0x7f] = true, [0xc2] = true, ['<'] = true, ['&'] = true,
	};

	return c > ' ' && !other[c];
}

/* A byte that is text, white space, or the beginning of what is neither. Returns the next state. */
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
	case '<':
	case '&':
		to->held[0] = (char)c;
		to->held_count = 1;
		return c == '<' ? IN_NAME : IN_ENTITY;
	default:
		if (strip_whitespace_is_plain(c))
			strip_whitespace_put(to, c);
		else if (c)
			to->blank = true;
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
		to->blank = true;
		return IN_TEXT;
	case '"':
	case '\\':
		strip_whitespace_put(to, c);
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

/* The tags of HTML that texts are wrapped in, and whether a line ends there. */
static const struct {
	const char *name;
	bool line;
} tags[] = {
	{ "span", false }, { "br", true }, { "p", true }, { "pre", true }, { "div", true }, { "tr", true },
	{ "td", false }, { "th", false }, { "li", true }, { "b", false }, { "strong", false }, { "em", false },
	{ "i", false }, { "code", false }, { "font", false }, { "a", false }, { "table", true },
	{ "tbody", true }, { "html", true }, { "body", true }, { "u", false }, { "ul", true }, { "ol", true },
	{ "h1", true }, { "h2", true }, { "h3", true }, { "blockquote", true }, { "samp", false }, { "details", true },
	{ "summary", true },
};

#define TAG_MOST 400

/* Bytes that looked like HTML are text. */
static uint8_t put_held_html(struct frag_stripped_text *to, unsigned char c)
{
	for (uint8_t i = 0; i < to->held_count; i++)
		strip_whitespace_put(to, (unsigned char)to->held[i]);
	if (strip_whitespace_is_plain(c)) {
		strip_whitespace_put(to, c);
		return IN_TEXT;
	}
	return strip_whitespace_begin(to, c);
}

/* The name of a tag, until something ends it. */
static uint8_t in_name(struct frag_stripped_text *to, unsigned char c)
{
	const char *name = to->held + 1 + (to->held_count > 1 && to->held[1] == '/');
	const size_t length = (size_t)(to->held + to->held_count - name);

	if ((frag_is_letter((char)c) || frag_is_digit((char)c) || (c == '/' && to->held_count == 1))
	    && to->held_count < sizeof(to->held)) {
		to->held[to->held_count++] = (char)c;
		return IN_NAME;
	}
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		if (strlen(tags[i].name) != length || strncmp(tags[i].name, name, length) != 0
		    || !strchr("> /\t", c) || !c)
			continue;
		to->fresh |= tags[i].line;
		to->blank |= *name == 't';
		to->passed = 0;
		return c == '>' ? IN_TEXT : IN_TAG;
	}
	return put_held_html(to, c);
}

/* "&amp;": the byte that it stands for, when its end is there. */
static uint8_t in_entity(struct frag_stripped_text *to, unsigned char c)
{
	static const struct {
		const char *name;
		char byte;
	} entities[] = {
		{ "nbsp", ' ' }, { "#160", ' ' }, { "amp", '&' }, { "lt", '<' }, { "gt", '>' }, { "quot", '"' },
		{ "apos", '\'' }, { "#39", '\'' }, { "#x27", '\'' }, { "#34", '"' },
	};

	if ((frag_is_letter((char)c) || frag_is_digit((char)c) || c == '#') && to->held_count < 7) {
		to->held[to->held_count++] = (char)c;
		return IN_ENTITY;
	}
	for (size_t i = 0; c == ';' && i < sizeof(entities) / sizeof(*entities); i++) {
		if (strlen(entities[i].name) != to->held_count - 1U
		    || memcmp(entities[i].name, to->held + 1, to->held_count - 1U) != 0)
			continue;
		if (entities[i].byte == ' ')
			to->blank = true;
		else
			strip_whitespace_put(to, (unsigned char)entities[i].byte);
		return IN_TEXT;
	}
	return put_held_html(to, c);
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
		if (c == 0xa0) {
			to->blank = true;
			return IN_TEXT;
		}
		strip_whitespace_put(to, 0xc2);
		return strip_whitespace_begin(to, c);
	case IN_ESCAPED:
		return in_escaped(to, c);
	case IN_NAME:
		return in_name(to, c);
	case IN_TAG:
		return c == '>' || ++to->passed == TAG_MOST ? IN_TEXT : IN_TAG;
	case IN_ENTITY:
		return in_entity(to, c);
	default:
		return after_backslash(to, c);
	}
}

/* Adds bytes that begin no line and have no white space before them: most of a log. Returns how many. */
static size_t strip_whitespace_run(struct frag_stripped_text *to, const char *bytes, size_t n)
{
	const uint32_t line = (uint32_t)to->lines << 1;
	const size_t room = to->capacity - STEP_MOST - to->used;
	const size_t most = n < room ? n : room;
	size_t length = 0;

	while (length < most && strip_whitespace_is_plain((unsigned char)bytes[length])) {
		to->line[to->used + length] = line;
		length++;
	}
	memcpy(to->text + to->used, bytes, length);
	memset(to->begins + to->used, 0, length * sizeof(*to->begins));
	to->used += length;
	return length;
}

size_t frag_stripped_text(struct frag_stripped_text *to, const char *bytes, size_t n)
{
	size_t i = 0;

	for (; i < n && to->used + STEP_MOST <= to->capacity; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (to->state == IN_TEXT && !to->fresh && !to->blank) {
			i += strip_whitespace_run(to, bytes + i, n - i);
			if (i == n || to->used + STEP_MOST > to->capacity)
				break;
			to->state = strip_whitespace_begin(to, (unsigned char)bytes[i]);
		} else if (to->state != IN_TEXT)
			to->state = strip_whitespace_step(to, c);
		else if (strip_whitespace_is_plain(c))
			strip_whitespace_put(to, c);
		else
			to->state = strip_whitespace_begin(to, c);
	}
	return i;
}

void frag_stripped_end(struct frag_stripped_text *to)
{
	if (to->used + STEP_MOST <= to->capacity) {
		if (to->state == AFTER_BACKSLASH || to->state == IN_ESCAPED)
			put_held(to);
		else if (to->state == AFTER_C2)
			strip_whitespace_put(to, 0xc2);
		else if (to->state == IN_NAME || to->state == IN_ENTITY)
			put_held_html(to, ' ');
	}
	to->state = IN_TEXT;
}
