/* fit_answer.c - what fragsim fit found, in every form: for people, as rows, as a document. */
#include "answers/fit_answer.h"

#include <math.h>

#include "answers/answers.h"

static bool many_devices(const struct frag_fits *fits)
{
	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].device != fits->fitted[0].device)
			return true;
	return false;
}

const char *frag_fit_name(const struct frag_fits *fits, const struct frag_fitted *one,
			  char buf[FRAG_FIT_NAME_ROOM])
{
	const struct frag_choice *choice = &fits->sources[one->source].choices[one->choice];

	if (many_devices(fits))
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s @%u", frag_choice_label(choice),
				      one->device);
	else
		frag_format_printable(buf, FRAG_FIT_NAME_ROOM, "%s", frag_choice_label(choice));
	return buf;
}

uint64_t frag_fits_requested(const struct frag_fits *fits, uint32_t source)
{
	uint64_t requested = 0;

	for (uint32_t i = 0; i < fits->count; i++)
		if (fits->fitted[i].source == source
		    && fits->fitted[i].unlimited.peak_requested > requested)
			requested = fits->fitted[i].unlimited.peak_requested;
	return requested;
}

#define NAME_MIN 8
#define FIGURES 69              /* columns after the name */
#define RANGES_SHOWN 4          /* failing ranges that are listed; of more the last is */
#define RANGES_ROOM 600
#define NONE UINT64_MAX
#define PHRASE_ROOM (FRAG_FIT_NAME_ROOM + 80)

static bool is_shown(const struct frag_fit_answer *a, const struct frag_fitted *one)
{
	const struct frag_choice *choices = a->fits->sources[one->source].choices;

	return one->choice < a->given && (!a->usual || choices[one->choice].ops == choices[0].ops);
}

static int name_width(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	size_t width = 0;

	for (uint32_t i = 0; i < a->fits->count; i++)
		if (is_shown(a, &a->fits->fitted[i]))
			frag_note_longest(&width, FIT_NAME(a->fits, &a->fits->fitted[i]));
	return frag_name_column(width, NAME_MIN, FIGURES, to->columns);
}

/* A row for each of these that is shown; of joint ones there is no run. */
static void fit_print_table(const struct frag_fit_answer *a, const struct frag_fitted *list,
			    uint32_t count, bool joint, const struct frag_text_style *to)
{
	const int width = name_width(a, to);

	fprintf(to->f, "%-*s  %11s  %11s%s\n", width, "setting", "smallest", "reliable",
		joint ? "" : "  above bound  driver calls  retries");
	for (uint32_t i = 0; i < count; i++) {
		const struct frag_fitted *one = &list[i];
		const struct frag_fit *fit = &one->fit;
		const bool good = joint || fit->smallest != NONE;

		if (!is_shown(a, one))
			continue;
		frag_put_name(FIT_NAME(a->fits, one), width, 0, to->f);
		fputs(good ? "" : frag_ink(to, INK_RED), to->f);
		frag_put_capacity(fit->smallest, to->f);
		fputs(good ? "" : frag_ink(to, INK_PLAIN), to->f);
		frag_put_capacity(fit->reliable, to->f);
		if (!good)
			fprintf(to->f, "  %11s  %12s  %7s", "-", "-", "-");
		else if (!joint)
			frag_fprintf(to->f, "  %+9.1f %%  %12" PRIu64 "  %7" PRIu64,
				     fit->lower_bound ? 100 * ((double)fit->smallest
				     / (double)fit->lower_bound - 1) : 0, fit->at_smallest.calls,
				     fit->at_smallest.retries);
		putc('\n', to->f);
	}
}

/* "2966 MiB to 2970 MiB and 2974 MiB and larger" */
static void list_failing_ranges(const struct frag_fit *fit, struct frag_words *w)
{
	const uint32_t shown = (uint32_t)frag_min(fit->failing_count, RANGES_SHOWN);

	for (uint32_t i = 0; i < shown; i++) {
		const struct frag_failing_range *range = &fit->failing[i];

		frag_add_item(w, i + 1 < fit->failing_count ? ", " : " and ", "%s %s%s",
			      CAPACITY(range->from), range->to == NONE ? "and larger" : "to below ",
			      range->to == NONE ? "" : CAPACITY(range->to));
	}
	if (fit->failing_count > shown)
		frag_add(w, " and %" PRIu32 " more ranges, the last from %s",
			 fit->failing_count - shown,
			 CAPACITY(fit->failing[fit->failing_count - 1].from));
}

