/* recording_number.c - texts that tell at which number a program was recorded. */
#include "transform/recording_number.h"

#include <string.h>

#include "base/format.h"

/* What is left to be read of a text. */
struct rest {
	const char *p;
	size_t left;
};

static struct rest rest_of(struct frag_text text)
{
	return (struct rest){ .p = text.text, .left = text.length };
}

static bool recording_number_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes the digits up to the next other byte, or else one byte. */
static struct rest recording_number_take(struct rest *r)
{
	struct rest part = { .p = r->p, .left = 1 };

	while (recording_number_is_digit(*r->p) && part.left < r->left
	       && recording_number_is_digit(r->p[part.left]))
		part.left++;
	r->p += part.left;
	r->left -= part.left;
	return part;
}

static bool same(struct rest a, struct rest b)
{
	return a.left == b.left && memcmp(a.p, b.p, a.left) == 0;
}

static bool is_number(struct rest part, uint32_t number)
{
	char text[FRAG_NUMBER_ROOM];
	const size_t length = (size_t)(frag_put_u64(text, number) - text);

	return same(part, (struct rest){ .p = text, .left = length });
}

bool frag_text_same_except_number(struct frag_text a, uint32_t a_number, struct frag_text b,
			  uint32_t b_number)
{
	struct rest x = rest_of(a), y = rest_of(b);

	while (x.left && y.left) {
		const struct rest here = recording_number_take(&x),
				  there = recording_number_take(&y);

		if (!same(here, there)
		    && !(is_number(here, a_number) && is_number(there, b_number)))
			return false;
	}
	return x.left == y.left;
}

struct frag_text frag_own_number_at(struct frag_text a, struct frag_text b, uint32_t number,
				    char *out)
{
	struct rest x = rest_of(a), y = rest_of(b);
	char *p = out;

	while (x.left && y.left) {
		const struct rest here = recording_number_take(&x),
				  there = recording_number_take(&y);

		if (same(here, there))
			p = (char *)memcpy(p, here.p, here.left) + here.left;
		else
			p = frag_put_u64(p, number);
	}
	return (struct frag_text){ .text = out, .length = (uint32_t)(p - out) };
}
