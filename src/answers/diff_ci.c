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

/* A value of the run, with its difference from the first policy's. */
static void put_change(struct frag_table *t, enum frag_figure_name name,
		       const struct frag_pair *pair)
{
	const struct frag_figure *figure = &frag_figures[name];
	const struct frag_change c = frag_pair_change(figure, pair);
	const char *percent = figure->unit == FRAG_BYTES ? PERCENT(&c) : "";
	struct frag_words w = WORDS(4 * FRAG_NUMBER_ROOM);

	frag_add(&w, "%s", RUN_FIGURE(figure, pair->run));
	if (c.compared && c.difference != 0)
		frag_add(&w, " (%s%s%s)", DIFFERENCE(figure->unit, c.difference),
			 *percent ? ", " : "", percent);
	frag_cell_text(t, w.text);
}

/*
 * Against the first policy each cell shows value and difference; the time in the
 * driver is a column only where a profile gave it.
 */
static void print_group(FILE *f, const struct frag_group *g)
{
	static const struct {
		const char *head;
		enum frag_figure_name figure;
	} all[] = {
		{ "peak reserved", FRAG_PEAK_RESERVED }, { "peak allocated", FRAG_PEAK_ALLOCATED },
		{ "over bound, %", FRAG_OVER_BOUND }, { "efficiency, %", FRAG_EFFICIENCY },
		{ "fi_device mean", FRAG_FI_DEVICE_MEAN }, { "p95", FRAG_FI_DEVICE_P95 },
		{ "max", FRAG_FI_DEVICE_MAX }, { "fi mean", FRAG_FI_MEAN },
		{ "severe steps", FRAG_SEVERE_STEPS }, { "OOMs", FRAG_OOMS },
		{ "device calls", FRAG_DEVICE_CALLS },
		{ "time in the driver, modelled", FRAG_DRIVER_TIME },
		{ "smallest device", FRAG_SMALLEST },
	};
	enum { ALL = sizeof(all) / sizeof(all[0]) };
	enum frag_figure_name figures[ALL];
	struct frag_column columns[ALL + 3] = {
		{ NULL, "status", FRAG_CELL_WORD }, { NULL, "policy", FRAG_CELL_TEXT },
	};
	uint32_t count = 0;
	struct frag_table t;

	fputs("\n### ", f);
	frag_markdown_text(f, frag_group_path(g));
	fprintf(f, "\n\n%" PRIu64 " event%s, content ", g->runs->events, frag_s(g->runs->events));
	put_code(f, g->runs->content);
	fprintf(f, "%s\n\n", g->runs->complete ? "" : ", not read to its end");
	for (uint32_t i = 0; i < ALL; i++) {
		if ((all[i].figure == FRAG_DRIVER_TIME && !frag_any_modelled(g))
		    || (all[i].figure == FRAG_SMALLEST && !frag_any_smallest(g)))
			continue;
		columns[2 + count] = (struct frag_column){ NULL, all[i].head, FRAG_CELL_COUNT };
		figures[count++] = all[i].figure;
	}
	frag_table_begin(&t, columns, false, f);
	for (uint32_t i = 0; i < g->count; i++) {
		frag_cell_text(&t, frag_run_status_word(g->pair[i].run));
		frag_cell_text(&t, RUN_NAME(g->pair[i].run));
		for (uint32_t k = 0; k < count; k++)
			put_change(&t, figures[k], &g->pair[i]);
	}
}

