/* page_pack.c - columns and rectangles as the packed data of a page. */
#include "answers/page_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/atomic_file.h"
#include "base/hash.h"

static unsigned char *pack_room(struct frag_page_pack *pack, uint64_t n)
{
	if (pack->failed || !frag_grow(&pack->bytes, &pack->capacity, pack->used + n + 1, 1)) {
		pack->failed = true;
		return NULL;
	}
	return pack->bytes + pack->used;
}

static void put_place(struct frag_node_ref in, const char *name, const uint64_t *facts, int count)
{
	struct frag_node_ref list = frag_json_array(in, name);

	for (int i = 0; i < count; i++)
		frag_json_u64(list, NULL, facts[i]);
}

void frag_pack_column(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
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

		values[i] = !differences ? value : value >= before ? 2 * (value - before)
								   : 2 * (before - value) - 1;
		before = value;
		largest |= values[i];
	}
	while (planes < 8 && largest >> (8 * planes))
		planes++;
	put_place(in, name, (const uint64_t[]){ pack->used, count, planes, shift, differences }, 5);
	p = pack_room(pack, planes * count);
	for (uint64_t k = 0; p && k < planes; k++)
		for (uint32_t i = 0; i < count; i++)
			*p++ = (unsigned char)(values[i] >> (8 * k));
	pack->used += p ? (uint32_t)(planes * count) : 0;
}

void frag_pack_take(void *ctx, const char *bytes, size_t n)
{
	struct frag_page_pack *to = ctx;
	unsigned char *p = pack_room(to, n);

	if (!p)
		return;
	memcpy(p, bytes, n);
	to->used += (uint32_t)n;
}

void frag_pack_bytes(struct frag_page_pack *pack, struct frag_node_ref in, const char *name,
		       const void *bytes, uint32_t length)
{
	put_place(in, name, (const uint64_t[]){ pack->used, length }, 2);
	frag_pack_take(pack, bytes, length);
}

/* The bytes as base64 in the quotes of JSON. Returns NULL on out of memory. */
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

char *frag_pack_base64(const struct frag_page_pack *pack, size_t *length)
{
	struct frag_page_pack packed = { .used = 0 };
	char *text = NULL;

	if (!pack->failed && frag_gzip(pack->bytes, pack->used, frag_pack_take, &packed) && !packed.failed)
		text = encode(&packed);
	*length = ((size_t)packed.used + 2) / 3 * 4;
	free(packed.bytes);
	return text;
}

static uint64_t area_value(const struct frag_area *a, int column)
{
	switch (column) {
	case 0:
		return a->birth;
	case 1:
		return a->end - a->birth;
	case 2:
		return a->end - a->freed;
	default:
		return a->who;
	}
}

/* Where rectangles of one size were that have ended: a list of each size, the last one first. */
struct places {
	uint32_t *size;         /* by rectangle: the number of its size */
	uint32_t *head;         /* by size */
	uint32_t *next;         /* by rectangle */
	uint32_t *order;        /* rectangles by end */
	uint32_t sizes;
};

#define NO_PLACE UINT32_MAX

static void places_fini(struct places *p)
{
	free(p->size);
	free(p->head);
	free(p->next);
	free(p->order);
}

static bool places_init(struct places *p, uint32_t count)
{
	const size_t bytes = ((size_t)count + 1) * sizeof(uint32_t);

	*p = (struct places){ .size = malloc(bytes), .head = malloc(bytes), .next = malloc(bytes), .order = malloc(bytes) };
	return p->size && p->head && p->next && p->order;
}

struct ended {
	uint64_t end;
	uint32_t at;
};

static int ended_by_step(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	return frag_order_two(x->end, y->end, x->at, y->at);
}

static bool order_by_end(struct places *p, const struct frag_areas *areas)
{
	struct ended *ended = malloc(((size_t)areas->count + 1) * sizeof(*ended));

	for (uint32_t i = 0; ended && i < areas->count; i++)
		ended[i] = (struct ended){ areas->area[i].end, i };
	if (ended)
		FRAG_SORT(ended, areas->count, ended_by_step);
	for (uint32_t i = 0; ended && i < areas->count; i++)
		p->order[i] = ended[i].at;
	free(ended);
	return ended;
}

