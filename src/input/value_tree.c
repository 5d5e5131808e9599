/* value_tree.c - values, and the memory that they are in. */
#include "input/value_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "input/input.h"
#include "input/json_scan.h"

#define CHUNK ((size_t)1 << 16)         /* bytes; for large files LARGE_CHUNK */
#define LARGE_CHUNK ((size_t)2 << 20)
#define LARGE_FILE ((size_t)1 << 20)
#define BYTES_A_VALUE 40                /* of a file, about: the table grows if need be */
#define VALUES_FIRST 512
#define CELLS_A_VALUE 2                 /* likewise */
#define BOX_FIRST 1                     /* the cell before the items: their capacity, or a shape */
#define PROBES 4
#define ONCE_TRIAL 65536        /* values */
#define MEMORY_MIN ((uint64_t)16 << 20)
#define MEMORY_A_BYTE 64        /* two of them may be a list, in the memo and on the stack */

struct frag_chunk {
	struct frag_chunk *next;
	size_t used, size;      /* cells */
	_Alignas(struct frag_value) uint32_t cells[];
};

void frag_values_init(struct frag_values *v, size_t bytes, uint64_t max)
{
	*v = (struct frag_values){ .expected = bytes, .max = max };
}

void frag_values_allow(struct frag_values *v, uint64_t unpacked, uint64_t file)
{
	const uint64_t kept = frag_kept_max(file);

	v->max = unpacked < (UINT64_MAX - MEMORY_MIN) / MEMORY_A_BYTE
		? MEMORY_MIN + unpacked * MEMORY_A_BYTE : UINT64_MAX;
	v->file = 0;
	if (v->max <= kept)
		return;
	v->max = kept;
	v->file = file;
}

void frag_values_end_once(struct frag_values *v)
{
	frag_map_fini(&v->once);
}

void frag_values_fini(struct frag_values *v)
{
	while (v->chunks) {
		struct frag_chunk *next = v->chunks->next;

		free(v->chunks);
		v->chunks = next;
	}
	if (v->own_table)
		free(v->table);
	free(v->shapes);
	frag_map_fini(&v->once);
	*v = (struct frag_values){ .table = NULL };
}

bool frag_values_take(struct frag_values *v, uint64_t bytes)
{
	FRAG_ASSERT(v->bytes <= v->max);
	if (bytes > v->max - v->bytes)
		return false;
	v->bytes += bytes;
	return true;
}

static struct frag_chunk *new_chunk(size_t cells)
{
	struct frag_chunk *c;
	size_t bytes = sizeof(*c) + cells * sizeof(c->cells[0]);

	c = frag_huge_alloc(&bytes);
	if (c) {
		c->next = NULL;
		c->used = 0;
		c->size = (bytes - sizeof(*c)) / sizeof(c->cells[0]);
	}
	return c;
}

