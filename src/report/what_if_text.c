/* what_if_text.c - what fragsim what-if found, for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/escape.h"
#include "report/fit_words.h"
#include "report/color.h"
#include "report/what_if_formats.h"
#include "report/wrap_lines.h"

#define LABEL 12

static void print_row(const char *label, uint64_t before, uint64_t after, bool capacity, FILE *f)
{
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], shift[FRAG_SHIFT_ROOM];
	char *(*const text)(char *, uint64_t) = capacity ? frag_capacity_text : frag_size_text;

	fprintf(f, "  %-*s  %12s  %12s", LABEL, label, before == UINT64_MAX ? "-" : text(a, before),
		after == UINT64_MAX ? "-" : text(b, after));
	if (*frag_shift_text(shift, before, after))
		fprintf(f, "  %9s", shift);
	putc('\n', f);
}

static void print_fit(const struct frag_what_if_answer *a, uint32_t i,
		      const struct frag_text_style *paper, FILE *f)
{
	const struct frag_fitted *as_is = &a->fits->fitted[i];
	const struct frag_fitted *changed = as_is + a->fits->count / 2;
	char name[FRAG_FIT_NAME_ROOM], shown[FRAG_PRINTABLE_ROOM];

	fprintf(f, "\n%s%s%s\n", frag_color_code(paper->colour, INK_BOLD),
		frag_printable(shown, frag_fit_name(a->fits, as_is, name)),
		frag_color_code(paper->colour, INK_PLAIN));
	for (uint32_t row = 0; row < FRAG_WHAT_IF_ROWS; row++)
		print_row(frag_what_if_rows[row], frag_what_if_figure(as_is, row),
			  frag_what_if_figure(changed, row), true, f);
}

static void print_changes(const struct frag_what_if_answer *a, const struct frag_text_style *paper,
			  FILE *f)
{
	char shown[FRAG_PRINTABLE_ROOM];

	for (uint32_t i = 0; i < a->change_count; i++)
		frag_put_wrapped(paper->columns, i ? "           " : "  changed: ",
				 frag_printable(shown, a->changes[i]), f);
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f,
		 struct frag_error *err)
{
	const struct frag_what_if_answer *a = what;
	char shown[FRAG_PRINTABLE_ROOM];

	(void)err;
	if (a->interrupted)
		fputs("interrupted: what is known until then\n\n", f);
	fprintf(f, "%s%s, as it is and changed%s\n", frag_color_code(paper->colour, INK_BOLD),
		frag_printable(shown, frag_input_name(a->trace->path)),
		frag_color_code(paper->colour, INK_PLAIN));
	print_changes(a, paper, f);
	frag_put_wrapped(paper->columns, "  ", "hypothetical: no program ran like this;"
			 " fragsim-what-if(1) says what a trace cannot know", f);
	fprintf(f, "\n  %-*s  %12s  %12s\n  %-*s  %12" PRIu64 "  %12" PRIu64 "\n", LABEL, "",
		"as it is", "changed", LABEL, "events", a->trace->events, a->events);
	print_row("requested", frag_fits_requested(a->fits, 0), frag_fits_requested(a->fits, 1),
		  false, f);
	for (uint32_t i = 0; i < a->fits->count / 2; i++)
		print_fit(a, i, paper, f);
	return 0;
}

const struct frag_format frag_what_if_text = { .name = "text", .print = print };
