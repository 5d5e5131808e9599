/* fit_text.c - what fragsim fit found, for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/path.h"
#include "base/print.h"
#include "base/printable.h"
#include "report/fit_formats.h"
#include "report/fit_words.h"
#include "report/ink.h"
#include "report/wrapped.h"

#define NAME_MIN 8
#define FIGURES 53              /* columns beside the name */
#define HOLES_MAX 4             /* that are named; of more the last is */

static int name_width(const struct frag_fit_answer *a, const struct frag_paper *paper)
{
	size_t width = NAME_MIN;
	char name[FRAG_FIT_NAME_ROOM];

	for (uint32_t i = 0; i < a->fits->count; i++) {
		const size_t n = strlen(frag_fit_name(a->fits, &a->fits->fitted[i], name));

		width = n > width ? n : width;
	}
	if (paper->columns && width + FIGURES > (size_t)paper->columns)
		width = paper->columns > FIGURES + NAME_MIN ? (size_t)paper->columns - FIGURES
							    : NAME_MIN;
	return (int)width;
}

static void print_name(const char *name, int width, FILE *f)
{
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, width, "");
	else
		fprintf(f, "%-*s", width, name);
}

static void print_capacity(uint64_t bytes, FILE *f)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "  %11s", bytes == UINT64_MAX ? "-" : frag_capacity_text(text, bytes));
}

static void print_row(const struct frag_fit_answer *a, const struct frag_fitted *one,
		      const struct frag_paper *paper, int width, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	const bool good = fit->smallest != UINT64_MAX;
	char name[FRAG_FIT_NAME_ROOM];

	print_name(frag_fit_name(a->fits, one, name), width, f);
	if (!good)
		fputs(frag_ink(paper->colour, INK_RED), f);
	print_capacity(fit->smallest, f);
	if (!good)
		fputs(frag_ink(paper->colour, INK_PLAIN), f);
	print_capacity(fit->safe, f);
	if (!good) {
		fprintf(f, "  %7s  %7s  %6s\n", "-", "-", "-");
		return;
	}
	frag_fprintf(f, "  %+6.1f%%  %7" PRIu64 "  %6" PRIu64 "\n",
		     frag_fit_above_floor(fit), fit->at_smallest.calls, fit->at_smallest.retries);
}

static void print_table(const struct frag_fit_answer *a, uint32_t source,
			const struct frag_paper *paper, FILE *f)
{
	const int width = name_width(a, paper);

	fprintf(f, "\n%-*s  %11s  %11s  %7s  %7s  %6s\n", width, "setting", "smallest", "safe",
		"over", "calls", "retries");
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			print_row(a, &a->fits->fitted[i], paper, width, f);
}

/* What the table cannot say of one, in words. */
static void print_words(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_paper *paper, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	char name[FRAG_FIT_NAME_ROOM], head[FRAG_FIT_NAME_ROOM + 8];
	char from[FRAG_NUMBER_ROOM], to[FRAG_NUMBER_ROOM], text[400];
	const uint32_t shown = fit->hole_count > HOLES_MAX ? HOLES_MAX : fit->hole_count;

	snprintf(head, sizeof(head), "  %s: ", frag_fit_name(a->fits, one, name));
	if (fit->smallest == UINT64_MAX) {
		if (!fit->runs && !fit->examined_to)
			snprintf(text, sizeof(text), "was not tried");
		else if (fit->examined_to == UINT64_MAX)
			snprintf(text, sizeof(text), "survives on no device, however large");
		else
			snprintf(text, sizeof(text), "survives on no device below %s",
				 frag_capacity_text(to, fit->examined_to));
		frag_put_wrapped(paper->columns, head, text, f);
	}
	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_failing *hole = &fit->holes[i];

		if (hole->to == UINT64_MAX)
			snprintf(text, sizeof(text), "fails again from %s on",
				 frag_capacity_text(from, hole->from));
		else
			snprintf(text, sizeof(text), "fails again from %s to below %s, though it"
				 " survives on smaller ones", frag_capacity_text(from, hole->from),
				 frag_capacity_text(to, hole->to));
		frag_put_wrapped(paper->columns, head, text, f);
	}
	if (fit->hole_count > shown) {
		snprintf(text, sizeof(text), "and %" PRIu32 " more such stretches, the last below"
			 " %s", fit->hole_count - shown,
			 frag_capacity_text(to, fit->holes[fit->hole_count - 1].to));
		frag_put_wrapped(paper->columns, head, text, f);
	}
	if (fit->static_room != UINT64_MAX) {
		frag_snprintf(text, sizeof(text), "others may hold up to %s of %s from the first"
			      " step on: a fraction of %.4f",
			      frag_capacity_text(from, fit->static_room),
			      frag_capacity_text(to, a->fits->room_total),
			      (double)fit->static_room / (double)a->fits->room_total);
		frag_put_wrapped(paper->columns, head, text, f);
	} else if (a->fits->room_total) {
		snprintf(text, sizeof(text), "does not survive on %s with nobody else on it",
			 frag_capacity_text(to, a->fits->room_total));
		frag_put_wrapped(paper->columns, head, text, f);
	}
}