/* Allocates `count` cells; a group too large for the current chunk gets its own chunk. */
static uint32_t *take_cells(struct frag_values *v, size_t count)
{
	struct frag_chunk *c = v->chunks;

	if (!c || c->size - c->used < count) {
		size_t usual = v->expected >= LARGE_FILE ? LARGE_CHUNK : CHUNK;
		size_t cells = (usual - sizeof(*c)) / sizeof(c->cells[0]);

		c = new_chunk(count > cells / 4 ? count : cells);
		if (!c)
			return NULL;
		/* after the first where that has more left */
		if (v->chunks && v->chunks->size - v->chunks->used > c->size - count) {
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

/* The first table and the first chunk are one piece of memory: a huge page may do for both. */
static struct frag_value *first_table(struct frag_values *v, size_t count)
{
	const size_t table = count * sizeof(struct frag_value) / sizeof(uint32_t);
	struct frag_chunk *c = new_chunk(table + count * CELLS_A_VALUE);

	if (!c)
		return NULL;
	c->used = table;
	c->next = v->chunks;    /* a first value may have text already */
	v->chunks = c;
	return (struct frag_value *)(void *)c->cells;
}

/* By the length of the file, but a small part of what is allowed yet. */
static uint64_t first_capacity(const struct frag_values *v)
{
	uint64_t need = v->expected / BYTES_A_VALUE;
	uint64_t max = (v->max - v->bytes) / sizeof(*v->table) / 4;

	return (need < max ? need : max) + VALUES_FIRST;
}

/*
 * The table doubles into new memory, as pages from frag_huge_alloc() cannot be
 * extended. The first table is in a chunk and is freed with it.
 */
enum frag_add frag_values_widen(struct frag_values *v)
{
	uint64_t need = v->capacity ? (uint64_t)v->capacity * 2 : first_capacity(v);
	size_t bytes = (size_t)need * sizeof(*v->table), before = v->capacity * sizeof(*v->table);
	struct frag_value *table;

	if (need >= UINT32_MAX || !frag_values_take(v, bytes - before))
		return FRAG_ADD_TOO_MUCH;
	table = before ? frag_huge_alloc(&bytes) : first_table(v, (size_t)need);
	if (!table)
		return FRAG_ADD_NOMEM;
	if (before)
		frag_move(table, v->table, before, v->own_table);
	if (v->own_table)
		free(v->table);
	v->table = table;
	v->own_table = before > 0;
	v->capacity = (uint32_t)need;
	return FRAG_ADDED;
}

/* The shape of a dict, or NULL. */
static const struct frag_shape *shape_of(const struct frag_values *v, const struct frag_value *dict)
{
	return dict->shared ? &v->shapes[dict->as.items[-BOX_FIRST]] : NULL;
}

static bool is_shape(const struct frag_shape *shape, const uint32_t *items, uint32_t count)
{
	uint32_t i = 0;

	if (shape->count * 2 != count)
		return false;
	while (i < shape->count && shape->keys[i] == items[2 * i])
		i++;
	return i == shape->count;
}

/* Keys that are strings may be a shape. */
static bool make_shape(const struct frag_values *v, struct frag_shape *shape,
		       const uint32_t *items, uint32_t count)
{
	for (uint32_t i = 0; i < count; i += 2)
		if (v->table[items[i]].kind != FRAG_STRING)
			return false;
	for (uint32_t i = 0; i < count; i += 2)
		shape->keys[i / 2] = items[i];
	shape->count = count / 2;
	return true;
}

/* The shape of these keys and values, made where it is new; FRAG_SHAPES: there is none. */
static uint32_t find_shape(struct frag_values *v, const uint32_t *items, uint32_t count)
{
	const uint32_t home = (items[0] + items[count - 2]) * 31 + count;

	if (count / 2 > FRAG_SHAPE_KEYS)
		return FRAG_SHAPES;
	if (!v->shapes)
		v->shapes = calloc(FRAG_SHAPES, sizeof(*v->shapes));
	for (uint32_t i = 0; i < PROBES && v->shapes; i++) {
		struct frag_shape *shape = &v->shapes[(home + i) % FRAG_SHAPES];

		if (is_shape(shape, items, count)
		    || (!shape->count && make_shape(v, shape, items, count)))
			return (home + i) % FRAG_SHAPES;
	}
	return FRAG_SHAPES;
}

/* Stores the items in the order of the file. */
static void copy_items(const struct frag_values *v, uint32_t *to, const struct frag_value *box)
{
	const struct frag_shape *shape = box->kind == FRAG_DICT ? shape_of(v, box) : NULL;

	if (!shape) {
		if (box->length)
			memcpy(to, box->as.items, box->length * sizeof(*to));
		return;
	}
	for (uint32_t i = 0; i < shape->count; i++) {
		to[2 * i] = shape->keys[i];
		to[2 * i + 1] = box->as.items[i];
	}
}

/* At first just what is requested: most boxes are filled at once. */
static enum frag_add widen_box(struct frag_values *v, struct frag_value *box, uint64_t need)
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
	items = take_cells(v, (size_t)size + BOX_FIRST);
	if (!items)
		return FRAG_ADD_NOMEM;
	*items = (uint32_t)size;
	copy_items(v, items + BOX_FIRST, box);
	box->as.items = items + BOX_FIRST;
	box->shared = false;

	return FRAG_ADDED;
}

/* The depth of a box that gets these values too; more than FRAG_VALUES_DEEP: too deep. */
static inline uint8_t depth_with(const struct frag_values *v, uint8_t depth,
				 const uint32_t *items, uint32_t count, uint32_t step)
{
	for (uint32_t i = 0; i < count; i += step) {
		uint8_t deeper = (uint8_t)(v->table[items[i]].depth + 1);

		depth = deeper > depth ? deeper : depth;
	}
	return depth;
}

/*
 * Values alone are copied, with the shape's number in the cell before them: the
 * keys are in the shape. The length counts both, as for any dict.
 */
static enum frag_add fill_dict(struct frag_values *v, uint32_t to, uint32_t shape,
			       const uint32_t *items, uint32_t count)
{
	struct frag_value *dict = &v->table[to];
	uint8_t depth = depth_with(v, dict->depth, items + 1, count - 1, 2);
	uint32_t *cells;

	FRAG_ASSERT(to < v->count && dict->kind == FRAG_DICT && !dict->length);
	FRAG_ASSERT(shape < FRAG_SHAPES && v->shapes[shape].count * 2 == count);
	if (depth > FRAG_VALUES_DEEP)
		return FRAG_ADD_TOO_DEEP;
	if (!frag_values_take(v, (count / 2 + BOX_FIRST) * sizeof(*cells)))
		return FRAG_ADD_TOO_MUCH;
	cells = take_cells(v, count / 2 + BOX_FIRST);
	if (!cells)
		return FRAG_ADD_NOMEM;
	*cells++ = shape;
	for (uint32_t i = 0; i < count / 2; i++)
		cells[i] = items[2 * i + 1];
	dict->as.items = cells;
	dict->shared = true;
	dict->depth = depth;
	dict->length = count;
	v->cells += count;
	return FRAG_ADDED;
}

/*
 * A shape fits only a dict that is filled at once: whatever is added later changes
 * its keys, and widening writes them out as pairs.
 */
enum frag_add frag_values_add(struct frag_values *v, uint32_t to, const uint32_t *items,
			      uint32_t count)
{
	struct frag_value *box = &v->table[to];
	uint32_t shape = FRAG_SHAPES;
	enum frag_add rc;
	uint8_t depth;

	FRAG_ASSERT(to < v->count);
	FRAG_ASSERT(box->kind == FRAG_LIST || (box->kind == FRAG_DICT && count % 2 == 0));
	if (!count)
		return FRAG_ADDED;
	if (box->kind == FRAG_DICT && !box->length)
		shape = find_shape(v, items, count);
	if (shape != FRAG_SHAPES)
		return fill_dict(v, to, shape, items, count);
	depth = depth_with(v, box->depth, items, count, 1);
	if (depth > FRAG_VALUES_DEEP)
		return FRAG_ADD_TOO_DEEP;
	rc = widen_box(v, box, (uint64_t)box->length + count);
	if (rc != FRAG_ADDED)
		return rc;
	memcpy(box->as.items + box->length, items, count * sizeof(*items));
	box->depth = depth;
	box->length += count;
	v->cells += count;
	return FRAG_ADDED;
}

/* Is it a box with exactly these items? */
static bool has_items(const struct frag_values *v, uint32_t box, enum frag_kind kind,
		      const uint32_t *items, uint32_t count)
{
	const struct frag_value *known = &v->table[box];
	const struct frag_shape *shape;

	if (known->kind != kind || known->length != count)
		return false;
	if (kind == FRAG_LIST)
		return memcmp(known->as.items, items, count * sizeof(*items)) == 0;
	shape = shape_of(v, known);
	if (!shape || !is_shape(shape, items, count))
		return false;
	for (uint32_t i = 0; i < count / 2; i++)
		if (known->as.items[i] != items[2 * i + 1])
			return false;
	return true;
}

/* The table of what is stored once, made with the first of it. */
static bool open_once(struct frag_values *v)
{
	return v->once.entries || frag_map_init(&v->once, frag_hash_seed());
}

static enum frag_add add_once(struct frag_values *v, uint64_t hash, uint32_t number)
{
	/* the table of entries is half empty */
	if (!frag_values_take(v, 2 * sizeof(struct frag_map_entry)))
		return FRAG_ADD_TOO_MUCH;
	return frag_map_add(&v->once, hash, number) ? FRAG_ADDED : FRAG_ADD_NOMEM;
}

/*
 * A box that was added to later has another length than the items of its entry. Where few values are
 * repeated, boxes are no longer looked up: that would take more memory than it saves.
 */
enum frag_add frag_values_fill_once(struct frag_values *v, uint32_t *box, const uint32_t *items,
				    uint32_t count)
{
	const enum frag_kind kind = v->table[*box].kind;
	enum frag_add rc;
	uint64_t hash;
	uint32_t at, known;

	FRAG_ASSERT(*box < v->count && !v->table[*box].length && count);
	if (!open_once(v))
		return FRAG_ADD_NOMEM;
	if (v->once.count >= ONCE_TRIAL && v->again < v->once.count)
		return frag_values_add(v, *box, items, count);
	hash = frag_hash_text((const char *)items, count * sizeof(*items), v->once.seed);
	at = frag_map_home(&v->once, hash);
	while ((known = frag_map_next(&v->once, hash, &at)) != FRAG_MAP_NONE) {
		if (!has_items(v, known, kind, items, count))
			continue;
		if (*box + 1 == v->count)
			v->count--;
		v->cells += count;
		v->again++;
		v->table[known].minus = true;
		*box = known;
		return FRAG_ADDED;
	}
	rc = frag_values_add(v, *box, items, count);
	return rc != FRAG_ADDED ? rc : add_once(v, hash, *box);
}

enum frag_add frag_values_text(struct frag_values *v, uint32_t length, char **out)
{
	size_t count = (size_t)length / sizeof(uint32_t) + 1;
	void *cells;

	if (!frag_values_take(v, count * sizeof(uint32_t)))
		return FRAG_ADD_TOO_MUCH;
	cells = take_cells(v, count);
	*out = cells;
	return cells ? FRAG_ADDED : FRAG_ADD_NOMEM;
}

enum frag_add frag_values_text_once(struct frag_values *v, const char *text, uint32_t length,
				    uint32_t *number)
{
	struct frag_value value = { .kind = FRAG_STRING, .length = length };
	enum frag_add rc;
	uint64_t hash;
	uint32_t at;
	char *copy;

	if (!open_once(v))
		return FRAG_ADD_NOMEM;
	hash = frag_hash_text(text, length, v->once.seed);
	at = frag_map_home(&v->once, hash);
	while ((*number = frag_map_next(&v->once, hash, &at)) != FRAG_MAP_NONE)
		if (v->table[*number].kind == FRAG_STRING && v->table[*number].length == length
		    && memcmp(v->table[*number].as.text, text, length) == 0)
			return FRAG_ADDED;
	rc = frag_values_text(v, length, &copy);
	if (rc != FRAG_ADDED)
		return rc;
	value.as.text = memcpy(copy, text, length);
	rc = frag_values_new(v, &value, number);
	return rc != FRAG_ADDED ? rc : add_once(v, hash, *number);
}

bool frag_text_is(const struct frag_value *value, const char *text)
{
	return value && value->kind == FRAG_STRING && value->length == strlen(text)
	       && memcmp(value->as.text, text, value->length) == 0;
}

/* The last key of this name; UINT32_MAX: there is none. */
static uint32_t find_key(const struct frag_values *v, const uint32_t *keys, uint32_t count,
			 uint32_t apart, const char *name)
{
	for (uint32_t i = count; i-- > 0;)
		if (frag_text_is(&v->table[keys[(size_t)i * apart]], name))
			return i;
	return UINT32_MAX;
}

const struct frag_value *frag_dict_get(const struct frag_values *v, const struct frag_value *dict,
				       const char *name)
{
	const struct frag_shape *shape;
	uint32_t at;

	if (!dict || dict->kind != FRAG_DICT)
		return NULL;
	shape = shape_of(v, dict);
	at = shape ? find_key(v, shape->keys, shape->count, 1, name)
		   : find_key(v, dict->as.items, dict->length / 2, 2, name);
	if (at == UINT32_MAX)
		return NULL;
	return &v->table[dict->as.items[shape ? at : at * 2 + 1]];
}

bool frag_dict_key(const struct frag_values *v, const struct frag_value *dict, uint32_t i,
		   struct frag_text *key)
{
	const struct frag_shape *shape = frag_is(dict, FRAG_DICT) ? shape_of(v, dict) : NULL;
	const struct frag_value *name;

	if (!frag_is(dict, FRAG_DICT) || i >= (shape ? shape->count : dict->length / 2))
		return false;
	name = &v->table[shape ? shape->keys[i] : dict->as.items[(size_t)i * 2]];
	*key = (struct frag_text){ .text = "" };
	if (name->kind == FRAG_STRING)
		*key = (struct frag_text){ name->as.text, name->length };
	return true;
}

/* Where the members are among the shape's values. */
static const uint8_t *layout_of(const struct frag_values *v, const struct frag_shape *shape,
				struct frag_layouts *layouts)
{
	struct frag_layout *l = &layouts->layouts[shape - v->shapes];

	for (uint32_t i = 0; i < layouts->count && !l->known; i++)
		l->at[i] = (uint8_t)find_key(v, shape->keys, shape->count, 1, layouts->names[i]);
	l->known = true;
	return l->at;
}

bool frag_items_members(struct frag_values *v, const uint32_t *items, uint32_t count,
			struct frag_layouts *layouts, const struct frag_value **out)
{
	const uint32_t shape = find_shape(v, items, count);
	const uint8_t *at = shape < FRAG_SHAPES ? layout_of(v, &v->shapes[shape], layouts) : NULL;

	for (uint32_t i = 0; i < layouts->count && at; i++)
		out[i] = at[i] != UINT8_MAX ? &v->table[items[2 * at[i] + 1]] : NULL;
	return at;
}

void frag_dict_members(const struct frag_values *v, const struct frag_value *dict,
		       struct frag_layouts *layouts, const struct frag_value **out)
{
	const struct frag_shape *shape = frag_is(dict, FRAG_DICT) ? shape_of(v, dict) : NULL;
	const uint8_t *at;

	FRAG_ASSERT(layouts->count <= FRAG_MEMBERS_MAX);
	if (!shape) {
		for (uint32_t i = 0; i < layouts->count; i++)
			out[i] = frag_dict_get(v, dict, layouts->names[i]);
		return;
	}
	at = layout_of(v, shape, layouts);
	for (uint32_t i = 0; i < layouts->count; i++)
		out[i] = at[i] != UINT8_MAX ? &v->table[dict->as.items[at[i]]] : NULL;
}

uint32_t frag_value_number(const struct frag_values *v, const struct frag_value *value)
{
	FRAG_ASSERT(value >= v->table && value < v->table + v->count);
	return (uint32_t)(value - v->table);
}

struct reader {
	struct frag_values *values;
	const char *begin;
	const char *what;
	struct frag_scan scan;
	char *scratch;
	uint32_t *stack;                /* numbers of the items of the boxes that are open */
	uint32_t count, capacity;
	struct frag_error *err;
	int rc;
};

static const char *value_json_fail(struct reader *r, enum frag_add rc, const char *p)
{
	if (rc == FRAG_ADD_NOMEM)
		r->rc = frag_fail_nomem(r->err);
	else if (rc == FRAG_ADD_TOO_MUCH && r->values->file)
		r->rc = frag_kept_too_much(r->what, r->values->file, r->err);
	else
		r->rc = frag_fail(r->err, FRAG_ETRACE, "%s: byte %zu: %s", r->what,
				  (size_t)(p - r->begin), rc == FRAG_ADD_TOO_DEEP
				  ? "nested deeper than 64"
				  : "more values than a document of this size has");
	return NULL;
}

static const char *push_number(struct reader *r, uint32_t number, const char *p)
{
	if (!FRAG_GROW(r->stack, r->capacity, r->count))
		return value_json_fail(r, FRAG_ADD_NOMEM, p);
	r->stack[r->count++] = number;
	return p;
}

static const char *value_json_push(struct reader *r, const struct frag_value *value, const char *p)
{
	uint32_t number;
	enum frag_add rc = frag_values_new(r->values, value, &number);

	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	return push_number(r, number, p);
}

/*
 * Text without escapes is borrowed from the document. With escapes it was made in
 * the scratch, which the next string overwrites, so it is copied.
 */
static const char *read_text(struct reader *r, const char *p, struct frag_value *out)
{
	struct frag_text text;
	enum frag_add rc;
	const char *end;
	char *copy;

	r->scan.scratch = r->scratch;   /* what the scan puts there moves it on */
	end = frag_scan_string(&r->scan, p, &text);
	if (!end)
		return NULL;
	*out = (struct frag_value){ .kind = FRAG_STRING, .length = text.length,
				    .as.text = text.text };
	if (text.text >= r->begin && text.text <= r->scan.end)
		return end;
	rc = frag_values_text(r->values, text.length, &copy);   /* it had escapes */
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	memcpy(copy, text.text, text.length);
	out->as.text = copy;
	return end;
}

/*
 * The quick path knows integers below 2^53 without sign. A real that is a whole
 * number, -5 or 1e3, is an integer too, as in a pickle.
 */
static const char *scan_numeral(struct reader *r, const char *p, struct frag_value *out)
{
	double real;
	const char *end;

	*out = (struct frag_value){ .kind = FRAG_INTEGER };
	end = frag_scan_integer(p, &out->as.magnitude);
	if (end)
		return end;
	end = frag_scan_number(&r->scan, p, &real);
	if (!end)
		return NULL;
	*out = (struct frag_value){ .kind = FRAG_REAL, .as.real = real };
	if (real < 18446744073709551616.0 && real > -18446744073709551616.0
	    && real == (double)(uint64_t)(real < 0 ? -real : real) * (real < 0 ? -1 : 1))
		*out = (struct frag_value){
			.kind = FRAG_INTEGER, .minus = real < 0,
			.as.magnitude = (uint64_t)(real < 0 ? -real : real),
		};
	return end;
}

/* Reads a value and pushes it. As values nest, so do the calls: 64 at most. */
static const char *read_value(struct reader *r, const char *p, uint32_t depth);

/* A member's name and colon. */
static const char *read_key(struct reader *r, const char *p)
{
	struct frag_value key;

	if (*p != '"')
		return frag_scan_bad(&r->scan, p, "a member's name is expected here");
	p = read_text(r, p + 1, &key);
	p = p ? frag_scan_space(&r->scan, p) : NULL;
	if (p && *p != ':')
		return frag_scan_bad(&r->scan, p, "a colon is expected here");
	p = p ? value_json_push(r, &key, p) : NULL;
	return p ? frag_scan_space(&r->scan, p + 1) : NULL;
}

/*
 * Items wait on the stack above those of outer boxes until their number is known.
 * The condition of the loop lets an empty box end at once, but refuses a comma
 * before the end.
 */
static const char *read_box(struct reader *r, const char *p, uint32_t depth)
{
	const bool dict = *p == '{';
	const char close = dict ? '}' : ']';
	const uint32_t ground = r->count;
	const struct frag_value empty = { .kind = dict ? FRAG_DICT : FRAG_LIST };
	enum frag_add rc = FRAG_ADD_TOO_DEEP;
	uint32_t box;

	if (depth <= FRAG_VALUES_DEEP)
		rc = frag_values_new(r->values, &empty, &box);
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	p = frag_scan_space(&r->scan, p + 1);
	while (p && (*p != close || r->count > ground)) {
		p = dict ? read_key(r, p) : p;
		p = p ? read_value(r, p, depth + 1) : NULL;
		p = p ? frag_scan_space(&r->scan, p) : NULL;
		if (!p || *p == close)
			break;
		if (*p != ',')
			return frag_scan_bad(&r->scan, p, "a comma or the end is expected here");
		p = frag_scan_space(&r->scan, p + 1);
	}
	if (!p)
		return NULL;
	if (r->count > ground)
		rc = frag_values_add(r->values, box, r->stack + ground, r->count - ground);
	r->count = ground;
	if (rc != FRAG_ADDED)
		return value_json_fail(r, rc, p);
	return push_number(r, box, p + 1);
}

/* Any other beginning is scanned as a number; that scan then reports the error. */
static const char *read_value(struct reader *r, const char *p, uint32_t depth)
{
	struct frag_value value;

	switch (*p) {
	case '{':
	case '[':
		return read_box(r, p, depth);
	case '"':
		p = read_text(r, p + 1, &value);
		break;
	case 't':
	case 'f':
	case 'n':
		value = (struct frag_value){ .kind = *p == 'n' ? FRAG_NULL : FRAG_TRUTH,
					     .as.magnitude = *p == 't' };
		p = frag_scan_skip(&r->scan, p, 1);
		break;
	default:
		p = scan_numeral(r, p, &value);
	}
	return p ? value_json_push(r, &value, p) : NULL;
}

/* Unescaping makes no string longer, so a scratch of the document's length is enough for any. */
int frag_value_json_read(struct frag_values *values, struct frag_value *root, const char *bytes,
			 size_t length, const char *what, struct frag_error *err)
{
	struct reader r = {
		.values = values, .begin = bytes, .what = what, .err = err,
		.scan = { .end = bytes + length }, .scratch = malloc(length + 16),
	};
	const char *p = NULL;

	if (!r.scratch)
		return frag_fail_nomem(err);
	p = frag_scan_space(&r.scan, bytes);
	p = p ? read_value(&r, p, 1) : NULL;
	p = p ? frag_scan_space(&r.scan, p) : NULL;
	if (p && p < r.scan.end)
		p = frag_scan_bad(&r.scan, p, "bytes after the end of the document");
	if (p)
		*root = values->table[r.stack[0]];
	free(r.stack);
	free(r.scratch);
	if (r.rc)
		return r.rc;
	if (p)
		return 0;
	if (r.scan.fail == FRAG_SCAN_MORE)
		return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: truncated: the input ends here",
				 what, length);
	return frag_fail(err, FRAG_ETRACE, "%s: byte %zu: %s", what,
			 (size_t)(r.scan.fail_at - bytes), r.scan.fail_text);
}
