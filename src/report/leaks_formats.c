/* leaks_formats.c - the forms of what leaks, and those for programs and pages. */
#include "report/leaks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "report/escape_cells.h"

/* A tag is JSON text: its quotes go. What is longer is cut. */
const char *frag_leak_name(const struct frag_leak *leak, char buf[FRAG_LEAK_NAME_ROOM])
{
	const char *text = leak->tag ? leak->tag + 1 : leak->frames;
	size_t length = !text ? 0 : leak->tag ? strlen(text) - 1 : strcspn(text, "\n");
	char size[FRAG_NUMBER_ROOM];

	if (!text)
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "blocks of %s without a tag",
			 frag_size_text(size, leak->size));
	else if (length < FRAG_LEAK_NAME_ROOM)
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "%.*s", (int)length, text);
	else
		snprintf(buf, FRAG_LEAK_NAME_ROOM, "%.*s...", FRAG_LEAK_NAME_ROOM - 4, text);
	return buf;
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_leaks_answer *a = what;
	char name[FRAG_LEAK_NAME_ROOM];

	(void)paper;
	(void)err;
	fputs("device,who,bytes_an_iteration,bytes,blocks,first_step\n", f);
	for (const struct frag_leak *k = a->leaks->leaks; k < a->leaks->leaks + a->leaks->leak_count;
	     k++) {
		fprintf(f, "%" PRIu32 ",", k->device);
		frag_csv_text(f, frag_leak_name(k, name));
		fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", k->an_iteration,
			k->bytes, k->blocks, k->first_step);
	}
	return 0;
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_leaks_answer *a = what;
	char name[FRAG_LEAK_NAME_ROOM], size[FRAG_NUMBER_ROOM];

	(void)paper;
	(void)err;
	fputs("| device | who | an iteration | blocks | since step |\n|--:|---|--:|--:|--:|\n", f);
	for (const struct frag_leak *k = a->leaks->leaks; k < a->leaks->leaks + a->leaks->leak_count;
	     k++) {
		fprintf(f, "| %" PRIu32 " ", k->device);
		frag_markdown_cell(f, frag_leak_name(k, name));
		fprintf(f, "| %s | %" PRIu64 " | %" PRIu64 " |\n",
			frag_size_text(size, k->an_iteration), k->blocks, k->first_step);
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_leaks_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_leaks_formats[] = {
	&frag_leaks_text, &csv, &json, &markdown, NULL,
};
