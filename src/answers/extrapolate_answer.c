/* extrapolate_answer.c - what fragsim extrapolate found, in every form: for people, as rows, as a document. */
#include "answers/extrapolate_answer.h"

#include "answers/answers.h"

#define NAME_MIN 8
#define FIGURES 47              /* columns after the name */
#define PARTS_MAX 4             /* of a map that are named */
#define STATUS 6                /* columns of "fits" or "OOM" */
#define WORDS_ROOM 500
#define NONE UINT64_MAX

static int name_width(const struct frag_extrapolation *x, const struct frag_text_style *to)
{
	size_t width = 0;

	for (uint32_t i = 0; i < x->fits.count; i++)
		frag_note_longest(&width, FIT_NAME(&x->fits, &x->fits.fitted[i]));
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		frag_note_longest(&width, frag_choice_label(&x->choices[i]));
	return frag_name_column(width, NAME_MIN, FIGURES, to->columns);
}

static uint64_t allocs_of(const struct frag_recordings *r, enum frag_growth growth)
{
	uint64_t allocs = 0;

	for (uint32_t i = 0; i < r->size_count; i++)
		allocs += r->sizes[i].growth == growth ? r->sizes[i].allocs : 0;
	return allocs;
}

#define DOUBT "two recordings cannot tell a linear size from a quadratic one, as attention has: larger" \
	      " numbers may require more; record a third number"

/* Is a size taken to be linear that may be quadratic? */
static bool is_doubtful(const struct frag_recordings *r)
{
	return r->count == 2 && allocs_of(r, FRAG_LINEAR);
}

/* Between the recordings a parabola through both lies below the line. */
static bool is_beyond(const struct frag_recordings *r, uint32_t number)
{
	return is_doubtful(r) && number > r->of[0].number && number > r->of[1].number;
}

/* The recordings, and the growth of their sizes. */
static void print_recordings(const struct frag_extrapolate_answer *a,
			     const struct frag_text_style *to)
{
	const struct frag_recordings *r = a->found->recordings;
	const uint64_t odd = allocs_of(r, FRAG_UNEXPLAINED), square = allocs_of(r, FRAG_QUADRATIC);
	struct frag_words w = WORDS(FRAG_PRINTABLE_ROOM + WORDS_ROOM), m = WORDS(100);

	for (uint32_t i = 0; i < r->count; i++)
		frag_add_item(&w, ", ", "%.800s at %" PRIu32,
			      SHOWN(frag_input_name(a->traces[i]->path)), r->of[i].number);
	frag_put_row(to, "from", "%s: the same %" PRIu64 " event%s", w.text, a->traces[0]->events,
		     frag_s(a->traces[0]->events));
	if (r->matched)
		frag_put_row(to, "matched", "%" PRIu32 " blocks from before the history, by size and"
			     " by the events that use them", r->initial);
	if (square)
		frag_add(&m, ", %" PRIu64 " quadratic", square);
	if (odd)
		frag_add(&m, ", %" PRIu64 " neither", odd);
	frag_put_row(to, "sizes", "of %" PRIu32 " allocation%s: %" PRIu64 " constant, %" PRIu64
		     " linear%s", r->alloc_count, frag_s(r->alloc_count),
		     allocs_of(r, FRAG_CONSTANT), allocs_of(r, FRAG_LINEAR), m.text);
	frag_put_evidence(to, a->found->choices, "sizes as the recordings grow");
	if (is_doubtful(r))
		frag_put_row(to, "doubt", "%s", DOUBT);
}

/* The highest of the trace's devices; UINT64_MAX: one of them has none, or was not searched. */
static uint64_t smallest_at(const struct frag_extrapolation *x, uint32_t at, uint32_t choice,
			    bool *fits)
{
	uint64_t smallest = 0;

	*fits = false;
	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fitted *one = &x->fits.fitted[i];

		if (one->source != at || one->choice != choice)
			continue;
		*fits = one->fit.headroom != UINT64_MAX && (!smallest || *fits);
		smallest = one->fit.smallest > smallest ? one->fit.smallest : smallest;
	}
	return smallest ? smallest : UINT64_MAX;
}

