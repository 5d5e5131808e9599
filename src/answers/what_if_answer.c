/* what_if_answer.c - what fragsim what-if found, in every form: for people, as rows, as a document. */
#include "answers/what_if_answer.h"

#include "answers/answers.h"

#define FRAG_SHIFT_ROOM 32
#define FRAG_WHAT_IF_ROWS 3
#define LABEL 12

static const char *const frag_what_if_rows[FRAG_WHAT_IF_ROWS] = { "reserved", "smallest", "reliable" };

static uint64_t frag_what_if_figure(const struct frag_fitted *one, uint32_t row)
{
	if (row == 0)
		return one->unlimited.fits ? one->unlimited.peak_reserved : UINT64_MAX;
	return row == 1 ? one->fit.smallest : one->fit.reliable;
}

static const char *frag_shift_text(char buf[FRAG_SHIFT_ROOM], uint64_t before, uint64_t after)
{
	*buf = '\0';
	if (before && before != UINT64_MAX && after != UINT64_MAX)
		frag_snprintf(buf, FRAG_SHIFT_ROOM, "%+.1f %%",
			      ((double)after - (double)before) / (double)before * 100);
	return buf;
}

static void what_if_print_row(const char *label, uint64_t before, uint64_t after, bool capacity,
			      FILE *f)
{
	const uint64_t values[] = { before, after };
	char shift[FRAG_SHIFT_ROOM];

	fprintf(f, "  %-*s", LABEL, label);
	for (int i = 0; i < 2; i++)
		fprintf(f, "  %12s", values[i] == UINT64_MAX ? "-" : capacity ? CAPACITY(values[i])
			: SIZE(values[i]));
	if (*frag_shift_text(shift, before, after))
		fprintf(f, "  %9s", shift);
	putc('\n', f);
}

/* Calls of the driver on the smallest device, and their modelled time where there is a profile. */
static void print_calls(const struct frag_fit *as_is, const struct frag_fit *changed, FILE *f)
{
	const struct frag_attempt *a = &as_is->at_smallest, *b = &changed->at_smallest;

	if (as_is->smallest == UINT64_MAX || changed->smallest == UINT64_MAX)
		return;
	fprintf(f, "  %-*s  %12" PRIu64 "  %12" PRIu64 "\n", LABEL, "driver calls", a->calls,
		b->calls);
	if (a->driver_ns || b->driver_ns)
		frag_fprintf(f, "  %-*s  %9.1f ms  %9.1f ms\n", LABEL, "driver time",
			     (double)a->driver_ns / 1e6, (double)b->driver_ns / 1e6);
}

static void print_fit(const struct frag_what_if_answer *a, uint32_t i,
		      const struct frag_text_style *to)
{
	const struct frag_fitted *as_is = &a->fits->fitted[i];
	const struct frag_fitted *changed = as_is + a->fits->count / 2;

	fprintf(to->f, "\n%s%s%s\n", frag_ink(to, INK_BOLD),
		SHOWN(FIT_NAME(a->fits, as_is)), frag_ink(to, INK_PLAIN));
	for (uint32_t row = 0; row < FRAG_WHAT_IF_ROWS; row++)
		what_if_print_row(frag_what_if_rows[row], frag_what_if_figure(as_is, row),
				  frag_what_if_figure(changed, row), true, to->f);
	print_calls(&as_is->fit, &changed->fit, to->f);
	if (as_is->fit.at_most != UINT64_MAX || changed->fit.at_most != UINT64_MAX)
		what_if_print_row("at most", as_is->fit.at_most, changed->fit.at_most, true, to->f);
}

/* Of a recording that is a part: what it proves before and after. */
static void print_part(const struct frag_what_if_answer *a, const struct frag_fitted *as_is,
		       const struct frag_fitted *changed, const struct frag_text_style *to)
{
	const uint64_t before = as_is->claim.at_least, after = changed->claim.at_least;
	struct frag_words w = WORDS(600);
	char shift[FRAG_SHIFT_ROOM];

	frag_add(&w, "at least %s instead of %s", after == UINT64_MAX ? "unknown" : CAPACITY(after),
		 before == UINT64_MAX ? "unknown" : CAPACITY(before));
	if (*frag_shift_text(shift, before, after))
		frag_add(&w, " (%s)", shift);
	frag_add_claim(&w, &a->trace->scope, changed->fit.smallest == UINT64_MAX
		       ? NULL : CAPACITY(changed->fit.smallest));
	frag_put_first_line(to, INK_BOLD, "", "CHANGED: %s", w.text);
}

