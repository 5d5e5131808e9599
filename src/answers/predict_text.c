/* predict_text.c - what fragsim predict found, for people. */
#include "answers/predict_answer.h"

#include "answers/answers.h"

#define NAME_MIN 8
#define FIGURES 53              /* columns after the name */
#define PARTS_MAX 4             /* of a map that are named */
#define STATUS 6                /* columns of "fits" or "OOM" */
#define WORDS_ROOM 500
#define NONE UINT64_MAX
#define LASTING_SHARE 50        /* of the blocks: fewer insertions are kernels that work otherwise */

static int name_width(const struct frag_predicted *x, const struct frag_text_style *to)
{
	size_t width = 0;

	for (uint32_t i = 0; i < x->fits.count; i++)
		frag_note_longest(&width, FIT_NAME(&x->fits, &x->fits.fitted[i]));
	for (uint32_t i = 0; x->reaches && i < x->choice_count; i++)
		frag_note_longest(&width, frag_choice_label(&x->choices[i]));
	return frag_name_column(width, NAME_MIN, FIGURES, to->columns);
}

uint64_t frag_predict_allocs(const struct frag_recordings *r, enum frag_growth growth)
{
	uint64_t allocs = 0;

	for (uint32_t i = 0; i < r->size_count; i++)
		allocs += r->sizes[i].growth == growth ? r->sizes[i].allocs : 0;
	return allocs;
}

/* "+12.3 %", or nothing where one of the two is unknown. */
const char *frag_predict_shift(char buf[FRAG_SHIFT_ROOM], uint64_t before, uint64_t after)
{
	*buf = '\0';
	if (before && before != NONE && after != NONE)
		frag_snprintf(buf, FRAG_SHIFT_ROOM, "%+.1f %%",
			      ((double)after - (double)before) / (double)before * 100);
	return buf;
}

/* The same setting and device of the recorded trace; NULL: nothing recorded was simulated. */
const struct frag_fitted *frag_predict_recorded(const struct frag_predicted *x,
					     const struct frag_fitted *one)
{
	return !x->recordings && one->source ? one - x->fits.count / 2 : NULL;
}

/* How sure ---------------------------------------------------------------------- */

/* Is a size taken to be linear that grows faster than the number, as attention does? */
static bool is_steep(const struct frag_predicted *x)
{
	const struct frag_recordings *r = x->recordings;

	for (uint32_t i = 0; r && i < r->size_count; i++)
		if (r->sizes[i].steep)
			return true;
	return false;
}

uint64_t frag_predict_margin(const struct frag_predicted *x)
{
	uint64_t margin = 0;

	for (uint32_t i = 0; i < x->source_count && x->margins; i++)
		margin = x->margins[i] > margin ? x->margins[i] : margin;
	return margin;
}

/* Does so little correspond that they may be of different programs? */
static bool is_far(const struct frag_predicted *x)
{
	const struct frag_recordings *r = x->recordings;

	return r && r->aligned && 5 * (uint64_t)r->paired < 4 * ((uint64_t)r->alloc_count - r->workspaces);
}

