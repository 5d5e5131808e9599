/* extrapolate_formats.c - the forms of an extrapolation, and those for programs and pages. */
#include "report/extrapolate_formats.h"

#include <inttypes.h>

#include "policy/alloc_conf_text.h"
#include "report/escape_cells.h"
#include "report/fit_words.h"

static void put_choice(FILE *f, uint32_t number, const struct frag_choice *choice)
{
	char conf[FRAG_CONF_ROOM];

	fprintf(f, "%" PRIu32 ",", number);
	frag_csv_text(f, choice->text);
	putc(',', f);
	frag_conf_text(choice, conf, sizeof(conf));
	frag_csv_text(f, conf);
}

static void put_bytes(FILE *f, uint64_t bytes)
{
	frag_csv_number(f, bytes != UINT64_MAX, bytes);
}

static void put_fitted(FILE *f, const struct frag_extrapolation *x, const struct frag_fitted *one)
{
	const struct frag_fit *fit = &one->fit;
	const bool tried = x->total && fit->runs;

	put_choice(f, x->at[one->source], &x->choices[one->choice]);
	fprintf(f, ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, one->device,
		x->unexplained[one->source], one->unlimited.peak_requested);
	frag_csv_number(f, one->unlimited.survives, one->unlimited.peak_reserved);
	fprintf(f, ",%" PRIu64, fit->floor);
	put_bytes(f, fit->smallest);
	put_bytes(f, fit->safe);
	fprintf(f, ",%" PRIu32, fit->hole_count);
	put_bytes(f, fit->static_room);
	fprintf(f, ",%s\n", !tried ? "" : fit->static_room == UINT64_MAX ? "false" : "true");
}

/* Every number that was tried is a row, whatever stretches there are. */
static void put_reach(FILE *f, const struct frag_extrapolation *x, uint32_t choice)
{
	const struct frag_reach *reach = &x->reaches[choice];

	for (uint32_t i = 0; i < reach->count; i++) {
		const struct frag_reach_part *part = &reach->map[i];

		for (uint32_t k = 0; k <= (part->to - part->from) / x->stride; k++) {
			put_choice(f, part->from + k * x->stride, &x->choices[choice]);
			fprintf(f, ",,,,,,,,,,%s\n", part->survives ? "true" : "false");
		}
	}
}

static int print_csv(const void *what, const struct frag_text_style *paper, FILE *f,
		     struct frag_error *err)
{
	const struct frag_extrapolate_answer *a = what;
	const struct frag_extrapolation *x = a->found;

	(void)paper;
	(void)err;
	fputs("at,policy,alloc_conf,device,unexplained,requested,reserved,floor,smallest,safe,holes,"
	      "static_room,survives\n", f);
	for (uint32_t i = 0; i < x->fits.count; i++)
		put_fitted(f, x, &x->fits.fitted[i]);
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		put_reach(f, x, i);
	return 0;
}

static void put_capacity(FILE *f, bool there, uint64_t bytes)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "| %s ", there && bytes != UINT64_MAX ? frag_capacity_text(text, bytes) : "-");
}

static void print_points(const struct frag_extrapolation *x, FILE *f)
{
	char name[FRAG_FIT_NAME_ROOM], size[FRAG_NUMBER_ROOM];

	if (!x->fits.count)
		return;
	fprintf(f, "| at | setting | requested | reserved | smallest | safe |%s\n"
		"|--:|---|--:|--:|--:|--:|%s\n", x->total ? " fits |" : "", x->total ? "---|" : "");
	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fitted *one = &x->fits.fitted[i];

		fprintf(f, "| %" PRIu32 " ", x->at[one->source]);
		frag_markdown_cell(f, frag_fit_name(&x->fits, one, name));
		fprintf(f, "| %s ", frag_size_text(size, one->unlimited.peak_requested));
		put_capacity(f, one->unlimited.survives, one->unlimited.peak_reserved);
		put_capacity(f, true, one->fit.smallest);
		put_capacity(f, true, one->fit.safe);
		if (x->total)
			fprintf(f, "| %s ", !one->fit.runs ? "-"
				: one->fit.static_room == UINT64_MAX ? "no" : "yes");
		fputs("|\n", f);
	}
}

static void put_number(FILE *f, uint32_t number)
{
	if (number == FRAG_NO_NUMBER)
		fputs("| - ", f);
	else
		fprintf(f, "| %" PRIu32 " ", number);
}

static int print_markdown(const void *what, const struct frag_text_style *paper, FILE *f,
			  struct frag_error *err)
{
	const struct frag_extrapolate_answer *a = what;
	const struct frag_extrapolation *x = a->found;
	char size[FRAG_NUMBER_ROOM];

	(void)paper;
	(void)err;
	print_points(x, f);
	if (!x->reaches)
		return 0;
	if (x->fits.count)
		putc('\n', f);
	fprintf(f, "| setting | largest on %s | all fit up to |\n|---|--:|--:|\n",
		frag_device_text(size, x->total));
	for (uint32_t i = 0; i < x->choice_count; i++) {
		frag_markdown_cell(f, frag_choice_label(&x->choices[i]));
		put_number(f, x->reaches[i].largest);
		put_number(f, x->reaches[i].safe);
		fputs("|\n", f);
	}
	return 0;
}

static int print_json(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	(void)paper;
	return frag_extrapolate_json(what, f, err);
}

static const struct frag_format csv = { .name = "csv", .print = print_csv };
static const struct frag_format json = { .name = "json", .print = print_json };
static const struct frag_format markdown = { .name = "markdown", .print = print_markdown };

const struct frag_format *const frag_extrapolate_formats[] = {
	&frag_extrapolate_text, &csv, &json, &markdown, NULL,
};
