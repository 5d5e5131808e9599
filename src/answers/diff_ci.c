/* diff_ci.c - a comparison for CI: Markdown, annotations of GitHub Actions, JUnit. */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <string.h>


/* Markdown -------------------------------------------------------------------- */

#define PLACES_MAX 20           /* pairs whose divergences are shown */

/* Between backticks nothing is markup but a backtick, which cannot be escaped there. */
static void put_code(FILE *f, const char *text)
{
	putc('`', f);
	for (text = SHOWN(text); *text; text++)
		putc(*text == '`' ? '\'' : *text, f);
	putc('`', f);
}

static const char *pair_status(const void *pair, char *buf)
{
	(void)buf;
	return frag_run_status_word(((const struct frag_pair *)pair)->run);
}

static const char *pair_policy(const void *pair, char *buf)
{
	return frag_run_name(buf, FRAG_ELEMENT_MAX, ((const struct frag_pair *)pair)->run);
}

/* A value of the run, with its difference from the first policy's. */
static const char *pair_figure(const struct frag_pair *pair, enum frag_figure_name name, char *buf)
{
	const struct frag_figure *figure = &frag_figures[name];
	const struct frag_change c = frag_pair_change(figure, pair);
	const char *percent = figure->unit == FRAG_BYTES ? PERCENT(&c) : "";
	struct frag_words w = { .text = buf, .size = FRAG_ELEMENT_MAX };

	frag_add(&w, "%s", RUN_FIGURE(figure, pair->run));
	if (c.compared && c.difference != 0)
		frag_add(&w, " (%s%s%s)", DIFFERENCE(figure->unit, c.difference),
			 *percent ? ", " : "", percent);
	return buf;
}

#define PAIR_COLUMNS(X)                                                                         \
	X("peak reserved", peak_reserved, PEAK_RESERVED)                                        \
	X("peak allocated", peak_allocated, PEAK_ALLOCATED)                                     \
	X("over bound, %", over_bound, OVER_BOUND) X("efficiency, %", efficiency, EFFICIENCY)   \
	X("fi_device mean", fi_device_mean, FI_DEVICE_MEAN) X("p95", fi_device_p95, FI_DEVICE_P95) \
	X("max", fi_device_max, FI_DEVICE_MAX) X("fi mean", fi_mean, FI_MEAN)                   \
	X("severe events", severe_steps, SEVERE_STEPS) X("OOMs", ooms, OOMS)                    \
	X("device calls", device_calls, DEVICE_CALLS)                                           \
	X("time in the driver, modelled", driver_time, DRIVER_TIME)                             \
	X("smallest device", smallest, SMALLEST)
#define X(head, name, figure)                                                                   \
	static const char *pair_##name(const void *pair, char *buf)                             \
	{                                                                                       \
		return pair_figure(pair, FRAG_##figure, buf);                                   \
	}
PAIR_COLUMNS(X)
#undef X

#define X(head, name, figure) { NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, head, .text = pair_##name },
static const struct frag_field pair_columns[] = {
	{ NULL, FRAG_TYPE_WORD, FRAG_WHOLE, NULL, NULL, "status", .text = pair_status },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, NULL, "policy", .text = pair_policy },
	PAIR_COLUMNS(X) { 0 },
};
#undef X

/*
 * Against the first policy each cell shows value and difference; the time in the driver is a column only
 * where a profile gave it, and the smallest device where it was searched for.
 */
