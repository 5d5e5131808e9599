/* extrapolate_text.c - what fragsim extrapolate found, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/escape.h"
#include "report/extrapolate_formats.h"
#include "report/fit_words.h"
#include "report/color.h"
#include "report/wrap_lines.h"

#define NAME_MIN 8
#define FIGURES 47              /* columns beside the name */
#define PARTS_MAX 4             /* of a map that are named */
#define STATUS 6                /* columns of "fits" or "OOM" */
#define WORDS_ROOM 500

static int name_width(const struct frag_extrapolation *x, const struct frag_text_style *paper)
{
	size_t width = NAME_MIN;
	char name[FRAG_FIT_NAME_ROOM];

	for (uint32_t i = 0; i < x->fits.count; i++) {
		const size_t n = strlen(frag_fit_name(&x->fits, &x->fits.fitted[i], name));

		width = n > width ? n : width;
	}
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++) {
		const size_t n = strlen(frag_choice_label(&x->choices[i]));

		width = n > width ? n : width;
	}
	if (paper->columns && width + FIGURES > (size_t)paper->columns)
		width = paper->columns > FIGURES + NAME_MIN ? (size_t)paper->columns - FIGURES
							    : NAME_MIN;
	return (int)width;
}

/* What is longer goes into a line of its own. */
static void print_name(const char *name, int width, int indent, FILE *f)
{
	char shown[FRAG_PRINTABLE_ROOM];

	name = frag_printable(shown, name);
	if (strlen(name) > (size_t)width)
		fprintf(f, "%s\n%*s", name, indent + width, "");
	else
		fprintf(f, "%-*s", width, name);
}

static void print_capacity(uint64_t bytes, FILE *f)
{
	char text[FRAG_NUMBER_ROOM];

	fprintf(f, "  %11s", bytes == UINT64_MAX ? "-" : frag_capacity_text(text, bytes));
}

/* "1 of 1 size", "3 of 40 sizes" */
static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static uint64_t allocs_of(const struct frag_recordings *r, enum frag_growth growth)
{
	uint64_t allocs = 0;

	for (uint32_t i = 0; i < r->size_count; i++)
		allocs += r->sizes[i].growth == growth ? r->sizes[i].allocs : 0;
	return allocs;
}

/* What was read, and how its sizes grow. */
static void print_recordings(const struct frag_extrapolate_answer *a,
			     const struct frag_text_style *paper, FILE *f)
{
	const struct frag_recordings *r = a->found->recordings;
	const uint64_t odd = allocs_of(r, FRAG_UNEXPLAINED), square = allocs_of(r, FRAG_QUADRATIC);
	char path[FRAG_PRINTABLE_ROOM], text[WORDS_ROOM];
	int used;

	fputs(frag_color_code(paper->colour, INK_BOLD), f);
	for (uint32_t i = 0; i < r->count; i++)
		fprintf(f, "%s%s at %" PRIu32, i ? ", " : "",
			frag_printable(path, frag_input_name(a->traces[i]->path)), r->of[i].number);
	fprintf(f, "%s: the same %" PRIu64 " event%s\n", frag_color_code(paper->colour, INK_PLAIN),
		a->traces[0]->events, plural(a->traces[0]->events));
	used = snprintf(text, sizeof(text), "sizes of %" PRIu32 " allocation%s: %" PRIu64 " constant,"
			" %" PRIu64 " linear", r->alloc_count, plural(r->alloc_count),
			allocs_of(r, FRAG_CONSTANT), allocs_of(r, FRAG_LINEAR));
	if (square)
		used += snprintf(text + used, sizeof(text) - (size_t)used, ", %" PRIu64
				 " quadratic", square);
	if (odd)
		snprintf(text + used, sizeof(text) - (size_t)used, ", %" PRIu64 " neither", odd);
	frag_put_wrapped(paper->columns, "  ", text, f);
}