static void print_nowhere(const struct frag_fit *fit, const char *name,
			  const struct frag_text_style *to)
{
	if (fit->at_most != NONE)
		frag_put_row(to, "at most", "%s requires at most %s and at least %s; devices"
			     " between the two were not simulated", name, CAPACITY(fit->at_most),
			     CAPACITY(fit->examined_to > fit->lower_bound ? fit->examined_to
								    : fit->lower_bound));
	else if (!fit->runs && !fit->examined_to)
		frag_put_row(to, "none", "%s was not simulated", name);
	else if (fit->examined_to == NONE)
		frag_put_row(to, "none", "%s fits on no device, however large", name);
	else
		frag_put_row(to, "none", "%s fits on no device below %s", name,
			     CAPACITY(fit->examined_to));
}

/* As --offset takes it: steps, or microseconds. */
static const char *offset_text(const struct frag_fits *fits, int64_t offset,
			       char out[FRAG_NUMBER_ROOM])
{
	frag_snprintf(out, FRAG_NUMBER_ROOM, "%.16g", (double)offset / (fits->clocks ? 1000 : 1));
	return out;
}

/* Of programs that run at the same time which offset decides. */
static void print_offset(const struct frag_fit_answer *a, const struct frag_fitted *one,
			 const struct frag_text_style *to)
{
	const struct frag_fit *fit = &one->fit;
	const char *name = FIT_NAME(a->fits, one);
	char offset[FRAG_NUMBER_ROOM];

	offset_text(a->fits, one->offset, offset);
	if (fit->smallest == NONE && fit->at_most == NONE)
		print_nowhere(fit, name, to);
	else if (!a->fits->every_offset)
		frag_put_row(to, "offset", "%s: %s", name, offset);
	else if (fit->smallest == NONE)
		frag_put_row(to, "at most", "%s requires at most %s, which is enough at every"
			     " offset: the sum of what each program reserves alone; not all"
			     " offsets were simulated", name, CAPACITY(fit->at_most));
	else
		frag_put_row(to, "offset", "%s: %s fits at every offset, the next smaller device"
			     " fails with --offset %s", name, CAPACITY(fit->smallest), offset);
}

static void print_offsets(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	frag_put_row(to, "clock", "%s", a->fits->clocks ? "recorded times, in microseconds"
						       : "events, one of each program in turn");
	for (uint32_t i = 0; i < a->fits->joint_count; i++)
		if (is_shown(a, &a->fits->joint[i]))
			print_offset(a, &a->fits->joint[i], to);
}

/* Memory that other processes can hold, also as the option of an inference server. */
static void print_headroom(const struct frag_fit *fit, const char *name, uint64_t total,
			   const struct frag_text_style *to)
{
	if (fit->headroom == NONE)
		frag_put_row(to, "headroom", "%s does not fit on %s, even with no other process on"
			     " it", name, SIZE(total));
	else
		frag_put_row(to, "headroom", "%s leaves %s of %s to others from the first event on;"
			     " for vLLM: --gpu-memory-utilization %.4f", name,
			     CAPACITY(fit->headroom), SIZE(total),
			     /* never rounded up */
			     floor((double)fit->headroom / (double)total * 1e4) / 1e4);
}

/* The capacity directly below reliable sizes fails: at which event? 0: it is not known. */
static uint64_t failing_below(const struct frag_fitted *one)
{
	for (uint32_t i = 0; i < one->intervals.count; i++) {
		const struct frag_interval *v = &one->intervals.intervals[i];

		if (!v->outcome.fits && !v->outcome.broken && v->min_capacity < one->fit.reliable
		    && v->end_capacity >= one->fit.reliable)
			return v->outcome.oom_step;
	}
	return 0;
}

/* What a device must have besides the lower bound, and what fails with less. */
static void print_margin(const struct frag_fitted *one, const char *name, const struct frag_text_style *to)
{
	const struct frag_fit *fit = &one->fit;
	const uint64_t margin = fit->reliable - fit->lower_bound, step = failing_below(one);
	struct frag_words w = WORDS(200);

	if (fit->reliable == NONE || fit->reliable < fit->lower_bound)
		return;
	frag_add(&w, "%s requires %s more than the bound, %.1f %% of it", name, CAPACITY(margin),
		 100 * (double)margin / (double)fit->lower_bound);
	if (step && margin)
		frag_add(&w, ": with less the request of event %" PRIu64 " fails", step);
	frag_put_row(to, "margin", "%s", w.text);
}

