/* plan_answer.c - what fragsim plan found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"
#include "base/output_path.h"
#include "base/c_locale.h"
#include "base/escape.h"
#include "documents/document_head.h"
#include "answers/fit_answer.h"
#include "answers/text_style.h"
#include "answers/table.h"

#define FRAG_PLAN_NAME_ROOM 600
struct frag_plan_row_text {
	char name[FRAG_PLAN_NAME_ROOM];
	uint32_t device;
	uint64_t peak, smallest;
	double above_peak_pct, above_smallest_pct;      /* the plan's */
};
static uint32_t frag_plan_row_count(const struct frag_plan_answer *a);
static void frag_plan_row_look(const struct frag_plan_answer *a, uint32_t i,
			struct frag_plan_row_text *row);

#define NAME_MIN 8
#define FIGURES 60              /* columns after the name */
#define NONE UINT64_MAX

/* Line 1: of all spaces together the bytes, and the proof of their distance from the best. */
static void plan_print_verdict(const struct frag_plan_answer *a,
			       const struct frag_text_style *paper, FILE *f)
{
	const struct frag_plan *plan = a->plan;
	const struct frag_plan_needs needs = frag_plan_needs(plan);
	char text[FRAG_PRINTABLE_ROOM + 200], path[FRAG_PRINTABLE_ROOM], gap[80] = "", checked[80] = "";
	uint64_t lower = 0;

	for (uint32_t i = 0; i < plan->space_count; i++)
		lower += plan->spaces[i].lower;
	if (needs.height > lower)
		frag_snprintf(gap, sizeof(gap), ", at most %.4f %% above the lowest",
			      frag_plan_gap_pct(lower, needs.height));
	if (a->checked)
		snprintf(checked, sizeof(checked), " in the checked plan");
	frag_snprintf(text, sizeof(text), "%s: %s for %" PRIu32 " buffer%s of %s%s%s",
		      needs.height == lower ? "OPTIMAL" : "BEST FOUND", SIZE(needs.height),
		      plan->count, frag_s(plan->count),
		      frag_printable(path, frag_input_name(a->trace->path)), checked, gap);
	frag_put_first_line(paper, needs.height == lower ? INK_GREEN : INK_BOLD, "", text, f);
}

/* Rows about the whole plan: its verdict, its period or marks, the check, and the rounding. */
static void plan_print_head(const struct frag_plan_answer *a, const struct frag_text_style *paper,
			    FILE *f)
{
	const struct frag_plan *plan = a->plan;
	char path[FRAG_PRINTABLE_ROOM], from[FRAG_PRINTABLE_ROOM], to[FRAG_PRINTABLE_ROOM];

	plan_print_verdict(a, paper, f);
	if (plan->periods)
		frag_put_row(paper->columns, "slots", f,
			     "%" PRIu64 " period%s that begin at the mark"
			     " %s and end at %s, in steps %" PRIu64 " to %" PRIu64 "; a step below"
			     " is a request of theirs",
			     plan->periods, frag_s(plan->periods),
			     frag_printable(from, a->marks.from), frag_printable(to, a->marks.to),
			     plan->from, plan->to);
	else if (a->marks.from)
		frag_put_row(paper->columns, "between", f, "the marks %s and %s, steps %" PRIu64
			     " to %" PRIu64, frag_printable(from, a->marks.from),
			     frag_printable(to, a->marks.to), plan->from, plan->to);
	if (a->checked)
		frag_put_row(paper->columns, "checked", f,
			     "%s: every buffer of the trace, no other buffer, and no two overlap",
			     frag_printable(path, frag_input_name(a->checked)));
	if (plan->align > 1)
		frag_put_row(paper->columns, "sizes", f, "rounded up to %s", SIZE(plan->align));
	if (plan->fixed || plan->aligned)
		frag_put_row(paper->columns, "given", f, "%" PRIu32 " fixed offset%s, %" PRIu32
			     " alignment%s", plan->fixed, frag_s(plan->fixed), plan->aligned,
			     frag_s(plan->aligned));
}

