/* fit_formats.c - the forms of a fit, and those for programs and pages. */
#include "report/fit_formats.h"

#include <inttypes.h>

#include "policy/alloc_conf_text.h"
#include "report/escape_cells.h"
#include "report/fit_words.h"

extern const struct frag_format frag_fit_text;

static void put_bytes(FILE *f, uint64_t bytes)
{
	frag_csv_number(f, bytes != UINT64_MAX, bytes);
}

static void put_attempt(FILE *f, bool there, const struct frag_attempt *a)
{
	frag_csv_number(f, there, a->calls);
	frag_csv_number(f, there, a->refused);
	frag_csv_number(f, there, a->retries);
	frag_csv_number(f, there, a->peak_reserved);
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_fit_answer *a = what;
	char conf[FRAG_CONF_ROOM];

	(void)paper;
	(void)err;
	fputs("trace,policy,alloc_conf,device,floor,smallest,safe,examined_to,no_refusal,holes,calls,"
	      "refused,retries,peak_reserved,runs,static_room\n", f);
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];
		const struct frag_fit *fit = &one->fit;
		const struct frag_choice *choice =
			&a->fits->sources[one->source].choices[one->choice];

		frag_csv_text(f, a->traces[one->source]->path);
		putc(',', f);
		frag_csv_text(f, choice->text);
		putc(',', f);
		frag_conf_text(choice, conf, sizeof(conf));
		frag_csv_text(f, conf);
		fprintf(f, ",%" PRIu32 ",%" PRIu64, one->device, fit->floor);
		put_bytes(f, fit->smallest);
		put_bytes(f, fit->safe);
		put_bytes(f, fit->examined_to);
		put_bytes(f, fit->no_refusal);
		fprintf(f, ",%" PRIu32, fit->hole_count);
		put_attempt(f, fit->peaks && fit->smallest != UINT64_MAX, &fit->at_smallest);
		fprintf(f, ",%" PRIu64, fit->runs);
		put_bytes(f, fit->static_room);
		putc('\n', f);
	}
	return 0;
}

static void put_capacity(FILE *f, uint64_t bytes)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "| %s ", bytes == UINT64_MAX ? "-" : frag_capacity_text(text, bytes));
}

static void print_rows(const struct frag_fit_answer *a, const struct frag_fitted *first,
		       uint32_t count, bool joint, FILE *f)
{
	char name[FRAG_FIT_NAME_ROOM];

	for (const struct frag_fitted *one = first; one < first + count; one++) {
		frag_markdown_cell(f, joint ? "all" : a->traces[one->source]->path);
		frag_markdown_cell(f, frag_fit_name(a->fits, one, name));
		put_capacity(f, one->fit.smallest);
		put_capacity(f, one->fit.safe);
		put_capacity(f, one->fit.floor);
		if (joint || one->fit.smallest == UINT64_MAX)
			fputs("| | ", f);
		else
			fprintf(f, "| %" PRIu64 " | %" PRIu64 " ", one->fit.at_smallest.calls,
				one->fit.at_smallest.retries);
		fprintf(f, "| %" PRIu32 " |\n", one->fit.hole_count);
	}
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_fit_answer *a = what;

	(void)paper;
	(void)err;
	fputs("| trace | setting | smallest | safe | floor | calls | retries | holes |\n"
	      "|---|---|--:|--:|--:|--:|--:|--:|\n", f);
	print_rows(a, a->fits->fitted, a->fits->count, false, f);
	print_rows(a, a->fits->joint, a->fits->joint_count, true, f);
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_fit_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_fit_formats[] = {
	&frag_fit_text, &csv, &json, &markdown, NULL,
};
