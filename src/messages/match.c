/* match.c - patterns in text that was squeezed. */
#include "messages/match.h"

#include <string.h>

#include "base/format.h"

#define HEAD_MOST 512           /* bytes of a line that may stand before a message */
#define BRACKET_MOST 48
#define MARKS_MOST 24
#define DIGITS_MOST 18          /* more is no valid number */
#define BYTES_MAX ((UINT64_C(1) << 53) - 1)

static bool match_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool match_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct frag_cursor frag_cursor_at(const struct frag_stripped_text *in, size_t at)
{
	struct frag_cursor cursor = { .in = in, .at = at, .head = at, .body = at };

	/* it may be after the last byte, which has no value */
	while (cursor.head > 0 && at - cursor.head < HEAD_MOST
	       && (cursor.head == in->used || !in->begins[cursor.head]))
		cursor.head--;
	cursor.passed = SIZE_MAX;
	return cursor;
}

/*
 * How much of a line is what a log puts before each: the bytes that its first line has before the
 * message, except digits, which count; up to a bracket or the like.
 */
static size_t prefix(const struct frag_cursor *c)
{
	const char *first = c->in->text + c->head, *here = c->in->text + c->at;
	const size_t most = c->body - c->head;
	size_t length = 0;

	for (size_t i = 0; i < most && c->at + i < c->in->used; i++) {
		if (first[i] != here[i] && !(match_is_digit(first[i]) && match_is_digit(here[i])))
			break;
		if (strchr("]:|>)", here[i]))
			length = i + 1;
	}
	return length;
}

/* [rank0]: or [1,12]<stderr>: where the first line has more before it. */
static size_t bracket(const struct frag_cursor *c)
{
	const char *here = c->in->text + c->at;
	const size_t most = c->in->used - c->at < BRACKET_MOST ? c->in->used - c->at : BRACKET_MOST;
	size_t length = 0;

	if (here[0] != '[')
		return 0;
	while (length < most && here[length] != ']')
		length++;
	for (size_t i = length; i < most && i <= length + sizeof("]<stderr>:"); i++)
		if (here[i] == ':')
			return i + 1;
	return 0;
}

/* The byte at the cursor; 0 behind the last one. */
static char peek(struct frag_cursor *c)
{
	if (c->at < c->in->used && c->in->begins[c->at] && c->at != c->passed && c->at > c->body) {
		const size_t shared = prefix(c);

		c->at += shared ? shared : bracket(c);
		c->passed = c->at;
	}
	return c->at < c->in->used ? c->in->text[c->at] : '\0';
}

/* across: the number may continue in the next line; otherwise a line starts another number. */
static bool match_number(struct frag_cursor *c, bool across, uint64_t *number)
{
	uint64_t value = 0;
	int digits = 0;

	while (match_is_digit(peek(c)) && (across || !digits || !c->in->begins[c->at])) {
		value = digits < DIGITS_MOST ? value * 10 + (uint64_t)(peek(c) - '0') : UINT64_MAX;
		digits += digits <= DIGITS_MOST;
		c->at++;
	}
	*number = value;
	return digits > 0;
}

/* The longer names first. Whoever says MB here means MiB: PyTorch on MPS, older TensorFlow. */
static const struct unit {
	const char *name;
	unsigned shift;
} units[] = {
	{ "bytes", 0 }, { "byte", 0 },
	{ "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "TiB", 40 },
	{ "KB", 10 }, { "MB", 20 }, { "GB", 30 }, { "TB", 40 },
	{ "B", 0 },
	{ NULL, 0 }
};

static const struct unit *match_unit(struct frag_cursor *c)
{
	for (const struct unit *unit = units; unit->name; unit++) {
		struct frag_cursor behind = *c;
		const char *p = unit->name;

		while (*p && peek(&behind) == *p) {
			behind.at++;
			p++;
		}
		if (!*p) {
			*c = behind;
			return unit;
		}
	}
	return NULL;
}

/* A comma stands between groups of three digits, or it is none of the number's. */
static bool is_group(const struct frag_cursor *c)
{
	const char *p = c->in->text + c->at;

	return c->in->used - c->at > 3 && p[0] == ',' && match_is_digit(p[1])
	       && match_is_digit(p[2]) && match_is_digit(p[3]);
}

/*
 * The nearest integer, and the largest error: half of the last printed digit. A number too
 * large for a size is skipped, and marked as absent.
 */
static struct frag_message_value figure(uint64_t digits, unsigned decimals, unsigned shift, bool fits)
{
	const frag_wide unit = (frag_wide)1 << shift;
	frag_wide scale = 1, bytes;

	while (decimals--)
		scale *= 10;
	bytes = (digits * unit * 2 + scale) / (2 * scale);
	return (struct frag_message_value){
		.bytes = fits && bytes <= BYTES_MAX ? (uint64_t)bytes : 0,
		.error = shift ? (uint64_t)((unit + scale) / (2 * scale)) : 0,
		.there = fits && bytes <= BYTES_MAX,
	};
}

/* Digits beyond the length of any size are skipped, so that the text after them is read. */
static bool match_size(struct frag_cursor *c, struct frag_message_value *size)
{
	uint64_t digits = 0;
	unsigned count = 0, decimals = 0;
	bool point = false;
	const struct unit *unit;

	for (;; c->at++) {
		const char byte = peek(c);

		if (match_is_digit(byte)) {
			digits = count < DIGITS_MOST ? digits * 10 + (uint64_t)(byte - '0') : 0;
			count += count <= DIGITS_MOST;
			decimals += point && decimals <= DIGITS_MOST;
		} else if (byte == '.' && count && !point) {
			point = true;
		} else if (byte != ',' || point || !count || !is_group(c)) {
			break;
		}
	}
	unit = count ? match_unit(c) : NULL;
	if (!unit)
		return false;
	*size = figure(digits, decimals <= DIGITS_MOST ? decimals : 0, unit->shift,
		       count <= DIGITS_MOST);
	return true;
}

static bool match_letters(struct frag_cursor *c)
{
	const size_t from = c->at;

	while (match_is_letter(peek(c)))
		c->at++;
	return c->at > from;
}

static bool match_one(struct frag_cursor *c, char what, struct frag_message_value *size,
		      uint64_t *number)
{
	uint64_t ignored;

	switch (what) {
	case 's':
		return match_size(c, size);
	case 'n':
	case 'N':
		return match_number(c, what == 'N', number ? number : &ignored);
	case 'w':
		return match_letters(c) && match_number(c, false, number ? number : &ignored);
	default:
		return match_letters(c);
	}
}

bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number)
{
	struct frag_cursor c = *cursor;

	for (; *pattern; pattern++) {
		if (*pattern == '%') {
			if (!match_one(&c, *++pattern, size, number))
				return false;
		} else if (peek(&c) != *pattern) {
			return false;
		} else {
			c.at++;
		}
	}
	*cursor = c;
	return true;
}

void frag_pass_marks(struct frag_cursor *cursor)
{
	for (int i = 0; i < MARKS_MOST; i++) {
		const char byte = peek(cursor);

		if (!byte || !strchr(".,;:()`*-#>|\"'\\/", byte))
			break;
		cursor->at++;
	}
}
