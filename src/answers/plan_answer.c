/* plan_answer.c - what fragsim plan found, in every form: for people, as rows, as a document. */
#include "answers/answers.h"

#include "answers/append.h"

struct plan_row {
	char name[FRAG_FIT_NAME_ROOM];
	uint32_t device;
	uint64_t peak, smallest;
	double above_peak_pct, above_smallest_pct;      /* the plan's */
};

#define NAME_MIN 8
#define FIGURES 60              /* columns after the name */
#define NONE UINT64_MAX

static uint32_t plan_row_count(const struct frag_plan_answer *a)
{
	return a->trace->device_count + (a->fits ? a->fits->count : 0);
}

/* The bytes of a device's segments, one a space, in pages. */
static uint64_t plan_segments(const struct frag_plan *plan, uint32_t device, uint64_t page)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->space_count; i++)
		if (plan->spaces[i].device == device)
			sum += frag_round_up(plan->spaces[i].height, page ? page : 1);
	return sum;
}

/* How far a height is above its bound. */
static double plan_gap_pct(uint64_t bound, uint64_t height)
{
	FRAG_ASSERT(height >= bound);
	return bound ? 100.0 * ((double)(height - bound) / (double)bound) : 0;
}

static uint64_t peak_of(const struct frag_plan_answer *a, uint32_t device)
{
	return plan_segments(a->plan, device, 1);
}

static uint64_t smallest_of(const struct frag_plan_answer *a, uint32_t device)
{
	const struct frag_device_figures *f = &a->devices[device];

	return f->context + f->other + plan_segments(a->plan, device, f->granularity);
}

static double above(uint64_t bytes, uint64_t plan)
{
	return bytes == NONE || !plan ? 0 : 100.0 * ((double)bytes / (double)plan - 1);
}

static void plan_row_look(const struct frag_plan_answer *a, uint32_t i, struct plan_row *row)
{
	const uint32_t devices = a->trace->device_count;
	const struct frag_fitted *one;

	*row = (struct plan_row){ .device = i };
	if (i < devices) {
		snprintf(row->name, sizeof(row->name), devices > 1 ? "plan @%" PRIu32 : "plan", i);
		row->peak = peak_of(a, i);
		row->smallest = smallest_of(a, i);
		return;
	}
	one = &a->fits->fitted[i - devices];
	frag_fit_name(a->fits, one, row->name);
	row->device = one->device;
	row->peak = one->unlimited.fits ? one->unlimited.peak_reserved : NONE;
	row->smallest = one->fit.smallest;
	row->above_peak_pct = above(row->peak, peak_of(a, row->device));
	row->above_smallest_pct = above(row->smallest, smallest_of(a, row->device));
}

/* What the placement proves of a device: no plan of the program is below the part's proven bound. */
static struct frag_claim plan_claim(const struct frag_plan_answer *a, uint32_t device)
{
	const struct frag_device_figures *f = &a->devices[device];
	struct frag_claim claim = {
		.part = frag_scope_part(&a->trace->scope), .at_least = f->context + f->other,
	};

	if (frag_claim_is_exact(&claim)) {
		claim.at_least = smallest_of(a, device);
		return claim;
	}
	for (uint32_t i = 0; i < a->plan->space_count; i++)
		if (a->plan->spaces[i].device == device)
			claim.at_least += frag_round_up(a->plan->spaces[i].lower, f->granularity);
	return claim;
}

/* Of a recording that is a part: "; the program needs a device of at least 12 GiB: ..." */
static void plan_add_part(const struct frag_plan_answer *a, struct frag_words *w)
{
	struct frag_claim claim = { .at_least = 0 };

	if (frag_scope_part(&a->trace->scope) == FRAG_PART_WHOLE)
		return;
	for (uint32_t d = 0; d < a->trace->device_count; d++) {
		const struct frag_claim one = plan_claim(a, d);

		frag_claim_all(&claim, &one);
	}
	frag_add(w, "; the program needs a device of at least %s", CAPACITY(claim.at_least));
	frag_add_claim(w, &a->trace->scope, NULL);
}

