/* parse.c - sizes and numbers as people write them. */
#include "base/parse.h"

#include <string.h>

/* At least one digit; false where the value passes 10^18. */
static bool digits(const char **p, const char *end, uint64_t *value)
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

/* The shift of K, KiB, M, ...; -1 where the rest of the text is no suffix. */
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
 * The digits behind a point, times 2^shift, where that is whole: they are
 * doubled as on paper, and what carries out of them is the number. n digits, the
 * last not 0, take at least n doublings to vanish.
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
 * All in integers, so no size is rounded: 1.5K is 1536 bytes, and 0.3K is no size,
 * as it is no whole number of bytes.
 */
bool frag_parse_size(const char *text, size_t length, bool fraction, uint64_t *out)
{
	const char *p = text, *end = text + length, *point;
	uint64_t whole, part;
	int shift;

	if (!digits(&p, end, &whole))
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

bool frag_parse_count(const char *text, size_t length, uint64_t *out)
{
	const char *p = text;

	return digits(&p, text + length, out) && p == text + length && *out < FRAG_SIZE_LIMIT;
}
