/* schema.c - what the fields of a document say of it as JSON Schema, draft 2020-12. */
#include "documents/fields.h"

#include <string.h>

#include "base/bug.h"
#include "base/parse.h"

static const char *const type_names[] = {
	[FRAG_TYPE_COUNT] = "integer", [FRAG_TYPE_BYTES] = "integer", [FRAG_TYPE_CAPACITY] = "integer",
	[FRAG_TYPE_SUM] = "integer", [FRAG_TYPE_PERCENT] = "number", [FRAG_TYPE_HEX] = "string",
	[FRAG_TYPE_VALUES] = "array", [FRAG_TYPE_INTEGER] = "integer", [FRAG_TYPE_FLAG] = "boolean", [FRAG_TYPE_NUMBER] = "number",
	[FRAG_TYPE_CHANGE] = "number", [FRAG_TYPE_NUMBER_JSON] = "number", [FRAG_TYPE_TEXT] = "string", [FRAG_TYPE_TEXT_JSON] = "string",
	[FRAG_TYPE_CONTENT] = "string", [FRAG_TYPE_OBJECT] = "object", [FRAG_TYPE_MAP] = "object",
	[FRAG_TYPE_ID] = "integer", [FRAG_TYPE_SIZE] = "integer", [FRAG_TYPE_VALUE] = "number",
	[FRAG_TYPE_LIST] = "array", [FRAG_TYPE_FRAMES] = "array", [FRAG_TYPE_RANGE] = "array",
};

bool frag_field_is_nullable(const struct frag_field *field)
{
	if (field->optional || field->type == FRAG_TYPE_LIST || field->type == FRAG_TYPE_MAP)
		return false;
	return field->nullable || field->absence != FRAG_ALWAYS_THERE;
}

bool frag_field_has_word(const struct frag_field *field, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(field->words[k], field->words[i]) == 0)
			return false;
	return !(field->except >> i & 1);
}

static void put_enum(struct frag_node_ref in, const struct frag_field *field, bool nullable)
{
	const struct frag_node_ref list = frag_json_array(in, "enum");

	for (uint32_t i = 0; field->words[i]; i++)
		if (frag_field_has_word(field, i))
			frag_json_text(list, NULL, field->words[i]);
	if (nullable)
		frag_json_null(list, NULL);
}

/* The keyword `type`: one name, or an array of several. */
static void put_type_name(struct frag_node_ref in, enum frag_field_type type, bool nullable)
{
	const bool or_text = type == FRAG_TYPE_ID || type == FRAG_TYPE_SIZE || type == FRAG_TYPE_VALUE;
	struct frag_node_ref list;

	if (!or_text && !nullable) {
		frag_json_text(in, "type", type_names[type]);
		return;
	}
	list = frag_json_array(in, "type");
	frag_json_text(list, NULL, type_names[type]);
	if (or_text)
		frag_json_text(list, NULL, "string");
	if (nullable)
		frag_json_text(list, NULL, "null");
}

static void put_object(struct frag_node_ref in, const struct frag_field *fields, bool open);
static void put_type(struct frag_node_ref in, const struct frag_field *field,
		     enum frag_field_type type, bool nullable);

/* The items of a list. */
static void put_items(struct frag_node_ref in, const struct frag_field *field)
{
	if (!field->fields || field->items == FRAG_TYPE_VALUES) {
		put_type(in, field, field->items, field->nullable || field->absence == FRAG_UNLESS_MAX);
		return;
	}
	frag_json_text(in, "type", "object");
	put_object(in, field->fields, field->open);
}

