/* parse.c - sizes, numbers, words and names as people write them; suggestions; old names. */
#include "base/parse.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* At least one digit; false where the value passes 10^18. */
static bool parse_digits(const char **p, const char *end, uint64_t *value)
{
	const char *begin = *p;

	*value = 0;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		if (*value > UINT64_C(99999999999999999))
			return false;
		*value = *value * 10 + (uint64_t)(**p - '0');
	}
	return *p > begin;
}

/* Returns the shift of K, KiB, M, ..., or -1 where the text is no suffix. */
static int suffix(const char *p, const char *end)
{
	static const char letters[] = "KMGT";
	const char *at;

	if (p == end)
		return 0;
	at = memchr(letters, *p, 4);
	if (!at)
		return -1;
	p++;
	if (p != end && !(end - p == 2 && p[0] == 'i' && p[1] == 'B'))
		return -1;
	return 10 * (int)(at - letters + 1);
}

/*
 * Multiplies the digits after a point by 2^shift, if the product is whole: doubles them as on
 * paper; the carries form the product. n digits, the last not 0, need at least n doublings to
 * vanish.
 */
static bool times_power(const char *p, const char *end, int shift, uint64_t *out)
{
	unsigned char digit[40];
	int n;

	*out = 0;
	while (end > p && end[-1] == '0')
		end--;
	if (end - p > shift)
		return false;
	n = (int)(end - p);
	for (int i = 0; i < n; i++)
		digit[i] = (unsigned char)(p[i] - '0');
	for (; shift > 0; shift--) {
		unsigned carry = 0;

		for (int i = n - 1; i >= 0; i--) {
			unsigned twice = digit[i] * 2U + carry;

			carry = twice >= 10;
			digit[i] = (unsigned char)(twice - carry * 10);
		}
		*out = *out << 1 | carry;
	}
	for (int i = 0; i < n; i++)
		if (digit[i])
			return false;
	return true;
}

/*
 * All arithmetic is in integers, so no size is rounded: 1.5K is 1536 bytes; 0.3K is rejected
 * because it is not a whole number of bytes.
 */
bool frag_parse_size(const char *text, size_t length, bool fraction, uint64_t *out)
{
	const char *p = text, *end = text + length, *point;
	uint64_t whole, part;
	int shift;

	if (!parse_digits(&p, end, &whole))
		return false;
	point = p;
	if (fraction && p < end && *p == '.') {
		point = ++p;
		while (p < end && *p >= '0' && *p <= '9')
			p++;
		if (p == point)
			return false;
	}
	shift = suffix(p, end);
	if (shift < 0 || whole >= FRAG_SIZE_LIMIT >> shift || !times_power(point, p, shift, &part))
		return false;
	*out = (whole << shift) + part;
	return true;
}

/* The letter of a unit in either case, alone or with B, i or iB after it; 0: none. */
static char unit_of(const char *p, const char *end)
{
	static const char letters[] = "kmgtp";
	const char *at = p < end ? memchr(letters, *p | 0x20, sizeof(letters) - 1) : NULL;

	if (!at)
		return 0;
	p++;
	p += p < end && (*p | 0x20) == 'i';
	p += p < end && (*p | 0x20) == 'b';
	return p == end ? (char)(*at & ~0x20) : 0;
}

