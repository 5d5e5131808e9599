/* what_if_answer.c - what fragsim what-if found, in every form: for people, as rows, as a document. */
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

/* In CSV a row is one run, in Markdown one metric of both runs. */
static const struct frag_column columns[] = {
	{ "trace", NULL, FRAG_CELL_TEXT },
	{ "policy", NULL, FRAG_CELL_TEXT },
	{ "alloc_conf", NULL, FRAG_CELL_TEXT },
	{ "device", NULL, FRAG_CELL_COUNT },
	{ "requested", NULL, FRAG_CELL_CAPACITY },
	{ "reserved", NULL, FRAG_CELL_CAPACITY },
	{ "smallest", NULL, FRAG_CELL_CAPACITY },
	{ "reliable", NULL, FRAG_CELL_CAPACITY },
	{ 0 },
}, shown[] = {
	{ NULL, "setting", FRAG_CELL_TEXT },
	{ NULL, "value", FRAG_CELL_TEXT },
	{ NULL, "as recorded", FRAG_CELL_CAPACITY },
	{ NULL, "changed", FRAG_CELL_CAPACITY },
	{ NULL, "hypothetical", FRAG_CELL_COUNT },
	{ 0 },
};

static void fill_csv(struct frag_table *t, const void *what)
{
	const struct frag_fits *fits = ((const struct frag_what_if_answer *)what)->fits;

	for (uint32_t i = 0; i < fits->count; i++) {
		const struct frag_fitted *one = &fits->fitted[i];
		const struct frag_choice *choice = &fits->sources[one->source].choices[one->choice];

		frag_cell_text(t, one->source ? "changed" : "as recorded");
		frag_cell_text(t, choice->text);
		frag_cell_text(t, CONF(choice));
		frag_cell(t, true, one->device);
		frag_cell(t, true, one->unlimited.peak_requested);
		for (uint32_t row = 0; row < FRAG_WHAT_IF_ROWS; row++)
			frag_cell_bytes(t, frag_what_if_figure(one, row));
	}
}

static void fill_markdown(struct frag_table *t, const void *what)
{
	const struct frag_fits *fits = ((const struct frag_what_if_answer *)what)->fits;
	const struct frag_fitted *as_is = fits->fitted, *changed = as_is + fits->count / 2;
	char shift[FRAG_SHIFT_ROOM];

	for (uint32_t i = 0; i < fits->count / 2 * FRAG_WHAT_IF_ROWS; i++) {
		const uint32_t k = i / FRAG_WHAT_IF_ROWS, row = i % FRAG_WHAT_IF_ROWS;
		const uint64_t before = frag_what_if_figure(&as_is[k], row);
		const uint64_t after = frag_what_if_figure(&changed[k], row);

		frag_cell_text(t, FIT_NAME(fits, &as_is[k]));
		frag_cell_text(t, frag_what_if_rows[row]);
		frag_cell_bytes(t, before);
		frag_cell_bytes(t, after);
		frag_cell_text(t, frag_shift_text(shift, before, after));
	}
}

static void put_source(struct frag_node_ref root, const char *key,
		       const struct frag_what_if_answer *a, uint32_t source, uint64_t events)
{
	struct frag_node_ref o = frag_json_object(root, key), list, fit;
	struct frag_claim claim = { .at_least = UINT64_MAX };

	frag_json_u64(o, "events", events);
	frag_json_u64(o, "requested", frag_fits_requested(a->fits, source));
	for (uint32_t i = 0; i < a->fits->count; i++)
		if (a->fits->fitted[i].source == source)
			frag_claim_any(&claim, &a->fits->fitted[i].claim);
	frag_document_claim(o, &claim);
	list = frag_json_array(o, "fits");
	for (uint32_t i = 0; i < a->fits->count; i++) {
		const struct frag_fitted *one = &a->fits->fitted[i];

		if (one->source != source)
			continue;
		fit = frag_json_object(list, NULL);
		frag_fit_members(fit, a->fits, one, false);
		frag_json_rows(fit, frag_unlimited_rows, one);
	}
}

static void what_if_document(struct frag_node_ref root, const void *what)
{
	const struct frag_what_if_answer *answer = what;
	struct frag_node_ref list;

	frag_json_bool(root, "complete", !answer->interrupted);
	frag_document_trace(root, "trace", answer->trace);
	frag_json_bool(root, "hypothetical", true);
	frag_json_text(root, "bound", frag_bound_name(frag_scope_part(&answer->trace->scope)));
	list = frag_json_array(root, "changes");
	for (uint32_t i = 0; i < answer->change_count; i++)
		frag_json_text(list, NULL, answer->changes[i]);
	put_source(root, "as_it_is", answer, 0, answer->trace->events);
	put_source(root, "changed", answer, 1, answer->events);
}

const struct frag_format *const frag_what_if_formats[] = {
	FRAG_TEXT_FORM("text", what_if_print), FRAG_ROWS_FORM("csv", columns, fill_csv),
	FRAG_JSON_FORM("what-if", what_if_document),
	FRAG_ROWS_FORM("markdown", shown, fill_markdown), NULL,
};