/* What a setting proves at a number: of all devices. */
static struct frag_claim claim_at(const struct frag_extrapolation *x, uint32_t at, uint32_t choice)
{
	struct frag_claim claim = { .part = frag_scope_part(x->scope) };

	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at && x->fits.fitted[i].choice == choice)
			frag_claim_all(&claim, &x->fits.fitted[i].claim);
	return claim;
}

/* The smallest of the settings of the first policy. */
static struct frag_claim extrapolate_claim(const struct frag_extrapolation *x, uint32_t at)
{
	struct frag_claim claim = claim_at(x, at, 0);

	for (uint32_t i = 1; i < x->choice_count; i++) {
		const struct frag_claim other = claim_at(x, at, i);

		if (x->choices[i].ops == x->choices[0].ops)
			frag_claim_any(&claim, &other);
	}
	return claim;
}

/* "at least 10812 MiB (11240 MiB with default settings): the recording ends at its ..." */
static void extrapolate_add_part(const struct frag_extrapolation *x, uint32_t at, uint64_t fits,
		     struct frag_words *w)
{
	frag_add(w, "at least ");
	frag_add_at_least(w, extrapolate_claim(x, at).at_least, claim_at(x, at, 0).at_least,
			  &x->choices[0]);
	frag_add_claim(w, x->scope, CAPACITY(fits));
}

/* "AT 16: 10812 MiB device with expandable_segments:True, 11240 MiB with the default settings" */
static void verdict_at(const struct frag_extrapolation *x, uint32_t at,
		       const struct frag_text_style *to)
{
	uint64_t least = UINT64_MAX, bytes;
	uint32_t best = 0;
	bool fits, any = false;
	struct frag_words w = WORDS(WORDS_ROOM);

	for (uint32_t i = 0; i < x->choice_count; i++) {
		bytes = smallest_at(x, at, i, &fits);
		if (bytes < least && x->choices[i].ops == x->choices[0].ops) {
			least = bytes;
			best = i;
		}
		any |= fits;
	}
	frag_add(&w, "%s %" PRIu32 "%s%s: ", !x->total ? "AT" : !any ? "OOM AT"
		 : frag_scope_part(x->scope) == FRAG_PART_WHOLE ? "FITS AT"
		 : "THE RECORDED PART FITS AT",
		 x->at[at], x->total ? " on " : "", x->total ? DEVICE(x->total) : "");
	if (least == UINT64_MAX)
		frag_add(&w, "no device is known to fit");
	else if (frag_scope_part(x->scope) != FRAG_PART_WHOLE)
		extrapolate_add_part(x, at, least, &w);
	else
		frag_add(&w, "smallest device %s with %.200s", CAPACITY(least),
			 frag_setting_words(&x->choices[best]));
	if (least != UINT64_MAX && best && frag_scope_part(x->scope) == FRAG_PART_WHOLE)
		frag_add(&w, ", %s with %.200s", CAPACITY(smallest_at(x, at, 0, &fits)),
			 frag_setting_words(&x->choices[0]));
	frag_put_wrapped(to, "", w.text);
}

