/* fields.c - the values that fields describe, and JSON documents that are made of them. */
#include "documents/fields.h"

#include "base/bug.h"
#include "documents/document_head.h"

/* What is stored there, and whether that is a value. */
static struct frag_cell_value value_at(const struct frag_field *field, const char *at)
{
	struct frag_cell_value v = { .there = true };

	switch (field->store) {
	case FRAG_STORED_U64:
		v.u = *(const uint64_t *)(const void *)at;
		v.there = field->absence != FRAG_UNLESS_MAX || v.u != UINT64_MAX;
		break;
	case FRAG_STORED_U32:
		v.u = *(const uint32_t *)(const void *)at;
		v.there = field->absence != FRAG_UNLESS_MAX || v.u != UINT32_MAX;
		break;
	case FRAG_STORED_U16:
		v.u = *(const uint16_t *)(const void *)at;
		break;
	case FRAG_STORED_I64:
		v.i = *(const int64_t *)(const void *)at;
		break;
	case FRAG_STORED_INT:
		v.i = *(const int *)(const void *)at;
		return v;
	case FRAG_STORED_BOOL:
		v.b = *(const bool *)at;
		if (field->type == FRAG_TYPE_WORD)
			v.text = field->words[v.b];
		return v;
	case FRAG_STORED_DOUBLE:
		v.d = *(const double *)(const void *)at;
		return v;
	case FRAG_STORED_TEXT:
		v.text = *(const char *const *)(const void *)at;
		v.there = v.text != NULL;
		return v;
	case FRAG_STORED_POINTER:
		v.of = *(const void *const *)(const void *)at;
		v.there = v.of != NULL;
		return v;
	case FRAG_STORED_STRUCT:
		if (field->type == FRAG_TYPE_OBJECT || field->type == FRAG_TYPE_MEMBERS)
			v.of = at;
		else
			v.text = at;
		return v;
	}
	v.there = v.there && (field->absence != FRAG_UNLESS_ZERO || v.u != 0);
	if (field->type == FRAG_TYPE_WORD)
		v.text = field->words[v.u];
	return v;
}

/* The struct that the field's value is in. */
static const char *struct_of(const struct frag_field *field, const void *of)
{
	const char *const here = of;

	return field->via ? *(const char *const *)(const void *)(here + field->via - 1) : here;
}

struct frag_cell_value frag_field_value(const struct frag_field *field, const void *of,
					char buf[FRAG_ELEMENT_MAX])
{
	struct frag_cell_value v = { .there = false };

	FRAG_ASSERT(field->type != FRAG_TYPE_LIST && field->type != FRAG_TYPE_MAP);
	if (field->text && struct_of(field, of))
		v = FRAG_TEXT_OF(field->text(struct_of(field, of), buf));
	else if (struct_of(field, of))
		v = field->get ? field->get(struct_of(field, of))
			       : value_at(field, struct_of(field, of) + field->at);
	if (field->absence == FRAG_IF)
		v.there = v.there && *((const bool *)of + field->there);
	if (field->known)
		v.there = v.there && field->known(struct_of(field, of), field);
	return v;
}

uint32_t frag_field_each(const struct frag_field *field, const void *of,
		       bool (*visit)(void *ctx, const void *element), void *ctx)
{
	const char *const in = struct_of(field, of);
	_Alignas(max_align_t) char made[FRAG_ELEMENT_MAX];
	uint32_t i = 0;

	FRAG_ASSERT(field->type == FRAG_TYPE_LIST);
	if (!in)
		return 0;
	if (field->each) {
		while (field->each(in, i, made)) {
			i++;
			if (!visit(ctx, made))
				break;
		}
	} else {
		const char *const at = in + field->at;
		const char *const list = field->store == FRAG_STORED_POINTER
					 ? *(const char *const *)(const void *)at : at;
		const uint32_t count = *(const uint32_t *)(const void *)(in + field->count);

		for (bool more = true; more && i < count; i++) {
			const char *const element = list + (size_t)i * field->size;

			more = visit(ctx, field->pointers ? *(const char *const *)(const void *)element
							  : element);
		}
	}
	return i;
}