/* Digits, and a point with more of them, from p on: where they end. */
static const char *number_end(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (p < end && *p == '.')
		p++;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Of a number with a unit that is no unit here, or with none where it wants one. */
static void advise(char buf[FRAG_ADVICE_ROOM], const char *text, const char *number_ends,
		   const char *unit, const char *end)
{
	const int n = (int)(number_ends - text);
	const char letter = unit_of(unit, end), unit_meant = letter ? letter : 'G';
	char meant[32];
	uint64_t bytes;

	snprintf(meant, sizeof(meant), "%.*s%ciB", n, text, unit_meant);
	if (letter == 'P')
		snprintf(buf, FRAG_ADVICE_ROOM, "the largest unit is TiB");
	else if (!letter && unit != end)
		return;
	else if (!frag_parse_size(meant, strlen(meant), true, &bytes))
		snprintf(buf, FRAG_ADVICE_ROOM, "%s", memchr(text, '.', (size_t)n)
			 ? "it is no whole number of bytes" : "it is not below 2^53 bytes");
	else if (!letter)
		snprintf(buf, FRAG_ADVICE_ROOM, "it is no whole number of bytes; use %s", meant);
	else
		snprintf(buf, FRAG_ADVICE_ROOM, "use %s, or bytes", meant);
}

/*
 * A decimal unit, a lower-case letter or a blank shows that the text is meant as a size: the
 * suggestion has the same number in an accepted form.
 */
const char *frag_size_advice(char buf[FRAG_ADVICE_ROOM], const char *text, size_t length)
{
	const char *end = text + length, *number_ends = number_end(text, end), *unit = number_ends;

	buf[0] = '\0';
	while (unit < end && *unit == ' ')
		unit++;
	if (length && (*text == '-' || *text == '+'))
		snprintf(buf, FRAG_ADVICE_ROOM, "a size has no sign");
	else if (number_ends > text && number_ends - text <= 20)
		advise(buf, text, number_ends, unit, end);
	return buf;
}

bool frag_parse_count(const char *text, size_t length, uint64_t *out)
{
	const char *p = text;

	return parse_digits(&p, text + length, out) && p == text + length && *out < FRAG_SIZE_LIMIT;
}

uint32_t frag_text_among(struct frag_text text, const char *const *words)
{
	uint32_t i = 0;

	while (words[i] && !frag_text_equals(text, words[i]))
		i++;
	return i;
}

const char *frag_text_find(struct frag_text text, const char *part)
{
	const size_t n = strlen(part);
	const char *at = text.length ? text.text : NULL, *end = at ? at + text.length : NULL;

	for (; at && n && (size_t)(end - at) >= n && (at = memchr(at, *part, (size_t)(end - at) - n + 1)); at++)
		if (memcmp(at, part, n) == 0)
			return at;
	return NULL;
}

size_t frag_text_cut(const char *text, size_t length, size_t max)
{
	if (length <= max)
		return length;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/*
 * Where the text does not match the pattern, the last star takes one more character. Earlier
 * stars need no second attempt: each already matches the fewest characters possible.
 */
bool frag_glob_fits(const char *pattern, const char *text, size_t length)
{
	const char *star = NULL, *taken = text, *const end = text + length;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			taken = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++taken;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static void name_list_append(struct frag_name_list *l, const char *joint)
{
	int n;

	if (!l->last || l->used >= sizeof(l->text))
		return;
	n = snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s%s", l->used ? joint : "",
		     l->last);
	l->used += n > 0 ? (size_t)n : 0;
	l->last = NULL;
}

void frag_listed_add(struct frag_name_list *l, const char *name)
{
	name_list_append(l, ", ");
	l->last = name;
}

const char *frag_listed_text(struct frag_name_list *l, const char *joint)
{
	name_list_append(l, joint);
	return l->text;
}

#define LETTERS_MAX 63

static char plain(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '_' ? '-' : c;
}

static uint32_t suggest_min_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Distance of Damerau and Levenshtein (optimal string alignment): an insertion, a deletion, a
 * replacement or a swap of two adjacent letters counts once. A swap needs the row before the
 * previous one, so three rows are kept.
 */
uint32_t frag_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* distances of what precedes: two letters of a ago, one ago, and now */
	uint32_t rows[3][LETTERS_MAX + 1] = { { 0 } };
	uint32_t n = (uint32_t)(a_length < LETTERS_MAX ? a_length : LETTERS_MAX);
	uint32_t m = (uint32_t)(b_length < LETTERS_MAX ? b_length : LETTERS_MAX);

	for (uint32_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t *now = rows[i % 3];
		const uint32_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (uint32_t j = 1; j <= m; j++) {
			bool same = plain(a[i - 1]) == plain(b[j - 1]);

			now[j] = suggest_min_of(last[j - 1] + !same,
						suggest_min_of(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2])
			    && plain(a[i - 2]) == plain(b[j - 1]))
				now[j] = suggest_min_of(now[j], before[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

struct frag_suggestion frag_near_to(const char *word, size_t length)
{
	uint32_t enough = (uint32_t)(length < 9 ? length / 3 : 3);

	return (struct frag_suggestion){ .word = word, .length = length, .distance = enough + 1 };
}

void frag_near_offer(struct frag_suggestion *near, const char *name)
{
	size_t length = strlen(name);
	uint32_t distance;

	if (near->length == 0)
		return;
	distance = frag_distance(near->word, near->length, name, length);
	/* a word cut short is as good as one with a slip */
	if (near->length >= 3 && near->length < length
	    && distance == length - near->length
	    && frag_distance(near->word, near->length, name, near->length) == 0)
		distance = 1;
	if (distance < near->distance) {
		near->distance = distance;
		near->best = name;
	}
}

const char *frag_near_hint(const struct frag_suggestion *near, const char *before,
			   char buf[FRAG_HINT_ROOM])
{
	buf[0] = '\0';
	if (near->best)
		snprintf(buf, FRAG_HINT_ROOM, " did you mean %s%.64s?", before, near->best);
	return buf;
}

static const struct {
	const char *name, *old;
} renamed[] = {
	{ "non_releasable", "stranded" },
	{ "wasted", "lost" },
	{ "reliable", "safe" },
	{ "fits", "ok" },
};

#define COUNT (sizeof(renamed) / sizeof(renamed[0]))

const char *frag_old_name(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(renamed[i].name, name) == 0)
			return renamed[i].old;
	return NULL;
}

/* The new name of a part of a path, or the part itself. */
static const char *new_name(const char *part, size_t *length)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strlen(renamed[i].old) == *length
		    && memcmp(renamed[i].old, part, *length) == 0) {
			*length = strlen(renamed[i].name);
			return renamed[i].name;
		}
	return part;
}

void frag_new_path(const char *path, char *out, size_t room)
{
	size_t used = 0;

	*out = '\0';
	for (const char *dot = ""; *path && used < room; path += *path == '.') {
		const size_t length = strcspn(path, ".");
		size_t n = length;
		const char *name = new_name(path, &n);

		used += (size_t)snprintf(out + used, room - used, "%s%.*s", dot, (int)n, name);
		path += length;
		dot = ".";
	}
}
