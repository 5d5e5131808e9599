/* fsb_header.c - reads the header of the fsb format, and the numbers in payloads. */
#include "trace/fsb_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/parse.h"
#include "trace/header.h"
#include "input/json_scan.h"

#define META_SLACK 16

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

/* A length, one more than it is, or 0 for no text; then the text. */
static bool take_optional(struct frag_fsb_cursor *c, char **out, uint64_t *length, bool *nomem)
{
	uint64_t n = frag_fsb_take(c);

	*out = NULL;
	*length = n - (n != 0);
	if (n == 0)
		return true;
	if (!frag_fsb_has_text(c, n - 1))
		return false;
	*out = calloc((size_t)n + META_SLACK, 1);
	*nomem = !*out;
	if (*out)
		memcpy(*out, c->p, (size_t)n - 1);
	c->p += n - 1;
	return *out != NULL;
}

static bool fsb_header_take_size(struct frag_fsb_cursor *c, uint64_t *out)
{
	*out = frag_fsb_take(c);
	return c->p <= c->end && *out < FRAG_SIZE_LIMIT;
}

static bool take_device(struct frag_header *h, struct frag_fsb_cursor *c)
{
	struct frag_device_figures *d;
	uint64_t length;

	h->nomem = !frag_grow(&h->devices, &h->device_capacity,
				     (uint64_t)h->device_count + 1,
				     sizeof(*h->devices));
	if (h->nomem)
		return false;
	d = &h->devices[h->device_count++];
	*d = (struct frag_device_figures){ .name = NULL };
	return take_optional(c, &d->name, &length, &h->nomem)
	       && (!d->name || strlen(d->name) == length) && fsb_header_take_size(c, &d->total)
	       && fsb_header_take_size(c, &d->context) && fsb_header_take_size(c, &d->other)
	       && fsb_header_take_size(c, &d->granularity) && d->granularity != 0;
}

/* A JSON object; it is printed unchanged, so it must be one. */
static bool good_meta(const char *meta, uint64_t length)
{
	struct frag_scan scan = { .end = meta + length };

	return *meta == '{' && frag_scan_skip(&scan, meta, 2) == scan.end;
}

/*
 * Reads to the end or to the first error, and judges once. The caller frees the members of h in
 * either case.
 */
int frag_fsb_read_header(struct frag_fsb_blocks *b, struct frag_header *h,
			 struct frag_error *err)
{
	struct frag_fsb_cursor c;
	uint64_t version, devices, length = 0;
	uint32_t kind, bytes;
	bool good = true;
	int rc = frag_fsb_next(b, &kind, &bytes, err);

	if (rc < 0)
		return rc;
	c = (struct frag_fsb_cursor){ .p = b->payload, .end = b->payload + bytes };
	if (kind != FRAG_FSB_HEADER)
		return frag_fsb_damaged(b, err, "the header is expected here");
	version = frag_fsb_take(&c);
	if (version != FRAG_FSB_VERSION)
		return frag_fsb_damaged(b, err,
					"version %" PRIu64 ", but this fragsim reads version %d",
					version, FRAG_FSB_VERSION);
	devices = frag_fsb_take(&c);
	if (devices == 0 || devices > FRAG_DEVICES_MAX)
		return frag_fsb_damaged(b, err, "%" PRIu64 " devices, not 1 to %d", devices,
			       FRAG_DEVICES_MAX);
	for (uint64_t i = 0; i < devices && good; i++)
		good = take_device(h, &c);
	good = good && take_optional(&c, &h->meta, &length, &h->nomem)
	       && (!h->meta || good_meta(h->meta, length));
	h->meta_length = (uint32_t)length;
	if (h->nomem)
		return frag_fail_nomem(err);
	if (!good || c.p != c.end)
		return frag_fsb_damaged(b, err, "a header that is not well-formed");
	return 0;
}