/* "proved optimal", "best found, at most 0.0011 %, 122.50 KiB, above the bound" */
static void print_height(const struct frag_space_plan *s, const struct frag_text_style *paper,
			 FILE *f)
{
	const bool optimal = s->height == s->lower;
	char pct[FRAG_NUMBER_ROOM];

	frag_put_row(paper->columns, "bound", f,
		     "%" PRIu64 " bytes, %s: the peak, at step %" PRIu64 "; no placement is lower",
		     s->bound, SIZE(s->bound), s->peak_step);
	if (s->lower > s->bound)
		frag_put_row(paper->columns, "proven", f,
			     "%" PRIu64 " bytes, %s: the search or a fixed offset refutes lower placements",
			     s->lower, SIZE(s->lower));
	frag_snprintf(pct, sizeof(pct), "%.4f", frag_plan_gap_pct(s->lower, s->height));
	fputs(frag_color_code(paper->colour, optimal ? INK_GREEN : INK_PLAIN), f);
	if (optimal)
		frag_put_row(paper->columns, "height", f, "%" PRIu64 " bytes, %s: proved optimal",
			     s->height, SIZE(s->height));
	else
		frag_put_row(paper->columns, "height", f, "%" PRIu64 " bytes, %s: best found, at most %s %%, %s,"
			     " above the bound", s->height, SIZE(s->height), pct,
			     SIZE(s->height - s->lower));
	fputs(frag_color_code(paper->colour, INK_PLAIN), f);
}

static void print_tries(const struct frag_space_plan *s, const struct frag_text_style *paper,
			FILE *f)
{
	for (uint32_t i = 0; i < s->try_count; i++) {
		const struct frag_plan_try *t = &s->tries[i];
	char pct[FRAG_NUMBER_ROOM];

		frag_snprintf(pct, sizeof(pct), "%.4f",
			      t->height == NONE ? 0 : frag_plan_gap_pct(s->bound, t->height));
		frag_put_row(paper->columns, i ? "" : "orders", f, "%s, first fit: %s%s%s", t->order,
			     t->height == NONE ? "given up" : pct,
			     t->height == NONE ? "" : " %",
			     t->height == s->bound ? ", the bound" : "");
	}
	if (s->search.heights)
		frag_put_row(paper->columns, "search", f,
			     "%" PRIu32 " height%s tried, %" PRIu32 " proven impossible; %" PRIu64
			     " placements of a buffer",
			     s->search.heights, frag_s(s->search.heights), s->search.proofs,
			     s->search.nodes);
	if (s->try_count)
		frag_put_row(paper->columns, "found by", f, "%s", s->found_by);
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

static void plan_print_capacity(const struct frag_plan_answer *a,
				const struct frag_text_style *paper, FILE *f)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	char size[FRAG_NUMBER_ROOM];

	if (a->capacity == NONE)
		return;
	frag_device_text(size, a->capacity);
	if (needs.height <= a->capacity)
		frag_put_row(paper->columns, "capacity", f, "%s suffices", size);
	else if (needs.bound > a->capacity)
		frag_put_row(paper->columns, "capacity", f, "%s does not suffice: the bound is"
			     " above it", size);
	else
		frag_put_row(paper->columns, "capacity", f, "%s: no plan of that height was found",
			     size);
}

static void print_cell(uint64_t bytes, bool exact, double above, bool is_plan, FILE *f)
{
	fprintf(f, exact ? "  %12s" : "  %13s", bytes == NONE ? "-" : exact ? CAPACITY(bytes)
									   : SIZE(bytes));
	/* the plan is not above itself; the last column ends its line */
	if (is_plan)
		fputs(exact ? "" : "             ", f);
	else if (bytes == NONE)
		fprintf(f, "  %11s", "-");
	else
		frag_fprintf(f, "  %+9.2f %%", above);
}

