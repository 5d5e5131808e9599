/* schema.c - what the fields of a document say of it: as JSON Schema, and as mdoc(7). */
#include "documents/fields.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"

#define MEMBERS_OBJECTS_MAX 512         /* tables of fields, over all documents */

/* A JSON string of one of our own sentences. */
static void put_string(const char *text, FILE *f)
{
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		putc(*text, f);
	}
	putc('"', f);
}

static void indent(uint32_t depth, FILE *f)
{
	fprintf(f, "\n%*s", (int)(2 * depth), "");
}

static const char *type_name(enum frag_field_type type)
{
	switch (type) {
	case FRAG_TYPE_COUNT:
	case FRAG_TYPE_BYTES:
	case FRAG_TYPE_CAPACITY:
	case FRAG_TYPE_INTEGER:
		return "integer";
	case FRAG_TYPE_FLAG:
		return "boolean";
	case FRAG_TYPE_NUMBER:
	case FRAG_TYPE_CHANGE:
		return "number";
	case FRAG_TYPE_TEXT:
	case FRAG_TYPE_TEXT_JSON:
	case FRAG_TYPE_WORD:
	case FRAG_TYPE_CONTENT:
		return "string";
	case FRAG_TYPE_OBJECT:
	case FRAG_TYPE_MAP:
		return "object";
	case FRAG_TYPE_LIST:
		return "array";
	case FRAG_TYPE_ID:
	case FRAG_TYPE_END:
		break;
	}
	FRAG_BUG("a type without a name");
}

/* Can the member be null? */
static bool is_nullable(const struct frag_field *field)
{
	if (field->optional || field->type == FRAG_TYPE_LIST || field->type == FRAG_TYPE_MAP)
		return false;
	return field->nullable || field->absence != FRAG_ALWAYS_THERE;
}

static void put_properties(const struct frag_field *fields, uint32_t depth, FILE *f);

/* Is it among the words before? Several values may have one. */
static bool is_repeated(const char *const *words, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(words[k], words[i]) == 0)
			return true;
	return false;
}

static void put_enum(const char *const *words, bool nullable, FILE *f)
{
	fputs("\"enum\": [", f);
	for (uint32_t i = 0; words[i]; i++) {
		if (is_repeated(words, i))
			continue;
		fputs(i ? ", " : "", f);
		put_string(words[i], f);
	}
	fputs(nullable ? ", null]" : "]", f);
}

/* The keywords of a value of this type, between braces that the caller writes. */
static void put_type(const struct frag_field *field, enum frag_field_type type, bool nullable,
		     uint32_t depth, FILE *f)
{
	if (type == FRAG_TYPE_WORD) {
		put_enum(field->words, nullable, f);
		return;
	}
	if (type == FRAG_TYPE_ID)
		fprintf(f, "\"type\": [\"integer\", \"string\"%s]", nullable ? ", \"null\"" : "");
	else
		fprintf(f, nullable ? "\"type\": [\"%s\", \"null\"]" : "\"type\": \"%s\"",
			type_name(type));
	if (type == FRAG_TYPE_COUNT || type == FRAG_TYPE_BYTES || type == FRAG_TYPE_CAPACITY
	    || type == FRAG_TYPE_NUMBER)
		fprintf(f, ", \"minimum\": %ju", (uintmax_t)field->least);
	if (type == FRAG_TYPE_CONTENT)
		fputs(", \"pattern\": \"^[0-9a-f]{16}$\"", f);
	if (type == FRAG_TYPE_OBJECT)
		put_properties(field->fields, depth, f);
	if (type == FRAG_TYPE_MAP)
		fprintf(f, ", \"additionalProperties\": %s", field->members);
	if (type != FRAG_TYPE_LIST)
		return;
	fputs(", \"items\": {", f);
	if (field->fields) {
		fputs("\"type\": \"object\"", f);
		put_properties(field->fields, depth, f);
	} else {
		put_type(field, field->items, false, depth, f);
	}
	putc('}', f);
}