static void print_floor(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_paper *paper, FILE *f)
{
	const struct frag_device_figures *d = &a->fits->sources[one->source].devices[one->device];
	char size[FRAG_NUMBER_ROOM], context[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM], text[300];

	snprintf(text, sizeof(text), "no device below %s will do, as so much is in use at once%s%s"
		 "%s%s%s", frag_capacity_text(size, one->fit.floor),
		 d->context || d->other ? ", with" : "", d->context ? " a context of " : "",
		 d->context ? frag_size_text(context, d->context) : "",
		 d->context && d->other ? " and" : "", d->other ? " others'" : "");
	if (d->other)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
			 frag_size_text(other, d->other));
	frag_put_wrapped(paper->columns, "  ", text, f);
}

static void print_source(const struct frag_fit_answer *a, uint32_t source,
			 const struct frag_paper *paper, FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];
	uint32_t last = UINT32_MAX;

	fprintf(f, "%s%s%s%s: the smallest device that it survives on\n", source ? "\n" : "",
		frag_ink(paper->colour, INK_BOLD),
		frag_printable(path, frag_input_name(a->traces[source]->path)),
		frag_ink(paper->colour, INK_PLAIN));
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];

		if (one->source == source && one->choice == 0 && one->device != last)
			print_floor(a, one, paper, f);
		last = one->device;
	}
	print_table(a, source, paper, f);
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			print_words(a, &a->fits->fitted[i], paper, f);
}

static void print_joint(const struct frag_fit_answer *a, const struct frag_paper *paper, FILE *f)
{
	const int width = name_width(a, paper);
	char name[FRAG_FIT_NAME_ROOM];

	if (!a->fits->joint_count)
		return;
	fprintf(f, "\n%sall traces%s: the smallest device for each of them\n\n%-*s  %11s  %11s\n",
		frag_ink(paper->colour, INK_BOLD), frag_ink(paper->colour, INK_PLAIN), width,
		"setting", "smallest", "safe");
	for (uint32_t i = 0; i < a->fits->joint_count; i++) {
		const struct frag_fitted *one = &a->fits->joint[i];

		print_name(frag_fit_name(a->fits, one, name), width, f);
		print_capacity(one->fit.smallest, f);
		print_capacity(one->fit.safe, f);
		putc('\n', f);
	}
}

static int print(const void *what, const struct frag_paper *paper, FILE *f,
		 struct frag_error *err)
{
	const struct frag_fit_answer *a = what;

	(void)err;
	if (a->interrupted)
		fputs("interrupted: what is known until then\n\n", f);
	for (uint32_t i = 0; i < a->fits->source_count; i++)
		print_source(a, i, paper, f);
	print_joint(a, paper, f);
	if (a->fits->source_count == 1)
		frag_put_wrapped(paper->columns, "\n", "another run of the program may need more: fit several"
			  " traces of it, or leave 5 % of room", f);
	return 0;
}

const struct frag_format frag_fit_text = { .name = "text", .print = print };