/* The peak of each without a limit, and its smallest device. */
static void plan_print_table(const struct frag_plan_answer *a, const struct frag_text_style *paper,
			     FILE *f)
{
	const uint32_t count = frag_plan_row_count(a);
	struct frag_plan_row_text row;
	size_t longest = 0;
	int width;

	for (uint32_t i = 0; i < count; i++) {
		frag_plan_row_look(a, i, &row);
		if (strlen(row.name) > longest)
			longest = strlen(row.name);
	}
	width = frag_name_column(longest, NAME_MIN, FIGURES, paper->columns);
	fprintf(f, "\n%-*s  %13s  %11s  %12s  %11s\n", width, "setting", "peak reserved",
		"above plan", "smallest", "above plan");
	for (uint32_t i = 0; i < count; i++) {
		frag_plan_row_look(a, i, &row);
		frag_put_name(row.name, width, 0, f);
		print_cell(row.peak, false, row.above_peak_pct, i < a->trace->device_count, f);
		print_cell(row.smallest, true, row.above_smallest_pct, i < a->trace->device_count,
			   f);
		putc('\n', f);
	}
}

/* The text: the plan, its address spaces, the devices, and the policies for comparison. */
static int plan_print(const void *what, const struct frag_text_style *paper, FILE *f,
		      struct frag_error *err)
{
	const struct frag_plan_answer *a = what;

	(void)err;
	plan_print_head(a, paper, f);
	for (uint32_t i = 0; i < a->plan->space_count; i++)
		print_space(a, &a->plan->spaces[i], paper, f);
	plan_print_capacity(a, paper, f);
	if (!a->plan->complete)
		frag_put_row(paper->columns, "stopped", f,
			     "gave up %s: a longer search may find a lower plan",
			     strcmp(a->ended_by, "budget") == 0 ? "after all work of --time"
			     : strcmp(a->ended_by, "time") == 0
				     ? "by the clock (--time), so another run may differ"
				     : "after an interruption");
	if (a->timed)
		frag_put_row(paper->columns, "stopped", f,
			     "the policies early, as the time was up (--time): - is not known");
	if (a->fits)
		plan_print_table(a, paper, f);
	return 0;
}

static const struct frag_format text_format = { .name = "text", .print = plan_print };

static uint32_t frag_plan_row_count(const struct frag_plan_answer *a)
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

