/* page_pack.c - columns of numbers for the script of a page. */
#include "answers/page_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"

static unsigned char *page_pack_room(struct frag_page_pack *pack, uint64_t n)
{
	if (pack->failed || !frag_grow(&pack->bytes, &pack->capacity, pack->used + n + 1, 1)) {
		pack->failed = true;
		return NULL;
	}
	return pack->bytes + pack->used;
}

/* 0, -1, 1, -2, ... as 0, 1, 2, 3. */
static uint64_t fold(uint64_t value, uint64_t before)
{
	return value >= before ? 2 * (value - before) : 2 * (before - value) - 1;
}

static void page_pack_put_place(struct frag_node_ref in, const char *name, const uint64_t *facts,
				int count)
{
	struct frag_node_ref list = frag_json_array(in, name);

	for (int i = 0; i < count; i++)
		frag_json_u64(list, NULL, facts[i]);
}

void frag_page_column(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		      uint64_t *values, uint32_t count, bool differences)
{
	uint64_t all = 0, largest = 0, before = 0, planes = 0, shift = 0;
	unsigned char *p;

	for (uint32_t i = 0; i < count; i++)
		all |= values[i];
	while (all && !(all >> shift & 1))
		shift++;
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t value = values[i] >> shift;

		values[i] = differences ? fold(value, before) : value;
		before = value;
		largest |= values[i];
	}
	while (planes < 8 && largest >> (8 * planes))
		planes++;
	page_pack_put_place(in, name,
			    (const uint64_t[]){ pack->used, count, planes, shift, differences }, 5);
	p = page_pack_room(pack, planes * count);
	for (uint64_t k = 0; p && k < planes; k++)
		for (uint32_t i = 0; i < count; i++)
			*p++ = (unsigned char)(values[i] >> (8 * k));
	pack->used += p ? (uint32_t)(planes * count) : 0;
}

void frag_page_bytes(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		     const void *bytes, uint32_t length)
{
	unsigned char *p = page_pack_room(pack, length);

	page_pack_put_place(in, name, (const uint64_t[]){ pack->used, length }, 2);
	if (!p)
		return;
	memcpy(p, bytes, length);
	pack->used += length;
}

static void page_pack_take(void *ctx, const char *bytes, size_t n)
{
	struct frag_page_pack *to = ctx;
	unsigned char *p = page_pack_room(to, n);

	if (!p)
		return;
	memcpy(p, bytes, n);
	to->used += (uint32_t)n;
}

void frag_page_text(struct frag_page_pack *pack, const char *text)
{
	page_pack_take(pack, text, strlen(text));
}

static char *encode(const struct frag_page_pack *from)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc(((size_t)from->used + 2) / 3 * 4 + 3), *p = text;

	if (!text)
		return NULL;
	*p++ = '"';

	for (uint32_t i = 0; i < from->used; i += 3) {
		const uint32_t left = from->used - i;
		const uint32_t three = (uint32_t)from->bytes[i] << 16
				       | (left > 1 ? (uint32_t)from->bytes[i + 1] << 8 : 0)
				       | (left > 2 ? from->bytes[i + 2] : 0);

		*p++ = digits[three >> 18];
		*p++ = digits[three >> 12 & 63];
		*p++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*p++ = left > 2 ? digits[three & 63] : '=';
	}
	*p++ = '"';
	*p = '\0';
	return text;
}

char *frag_page_base64(const struct frag_page_pack *pack, size_t *length)
{
	struct frag_page_pack packed = { .used = 0 };
	struct frag_packer *packer = pack->failed ? NULL : frag_packer_new(FRAG_GZIP);
	char *text = NULL;

	if (packer
	    && frag_packer_put(packer, pack->bytes, pack->used, true, page_pack_take, &packed)
	    && !packed.failed)
		text = encode(&packed);
	*length = ((size_t)packed.used + 2) / 3 * 4;
	frag_packer_del(packer);
	free(packed.bytes);
	return text;
}
