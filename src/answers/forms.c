/* forms.c - an answer in one of its forms. */
#include "answers/formats.h"

#include "documents/document_head.h"
#include "answers/table.h"

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
		      const struct frag_text_style *paper, FILE *f, struct frag_error *err)
{
	struct frag_table table;

	if (format->document)
		return print_document(format, what, f, err);
	if (format->print)
		return format->print(what, paper, f, err);
	frag_table_begin(&table, format->rows->columns, *format->name == 'c', f);
	format->rows->fill(&table, what);
	return 0;
}
