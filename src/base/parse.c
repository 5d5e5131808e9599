/* parse.c - sizes and numbers as people write them. */
#include "base/parse.h"

#include <string.h>

/* At least one digit; false where the value passes 10^18. */
static bool digits(const char **p, const char *end, uint64_t *value, uint64_t *scale)
{
	const char *begin = *p;

	*value = 0;
	*scale = 1;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
		if (*value > UINT64_C(99999999999999999) || *scale > UINT64_C(99999999999999999))
			return false;
		*value = *value * 10 + (uint64_t)(**p - '0');
		*scale *= 10;
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

bool frag_parse_size(const char *text, size_t length, bool fraction, uint64_t *out)
{
	const char *p = text, *end = text + length;
	uint64_t whole, part = 0, scale = 1, ignored;
	int shift;

	if (!digits(&p, end, &whole, &ignored))
		return false;
	if (fraction && p < end && *p == '.') {
		p++;
		if (!digits(&p, end, &part, &scale))
			return false;
		while (scale > 1 && part % 10 == 0) {
			part /= 10;
			scale /= 10;
		}
	}
	shift = suffix(p, end);
	if (shift < 0 || whole >= FRAG_SIZE_LIMIT >> shift)
		return false;
	/* part/scale of 2^shift is whole only if scale, in lowest terms, divides it:
	 * scale = 10^k holds 5^k, so take that out of part first */
	for (; scale % 5 == 0; scale /= 5) {
		if (part % 5)
			return false;
		part /= 5;
	}
	if (scale > UINT64_C(1) << shift)
		return false;
	*out = (whole << shift) + part * ((UINT64_C(1) << shift) / scale);
	return true;
}

bool frag_parse_count(const char *text, size_t length, uint64_t *out)
{
	const char *p = text;
	uint64_t ignored;

	return digits(&p, text + length, out, &ignored) && p == text + length && *out < FRAG_SIZE_LIMIT;
}
