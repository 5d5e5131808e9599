/* value.c - values, and the memory that they lie in. */
#include "snapshot/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define CHUNK ((size_t)1 << 20)         /* bytes */
#define BOX_FIRST 1                     /* the cell before the items holds their capacity */

struct frag_chunk {
	struct frag_chunk *next;
	size_t used, size;      /* cells */
	uint32_t cells[];
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
	free(v->table);
	*v = (struct frag_values){ .table = NULL };
}

bool frag_values_take(struct frag_values *v, uint64_t bytes)
{
	if (bytes > v->most - v->bytes)
		return false;
	v->bytes += bytes;
	return true;
}

/* So many cells; what does not fit beside others gets a chunk of its own. */
static uint32_t *room(struct frag_values *v, size_t count)
{
	struct frag_chunk *c = v->chunks;
	size_t usual = CHUNK / sizeof(uint32_t), size = count > usual / 4 ? count : usual;

	if (!c || c->size - c->used < count) {
		c = malloc(sizeof(*c) + size * sizeof(c->cells[0]));
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
	return c->cells + c->used - count;
}

static bool is_box(const struct frag_value *value)
{
	return value->kind == FRAG_LIST || value->kind == FRAG_DICT;
}

enum frag_add frag_values_new(struct frag_values *v, const struct frag_value *value, uint32_t *out)
{
	uint32_t before = v->capacity;

	if (!frag_grow(&v->table, &v->capacity, (uint64_t)v->count + 1, sizeof(*v->table)))
		return FRAG_ADD_NOMEM;
	if (!frag_values_take(v, (uint64_t)(v->capacity - before) * sizeof(*v->table)))
		return FRAG_ADD_TOO_MUCH;
	v->table[v->count] = *value;
	v->table[v->count].depth = is_box(value);
	*out = v->count++;
	return FRAG_ADDED;
}

/* At first just what is asked for: most boxes are filled at once. */
static enum frag_add widen(struct frag_values *v, struct frag_value *box, uint64_t need)
{
	uint64_t had = box->length ? box->as.items[-BOX_FIRST] : 0;
	uint64_t size = had ? had * 2 : need;
	uint32_t *items;

	if (need <= had)
		return FRAG_ADDED;
	if (size < need)
		size = need;
	if (size >= UINT32_MAX || !frag_values_take(v, (size + BOX_FIRST) * sizeof(*items)))
		return FRAG_ADD_TOO_MUCH;
	items = room(v, (size_t)size + BOX_FIRST);
	if (!items)
		return FRAG_ADD_NOMEM;
	*items = (uint32_t)size;
	if (box->length)
		memcpy(items + BOX_FIRST, box->as.items, box->length * sizeof(*items));
	box->as.items = items + BOX_FIRST;
	return FRAG_ADDED;
}

enum frag_add frag_values_add(struct frag_values *v, uint32_t to, const uint32_t *items,
			      uint32_t count)
{
	struct frag_value *box = &v->table[to];
	enum frag_add rc = count ? widen(v, box, (uint64_t)box->length + count) : FRAG_ADDED;
	uint8_t deepest = 0;

	if (rc != FRAG_ADDED || !count)
		return rc;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t depth = v->table[items[i]].depth;

		deepest = depth > deepest ? depth : deepest;
	}
	if (deepest >= FRAG_VALUES_DEEP)
		return FRAG_ADD_TOO_DEEP;
	if (deepest >= box->depth)
		box->depth = (uint8_t)(deepest + 1);
	memcpy(box->as.items + box->length, items, count * sizeof(*items));
	box->length += count;
	v->cells += count;
	return FRAG_ADDED;
}

char *frag_values_text(struct frag_values *v, uint32_t length)
{
	size_t count = (size_t)length / sizeof(uint32_t) + 1;
	void *cells;

	if (!frag_values_take(v, count * sizeof(uint32_t)))
		return NULL;
	cells = room(v, count);
	return cells;
}

uint32_t frag_list_count(const struct frag_values *v, const struct frag_value *list)
{
	(void)v;
	return list && list->kind == FRAG_LIST ? list->length : 0;
}

const struct frag_value *frag_list_at(const struct frag_values *v, const struct frag_value *list,
				      uint32_t i)
{
	return i < frag_list_count(v, list) ? &v->table[list->as.items[i]] : NULL;
}

bool frag_text_is(const struct frag_value *value, const char *text)
{
	return value && value->kind == FRAG_STRING && value->length == strlen(text)
	       && memcmp(value->as.text, text, value->length) == 0;
}

const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name)
{
	if (!dict || dict->kind != FRAG_DICT)
		return NULL;
	for (uint32_t i = dict->length; i >= 2; i -= 2)
		if (frag_text_is(&v->table[dict->as.items[i - 2]], name))
			return &v->table[dict->as.items[i - 1]];
	return NULL;
}

uint32_t frag_value_number(const struct frag_values *v, const struct frag_value *value)
{
	return (uint32_t)(value - v->table);
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
