/* value.c - values, and the memory that they lie in. */
#include "snapshot/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/large.h"

#define CHUNK ((size_t)1 << 18)         /* bytes; eight times as many of large files */
#define LARGE_FILE ((size_t)1 << 20)
#define BYTES_A_VALUE 24                /* of a file, about: the table grows if need be */
#define BOX_FIRST 1                     /* the cell before the items holds their capacity */
#define TAIL_CELLS 2                    /* hold a pointer */

struct frag_chunk {
	struct frag_chunk *next;
	size_t used, size;      /* cells */
	uint32_t cells[];
};

void frag_values_init(struct frag_values *v, size_t bytes, uint64_t most)
{
	*v = (struct frag_values){ .expected = bytes, .most = most };
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
	size_t usual = (c || v->expected >= LARGE_FILE ? CHUNK << 3 : CHUNK) / sizeof(uint32_t);
	size_t size = count > usual / 4 ? count : usual;

	if (!c || c->size - c->used < count) {
		size_t bytes = sizeof(*c) + size * sizeof(c->cells[0]);

		c = frag_large_new(&bytes);
		if (!c)
			return NULL;
		c->used = 0;
		c->size = size = (bytes - sizeof(*c)) / sizeof(c->cells[0]);
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

enum frag_add frag_values_widen(struct frag_values *v)
{
	uint64_t need = v->capacity ? (uint64_t)v->capacity * 2 : v->expected / BYTES_A_VALUE + 64;
	size_t bytes = (size_t)need * sizeof(*v->table), before = v->capacity * sizeof(*v->table);
	struct frag_value *table;

	if (need >= UINT32_MAX || !frag_values_take(v, bytes - before))
		return FRAG_ADD_TOO_MUCH;
	table = frag_large_new(&bytes);
	if (!table)
		return FRAG_ADD_NOMEM;
	if (before)
		memcpy(table, v->table, before);
	free(v->table);
	v->table = table;
	v->capacity = (uint32_t)need;
	return FRAG_ADDED;
}

/* Items that are the list's own; of a shared one their number stands in its first cell. */
static uint32_t own_count(const struct frag_value *box)
{
	return box->shared ? box->as.items[-BOX_FIRST] : box->length;
}

/* Behind the own items of a shared list stands where its others are. */
static const uint32_t *tail_of(const struct frag_value *list)
{
	const uint32_t *tail;

	memcpy(&tail, list->as.items + own_count(list), sizeof(tail));
	return tail;
}

static void copy_items(uint32_t *to, const struct frag_value *box)
{
	uint32_t own = own_count(box);

	if (!box->length)
		return;
	memcpy(to, box->as.items, own * sizeof(*to));
	if (own < box->length)
		memcpy(to + own, tail_of(box), (box->length - own) * sizeof(*to));
}

/* At first just what is asked for: most boxes are filled at once. */
static enum frag_add widen(struct frag_values *v, struct frag_value *box, uint64_t need)
{
	uint64_t had = box->length && !box->shared ? box->as.items[-BOX_FIRST] : 0;
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
	copy_items(items + BOX_FIRST, box);
	box->as.items = items + BOX_FIRST;
	box->shared = false;
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

/*
 * Where more is the list's own than is not, all of it becomes its own: then others
 * share that, and what is copied for the next ones stays short.
 */
enum frag_add frag_values_share(struct frag_values *v, uint32_t to, const uint32_t *items,
				uint32_t count, uint32_t other, uint32_t first, uint32_t end,
				uint8_t depth)
{
	const struct frag_value *source = &v->table[other];
	uint32_t own = source->shared ? own_count(source) : first;
	uint32_t copied = first < own ? own - first : 0, rest = end - first - copied;
	const uint32_t *tail = (source->shared ? tail_of(source) : source->as.items)
			       + (first + copied - (source->shared ? own : 0));
	bool flat = count + copied > rest;
	uint64_t size = (uint64_t)count + copied + (flat ? rest : TAIL_CELLS);
	struct frag_value *list = &v->table[to];
	uint32_t *cells;

	if (size >= UINT32_MAX - BOX_FIRST
	    || !frag_values_take(v, (size + BOX_FIRST) * sizeof(*cells)))
		return FRAG_ADD_TOO_MUCH;
	cells = room(v, (size_t)size + BOX_FIRST);
	if (!cells)
		return FRAG_ADD_NOMEM;
	*cells = count + copied + (flat ? rest : 0);
	list->as.items = cells += BOX_FIRST;
	memcpy(cells, items, count * sizeof(*cells));
	memcpy(cells + count, source->as.items + first, copied * sizeof(*cells));
	if (flat)
		memcpy(cells + count + copied, tail, rest * sizeof(*cells));
	else
		memcpy(cells + count + copied, &tail, sizeof(tail));
	list->length = count + copied + rest;
	list->shared = !flat;
	list->depth = depth;
	v->cells += list->length;
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
	uint32_t own;

	if (i >= frag_list_count(v, list))
		return NULL;
	own = own_count(list);
	return &v->table[i < own ? list->as.items[i] : tail_of(list)[i - own]];
}

bool frag_text_is(const struct frag_value *value, const char *text)
{
	return value && value->kind == FRAG_STRING && value->length == strlen(text)
	       && memcmp(value->as.text, text, value->length) == 0;
}

/* Where the value of the member stands among the items. */
static uint32_t find_member(const struct frag_values *v, const struct frag_value *dict,
			    const char *name)
{
	for (uint32_t i = dict->length; i >= 2; i -= 2)
		if (frag_text_is(&v->table[dict->as.items[i - 2]], name))
			return i - 1;
	return UINT32_MAX;
}

const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name)
{
	uint32_t at = dict && dict->kind == FRAG_DICT ? find_member(v, dict, name) : UINT32_MAX;

	return at != UINT32_MAX ? &v->table[dict->as.items[at]] : NULL;
}

static bool same_keys(const struct frag_layout *l, const struct frag_value *dict)
{
	uint32_t i = 0;

	if (l->length != dict->length)
		return false;
	while (i < l->length && l->items[i] == dict->as.items[i])
		i += 2;
	return i >= l->length;
}

static const struct frag_layout *find_layout(const struct frag_values *v,
					     const struct frag_value *dict,
					     struct frag_layouts *layouts)
{
	struct frag_layout *l;

	for (uint32_t i = 0; i < FRAG_LAYOUTS; i++)
		if (same_keys(&layouts->layouts[i], dict))
			return &layouts->layouts[i];
	l = &layouts->layouts[layouts->next++ % FRAG_LAYOUTS];
	l->items = dict->as.items;
	l->length = dict->length;
	for (uint32_t i = 0; i < layouts->count; i++)
		l->at[i] = find_member(v, dict, layouts->names[i]);
	return l;
}

void frag_dict_members(const struct frag_values *v, const struct frag_value *dict,
		       struct frag_layouts *layouts, const struct frag_value **out)
{
	const struct frag_layout *l;

	memset(out, 0, layouts->count * sizeof(*out));
	if (!dict || dict->kind != FRAG_DICT || !dict->length)
		return;
	l = find_layout(v, dict, layouts);
	for (uint32_t i = 0; i < layouts->count; i++)
		if (l->at[i] != UINT32_MAX)
			out[i] = &v->table[dict->as.items[l->at[i]]];
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