/* Line 1: the smallest device before and after, under the first setting. */
static void what_if_print_verdict(const struct frag_what_if_answer *a,
				  const struct frag_text_style *to)
{
	const struct frag_fitted *as_is = a->fits->fitted, *changed = as_is + a->fits->count / 2;
	const uint64_t before = a->fits->count ? as_is->fit.smallest : UINT64_MAX;
	const uint64_t after = a->fits->count ? changed->fit.smallest : UINT64_MAX;
	char shift[FRAG_SHIFT_ROOM];

	frag_shift_text(shift, before, after);
	if (after == UINT64_MAX && before == UINT64_MAX)
		frag_put_first_line(to, INK_BOLD, "", "NOT FOUND: no device is known to fit,"
				    " neither as recorded nor changed");
	else if (!frag_claim_is_exact(&changed->claim))
		print_part(a, as_is, changed, to);
	else
		frag_put_first_line(to, INK_BOLD, "", "CHANGED: smallest device %s instead of"
				    " %s%s%s%s with %s",
				    after == UINT64_MAX ? "unknown" : CAPACITY(after),
				    before == UINT64_MAX ? "unknown" : CAPACITY(before),
				    *shift ? " (" : "", shift, *shift ? ")" : "",
				    strcmp(FIT_NAME(a->fits, as_is), "default")
				    ? FIT_NAME(a->fits, as_is) : "the default settings");
}

static void what_if_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_what_if_answer *a = what;

	what_if_print_verdict(a, to);
	if (a->interrupted)
		frag_put_stopped(to, a->time_up);
	for (uint32_t i = 0; i < a->change_count; i++)
		frag_put_row(to, i ? "" : "changed", "%s", SHOWN(a->changes[i]));
	frag_put_growth(to, &a->trace, 1);
	frag_put_evidence(to, a->fits->sources[0].choices, "hypothetical: no program ran like this");
	fprintf(to->f, "\n  %-*s  %12s  %12s\n  %-*s  %12" PRIu64 "  %12" PRIu64 "\n", LABEL, "",
		"as recorded", "changed", LABEL, "events", a->trace->events, a->events);
	what_if_print_row("requested", frag_fits_requested(a->fits, 0),
			  frag_fits_requested(a->fits, 1), false, to->f);
	for (uint32_t i = 0; i < a->fits->count / 2; i++)
		print_fit(a, i, to);
}

/* In CSV a row is one run, */
struct frag_what_if_run {
	struct frag_fit_view fit;
	const char *trace;
};

static bool run_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fits *fits = ((const struct frag_what_if_answer *)of)->fits;
	struct frag_what_if_run *to = element;

	if (i == fits->count)
		return false;
	frag_fit_view_make(&to->fit, fits, &fits->fitted[i], false);
	to->trace = fits->fitted[i].source ? "changed" : "as recorded";
	return true;
}

/* and in Markdown one metric of both runs. */
struct frag_what_if_metric {
	char setting[FRAG_FIT_NAME_ROOM], shift[FRAG_SHIFT_ROOM];
	const char *value;
	uint64_t before, after;
};

static bool metric_at(const void *of, uint32_t i, void *element)
{
	const struct frag_fits *fits = ((const struct frag_what_if_answer *)of)->fits;
	const uint32_t k = i / FRAG_WHAT_IF_ROWS, row = i % FRAG_WHAT_IF_ROWS;
	const struct frag_fitted *as_is = &fits->fitted[k], *changed = as_is + fits->count / 2;
	struct frag_what_if_metric *to = element;

	if (k == fits->count / 2)
		return false;
	frag_fit_name(fits, as_is, to->setting);
	to->value = frag_what_if_rows[row];
	to->before = frag_what_if_figure(as_is, row);
	to->after = frag_what_if_figure(changed, row);
	frag_shift_text(to->shift, to->before, to->after);
	return true;
}

#define RUN(m) FRAG_AT(what_if_run, m)
#define METRIC(m) FRAG_AT(what_if_metric, m)
static const struct frag_field run_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, RUN(trace), NULL, "trace" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_VIA(what_if_run, fit.choice, choice, text), NULL, "policy" },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE_VIA(what_if_run, fit.choice), NULL, "alloc_conf",
	  .text = frag_conf_of },
	{ NULL, FRAG_TYPE_COUNT, RUN(fit.device.ordinal), NULL, "device" },
	{ NULL, FRAG_TYPE_CAPACITY, FRAG_VIA(what_if_run, fit.fitted, fitted, unlimited.peak_requested),
	  NULL, "requested" },
	{ NULL, FRAG_TYPE_CAPACITY,
	  FRAG_VIA(what_if_run, fit.unlimited, fitted, unlimited.peak_reserved), NULL, "reserved" },
	{ NULL, FRAG_TYPE_CAPACITY, FRAG_VIA(what_if_run, fit.fitted, fitted, fit.smallest), NULL,
	  "smallest", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, FRAG_VIA(what_if_run, fit.fitted, fitted, fit.reliable), NULL,
	  "reliable", .absence = FRAG_UNLESS_MAX },
	{ 0 },
}, runs[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = run_fields, .each = run_at }, { 0 },
}, metric_fields[] = {
	{ NULL, FRAG_TYPE_TEXT, METRIC(setting), NULL, NULL, "setting" },
	{ NULL, FRAG_TYPE_TEXT, METRIC(value), NULL, NULL, "value" },
	{ NULL, FRAG_TYPE_CAPACITY, METRIC(before), NULL, NULL, "as recorded",
	  .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_CAPACITY, METRIC(after), NULL, NULL, "changed", .absence = FRAG_UNLESS_MAX },
	{ NULL, FRAG_TYPE_FIGURE, METRIC(shift), NULL, NULL, "hypothetical" },
	{ 0 },
}, metrics[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = metric_fields, .each = metric_at }, { 0 },
};

