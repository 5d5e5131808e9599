/* match.c - matches patterns in a text without white space. */
#include "messages/match.h"

#include <string.h>

#include "base/format.h"
#include "base/parse.h"

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

#define RANK "[rank"

static size_t digits_at(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && frag_is_digit(text[i]))
		i++;
	return i;
}

/*
 * Where the line behind this one begins, if this one is of a rank that the message's first line does
 * not name, and that one is not; else 0.
 */
static size_t behind_other_rank(const struct frag_cursor *c)
{
	const size_t length = sizeof(RANK) - 1, left = c->in->used - c->at;
	const char *here = c->in->text + c->at, *first = c->in->text + c->head;
	const size_t name = left > length && memcmp(here, RANK, length) == 0
			    ? length + digits_at(here + length, left - length) : 0;
	size_t behind;

	if (!name || left <= name || here[name] != ']')
		return 0;
	for (size_t i = 0; i + name < c->body - c->head; i++)
		if (memcmp(first + i, here, name + 1) == 0)
			return 0;
	behind = frag_line_behind(c->in, c->at);
	if (c->in->used - behind <= name || memcmp(c->in->text + behind, here, name) == 0)
		return 0;
	return behind;
}

/* The byte at the cursor; 0 behind the last one. */
static char peek(struct frag_cursor *c)
{
	if (c->at < c->in->used && c->at > c->body && c->in->begins[c->at] && c->at != c->passed
	    && c->in->text[c->at] == '[') {
		const size_t behind = behind_other_rank(c);

		c->at = behind ? behind : c->at;
	}
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
	{ "KB", 10 }, { "kB", 10 }, { "MB", 20 }, { "GB", 30 }, { "TB", 40 },
	{ "B", 0 }, { "K", 10 }, { "M", 20 }, { "G", 30 },      /* of XLA and TensorFlow */
	{ NULL, 0 }
};

/* The bytes behind the cursor, `most` at most. */
static size_t least_bytes(const struct frag_cursor *c, size_t most)
{
	return c->in->used - c->at < most ? c->in->used - c->at : most;
}

/* XLA writes "1.05G free", "19.47G of 15.75G hbm" and "12.15G at the bottom". */
static bool is_word_behind(const struct frag_cursor *c)
{
	static const char *const words[] = { "free", "of", "hbm", "atthe", "reserv" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (least_bytes(c, strlen(words[i])) == strlen(words[i])
		    && memcmp(c->in->text + c->at, words[i], strlen(words[i])) == 0)
			return true;
	return false;
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
		if (!*p && (unit->name[1] || !frag_is_letter(peek(&behind)) || behind.in->begins[behind.at]
			    || unit->name[0] == 'B' || is_word_behind(&behind))) {
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
		.huge = !fits,
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

/* "95.44%": 9544. */
static bool match_percent(struct frag_cursor *c, uint64_t *hundredths)
{
	uint64_t whole, part = 0;
	size_t from;

	if (!match_number(c, false, &whole) || whole > 1000)
		return false;
	if (peek(c) == '.') {
		from = ++c->at;
		match_number(c, false, &part);
		for (size_t i = c->at - from; i > 2; i--)
			part /= 10;
		if (c->at - from == 1)
			part *= 10;
	}
	if (peek(c) != '%')
		return false;
	c->at++;
	*hundredths = 100 * whole + part;
	return true;
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
	return what && strchr("sthMbze", what);
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
	case 'M':
		return match_bare(c, 20, size);
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
	case 'p':
		return match_percent(c, number);
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

size_t frag_line_text(const struct frag_stripped_text *in, size_t at, char *to, size_t room)
{
	size_t i = frag_cursor_at(in, at).head, used = 0;
	const size_t first = i;

	for (; i < in->used && used + 2 < room && (i == first || !in->begins[i]); i++) {
		if (i > first && in->line[i] & 1)
			to[used++] = ' ';
		to[used++] = in->text[i];
	}
	to[used] = '\0';
	return used;
}

size_t frag_line_behind(const struct frag_stripped_text *in, size_t at)
{
	const bool *p = at + 1 < in->used ? memchr(in->begins + at + 1, 1, in->used - at - 1) : NULL;

	return p ? (size_t)(p - in->begins) : in->used;
}

#define BEFORE_MOST 300         /* squeezed bytes of a message that stand before its words */

int frag_read_pieces(struct frag_cursor *c, const struct frag_piece *pieces, struct frag_message *m)
{
	const struct frag_piece *piece;
	int count = 0;

	do {
		struct frag_cursor next = *c;
		struct frag_message_value size = { .there = false };
		uint64_t number = UINT64_MAX;

		frag_match(&next, "%~", NULL, NULL);
		for (piece = pieces; piece->pattern; piece++)
			if (frag_match(&next, piece->pattern, &size, &number))
				break;
		if (!piece->pattern)
			break;
		frag_message_note(m, piece->said, size);
		if (number < FRAG_NO_GPU && m->gpu == FRAG_NO_GPU
		    && strchr(piece->pattern, '%')[1] == 'w')
			m->gpu = (uint32_t)number;
		*c = next;
		count++;
	} while (piece->pattern);
	return count;
}

bool frag_text_ends_with(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	return at >= length && memcmp(in->text + at - length, words, length) == 0;
}

size_t frag_text_behind(const struct frag_stripped_text *in, size_t at, size_t limit, const char *words)
{
	const size_t length = strlen(words);
	const char *p;

	for (; at + length <= limit; at++) {
		p = memchr(in->text + at, *words, limit - length + 1 - at);
		if (!p)
			break;
		at = (size_t)(p - in->text);
		if (memcmp(p, words, length) == 0)
			return at;
	}
	return SIZE_MAX;
}

size_t frag_text_before(const struct frag_stripped_text *in, size_t at, const char *words)
{
	const size_t length = strlen(words);

	for (size_t i = at < length ? SIZE_MAX : at - length;
	     i != SIZE_MAX && at - i <= BEFORE_MOST; i--)
		if (memcmp(in->text + i, words, length) == 0)
			return i;
	return SIZE_MAX;
}
