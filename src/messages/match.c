/* match.c - strips white space from any bytes, and matches patterns in the result. */
#include "messages/match.h"

#include <string.h>

#include "base/format.h"
#include "base/parse.h"

/* What may be under way between two bytes. */
enum { IN_TEXT, IN_ESCAPE, IN_SEQUENCE, IN_TITLE, AFTER_BACKSLASH, IN_ESCAPED, AFTER_C2 };

#define ESCAPE 0x1b
#define BELL 0x07
#define STEP_MOST 8             /* bytes of text that one byte may bring */

static void strip_whitespace_put(struct frag_stripped_text *to, unsigned char byte)
{
	/* prefixes of quotes and comments before each line are not part of the text */
	if (to->fresh && byte && strchr(">#|*", byte))
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
	case '"':
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

void frag_stripped_end(struct frag_stripped_text *to)
{
	if (to->used + STEP_MOST <= to->capacity) {
		if (to->state == AFTER_BACKSLASH || to->state == IN_ESCAPED)
			put_held(to);
		else if (to->state == AFTER_C2)
			strip_whitespace_put(to, 0xc2);
	}
	to->state = IN_TEXT;
}

#define HEAD_MOST 512           /* bytes of a line that may stand before a message */
#define BRACKET_MOST 48
#define MARKS_MOST 24
#define DIGITS_MOST 18          /* more is no valid number */
#define BYTES_MAX ((UINT64_C(1) << 53) - 1)

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
		if (first[i] != here[i] && !(frag_is_digit(first[i]) && frag_is_digit(here[i])))
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

	while (frag_is_digit(peek(c)) && (across || !digits || !c->in->begins[c->at])) {
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
	{ "B", 0 }, { "K", 10 }, { "M", 20 }, { "G", 30 },      /* of XLA and TensorFlow */
	{ NULL, 0 }
};

/* The bytes behind the cursor, `most` at most. */
static size_t least_bytes(const struct frag_cursor *c, size_t most)
{
	return c->in->used - c->at < most ? c->in->used - c->at : most;
}

static const struct unit *match_unit(struct frag_cursor *c)
{
	for (const struct unit *unit = units; unit->name; unit++) {
		struct frag_cursor behind = *c;
		const char *p = unit->name;

		while (*p && peek(&behind) == *p) {
			behind.at++;
			p++;
		}
		/* a letter alone is no unit where a word begins with it */
		if (!*p && (unit->name[1] || !frag_is_letter(peek(&behind)) || unit->name[0] == 'B'
			    || strncmp(c->in->text + behind.at, "free", least_bytes(&behind, 4)) == 0)) {
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

	return c->in->used - c->at > 3 && p[0] == ',' && frag_is_digit(p[1])
	       && frag_is_digit(p[2]) && frag_is_digit(p[3]);
}

/* "1900,00 MiB": one or two digits, and a unit. */
static bool is_decimal_comma(const struct frag_cursor *c)
{
	const char *p = c->in->text + c->at;
	const size_t digits = c->in->used - c->at > 3 && frag_is_digit(p[1]) ? 1 + frag_is_digit(p[2]) : 0;

	return digits && c->in->used - c->at > digits + 2
	       && strchr("KMGT", p[digits + 1]) && strchr("iB", p[digits + 2]);
}

/* The digits of a number on their way. */
struct number {
	uint64_t digits;
	unsigned count, decimals;
	bool point;
};

/* Digits beyond the length of any size are skipped, so that the text after them is read. */
static void add_digit(struct number *n, char byte)
{
	n->digits = n->count < DIGITS_MOST ? n->digits * 10 + (uint64_t)(byte - '0') : 0;
	n->count += n->count <= DIGITS_MOST;
	n->decimals += n->point && n->decimals <= DIGITS_MOST;
}

/*
 * The nearest integer, and the largest error: half of the last printed digit. A number too
 * large for a size is skipped, and marked as absent.
 */
static struct frag_message_value figure(const struct number *n, unsigned shift)
{
	const frag_wide unit = (frag_wide)1 << shift;
	frag_wide scale = 1, bytes;
	bool fits = n->count <= DIGITS_MOST;

	for (unsigned i = 0; i < n->decimals && n->decimals <= DIGITS_MOST; i++)
		scale *= 10;
	bytes = (n->digits * unit * 2 + scale) / (2 * scale);
	fits = fits && bytes <= BYTES_MAX;
	return (struct frag_message_value){
		.bytes = fits ? (uint64_t)bytes : 0,
		.error = shift ? (uint64_t)((unit + scale) / (2 * scale)) : 0,
		.there = fits,
	};
}

/* A number with its unit. */
static bool match_size(struct frag_cursor *c, struct frag_message_value *size)
{
	struct number n = { .count = 0 };
	const struct unit *unit;

	for (;; c->at++) {
		const char byte = peek(c);

		if (frag_is_digit(byte))
			add_digit(&n, byte);
		else if (byte == '.' && n.count && !n.point)
			n.point = true;
		else if (byte == ',' && n.count && !n.point && is_decimal_comma(c))
			n.point = true;
		else if (byte != ',' || n.point || !n.count || !is_group(c))
			break;
	}
	unit = n.count ? match_unit(c) : NULL;
	if (!unit)
		return false;
	*size = figure(&n, unit->shift);
	return true;
}

static bool match_letters(struct frag_cursor *c)
{
	const size_t from = c->at;

	while (frag_is_letter(peek(c)))
		c->at++;
	return c->at > from;
}

/* Skips punctuation, as much as one message can contain. */
static void pass_marks(struct frag_cursor *cursor)
{
	for (int i = 0; i < MARKS_MOST; i++) {
		const char byte = peek(cursor);

		if (!byte || !strchr(".,;:()`*-#>|\"'\\/", byte))
			break;
		cursor->at++;
	}
}

/* A number of bytes, or of what it is of: GiB, without its unit. */
static bool match_bare(struct frag_cursor *c, unsigned shift, struct frag_message_value *size)
{
	struct number n = { .count = 0 };

	for (; !n.count || c->at >= c->in->used || !c->in->begins[c->at]; c->at++) {
		const char byte = peek(c);

		if (frag_is_digit(byte))
			add_digit(&n, byte);
		else if (byte == '.' && shift && n.count && !n.point)
			n.point = true;
		else
			break;
	}
	*size = figure(&n, shift);
	return n.count > 0;
}

/* TensorFlow's names of types. */
static const struct {
	const char *name;
	uint64_t bytes;
} types[] = {
	{ "float", 4 }, { "double", 8 }, { "half", 2 }, { "bfloat16", 2 }, { "int8", 1 },
	{ "uint8", 1 }, { "int16", 2 }, { "uint16", 2 }, { "int32", 4 }, { "uint32", 4 },
	{ "int64", 8 }, { "uint64", 8 }, { "bool", 1 }, { "complex64", 8 }, { "complex128", 16 },
};

#define DIMENSIONS_MAX 32

/* "[64,3,7]andtypefloaton/job:": the product is what was requested. */
static bool match_tensor(struct frag_cursor *c, struct frag_message_value *size)
{
	frag_wide bytes = 1;
	uint64_t dimension;

	if (!frag_match(c, "[", NULL, NULL))
		return false;
	for (int i = 0; i < DIMENSIONS_MAX && frag_match(c, "%N", NULL, &dimension); i++) {
		bytes = dimension > BYTES_MAX ? (frag_wide)BYTES_MAX + 1 : bytes * dimension;
		if (bytes > BYTES_MAX)
			bytes = (frag_wide)BYTES_MAX + 1;
		if (!frag_match(c, ",", NULL, NULL))
			break;
	}
	if (!frag_match(c, "]andtype", NULL, NULL))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct frag_cursor behind = *c;

		if (!frag_match(&behind, types[i].name, NULL, NULL) || !frag_match(&behind, "on/", NULL, NULL))
			continue;
		bytes *= types[i].bytes;
		*c = behind;
		*size = (struct frag_message_value){
			.bytes = bytes <= BYTES_MAX ? (uint64_t)bytes : 0, .there = bytes <= BYTES_MAX,
		};
		return true;
	}
	return false;
}

static bool match_signed(struct frag_cursor *c, struct frag_message_value *size)
{
	const bool negative = peek(c) == '-';

	c->at += negative;
	if (!match_size(c, size))
		return false;
	size->negative = negative && size->bytes;
	return true;
}

/* Digits and a point. */
static bool match_decimal(struct frag_cursor *c)
{
	const size_t from = c->at;

	while (frag_is_digit(peek(c)) || peek(c) == '.')
		c->at++;
	return c->at > from;
}

#define SKIPPED_MOST 400        /* bytes up to a text that is searched for */

/* Moves to the text of the pattern up to its next %. */
static bool skip_to(struct frag_cursor *c, const char *text)
{
	const size_t length = strcspn(text, "%");

	for (size_t i = c->at; i + length <= c->in->used && i - c->at < SKIPPED_MOST; i++)
		if (memcmp(c->in->text + i, text, length) == 0) {
			c->at = i;
			return true;
		}
	return false;
}

static bool is_size(char what)
{
	return what && strchr("sthbze", what);
}

static bool match_one_size(struct frag_cursor *c, char what, struct frag_message_value *size)
{
	switch (what) {
	case 't':               /* the true one is up to a unit larger */
		if (!match_size(c, size))
			return false;
		size->error *= 2;
		return true;
	case 'h':
		return match_bare(c, 30, size);
	case 'b':
		return match_bare(c, 0, size);
	case 'z':
		return match_signed(c, size);
	case 'e':
		return match_tensor(c, size);
	default:
		return match_size(c, size);
	}
}

/* Matches the token behind a %, but no size. Returns its length in the pattern; 0: no match. */
static size_t match_token(struct frag_cursor *c, const char *token, uint64_t *number)
{
	const bool same = token[1] && peek(c) == token[1];
	uint64_t ignored;

	if (!number)
		number = &ignored;
	switch (*token) {
	case 'o':
		c->at += same;
		return 2;
	case '!':
		return same ? 0 : 2;
	case '?':
		return skip_to(c, token + 1);
	case 'n':
	case 'N':
		return match_number(c, *token == 'N', number);
	case 'm':
		return match_number(c, false, &ignored) && ignored;
	case 'd':
		return match_decimal(c);
	case 'w':
		return match_letters(c) && match_number(c, false, number);
	case '~':
		pass_marks(c);
		return 1;
	case '%':
		if (peek(c) != '%')
			return 0;
		c->at++;
		return 1;
	default:
		return match_letters(c);
	}
}

#define TOLERANT_LEAST 8        /* one letter may be wrong in a text of at least N bytes */

bool frag_match(struct frag_cursor *cursor, const char *pattern, struct frag_message_value *size,
		uint64_t *number)
{
	struct frag_cursor c = *cursor, sure = c;
	bool optional = false, good = true, wrong = true, literal = true;

	while (*pattern && good) {
		if (literal && *pattern != '%')
			wrong = strcspn(pattern, "%") < TOLERANT_LEAST;
		literal = *pattern == '%';
		if (*pattern != '%') {
			const char byte = peek(&c);

			good = byte == *pattern
			       || (!wrong && frag_is_letter(byte) && frag_is_letter(*pattern));
			wrong |= byte != *pattern++;
			c.at += good;
		} else if (pattern[1] == '[') {
			optional = true;
			sure = c;
			pattern += 2;
		} else if (is_size(pattern[1])) {
			struct frag_message_value *to = size++;

			good = match_one_size(&c, pattern[1], to);
			to->there = good && to->there;
			pattern += 2;
		} else {
			const size_t length = match_token(&c, pattern + 1, number);

			good = length > 0;
			pattern += 1 + length;
		}
	}
	if (!good && !optional)
		return false;
	*cursor = good ? c : sure;
	return true;
}