/* "conv.py:12: 8 allocations, that of step 40 with 8.00 MiB at 2, 9.00 MiB at 4" */
static void print_tag(const struct frag_recordings *r, const struct frag_odd *odd,
		      const struct frag_text_style *paper, FILE *f)
{
	char text[WORDS_ROOM], size[FRAG_NUMBER_ROOM];
	size_t used;

	frag_format_printable(text, sizeof(text), "%.*s: %" PRIu64 " allocation%s, that of step %"
			      PRIu64 " with", odd->tag.text ? odd->tag.length < 200
			      ? (int)odd->tag.length : 200 : 8, odd->tag.text ? odd->tag.text
			      : "(no tag)", odd->allocs, plural(odd->allocs), odd->step);
	for (uint32_t i = 0; i < r->count; i++) {
		used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s %s at %" PRIu32, i ? "," : "",
			 frag_size_text(size, odd->sizes->at[r->of[i].rank]), r->of[i].number);
	}
	frag_put_wrapped(paper->columns, "    ", text, f);
}

static void print_odd(const struct frag_extrapolation *x, const struct frag_text_style *paper, FILE *f)
{
	const uint32_t shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;
	char text[WORDS_ROOM];

	if (!x->odd_allocs)
		return;
	fputs(frag_color_code(paper->colour, INK_YELLOW), f);
	snprintf(text, sizeof(text), "%" PRIu64 " size%s the recordings do not explain, so %s"
		 " estimated:", x->odd_allocs, plural(x->odd_allocs),
		 x->odd_allocs == 1 ? "it is" : "they are");
	frag_put_wrapped(paper->columns, "  ", text, f);
	fputs(frag_color_code(paper->colour, INK_PLAIN), f);
	for (uint32_t i = 0; i < shown; i++)
		print_tag(x->recordings, &x->odd[i], paper, f);
	if (x->odd_tags > shown)
		fprintf(f, "    and %" PRIu32 " more tag%s\n", x->odd_tags - shown,
			plural(x->odd_tags - shown));
}

static void print_row(const struct frag_extrapolation *x, const struct frag_fitted *one,
		      const struct frag_text_style *paper, int width, FILE *f)
{
	const struct frag_fit *fit = &one->fit;
	const bool fits = fit->static_room != UINT64_MAX;
	char name[FRAG_FIT_NAME_ROOM];

	if (x->total && !fit->runs)
		fprintf(f, "%-*s", STATUS, "-");
	else if (x->total)
		fprintf(f, "%s%-*s%s", frag_color_code(paper->colour, fits ? INK_GREEN : INK_RED),
			STATUS, fits ? "fits" : "OOM", frag_color_code(paper->colour, INK_PLAIN));
	print_name(frag_fit_name(&x->fits, one, name), width, x->total ? STATUS : 0, f);
	print_capacity(one->unlimited.survives ? one->unlimited.peak_reserved : UINT64_MAX, f);
	print_capacity(fit->smallest, f);
	print_capacity(fit->safe, f);
	putc('\n', f);
}

static void print_point(const struct frag_extrapolation *x, uint32_t at,
			const struct frag_text_style *paper, int width, FILE *f)
{
	char size[FRAG_NUMBER_ROOM], text[WORDS_ROOM];
	uint64_t requested = 0;
	int used;

	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at
		    && x->fits.fitted[i].unlimited.peak_requested > requested)
			requested = x->fits.fitted[i].unlimited.peak_requested;
	used = snprintf(text, sizeof(text), "%s requested at once",
			frag_size_text(size, requested));
	if (x->unexplained[at])
		snprintf(text + used, sizeof(text) - (size_t)used, "; %" PRIu64 " size%s"
			 " estimated", x->unexplained[at], plural(x->unexplained[at]));
	fprintf(f, "\n%sat %" PRIu32, frag_color_code(paper->colour, INK_BOLD), x->at[at]);
	if (x->total)
		fprintf(f, " on %s", frag_device_text(size, x->total));
	fprintf(f, "%s: %s\n%*s%-*s  %11s  %11s  %11s\n", frag_color_code(paper->colour, INK_PLAIN), text,
		x->total ? STATUS : 0, "", width, "setting", "reserved", "smallest", "safe");
	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at)
			print_row(x, &x->fits.fitted[i], paper, width, f);
}

static void print_number(uint32_t number, FILE *f)
{
	if (number == FRAG_NO_NUMBER)
		fprintf(f, "  %11s", "-");
	else
		fprintf(f, "  %11" PRIu32, number);
}

