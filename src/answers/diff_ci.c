/* diff_ci.c - a comparison for CI: Markdown, annotations of GitHub Actions, JUnit. */
#include "answers/diff_answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "answers/table.h"

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

static void put_head(FILE *f, const char *const *titles, uint32_t left)
{
	uint32_t n = 0;

	for (; titles[n]; n++)
		fprintf(f, "| %s ", titles[n]);
	fputs("|\n", f);
	for (uint32_t i = 0; i < n; i++)
		fputs(i < left ? "|---" : "|--:", f);
	fputs("|\n", f);
}

static void put_change(FILE *f, enum frag_figure_name name, const struct frag_pair *pair)
{
	const struct frag_figure *figure = &frag_figures[name];
	const struct frag_change c = frag_pair_change(figure, pair);
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], d[FRAG_NUMBER_ROOM];

	fprintf(f, "| %s", frag_run_figure_text(a, figure, pair->run));
	if (c.compared && c.difference != 0) {
		frag_percent_text(d, &c);
		fprintf(f, " (%s%s%s)", frag_difference_text(b, figure->unit, c.difference),
			figure->unit == FRAG_BYTES && *d ? ", " : "",
			figure->unit == FRAG_BYTES ? d : "");
	}
	putc(' ', f);
}

/*
 * Against the first policy each cell shows value and difference; the time in the
 * driver is a column only where a profile gave it.
 */
static void print_group(FILE *f, const struct frag_group *g)
{
	static const char *const titles[] = {
		"status",	 "policy",	  "peak reserved",  "peak allocated",
		"over bound, %", "efficiency, %", "fi_device mean", "p95",
		"max",		 "fi mean",	  "severe steps",   "OOMs",
		"device calls",
	};
	enum frag_figure_name figures[] = {
		FRAG_PEAK_RESERVED, FRAG_PEAK_ALLOCATED, FRAG_OVER_BOUND, FRAG_EFFICIENCY,
		FRAG_FI_DEVICE_MEAN, FRAG_FI_DEVICE_P95, FRAG_FI_DEVICE_MAX, FRAG_FI_MEAN,
		FRAG_SEVERE_STEPS, FRAG_OOMS, FRAG_DEVICE_CALLS, FRAG_METRIC_FIGURES,
		FRAG_METRIC_FIGURES,    /* the optional ones of below */
	};
	enum { MAX = sizeof(figures) / sizeof(figures[0]) };
	const char *heads[MAX + 3] = { NULL };
	size_t count = MAX - 2;
	char name[600];

	fputs("\n### ", f);
	frag_markdown_text(f, frag_group_path(g));
	fprintf(f, "\n\n%" PRIu64 " event%s, content ", g->runs->events, frag_s(g->runs->events));
	put_code(f, g->runs->content);
	fprintf(f, "%s\n\n", g->runs->complete ? "" : ", not read to its end");
	memcpy(heads, titles, sizeof(titles));
	if (frag_any_modelled(g)) {
		figures[count] = FRAG_DRIVER_TIME;
		heads[2 + count++] = "time in the driver, modelled";
	}
	if (frag_any_smallest(g)) {
		figures[count] = FRAG_SMALLEST;
		heads[2 + count++] = "smallest device";
	}
	put_head(f, heads, 2);
	for (uint32_t i = 0; i < g->count; i++) {
		frag_run_name(name, sizeof(name), g->pair[i].run);
		fprintf(f, "| %s | ", frag_run_status_word(g->pair[i].run));
		frag_markdown_text(f, name);
		putc(' ', f);
		for (size_t k = 0; k < count; k++)
			put_change(f, figures[k], &g->pair[i]);
		fputs("|\n", f);
	}
}

/* Only where there are several traces: of one, the table above says the same. */
static void print_summary(const struct frag_diff *diff, FILE *f)
{
	static const char *const titles[] = {
		"policy", "survives", "peak reserved", "over bound", "fi_device mean", "best trace",
		"worst trace", NULL,
	};

	if (!frag_many_traces(diff->comparison))
		return;
	fputs("\n### Over all traces\n\nGeometric means of peak reserved, against the first policy"
	      " and against the lower bound.\n\n", f);
	put_head(f, titles, 1);
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
	char name[1024];

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
		for (uint32_t k = 0; k < c->group[i].count; k++) {
			frag_pair_name(name, sizeof(name), &c->group[i], &c->group[i].pair[k]);
			print_lines(f, name, c->group[i].pair[k].conditions);
		}
	}
}

/* The cells that a row begins with. */
static void put_cells(FILE *f, const struct frag_group *g, const char *name)
{
	fputs("| ", f);
	frag_markdown_text(f, frag_group_path(g));
	fputs(" | ", f);
	frag_markdown_text(f, name);
	fputs(" | ", f);
}

/*
 * Rows of a table for metrics that differ; worse ones that decide the verdict are
 * bold.
 */