/* Only where there are several traces: of one, the table above says the same. */
static void print_summary(const struct frag_diff *diff, FILE *f)
{
	static const struct frag_column columns[] = {
		{ NULL, "policy", FRAG_CELL_TEXT }, { NULL, "survives", FRAG_CELL_COUNT },
		{ NULL, "peak reserved", FRAG_CELL_COUNT }, { NULL, "over bound", FRAG_CELL_COUNT },
		{ NULL, "fi_device mean", FRAG_CELL_COUNT }, { NULL, "best trace", FRAG_CELL_COUNT },
		{ NULL, "worst trace", FRAG_CELL_COUNT }, { 0 },
	};
	struct frag_table t;

	if (!frag_many_traces(diff->comparison))
		return;
	fputs("\n### Over all traces\n\nGeometric means of peak reserved, against the first policy"
	      " and against the lower bound.\n\n", f);
	frag_table_begin(&t, columns, false, f);
	for (uint32_t i = 0; i < diff->standing_count; i++) {
		const struct frag_policy_summary *s = &diff->standings[i];

		fputs("| ", f);
		frag_markdown_text(f, s->run->policy);
		fprintf(f, " | %" PRIu32 " of %" PRIu32, s->survived, s->runs);
		if (!s->ratios) {
			fputs(" | - | - | - | - | - |\n", f);
			continue;
		}
		frag_fprintf(f, " | %.4fx | %.2f%% | %+.2f | %.4fx ", s->ratio, s->over_bound,
			     s->fi_device, s->best_ratio);
		frag_markdown_text(f, frag_group_path(s->best));
		frag_fprintf(f, " | %.4fx ", s->worst_ratio);
		frag_markdown_text(f, frag_group_path(s->worst));
		fputs(" |\n", f);
	}
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

/* The cells that a row begins with. */
static void put_cells(struct frag_table *t, const struct frag_group *g, const char *name,
		      const char *figure)
{
	frag_cell_text(t, frag_group_path(g));
	frag_cell_text(t, name);
	frag_cell_text(t, figure);
}

/*
 * Rows of a table for metrics that differ; worse ones that decide the verdict are
 * bold.
 */
static void print_changes(struct frag_table *t, const struct frag_group *g,
			  const struct frag_pair *pair)
{
	const char *name = RUN_NAME(pair->run);
	char verdict[40];

	if (pair->base->result.status != pair->run->result.status) {
		put_cells(t, g, name, "status");
		frag_cell_text(t, frag_run_status_word(pair->base));
		frag_cell_text(t, frag_run_status_word(pair->run));
		for (int i = 0; i < 3; i++)
			frag_cell_none(t);
	}
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);
		const char *strong = figure->decides && c.verdict == FRAG_WORSE ? "**" : "";

		if (c.verdict == FRAG_SAME || !c.has_base || !c.has_value)
			continue;
		put_cells(t, g, name, figure->path);
		frag_cell_text(t, RUN_FIGURE(figure, pair->base));
		frag_cell_text(t, RUN_FIGURE(figure, pair->run));
		if (!c.compared) {
			frag_cell_none(t);
			frag_cell_none(t);
			frag_cell_text(t, "not compared");
			continue;
		}
		frag_cell_text(t, DIFFERENCE(figure->unit, c.difference));
		frag_cell_text(t, PERCENT(&c));
		snprintf(verdict, sizeof(verdict), "%s%s%s", strong, frag_verdict_name(c.verdict),
			 strong);
		frag_cell_text(t, verdict);
	}
}

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
	static const struct frag_column columns[] = {
		{ NULL, "trace", FRAG_CELL_TEXT }, { NULL, "policy", FRAG_CELL_TEXT },
		{ NULL, "figure", FRAG_CELL_WORD }, { NULL, "before", FRAG_CELL_COUNT },
		{ NULL, "now", FRAG_CELL_COUNT }, { NULL, "difference", FRAG_CELL_COUNT },
		{ NULL, "%", FRAG_CELL_COUNT }, { NULL, "", FRAG_CELL_COUNT }, { 0 },
	};
	const struct frag_comparison *c = diff->comparison;
	struct frag_table t;

	print_conditions(c, f);
	if (diff->outcome->compared == diff->outcome->verdict[FRAG_SAME])
		return;
	putc('\n', f);
	frag_table_begin(&t, columns, false, f);
	for (uint32_t i = 0; i < c->count; i++)
		for (uint32_t k = 0; k < c->group[i].count; k++)
			if (c->group[i].pair[k].run && c->group[i].pair[k].base)
				print_changes(&t, &c->group[i], &c->group[i].pair[k]);
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

const struct frag_format frag_diff_markdown = { .name = "markdown", .text = markdown_print };

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
