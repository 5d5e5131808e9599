/* plan_formats.c - the forms of a plan, and those for programs and pages. */
#include "report/plan_formats.h"

#include <inttypes.h>

#include "base/format.h"
#include "base/c_locale.h"
#include "report/escape_cells.h"
#include "report/fit_words.h"

#define NONE UINT64_MAX

uint32_t frag_plan_row_count(const struct frag_plan_answer *a)
{
	return a->trace->device_count + (a->fits ? a->fits->count : 0);
}

static uint64_t peak_of(const struct frag_plan_answer *a, uint32_t device)
{
	return frag_plan_segments(a->plan, device, 1);
}

static uint64_t smallest_of(const struct frag_plan_answer *a, uint32_t device)
{
	const struct frag_device_figures *f = &a->devices[device];

	return f->context + f->other + frag_plan_segments(a->plan, device, f->granularity);
}

static double above(uint64_t bytes, uint64_t plan)
{
	return bytes == NONE || !plan ? 0 : 100.0 * ((double)bytes / (double)plan - 1);
}

void frag_plan_row_look(const struct frag_plan_answer *a, uint32_t i,
			struct frag_plan_row_text *row)
{
	const uint32_t devices = a->trace->device_count;

	*row = (struct frag_plan_row_text){ .device = i };
	if (i < devices) {
		snprintf(row->name, sizeof(row->name), devices > 1 ? "plan @%" PRIu32 : "plan", i);
		row->peak = peak_of(a, i);
		row->smallest = smallest_of(a, i);
		return;
	}
	const struct frag_fitted *one = &a->fits->fitted[i - devices];

	frag_fit_name(a->fits, one, row->name);
	row->device = one->device;
	row->peak = one->unlimited.survives ? one->unlimited.peak_reserved : NONE;
	row->smallest = one->fit.smallest;
	row->above_peak_pct = above(row->peak, peak_of(a, row->device));
	row->above_smallest_pct = above(row->smallest, smallest_of(a, row->device));
}

static void csv_pct(FILE *f, bool there, double pct)
{
	putc(',', f);
	if (there)
		frag_fprintf(f, "%.4f", pct);
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_plan_answer *a = what;
	struct frag_plan_row_text row;

	(void)paper;
	(void)err;
	fputs("device,policy,peak_reserved,above_plan_pct,smallest,smallest_above_plan_pct\n", f);
	for (uint32_t i = 0; i < frag_plan_row_count(a); i++) {
		frag_plan_row_look(a, i, &row);
		fprintf(f, "%" PRIu32 ",", row.device);
		frag_csv_text(f, row.name);
		frag_csv_number(f, row.peak != NONE, row.peak);
		csv_pct(f, row.peak != NONE, row.above_peak_pct);
		frag_csv_number(f, row.smallest != NONE, row.smallest);
		csv_pct(f, row.smallest != NONE, row.above_smallest_pct);
		putc('\n', f);
	}
	return 0;
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_plan_answer *a = what;
	struct frag_plan_row_text row;
	char size[FRAG_NUMBER_ROOM];

	(void)paper;
	(void)err;
	fputs("| setting | peak without a limit | over the plan | smallest device | over the plan |\n"
	      "|---|--:|--:|--:|--:|\n", f);
	for (uint32_t i = 0; i < frag_plan_row_count(a); i++) {
		frag_plan_row_look(a, i, &row);
		frag_markdown_cell(f, row.name);
		fprintf(f, "| %s ", row.peak == NONE ? "-" : frag_size_text(size, row.peak));
		frag_fprintf(f, "| %+.2f %% ", row.above_peak_pct);
		fprintf(f, "| %s ", row.smallest == NONE ? "-"
			: frag_capacity_text(size, row.smallest));
		frag_fprintf(f, "| %+.2f %% |\n", row.above_smallest_pct);
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_plan_answer_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_plan_formats[] = {
	&frag_plan_text, &csv, &json, &markdown, NULL,
};