/* A member, or an element where key is NULL, that is no list and no map. */
static void put_scalar(struct frag_node_ref in, const char *key, const struct frag_field *field,
		       enum frag_field_type type, struct frag_cell_value v)
{
	if (!v.there) {
		if (!field->optional)
			frag_json_null(in, key);
		return;
	}
	switch (type) {
	case FRAG_TYPE_COUNT:
	case FRAG_TYPE_BYTES:
	case FRAG_TYPE_CAPACITY:
		frag_json_u64(in, key, v.u);
		return;
	case FRAG_TYPE_SUM:
		if (field->text)
			frag_json_raw(in, key, v.text);
		else
			frag_json_u64(in, key, v.u);
		return;
	case FRAG_TYPE_INTEGER:
		frag_json_i64(in, key, v.i);
		return;
	case FRAG_TYPE_FLAG:
		frag_json_bool(in, key, v.b);
		return;
	case FRAG_TYPE_NUMBER:
	case FRAG_TYPE_CHANGE:
	case FRAG_TYPE_PERCENT:
		frag_json_fixed4(in, key, v.d);
		return;
	case FRAG_TYPE_TEXT:
	case FRAG_TYPE_WORD:
		frag_json_text(in, key, v.text);
		return;
	case FRAG_TYPE_TEXT_JSON:
	case FRAG_TYPE_NUMBER_JSON:
	case FRAG_TYPE_ID:
	case FRAG_TYPE_JSON:
		frag_json_raw(in, key, v.text);
		return;
	case FRAG_TYPE_CONTENT:
		frag_document_content(in, key, v.u);
		return;
	case FRAG_TYPE_HEX:
		frag_document_hex(in, key, v.text);
		return;
	case FRAG_TYPE_FRAMES:
		frag_json_frames(in, key, v.text);
		return;
	case FRAG_TYPE_OBJECT:
		frag_put_object(in, key, field->fields, v.of);
		return;
	case FRAG_TYPE_LIST:
	case FRAG_TYPE_MAP:
	case FRAG_TYPE_FIGURE:
	case FRAG_TYPE_SIZE:
	case FRAG_TYPE_VALUE:
	case FRAG_TYPE_RANGE:
	case FRAG_TYPE_VALUES:
	case FRAG_TYPE_MEMBERS:
	case FRAG_TYPE_END:
		break;
	}
	FRAG_BUG("a field without a scalar type");
}

/* A list on its way into a document: of `count` elements `shown` ones are shown; `at`: the next. */
struct list {
	struct frag_node_ref array;
	const struct frag_field *field;
	const void *of;
	uint32_t count, shown, at;
	const char *one;        /* the key of an element that is the member itself; NULL: an array */
};

static bool count_element(void *ctx, const void *element)
{
	(void)element;
	++*(uint32_t *)ctx;
	return true;
}

static void put_range(struct frag_node_ref in, const uint64_t *range)
{
	const struct frag_node_ref pair = frag_json_array(in, NULL);

	frag_json_u64(pair, NULL, range[0]);
	if (range[1] != UINT64_MAX)
		frag_json_u64(pair, NULL, range[1]);
	else
		frag_json_null(pair, NULL);
}

static void put_array(struct frag_node_ref in, const struct frag_field *fields, const void *of)
{
	const struct frag_node_ref array = frag_json_array(in, NULL);
	char buf[FRAG_ELEMENT_MAX];

	for (; !frag_field_is_end(fields); fields++)
		put_scalar(array, NULL, fields, fields->type, frag_field_value(fields, of, buf));
}