/* The trace as recorded, or changed. */
struct frag_what_if_source {
	const struct frag_what_if_answer *answer;
	uint32_t source;
	uint64_t events, requested;
	struct frag_claim claim;
};

static void source_view(const struct frag_what_if_answer *a, uint32_t source,
			struct frag_what_if_source *to)
{
	*to = (struct frag_what_if_source){
		.answer = a, .source = source, .events = source ? a->events : a->trace->events,
		.requested = frag_fits_requested(a->fits, source), .claim.at_least = UINT64_MAX,
	};
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			frag_claim_any(&to->claim, &a->fits->fitted[i].claim);
}

/* Fits are by source. */
static bool source_fit_at(const void *of, uint32_t i, void *element)
{
	const struct frag_what_if_source *v = of;
	const struct frag_fits *fits = v->answer->fits;

	for (uint32_t k = 0; k < fits->count; k++)
		if (fits->fitted[k].source == v->source && i-- == 0) {
			frag_fit_view_make(element, fits, &fits->fitted[k], false);
			return true;
		}
	return false;
}

static bool as_it_is(const void *of, uint32_t i, void *element)
{
	(void)i;
	source_view(of, 0, element);
	return true;
}

static bool changed_one(const void *of, uint32_t i, void *element)
{
	(void)i;
	source_view(of, 1, element);
	return true;
}

static struct frag_cell_value is_complete(const void *of)
{
	return FRAG_FLAG_OF(!((const struct frag_what_if_answer *)of)->interrupted);
}

static struct frag_cell_value always(const void *of)
{
	return FRAG_FLAG_OF(of != NULL);
}

static struct frag_cell_value bound_of(const void *of)
{
	const struct frag_what_if_answer *a = of;

	return FRAG_TEXT_OF(frag_bound_words[frag_scope_part(&a->trace->scope)]);
}

#define SOURCE(m) FRAG_AT(what_if_source, m)
#define SOURCE_CLAIM(m) SOURCE(claim.m)
#define ANSWER(m) FRAG_AT(what_if_answer, m)
static const struct frag_field fit_fields[] = {
	FRAG_MEMBERS(FRAG_WHOLE, frag_fit_fields), FRAG_MEMBERS(FRAG_WHOLE, frag_unlimited_fields), { 0 },
}, source_fields[] = {
	{ "events", FRAG_TYPE_COUNT, SOURCE(events) },
	{ "requested", FRAG_TYPE_BYTES, SOURCE(requested), "the peak" },
	FRAG_CLAIM_FIELDS(SOURCE_CLAIM),
	{ "fits", FRAG_TYPE_LIST, FRAG_WHOLE, "by policy and device", .each = source_fit_at,
	  .fields = fit_fields },
	{ 0 },
}, what_if_fields[] = {
	{ "complete", FRAG_TYPE_FLAG, FRAG_WHOLE, "false: --time or a signal ended the search",
	  .get = is_complete },
	{ "trace", FRAG_TYPE_OBJECT, FRAG_POINTER(what_if_answer, trace), .fields = frag_trace_fields },
	FRAG_SCOPE_FIELD(FRAG_VIA(what_if_answer, trace, trace_info, scope)),
	{ "hypothetical", FRAG_TYPE_FLAG, FRAG_WHOLE, "no program ran like this", .get = always },
	{ "bound", FRAG_TYPE_WORD, FRAG_WHOLE, "of both", .get = bound_of, .words = frag_bound_words },
	{ "changes", FRAG_TYPE_LIST, FRAG_ARRAY(what_if_answer, changes, change_count),
	  "as they were given", .items = FRAG_TYPE_TEXT },
	{ "as_it_is", FRAG_TYPE_OBJECT, FRAG_WHOLE, .each = as_it_is, .fields = source_fields },
	{ "changed", FRAG_TYPE_OBJECT, FRAG_WHOLE, .each = changed_one, .fields = source_fields },
	{ 0 },
};

const struct frag_document_type frag_what_if_document = {
	.format = "fragsim-what-if", .version = 2, .fields = what_if_fields,
	.what = "The answer of fragsim what-if, see fragsim-what-if(1).",
};

const struct frag_format *const frag_what_if_formats[] = {
	FRAG_TEXT_FORM("text", what_if_print), FRAG_LIST_FORM("csv", runs),
	FRAG_DOCUMENT_FORM(frag_what_if_document), FRAG_LIST_FORM("markdown", metrics), NULL,
};