static void print_group(FILE *f, const struct frag_group *g)
{
	struct frag_field columns[sizeof(pair_columns) / sizeof(pair_columns[0])], *to = columns;
	const struct frag_field rows = {
		NULL, FRAG_TYPE_LIST, FRAG_ARRAY(group, pair, count), .fields = columns,
	};

	fputs("\n### ", f);
	frag_markdown_text(f, frag_group_path(g));
	fprintf(f, "\n\n%" PRIu64 " event%s, content ", g->runs->events, frag_s(g->runs->events));
	put_code(f, g->runs->content);
	fprintf(f, "%s\n\n", g->runs->complete ? "" : ", not read to its end");
	for (uint32_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if ((pair_columns[i].text != pair_driver_time || frag_any_modelled(g))
		    && (pair_columns[i].text != pair_smallest || frag_any_smallest(g)))
			*to++ = pair_columns[i];
	frag_table_print(&rows, FRAG_TABLE_MARKDOWN, g, f);
}

static const char *standing_policy(const void *standing, char *buf)
{
	(void)buf;
	return ((const struct frag_policy_summary *)standing)->run->policy;
}

static const char *standing_survives(const void *standing, char *buf)
{
	const struct frag_policy_summary *s = standing;

	snprintf(buf, FRAG_NUMBER_ROOM, "%" PRIu32 " of %" PRIu32, s->survived, s->runs);
	return buf;
}

/* NULL: there is no mean of no trace. */
#define STANDING(name, format)                                                                  \
	static const char *standing_##name(const void *standing, char *buf)                     \
	{                                                                                       \
		const struct frag_policy_summary *s = standing;                                 \
												\
		frag_snprintf(buf, FRAG_NUMBER_ROOM, format, s->name);                          \
		return s->ratios ? buf : NULL;                                                  \
	}
STANDING(ratio, "%.4fx")
STANDING(over_bound, "%.2f%%")
STANDING(fi_device, "%+.2f")
#undef STANDING

/* "1.0000x resnet50.ndjson" */
static const char *standing_trace(const struct frag_policy_summary *s, const struct frag_group *g,
				  double ratio, char *buf)
{
	char name[FRAG_ELEMENT_MAX - FRAG_NUMBER_ROOM];

	if (!s->ratios)
		return NULL;
	frag_snprintf(buf, FRAG_ELEMENT_MAX, "%.4fx %s", ratio,
		      frag_markdown_of(name, sizeof(name), frag_group_path(g)));
	return buf;
}

static const char *standing_best(const void *of, char *buf)
{
	const struct frag_policy_summary *s = of;

	return standing_trace(s, s->best, s->best_ratio, buf);
}

static const char *standing_worst(const void *of, char *buf)
{
	const struct frag_policy_summary *s = of;

	return standing_trace(s, s->worst, s->worst_ratio, buf);
}

static const struct frag_field standing_columns[] = {
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, NULL, "policy", .text = standing_policy },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "survives", .text = standing_survives },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "peak reserved", .text = standing_ratio },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "over bound", .text = standing_over_bound },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "fi_device mean", .text = standing_fi_device },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "best trace", .text = standing_best },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "worst trace", .text = standing_worst },
	{ 0 },
}, standings[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_ARRAY(diff, standings, standing_count), .fields = standing_columns },
	{ 0 },
};

/* Only where there are several traces: of one, the table above says the same. */
static void print_summary(const struct frag_diff *diff, FILE *f)
{
	if (!frag_many_traces(diff->comparison))
		return;
	fputs("\n### Over all traces\n\nGeometric means of peak reserved, against the first policy"
	      " and against the lower bound.\n\n", f);
	frag_table_print(standings, FRAG_TABLE_MARKDOWN, diff, f);
}

static void print_lines(FILE *f, const char *what, const char *lines)
{
	char line[FRAG_LINE_ROOM];

	while (frag_next_line(&lines, line)) {
		fputs("- ", f);
		frag_markdown_text(f, what);
		fputs(*what ? ": " : "", f);
		frag_markdown_text(f, line);
		putc('\n', f);
	}
}

