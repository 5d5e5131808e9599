/* diff_junit.c - a comparison as JUnit's XML: a suite a trace, a case a run. */
#include <string.h>

#include "base/escape.h"
#include "answers/diff_formats.h"

/* U+FFFE and U+FFFF are text, but no characters of XML. */
static bool is_no_character(const char *p)
{
	return strncmp(p, "\xef\xbf\xbe", 3) == 0 || strncmp(p, "\xef\xbf\xbf", 3) == 0;
}

/*
 * XML 1.0 has no place for control characters, not even escaped, nor for what is no
 * UTF-8: none is left in what is printable. U+FFFD stands for the rest.
 */
static void put_xml(FILE *f, const char *text)
{
	char shown[FRAG_PRINTABLE_ROOM];

	for (text = frag_printable(shown, text); *text; text++) {
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

/* A trace that has changed is a case of its own, in front of its runs. */
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
 * A run is a test case: each condition that holds for it is a failure, its figures
 * are properties.
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

static void put_changed(const struct frag_diff *diff, FILE *f, const struct frag_group *g)
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
static int print(const struct frag_diff *diff, FILE *f, struct frag_error *err)
{
	const struct frag_comparison *c = diff->comparison;
	uint32_t cases = 0, bad = 0;

	(void)err;
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
			put_changed(diff, f, g);
		for (uint32_t k = 0; k < g->count; k++)
			put_case(diff, f, g, &g->pair[k]);
		fputs(" </testsuite>\n", f);
	}
	fputs("</testsuites>\n", f);
	return 0;
}

const struct frag_diff_format frag_diff_junit = { .name = "junit", .print = print };
