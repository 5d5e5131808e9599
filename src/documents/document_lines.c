/* document_lines.c - a document whose list may be too long to hold: written as it comes, a line an element. */
#include "documents/fields.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "base/format.h"

static void write_text(struct frag_outfile *out, const char *text)
{
	frag_outfile_write(out, text, strlen(text));
}

static void write_scalar(struct frag_outfile *out, enum frag_field_type type, struct frag_cell_value v)
{
	char number[FRAG_NUMBER_ROOM];

	FRAG_ASSERT(type == FRAG_TYPE_COUNT || type == FRAG_TYPE_BYTES || type == FRAG_TYPE_FLAG
		    || type == FRAG_TYPE_CONTENT || type == FRAG_TYPE_ID);
	if (type == FRAG_TYPE_FLAG) {
		write_text(out, v.b ? "true" : "false");
	} else if (type == FRAG_TYPE_ID) {
		write_text(out, v.text);
	} else if (type == FRAG_TYPE_CONTENT) {
		snprintf(number, sizeof(number), "\"%016" PRIx64 "\"", v.u);
		write_text(out, number);
	} else {
		frag_outfile_write(out, number, (size_t)(frag_put_u64(number, v.u) - number));
	}
}

static void write_members(struct frag_outfile *out, const char *before, const struct frag_field *fields,
			  const void *of);

/* The file, and how many elements it has. */
struct lines {
	struct frag_outfile *out;
	const struct frag_field *fields;
	uint64_t count;
};

static bool write_line(void *ctx, const void *element)
{
	struct lines *to = ctx;

	write_members(to->out, to->count++ ? ",\n{\"" : "\n{\"", to->fields, element);
	write_text(to->out, "}");
	return !to->out->failed;
}

/* `before` comes before the first name, with its quote. */
static void write_members(struct frag_outfile *out, const char *before, const struct frag_field *fields,
			  const void *of)
{
	char buf[FRAG_ELEMENT_MAX];

	for (; !frag_field_is_end(fields); fields++) {
		const bool list = fields->type == FRAG_TYPE_LIST;
		struct lines lines = { out, fields->fields, 0 };
		struct frag_cell_value v = { .there = true };

		if (!list)
			v = frag_field_value(fields, of, buf);
		if (!v.there)
			continue;
		write_text(out, before);
		write_text(out, fields->name);
		write_text(out, list ? "\":[" : "\":");
		if (list)
			frag_field_each(fields, of, write_line, &lines);
		else
			write_scalar(out, fields->type, v);
		if (list)
			write_text(out, "\n]");
		before = ",\"";
	}
}

void frag_document_write_lines(const struct frag_document_type *d, const void *of, struct frag_outfile *out)
{
	char head[100];

	snprintf(head, sizeof(head), "{\"format\":\"%s\",\"version\":%" PRIu32 ",\"", d->format, d->version);
	write_members(out, head, d->fields, of);
	write_text(out, "}\n");
}