/* Line 1: the largest number, or the smallest device at each number. */
static void extrapolate_print_verdict(const struct frag_extrapolation *x,
				      const struct frag_text_style *to)
{
	const struct frag_reach *r = x->reaches;
	uint32_t best = UINT32_MAX;
	char text[WORDS_ROOM];

	for (uint32_t i = 0; r && i < x->choice_count; i++)
		if (r[i].largest != FRAG_NO_NUMBER
		    && (best == UINT32_MAX || r[i].largest > r[best].largest))
			best = i;
	fputs(frag_ink(to, INK_BOLD), to->f);
	if (r && best == UINT32_MAX)
		snprintf(text, sizeof(text), "LARGEST NUMBER: none is known to fit %s",
			 DEVICE(x->total));
	else if (r)
		snprintf(text, sizeof(text), "LARGEST NUMBER%s: %" PRIu32 " on %s with %.300s",
			 frag_scope_part(x->scope) == FRAG_PART_WHOLE ? ""
			 : " OF THE RECORDED PART", r[best].largest, DEVICE(x->total),
			 frag_setting_words(&x->choices[best]));
	if (r)
		frag_put_wrapped(to, "", text);
	for (uint32_t i = 0; i < x->at_count && x->fits.count; i++)
		verdict_at(x, i, to);
	fputs(frag_ink(to, INK_PLAIN), to->f);
}

/* "conv.py:12: 8 allocations, that of step 40 with 8.00 MiB at 2, 9.00 MiB at 4" */
static void print_tag(const struct frag_recordings *r, const struct frag_odd *odd,
		      const struct frag_text_style *to)
{
	const size_t length = odd->tag.length < 200 ? odd->tag.length : 200;
	char text[WORDS_ROOM];
	struct frag_words w = { .text = text, .size = sizeof(text) };

	frag_format_printable(text, sizeof(text), "%.*s: %" PRIu64 " allocation%s, that of step %"
			      PRIu64 " with", odd->tag.text ? (int)length : 8,
			      odd->tag.text ? odd->tag.text : "(no tag)", odd->allocs,
			      frag_s(odd->allocs), odd->step);
	w.used = strlen(text);
	for (uint32_t i = 0; i < r->count; i++)
		frag_add(&w, "%s %s at %" PRIu32, i ? "," : "",
			 SIZE(odd->sizes->at[r->of[i].rank]), r->of[i].number);
	frag_put_wrapped(to, "    ", text);
}

static void print_odd(const struct frag_extrapolation *x, const struct frag_text_style *to)
{
	const uint32_t shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;

	if (!x->odd_allocs)
		return;
	fputs(frag_ink(to, INK_YELLOW), to->f);
	frag_put_row(to, "estimated", "%" PRIu64 " size%s that the recordings do not explain:",
		     x->odd_allocs, frag_s(x->odd_allocs));
	fputs(frag_ink(to, INK_PLAIN), to->f);
	for (uint32_t i = 0; i < shown; i++)
		print_tag(x->recordings, &x->odd[i], to);
	if (x->odd_tags > shown)
		fprintf(to->f, "    and %" PRIu32 " more tag%s\n", x->odd_tags - shown,
			frag_s(x->odd_tags - shown));
}

static void extrapolate_print_row(const struct frag_extrapolation *x, const struct frag_fitted *one,
				  const struct frag_text_style *to, int width)
{
	const struct frag_fit *fit = &one->fit;
	const bool fits = fit->headroom != UINT64_MAX;

	if (x->total && !fit->runs)
		fprintf(to->f, "%-*s", STATUS, "-");
	else if (x->total)
		fprintf(to->f, "%s%-*s%s", frag_ink(to, fits ? INK_GREEN : INK_RED), STATUS,
			fits ? "fits" : "OOM", frag_ink(to, INK_PLAIN));
	frag_put_name(FIT_NAME(&x->fits, one), width, x->total ? STATUS : 0, to->f);
	frag_put_capacity(one->unlimited.fits ? one->unlimited.peak_reserved : NONE, to->f);
	frag_put_capacity(fit->smallest, to->f);
	frag_put_capacity(is_beyond(x->recordings, x->at[one->source]) ? NONE : fit->reliable,
			  to->f);
	putc('\n', to->f);
}

