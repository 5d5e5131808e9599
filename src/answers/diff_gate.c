/* diff_gate.c - what broke, in the text of a comparison. */
#include "answers/diff_gate.h"

#include <inttypes.h>

#include "base/escape.h"
#include "answers/color.h"

/* A word in its colour. */
static void put_inked(const struct frag_diff *d, FILE *f, enum frag_color_code which,
		      const char *word)
{
	fprintf(f, "%s%s%s", frag_color_code(d->colour, which), word,
		frag_color_code(d->colour, INK_PLAIN));
}

static void print_conditions(const struct frag_diff *d, FILE *f)
{
	const struct frag_gate *gate = d->gate;
	char text[FRAG_PRINTABLE_ROOM];

	fprintf(f, "\nbad is:");
	for (uint32_t i = 0; i < gate->condition_count; i++) {
		if (frag_gate_begins_text(gate, i))
			fprintf(f, "%s %s", i ? "," : "",
				frag_printable(text, gate->conditions[i].text));
	}
	putc('\n', f);
}

/* A pair's name is over the first line that is about it. */
static void print_name_once(FILE *f, const struct frag_group *g,
			    const struct frag_pair *pair, const struct frag_pair **last)
{
	char name[1024];

	if (*last == pair)
		return;
	*last = pair;
	frag_pair_name(name, sizeof(name), g, pair);
	fprintf(f, "  %s\n", name);
}

static void print_better_pair(FILE *f, const struct frag_group *g,
			      const struct frag_pair *pair)
{
	const struct frag_pair *last = NULL;
	char a[FRAG_NUMBER_ROOM], b[FRAG_NUMBER_ROOM], c[FRAG_NUMBER_ROOM];

	for (uint32_t i = 0; i < FRAG_FIGURES; i++) {
		const struct frag_figure *figure = &frag_figures[i];
		const struct frag_change change = frag_pair_change(figure, pair);

		if (!figure->decides || change.verdict != FRAG_BETTER)
			continue;
		print_name_once(f, g, pair, &last);
		fprintf(f, "    %s is %s, before %s (%s)\n", figure->path,
			frag_figure_text(a, figure->unit, change.value),
			frag_figure_text(b, figure->unit, change.base),
			frag_difference_text(c, figure->unit, change.difference));
	}
}

static void print_better(const struct frag_diff *d, FILE *f)
{
	const struct frag_comparison *c = d->comparison;

	if (!frag_any_better(d))
		return;
	put_inked(d, f, INK_GREEN, "better than before");
	fputs(":\n", f);
	for (uint32_t i = 0; i < c->count; i++)
		for (uint32_t k = 0; k < c->group[i].count; k++)
			if (c->group[i].pair[k].run && c->group[i].pair[k].base)
				print_better_pair(f, &c->group[i], &c->group[i].pair[k]);
	/* not where it would take in what is broken, too */
	if (!c->now.path && !d->updated && !d->gate->count)
		fputs("  --update-baseline makes this the new measure\n", f);
}

/* What is between the bounds and the end of the report: the verdict in words. */
static void print_verdict(const struct frag_diff *d, FILE *f)
{
	const struct frag_gate *gate = d->gate;
	const uint32_t worse = d->outcome->verdict[FRAG_WORSE]
			       + d->outcome->verdict[FRAG_MIXED];

	if (!gate->count && !frag_gate_word(d))
		return;
	put_inked(d, f, gate->count ? INK_RED : INK_GREEN, gate->count ? "broken" : "passed");
	if (gate->count)
		fputs(":\n", f);
	else if (worse && !d->comparison->policies)
		fprintf(f, ": %" PRIu32 " run%s worse, within these bounds\n", worse,
			worse == 1 ? " is" : "s are");
	else
		fputs(": nothing is broken\n", f);
}

void frag_diff_text_gate(const struct frag_diff *d, FILE *f)
{
	const struct frag_gate *gate = d->gate;
	const struct frag_pair *last = NULL;
	char text[FRAG_PRINTABLE_ROOM];

	if (gate->condition_count)
		print_conditions(d, f);
	else if (frag_any_better(d))
		putc('\n', f);
	print_verdict(d, f);
	for (uint32_t i = 0; i < gate->count; i++) {
		const struct frag_broken *b = &gate->broken[i];

		if (b->pair)
			print_name_once(f, b->group, b->pair, &last);
		else
			fprintf(f, "  %s\n", frag_printable(text, frag_group_path(b->group)));
		fprintf(f, "    %s\n", frag_printable(text, frag_broken_text(b)));
	}
	print_better(d, f);
	if (d->updated)
		fprintf(f, "%s was written again\n",
			frag_printable(text, d->comparison->base.path));
}