/* Line 1: of all spaces together the bytes, and the proof of their distance from the best. */
static void plan_print_verdict(const struct frag_plan_answer *a, const struct frag_text_style *to)
{
	const struct frag_plan *plan = a->plan;
	const uint64_t height = frag_plan_needs(plan).height;
	struct frag_words part = WORDS(400);
	char gap[80] = "";
	uint64_t lower = 0;

	for (uint32_t i = 0; i < plan->space_count; i++)
		lower += plan->spaces[i].lower;
	if (height > lower)
		frag_snprintf(gap, sizeof(gap), ", at most %.4f %% above the lowest",
			      plan_gap_pct(lower, height));
	plan_add_part(a, &part);
	frag_put_first_line(to, height == lower ? INK_GREEN : INK_BOLD, "",
			    "%s: %s for %" PRIu32 " buffer%s of %s%s%s%s",
			    height == lower ? "OPTIMAL" : "BEST FOUND", SIZE(height), plan->count,
			    frag_s(plan->count), SHOWN(frag_input_name(a->trace->path)),
			    a->checked ? " in the checked plan" : "", gap, part.text);
}

/* Rows about the whole plan: its verdict, its period or marks, the check, and the rounding. */
static void plan_print_head(const struct frag_plan_answer *a, const struct frag_text_style *to)
{
	const struct frag_plan *plan = a->plan;

	plan_print_verdict(a, to);
	if (plan->periods)
		frag_put_row(to, "slots", "%" PRIu64 " period%s that begin at the mark %s and end at"
			     " %s, in steps %" PRIu64 " to %" PRIu64 "; a step below is a request of"
			     " theirs", plan->periods, frag_s(plan->periods), SHOWN(a->marks.from),
			     SHOWN(a->marks.to), plan->from, plan->to);
	else if (a->marks.from)
		frag_put_row(to, "between", "the marks %s and %s, steps %" PRIu64 " to %" PRIu64,
			     SHOWN(a->marks.from), SHOWN(a->marks.to), plan->from, plan->to);
	if (a->checked)
		frag_put_row(to, "checked", "%s: every buffer of the trace, no other buffer, and no"
			     " two overlap", SHOWN(frag_input_name(a->checked)));
	if (plan->align > 1)
		frag_put_row(to, "sizes", "rounded up to %s", SIZE(plan->align));
	if (plan->fixed || plan->aligned || plan->hinted || plan->gap_count)
		frag_put_row(to, "given", "%" PRIu32 " fixed offset%s, %" PRIu32
			     " alignment%s, %" PRIu32 " hint%s, %" PRIu32 " gap%s", plan->fixed,
			     frag_s(plan->fixed), plan->aligned, frag_s(plan->aligned),
			     plan->hinted, frag_s(plan->hinted), plan->gap_count,
			     frag_s(plan->gap_count));
}

/* "proved optimal", "best found, at most 0.0011 %, 122.50 KiB, above the bound" */
static void print_height(const struct frag_space_plan *s, const struct frag_text_style *to)
{
	const bool optimal = s->height == s->lower;

	frag_put_row(to, "bound", "%" PRIu64 " bytes, %s: the peak, at step %" PRIu64 "; no"
		     " placement is lower", s->bound, SIZE(s->bound), s->peak_step);
	if (s->lower > s->bound)
		frag_put_row(to, "proven", "%" PRIu64 " bytes, %s: the search, an alignment or"
			     " a fixed offset refutes lower placements", s->lower, SIZE(s->lower));
	fputs(frag_ink(to, optimal ? INK_GREEN : INK_PLAIN), to->f);
	if (optimal)
		frag_put_row(to, "height", "%" PRIu64 " bytes, %s: proved optimal", s->height,
			     SIZE(s->height));
	else
		frag_put_row(to, "height", "%" PRIu64 " bytes, %s: best found, at most %.4f %%, %s,"
			     " above the bound", s->height, SIZE(s->height),
			     plan_gap_pct(s->lower, s->height), SIZE(s->height - s->lower));
	fputs(frag_ink(to, INK_PLAIN), to->f);
}

/* Whether sizes of a space are not those of the trace: --align or the checked plan made them larger. */
static bool plan_is_rounded(const struct frag_plan *plan, const struct frag_space_plan *s)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (&plan->spaces[plan->buffers[i].space] == s
		    && plan->buffers[i].size != plan->buffers[i].requested)
			return true;
	return false;
}

