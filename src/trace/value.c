/* value.c - values, and the memory that they lie in. */
#include "trace/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define CHUNK ((size_t)256 << 10)

struct frag_chunk {
	struct frag_chunk *next;
	size_t used, size;
	struct frag_value items[];
};

void frag_values_init(struct frag_values *v, uint64_t most)
{
	*v = (struct frag_values){ .most = most };
}

void frag_values_fini(struct frag_values *v)
{
	while (v->chunks) {
		struct frag_chunk *next = v->chunks->next;

		free(v->chunks);
		v->chunks = next;
	}
	free(v->boxes);
	*v = (struct frag_values){ .boxes = NULL };
}

bool frag_values_take(struct frag_values *v, uint64_t bytes)
{
	if (bytes > v->most - v->bytes)
		return false;
	v->bytes += bytes;
	return true;
}

/* Room for count values; one that does not fit beside others gets a chunk of its own. */
static struct frag_value *room(struct frag_values *v, size_t count)
{
	struct frag_chunk *c = v->chunks;
	size_t size = count > CHUNK / sizeof(struct frag_value) / 4
		? count : CHUNK / sizeof(struct frag_value);

	if (!c || c->size - c->used < count) {
		c = malloc(sizeof(*c) + size * sizeof(c->items[0]));
		if (!c)
			return NULL;
		c->used = 0;
		c->size = size;
		/* behind the first where that has more left */
		if (v->chunks && v->chunks->size - v->chunks->used > size - count) {
			c->next = v->chunks->next;
			v->chunks->next = c;
		} else {
			c->next = v->chunks;
			v->chunks = c;
		}
	}
	c->used += count;
	return c->items + c->used - count;
}

enum frag_add frag_values_box(struct frag_values *v, enum frag_kind kind, struct frag_value *out)
{
	if (!frag_values_take(v, sizeof(*v->boxes)))
		return FRAG_ADD_TOO_MUCH;
	if (!frag_grow(&v->boxes, &v->box_capacity, (uint64_t)v->box_count + 1,
		       sizeof(*v->boxes)))
		return FRAG_ADD_NOMEM;
	v->boxes[v->box_count] = (struct frag_box){ .depth = 1 };
	*out = (struct frag_value){ .kind = (uint8_t)kind, .as.box = v->box_count++ };
	return FRAG_ADDED;
}

static bool is_box(const struct frag_value *value)
{
	return value->kind == FRAG_LIST || value->kind == FRAG_DICT;
}

/* At first just what is asked for: most boxes are filled at once. */
static enum frag_add widen(struct frag_values *v, struct frag_box *box, uint64_t need)
{
	uint64_t size = box->capacity ? (uint64_t)box->capacity * 2 : need;
	struct frag_value *items;

	if (need <= box->capacity)
		return FRAG_ADDED;
	if (size < need)
		size = need;
	if (size > UINT32_MAX || !frag_values_take(v, size * sizeof(*items)))
		return FRAG_ADD_TOO_MUCH;
	items = room(v, (size_t)size);
	if (!items)
		return FRAG_ADD_NOMEM;
	if (box->count)
		memcpy(items, box->items, box->count * sizeof(*items));
	box->items = items;
	box->capacity = (uint32_t)size;
	return FRAG_ADDED;
}

enum frag_add frag_values_add(struct frag_values *v, const struct frag_value *to,
			      const struct frag_value *items, uint32_t count)
{
	struct frag_box *box = &v->boxes[to->as.box];
	enum frag_add rc = widen(v, box, (uint64_t)box->count + count);

	if (rc != FRAG_ADDED)
		return rc;
	for (uint32_t i = 0; i < count; i++) {
		if (is_box(&items[i]) && v->boxes[items[i].as.box].depth >= box->depth)
			box->depth = (uint8_t)(v->boxes[items[i].as.box].depth + 1);
		if (box->depth > FRAG_VALUES_DEEP)
			return FRAG_ADD_TOO_DEEP;
		box->items[box->count++] = items[i];
	}
	v->cells += count;
	return FRAG_ADDED;
}

char *frag_values_text(struct frag_values *v, uint32_t length)
{
	size_t count = (size_t)length / sizeof(struct frag_value) + 1;
	void *items;

	if (!frag_values_take(v, count * sizeof(struct frag_value)))
		return NULL;
	items = room(v, count);
	return items;
}

uint32_t frag_list_count(const struct frag_values *v, const struct frag_value *list)
{
	return list && list->kind == FRAG_LIST ? v->boxes[list->as.box].count : 0;
}

const struct frag_value *frag_list_at(const struct frag_values *v, const struct frag_value *list,
				      uint32_t i)
{
	return i < frag_list_count(v, list) ? &v->boxes[list->as.box].items[i] : NULL;
}

bool frag_text_is(const struct frag_value *value, const char *text)
{
	return value && value->kind == FRAG_STRING && value->length == strlen(text)
	       && memcmp(value->as.text, text, value->length) == 0;
}

const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name)
{
	const struct frag_box *box;

	if (!dict || dict->kind != FRAG_DICT)
		return NULL;
	box = &v->boxes[dict->as.box];
	for (uint32_t i = box->count; i >= 2; i -= 2)
		if (frag_text_is(&box->items[i - 2], name))
			return &box->items[i - 1];
	return NULL;
}

bool frag_is(const struct frag_value *value, enum frag_kind kind)
{
	return value && value->kind == kind;
}

bool frag_value_u64(const struct frag_value *value, uint64_t *out)
{
	if (!frag_is(value, FRAG_INTEGER) || value->minus)
		return false;
	*out = value->as.magnitude;
	return true;
}
