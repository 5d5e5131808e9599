/* fit_text.c - what fragsim fit found, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "report/fit_cards.h"
#include "report/fit_formats.h"
#include "report/fit_words.h"
#include "report/color.h"
#include "report/wrap_lines.h"

#define NAME_MIN 8
#define FIGURES 56              /* columns beside the name */
#define HOLES_MAX 4             /* that are named; of more the last is */
#define HOLES_ROOM 600

static int name_width(const struct frag_fit_answer *a, const struct frag_text_style *paper)
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
		      const struct frag_text_style *paper, int width, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	const bool good = fit->smallest != UINT64_MAX;
	char name[FRAG_FIT_NAME_ROOM];

	print_name(frag_fit_name(a->fits, one, name), width, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_RED), f);
	print_capacity(fit->smallest, f);
	if (!good)
		fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	print_capacity(fit->safe, f);
	if (!good) {
		fprintf(f, "  %10s  %7s  %7s\n", "-", "-", "-");
		return;
	}
	frag_fprintf(f, "  %+9.1f%%  %7" PRIu64 "  %7" PRIu64 "\n",
		     frag_fit_above_floor(fit), fit->at_smallest.calls, fit->at_smallest.retries);
}

static void print_table(const struct frag_fit_answer *a, uint32_t source,
			const struct frag_text_style *paper, FILE *f)
{
	const int width = name_width(a, paper);

	fprintf(f, "\n%-*s  %11s  %11s  %10s  %7s  %7s\n", width, "setting", "smallest", "safe",
		"over floor", "calls", "retries");
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			print_row(a, &a->fits->fitted[i], paper, width, f);
}

/* ", from 2966MiB to below 2972MiB and from 2974MiB on" */
static void list_holes(const struct frag_fit *fit, char out[HOLES_ROOM])
{
	const uint32_t shown = fit->hole_count > HOLES_MAX ? HOLES_MAX : fit->hole_count;
	char from[FRAG_NUMBER_ROOM], to[FRAG_NUMBER_ROOM];
	size_t used = 0;

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_failing_range *hole = &fit->holes[i];

		used += (size_t)snprintf(out + used, HOLES_ROOM - used, "%sfrom %s %s%s",
					 !i ? "" : i + 1 < fit->hole_count ? ", " : " and ",
					 frag_capacity_text(from, hole->from),
					 hole->to == UINT64_MAX ? "on" : "to below ",
					 hole->to == UINT64_MAX ? ""
								: frag_capacity_text(to, hole->to));
	}
	if (fit->hole_count > shown)
		snprintf(out + used, HOLES_ROOM - used, " and in %" PRIu32 " more stretches, the last"
			 " from %s on", fit->hole_count - shown,
			 frag_capacity_text(from, fit->holes[fit->hole_count - 1].from));
}

static void print_nowhere(const struct frag_fit *fit, const char *name,
			  const struct frag_text_style *paper, FILE *f)
{
	char to[FRAG_NUMBER_ROOM];

	if (!fit->runs && !fit->examined_to)
		frag_put_row(paper->columns, "none", f, "%s was not tried", name);
	else if (fit->examined_to == UINT64_MAX)
		frag_put_row(paper->columns, "none", f, "%s survives on no device, however large",
			      name);
	else
		frag_put_row(paper->columns, "none", f, "%s survives on no device below %s", name,
			      frag_capacity_text(to, fit->examined_to));
}

static bool has_words(const struct frag_fit_answer *a, const struct frag_fitted *one)
{
	return one->fit.smallest == UINT64_MAX || one->fit.hole_count || a->fits->room_total;
}