/* Rows about one setting that the table has no column for. */
static void print_words(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *to)
{
	const struct frag_fit *fit = &one->fit;
	const char *name = FIT_NAME(a->fits, one);
	struct frag_words w = WORDS(RANGES_ROOM);

	if (!is_shown(a, one))
		return;
	if (one->intervals.why)
		frag_put_row(to, "error", "%s", one->intervals.why);
	else if (fit->smallest == NONE)
		print_nowhere(fit, name, to);
	list_failing_ranges(fit, &w);
	if (w.used && a->verbose)
		frag_put_row(to, "failing", "%s fits on %s, but fails on the larger %s", name,
			     CAPACITY(fit->smallest), w.text);
	if (a->fits->device_total)
		print_margin(one, name, to);
	if (a->fits->headroom_total)
		print_headroom(fit, name, a->fits->headroom_total, to);
}

static void print_bound(const struct frag_fit_answer *a, const struct frag_fitted *one,
			const struct frag_text_style *to)
{
	const struct frag_device_figures *d = &a->fits->sources[one->source].devices[one->device];

	frag_put_row(to, "bound", "%s: peak requested%s%s%s%s, rounded up to a granularity of %s;"
		     " no allocator fits below", CAPACITY(one->fit.lower_bound),
		     d->context ? " + context " : "", d->context ? SIZE(d->context) : "",
		     d->other ? " + other processes " : "", d->other ? SIZE(d->other) : "",
		     SIZE(d->granularity));
}

/* The fits of a source stand together, policy by policy. */
static void print_source(const struct frag_fit_answer *a, uint32_t source,
			 const struct frag_text_style *to)
{
	const struct frag_fitted *list = a->fits->fitted;
	const uint32_t count = a->fits->count;
	uint32_t first = 0, end;

	if (a->fits->source_count > 1)
		fprintf(to->f, "\n%s%s%s\n", frag_ink(to, INK_BOLD),
			SHOWN(frag_input_name(a->traces[source]->path)), frag_ink(to, INK_PLAIN));
	while (first < count && list[first].source != source)
		first++;
	for (end = first; end < count && list[end].source == source; end++)
		if (!list[end].choice)
			print_bound(a, &list[end], to);
	if (first == end)
		return;
	if (!a->usual || !a->ranked || a->fits->source_count > 1)
		fit_print_table(a, &list[first], end - first, false, to);
	for (uint32_t i = first; i < end; i++)
		print_words(a, &list[i], to);
}

static const struct frag_fitted *rows_of(const struct frag_fits *fits, uint32_t *count)
{
	*count = fits->joint_count ? fits->joint_count : fits->source_count == 1 ? fits->count : 0;
	return fits->joint_count ? fits->joint : fits->fitted;
}

struct frag_fit_need frag_fit_need_of(const struct frag_fits *fits, uint32_t choice)
{
	struct frag_fit_need need = { .examined_to = NONE };
	uint32_t count;
	const struct frag_fitted *rows = rows_of(fits, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct frag_fitted *one = &rows[i];
		const struct frag_fit *fit = &one->fit;

		if (one->choice != choice)
			continue;
		need.known = true;
		frag_claim_all(&need.claim, &one->claim);
		need.smallest = frag_max(need.smallest, fit->smallest);
		need.reliable = frag_max(need.reliable, fit->reliable);
		need.at_most = frag_max(need.at_most, fit->smallest == NONE ? fit->at_most
									  : fit->smallest);
		need.no_refusal = frag_max(need.no_refusal, fit->no_refusal);
		need.other = frag_max(need.other,
				      fits->sources[one->source].devices[one->device].other);
		need.examined_to = frag_min(need.examined_to, fit->examined_to);
	}
	return need;
}

/*
 * The recommended one. Where settings are not ranked: of those of the first policy, as another one
 * cannot be pasted, the first that is as good as any.
 */