/* Where it is not simply all up to one number. */
static void print_map(const struct frag_extrapolation *x, uint32_t choice,
		      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_reach *reach = &x->reaches[choice];
	char head[FRAG_FIT_NAME_ROOM], text[WORDS_ROOM];
	uint32_t holes = 0;

	frag_format_printable(head, sizeof(head), "  %s: ", frag_choice_label(&x->choices[choice]));
	for (uint32_t i = 0; i < reach->count && reach->largest != FRAG_NO_NUMBER; i++) {
		const struct frag_reach_part *part = &reach->map[i];

		if (part->survives || part->from > reach->largest || ++holes > PARTS_MAX)
			continue;
		if (part->from == part->to)
			snprintf(text, sizeof(text), "%" PRIu32 " does not fit, though larger ones"
				 " do", part->from);
		else
			snprintf(text, sizeof(text), "%" PRIu32 " to %" PRIu32 " do not fit, though"
				 " larger ones do", part->from, part->to);
		frag_put_wrapped(paper->columns, head, text, f);
	}
	if (holes > PARTS_MAX) {
		snprintf(text, sizeof(text), "and %" PRIu32 " more such stretches",
			 holes - PARTS_MAX);
		frag_put_wrapped(paper->columns, head, text, f);
	}
}

/* Which numbers were tried, and why no others. */
static void print_tried(const struct frag_extrapolation *x, const struct frag_text_style *paper,
			FILE *f)
{
	const uint32_t last = x->tried ? frag_tried_last(x) : 0;
	const bool to_bound = x->bound != FRAG_NO_NUMBER
			      && (!x->tried || last + x->stride > x->bound);
	char text[WORDS_ROOM];
	int used;

	if (!x->tried)
		used = snprintf(text, sizeof(text), "no number was tried");
	else if (x->stride > 1)
		used = snprintf(text, sizeof(text), "tried: %" PRIu32 " to %" PRIu32 " in steps of %"
				PRIu32, x->first, last, x->stride);
	else
		used = snprintf(text, sizeof(text), "tried: all from %" PRIu32 " to %" PRIu32,
				x->first, last);
	if (x->bound != FRAG_NO_NUMBER)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "; above %" PRIu32
				 " more is requested at once", x->bound);
	if (x->tried && !to_bound && (!x->up_to || last + x->stride <= x->up_to))
		snprintf(text + used, sizeof(text) - (size_t)used, "; larger ones may fit: --step,"
			 " --up-to or --runs reaches further");
	frag_put_wrapped(paper->columns, "  ", text, f);
}

static void print_reach(const struct frag_extrapolation *x, const struct frag_text_style *paper,
			int width, FILE *f)
{
	char size[FRAG_NUMBER_ROOM];

	fprintf(f, "\n%sthe largest number that fits %s%s\n", frag_color_code(paper->colour, INK_BOLD),
		frag_device_text(size, x->total), frag_color_code(paper->colour, INK_PLAIN));
	print_tried(x, paper, f);
	fprintf(f, "%-*s  %11s  %11s\n", width, "setting", "largest", "all up to");
	for (uint32_t i = 0; i < x->choice_count; i++) {
		print_name(frag_choice_label(&x->choices[i]), width, 0, f);
		print_number(x->reaches[i].largest, f);
		print_number(x->reaches[i].safe, f);
		putc('\n', f);
	}
	for (uint32_t i = 0; i < x->choice_count; i++)
		print_map(x, i, paper, f);
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f,
		 struct frag_error *err)
{
	const struct frag_extrapolate_answer *a = what;
	const struct frag_extrapolation *x = a->found;
	const int width = name_width(x, paper);

	(void)err;
	if (a->interrupted)
		fputs("interrupted: what is known until then\n\n", f);
	print_recordings(a, paper, f);
	print_odd(x, paper, f);
	for (uint32_t i = 0; i < x->at_count && x->fits.count; i++)
		print_point(x, i, paper, width, f);
	if (x->reaches)
		print_reach(x, paper, width, f);
	return 0;
}

const struct frag_format frag_extrapolate_text = { .name = "text", .print = print };