static void frag_plan_row_look(const struct frag_plan_answer *a, uint32_t i,
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

static const struct frag_column columns[] = {
	{ "device", NULL, FRAG_CELL_COUNT },
	{ "policy", "setting", FRAG_CELL_TEXT },
	{ "peak_reserved", "peak without a limit", FRAG_CELL_SIZE },
	{ "above_plan_pct", "over the plan", FRAG_CELL_PERCENT },
	{ "smallest", "smallest device", FRAG_CELL_CAPACITY },
	{ "smallest_above_plan_pct", "over the plan", FRAG_CELL_PERCENT },
	{ 0 },
};

static void plan_fill(struct frag_table *t, const void *what)
{
	const struct frag_plan_answer *a = what;
	struct frag_plan_row_text row;

	for (uint32_t i = 0; i < frag_plan_row_count(a); i++) {
		frag_plan_row_look(a, i, &row);
		frag_cell(t, true, row.device);
		frag_cell_text(t, row.name);
		frag_cell_bytes(t, row.peak);
		frag_cell_percent(t, row.peak != NONE, row.above_peak_pct);
		frag_cell_bytes(t, row.smallest);
		frag_cell_percent(t, row.smallest != NONE, row.above_smallest_pct);
	}
}

static const struct frag_table_rows rows = { columns, plan_fill };

const struct frag_format *const frag_plan_formats[] = {
	&text_format, FRAG_ANSWER_FORMS("placement", frag_placement_document, &rows),
};

/* Bytes of a buffer's line except its id and pool. */
#define LINE_ROOM 320

static char *plan_put(char *p, const char *text)
{
	while (*text)
		*p++ = *text++;
	return p;
}

static char *plan_put_number(char *p, const char *text, uint64_t value)
{
	return frag_put_u64(plan_put(p, text), value);
}

static char *put_id(char *p, const struct frag_handle *id)
{
	return id->text ? frag_put_json(p, id->text, (size_t)id->number)
			: frag_put_u64(p, id->number);
}

static size_t id_room(const struct frag_handle *id)
{
	return id->text ? (size_t)id->number * 6 + 2 : FRAG_NUMBER_ROOM;
}

/* A line each, written as it comes: there may be a million, which no document is to hold. */
static void put_buffer(struct frag_outfile *out, const struct frag_plan *plan, uint32_t i)
{
	const struct frag_buffer *b = &plan->buffers[i];
	const struct frag_space_plan *s = &plan->spaces[b->space];
	char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id) + strlen(s->pool_name));

	if (!p)
		return;
	p = put_id(plan_put(p, i ? ",\n{\"id\":" : "\n{\"id\":"), &b->id);
	p = plan_put_number(p, ",\"step\":", b->birth);
	p = plan_put_number(p, ",\"end\":", b->end);
	p = plan_put_number(p, ",\"size\":", b->size);
	p = plan_put_number(p, ",\"offset\":", b->offset);
	p = plan_put(plan_put(p, ",\"pool\":"), s->pool_name);
	p = plan_put_number(p, ",\"device\":", s->device);
	p = plan_put(p, b->carried ? ",\"carried\":true}" : "}");
	frag_outfile_used(out, p);
}

int frag_plan_json(const struct frag_plan *plan, struct frag_outfile *out, struct frag_error *err)
{
	char *p = frag_outfile_room(out, LINE_ROOM);
	char content[17];

	if (!p)
		return frag_outfile_status(out, err);
	snprintf(content, sizeof(content), "%016" PRIx64, plan->content);
	p = plan_put(p, "{\"format\":\"fragsim-plan\",\"version\":1,\"content\":\"");
	p = plan_put_number(plan_put(p, content), "\",\"align\":", plan->align);
	p = plan_put_number(p, ",\"bound\":", plan->bound);
	p = plan_put_number(p, ",\"height\":", plan->height);
	p = plan_put(plan_put(p, ",\"complete\":"), plan->complete ? "true" : "false");
	if (plan->periods)
		p = plan_put_number(p, ",\"periods\":", plan->periods);
	frag_outfile_used(out, plan_put(p, ",\"buffers\":["));
	for (uint32_t i = 0; i < plan->count; i++)
		put_buffer(out, plan, i);
	frag_outfile_write(out, "\n]}\n", 4);
	return frag_outfile_finish(out, err);
}

/* As google/minimalloc writes its own; a text id is quoted where it must be. */
int frag_plan_csv(const struct frag_plan *plan, struct frag_outfile *out, struct frag_error *err)
{
	static const char head[] = "id,lower,upper,size,offset\n";

	frag_outfile_write(out, head, sizeof(head) - 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];
		char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id));

		if (!p)
			break;
		p = b->id.text ? frag_put_csv(p, b->id.text, (size_t)b->id.number)
			       : frag_put_u64(p, b->id.number);
		p = plan_put_number(p, ",", b->birth);
		p = plan_put_number(p, ",", b->end);
		p = plan_put_number(p, ",", b->size);
		p = plan_put_number(p, ",", b->offset);
		*p++ = '\n';
		frag_outfile_used(out, p);
	}
	return frag_outfile_finish(out, err);
}

static void put_verdict(struct frag_node_ref o, uint64_t bound, uint64_t lower, uint64_t height)
{
	frag_json_u64(o, "bound", bound);
	frag_json_u64(o, "lower_bound", lower);
	frag_json_u64(o, "height", height);
	frag_json_text(o, "verdict", height == lower ? "optimal" : "within");
	frag_json_fixed4(o, "gap_pct", frag_plan_gap_pct(lower, height));
}