/* What the table cannot say of one, in words. */
static void print_words(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	char name[FRAG_FIT_NAME_ROOM], holes[HOLES_ROOM];
	char room[FRAG_NUMBER_ROOM], total[FRAG_NUMBER_ROOM];

	frag_fit_name(a->fits, one, name);
	if (fit->smallest == UINT64_MAX)
		print_nowhere(fit, name, paper, f);
	if (fit->hole_count) {
		list_holes(fit, holes);
		frag_put_row(paper->columns, "holes", f, "%s survives on %s, and fails on larger"
			      " devices %s", name, frag_capacity_text(room, fit->smallest), holes);
	}
	if (!a->fits->room_total)
		return;
	frag_size_text(total, a->fits->room_total);
	if (fit->static_room == UINT64_MAX)
		frag_put_row(paper->columns, "room", f, "%s does not survive on %s, with nobody else"
			      " on it", name, total);
	else
		frag_put_row(paper->columns, "room", f, "%s survives while others hold %s of %s from"
			      " the first step on, a fraction of %.4f, or less", name,
			      frag_capacity_text(room, fit->static_room), total,
			      (double)fit->static_room / (double)a->fits->room_total);
}

/* " (a context of 450.00 MiB and 1.00 GiB of others among it)" */
static void describe_taken(const struct frag_device_figures *d, char *out, size_t room)
{
	char context[FRAG_NUMBER_ROOM], other[FRAG_NUMBER_ROOM];

	*out = '\0';
	if (d->context || d->other)
		snprintf(out, room, " (%s%s%s%s%s among it)", d->context ? "a context of " : "",
			 d->context ? frag_size_text(context, d->context) : "",
			 d->context && d->other ? " and " : "",
			 d->other ? frag_size_text(other, d->other) : "",
			 d->other ? " of others" : "");
}

static void print_floor(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *paper, FILE *f)
{
	char size[FRAG_NUMBER_ROOM], taken[200];

	describe_taken(&a->fits->sources[one->source].devices[one->device], taken, sizeof(taken));
	frag_put_row(paper->columns, "floor", f, "%s: so much is in use at once%s, so nothing less"
		      " will do", frag_capacity_text(size, one->fit.floor), taken);
}

static void print_source(const struct frag_fit_answer *a, uint32_t source,
			 const struct frag_text_style *paper, FILE *f)
{
	char path[FRAG_PRINTABLE_ROOM];
	uint32_t last = UINT32_MAX;

	fprintf(f, "%s%s%s%s: the smallest device\n", source ? "\n" : "",
		frag_color_code(paper->colour, INK_BOLD),
		frag_printable(path, frag_input_name(a->traces[source]->path)),
		frag_color_code(paper->colour, INK_PLAIN));
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];

		if (one->source != source || one->choice || one->device == last)
			continue;
		print_floor(a, one, paper, f);
		last = one->device;
	}
	print_table(a, source, paper, f);
	for (uint32_t i = 0, said = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source && has_words(a, &a->fits->fitted[i])) {
			fputs(said++ ? "" : "\n", f);
			print_words(a, &a->fits->fitted[i], paper, f);
		}
}

static void print_joint(const struct frag_fit_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const int width = name_width(a, paper);
	char name[FRAG_FIT_NAME_ROOM];

	if (!a->fits->joint_count)
		return;
	fprintf(f, "\n%sall traces%s: the smallest device for each of them\n\n%-*s  %11s  %11s\n",
		frag_color_code(paper->colour, INK_BOLD), frag_color_code(paper->colour, INK_PLAIN), width,
		"setting", "smallest", "safe");
	for (uint32_t i = 0; i < a->fits->joint_count; i++) {
		const struct frag_fitted *one = &a->fits->joint[i];

		print_name(frag_fit_name(a->fits, one, name), width, f);
		print_capacity(one->fit.smallest, f);
		print_capacity(one->fit.safe, f);
		putc('\n', f);
	}
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f,
		 struct frag_error *err)
{
	const struct frag_fit_answer *a = what;

	(void)err;
	if (a->interrupted)
		fputs("interrupted: what is known until then\n\n", f);
	for (uint32_t i = 0; i < a->fits->source_count; i++)
		print_source(a, i, paper, f);
	print_joint(a, paper, f);
	frag_fit_print_cards(a, paper, f);
	if (a->fits->source_count != 1)
		return 0;
	putc('\n', f);
	frag_put_wrapped(paper->columns, "", "another run of the program may need more: fit several"
		  " traces of it, or leave 5 % of room", f);
	return 0;
}

const struct frag_format frag_fit_text = { .name = "text", .print = print };