uint32_t frag_fit_best(const struct frag_fit_answer *a)
{
	const struct frag_choice *choices = a->fits->sources[0].choices;
	uint32_t best = UINT32_MAX;
	uint64_t reliable = NONE;

	if (a->best != UINT32_MAX && frag_fit_need_of(a->fits, a->best).reliable != NONE)
		return a->best;
	for (uint32_t i = 0; i < a->fits->choice_count; i++) {
		const struct frag_fit_need need = frag_fit_need_of(a->fits, i);
		const double equal = (1 + FRAG_EQUAL_DEVICES) * (double)need.reliable;

		if (need.known && need.reliable != NONE && choices[i].ops == choices[0].ops
		    && (best == UINT32_MAX || equal <= (double)reliable)) {
			reliable = need.reliable;
			best = i;
		}
	}
	return best;
}

/* What the answer proves: the smallest of the settings that it shows. */
struct frag_claim frag_fit_claim(const struct frag_fit_answer *a)
{
	const struct frag_choice *choices = a->fits->sources[0].choices;
	struct frag_claim claim = { .at_least = NONE };

	for (uint32_t i = 0; i < a->fits->choice_count; i++) {
		const struct frag_fit_need need = frag_fit_need_of(a->fits, i);

		if (need.known && (!a->usual || choices[i].ops == choices[0].ops))
			frag_claim_any(&claim, &need.claim);
	}
	return claim;
}

/* Of the recordings the one that proves least. */
const struct frag_scope *frag_fit_scope(const struct frag_fit_answer *a)
{
	const struct frag_scope *scope = &a->traces[0]->scope;

	for (uint32_t i = 1; i < a->fits->source_count; i++)
		scope = frag_scope_less(scope, &a->traces[i]->scope);
	return scope;
}

/* "3342 MiB with expandable_segments:True" */
static char *phrase(const struct frag_fits *fits, uint32_t choice, char out[PHRASE_ROOM])
{
	const struct frag_fit_need need = frag_fit_need_of(fits, choice);
	char bytes[80] = "none", setting[FRAG_CONF_ROOM];

	if (need.known && need.smallest != NONE && need.reliable != NONE)
		snprintf(bytes, sizeof(bytes), "%s", CAPACITY(need.reliable));
	else if (need.known && need.smallest != NONE)
		snprintf(bytes, sizeof(bytes), "%s, not reliably,", CAPACITY(need.smallest));
	else if (need.known && need.at_most != NONE)
		snprintf(bytes, sizeof(bytes), "at most %s", CAPACITY(need.at_most));
	else if (!need.known || need.examined_to != NONE)
		snprintf(bytes, sizeof(bytes), "none found");
	frag_format_printable(out, PHRASE_ROOM, "%s with %s", bytes,
			      frag_fit_setting(&fits->sources[0].choices[choice], setting));
	return out;
}

/* Of recordings that are parts: what they prove. */
static void print_at_least(const struct frag_fit_answer *a, const struct frag_claim *claim,
			   uint32_t best, const struct frag_text_style *to)
{
	const struct frag_fit_need usual = frag_fit_need_of(a->fits, 0);
	struct frag_words w = WORDS(2 * PHRASE_ROOM);
	char fits[PHRASE_ROOM];

	frag_add_at_least(&w, claim->at_least, usual.claim.at_least,
			  &a->fits->sources[0].choices[0]);
	frag_add_claim(&w, frag_fit_scope(a), best == UINT32_MAX ? NULL : phrase(a->fits, best, fits));
	frag_put_first_line(to, INK_YELLOW, "", "AT LEAST %s", w.text);
	if (claim->part == FRAG_PART_OOM)
		frag_put_row(to, "next", "fragsim explain %s: why it failed", a->fits->source_count == 1
			     ? SHOWN(frag_input_name(a->traces[0]->path)) : "FILE");
}

/* Does each larger device fit too? Then that was found of all there are. */
static bool all_larger_fit(const struct frag_fits *fits, uint32_t choice)
{
	const struct frag_fit_need need = frag_fit_need_of(fits, choice);

	return need.known && need.reliable != NONE && need.examined_to == NONE;
}

