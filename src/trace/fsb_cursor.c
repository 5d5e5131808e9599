/* fsb_cursor.c - the values that a payload of the fsb format begins with, one after the other. */
#include "trace/fsb_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "input/input.h"
#include "input/json_scan.h"

uint64_t frag_fsb_take(struct frag_fsb_cursor *c)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		value |= (uint64_t)(*c->p & 0x7f) << shift;
		if (*c->p++ < 0x80)
			return value;
	}
	c->p = c->end + 1;
	return 0;
}

bool frag_fsb_has_text(const struct frag_fsb_cursor *c, uint64_t n)
{
	return c->p <= c->end && n <= (uint64_t)(c->end - c->p) && frag_utf8_is(c->p, n);
}

bool frag_fsb_take_optional(struct frag_fsb_cursor *c, char **out, uint64_t *length, bool *nomem)
{
	uint64_t n = frag_fsb_take(c);

	*out = NULL;
	*length = n - (n != 0);
	if (n == 0)
		return true;
	if (!frag_fsb_has_text(c, n - 1))
		return false;
	*out = calloc((size_t)n + FRAG_WINDOW_SLACK, 1);
	*nomem = !*out;
	if (*out)
		memcpy(*out, c->p, (size_t)n - 1);
	c->p += n - 1;
	return *out != NULL;
}

bool frag_fsb_take_object(struct frag_fsb_cursor *c, char **out, uint32_t *length, bool *nomem)
{
	struct frag_scan scan = { .scratch = NULL };
	uint64_t n;

	if (!frag_fsb_take_optional(c, out, &n, nomem))
		return false;
	*length = (uint32_t)n;
	scan.end = *out ? *out + n : NULL;
	return !*out || (**out == '{' && frag_scan_skip(&scan, *out, 2) == scan.end);
}