/* Is a recording there twice? */
static bool has_twin(const struct frag_predict_answer *a)
{
	for (uint32_t i = 0; a->found->recordings && i < a->trace_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (a->traces[i]->content == a->traces[k]->content)
				return true;
	return false;
}

static bool is_constant(const struct frag_predicted *x)
{
	const struct frag_recordings *r = x->recordings;

	for (uint32_t i = 0; r && i < r->size_count; i++)
		if (r->sizes[i].growth != FRAG_CONSTANT)
			return false;
	return r && r->size_count;
}

/* The i-th sentence about recordings that say nothing, or are perhaps of different programs. */
static bool doubt_of_recordings(const struct frag_predict_answer *a, uint32_t *i, struct frag_words *w)
{
	const struct frag_predicted *x = a->found;
	const struct frag_recordings *r = x->recordings;

	if (has_twin(a) && (*i)-- == 0) {
		frag_add(w, "two recordings have the same events: perhaps one file under two numbers");
		return true;
	}
	if (is_constant(x) && !has_twin(a) && (*i)-- == 0) {
		frag_add(w, "no size grows with the number: perhaps it does not reach the program, or these"
			 " are recordings at one number");
		return true;
	}
	if (r && LASTING_SHARE * (uint64_t)r->lasting > r->alloc_count && (*i)-- == 0) {
		const struct frag_text tag = r->lasting_tag;

		frag_add(w, "%" PRIu32 " inserted block%s outlive%s an operation%s%.*s: perhaps these are"
			 " different programs", r->lasting, frag_s(r->lasting), r->lasting == 1 ? "s" : "",
			 tag.length ? ", first of " : "", tag.length < 100 ? (int)tag.length : 100,
			 tag.text ? tag.text : "");
		return true;
	}
	if (is_far(x) && (*i)-- == 0) {
		frag_add(w, "only %.0f %% of the allocations are in all recordings: perhaps these are"
			 " different programs", 100.0 * r->paired / r->alloc_count);
		return true;
	}
	return false;
}

bool frag_predict_doubt_at(const void *of, uint32_t i, void *element)
{
	const struct frag_predicted *x = ((const struct frag_predict_answer *)of)->found;
	struct frag_predict_doubt *to = element;
	struct frag_words w = { .text = to->words, .size = sizeof(to->words) };

	to->text = to->words;
	if (is_steep(x) && i-- == 0) {
		frag_add(&w, "sizes grow faster than the number, and two recordings do not show how:"
			 " larger numbers may require more; record a third number");
		return true;
	}
	if (doubt_of_recordings(of, &i, &w))
		return true;
	if (frag_predict_margin(x) && x->sums && i-- == 0) {
		frag_add(&w, "sums over 1024 rows and more may take workspaces, and the recordings have fewer"
			 " rows: up to %s are counted", CAPACITY(frag_predict_margin(x)));
		return true;
	}
	if (x->rows_unknown && i-- == 0) {
		frag_add(&w, "gradients of an embedding may be sorted, as over 3073 rows and more, and nothing"
			 " shows the number of rows: the sort is counted");
		return true;
	}
	if (x->unknown && i-- == 0) {
		frag_add(&w, "%s of blocks at most have no known class and stay unchanged",
			 SIZE(x->unknown));
		return true;
	}
	if (x->scaled && i-- == 0) {
		frag_add(&w, "from some sizes on kernels take other workspaces, which one recording does not"
			 " show; two at different numbers do");
		return true;
	}
	if (x->dropped && i == 0) {
		frag_add(&w, "copies and recomputed blocks are not added: the program with that change requires"
			 " at least this");
		return true;
	}
	return false;
}

static void print_doubts(const struct frag_predict_answer *a, const struct frag_text_style *to)
{
	struct frag_predict_doubt doubt;

	for (uint32_t i = 0; frag_predict_doubt_at(a, i, &doubt); i++)
		frag_put_row(to, "doubt", "%s", doubt.text);
}

/* What was recorded: the recordings, and how their sizes grow; or the trace, and its changes. */
static void print_recorded(const struct frag_predict_answer *a, const struct frag_text_style *to)
{
	const struct frag_recordings *r = a->found->recordings;
	struct frag_words w = WORDS(FRAG_PRINTABLE_ROOM + WORDS_ROOM), m = WORDS(100);

	for (uint32_t i = 0; i < a->trace_count; i++) {
		frag_add_item(&w, ", ", "%.800s", SHOWN(frag_input_name(a->traces[i]->path)));
		if (r)
			frag_add(&w, " at %" PRIu32, r->of[i].number);
	}
	if (r && r->aligned)
		frag_put_row(to, "recorded", "%s: %" PRIu32 " of %" PRIu32 " allocations are in all, %"
			     PRIu32 " inserted", w.text, r->paired, r->alloc_count, r->inserted);
	else
		frag_put_row(to, "recorded", "%s: %s%" PRIu64 " event%s", w.text, r ? "the same " : "",
			     a->traces[0]->events, frag_s(a->traces[0]->events));
	for (uint32_t i = 0; i < a->change_count; i++)
		frag_put_row(to, i ? "" : "changed", "%s", SHOWN(a->changes[i]));
	if (!r)
		return;
	if (r->matched)
		frag_put_row(to, "matched", "%" PRIu32 " blocks from before the history, by size and"
			     " by the events that use them", r->initial);
	if (frag_predict_allocs(r, FRAG_QUADRATIC))
		frag_add(&m, ", %" PRIu64 " quadratic", frag_predict_allocs(r, FRAG_QUADRATIC));
	if (frag_predict_allocs(r, FRAG_UNEXPLAINED))
		frag_add(&m, ", %" PRIu64 " neither", frag_predict_allocs(r, FRAG_UNEXPLAINED));
	frag_put_row(to, "sizes", "of %" PRIu32 " allocation%s: %" PRIu64 " constant, %" PRIu64
		     " linear%s", r->alloc_count, frag_s(r->alloc_count),
		     frag_predict_allocs(r, FRAG_CONSTANT), frag_predict_allocs(r, FRAG_LINEAR), m.text);
}

/* What is predicted --------------------------------------------------------------- */

/* The device that a setting needs: the one from which on all fit. NONE: it is not known. */
uint64_t frag_predict_device(const struct frag_fit *fit)
{
	return fit->reliable != NONE ? fit->reliable : fit->at_most;
}

/* The highest of the trace's devices; NONE: one of them has none, or was not searched. */
static uint64_t named_of(const struct frag_predicted *x, uint32_t source, uint32_t choice,
			 bool *fits)
{
	uint64_t bytes = 0;

	*fits = false;
	for (uint32_t i = 0; i < x->fits.count; i++) {
		const struct frag_fitted *one = &x->fits.fitted[i];

		if (one->source != source || one->choice != choice)
			continue;
		*fits = one->fit.headroom != NONE && (!bytes || *fits);
		bytes = frag_predict_device(&one->fit) > bytes ? frag_predict_device(&one->fit) : bytes;
	}
	return bytes ? bytes : NONE;
}

/* What a setting proves of a source: of all devices. */
static struct frag_claim claim_of(const struct frag_predicted *x, uint32_t source, uint32_t choice)
{
	struct frag_claim claim = { .part = frag_scope_part(x->scope) };

	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == source && x->fits.fitted[i].choice == choice)
			frag_claim_all(&claim, &x->fits.fitted[i].claim);
	return claim;
}