/* The verdict, and the setting to copy where it is not what the program has. */
static void print_answer(const struct frag_fit_answer *a, uint32_t best,
			 const struct frag_text_style *to)
{
	const struct frag_fits *fits = a->fits;
	const bool found = best != UINT32_MAX, other = found && best;
	const struct frag_choice *choice = &fits->sources[0].choices[found ? best : 0];
	const struct frag_claim claim = frag_fit_claim(a);
	char one[PHRASE_ROOM], usual[PHRASE_ROOM];

	if (fits->device_total)
		frag_fit_put_device(a, to);
	else if (!frag_claim_is_exact(&claim) && claim.at_least != NONE)
		print_at_least(a, &claim, best, to);
	else
		frag_put_first_line(to, found ? INK_BOLD : INK_RED, "", "SMALLEST DEVICE%s: %s%s%s%s",
				    fits->together ? " for all at the same time"
				    : fits->source_count > 1 ? " for all traces" : "",
				    phrase(fits, found ? best : 0, one), other ? ", " : "",
				    other ? phrase(fits, 0, usual) : "",
				    found && all_larger_fit(fits, best) && all_larger_fit(fits, 0)
				    ? "; every larger one fits" : "");
	if (!fits->device_total && frag_claim_is_exact(&claim) && other && *CONF(choice)) {
		frag_put_setting(to, choice, CONF(choice), "");
		frag_put_limits(to, CONF(choice));
	}
	if (a->interrupted)
		frag_put_stopped(to, a->time_up);
}

/* Of each policy that is shown, once. */
static void print_evidence(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	const struct frag_choice *choices = a->fits->sources[0].choices;

	for (uint32_t i = 0; i < a->fits->choice_count; i++)
		if (!i || (!a->usual && choices[i].ops != choices[i - 1].ops))
			frag_put_evidence(to, &choices[i], "");
}

/* What the recording of a model lacks: the sizes count some of it. */
static void print_extras(const struct frag_fit_answer *a, const struct frag_text_style *to)
{
	for (const struct frag_extra_memory *x = a->extras; x && x->name; x++)
		if (x->counted)
			frag_put_row(to, "outside", "%s counted for %s", SIZE(x->bytes), x->name);
		else if (x->bytes)
			frag_put_row(to, "outside", "%s: + %s, not counted", x->name, SIZE(x->bytes));
		else if (a->sharded || !x->sharded)
			frag_put_row(to, "outside", "not counted: %s", x->name);
}

static void fit_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_fit_answer *a = what;
	const struct frag_claim claim = frag_fit_claim(a);
	const uint32_t best = frag_fit_best(a);

	print_answer(a, best, to);
	frag_put_recorded(to, a->traces, a->iterations, a->fits->source_count);
	frag_put_growth(to, a->traces, a->fits->source_count);
	if (a->fits->joint_count)
		fit_print_table(a, a->fits->joint, a->fits->joint_count, true, to);
	if (a->fits->together)
		print_offsets(a, to);
	for (uint32_t i = 0; i < a->fits->source_count; i++)
		print_source(a, i, to);
	if (a->fits->source_count > 1 && best != UINT32_MAX)
		putc('\n', to->f);
	if (a->fits->device_total)
		;
	else if (!frag_claim_is_exact(&claim))
		frag_fit_put_cards_of_part(a, &claim, best, to);
	else if (best != UINT32_MAX)
		frag_fit_put_cards(a, best, to);
	print_extras(a, to);
	print_evidence(a, to);
	frag_fit_put_tests(a, to);
	frag_fit_put_settings(a, to);
}

/* Element i of those whose policy was given, or is the usual one; NULL: there are fewer. */
static const struct frag_fitted *given_at(const struct frag_fit_answer *a,
					  const struct frag_fitted *list, uint32_t count, uint32_t i)
{
	uint32_t k = 0;

	while (k < count && (list[k].choice >= a->given || i-- > 0))
		k++;
	return k < count ? &list[k] : NULL;
}

static uint32_t count_given(const struct frag_fit_answer *a, const struct frag_fitted *list,
			    uint32_t count)
{
	uint32_t given = 0;

	for (uint32_t i = 0; i < count; i++)
		given += list[i].choice < a->given;
	return given;
}

/* A line of CSV or Markdown: one setting on one device. */
struct frag_fit_row {
	const struct frag_fitted *fitted;
	const struct frag_choice *choice;
	const struct frag_attempt *at_smallest; /* NULL: none, or of several traces */
	const struct frag_attempt *peaks;       /* the same, where they were measured */
	const char *trace;
	char name[FRAG_FIT_NAME_ROOM];
};

