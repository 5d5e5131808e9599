/* table.c - an answer in each of its formats: a document, rows as CSV or Markdown, or text. */
#include "answers/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
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

void frag_markdown_text(FILE *f, const char *text)
{
	for (text = SHOWN(text); *text; text++) {
		if (strchr("|\\`*_<>[]#&", *text))
			putc('\\', f);
		putc(*text, f);
	}
}

static bool is_end(const struct frag_column *c)
{
	return !c->csv && !c->head;
}

static const char *table_name_of(const struct frag_table *t, const struct frag_column *c)
{
	return t->csv ? c->csv : c->head;
}

void frag_table_begin(struct frag_table *t, const struct frag_column *columns, bool csv, FILE *f)
{
	const char *between = "";

	*t = (struct frag_table){ .columns = columns, .at = columns, .f = f, .csv = csv };
	for (const struct frag_column *c = columns; !is_end(c); c++)
		if (table_name_of(t, c)) {
			fprintf(f, csv ? "%s%s" : "%s| %s ", csv ? between : "",
				table_name_of(t, c));
			between = ",";
		}
	fputs(csv ? "\n" : "|\n|", f);
	for (const struct frag_column *c = columns; !csv && !is_end(c); c++)
		if (c->head)
			fputs(c->kind <= FRAG_CELL_WORD ? "---|" : "--:|", f);
	fputs(csv ? "" : "\n", f);
}

/* Is the next cell in this format? Then its separator is written. */
static bool table_begin(struct frag_table *t)
{
	bool first = true;

	for (const struct frag_column *c = t->columns; c < t->at; c++)
		first = first && !table_name_of(t, c);
	if (!table_name_of(t, t->at))
		return false;
	fputs(!t->csv ? "| " : first ? "" : ",", t->f);
	return true;
}

static void table_end(struct frag_table *t)
{
	if (!is_end(++t->at))
		return;
	fputs(t->csv ? "\n" : "|\n", t->f);
	t->at = t->columns;
}

void frag_cell_none(struct frag_table *t)
{
	table_begin(t);
	table_end(t);
}

void frag_cell_text(struct frag_table *t, const char *text)
{
	const bool here = table_begin(t);

	if (here && t->csv && text) {
		csv_text(t->f, text);
	} else if (here && !t->csv && text && t->at->kind == FRAG_CELL_TEXT) {
		frag_markdown_text(t->f, text);
		putc(' ', t->f);
	} else if (here && !t->csv) {
		fprintf(t->f, "%s ", text ? text : "-");
	}
	table_end(t);
}

void frag_cell(struct frag_table *t, bool there, uint64_t value)
{
	if (!table_begin(t))
		;
	else if (!there)
		fputs(t->csv ? "" : "- ", t->f);
	else if (t->csv || t->at->kind == FRAG_CELL_COUNT)
		fprintf(t->f, t->csv ? "%" PRIu64 : "%" PRIu64 " ", value);
	else
		fprintf(t->f, "%s ", t->at->kind == FRAG_CELL_SIZE ? SIZE(value) : CAPACITY(value));
	table_end(t);
}

void frag_cell_bytes(struct frag_table *t, uint64_t bytes)
{
	frag_cell(t, bytes != UINT64_MAX, bytes);
}

void frag_cell_percent(struct frag_table *t, bool there, double value)
{
	if (table_begin(t) && (there || !t->csv))
		frag_fprintf(t->f, t->csv ? "%.4f" : "%+.2f %% ", value);
	table_end(t);
}

static int print_document(const struct frag_format *format, const void *what, FILE *f,
			  struct frag_error *err)
{
	struct frag_json doc;
	struct frag_node_ref root = frag_document_begin(&doc, format->format);
	int rc;

	frag_document_tool(root);
	format->document(root, what);
	rc = frag_json_print(&doc, f, err);
	frag_json_end(&doc);
	return rc;
}

int frag_format_print(const struct frag_format *format, const void *what,
		      const struct frag_text_style *style, FILE *f, struct frag_error *err)
{
	struct frag_table table;
	struct frag_text_style to = *style;

	to.f = f;
	if (format->document)
		return print_document(format, what, f, err);
	if (format->print)
		return format->print(what, style, f, err);
	if (format->text) {
		format->text(what, &to);
		return 0;
	}
	frag_table_begin(&table, format->rows->columns, *format->name == 'c', f);
	format->rows->fill(&table, what);
	return 0;
}