/* The heading appears only where at least one line follows it. */
static void print_conditions(const struct frag_comparison *c, FILE *f)
{
	bool any = c->conditions != NULL;

	for (uint32_t i = 0; i < c->count; i++) {
		any |= c->group[i].conditions != NULL;
		for (uint32_t k = 0; k < c->group[i].count; k++)
			any |= c->group[i].pair[k].conditions != NULL;
	}
	if (!any)
		return;
	fputs("\n**The conditions differ:**\n\n", f);
	print_lines(f, "", c->conditions);
	for (uint32_t i = 0; i < c->count; i++) {
		print_lines(f, frag_group_path(&c->group[i]), c->group[i].conditions);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			print_lines(f, PAIR_NAME(&c->group[i], &c->group[i].pair[k]),
				    c->group[i].pair[k].conditions);
	}
}

/* A status or a metric of a pair that differs. */
static bool changed_shows(const struct frag_diff_row *row)
{
	if (!row->pair || !row->pair->run || !row->pair->base)
		return false;
	if (!row->figure)
		return row->pair->base->result.status != row->pair->run->result.status;
	return row->change.verdict != FRAG_SAME && row->change.has_base && row->change.has_value;
}

static bool changed_at(const void *of, uint32_t i, void *element)
{
	if (!i)
		*(struct frag_diff_row *)element = (struct frag_diff_row){ .index = 0 };
	return frag_diff_next(element, ((const struct frag_diff *)of)->comparison, changed_shows);
}

static const char *changed_policy(const void *row, char *buf)
{
	return pair_policy(((const struct frag_diff_row *)row)->pair, buf);
}

static const char *changed_figure(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	(void)buf;
	return row->figure ? row->figure->path : "status";
}

static const char *changed_side(const struct frag_diff_row *row, const struct frag_run *run, char *buf)
{
	return row->figure ? frag_run_figure_text(buf, row->figure, run) : frag_run_status_word(run);
}

static const char *changed_before(const void *row, char *buf)
{
	return changed_side(row, ((const struct frag_diff_row *)row)->pair->base, buf);
}

static const char *changed_now(const void *row, char *buf)
{
	return changed_side(row, ((const struct frag_diff_row *)row)->pair->run, buf);
}

static const char *changed_difference(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	return row->figure && row->change.compared
		       ? frag_difference_text(buf, row->figure->unit, row->change.difference) : NULL;
}

static const char *changed_percent(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;

	return row->figure && row->change.compared ? frag_percent_text(buf, &row->change) : NULL;
}

/* A worse one that decides the verdict is bold. */
static const char *changed_verdict(const void *of, char *buf)
{
	const struct frag_diff_row *row = of;
	const char *strong;

	if (!row->figure || !row->change.compared)
		return row->figure ? "not compared" : NULL;
	strong = row->figure->decides && row->change.verdict == FRAG_WORSE ? "**" : "";
	snprintf(buf, FRAG_NUMBER_ROOM, "%s%s%s", strong, frag_verdict_name(row->change.verdict), strong);
	return buf;
}

static const struct frag_field changed_columns[] = {
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, NULL, "trace", .text = frag_diff_trace },
	{ NULL, FRAG_TYPE_TEXT, FRAG_WHOLE, NULL, NULL, "policy", .text = changed_policy },
	{ NULL, FRAG_TYPE_WORD, FRAG_WHOLE, NULL, NULL, "figure", .text = changed_figure },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "before", .text = changed_before },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "now", .text = changed_now },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "difference", .text = changed_difference,
	  .blank = true },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "%", .text = changed_percent, .blank = true },
	{ NULL, FRAG_TYPE_FIGURE, FRAG_WHOLE, NULL, NULL, "", .text = changed_verdict, .blank = true },
	{ 0 },
}, changed_rows[] = {
	{ NULL, FRAG_TYPE_LIST, FRAG_WHOLE, .fields = changed_columns, .each = changed_at }, { 0 },
};