static void put_member(const struct frag_field *field, uint32_t depth, FILE *f)
{
	indent(depth, f);
	put_string(field->name, f);
	fputs(": {", f);
	if (field->what) {
		fputs("\"description\": ", f);
		put_string(field->what, f);
		fputs(", ", f);
	}
	put_type(field, field->type, is_nullable(field), depth, f);
	putc('}', f);
}

/* The numbers of elements that --top omits of the lists that it cuts. */
static void put_more(const struct frag_field *fields, uint32_t depth, FILE *f)
{
	const char *between = "";

	indent(depth, f);
	fputs("\"more\": {\"description\": \"The number of elements that --top omits of each"
	      " list.\", \"type\": \"object\", \"additionalProperties\": false,"
	      " \"minProperties\": 1, \"properties\": {", f);
	for (; !frag_field_is_end(fields); fields++)
		if (fields->cut) {
			fprintf(f, "%s\"%s\": {\"type\": \"integer\", \"minimum\": 1}", between,
				fields->name);
			between = ", ";
		}
	fputs("}}", f);
}

/* Properties of an object; `head`: what precedes them, names and definitions, or "". */
static void put_properties_after(const char *names, const char *head, const struct frag_field *fields,
				 uint32_t depth, FILE *f)
{
	const char *between = *names ? ", " : "";
	bool cut = false;

	fprintf(f, ", \"additionalProperties\": false, \"required\": [%s", names);
	for (const struct frag_field *field = fields; !frag_field_is_end(field); field++)
		if (field->name && !field->optional) {
			fputs(between, f);
			put_string(field->name, f);
			between = ", ";
		}
	fprintf(f, "], \"properties\": {%s", head);
	between = *head ? "," : "";
	for (const struct frag_field *field = fields; !frag_field_is_end(field); field++) {
		if (!field->name)
			continue;
		fputs(between, f);
		between = ",";
		put_member(field, depth + 1, f);
		cut |= field->cut;
	}
	if (cut) {
		putc(',', f);
		put_more(fields, depth + 1, f);
	}
	indent(depth, f);
	putc('}', f);
}

static void put_properties(const struct frag_field *fields, uint32_t depth, FILE *f)
{
	put_properties_after("", "", fields, depth, f);
}

void frag_schema_print(const struct frag_document_type *d, FILE *f)
{
	char head[512];

	snprintf(head, sizeof(head), "\n    \"format\": {\"const\": \"%s\"},\n    \"version\":"
		 " {\"const\": %" PRIu32 "},\n    \"tool\": {\"type\": \"object\","
		 " \"additionalProperties\": false, \"required\": [\"name\", \"version\"],"
		 " \"properties\": {\"name\": {\"const\": \"fragsim\"}, \"version\": {\"type\":"
		 " \"string\", \"pattern\": \"^[0-9]+\\\\.[0-9]+\\\\.[0-9]+\"}}}",
		 d->format, d->version);
	fprintf(f, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
		"  \"title\": \"%s, version %u\",\n  \"description\": ", d->format, d->version);
	put_string(d->what, f);
	fputs(",\n  \"type\": \"object\"", f);
	put_properties_after("\"format\", \"version\", \"tool\"", head, d->fields, 1, f);
	fputs("\n}\n", f);
}

/* Words of mdoc(7), whose lines end before column 80 and begin with no control character. */
struct mdoc {
	FILE *f;
	uint32_t used;          /* characters of the line */
};

static void put_words_of(struct mdoc *to, const char *text)
{
	size_t length;

	for (; *text; text += length + strspn(text + length, " ")) {
		length = strcspn(text, " ");
		if (to->used && to->used + 1 + length > 76) {
			putc('\n', to->f);
			to->used = 0;
		}
		fputs(to->used ? " " : *text == '.' || *text == '\'' ? "\\&" : "", to->f);
		to->used += (uint32_t)(length + (to->used != 0));
		for (size_t i = 0; i < length; i++)
			fputs(text[i] == '\\' ? "\\e" : (char[]){ text[i], '\0' }, to->f);
	}
}