static bool fit_row_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	const struct frag_fits *fits = a->fits;
	const uint32_t alone = count_given(a, fits->fitted, fits->count);
	const bool joint = i >= alone;
	struct frag_fit_row *row = element;

	row->fitted = joint ? given_at(a, fits->joint, fits->joint_count, i - alone)
			    : given_at(a, fits->fitted, fits->count, i);
	if (!row->fitted)
		return false;
	row->choice = &fits->sources[row->fitted->source].choices[row->fitted->choice];
	row->at_smallest = joint || row->fitted->fit.smallest == NONE ? NULL
			   : &row->fitted->fit.at_smallest;
	row->peaks = row->fitted->fit.peaks ? row->at_smallest : NULL;
	row->trace = !joint ? a->traces[row->fitted->source]->path : fits->together ? "together" : "all";
	frag_fit_name(fits, row->fitted, row->name);
	return true;
}

/* The same without the joint ones, unless they run at the same time. */
static bool fit_csv_row_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;

	return (a->fits->together || i < count_given(a, a->fits->fitted, a->fits->count))
	       && fit_row_at(of, i, element);
}

#define FIT(m) FRAG_VIA(fit_row, fitted, fitted, fit.m)
#define SMALLEST(m) FRAG_VIA(fit_row, at_smallest, attempt, m)
#define PEAKS(m) FRAG_VIA(fit_row, peaks, attempt, m)
static const struct frag_field row_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, FRAG_AT(fit_row, trace), NULL, "trace", "trace" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_AT(fit_row, name), NULL, NULL, "setting" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_VIA(fit_row, choice, choice, text), NULL, "policy" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE_VIA(fit_row, choice), NULL, "alloc_conf",
	  .text = frag_conf_of },
	{ NULL, FRAG_TYPE_COUNT, FRAG_VIA(fit_row, fitted, fitted, device), NULL, "device" },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(lower_bound), NULL, "lower_bound",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(smallest), NULL, "smallest", "smallest",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(reliable), NULL, "reliable", "reliable",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(lower_bound), NULL, NULL, "lower bound",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(examined_to), NULL, "examined_to",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(no_refusal), NULL, "no_refusal",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_COUNT, FIT(failing_count), NULL, "failing_ranges" },
	{ NULL, FRAG_TYPE_COUNT, PEAKS(calls), NULL, "calls" },
	{ NULL, FRAG_TYPE_COUNT, SMALLEST(calls), NULL, NULL, "calls", .blank = true },
	{ NULL, FRAG_TYPE_COUNT, PEAKS(refused), NULL, "refused" },
	{ NULL, FRAG_TYPE_COUNT, PEAKS(retries), NULL, "retries" },
	{ NULL, FRAG_TYPE_COUNT, SMALLEST(retries), NULL, NULL, "retries", .blank = true },
	{ NULL, FRAG_TYPE_CAPACITY, PEAKS(peak_reserved), NULL, "peak_reserved" },
	{ NULL, FRAG_TYPE_COUNT, FIT(failing_count), NULL, NULL, "failing ranges" },
	{ NULL, FRAG_TYPE_COUNT, FIT(runs), NULL, "runs" },
	{ NULL, FRAG_TYPE_CAPACITY, FIT(headroom), NULL, "static_room",
	  .absence = FRAG_UNLESS_MAX },
	{ 0 },
}, csv_rows[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = row_fields, .each = fit_csv_row_at }, { 0 },
}, rows[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = row_fields, .each = fit_row_at }, { 0 },
};
#undef FIT

#define FIT(m) FRAG_VIA(fit_view, fitted, fitted, fit.m)

static struct frag_cell_value interval_status(const void *of)
{
	const struct frag_attempt *outcome = &((const struct frag_interval *)of)->outcome;

	return FRAG_TEXT_OF(frag_run_status_name(outcome->fits ? FRAG_RUN_OK
						 : outcome->broken ? FRAG_RUN_ERROR : FRAG_RUN_OOM));
}

static struct frag_cell_value interval_oom(const void *of)
{
	const struct frag_attempt *outcome = &((const struct frag_interval *)of)->outcome;

	return (struct frag_cell_value){ .there = !outcome->fits && !outcome->broken,
					 .u = outcome->oom_step };
}