static void print_place(FILE *f, const struct frag_group *g, const struct frag_pair *pair)
{
	fputs("- ", f);
	frag_markdown_text(f, PAIR_NAME(g, pair));
	fputs(": diverge at ", f);
	frag_markdown_text(f, PLACE(&pair->first));
	fprintf(f, ", %s", PLACE_VALUES(&pair->first));
	if (pair->largest.kind != FRAG_WHERE_NOWHERE) {
		fputs("; differ most at ", f);
		frag_markdown_text(f, PLACE(&pair->largest));
		fprintf(f, ", %s", PLACE_VALUES(&pair->largest));
	}
	putc('\n', f);
}

static void print_places(const struct frag_comparison *c, FILE *f)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		for (uint32_t k = 0; k < c->group[i].count; k++) {
			const struct frag_pair *pair = &c->group[i].pair[k];

			if (pair->first.kind == FRAG_WHERE_NOWHERE || shown == PLACES_MAX)
				continue;
			if (shown++ == 0)
				fputs("\n<details><summary>Where they diverge</summary>\n\n", f);
			print_place(f, &c->group[i], pair);
		}
	}
	if (shown)
		fputs("\n</details>\n", f);
}

static void print_runs(const struct frag_diff *diff, FILE *f)
{
	print_conditions(diff->comparison, f);
	if (diff->outcome->compared == diff->outcome->verdict[FRAG_SAME])
		return;
	putc('\n', f);
	frag_table_print(changed_rows, FRAG_TABLE_MARKDOWN, diff, f);
}

/*
 * The conditions are listed only where all hold: else the lines that are broken
 * quote their own.
 */
static void print_gate(const struct frag_diff *diff, FILE *f)
{
	const struct frag_gate *gate = diff->gate;

	if (!frag_gate_word(diff))
		return;
	if (gate->count)
		fputs("\n**Broken:**\n\n", f);
	else
		fprintf(f, "\n**Passed:** %s. It fails if", CHECKED(gate));
	for (uint32_t i = 0; i < gate->condition_count && !gate->count; i++) {
		if (!frag_gate_begins_text(gate, i))
			continue;
		fputs(i ? ", " : ": ", f);
		put_code(f, gate->conditions[i].text);
	}
	if (!gate->count)
		putc('\n', f);
	for (uint32_t i = 0; i < gate->count; i++)
		print_lines(f, PAIR_NAME(gate->broken[i].group, gate->broken[i].pair),
			    frag_broken_text(&gate->broken[i]));
}

/* The results below are then from another program than before. */
static void print_changed(const struct frag_comparison *c, FILE *f)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		if (!c->group[i].changed)
			continue;
		if (shown++ == 0)
			fputs("\n**Another trace than before:**\n\n", f);
		print_lines(f, frag_group_path(&c->group[i]), CHANGED_TEXT(&c->group[i]));
	}
}

/*
 * Between policies the first is the reference, and tables go by trace; between two results each
 * run is compared with its own earlier one, and one table has them all.
 */
static void markdown_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_diff *diff = what;
	FILE *f = to->f;
	const struct frag_comparison *c = diff->comparison;

	fputs("## GPU memory: fragsim diff\n\n", f);
	if (c->interrupted)
		fputs("**Interrupted**: this is what was done until then.\n\n", f);
	if (c->policies && diff->standing_count) {
		fputs("Differences are those from the first policy, ", f);
		frag_markdown_text(f, RUN_NAME(diff->standings[0].run));
		fputs(".\n", f);
	} else {
		fprintf(f, "%s.\n", OUTCOME(diff));
	}
	print_changed(c, f);
	print_gate(diff, f);
	for (uint32_t i = 0; i < c->count && c->policies; i++)
		if (c->group[i].count)
			print_group(f, &c->group[i]);
	if (c->policies)
		print_summary(diff, f);
	else
		print_runs(diff, f);
	print_places(c, f);
	if (frag_better_base(diff))
		fputs("\nSome of it is better than the baseline: `--update-baseline` makes that the"
		      " new measure.\n", f);
}

const struct frag_format frag_diff_markdown = {
	.name = "markdown", .table = FRAG_TABLE_MARKDOWN, .text = markdown_print,
};

