/* plan_answer.c - what fragsim plan found, in every form: for people, as rows, as a document. */
#include "answers/plan_answer.h"

#include "answers/answers.h"

struct frag_plan_setting {
	char name[FRAG_FIT_NAME_ROOM];
	uint32_t device;
	uint64_t peak, smallest;
	bool has_peak, has_smallest;                    /* else UINT64_MAX */
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

static void plan_row_look(const struct frag_plan_answer *a, uint32_t i, struct frag_plan_setting *row)
{
	const uint32_t devices = a->trace->device_count;
	const struct frag_fitted *one;

	*row = (struct frag_plan_setting){ .device = i, .has_peak = true, .has_smallest = true };
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
	row->has_peak = row->peak != NONE;
	row->has_smallest = row->smallest != NONE;
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
			     " %s, in events %" PRIu64 " to %" PRIu64 "; an event below is a"
			     " request of theirs", plan->periods, frag_s(plan->periods),
			     SHOWN(a->marks.from), SHOWN(a->marks.to), plan->from, plan->to);
	else if (a->marks.from)
		frag_put_row(to, "between", "the marks %s and %s, events %" PRIu64 " to %" PRIu64,
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

	frag_put_row(to, "bound", "%" PRIu64 " bytes, %s: the peak, at event %" PRIu64 "; no"
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
	struct frag_plan_setting row;
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

static bool plan_row_at(const void *of, uint32_t i, void *row)
{
	if (i == plan_row_count(of))
		return false;
	plan_row_look(of, i, row);
	return true;
}

static const struct frag_field row_fields[] = {
	{ NULL, FRAG_TYPE_COUNT, FRAG_AT(plan_setting, device), NULL, "device" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_AT(plan_setting, name), NULL, "policy", "setting" },
	{ NULL, FRAG_TYPE_BYTES, FRAG_AT(plan_setting, peak), NULL, "peak_reserved",
	  "peak without a limit", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CHANGE, FRAG_AT(plan_setting, above_peak_pct), NULL, "above_plan_pct",
	  "over the plan", FRAG_THERE_IF(plan_setting, has_peak) },
	{ NULL, FRAG_TYPE_CAPACITY, FRAG_AT(plan_setting, smallest), NULL, "smallest", "smallest device",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CHANGE, FRAG_AT(plan_setting, above_smallest_pct), NULL,
	  "smallest_above_plan_pct", "over the plan", FRAG_THERE_IF(plan_setting, has_smallest) },
	{ 0 },
}, rows[] = { { NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = row_fields, .each = plan_row_at }, { 0 } };

/* The distance of the height from what is proven. */
struct frag_verdict_view {
	const char *verdict;
	double gap_pct;
};

static struct frag_verdict_view verdict_of(uint64_t lower, uint64_t height)
{
	return (struct frag_verdict_view){ height == lower ? "optimal" : "within",
					   plan_gap_pct(lower, height) };
}

static const char *const verdicts[] = { "optimal", "within", NULL };
static const char *const first[] = { "first", NULL };
static const char *const endings[] = { "budget", "time", "interrupt", NULL };

static struct frag_cell_value first_of(const void *of)
{
	return FRAG_TEXT_OF(of ? *first : NULL);
}

/* at(m) is the place of bound, lower and height, in(m) that of a member of the view. */
#define VERDICT_FIELDS(at, in)                                                                  \
	{ "bound", FRAG_TYPE_BYTES, at(bound), "the peak of the live bytes: no placement is lower" }, \
	{ "lower_bound", FRAG_TYPE_BYTES, at(lower), "proven: no placement is lower; the bound, or more" }, \
	{ "height", FRAG_TYPE_BYTES, at(height) },                                              \
	{ "verdict", FRAG_TYPE_WORD, in(verdict), "optimal: the height is the lower bound",       \
	  .words = verdicts },                                                                  \
	{ "gap_pct", FRAG_TYPE_NUMBER, in(gap_pct), "by how much the height is above the lower bound" }

struct frag_space_view {
	const struct frag_space_plan *space;
	struct frag_verdict_view verdict;
};

static bool space_at(const void *of, uint32_t i, void *element)
{
	const struct frag_plan *plan = ((const struct frag_plan_answer *)of)->plan;
	struct frag_space_view *to = element;

	if (i == plan->space_count)
		return false;
	to->space = &plan->spaces[i];
	to->verdict = verdict_of(to->space->lower, to->space->height);
	return true;
}

#define SPACE(m) FRAG_VIA(space_view, space, space_plan, m)
#define SPACE_VIEW(m) FRAG_AT(space_view, verdict.m)
static const struct frag_field try_fields[] = {
	{ "order", FRAG_TYPE_TEXT, FRAG_AT(plan_try, order), "how the buffers were ordered" },
	{ "fit", FRAG_TYPE_WORD, FRAG_WHOLE, .get = first_of, .words = first },
	{ "height", FRAG_TYPE_BYTES, FRAG_AT(plan_try, height), "null: given up",
	  .absence = FRAG_UNLESS_MAX },
	{ 0 },
}, search_fields[] = {
	{ "heights", FRAG_TYPE_COUNT, FRAG_AT(space_plan, search.heights), "that were tried" },
	{ "proofs", FRAG_TYPE_COUNT, FRAG_AT(space_plan, search.proofs), "heights proven impossible" },
	{ "placements", FRAG_TYPE_COUNT, FRAG_AT(space_plan, search.nodes),
	  "of one buffer, that were tried" },
	{ 0 },
}, space_fields[] = {
	{ "device", FRAG_TYPE_COUNT, SPACE(device) },
	{ "pool", FRAG_TYPE_ID, SPACE(pool_name) },
	{ "buffers", FRAG_TYPE_COUNT, SPACE(count) },
	VERDICT_FIELDS(SPACE, SPACE_VIEW),
	{ "given_height", FRAG_TYPE_BYTES, SPACE(given),
	  "of the placement that the trace itself has, as that of XLA", .absence = FRAG_UNLESS_ZERO,
	  .optional = true, .least = 1 },
	{ "peak_step", FRAG_TYPE_COUNT, SPACE(peak_step), "the event with the peak" },
	{ "found_by", FRAG_TYPE_TEXT, SPACE(found_by),
	  "the origin of the lowest placement; the file that was checked" },
	{ "orders", FRAG_TYPE_LIST, FRAG_ARRAY_IN_VIA(space_view, space, space_plan, tries, try_count),
	  .fields = try_fields, .cut = true },
	{ "search", FRAG_TYPE_OBJECT, FRAG_POINTER(space_view, space), "for lower heights",
	  .fields = search_fields },
	{ 0 },
};

/* The capacity that is required. */
struct frag_capacity_view {
	uint64_t bytes;
	bool fits, proven;
};

static bool capacity_view(const void *of, uint32_t i, void *element)
{
	const struct frag_plan_answer *a = of;
	const struct frag_plan_needs needs = frag_plan_needs(a->plan);
	struct frag_capacity_view *to = element;

	(void)i;
	to->bytes = a->capacity;
	to->fits = needs.height <= a->capacity;
	to->proven = to->fits || needs.bound > a->capacity;
	return a->capacity != NONE;
}

static const struct frag_field capacity_fields[] = {
	{ "bytes", FRAG_TYPE_CAPACITY, FRAG_AT(capacity_view, bytes) },
	{ "fits", FRAG_TYPE_FLAG, FRAG_AT(capacity_view, fits) },
	{ "proven", FRAG_TYPE_FLAG, FRAG_AT(capacity_view, proven),
	  "null: no plan of that height was found", FRAG_THERE_IF(capacity_view, proven) },
	{ 0 },
};

struct frag_plan_device {
	uint32_t ordinal;
	uint64_t smallest;
	struct frag_claim claim;
};

static bool plan_device_at(const void *of, uint32_t i, void *element)
{
	const struct frag_plan_answer *a = of;
	struct frag_plan_device *to = element;

	if (i == a->trace->device_count)
		return false;
	to->ordinal = i;
	to->smallest = smallest_of(a, i);
	to->claim = plan_claim(a, i);
	return true;
}

#define DEVICE_CLAIM(m) FRAG_AT(plan_device, claim.m)
static const struct frag_field device_fields[] = {
	{ "ordinal", FRAG_TYPE_COUNT, FRAG_AT(plan_device, ordinal) },
	{ "smallest", FRAG_TYPE_CAPACITY, FRAG_AT(plan_device, smallest), "on which the plan fits" },
	FRAG_CLAIM_FIELDS(DEVICE_CLAIM),
	{ 0 },
};

struct frag_plan_beside {
	const struct frag_choice *choice;
	const struct frag_fitted *fitted;
	const struct frag_fitted *unlimited;    /* the same, where it fits without a limit */
};

static bool beside_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fits *fits = ((const struct frag_plan_answer *)of)->fits;
	struct frag_plan_beside *to = element;

	if (!fits || i == fits->count)
		return false;
	to->fitted = &fits->fitted[i];
	to->choice = &fits->sources[0].choices[to->fitted->choice];
	to->unlimited = to->fitted->unlimited.fits ? to->fitted : NULL;
	return true;
}

#define BESIDE(m) FRAG_VIA(plan_beside, fitted, fitted, m)
#define BESIDE_CLAIM(m) BESIDE(claim.m)
static const struct frag_field beside_fields[] = {
	FRAG_CHOICE_FIELDS(plan_beside, choice),
	{ "device", FRAG_TYPE_COUNT, BESIDE(device) },
	{ "peak_reserved", FRAG_TYPE_BYTES, FRAG_VIA(plan_beside, unlimited, fitted, unlimited.peak_reserved),
	  "without a limit", .nullable = true },
	{ "smallest", FRAG_TYPE_CAPACITY, BESIDE(fit.smallest), .absence = FRAG_UNLESS_MAX },
	FRAG_CLAIM_FIELDS(BESIDE_CLAIM),
	{ 0 },
};

struct frag_placement_view {
	const struct frag_plan_answer *answer;
	const struct frag_trace_info *trace;
	const struct frag_plan *plan;
	struct frag_verdict_view verdict;
};

static void placement_view(const void *answer, void *view)
{
	struct frag_placement_view *to = view;

	to->answer = answer;
	to->trace = to->answer->trace;
	to->plan = to->answer->plan;
	to->verdict = verdict_of(to->plan->lower, to->plan->height);
}

#define PLAN(m) FRAG_VIA(placement_view, plan, plan, m)
#define PLAN_VIEW(m) FRAG_AT(placement_view, verdict.m)
#define ANSWER(m) FRAG_VIA(placement_view, answer, plan_answer, m)
#define ANSWERED FRAG_WHOLE_VIA(placement_view, answer)
static const struct frag_field placement_fields[] = {
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(placement_view, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(placement_view, trace, trace_info, scope)),
	{ "align", FRAG_TYPE_BYTES, PLAN(align), "sizes are rounded up to it", .least = 1 },
	{ "from", FRAG_TYPE_COUNT, PLAN(from), "the first event" },
	{ "to", FRAG_TYPE_COUNT, PLAN(to), "the event behind the last" },
	{ "periods", FRAG_TYPE_COUNT, PLAN(periods),
	  "with --slots: how many there were; the events of spaces are numbers of requests",
	  .absence = FRAG_UNLESS_ZERO, .optional = true, .least = 1 },
	{ "buffers", FRAG_TYPE_COUNT, PLAN(count) },
	VERDICT_FIELDS(PLAN, PLAN_VIEW),
	{ "complete", FRAG_TYPE_FLAG, PLAN(complete),
	  "each space is proven to be the lowest, or fits the capacity" },
	{ "ended_by", FRAG_TYPE_WORD, ANSWER(ended_by), "null: the plan is complete; budget: all work"
	  " of --time is done; time: the clock", .words = endings, .nullable = true },
	{ "checked", FRAG_TYPE_TEXT, ANSWER(checked),
	  "the file that was checked; null: the plan was searched for", .nullable = true },
	{ "capacity", FRAG_TYPE_OBJECT, ANSWERED, "that is required; null: none is",
	  .each = capacity_view, .fields = capacity_fields, .nullable = true },
	{ "spaces", FRAG_TYPE_LIST, ANSWERED, "each device and pool", .each = space_at,
	  .fields = space_fields },
	{ "devices", FRAG_TYPE_LIST, ANSWERED, .each = plan_device_at, .fields = device_fields },
	{ "policies", FRAG_TYPE_LIST, ANSWERED, "to compare with", .each = beside_at,
	  .fields = beside_fields },
	{ 0 },
};

const struct frag_document_type frag_placement_document = {
	.format = "fragsim-placement", .version = 1, .view = placement_view,
	.what = "The answer of fragsim plan, see fragsim-plan(1).", .fields = placement_fields,
};

const struct frag_format *const frag_plan_formats[] = {
	FRAG_TEXT_FORM(plan_print),
	FRAG_ANSWER_FORMS(frag_placement_document, rows),
};
