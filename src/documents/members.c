/* members.c - the members of documents in the manual: what their fields say, as mdoc(7). */
#include "documents/fields.h"

#include <string.h>

#include "base/bug.h"

#define MEMBERS_OBJECTS_MAX 512         /* tables of fields, over all documents */

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
		[FRAG_TYPE_CAPACITY] = "bytes", [FRAG_TYPE_SUM] = "bytes",
		[FRAG_TYPE_PERCENT] = "a percentage", [FRAG_TYPE_HEX] = "hexadecimal digits", [FRAG_TYPE_INTEGER] = "an integer",
		[FRAG_TYPE_FLAG] = "true or false", [FRAG_TYPE_NUMBER] = "a number",
		[FRAG_TYPE_CHANGE] = "a percentage", [FRAG_TYPE_NUMBER_JSON] = "a number",
		[FRAG_TYPE_TEXT] = "a string", [FRAG_TYPE_TEXT_JSON] = "a string",
		[FRAG_TYPE_ID] = "an integer or a string", [FRAG_TYPE_VALUE] = "a number or a string",
		[FRAG_TYPE_SIZE] = "bytes, or a string such as 512MiB",
		[FRAG_TYPE_CONTENT] = "16 hexadecimal digits", [FRAG_TYPE_OBJECT] = "an object",
		[FRAG_TYPE_LIST] = "a list", [FRAG_TYPE_MAP] = "an object",
		[FRAG_TYPE_FRAMES] = "a list of strings",
	};
	bool first = true;

	if (kinds[field->type])
		put_words_of(to, kinds[field->type]);
	for (uint32_t i = 0; field->words && field->words[i]; i++) {
		if (!frag_field_has_word(field, i))
			continue;
		put_words_of(to, !first ? "|" : field->type == FRAG_TYPE_LIST ? "of" : "");
		first = false;
		put_words_of(to, field->words[i]);
	}
	if (frag_field_is_nullable(field))
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

static void put_list(struct described *d, const struct frag_field *fields, FILE *f);

/* Its name, its type and its sentence, and the members of an object that is not described yet. */
static void put_item(struct described *d, const struct frag_field *field, FILE *f)
{
	struct mdoc to = { .f = f };
	char place[64];
	const char *elsewhere = field->fields ? described_at(d, field, place) : NULL;

	fprintf(f, ".It Li %s\n", field->name);
	put_type_words(&to, field);
	if (field->what) {
		putc(';', f);
		to.used++;
		put_words_of(&to, field->what);
	}
	if (elsewhere) {
		putc(',', f);
		to.used++;
		put_words_of(&to, elsewhere);
	}
	putc('\n', f);
	if (field->fields && !elsewhere)
		put_list(d, field->fields, f);
}

static void put_items_of(struct described *d, const struct frag_field *fields, FILE *f)
{
	for (; !frag_field_is_end(fields); fields++)
		if (fields->type == FRAG_TYPE_MEMBERS)
			put_items_of(d, fields->fields, f);
		else if (fields->name)
			put_item(d, fields, f);
}

static void put_list(struct described *d, const struct frag_field *fields, FILE *f)
{
	fputs(".Bl -tag -width Ds -compact\n", f);
	put_items_of(d, fields, f);
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
		put_list(&described, (*documents)->fields, f);
	}
}