/* The smallest of the settings of the first policy. */
struct frag_claim frag_predict_claim(const struct frag_predicted *x, uint32_t source)
{
	struct frag_claim claim = claim_of(x, source, 0);

	for (uint32_t i = 1; i < x->choice_count; i++) {
		const struct frag_claim other = claim_of(x, source, i);

		if (x->choices[i].ops == x->choices[0].ops)
			frag_claim_any(&claim, &other);
	}
	return claim;
}

/* "6744 MiB with the default settings (-12.8 %)" */
static void add_device(struct frag_words *w, const struct frag_predicted *x, uint32_t source,
		       uint32_t choice)
{
	bool fits;
	const uint64_t bytes = named_of(x, source, choice, &fits);
	char shift[FRAG_SHIFT_ROOM] = "";

	frag_add(w, "%s with %.200s", bytes == NONE ? "unknown" : CAPACITY(bytes),
		 frag_setting_words(&x->choices[choice]));
	if (!x->recordings && *frag_predict_shift(shift, named_of(x, 0, choice, &fits), bytes))
		frag_add(w, " (%s)", shift);
}

/* "AT 16: device of 4272 MiB with expandable_segments:True, 4342 MiB with the default settings" */
static void put_prediction(const struct frag_predicted *x, uint32_t source,
			   const struct frag_text_style *to)
{
	const bool whole = frag_scope_part(x->scope) == FRAG_PART_WHOLE;
	uint64_t least = NONE, bytes;
	uint32_t best = 0;
	bool fits, any = false;
	struct frag_words w = WORDS(2 * WORDS_ROOM);

	for (uint32_t i = 0; i < x->choice_count; i++) {
		bytes = named_of(x, source, i, &fits);
		if (bytes < least && x->choices[i].ops == x->choices[0].ops) {
			least = bytes;
			best = i;
		}
		any |= fits;
	}
	if (x->total)
		frag_add(&w, "%s ", !any ? "OOM" : whole ? "FITS" : "THE RECORDED PART FITS");
	if (x->recordings)
		frag_add(&w, "AT %" PRIu32, x->at[source]);
	else
		frag_add(&w, "CHANGED");
	frag_add(&w, "%s%s: ", x->total ? " on " : "", x->total ? DEVICE(x->total) : "");
	if (least == NONE) {
		frag_add(&w, "no device is known to fit");
	} else if (!whole) {
		frag_add(&w, "at least ");
		frag_add_at_least(&w, frag_predict_claim(x, source).at_least,
				  claim_of(x, source, 0).at_least, &x->choices[0]);
		frag_add_claim(&w, x->scope, CAPACITY(least));
	} else {
		frag_add(&w, "device of ");
		add_device(&w, x, source, best);
		frag_add(&w, "%s", best ? ", " : "");
		if (best)
			add_device(&w, x, source, 0);
	}
	frag_put_wrapped(to, "", w.text);
}