/* Annotations of GitHub Actions ---------------------------------------------- */

/* '%' is special in a message, ':' and ',' in a property as well. */
static void put_escaped(FILE *f, const char *text, bool property)
{
	for (text = SHOWN(text); *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '%' || (property && (c == ':' || c == ',')))
			fprintf(f, "%%%02X", c);
		else
			putc(c, f);
	}
}

static void put_line(FILE *f, const char *level, const char *file, const char *title,
		     const char *message)
{
	fprintf(f, "::%s ", level);
	if (file && strcmp(file, "-") != 0) {
		fputs("file=", f);
		put_escaped(f, file, true);
		putc(',', f);
	}
	fputs("title=", f);
	put_escaped(f, title, true);
	fputs("::", f);
	put_escaped(f, message, false);
	putc('\n', f);
}

/* A warning for each condition of a file that differs from the base. */
static void put_conditions(FILE *f, const char *file, const char *name, const char *lines)
{
	char line[FRAG_LINE_ROOM], message[FRAG_LINE_ROOM + 512];

	while (frag_next_line(&lines, line)) {
		snprintf(message, sizeof(message), "%.400s%s%s", name, *name ? ": " : "", line);
		put_line(f, "warning", file, "fragsim: conditions differ", message);
	}
}

/*
 * Traces that are others now, and conditions that differ, come first, as they may explain the
 * differences; then the broken conditions, then the outcome.
 */
static void github_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_diff *diff = what;
	const struct frag_comparison *c = diff->comparison;
	char message[2048];
	FILE *f = to->f;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		if (g->changed)
			put_line(f, diff->gate->traces ? "error" : "warning", frag_group_path(g),
				 "fragsim: another trace than before", CHANGED_TEXT(g));
	}
	put_conditions(f, NULL, "", c->conditions);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		put_conditions(f, frag_group_path(g), frag_group_path(g), g->conditions);
		for (uint32_t k = 0; k < g->count; k++)
			put_conditions(f, frag_group_path(g), PAIR_NAME(g, &g->pair[k]),
				       g->pair[k].conditions);
	}
	for (uint32_t i = diff->gate->traces; i < diff->gate->count; i++) {
		const struct frag_broken *b = &diff->gate->broken[i];

		snprintf(message, sizeof(message), "%s: %s", PAIR_NAME(b->group, b->pair),
			 frag_broken_text(b));
		put_line(f, "error", frag_group_path(b->group), "fragsim: GPU memory", message);
	}
	put_line(f, "notice", NULL, "fragsim", OUTCOME(diff));
	if (frag_gate_word(diff) && !diff->gate->count)
		put_line(f, "notice", NULL, "fragsim: passed", CHECKED(diff->gate));
	if (frag_better_base(diff))
		put_line(f, "notice", NULL, "fragsim: better than the baseline",
			 "--update-baseline makes this the new measure");
}

const struct frag_format frag_diff_github = { .name = "github", .text = github_print };

/* JUnit XML */

/*
 * XML 1.0 has no place for control characters, not even escaped, nor for what is no
 * UTF-8: none is left in what is printable. U+FFFD replaces U+FFFE and U+FFFF, which are text, but
 * no characters of XML.
 */
static void put_xml(FILE *f, const char *text)
{
	static const char *const escapes[][2] = {
		{ "&", "&amp;" }, { "<", "&lt;" }, { ">", "&gt;" }, { "\"", "&quot;" },
		{ "\xef\xbf\xbe", "\xef\xbf\xbd" }, { "\xef\xbf\xbf", "\xef\xbf\xbd" },
	};
	size_t n = 0;

	for (text = SHOWN(text); *text; text += n) {
		n = 0;
		for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]) && !n; i++)
			if (strncmp(text, escapes[i][0], strlen(escapes[i][0])) == 0) {
				fputs(escapes[i][1], f);
				n = strlen(escapes[i][0]);
			}
		if (!n) {
			putc(*text, f);
			n = 1;
		}
	}
}

