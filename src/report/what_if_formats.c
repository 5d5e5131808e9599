/* what_if_formats.c - the forms of a what-if, and those for programs and pages. */
#include "report/what_if_formats.h"

#include <inttypes.h>

#include "base/c_locale.h"
#include "policy/alloc_conf_text.h"
#include "report/escape_cells.h"
#include "report/fit_words.h"

const char *const frag_what_if_rows[FRAG_WHAT_IF_ROWS] = { "reserved", "smallest", "safe" };

uint64_t frag_what_if_figure(const struct frag_fitted *one, uint32_t row)
{
	if (row == 0)
		return one->unlimited.survives ? one->unlimited.peak_reserved : UINT64_MAX;
	return row == 1 ? one->fit.smallest : one->fit.safe;
}

const char *frag_shift_text(char buf[FRAG_SHIFT_ROOM], uint64_t before, uint64_t after)
{
	*buf = '\0';
	if (before && before != UINT64_MAX && after != UINT64_MAX)
		frag_snprintf(buf, FRAG_SHIFT_ROOM, "%+.1f %%",
			      ((double)after - (double)before) / (double)before * 100);
	return buf;
}

static void put_row(FILE *f, const struct frag_fits *fits, const struct frag_fitted *one)
{
	const struct frag_choice *choice = &fits->sources[one->source].choices[one->choice];
	char conf[FRAG_CONF_ROOM];

	fprintf(f, "%s,", one->source ? "changed" : "as it is");
	frag_csv_text(f, choice->text);
	putc(',', f);
	frag_conf_text(choice, conf, sizeof(conf));
	frag_csv_text(f, conf);
	fprintf(f, ",%" PRIu32 ",%" PRIu64, one->device, one->unlimited.peak_requested);
	for (uint32_t row = 0; row < FRAG_WHAT_IF_ROWS; row++) {
		const uint64_t bytes = frag_what_if_figure(one, row);

		frag_csv_number(f, bytes != UINT64_MAX, bytes);
	}
	putc('\n', f);
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_what_if_answer *a = what;

	(void)paper;
	(void)err;
	fputs("trace,policy,alloc_conf,device,requested,reserved,smallest,safe\n", f);
	for (uint32_t i = 0; i < a->fits->count; i++)
		put_row(f, a->fits, &a->fits->fitted[i]);
	return 0;
}

static void put_cell(FILE *f, uint64_t bytes)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "| %s ", bytes == UINT64_MAX ? "-" : frag_capacity_text(text, bytes));
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_what_if_answer *a = what;
	const struct frag_fitted *as_is = a->fits->fitted, *changed = as_is + a->fits->count / 2;
	char name[FRAG_FIT_NAME_ROOM], shift[FRAG_SHIFT_ROOM];

	(void)paper;
	(void)err;
	fputs("| setting | figure | as it is | changed | hypothetical |\n|---|---|--:|--:|--:|\n",
	      f);
	for (uint32_t i = 0; i < a->fits->count / 2; i++) {
		for (uint32_t row = 0; row < FRAG_WHAT_IF_ROWS; row++) {
			const uint64_t before = frag_what_if_figure(&as_is[i], row);
			const uint64_t after = frag_what_if_figure(&changed[i], row);

			frag_markdown_cell(f, frag_fit_name(a->fits, &as_is[i], name));
			fprintf(f, "| %s ", frag_what_if_rows[row]);
			put_cell(f, before);
			put_cell(f, after);
			fprintf(f, "| %s |\n", frag_shift_text(shift, before, after));
		}
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_what_if_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_what_if_formats[] = {
	&frag_what_if_text, &csv, &json, &markdown, NULL,
};