/* Line 1: the largest number, or the device of each prediction. */
static void print_verdict(const struct frag_predicted *x, const struct frag_text_style *to)
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
	for (uint32_t i = 0; i < x->source_count && x->fits.count; i++)
		if (!frag_predicted_is_recorded(x, i))
			put_prediction(x, i, to);
	fputs(frag_ink(to, INK_PLAIN), to->f);
}

/* "conv.py:12: 8 allocations, that of step 40 with 8.00 MiB at 2, 9.00 MiB at 4" */
static void print_tag(const struct frag_recordings *r, const struct frag_odd *odd,
		      const struct frag_text_style *to)
{
	const size_t length = odd->tag.length < 200 ? odd->tag.length : 200;
	char text[WORDS_ROOM];
	struct frag_words w = { .text = text, .size = sizeof(text) };

	frag_format_printable(text, sizeof(text), "%.*s: %" PRIu64 " allocation%s, that of event %"
			      PRIu64 " with", odd->tag.text ? (int)length : 8,
			      odd->tag.text ? odd->tag.text : "(no tag)", odd->allocs,
			      frag_s(odd->allocs), odd->step);
	w.used = strlen(text);
	for (uint32_t i = 0; i < r->count; i++) {
		const uint64_t size = odd->sizes->at[r->of[i].rank];

		frag_add(&w, "%s %s at %" PRIu32, i ? "," : "", size == FRAG_NO_SIZE ? "none"
			 : SIZE(size), r->of[i].number);
	}
	frag_put_wrapped(to, "    ", text);
}

static void print_odd(const struct frag_predicted *x, const struct frag_text_style *to)
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

static void print_fit(const struct frag_predicted *x, const struct frag_fitted *one,
		      const struct frag_text_style *to, int width)
{
	const struct frag_fitted *before = frag_predict_recorded(x, one);
	const struct frag_fit *fit = &one->fit;
	const bool fits = fit->headroom != NONE;
	char shift[FRAG_SHIFT_ROOM];

	if (x->total && !fit->runs)
		fprintf(to->f, "%-*s", STATUS, "-");
	else if (x->total)
		fprintf(to->f, "%s%-*s%s", frag_ink(to, fits ? INK_GREEN : INK_RED), STATUS,
			fits ? "fits" : "OOM", frag_ink(to, INK_PLAIN));
	frag_put_name(FIT_NAME(&x->fits, one), width, x->total ? STATUS : 0, to->f);
	frag_put_capacity(one->unlimited.fits ? one->unlimited.peak_reserved : NONE, to->f);
	frag_put_capacity(fit->smallest, to->f);
	frag_put_capacity(fit->reliable, to->f);
	if (fit->smallest == NONE)
		fprintf(to->f, "  %12s", "-");
	else
		fprintf(to->f, "  %12" PRIu64, fit->at_smallest.calls);
	if (fit->at_smallest.driver_ns && fit->smallest != NONE)
		frag_fprintf(to->f, "  %7.1f ms", (double)fit->at_smallest.driver_ns / 1e6);
	if (before && *frag_predict_shift(shift, frag_predict_device(&before->fit), frag_predict_device(fit)))
		fprintf(to->f, "  %8s", shift);
	putc('\n', to->f);
	if (fit->smallest == NONE && fit->at_most != NONE)
		frag_put_row(to, "at most", "%s requires at most %s", FIT_NAME(&x->fits, one),
			     CAPACITY(fit->at_most));
}

uint64_t frag_predict_events(const struct frag_predicted *x, uint32_t source)
{
	const struct frag_tape *tape = x->sources ? x->sources[source].tape : NULL;

	return tape ? frag_tape_info(tape)->events : 0;
}