static void print_changes(FILE *f, const struct frag_group *g, const struct frag_pair *pair)
{
	char name[600], a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], d[FRAG_NUMBER_ROOM];

	frag_run_name(name, sizeof(name), pair->run);
	if (pair->base->result.status != pair->run->result.status) {
		put_cells(f, g, name);
		fprintf(f, "status | %s | %s | | | |\n", frag_run_status_word(pair->base),
			frag_run_status_word(pair->run));
	}
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);
		const bool strong = figure->decides && c.verdict == FRAG_WORSE;

		if (c.verdict == FRAG_SAME || !c.has_base || !c.has_value)
			continue;
		put_cells(f, g, name);
		fprintf(f, "%s | %s", figure->path, frag_run_figure_text(a, figure, pair->base));
		fprintf(f, " | %s | ", frag_run_figure_text(a, figure, pair->run));
		if (!c.compared) {
			fputs("| | not compared |\n", f);
			continue;
		}
		fputs(frag_difference_text(b, figure->unit, c.difference), f);
		fprintf(f, " | %s | %s%s%s |\n", frag_percent_text(d, &c), strong ? "**" : "",
			frag_verdict_name(c.verdict), strong ? "**" : "");
	}
}

static void print_place(FILE *f, const struct frag_group *g, const struct frag_pair *pair)
{
	char name[1024], text[FRAG_PLACE_ROOM];

	frag_pair_name(name, sizeof(name), g, pair);
	fputs("- ", f);
	frag_markdown_text(f, name);
	fputs(": diverge at ", f);
	frag_markdown_text(f, frag_place_text(text, &pair->first));
	fprintf(f, ", %s", frag_place_values(text, &pair->first));
	if (pair->largest.kind != FRAG_WHERE_NOWHERE) {
		fputs("; differ most at ", f);
		frag_markdown_text(f, frag_place_text(text, &pair->largest));
		fprintf(f, ", %s", frag_place_values(text, &pair->largest));
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
	static const char *const titles[] = {
		"trace", "policy", "figure", "before", "now", "difference", "%", "", NULL,
	};
	const struct frag_comparison *c = diff->comparison;
	const struct frag_outcome *o = diff->outcome;

	print_conditions(c, f);
	if (o->compared == o->verdict[FRAG_SAME])
		return;
	putc('\n', f);
	put_head(f, titles, 3);
	for (uint32_t i = 0; i < c->count; i++)
		for (uint32_t k = 0; k < c->group[i].count; k++)
			if (c->group[i].pair[k].run && c->group[i].pair[k].base)
				print_changes(f, &c->group[i], &c->group[i].pair[k]);
}

/*
 * The conditions are listed only where all hold: else the lines that are broken
 * quote their own.
 */
static void print_gate(const struct frag_diff *diff, FILE *f)
{
	const struct frag_gate *gate = diff->gate;
	char name[1024];

	if (!frag_gate_word(diff))
		return;
	fputs(gate->count ? "\n**Broken:**\n\n" : "\n**Passed.** Bad would be", f);
	for (uint32_t i = 0; i < gate->condition_count && !gate->count; i++) {
		if (!frag_gate_begins_text(gate, i))
			continue;
		fputs(i ? ", " : ": ", f);
		put_code(f, gate->conditions[i].text);
	}
	if (!gate->count)
		putc('\n', f);
	for (uint32_t i = 0; i < gate->count; i++) {
		frag_pair_name(name, sizeof(name), gate->broken[i].group, gate->broken[i].pair);
		print_lines(f, name, frag_broken_text(&gate->broken[i]));
	}
}

/* The results below are then from another program than before. */
static void print_changed(const struct frag_comparison *c, FILE *f)
{
	char text[FRAG_LINE_ROOM];
	uint32_t shown = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		if (!c->group[i].changed)
			continue;
		if (shown++ == 0)
			fputs("\n**Another trace than before:**\n\n", f);
		frag_changed_text(text, sizeof(text), &c->group[i]);
		print_lines(f, frag_group_path(&c->group[i]), text);
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
	char text[512];

	frag_outcome_text(text, sizeof(text), diff);
	fputs("## GPU memory: fragsim diff\n\n", f);
	if (c->interrupted)
		fputs("**Interrupted**: this is what was done until then.\n\n", f);
	if (c->policies && diff->standing_count) {
		frag_run_name(text, sizeof(text), diff->standings[0].run);
		fputs("Differences are those from the first policy, ", f);
		frag_markdown_text(f, text);
		fputs(".\n", f);
	} else {
		fprintf(f, "%s.\n", text);
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

static void put_broken(FILE *f, const struct frag_broken *broken)
{
	char name[1024], message[2048];

	frag_pair_name(name, sizeof(name), broken->group, broken->pair);
	snprintf(message, sizeof(message), "%s: %s", name, frag_broken_text(broken));
	put_line(f, "error", frag_group_path(broken->group), "fragsim: GPU memory", message);
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

static void put_pair(FILE *f, const struct frag_group *g, const struct frag_pair *pair)
{
	char name[1024];

	if (!pair->conditions)
		return;
	frag_pair_name(name, sizeof(name), g, pair);
	put_conditions(f, frag_group_path(g), name, pair->conditions);
}

/* Traces that are others now come before everything that compares what they gave. */
static void github_put_changed(const struct frag_diff *diff, FILE *f)
{
	const struct frag_comparison *c = diff->comparison;
	char text[FRAG_LINE_ROOM];

	for (uint32_t i = 0; i < c->count; i++) {
		if (!c->group[i].changed)
			continue;
		frag_changed_text(text, sizeof(text), &c->group[i]);
		put_line(f, diff->gate->traces ? "error" : "warning", frag_group_path(&c->group[i]),
			 "fragsim: another trace than before", text);
	}
}

/*
 * Conditions that differ come first, as they may explain the differences; then the broken
 * conditions, then the outcome.
 */
static void github_print(const void *what, const struct frag_text_style *to)
{
	const struct frag_diff *diff = what;
	FILE *f = to->f;
	const struct frag_comparison *c = diff->comparison;
	char text[512];

	github_put_changed(diff, f);
	put_conditions(f, NULL, "", c->conditions);
	for (uint32_t i = 0; i < c->count; i++) {
		put_conditions(f, frag_group_path(&c->group[i]), frag_group_path(&c->group[i]),
			       c->group[i].conditions);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			put_pair(f, &c->group[i], &c->group[i].pair[k]);
	}
	for (uint32_t i = diff->gate->traces; i < diff->gate->count; i++)
		put_broken(f, &diff->gate->broken[i]);
	frag_outcome_text(text, sizeof(text), diff);
	put_line(f, "notice", NULL, "fragsim", text);
	if (frag_better_base(diff))
		put_line(f, "notice", NULL, "fragsim: better than the baseline",
			 "--update-baseline makes this the new measure");
}

const struct frag_format frag_diff_github = { .name = "github", .text = github_print };

/* JUnit XML */

/* U+FFFE and U+FFFF are text, but no characters of XML. */
static bool is_no_character(const char *p)
{
	return strncmp(p, "\xef\xbf\xbe", 3) == 0 || strncmp(p, "\xef\xbf\xbf", 3) == 0;
}

/*
 * XML 1.0 has no place for control characters, not even escaped, nor for what is no
 * UTF-8: none is left in what is printable. U+FFFD replaces the two others.
 */
static void put_xml(FILE *f, const char *text)
{
	for (text = SHOWN(text); *text; text++) {
		if (is_no_character(text)) {
			fputs("\xef\xbf\xbd", f);
			text += 2;
			continue;
		}
		switch (*text) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			putc(*text, f);
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

/* A changed trace is an additional case before its runs. */
static uint32_t cases_of(const struct frag_group *g)
{
	return g->count + g->changed;
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
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], reason[FRAG_REASON_ROOM];

	fprintf(f, "   <system-out>status: %s\n", frag_run_status_word(run));
	if (*frag_unfinished_text(reason, pair))
		fprintf(f, "%s\n", reason);
	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change c = frag_pair_change(figure, pair);

		if (!c.has_value)
			continue;
		fprintf(f, "%s: ", figure->path);
		put_xml(f, frag_run_figure_text(a, figure, run));
		if (c.compared && c.difference != 0)
			fprintf(f, " (%s)", frag_difference_text(b, figure->unit, c.difference));
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
	char name[600];

	frag_run_name(name, sizeof(name), pair->run ? pair->run : pair->base);
	fputs("  <testcase classname=\"", f);
	put_xml(f, frag_group_path(g));
	fputs("\" name=\"", f);
	put_xml(f, name);
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
	char text[FRAG_LINE_ROOM];

	frag_changed_text(text, sizeof(text), g);
	fputs("  <testcase classname=\"", f);
	put_xml(f, frag_group_path(g));
	fputs("\" name=\"the trace itself\">\n", f);
	fputs(diff->gate->traces ? "   <failure message=\"" : "   <system-out>", f);
	put_xml(f, text);
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
		cases += cases_of(&c->group[i]);
		bad += bad_cases(diff, &c->group[i]);
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites name=\"fragsim diff\" tests=\"%u\" failures=\"%u\">\n", cases, bad);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct frag_group *g = &c->group[i];

		fputs(" <testsuite name=\"", f);
		put_xml(f, frag_group_path(g));
		fprintf(f, "\" tests=\"%u\" failures=\"%u\">\n", cases_of(g), bad_cases(diff, g));
		if (g->changed)
			junit_put_changed(diff, f, g);
		for (uint32_t k = 0; k < g->count; k++)
			put_case(diff, f, g, &g->pair[k]);
		fputs(" </testsuite>\n", f);
	}
	fputs("</testsuites>\n", f);
}

const struct frag_format frag_diff_junit = { .name = "junit", .text = junit_print };