static void print_point(const struct frag_extrapolation *x, uint32_t at,
			const struct frag_text_style *to, int width)
{
	struct frag_words w = WORDS(WORDS_ROOM);

	if (x->total)
		frag_add(&w, " on %s", DEVICE(x->total));
	frag_add(&w, "%s: peak requested %s", frag_ink(to, INK_PLAIN),
		 SIZE(frag_fits_requested(&x->fits, at)));
	if (x->unexplained[at])
		frag_add(&w, "; %" PRIu64 " size%s estimated", x->unexplained[at],
			 frag_s(x->unexplained[at]));
	fprintf(to->f, "\n%sat %" PRIu32 "%s\n%*s%-*s  %11s  %11s  %11s\n", frag_ink(to, INK_BOLD),
		x->at[at], w.text, x->total ? STATUS : 0, "", width, "setting", "reserved",
		"smallest", "reliable");
	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at)
			extrapolate_print_row(x, &x->fits.fitted[i], to, width);
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
		      const struct frag_text_style *to)
{
	const struct frag_reach *reach = &x->reaches[choice];
	char head[FRAG_FIT_NAME_ROOM], text[WORDS_ROOM];
	uint32_t holes = 0;

	frag_format_printable(head, sizeof(head), "  %s: ", frag_choice_label(&x->choices[choice]));
	for (uint32_t i = 0; i < reach->count && reach->largest != FRAG_NO_NUMBER; i++) {
		const struct frag_reach_part *part = &reach->map[i];
		struct frag_words w = FRAG_WORDS(text);

		if (part->fits || part->from > reach->largest || ++holes > PARTS_MAX)
			continue;
		frag_add(&w, "%" PRIu32, part->from);
		if (part->from != part->to)
			frag_add(&w, " to %" PRIu32, part->to);
		frag_add(&w, " do%s not fit, though larger ones do",
			 part->from == part->to ? "es" : "");
		frag_put_wrapped(to, head, text);
	}
	if (holes > PARTS_MAX) {
		snprintf(text, sizeof(text), "and %" PRIu32 " more such ranges",
			 holes - PARTS_MAX);
		frag_put_wrapped(to, head, text);
	}
}

/* The numbers that were simulated, and the reason for the last. */
static void print_tried(const struct frag_extrapolation *x, const struct frag_text_style *to)
{
	const uint32_t last = x->tried ? frag_tried_last(x) : 0;
	const bool to_bound = x->bound != FRAG_NO_NUMBER
			      && (!x->tried || last + x->stride > x->bound);
	struct frag_words w = WORDS(WORDS_ROOM);

	if (!x->tried)
		frag_add(&w, "no number was simulated");
	else if (x->stride > 1)
		frag_add(&w, "%" PRIu32 " to %" PRIu32 " in steps of %" PRIu32, x->first, last,
			 x->stride);
	else
		frag_add(&w, "all from %" PRIu32 " to %" PRIu32, x->first, last);
	if (x->bound != FRAG_NO_NUMBER)
		frag_add(&w, "; above %" PRIu32 " the peak requested exceeds the device", x->bound);
	if (x->tried && !to_bound && (!x->up_to || last + x->stride <= x->up_to))
		frag_add(&w, "; larger ones may fit: --step, --up-to or --runs reaches further");
	frag_put_row(to, "tried", "%s", w.text);
}

static void print_reach(const struct frag_extrapolation *x, const struct frag_text_style *to,
			int width)
{
	putc('\n', to->f);
	print_tried(x, to);
	fprintf(to->f, "%-*s  %11s  %11s\n", width, "setting", "largest", "reliable");
	for (uint32_t i = 0; i < x->choice_count; i++) {
		const uint32_t reliable = x->reaches[i].reliable;

		frag_put_name(frag_choice_label(&x->choices[i]), width, 0, to->f);
		print_number(x->reaches[i].largest, to->f);
		print_number(is_beyond(x->recordings, reliable) ? FRAG_NO_NUMBER : reliable, to->f);
		putc('\n', to->f);
	}
	for (uint32_t i = 0; i < x->choice_count; i++)
		print_map(x, i, to);
}

