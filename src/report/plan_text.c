/* plan_text.c - what fragsim plan found, for people. */
#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "report/fit_words.h"
#include "report/color.h"
#include "report/plan_formats.h"
#include "report/wrap_lines.h"

#define NAME_MIN 8
#define FIGURES 60              /* columns beside the name */
#define NONE UINT64_MAX

static void print_head(const struct frag_plan_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const struct frag_plan *plan = a->plan;
	char path[FRAG_PRINTABLE_ROOM], from[FRAG_PRINTABLE_ROOM], to[FRAG_PRINTABLE_ROOM];

	fprintf(f, "%s%s%s: %" PRIu32 " buffer%s, sizes rounded up to %" PRIu64 "\n",
		frag_color_code(paper->colour, INK_BOLD),
		frag_printable(path, frag_input_name(a->trace->path)),
		frag_color_code(paper->colour, INK_PLAIN), plan->count, frag_s(plan->count), plan->align);
	if (plan->periods)
		frag_put_row(paper->columns, "slots", f, "%" PRIu64 " period%s that begin at the mark"
			     " %s and end at %s, in steps %" PRIu64 " to %" PRIu64 "; a step below"
			     " is a request of theirs", plan->periods, frag_s(plan->periods),
			     frag_printable(from, a->marks.from), frag_printable(to, a->marks.to),
			     plan->from, plan->to);
	else if (a->marks.from)
		frag_put_row(paper->columns, "between", f, "the marks %s and %s, steps %" PRIu64
			     " to %" PRIu64, frag_printable(from, a->marks.from),
			     frag_printable(to, a->marks.to), plan->from, plan->to);
	if (a->checked)
		frag_put_row(paper->columns, "checked", f, "%s: every buffer of the trace, none else,"
			     " and no two overlap", frag_printable(path, a->checked));
}

/* "optimal", "within 0.0011 %, 122.50 KiB above the bound" */
static void print_height(const struct frag_space_plan *s, const struct frag_text_style *paper, FILE *f)
{
	const bool optimal = s->height == s->bound;
	char size[FRAG_NUMBER_ROOM], gap[FRAG_NUMBER_ROOM], pct[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "bound", f, "%" PRIu64 " bytes, %s: what lives at step %" PRIu64
		     "; no placement is lower", s->bound, frag_size_text(size, s->bound),
		     s->peak_step);
	frag_snprintf(pct, sizeof(pct), "%.4f", frag_plan_gap_pct(s->bound, s->height));
	fputs(frag_color_code(paper->colour, optimal ? INK_GREEN : INK_PLAIN), f);
	if (optimal)
		frag_put_row(paper->columns, "height", f, "%" PRIu64 " bytes, %s: optimal", s->height,
			     frag_size_text(size, s->height));
	else
		frag_put_row(paper->columns, "height", f, "%" PRIu64 " bytes, %s: within %s %%, %s"
			     " above the bound", s->height, frag_size_text(size, s->height), pct,
			     frag_size_text(gap, s->height - s->bound));
	fputs(frag_color_code(paper->colour, INK_PLAIN), f);
}

static void print_tries(const struct frag_space_plan *s, const struct frag_text_style *paper, FILE *f)
{
	for (uint32_t i = 0; i < s->try_count; i++) {
		const struct frag_plan_try *t = &s->tries[i];
		char pct[FRAG_NUMBER_ROOM];

		frag_snprintf(pct, sizeof(pct), "%.4f",
			      t->height == NONE ? 0 : frag_plan_gap_pct(s->bound, t->height));
		frag_put_row(paper->columns, i ? "" : "orders", f, "%s, %s fit: %s%s%s", t->order,
			     t->best ? "best" : "first", t->height == NONE ? "given up" : pct,
			     t->height == NONE ? "" : " %",
			     t->height == s->bound ? ", the bound" : "");
	}
	if (s->window.tried)
		frag_put_row(paper->columns, "window", f, "steps %" PRIu64 " to %" PRIu64 ", %" PRIu32
			     " buffers: %s after %" PRIu64 " states", s->window.from, s->window.to,
			     s->window.buffers, s->window.found ? "placed at the bound" : "not found",
			     s->window.nodes);
	if (s->climb.tries)
		frag_put_row(paper->columns, "climb", f, "%" PRIu64 " order%s more, %" PRIu64
			     " of them better%s", s->climb.tries, frag_s(s->climb.tries),
			     s->climb.better, s->climb.all && s->height > s->bound
			     ? "; these are all, so no placement is lower" : "");
	if (s->try_count)
		frag_put_row(paper->columns, "by", f, "%s", s->found_by);
}

