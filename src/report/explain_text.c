/* explain_text.c - what fragsim explain found in a trace, for people. */
#include "report/explain_formats.h"

static int print(const void *what, const struct frag_paper *paper, FILE *f,
		 struct frag_error *err)
{
	(void)what; (void)paper; (void)err;
	fputs("text\n", f);
	return 0;
}

static int print_json(const void *what, const struct frag_paper *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_explain_json(what, f, err);
}

static const struct frag_format text = { .name = "text", .print = print };
static const struct frag_format json = { .name = "json", .print = print_json };

const struct frag_format *const frag_explain_formats[] = { &text, &json, NULL };