/* One address space as an object: its bounds, the orders that were tried, and the search. */
static void put_space(struct frag_node_ref list, const struct frag_space_plan *s)
{
	struct frag_node_ref o = frag_json_object(list, NULL), tries, t;

	frag_json_u64(o, "device", s->device);
	frag_json_raw(o, "pool", s->pool_name);
	frag_json_u64(o, "buffers", s->count);
	put_verdict(o, s->bound, s->lower, s->height);
	frag_json_u64(o, "peak_step", s->peak_step);
	frag_json_text(o, "found_by", s->found_by);
	tries = frag_json_array(o, "orders");
	for (uint32_t i = 0; i < s->try_count; i++) {
		t = frag_json_object(tries, NULL);
		frag_json_text(t, "order", s->tries[i].order);
		frag_json_text(t, "fit", "first");
		frag_json_u64_or_null(t, "height", s->tries[i].height != UINT64_MAX,
				      s->tries[i].height);
	}
	t = frag_json_object(o, "search");
	frag_json_u64(t, "heights", s->search.heights);
	frag_json_u64(t, "proofs", s->search.proofs);
	frag_json_u64(t, "placements", s->search.nodes);
}

static void put_beside(struct frag_node_ref list, const struct frag_fits *fits,
		       const struct frag_fitted *one)
{
	struct frag_node_ref o = frag_json_object(list, NULL);
	const bool good = one->fit.smallest != UINT64_MAX;

	frag_document_choice(o, &fits->sources[0].choices[one->choice]);
	frag_json_u64(o, "device", one->device);
	frag_json_u64_or_null(o, "peak_reserved", one->unlimited.survives,
			      one->unlimited.peak_reserved);
	frag_json_u64_or_null(o, "smallest", good, one->fit.smallest);
}

static void put_capacity(struct frag_node_ref root, const struct frag_plan_answer *a)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	struct frag_node_ref o;

	if (a->capacity == UINT64_MAX) {
		frag_json_null(root, "capacity");
		return;
	}
	o = frag_json_object(root, "capacity");
	frag_json_u64(o, "bytes", a->capacity);
	frag_json_bool(o, "fits", needs.height <= a->capacity);
	/* nothing is known where it was just not found */
	if (needs.height > a->capacity && needs.bound <= a->capacity)
		frag_json_null(o, "proven");
	else
		frag_json_bool(o, "proven", true);
}

/* The members of the document except the buffers, see fragsim-plan(1). */
void frag_placement_document(struct frag_node_ref root, const void *what)
{
	const struct frag_plan_answer *a = what;
	const struct frag_plan *plan = a->plan;
	struct frag_node_ref list, o;

	frag_document_trace(root, "trace", a->trace);
	frag_json_u64(root, "align", plan->align);
	frag_json_u64(root, "from", plan->from);
	frag_json_u64(root, "to", plan->to);
	if (plan->periods)
		frag_json_u64(root, "periods", plan->periods);
	frag_json_u64(root, "buffers", plan->count);
	put_verdict(root, plan->bound, plan->lower, plan->height);
	frag_json_bool(root, "complete", plan->complete);
	frag_json_text(root, "ended_by", a->ended_by);
	frag_json_text(root, "checked", a->checked);
	put_capacity(root, a);
	list = frag_json_array(root, "spaces");
	for (uint32_t i = 0; i < plan->space_count; i++)
		put_space(list, &plan->spaces[i]);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++) {
		o = frag_json_object(list, NULL);
		frag_json_u64(o, "ordinal", d);
		frag_json_u64(o, "smallest", a->devices[d].context + a->devices[d].other
			      + frag_plan_segments(plan, d, a->devices[d].granularity));
	}
	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; a->fits && i < a->fits->count; i++)
		put_beside(list, a->fits, &a->fits->fitted[i]);
}