static void extrapolate_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_extrapolate_answer *a = what;
	const struct frag_extrapolation *x = a->found;
	const int width = name_width(x, to);

	extrapolate_print_verdict(x, to);
	if (a->interrupted)
		frag_put_stopped(to, a->time_up);
	print_recordings(a, to);
	frag_put_growth(to, a->traces, x->recordings->count);
	frag_put_context(to, x->total, x->devices->context, true);
	print_odd(x, to);
	for (uint32_t i = 0; i < x->at_count && x->fits.count; i++)
		print_point(x, i, to, width);
	if (x->reaches)
		print_reach(x, to, width);
}

static const struct frag_column columns[] = {
	{ "at", NULL, FRAG_CELL_COUNT },
	{ "policy", NULL, FRAG_CELL_TEXT },
	{ "alloc_conf", NULL, FRAG_CELL_TEXT },
	{ "device", NULL, FRAG_CELL_COUNT },
	{ "unexplained", NULL, FRAG_CELL_COUNT },
	{ "requested", NULL, FRAG_CELL_SIZE },
	{ "reserved", NULL, FRAG_CELL_CAPACITY },
	{ "lower_bound", NULL, FRAG_CELL_CAPACITY },
	{ "smallest", NULL, FRAG_CELL_CAPACITY },
	{ "reliable", NULL, FRAG_CELL_CAPACITY },
	{ "failing_ranges", NULL, FRAG_CELL_COUNT },
	{ "static_room", NULL, FRAG_CELL_CAPACITY },
	{ "fits", NULL, FRAG_CELL_WORD },
	{ 0 },
}, points[] = {
	{ NULL, "at", FRAG_CELL_COUNT },
	{ NULL, "setting", FRAG_CELL_TEXT },
	{ NULL, "requested", FRAG_CELL_SIZE },
	{ NULL, "reserved", FRAG_CELL_CAPACITY },
	{ NULL, "smallest", FRAG_CELL_CAPACITY },
	{ NULL, "reliable", FRAG_CELL_CAPACITY },
	{ 0 }, { 0 },
};

static void put_choice(struct frag_table *t, uint32_t number, const struct frag_choice *choice)
{
	frag_cell(t, true, number);
	frag_cell_text(t, choice->text);
	frag_cell_text(t, CONF(choice));
}

static void put_fitted(struct frag_table *t, const struct frag_extrapolation *x,
		       const struct frag_fitted *one)
{
	const struct frag_fit *fit = &one->fit;
	const bool tried = x->total && fit->runs;

	put_choice(t, x->at[one->source], &x->choices[one->choice]);
	frag_cell(t, true, one->device);
	frag_cell(t, true, x->unexplained[one->source]);
	frag_cell(t, true, one->unlimited.peak_requested);
	frag_cell(t, one->unlimited.fits, one->unlimited.peak_reserved);
	frag_cell(t, true, fit->lower_bound);
	frag_cell_bytes(t, fit->smallest);
	frag_cell_bytes(t, fit->reliable);
	frag_cell(t, true, fit->failing_count);
	frag_cell_bytes(t, fit->headroom);
	frag_cell_text(t, !tried ? NULL : fit->headroom == UINT64_MAX ? "false" : "true");
}

/* Each simulated number is a row, also within a range of equal results. */
static void put_reach(struct frag_table *t, const struct frag_extrapolation *x, uint32_t choice)
{
	const struct frag_reach_part *part = x->reaches[choice].map;

	for (uint32_t i = 0; i < x->reaches[choice].count; i++, part++)
		for (uint32_t k = 0; k <= (part->to - part->from) / x->stride; k++) {
			put_choice(t, part->from + k * x->stride, &x->choices[choice]);
			for (uint32_t none = 0; none < 9; none++)
				frag_cell_none(t);
			frag_cell_text(t, part->fits ? "true" : "false");
		}
}