/*
 * The placement that the trace itself has, by name: "8404992 bytes, 8.02 MiB: the bound". It has the
 * trace's own sizes, and the file may be wrong: neither the bound nor the plan limits it.
 */
static void print_given(const struct frag_plan *plan, const struct frag_space_plan *s,
			const struct frag_text_style *to)
{
	char rest[80];

	if (!s->given)
		return;
	if (plan_is_rounded(plan, s))
		frag_snprintf(rest, sizeof(rest), ", for the sizes in the trace");
	else if (s->given > s->bound)
		frag_snprintf(rest, sizeof(rest), ": %.4f %% above the bound",
			      plan_gap_pct(s->bound, s->given));
	else
		frag_snprintf(rest, sizeof(rest), ": %s", s->given == s->bound ? "the bound"
			      : "below the bound, because its buffers overlap");
	frag_put_row(to, plan->given_by, "%" PRIu64 " bytes, %s%s", s->given, SIZE(s->given), rest);
}

/* Each order with its height above the bound, and what the search after them tried. */
static void print_tries(const struct frag_space_plan *s, const struct frag_text_style *to)
{
	char pct[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < s->try_count; i++) {
		const struct frag_plan_try *t = &s->tries[i];

		frag_snprintf(pct, sizeof(pct), "%.4f %%",
			      t->height == NONE ? 0 : plan_gap_pct(s->bound, t->height));
		frag_put_row(to, i ? "" : "orders", "%s, first fit: %s%s", t->order,
			     t->height == NONE ? "given up" : pct,
			     t->height == s->bound ? ", the bound" : "");
	}
	if (s->search.heights)
		frag_put_row(to, "search", "%" PRIu32 " height%s tried, %" PRIu32 " proven"
			     " impossible; %" PRIu64 " placements of a buffer", s->search.heights,
			     frag_s(s->search.heights), s->search.proofs, s->search.nodes);
	if (s->try_count)
		frag_put_row(to, "found by", "%s", s->found_by);
}

static void plan_print_capacity(const struct frag_plan_answer *a, const struct frag_text_style *to)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);

	const bool part = frag_scope_part(&a->trace->scope) != FRAG_PART_WHOLE;

	if (a->capacity != NONE)
		frag_put_row(to, "capacity", needs.height <= a->capacity && part
			     ? "%s suffices for the recorded part"
			     : needs.height <= a->capacity ? "%s suffices"
			     : needs.bound > a->capacity
			     ? "%s does not suffice: the bound is above it"
			     : "%s: no plan of that height was found", DEVICE(a->capacity));
}

/* Nothing, where it is the plan, which is not above itself. */
static void print_above(uint64_t bytes, double above, bool is_plan, const char *nothing, FILE *f)
{
	if (is_plan)
		fputs(nothing, f);
	else if (bytes == NONE)
		fprintf(f, "  %11s", "-");
	else
		frag_fprintf(f, "  %+9.2f %%", above);
}

/* The peak of each without a limit, and its smallest device. */
static void plan_print_table(const struct frag_plan_answer *a, const struct frag_text_style *to)
{
	const uint32_t count = plan_row_count(a);
	struct plan_row row;
	size_t longest = 0;
	int width;

	for (uint32_t i = 0; i < count; i++) {
		plan_row_look(a, i, &row);
		frag_note_longest(&longest, row.name);
	}
	width = frag_name_column(longest, NAME_MIN, FIGURES, to->columns);
	fprintf(to->f, "\n%-*s  %13s  %11s  %12s  %11s\n", width, "setting", "peak reserved",
		"above plan", "smallest", "above plan");
	for (uint32_t i = 0; i < count; i++) {
		const bool is_plan = i < a->trace->device_count;

		plan_row_look(a, i, &row);
		frag_put_name(row.name, width, 0, to->f);
		fprintf(to->f, "  %13s", row.peak == NONE ? "-" : SIZE(row.peak));
		print_above(row.peak, row.above_peak_pct, is_plan, "             ", to->f);
		fprintf(to->f, "  %12s", row.smallest == NONE ? "-" : CAPACITY(row.smallest));
		print_above(row.smallest, row.above_smallest_pct, is_plan, "", to->f);
		putc('\n', to->f);
	}
}