/* The next element, while the list shows one. */
static bool put_element(void *ctx, const void *element)
{
	struct list *to = ctx;
	const struct frag_field *field = to->field;
	struct frag_cell_value v = { .there = true };

	if (field->shows && to->shown < to->count) {
		if (!field->shows(to->of, to->at++, to->shown))
			return true;
	} else if (to->at++ >= to->shown) {
		return false;
	}
	if (field->items == FRAG_TYPE_VALUES) {
		put_array(to->array, field->fields, element);
		return true;
	}
	if (field->fields) {
		frag_put_object(to->array, to->one, field->fields, element);
		return true;
	}
	if (field->items == FRAG_TYPE_RANGE) {
		put_range(to->array, element);
		return true;
	}
	if (field->items == FRAG_TYPE_COUNT || field->items == FRAG_TYPE_BYTES) {
		v.u = *(const uint64_t *)element;
		v.there = field->absence != FRAG_UNLESS_MAX || v.u != UINT64_MAX;
	} else {
		v.text = *(const char *const *)element;
	}
	put_scalar(to->array, NULL, field, field->items, v);
	return true;
}

static void put_list(struct frag_node_ref in, const struct frag_field *field, const void *of)
{
	struct list to = { .field = field, .of = struct_of(field, of), .shown = UINT32_MAX };

	if (field->absence == FRAG_IF && !*((const bool *)of + field->there))
		return;
	if (field->cut || field->optional || field->one_alone)
		frag_field_each(field, of, count_element, &to.count);
	if (field->optional && !to.count && field->absence != FRAG_IF)
		return;
	to.one = field->one_alone && to.count == 1 ? field->name : NULL;
	to.array = to.one ? in : frag_json_array(in, field->name);
	if (field->cut)
		to.shown = frag_json_shown(in, field->name, to.count);
	frag_field_each(field, of, put_element, &to);
}

/* An object whose struct a function makes. */
static void put_made(struct frag_node_ref in, const struct frag_field *field, const void *of)
{
	_Alignas(max_align_t) char made[FRAG_ELEMENT_MAX];
	const bool there = field->each(struct_of(field, of), 0, made);

	put_scalar(in, field->name, field, FRAG_TYPE_OBJECT,
		   (struct frag_cell_value){ .there = there, .of = made });
}

void frag_put_fields(struct frag_node_ref in, const struct frag_field *fields, const void *of)
{
	char buf[FRAG_ELEMENT_MAX];

	for (; !frag_field_is_end(fields); fields++) {
		if (!fields->name)
			continue;
		if (fields->type == FRAG_TYPE_LIST)
			put_list(in, fields, of);
		else if (fields->type == FRAG_TYPE_OBJECT && fields->each)
			put_made(in, fields, of);
		else if (fields->type == FRAG_TYPE_MEMBERS)
			frag_put_fields(in, fields->fields, frag_field_value(fields, of, buf).of);
		else if (fields->type == FRAG_TYPE_MAP)
			fields->put(frag_json_object(in, fields->name), of);
		else
			put_scalar(in, fields->name, fields, fields->type,
				   frag_field_value(fields, of, buf));
	}
}

void frag_put_object(struct frag_node_ref in, const char *key, const struct frag_field *fields,
		     const void *of)
{
	struct frag_node_ref o = frag_json_object_or_null(in, key, of != NULL);

	if (o.node)
		frag_put_fields(o, fields, of);
}

static void put_document(struct frag_node_ref root, const struct frag_document_type *d, const void *answer)
{
	_Alignas(max_align_t) char view[FRAG_ELEMENT_MAX];

	frag_json_text(root, "format", d->format);
	frag_json_u64(root, "version", d->version);
	if (!d->no_tool)
		frag_document_tool(root);
	if (d->view)
		d->view(answer, view);
	frag_put_fields(root, d->fields, d->view ? view : answer);
}

struct frag_json frag_document_cut(const struct frag_document_type *d, const void *answer, uint32_t top)
{
	struct frag_json doc;
	const struct frag_node_ref root = frag_json_begin(&doc);

	doc.top = top;
	put_document(root, d, answer);
	return doc;
}

struct frag_json frag_document_of(const struct frag_document_type *d, const void *answer)
{
	return frag_document_cut(d, answer, UINT32_MAX);
}