static void fill_csv(struct frag_table *t, const void *what)
{
	const struct frag_extrapolation *x = ((const struct frag_extrapolate_answer *)what)->found;

	for (uint32_t i = 0; i < x->fits.count; i++)
		put_fitted(t, x, &x->fits.fitted[i]);
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		put_reach(t, x, i);
}

/* The Markdown table of all numbers, a row for each number and setting. */
static void fill_points(const struct frag_extrapolation *x, FILE *f)
{
	struct frag_column own[sizeof(points) / sizeof(points[0])];
	struct frag_table t;

	memcpy(own, points, sizeof(own));
	if (x->total)
		own[6] = (struct frag_column){ NULL, "fits", FRAG_CELL_WORD };
	frag_table_begin(&t, own, false, f);
	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fitted *one = &x->fits.fitted[i];

		frag_cell(&t, true, x->at[one->source]);
		frag_cell_text(&t, FIT_NAME(&x->fits, one));
		frag_cell(&t, true, one->unlimited.peak_requested);
		frag_cell_bytes(&t, one->unlimited.fits ? one->unlimited.peak_reserved
			    : UINT64_MAX);
		frag_cell_bytes(&t, one->fit.smallest);
		frag_cell_bytes(&t, one->fit.reliable);
		if (x->total)
			frag_cell_text(&t, !one->fit.runs ? "-"
				       : one->fit.headroom == UINT64_MAX ? "no" : "yes");
	}
}

/* Two tables: the points, and how far each setting reaches on the device. */
static void print_markdown(const void *what, const struct frag_text_style *to)
{
	const struct frag_extrapolation *x = ((const struct frag_extrapolate_answer *)what)->found;
	char largest[FRAG_NUMBER_ROOM + 20];
	const struct frag_column reaches[] = {
		{ NULL, "setting", FRAG_CELL_TEXT }, { NULL, largest, FRAG_CELL_COUNT },
		{ NULL, "all fit up to", FRAG_CELL_COUNT }, { 0 },
	};
	struct frag_table t;

	if (x->fits.count)
		fill_points(x, to->f);
	if (!x->reaches)
		return;
	fputs(x->fits.count ? "\n" : "", to->f);
	snprintf(largest, sizeof(largest), "largest on %s", DEVICE(x->total));
	frag_table_begin(&t, reaches, false, to->f);
	for (uint32_t i = 0; i < x->choice_count; i++) {
		frag_cell_text(&t, frag_choice_label(&x->choices[i]));
		frag_cell(&t, x->reaches[i].largest != FRAG_NO_NUMBER, x->reaches[i].largest);
		frag_cell(&t, x->reaches[i].reliable != FRAG_NO_NUMBER, x->reaches[i].reliable);
	}
}

static void put_odd(struct frag_node_ref root, const struct frag_extrapolation *x)
{
	const uint32_t shown = x->odd_tags < FRAG_ODD_MAX ? x->odd_tags : FRAG_ODD_MAX;
	const struct frag_recordings *r = x->recordings;
	struct frag_node_ref o = frag_json_object(root, "unexplained"), list, tag, sizes;

	frag_json_u64(o, "count", x->odd_allocs);
	frag_json_u64(o, "tag_count", x->odd_tags);
	list = frag_json_array(o, "tags");
	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_odd *odd = &x->odd[i];

		tag = frag_json_object(list, NULL);
		frag_json_words(tag, "tag", odd->tag.text, odd->tag.length);
		frag_json_u64(tag, "count", odd->allocs);
		frag_json_u64(tag, "step", odd->step);
		sizes = frag_json_array(tag, "sizes");
		for (uint32_t k = 0; k < r->count; k++)
			frag_json_u64(sizes, NULL, odd->sizes->at[r->of[k].rank]);
	}
}