/* The text: the plan, its address spaces, the devices, and the policies for comparison. */
static void plan_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_plan_answer *a = what;

	plan_print_head(a, to);
	frag_put_growth(to, &a->trace, 1);
	for (uint32_t i = 0; i < a->plan->space_count; i++) {
		const struct frag_space_plan *s = &a->plan->spaces[i];

		if (a->plan->space_count > 1)
			fprintf(to->f, "device %" PRIu32 ", pool %s: %" PRIu32 " buffer%s\n",
				s->device, s->pool_name, s->count, frag_s(s->count));
		print_height(s, to);
		print_given(a->plan, s, to);
		print_tries(s, to);
	}
	plan_print_capacity(a, to);
	if (!a->plan->complete)
		frag_put_row(to, "stopped", "gave up %s: a longer search may find a lower plan",
			     strcmp(a->ended_by, "budget") == 0 ? "after all work of --time"
			     : strcmp(a->ended_by, "time") == 0
			     ? "by the clock (--time), so another run may differ"
			     : "after an interruption");
	if (a->timed)
		frag_put_row(to, "stopped", "the policies early, as the time was up (--time): - is"
			     " not known");
	if (a->fits)
		plan_print_table(a, to);
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
	struct plan_row row;

	for (uint32_t i = 0; i < plan_row_count(a); i++) {
		plan_row_look(a, i, &row);
		frag_cell(t, true, row.device);
		frag_cell_text(t, row.name);
		frag_cell_bytes(t, row.peak);
		frag_cell_percent(t, row.peak != NONE, row.above_peak_pct);
		frag_cell_bytes(t, row.smallest);
		frag_cell_percent(t, row.smallest != NONE, row.above_smallest_pct);
	}
}

/* Bytes of a buffer's line except its id and pool. */
#define LINE_ROOM 320

/* A word, which is a separator or a key, and a number. */
static char *put_number(char *p, const char *text, uint64_t value)
{
	return frag_put_u64(put_word(p, text), value);
}

static size_t id_room(const struct frag_handle *id)
{
	return id->text ? (size_t)id->number * 6 + 2 : FRAG_NUMBER_ROOM;
}

/* A line each, written as it comes: there may be a million, which no document is to hold. */
static void put_buffer(struct frag_outfile *out, const struct frag_plan *plan, uint32_t i, bool csv)
{
	const struct frag_buffer *b = &plan->buffers[i];
	const struct frag_space_plan *s = &plan->spaces[b->space];
	char *p = frag_outfile_room(out, LINE_ROOM + id_room(&b->id) + strlen(s->pool_name));

	if (!p)
		return;
	if (!csv)
		p = put_handle_json(put_word(p, i ? ",\n{\"id\":" : "\n{\"id\":"), &b->id);
	else if (b->id.text)
		p = frag_put_csv(p, b->id.text, (size_t)b->id.number);
	else
		p = frag_put_u64(p, b->id.number);
	p = put_number(p, csv ? "," : ",\"step\":", b->birth);
	p = put_number(p, csv ? "," : ",\"end\":", b->end);
	p = put_number(p, csv ? "," : ",\"size\":", b->size);
	p = put_number(p, csv ? "," : ",\"offset\":", b->offset);
	if (!csv)
		p = put_word(put_word(p, ",\"pool\":"), s->pool_name);
	if (!csv)
		p = put_number(p, ",\"device\":", s->device);
	frag_outfile_used(out, put_word(p, csv ? "\n" : b->carried ? ",\"carried\":true}" : "}"));
}

/* The CSV is as google/minimalloc writes its own; a text id is quoted where it must be. */
int frag_plan_write(const struct frag_plan *plan, bool csv, struct frag_outfile *out,
		    struct frag_error *err)
{
	char *p = frag_outfile_room(out, LINE_ROOM);

	if (!p)
		return frag_outfile_status(out, err);
	if (csv)
		p = put_word(p, "id,lower,upper,size,offset\n");
	else
		p += snprintf(p, LINE_ROOM, "{\"format\":\"fragsim-plan\",\"version\":1,"
			      "\"content\":\"%016" PRIx64 "\",\"align\":%" PRIu64 ",\"bound\":%"
			      PRIu64 ",\"height\":%" PRIu64 ",\"complete\":%s", plan->content,
			      plan->align, plan->bound, plan->height, plan->complete ? "true" : "false");
	if (!csv && plan->periods)
		p = put_number(p, ",\"periods\":", plan->periods);
	frag_outfile_used(out, put_word(p, csv ? "" : ",\"buffers\":["));
	for (uint32_t i = 0; i < plan->count; i++)
		put_buffer(out, plan, i, csv);
	frag_outfile_write(out, "\n]}\n", csv ? 0 : 4);
	return frag_outfile_finish(out, err);
}