/* "bytes, or null" */
static void put_type_words(struct mdoc *to, const struct frag_field *field)
{
	static const char *const kinds[] = {
		[FRAG_TYPE_COUNT] = "a count", [FRAG_TYPE_BYTES] = "bytes",
		[FRAG_TYPE_CAPACITY] = "bytes", [FRAG_TYPE_INTEGER] = "an integer",
		[FRAG_TYPE_FLAG] = "true or false", [FRAG_TYPE_NUMBER] = "a number",
		[FRAG_TYPE_CHANGE] = "a percentage",
		[FRAG_TYPE_TEXT] = "a string", [FRAG_TYPE_TEXT_JSON] = "a string",
		[FRAG_TYPE_ID] = "an integer or a string",
		[FRAG_TYPE_CONTENT] = "16 hexadecimal digits", [FRAG_TYPE_OBJECT] = "an object",
		[FRAG_TYPE_LIST] = "a list", [FRAG_TYPE_MAP] = "an object",
	};

	if (kinds[field->type])
		put_words_of(to, kinds[field->type]);
	for (uint32_t i = 0; field->words && field->words[i]; i++) {
		if (is_repeated(field->words, i))
			continue;
		put_words_of(to, i ? "|" : field->type == FRAG_TYPE_LIST ? "of" : "");
		put_words_of(to, field->words[i]);
	}
	if (is_nullable(field))
		put_words_of(to, "or null");
	else if (field->optional)
		put_words_of(to, "where there is one");
}

/* The objects that a page has described, each at its first place. */
struct described {
	const char *format;             /* of the document that is being described */
	uint32_t count;
	struct {
		const struct frag_field *fields;
		const char *format, *member;
	} list[MEMBERS_OBJECTS_MAX];
};

/* Where else its fields are described; NULL, and noted: here. */
static const char *described_at(struct described *d, const struct frag_field *field, char place[64])
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->list[i].fields == field->fields) {
			snprintf(place, 64, "as %s of %s", d->list[i].member, d->list[i].format);
			return place;
		}
	FRAG_ASSERT(d->count < MEMBERS_OBJECTS_MAX);
	d->list[d->count].fields = field->fields;
	d->list[d->count].format = d->format;
	d->list[d->count++].member = field->name;
	return NULL;
}

/* The members of an object, and under each those of its own. */
static void put_list_of_members(struct described *d, const struct frag_field *fields, FILE *f)
{
	char place[64];

	fputs(".Bl -tag -width Ds -compact\n", f);
	for (; !frag_field_is_end(fields); fields++) {
		struct mdoc to = { .f = f };
		const char *elsewhere;

		if (!fields->name)
			continue;
		elsewhere = fields->fields ? described_at(d, fields, place) : NULL;
		fprintf(f, ".It Li %s\n", fields->name);
		put_type_words(&to, fields);
		if (fields->what) {
			putc(';', f);
			to.used++;
			put_words_of(&to, fields->what);
		}
		if (elsewhere) {
			putc(',', f);
			to.used++;
			put_words_of(&to, elsewhere);
		}
		putc('\n', f);
		if (fields->fields && !elsewhere)
			put_list_of_members(d, fields->fields, f);
	}
	fputs(".El\n", f);
}

void frag_members_print(const struct frag_document_type *const *documents, FILE *f)
{
	struct described described = { .count = 0 };

	for (; *documents; documents++) {
		struct mdoc to = { .f = f };

		described.format = (*documents)->format;
		fprintf(f, ".Ss %s\n", (*documents)->format);
		put_words_of(&to, (*documents)->what);
		putc('\n', f);
		put_list_of_members(&described, (*documents)->fields, f);
	}
}