static void extrapolate_put_fit(struct frag_node_ref list, const struct frag_extrapolation *x,
				const struct frag_fitted *one)
{
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_fit_members(o, &x->fits, one, false);
	frag_fit_unlimited_members(o, &x->fits, one);
	if (x->total && one->fit.runs)
		frag_json_bool(o, "fits", one->fit.headroom != NONE);
	else
		frag_json_null(o, "fits");
}

static void put_point(struct frag_node_ref list, const struct frag_extrapolation *x, uint32_t at)
{
	const struct frag_claim claim = extrapolate_claim(x, at);
	struct frag_node_ref o = frag_json_object(list, NULL), fits;

	frag_json_u64(o, "at", x->at[at]);
	frag_json_u64(o, "unexplained", x->unexplained[at]);
	frag_json_u64(o, "requested", frag_fits_requested(&x->fits, at));
	frag_document_claim(o, &claim);
	fits = frag_json_array(o, "fits");
	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == at)
			extrapolate_put_fit(fits, x, &x->fits.fitted[i]);
}

static void put_part_status(struct frag_node_ref o, const void *of)
{
	const struct frag_reach_part *part = of;

	frag_json_text(o, "status", frag_run_status_name(part->fits ? FRAG_RUN_OK
							 : FRAG_RUN_OOM));
}

static void json_put_reach(struct frag_node_ref list, const struct frag_extrapolation *x,
			   uint32_t choice)
{
	static const struct frag_json_row rows[] = {
		ROW_MAX("largest", reach, largest), ROW_MAX("reliable", reach, reliable), ROW_END,
	}, tried_rows[] = {
		ROW_MAX("bound", extrapolation, bound), ROW(extrapolation, stride), ROW_END,
	}, part_rows[] = {
		ROW(reach_part, from), ROW(reach_part, to), ROW_CALL(put_part_status), ROW_END,
	};
	const struct frag_reach *reach = &x->reaches[choice];
	struct frag_node_ref o = frag_json_object(list, NULL);

	frag_document_choice(o, &x->choices[choice]);
	frag_json_rows(o, rows, reach);
	frag_json_u64(o, "from", x->first);
	frag_json_u64_or_null(o, "examined_to", x->tried, x->tried ? frag_tried_last(x) : 0);
	frag_json_rows(o, tried_rows, x);
	FRAG_JSON_LIST(o, "map", part_rows, reach->map, reach->count);
}

static void extrapolate_document(struct frag_node_ref root, const void *what)
{
	static const char *const growths[] = { "constant", "linear", "quadratic", "other" };
	const struct frag_extrapolate_answer *answer = what;
	const struct frag_extrapolation *x = answer->found;
	const struct frag_recordings *r = x->recordings;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->interrupted);
	list = frag_json_array(root, "traces");
	for (uint32_t i = 0; i < r->count; i++)
		frag_json_u64(frag_document_trace(list, NULL, answer->traces[i]), "at",
			      r->of[i].number);
	frag_document_scopes(root, answer->traces, r->count);
	list = frag_json_object(root, "sizes");
	for (uint32_t i = 0; i <= FRAG_UNEXPLAINED; i++)
		frag_json_u64(list, growths[i], allocs_of(r, (enum frag_growth)i));
	put_odd(root, x);
	frag_json_text(root, "bound", frag_bound_name(frag_scope_part(x->scope)));
	frag_json_text(root, "doubt", is_doubtful(r) ? DOUBT : NULL);
	frag_json_u64_or_null(root, "device_bytes", x->total != 0, x->total);
	list = frag_json_array(root, "points");
	for (uint32_t i = 0; i < x->at_count; i++)
		put_point(list, x, i);
	list = frag_json_array(root, "largest");
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		json_put_reach(list, x, i);
}

const struct frag_format *const frag_extrapolate_formats[] = {
	FRAG_TEXT_FORM("text", extrapolate_print), FRAG_ROWS_FORM("csv", columns, fill_csv),
	FRAG_JSON_FORM("extrapolate", extrapolate_document),
	FRAG_TEXT_FORM("markdown", print_markdown), NULL,
};