static uint32_t failures_of(const struct frag_diff *diff, const struct frag_group *g,
			    const struct frag_pair *pair)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < diff->gate->count; i++)
		n += diff->gate->broken[i].group == g
		     && (!pair || diff->gate->broken[i].pair == pair);
	return n;
}

/* Cases with a failure, which is how a suite counts them. */
static uint32_t bad_cases(const struct frag_diff *diff, const struct frag_group *g)
{
	uint32_t n = g->changed && diff->gate->traces;

	for (uint32_t i = 0; i < g->count; i++)
		n += failures_of(diff, g, &g->pair[i]) > 0;
	return n;
}

static void put_figures(FILE *f, const struct frag_pair *pair)
{
	const struct frag_run *run = pair->run ? pair->run : pair->base;
	char reason[FRAG_REASON_ROOM];

	fprintf(f, "   <system-out>status: %s\n", frag_run_status_word(run));
	if (*frag_unfinished_text(reason, pair))
		fprintf(f, "%s\n", reason);
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);

		if (!c.has_value)
			continue;
		fprintf(f, "%s: ", figure->path);
		put_xml(f, RUN_FIGURE(figure, run));
		if (c.compared && c.difference != 0)
			fprintf(f, " (%s)", DIFFERENCE(figure->unit, c.difference));
		putc('\n', f);
	}
	fputs("</system-out>\n", f);
}

/*
 * A run is a test case: each broken condition is a failure, its values are its
 * output.
 */
static void put_case(const struct frag_diff *diff, FILE *f, const struct frag_group *g,
		     const struct frag_pair *pair)
{
	fputs("  <testcase classname=\"", f);
	put_xml(f, frag_group_path(g));
	fputs("\" name=\"", f);
	put_xml(f, RUN_NAME(pair->run ? pair->run : pair->base));
	fputs("\">\n", f);
	for (uint32_t i = 0; i < diff->gate->count; i++) {
		const struct frag_broken *broken = &diff->gate->broken[i];

		if (broken->group != g || broken->pair != pair)
			continue;
		fputs("   <failure message=\"", f);
		put_xml(f, frag_broken_text(broken));
		fputs("\"/>\n", f);
	}
	put_figures(f, pair);
	fputs("  </testcase>\n", f);
}

static void junit_put_changed(const struct frag_diff *diff, FILE *f, const struct frag_group *g)
{
	fputs("  <testcase classname=\"", f);
	put_xml(f, frag_group_path(g));
	fputs("\" name=\"the trace itself\">\n", f);
	fputs(diff->gate->traces ? "   <failure message=\"" : "   <system-out>", f);
	put_xml(f, CHANGED_TEXT(g));
	fputs(diff->gate->traces ? "\"/>\n" : "</system-out>\n", f);
	fputs("  </testcase>\n", f);
}

/*
 * JUnit requires the counts in front, so the failing cases are counted before they
 * are written.
 */
static void junit_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_diff *diff = what;
	FILE *f = to->f;
	const struct frag_comparison *c = diff->comparison;
	uint32_t cases = 0, bad = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		cases += c->group[i].count + c->group[i].changed;
		bad += bad_cases(diff, &c->group[i]);
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"fragsim diff\" tests=\"%u\" failures=\"%u\">\n", cases, bad);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		fputs(" <testsuite name=\"", f);
		put_xml(f, frag_group_path(g));
		fprintf(f, "\" tests=\"%u\" failures=\"%u\">\n", g->count + g->changed, bad_cases(diff, g));
		if (g->changed)
			junit_put_changed(diff, f, g);
		for (uint32_t k = 0; k < g->count; k++)
			put_case(diff, f, g, &g->pair[k]);
		fputs(" </testsuite>\n", f);
	}
	fputs("</testsuites>\n", f);
}

const struct frag_format frag_diff_junit = { .name = "junit", .text = junit_print };
