/* ranks_formats.c - the forms of what fragsim ranks found, and those for programs and pages. */
#include "report/ranks_formats.h"

#include <inttypes.h>

#include "base/format.h"
#include "report/escape_cells.h"

const char *frag_apart_text(const struct frag_ranked *row, const char *between,
			    char buf[FRAG_APART_ROOM])
{
	size_t used = 0;

	buf[0] = '\0';
	for (int k = 0; k <= FRAG_RANK_FIGURES; k++) {
		const bool is = k < FRAG_RANK_FIGURES ? (row->apart & 1U << k) != 0 : row->apart_oom;

		if (is)
			used += (size_t)snprintf(buf + used, FRAG_APART_ROOM - used, "%s%s",
						 used ? between : "", k < FRAG_RANK_FIGURES
						 ? frag_rank_figure_names[k] : "oom");
	}
	return buf;
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	char apart[FRAG_APART_ROOM];

	(void)paper;
	(void)err;
	fputs("rank,device,reserved,requested,lost,status,oom_step,compared,apart,path\n", f);
	for (const struct frag_ranked *row = r->rows; row < r->rows + r->count; row++) {
		fprintf(f, "%" PRIu64 ",%" PRIu32, row->number, row->device);
		for (int k = 0; k < FRAG_RANK_FIGURES; k++)
			frag_csv_number(f, true, row->figure[k]);
		fprintf(f, ",%s", frag_run_status_name(row->status));
		frag_csv_number(f, row->ooms != 0, row->oom_step);
		fprintf(f, ",%s,%s,", row->compared ? "true" : "false",
			frag_apart_text(row, " ", apart));
		frag_csv_text(f, a->traces[row->source].path);
		putc('\n', f);
	}
	return 0;
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_ranks_answer *a = what;
	const struct frag_ranking *r = a->ranking;
	char apart[FRAG_APART_ROOM], size[FRAG_NUMBER_ROOM];

	(void)paper;
	(void)err;
	fputs("| rank | device | reserved | requested | lost | memory | stands out | trace |\n"
	      "|--:|--:|--:|--:|--:|---|---|---|\n", f);
	for (const struct frag_ranked *row = r->rows; row < r->rows + r->count; row++) {
		fprintf(f, "| %" PRIu64 " | %" PRIu32 " |", row->number, row->device);
		for (int k = 0; k < FRAG_RANK_FIGURES; k++)
			fprintf(f, " %s |", frag_size_text(size, row->figure[k]));
		if (row->ooms)
			fprintf(f, " **out at step %" PRIu64 "**", row->oom_step);
		else
			fputs(" enough", f);
		fprintf(f, " | %s ", frag_apart_text(row, ", ", apart));
		frag_markdown_cell(f, a->traces[row->source].path);
		fputs("|\n", f);
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_ranks_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_ranks_formats[] = {
	&frag_ranks_text, &csv, &json, &markdown, NULL,
};