static void print_space(const struct frag_plan_answer *a, const struct frag_space_plan *s,
			const struct frag_text_style *paper, FILE *f)
{
	if (a->plan->space_count > 1)
		fprintf(f, "device %" PRIu32 ", pool %s: %" PRIu32 " buffer%s\n", s->device,
			s->pool_name, s->count, frag_s(s->count));
	print_height(s, paper, f);
	print_tries(s, paper, f);
}

static void print_capacity(const struct frag_plan_answer *a, const struct frag_text_style *paper,
			   FILE *f)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	char size[FRAG_NUMBER_ROOM];

	if (a->capacity == NONE)
		return;
	frag_device_text(size, a->capacity);
	if (needs.height <= a->capacity)
		frag_put_row(paper->columns, "room", f, "%s is enough", size);
	else if (needs.bound > a->capacity)
		frag_put_row(paper->columns, "ROOM", f, "%s is not enough: proven, as the bound"
			     " is above it", size);
	else
		frag_put_row(paper->columns, "ROOM", f, "%s: no plan was found that is so low",
			     size);
}

static void print_cell(uint64_t bytes, bool exact, double above, bool is_plan, FILE *f)
{
	char size[FRAG_NUMBER_ROOM];

	fprintf(f, "  %12s", bytes == NONE ? "-" : exact ? frag_capacity_text(size, bytes)
							 : frag_size_text(size, bytes));
	/* the plan is not above itself; the last column ends its line */
	if (is_plan)
		fputs(exact ? "" : "            ", f);
	else if (bytes == NONE)
		fprintf(f, "  %10s", "-");
	else
		frag_fprintf(f, "  %+9.2f%%", above);
}

/* What each needs of memory without a limit, and the smallest device that does. */
static void print_table(const struct frag_plan_answer *a, const struct frag_text_style *paper, FILE *f)
{
	const uint32_t count = frag_plan_row_count(a);
	struct frag_plan_row_text row;
	int width = NAME_MIN;

	for (uint32_t i = 0; i < count; i++) {
		frag_plan_row_look(a, i, &row);
		if (strlen(row.name) > (size_t)width)
			width = (int)strlen(row.name);
	}
	if (paper->columns && width + FIGURES > paper->columns)
		width = paper->columns > FIGURES + NAME_MIN ? paper->columns - FIGURES : NAME_MIN;
	fprintf(f, "\n%-*s  %12s  %10s  %12s  %10s\n", width, "setting", "peak", "over plan",
		"smallest", "over plan");
	for (uint32_t i = 0; i < count; i++) {
		frag_plan_row_look(a, i, &row);
		if (strlen(row.name) > (size_t)width)
			fprintf(f, "%s\n%*s", row.name, width, "");
		else
			fprintf(f, "%-*s", width, row.name);
		print_cell(row.peak, false, row.above_peak_pct, i < a->trace->device_count, f);
		print_cell(row.smallest, true, row.above_smallest_pct, i < a->trace->device_count, f);
		putc('\n', f);
	}
}

static int print(const void *what, const struct frag_text_style *paper, FILE *f, struct frag_error *err)
{
	const struct frag_plan_answer *a = what;

	(void)err;
	print_head(a, paper, f);
	for (uint32_t i = 0; i < a->plan->space_count; i++)
		print_space(a, &a->plan->spaces[i], paper, f);
	print_capacity(a, paper, f);
	if (!a->plan->complete)
		frag_put_row(paper->columns, "ENDED", f, "early, %s: a longer search may find a lower"
			     " plan", a->timed ? "as the time was up (--time)" : "interrupted");
	if (a->fits)
		print_table(a, paper, f);
	return 0;
}

const struct frag_format frag_plan_text = { .name = "text", .print = print };
