/* table.c - an answer in each of its formats: a document, rows as CSV or Markdown, or text. */
#include "answers/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "documents/document_head.h"

/* A field of CSV, quoted where RFC 4180 requires quotes. */
static void csv_text(FILE *f, const char *text)
{
	text = SHOWN(text);
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', f);
		putc(*text, f);
	}
	putc('"', f);
}

static bool is_markup(char c)
{
	return strchr("|\\`*_<>[]#&", c) != NULL;
}

void frag_markdown_text(FILE *f, const char *text)
{
	for (text = SHOWN(text); *text; text++) {
		if (is_markup(*text))
			putc('\\', f);
		putc(*text, f);
	}
}

const char *frag_markdown_of(char *buf, size_t size, const char *text)
{
	char *to = buf;

	for (text = SHOWN(text); *text && (size_t)(to - buf) + 2 < size; text++) {
		if (is_markup(*text))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return buf;
}

/* A table: the fields with a heading are its columns. */
struct table {
	const struct frag_field *fields;
	FILE *f;
	bool csv;
};

static const char *heading_of(const struct table *t, const struct frag_field *row)
{
	return t->csv ? row->csv : row->head;
}

static bool is_numeric(enum frag_field_type type)
{
	return type == FRAG_TYPE_COUNT || type == FRAG_TYPE_BYTES || type == FRAG_TYPE_CAPACITY
	       || type == FRAG_TYPE_INTEGER || type == FRAG_TYPE_NUMBER || type == FRAG_TYPE_CHANGE
	       || type == FRAG_TYPE_FIGURE;
}

static void put_headings(const struct table *t)
{
	const char *between = "";

	for (const struct frag_field *row = t->fields; !frag_field_is_end(row); row++)
		if (heading_of(t, row)) {
			fprintf(t->f, t->csv ? "%s%s" : "%s| %s ", t->csv ? between : "",
				heading_of(t, row));
			between = ",";
		}
	fputs(t->csv ? "\n" : "|\n|", t->f);
	for (const struct frag_field *row = t->fields; !t->csv && !frag_field_is_end(row); row++)
		if (row->head)
			fputs(is_numeric(row->type) ? "--:|" : "---|", t->f);
	fputs(t->csv ? "" : "\n", t->f);
}

/* A cell that has a value. */
static void print_value(const struct table *t, const struct frag_field *row,
		     struct frag_cell_value v)
{
	switch (row->type) {
	case FRAG_TYPE_COUNT:
		fprintf(t->f, "%" PRIu64, v.u);
		return;
	case FRAG_TYPE_BYTES:
	case FRAG_TYPE_SUM:
	case FRAG_TYPE_CAPACITY:
		if (t->csv)
			fprintf(t->f, "%" PRIu64, v.u);
		else
			fputs(row->type == FRAG_TYPE_CAPACITY ? CAPACITY(v.u) : SIZE(v.u), t->f);
		return;
	case FRAG_TYPE_INTEGER:
		fprintf(t->f, "%" PRId64, v.i);
		return;
	case FRAG_TYPE_FLAG:
		fputs(v.b ? "true" : "false", t->f);
		return;
	case FRAG_TYPE_NUMBER:
	case FRAG_TYPE_CHANGE:
	case FRAG_TYPE_PERCENT:
		frag_fprintf(t->f, t->csv ? "%.4f" : row->type == FRAG_TYPE_CHANGE ? "%+.2f %%"
			     : "%.2f", v.d);
		return;
	case FRAG_TYPE_TEXT:
		(t->csv ? csv_text : frag_markdown_text)(t->f, v.text);
		return;
	case FRAG_TYPE_WORD:
	case FRAG_TYPE_FIGURE:
		fputs(v.text, t->f);
		return;
	case FRAG_TYPE_TEXT_JSON:
	case FRAG_TYPE_NUMBER_JSON:
	case FRAG_TYPE_ID:
	case FRAG_TYPE_JSON:
	case FRAG_TYPE_CONTENT:
	case FRAG_TYPE_HEX:
	case FRAG_TYPE_OBJECT:
	case FRAG_TYPE_LIST:
	case FRAG_TYPE_MAP:
	case FRAG_TYPE_FRAMES:
	case FRAG_TYPE_SIZE:
	case FRAG_TYPE_VALUE:
	case FRAG_TYPE_RANGE:
	case FRAG_TYPE_VALUES:
	case FRAG_TYPE_MEMBERS:
	case FRAG_TYPE_END:
		break;
	}
	FRAG_BUG("a column of a type that has no cell");
}

/* A line of CSV or Markdown. */
static bool print_element(void *ctx, const void *element)
{
	const struct table *t = ctx;
	const char *between = "";
	char buf[FRAG_ELEMENT_MAX];

	for (const struct frag_field *row = t->fields; !frag_field_is_end(row); row++) {
		struct frag_cell_value v;

		if (!heading_of(t, row))
			continue;
		v = frag_field_value(row, element, buf);
		fputs(t->csv ? between : "| ", t->f);
		between = ",";
		if (v.there)
			print_value(t, row, v);
		else
			fputs(t->csv || row->blank ? "" : "-", t->f);
		fputs(t->csv || (!v.there && row->blank) ? "" : " ", t->f);
	}
	fputs(t->csv ? "\n" : "|\n", t->f);
	return true;
}

void frag_table_print(const struct frag_field *list, enum frag_table_as as, const void *what, FILE *f)
{
	struct table t = { .fields = list->fields, .f = f, .csv = as == FRAG_TABLE_CSV };

	FRAG_ASSERT(as != FRAG_NO_TABLE);
	put_headings(&t);
	frag_field_each(list, what, print_element, &t);
}

/*
 * The document as lines of members, or, where it would be too large, of objects. *large: it still
 * is, and lists may be cut; then nothing is written.
 */
static int print_fitting(const struct frag_json *doc, bool *large, FILE *f, struct frag_error *err)
{
	struct frag_memory m = { .f = NULL };
	int rc = 0;

	*large = true;
	for (int dense = 0; dense < 2 && *large && !rc; dense++) {
		free(m.text);
		if (!frag_memory_open(&m))
			return frag_fail_nomem(err);
		rc = dense ? frag_json_print_lines(doc, 4, "", m.f, err)
			   : frag_json_print(doc, m.f, err);
		if (!frag_memory_close(&m) && !rc)
			rc = frag_fail_nomem(err);
		*large = m.size > FRAG_ANSWER_MAX;
	}
	*large = *large && doc->top > 1;
	if (!rc && !*large)
		fwrite(m.text, 1, m.size, f);
	free(m.text);
	return rc;
}

/* Where no number of rows is given, lists have the largest of these with which the document fits. */
static int print_document(const struct frag_document_type *d, const void *what, uint32_t top, FILE *f,
			  struct frag_error *err)
{
	static const uint32_t rows[] = { 200, 50, 20, 10, 5, 2, 1 };
	struct frag_json doc;
	bool large = true;
	int rc = 0;

	for (uint32_t i = 0; large && !rc; i++) {
		large = top == FRAG_TOP_FITTING;
		doc = frag_document_cut(d, what, large ? rows[i] : top);
		rc = large ? print_fitting(&doc, &large, f, err) : frag_json_print(&doc, f, err);
		frag_json_end(&doc);
	}
	return rc;
}

/* Copies Markdown, of each table the first `top` rows, or as many as fit, and counts the others. */
static void put_tables(const char *text, uint32_t top, FILE *f)
{
	uint32_t row = 0, left = 0;
	size_t used = 0;

	for (const char *end; *text; text = end) {
		const bool is_row = *text == '|';

		end = text + strcspn(text, "\n");
		end += *end == '\n';
		row = is_row ? row + 1 : 0;
		if (is_row && row > 2
		    && (top == FRAG_TOP_FITTING ? left || used + (size_t)(end - text) > FRAG_ANSWER_MAX
						: row > (uint64_t)top + 2)) {
			left++;
			continue;
		}
		if (left)
			fprintf(f, "\n%" PRIu32 " more: --top all\n", left);
		left = 0;
		fwrite(text, 1, (size_t)(end - text), f);
		used += (size_t)(end - text);
	}
	if (left)
		fprintf(f, "\n%" PRIu32 " more: --top all\n", left);
}

/* All of it, whatever --top says. */
static int format_print_whole(const struct frag_format *format, const void *what,
			      const struct frag_text_style *style, FILE *f, struct frag_error *err)
{
	struct frag_text_style to = *style;

	to.f = f;
	if (format->print)
		return format->print(what, style, f, err);
	if (format->text) {
		format->text(what, &to);
		return 0;
	}
	frag_table_print(format->list, format->table, what, f);
	return 0;
}

int frag_format_print(const struct frag_format *format, const void *what,
		      const struct frag_text_style *style, FILE *f, struct frag_error *err)
{
	struct frag_memory m;
	int rc;

	if (format->document)
		return print_document(format->document, what, style->top, f, err);
	if (format->table != FRAG_TABLE_MARKDOWN || style->top == FRAG_TOP_ALL)
		return format_print_whole(format, what, style, f, err);
	if (!frag_memory_open(&m))
		return frag_fail_nomem(err);
	rc = format_print_whole(format, what, style, m.f, err);
	if (!frag_memory_close(&m) && !rc)
		rc = frag_fail_nomem(err);
	if (!rc)
		put_tables(m.text, style->top, f);
	free(m.text);
	return rc;
}