/* The bounds of a number; a trace's integers are below 2^53. */
static void put_bounds(struct frag_node_ref in, const struct frag_field *field, enum frag_field_type type)
{
	const bool of_trace = type == FRAG_TYPE_ID || type == FRAG_TYPE_SIZE;

	if (type == FRAG_TYPE_COUNT || type == FRAG_TYPE_BYTES || type == FRAG_TYPE_CAPACITY
	    || type == FRAG_TYPE_NUMBER || type == FRAG_TYPE_SUM || type == FRAG_TYPE_PERCENT || of_trace)
		frag_json_u64(in, "minimum", field->least);
	if (field->most || of_trace || type == FRAG_TYPE_PERCENT)
		frag_json_u64(in, "maximum", field->most ? field->most : of_trace ? FRAG_SIZE_LIMIT - 1 : 100);
	if (type == FRAG_TYPE_SIZE)
		frag_json_text(in, "pattern", field->least ? "^0*[1-9][0-9]*([KMGT](iB)?)?$"
							   : "^[0-9]+([KMGT](iB)?)?$");
}

/* The values of an array, which are all there. */
static void put_prefix(struct frag_node_ref in, const struct frag_field *fields)
{
	const struct frag_node_ref list = frag_json_array(in, "prefixItems");
	uint32_t count = 0;

	for (; !frag_field_is_end(&fields[count]); count++) {
		const struct frag_node_ref item = frag_json_object(list, NULL);

		frag_json_text(item, "description", fields[count].what);
		put_type(item, &fields[count], fields[count].type, frag_field_is_nullable(&fields[count]));
	}
	frag_json_u64(in, "minItems", count);
}

/* The keywords of a value of this type. */
static void put_type(struct frag_node_ref in, const struct frag_field *field,
		     enum frag_field_type type, bool nullable)
{
	if (type == FRAG_TYPE_WORD)
		put_enum(in, field, nullable);
	else if (type == FRAG_TYPE_JSON)
		frag_json_raw(in, "type", field->members);
	else
		put_type_name(in, type, nullable);
	put_bounds(in, field, type);
	if (type == FRAG_TYPE_HEX)
		frag_json_text(in, "pattern", "^([0-9a-f]{2})+$");
	if (type == FRAG_TYPE_CONTENT)
		frag_json_text(in, "pattern", "^[0-9a-f]{16}$");
	if (type == FRAG_TYPE_OBJECT)
		put_object(in, field->fields, field->open);
	if (type == FRAG_TYPE_MAP)
		frag_json_raw(in, "additionalProperties", field->members);
	if (type == FRAG_TYPE_FRAMES)
		frag_json_raw(in, "items", "{\"type\":\"string\"}");
	if (type == FRAG_TYPE_LIST && field->least)
		frag_json_u64(in, "minItems", field->least);
	if (type == FRAG_TYPE_LIST && field->members)
		frag_json_raw(in, "items", field->members);
	else if (type == FRAG_TYPE_LIST)
		put_items(frag_json_object(in, "items"), field);
	if (type == FRAG_TYPE_RANGE)
		frag_json_raw(in, "prefixItems", "[{\"type\":\"integer\",\"minimum\":0},"
			      "{\"type\":[\"integer\",\"null\"],\"minimum\":0}]");
	if (type == FRAG_TYPE_RANGE)
		frag_json_raw(in, "minItems", "2");
	if (type == FRAG_TYPE_VALUES)
		put_prefix(in, field->fields);
	if (type == FRAG_TYPE_RANGE || type == FRAG_TYPE_VALUES)
		frag_json_raw(in, "items", "false");
}

void frag_schema_member(struct frag_node_ref properties, const struct frag_field *field)
{
	const struct frag_node_ref in = frag_json_object(properties, field->name);
	struct frag_node_ref either;

	if (field->what)
		frag_json_text(in, "description", field->what);
	if (!field->one_alone) {
		put_type(in, field, field->type, frag_field_is_nullable(field));
		return;
	}
	either = frag_json_array(in, "anyOf");
	put_items(frag_json_object(either, NULL), field);
	put_type(frag_json_object(either, NULL), field, field->type, false);
}