static const char *const statuses[] = { "fits", "oom", "error", NULL };
static const struct frag_field interval_fields[] = {
	{ "least", FRAG_TYPE_CAPACITY, FRAG_AT(interval, min_capacity) },
	{ "beyond", FRAG_TYPE_CAPACITY, FRAG_AT(interval, end_capacity), "null: no end",
	  .absence = FRAG_UNLESS_MAX },
	{ "status", FRAG_TYPE_WORD, FRAG_WHOLE, .get = interval_status, .words = statuses },
	{ "oom_step", FRAG_TYPE_COUNT, FRAG_WHOLE, "null: another status", .get = interval_oom,
	  .nullable = true },
	{ "calls", FRAG_TYPE_COUNT, FRAG_AT(interval, outcome.calls), "of the driver" },
	{ "retries", FRAG_TYPE_COUNT, FRAG_AT(interval, outcome.retries) },
	{ 0 },
};

/* All intervals of this search, as --map asks for them: a joint search adds others. */
static bool interval_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fitted *one = ((const struct frag_fit_view *)of)->fitted;
	const struct frag_fit_intervals *s = &one->intervals;
	uint32_t k = 0, found = 0;

	if (i >= one->fit.runs)
		return false;
	for (; k < s->count; k++)
		if (frag_fit_case_round_up(&s->subject, s->intervals[k].min_capacity)
		    < s->intervals[k].end_capacity && found++ == i)
			break;
	if (k < s->count)
		*(struct frag_interval *)element = s->intervals[k];
	return k < s->count;
}

static bool fit_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	const struct frag_fitted *one = given_at(a, a->fits->fitted, a->fits->count, i);

	if (one)
		frag_fit_view_make(element, a->fits, one, a->map);
	return one != NULL;
}

static bool joint_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	const struct frag_fitted *one = given_at(a, a->fits->joint, a->fits->joint_count, i);

	if (one)
		frag_fit_view_make(element, a->fits, one, false);
	return one != NULL;
}

static const char *const clocks[] = { "steps", "microseconds", NULL };

static struct frag_cell_value together_of(const void *of)
{
	return FRAG_OF(((const struct frag_fit_view *)of)->fits->together ? of : NULL);
}

static struct frag_cell_value clock_of(const void *of)
{
	return FRAG_TEXT_OF(clocks[((const struct frag_fit_view *)of)->fits->clocks != NULL]);
}

static const char *offset_of(const void *of, char *buf)
{
	const struct frag_fit_view *v = of;

	return v->fits->every_offset && v->fitted->fit.smallest == NONE ? NULL
	       : offset_text(v->fits, v->fitted->offset, buf);
}

static const struct frag_field together_fields[] = {
	{ "every_offset", FRAG_TYPE_FLAG, FRAG_VIA(fit_view, fits, fits, every_offset) },
	{ "clock", FRAG_TYPE_WORD, FRAG_WHOLE, .get = clock_of, .words = clocks },
	{ "offset", FRAG_TYPE_NUMBER_JSON, FRAG_WHOLE, "the given one, or one that fails on the next"
	  " smaller device; null: smallest is not known", .text = offset_of, .nullable = true },
	{ 0 },
}, fit_fields[] = {
	{ "trace", FRAG_TYPE_COUNT, FRAG_VIA(fit_view, fitted, fitted, source), "its index in traces" },
	FRAG_MEMBERS(FRAG_WHOLE, frag_fit_fields),
	{ "map", FRAG_TYPE_LIST, FRAG_WHOLE, "with --map: capacities whose runs are the same, event for"
	  " event", FRAG_THERE_IF(fit_view, map), .optional = true, .each = interval_at,
	  .fields = interval_fields },
	{ 0 },
}, joint_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, frag_capacity_fields),
	{ "runs", FRAG_TYPE_COUNT, FIT(runs), "capacities that were simulated" },
	{ "together", FRAG_TYPE_OBJECT, FRAG_WHOLE, "of programs that run at the same time",
	  .get = together_of, .fields = together_fields, .optional = true },
	{ 0 },
};

static bool extra_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fit_answer *a = of;
	const struct frag_extra_memory *x = a->extras;

	for (; x && x->name; x++)
		if ((!x->sharded || a->sharded) && i-- == 0)
			break;
	if (!x || !x->name)
		return false;
	*(struct frag_extra_memory *)element = *x;
	return true;
}

