/* tune_formats.c - which settings are shown, and the forms for programs and pages. */
#include "report/tune_formats.h"

#include <inttypes.h>

#include "report/escape_cells.h"
#include "report/fit_words.h"
#include "report/tune_rows.h"

static void add(const struct frag_point *p, struct frag_point *rows, uint32_t *count)
{
	if (p->choice == UINT32_MAX || *count == FRAG_TUNE_ROWS)
		return;
	for (uint32_t i = 0; i < *count; i++)
		if (rows[i].choice == p->choice)
			return;
	rows[(*count)++] = *p;
}

uint32_t frag_tune_rows(const struct frag_tune *t, struct frag_point rows[FRAG_TUNE_ROWS])
{
	uint32_t count = 0;

	add(&t->best, rows, &count);
	add(&t->without, rows, &count);
	add(&t->points[0], rows, &count);
	if (t->plain_expandable != UINT32_MAX)
		add(&t->points[t->plain_expandable], rows, &count);
	for (uint32_t i = 0; i < t->choice_count; i++)
		if (t->total ? t->points[i].qualifies : t->points[i].at.survives)
			add(&t->points[i], rows, &count);
	return count;
}

static const char *status_of(const struct frag_point *p)
{
	return frag_run_status_name(!p->tried ? FRAG_RUN_INTERRUPTED
				    : p->at.survives ? FRAG_RUN_OK : FRAG_RUN_OOM);
}

/* Every point, in the order of the grid. */
static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_tune *t = ((const struct frag_tune_answer *)what)->tune;

	(void)paper;
	(void)err;
	fputs("policy,alloc_conf,status,oom_trace,oom_step,calls,refused,retries,driver_ns,smallest,"
	      "safe\n", f);
	for (uint32_t i = 0; i < t->choice_count; i++) {
		const struct frag_point *p = &t->points[i];
		const struct frag_choice *choice = &t->sources[0].choices[i];
		const bool oom = p->tried && !p->at.survives;

		frag_csv_text(f, choice->ops->name);
		putc(',', f);
		frag_csv_text(f, choice->ops->settings ? t->texts[i] : "");
		fprintf(f, ",%s", status_of(p));
		frag_csv_number(f, oom, p->oom_trace);
		frag_csv_number(f, oom, p->at.oom_step);
		frag_csv_number(f, p->tried, p->at.calls);
		frag_csv_number(f, p->tried, p->at.refused);
		frag_csv_number(f, p->tried, p->at.retries);
		frag_csv_number(f, p->tried && t->model, p->at.driver_ns);
		frag_csv_number(f, p->smallest != UINT64_MAX, p->smallest);
		frag_csv_number(f, p->safe != UINT64_MAX, p->safe);
		putc('\n', f);
	}
	return 0;
}

static void put_capacity(FILE *f, uint64_t bytes)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "| %s ", bytes == UINT64_MAX ? "-" : frag_capacity_text(text, bytes));
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_tune *t = ((const struct frag_tune_answer *)what)->tune;
	struct frag_point rows[FRAG_TUNE_ROWS];
	const uint32_t count = frag_tune_rows(t, rows);

	(void)paper;
	(void)err;
	fputs("| status | setting | smallest | safe | calls | retries |\n"
	      "|---|---|--:|--:|--:|--:|\n", f);
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_point *p = &rows[i];

		fprintf(f, "| %s ", status_of(p));
		frag_markdown_cell(f, *t->texts[p->choice] ? t->texts[p->choice] : "default");
		put_capacity(f, p->smallest);
		put_capacity(f, p->safe);
		if (p->at.survives)
			fprintf(f, "| %" PRIu64 " | %" PRIu64 " |\n", p->at.calls, p->at.retries);
		else
			fputs("| - | - |\n", f);
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_tune_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_tune_formats[] = {
	&frag_tune_text, &csv, &json, &markdown, NULL,
};