/* One trace, under each setting. */
static void print_source(const struct frag_predicted *x, uint32_t source,
			 const struct frag_text_style *to, int width)
{
	const bool recorded = frag_predicted_is_recorded(x, source);
	const uint64_t requested = frag_fits_requested(&x->fits, source);
	struct frag_words w = WORDS(WORDS_ROOM);
	char shift[FRAG_SHIFT_ROOM] = "";

	if (x->recordings)
		frag_add(&w, "at %" PRIu32, x->at[source]);
	else
		frag_add(&w, "%s", recorded ? "as recorded" : "changed");
	if (x->total)
		frag_add(&w, " on %s", DEVICE(x->total));
	frag_add(&w, "%s: %" PRIu64 " event%s, peak requested %s", frag_ink(to, INK_PLAIN),
		 frag_predict_events(x, source), frag_s(frag_predict_events(x, source)), SIZE(requested));
	if (!x->recordings && !recorded
	    && *frag_predict_shift(shift, frag_fits_requested(&x->fits, 0), requested))
		frag_add(&w, " (%s)", shift);
	if (x->unexplained[source])
		frag_add(&w, "; %" PRIu64 " size%s estimated", x->unexplained[source],
			 frag_s(x->unexplained[source]));
	fprintf(to->f, "\n%s%s\n%*s%-*s  %11s  %11s  %11s  %12s%s%s\n", frag_ink(to, INK_BOLD),
		w.text, x->total ? STATUS : 0, "", width, "setting", "reserved", "smallest",
		"reliable", "driver calls", x->model ? "        time" : "",
		x->recordings || recorded ? "" : "    change");
	for (uint32_t i = 0; i < x->fits.count; i++)
		if (x->fits.fitted[i].source == source)
			print_fit(x, &x->fits.fitted[i], to, width);
}

static void print_number(uint32_t number, FILE *f)
{
	if (number == FRAG_NO_NUMBER)
		fprintf(f, "  %11s", "-");
	else
		fprintf(f, "  %11" PRIu32, number);
}

/* Where it is not simply all up to one number. */
static void print_map(const struct frag_predicted *x, uint32_t choice,
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
static void print_tried(const struct frag_predicted *x, const struct frag_text_style *to)
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

static void print_reach(const struct frag_predicted *x, const struct frag_text_style *to,
			int width)
{
	putc('\n', to->f);
	print_tried(x, to);
	fprintf(to->f, "%-*s  %11s  %11s\n", width, "setting", "largest", "reliable");
	for (uint32_t i = 0; i < x->choice_count; i++) {
		frag_put_name(frag_choice_label(&x->choices[i]), width, 0, to->f);
		print_number(x->reaches[i].largest, to->f);
		print_number(x->reaches[i].reliable, to->f);
		putc('\n', to->f);
	}
	for (uint32_t i = 0; i < x->choice_count; i++)
		print_map(x, i, to);
}

/* Which size of the first block of each private pool lowers the peak most. */
static void print_primed(const struct frag_prime_search *s, const struct frag_text_style *to, int width)
{
	struct frag_words w = WORDS(WORDS_ROOM);

	frag_add(&w, "blocks up to %s in steps of %s", CAPACITY(s->last), CAPACITY(FRAG_PRIME_STEP));
	if (s->last < s->bound)
		frag_add(&w, "; larger ones may lower the peak further: --runs or --time reaches further");
	else
		frag_add(&w, "; larger ones cannot lower the peak");
	putc('\n', to->f);
	frag_put_row(to, "tried", "%s", w.text);
	fprintf(to->f, "%-*s  %11s  %11s  %11s    change\n", width, "setting", "no block", "reserved",
		"best block");
	for (uint32_t i = 0; i < s->choice_count; i++) {
		const struct frag_primed *one = &s->of[i];
		char shift[FRAG_SHIFT_ROOM];

		frag_put_name(frag_choice_label(&s->choices[i]), width, 0, to->f);
		frag_put_capacity(one->without, to->f);
		frag_put_capacity(one->reserved, to->f);
		if (one->bytes)
			frag_put_capacity(one->bytes, to->f);
		else
			fprintf(to->f, "  %11s", "none");
		fprintf(to->f, "  %8s\n", frag_predict_shift(shift, one->without, one->reserved));
	}
}

void frag_predict_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_predict_answer *a = what;
	const struct frag_predicted *x = a->found;
	const int width = name_width(x, to);

	print_verdict(x, to);
	if (a->interrupted)
		frag_put_stopped(to, a->time_up);
	print_recorded(a, to);
	frag_put_growth(to, a->traces, a->trace_count);
	frag_put_context(to, x->total, x->devices->context, true);
	frag_put_evidence(to, x->choices, x->recordings ? "sizes as the recordings grow"
			  : "hypothetical: no program ran like this");
	print_doubts(a, to);
	print_odd(x, to);
	for (uint32_t i = 0; i < x->source_count && x->fits.count; i++)
		print_source(x, i, to, width);
	if (x->reaches)
		print_reach(x, to, width);
	if (x->prime.of)
		print_primed(&x->prime, to, width);
}