/* Numbers the sizes as they come, and writes each once to values. */
static bool number_sizes(struct places *p, const struct frag_areas *areas, uint64_t *values)
{
	struct frag_map known;
	bool done = frag_map_init(&known, frag_hash_seed());

	for (uint32_t i = 0; i < areas->count && done; i++) {
		const uint64_t bytes = areas->area[i].bytes;
		const uint32_t size = frag_map_get(&known, bytes);

		p->size[i] = size != FRAG_MAP_NONE ? size : p->sizes;
		if (size != FRAG_MAP_NONE)
			continue;
		done = frag_map_add(&known, bytes, p->sizes);
		p->head[p->sizes] = NO_PLACE;
		values[p->sizes++] = bytes;
	}
	frag_map_fini(&known);
	return done;
}

uint64_t frag_area_place(const struct frag_areas *areas, uint32_t i)
{
	return areas->lanes[areas->area[i].lane].base + areas->area[i].y;
}

/* One that was where this is now is not there any more. */
static void replace_place(struct places *p, const struct frag_areas *areas, uint32_t i)
{
	uint32_t *at = &p->head[p->size[i]];

	for (int k = 0; k < FRAG_PLACES_BACK && *at != NO_PLACE; k++, at = &p->next[*at])
		if (frag_area_place(areas, *at) == frag_area_place(areas, i)) {
			*at = p->next[*at];
			return;
		}
}

static uint32_t places_shift(const struct frag_areas *areas)
{
	uint64_t all = 0;
	uint32_t shift = 0;

	for (uint32_t i = 0; i < areas->count; i++)
		all |= frag_area_place(areas, i) | areas->area[i].bytes;
	while (all && !(all >> shift & 1))
		shift++;
	return shift;
}

static void find_places(struct places *p, const struct frag_areas *areas, uint32_t shift, uint64_t *values)
{
	uint64_t last = 0;

	for (uint32_t i = 0, e = 0; i < areas->count; i++) {
		const uint64_t place = frag_area_place(areas, i) >> shift;
		uint32_t *head = &p->head[p->size[i]];

		for (; e < areas->count && p->order[e] < i && areas->area[p->order[e]].end <= areas->area[i].birth; e++) {
			uint32_t *to = &p->head[p->size[p->order[e]]];

			p->next[p->order[e]] = *to;
			*to = p->order[e];
		}
		if (*head != NO_PLACE && frag_area_place(areas, *head) >> shift == place)
			values[i] = 0;
		else
			values[i] = 1 + (place >= last ? 2 * (place - last) : 2 * (last - place) - 1);
		replace_place(p, areas, i);
		last = place + (areas->area[i].bytes >> shift);
	}
}

static void pack_places(struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *areas,
			uint64_t *values)
{
	struct places p;
	const uint32_t shift = places_shift(areas);

	if (!places_init(&p, areas->count) || !order_by_end(&p, areas) || !number_sizes(&p, areas, values)) {
		pack->failed = true;
	} else {
		frag_pack_column(pack, in, "sizes", values, p.sizes, false);
		find_places(&p, areas, shift, values);
		frag_json_u64(in, "place_shift", shift);
		frag_pack_column(pack, in, "place", values, areas->count, false);
		for (uint32_t i = 0; i < areas->count; i++)
			values[i] = p.size[i];
		frag_pack_column(pack, in, "size", values, areas->count, false);
	}
	places_fini(&p);
}

void frag_pack_areas(struct frag_page_pack *pack, struct frag_node_ref in, const struct frag_areas *areas, uint64_t *values)
{
	static const char *const names[] = { "birth", "life", "pending", "who" };

	for (int k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < areas->count; i++)
			values[i] = area_value(&areas->area[i], k);
		frag_pack_column(pack, in, names[k], values, areas->count, k == 0);
	}
	pack_places(pack, in, areas, values);
	for (int k = 0; k < 2; k++) {
		for (uint32_t i = 0; i < areas->sum_count; i++)
			values[i] = k ? areas->sums[i].most : areas->sums[i].step;
		frag_pack_column(pack, in, k ? "sum_most" : "sum_step", values, areas->sum_count, true);
	}
}