static const struct frag_field extra_fields[] = {
	{ "name", FRAG_TYPE_TEXT, FRAG_AT(extra_memory, name) },
	{ "bytes", FRAG_TYPE_BYTES, FRAG_AT(extra_memory, bytes), "null: unknown",
	  .absence = FRAG_UNLESS_ZERO },
	{ "counted", FRAG_TYPE_FLAG, FRAG_AT(extra_memory, counted), "as memory of other processes" },
	{ "source", FRAG_TYPE_TEXT, FRAG_AT(extra_memory, source), "a public page" },
	{ 0 },
};

struct frag_fit_document_view {
	const struct frag_fit_answer *answer;
	const struct frag_trace_info *const *traces;
	uint32_t trace_count;
	bool complete, has_extras, has_tests;
	uint64_t granularity, lower_bound;
	struct frag_claim claim;
};

/* Its lower bound is the largest: below, some trace or device fails under every policy. */
static void fit_document_view(const void *of, void *view)
{
	const struct frag_fit_answer *a = of;
	struct frag_fit_document_view *to = view;

	*to = (struct frag_fit_document_view){
		.answer = a, .traces = a->traces, .trace_count = a->fits->source_count,
		.complete = !a->interrupted, .has_extras = a->extras != NULL,
		.has_tests = a->test_count > 0,
		.granularity = a->fits->sources[0].devices[0].granularity, .claim = frag_fit_claim(a),
	};
	for (uint32_t i = 0; i < a->fits->count; i++)
		to->lower_bound = frag_max(to->lower_bound, a->fits->fitted[i].fit.lower_bound);
}

#define DOCUMENT(m) FRAG_AT(fit_document_view, m)
#define DOCUMENT_CLAIM(m) DOCUMENT(claim.m)
#define ANSWERED FRAG_WHOLE_VIA(fit_document_view, answer)
static const struct frag_field document_fields[] = {
	{ "complete", FRAG_TYPE_FLAG, DOCUMENT(complete), "false: --time or a signal ended the search" },
	FRAG_TRACES_FIELDS(fit_document_view, traces, trace_count),
	{ "granularity", FRAG_TYPE_BYTES, DOCUMENT(granularity), "of the first device of the first trace",
	  .least = 1 },
	{ "lower_bound", FRAG_TYPE_BYTES, DOCUMENT(lower_bound), "the highest of all devices of all"
	  " traces" },
	FRAG_CLAIM_FIELDS(DOCUMENT_CLAIM),
	{ "fits", FRAG_TYPE_LIST, ANSWERED, "by trace, policy and device", .each = fit_at,
	  .fields = fit_fields },
	{ "joint", FRAG_TYPE_LIST, ANSWERED, "of several traces, by policy and device: what fits all",
	  .each = joint_at, .fields = joint_fields },
	{ "cards", FRAG_TYPE_LIST, ANSWERED, "GPUs and slices that fit with the setting of the smallest"
	  " reliable size", .each = frag_fit_card_at, .fields = frag_card_fields, .cut = true },
	{ "recommended", FRAG_TYPE_OBJECT, ANSWERED, "the setting that leaves the most, reliably; null:"
	  " no setting fits, or none was tried", .each = frag_fit_recommended_at,
	  .fields = frag_recommended_fields, .nullable = true },
	{ "settings", FRAG_TYPE_LIST, ANSWERED, "those that were tried, the own ones first",
	  .each = frag_fit_ranked_at, .fields = frag_ranked_fields, .cut = true },
	{ "tests", FRAG_TYPE_LIST, ANSWERED, "with --test: the recommended setting on other traces",
	  FRAG_THERE_IF(fit_document_view, has_tests), .optional = true, .each = frag_fit_test_at,
	  .fields = frag_test_fields },
	{ "outside", FRAG_TYPE_LIST, ANSWERED, "with --model: memory that the recording lacks",
	  FRAG_THERE_IF(fit_document_view, has_extras),
	  .optional = true, .each = extra_at, .fields = extra_fields },
	{ 0 },
};

const struct frag_document_type frag_fit_document = {
	.format = "fragsim-fit", .version = 3, .view = fit_document_view,
	.what = "The answer of fragsim fit, see fragsim-fit(1).", .fields = document_fields,
};

const struct frag_format *const frag_fit_formats[] = {
	FRAG_TEXT_FORM(fit_print),
	FRAG_CSV_FORM(csv_rows), FRAG_DOCUMENT_FORM(frag_fit_document),
	FRAG_MARKDOWN_FORM(rows), NULL,
};