/* The names of the members that are always there. */
void frag_schema_required(struct frag_node_ref list, const struct frag_field *fields)
{
	for (; !frag_field_is_end(fields); fields++)
		if (fields->type == FRAG_TYPE_MEMBERS)
			frag_schema_required(list, fields->fields);
		else if (fields->name && !fields->optional)
			frag_json_text(list, NULL, fields->name);
}

static void put_properties(struct frag_node_ref in, const struct frag_field *fields)
{
	for (; !frag_field_is_end(fields); fields++)
		if (fields->type == FRAG_TYPE_MEMBERS)
			put_properties(in, fields->fields);
		else if (fields->name)
			frag_schema_member(in, fields);
}

/*
 * The member `more` of an object with lists that --top cuts: how many elements it omits of each. The
 * properties of it: `in`, made with the first.
 */
static void put_more(struct frag_node_ref properties, struct frag_node_ref *in,
		     const struct frag_field *fields)
{
	for (; !frag_field_is_end(fields); fields++) {
		if (fields->type == FRAG_TYPE_MEMBERS)
			put_more(properties, in, fields->fields);
		if (!fields->cut)
			continue;
		if (!in->node) {
			*in = frag_json_object(properties, "more");
			frag_json_text(*in, "description",
				       "The number of elements that --top omits of each list.");
			frag_json_text(*in, "type", "object");
			frag_json_bool(*in, "additionalProperties", false);
			frag_json_u64(*in, "minProperties", 1);
			*in = frag_json_object(*in, "properties");
		}
		frag_json_raw(*in, fields->name, "{\"type\":\"integer\",\"minimum\":1}");
	}
}

/* What an object has, and nothing else. */
static void put_object(struct frag_node_ref in, const struct frag_field *fields, bool open)
{
	struct frag_node_ref properties, more = { .node = NULL };

	if (!open)
		frag_json_bool(in, "additionalProperties", false);
	frag_schema_required(frag_json_array(in, "required"), fields);
	properties = frag_json_object(in, "properties");
	put_properties(properties, fields);
	put_more(properties, &more, fields);
}

/* The member `tool`, which every document has. */
static const char tool_schema[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\",\"version\"],"
	"\"properties\":{\"name\":{\"const\":\"fragsim\"},\"version\":{\"type\":\"string\","
	"\"pattern\":\"^[0-9]+\\\\.[0-9]+\\\\.[0-9]+\"}}}";

struct frag_node_ref frag_schema_properties(struct frag_node_ref in, const struct frag_document_type *d)
{
	const struct frag_node_ref list = frag_json_object(in, "properties");
	struct frag_node_ref more = { .node = NULL };

	if (d->version) {
		frag_json_text(frag_json_object(list, "format"), "const", d->format);
		frag_json_u64(frag_json_object(list, "version"), "const", d->version);
	}
	if (!d->no_tool)
		frag_json_raw(list, "tool", tool_schema);
	put_properties(list, d->fields);
	put_more(list, &more, d->fields);
	return list;
}

int frag_schema_print(const struct frag_document_type *d, FILE *f, struct frag_error *err)
{
	struct frag_json doc;
	const struct frag_node_ref root = frag_json_begin(&doc);
	struct frag_node_ref list;
	char title[80];
	int rc;

	snprintf(title, sizeof(title), d->version ? "%s, version %u" : "%s", d->format, d->version);
	frag_json_text(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
	frag_json_text(root, "title", title);
	frag_json_text(root, "description", d->what);
	frag_json_text(root, "type", "object");
	if (!d->open)
		frag_json_bool(root, "additionalProperties", false);
	list = frag_json_array(root, "required");
	for (uint32_t i = 0; d->version && i < 2; i++)
		frag_json_text(list, NULL, i ? "version" : "format");
	if (!d->no_tool)
		frag_json_raw(list, NULL, "\"tool\"");
	frag_schema_required(list, d->fields);
	frag_schema_properties(root, d);
	if (d->rules)
		d->rules(root);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}
