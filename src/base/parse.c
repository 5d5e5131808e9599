/* parse.c - sizes and numbers as people write them. */
#include "base/parse.h"

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

uint32_t frag_text_split(struct frag_text line, struct frag_text *fields, uint32_t max)
{
	const char *p = line.text, *end = p + line.length;
	uint32_t count = 0;

	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = comma ? comma : end;

		if (count < max)
			fields[count] = (struct frag_text){ p, (uint32_t)(stop - p) };
		count++;
		if (!comma)
			return count;
		p = comma + 1;
	}
}