static void put_verdict(struct frag_node_ref o, uint64_t bound, uint64_t lower, uint64_t height)
{
	frag_json_u64(o, "bound", bound);
	frag_json_u64(o, "lower_bound", lower);
	frag_json_u64(o, "height", height);
	frag_json_text(o, "verdict", height == lower ? "optimal" : "within");
	frag_json_fixed4(o, "gap_pct", plan_gap_pct(lower, height));
}

static void put_space_verdict(struct frag_node_ref o, const void *of)
{
	const struct frag_space_plan *s = of;

	put_verdict(o, s->bound, s->lower, s->height);
	if (s->given)
		frag_json_u64(o, "given_height", s->given);
}

static void put_fit(struct frag_node_ref o, const void *of)
{
	(void)of;
	frag_json_text(o, "fit", "first");
}

static const struct frag_json_row try_rows[] = {
	ROW(plan_try, order), ROW_CALL(put_fit), ROW_MAX("height", plan_try, height), ROW_END,
}, search_rows[] = {
	ROW_AS("heights", space_plan, search.heights), ROW_AS("proofs", space_plan, search.proofs),
	ROW_AS("placements", space_plan, search.nodes), ROW_END,
}, beside_rows[] = {
	ROW(fitted, device),
	ROW_IF(unlimited.fits, "peak_reserved", fitted, unlimited.peak_reserved),
	ROW_MAX("smallest", fitted, fit.smallest), ROW_END,
};

static void put_tries(struct frag_node_ref o, const void *of)
{
	const struct frag_space_plan *s = of;

	FRAG_JSON_LIST(o, "orders", try_rows, s->tries, s->try_count);
	frag_json_of(o, "search", search_rows, s);
}

/* One address space: its bounds, the orders that were tried, and the search. */
static const struct frag_json_row space_rows[] = {
	ROW(space_plan, device), ROW_JSON("pool", space_plan, pool_name),
	ROW_AS("buffers", space_plan, count), ROW_CALL(put_space_verdict),
	ROW(space_plan, peak_step), ROW(space_plan, found_by), ROW_CALL(put_tries), ROW_END,
};

static void put_capacity(struct frag_node_ref root, const struct frag_plan_answer *a)
{
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	struct frag_node_ref o = frag_json_object_or_null(root, "capacity", a->capacity != NONE);

	if (!o.node)
		return;
	frag_json_u64(o, "bytes", a->capacity);
	frag_json_bool(o, "fits", needs.height <= a->capacity);
	/* nothing is known where it was just not found */
	frag_json_raw(o, "proven", needs.height > a->capacity && needs.bound <= a->capacity
		      ? NULL : "true");
}

/* The members of the document except the buffers, see fragsim-plan(1). */
static void placement_document(struct frag_node_ref root, const void *what)
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
		frag_json_of(list, NULL, space_rows, &plan->spaces[i]);
	list = frag_json_array(root, "devices");
	for (uint32_t d = 0; d < a->trace->device_count; d++) {
		const struct frag_claim claim = plan_claim(a, d);

		o = frag_json_object(list, NULL);
		frag_json_u64(o, "ordinal", d);
		frag_json_u64(o, "smallest", smallest_of(a, d));
		frag_document_claim(o, &claim);
	}
	list = frag_json_array(root, "policies");
	for (uint32_t i = 0; a->fits && i < a->fits->count; i++) {
		o = frag_json_object(list, NULL);
		frag_document_choice(o, &a->fits->sources[0].choices[a->fits->fitted[i].choice]);
		frag_json_rows(o, beside_rows, &a->fits->fitted[i]);
		frag_document_claim(o, &a->fits->fitted[i].claim);
	}
}

const struct frag_format *const frag_plan_formats[] = {
	FRAG_TEXT_FORM("text", plan_print),
	FRAG_ANSWER_FORMS("placement", placement_document, columns, plan_fill),
};
