/* diff_csv.c - a comparison as rows: one a run and figure. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/escape.h"
#include "answers/diff_formats.h"

static bool put_field(FILE *f, const char *text)
{
	char shown[FRAG_PRINTABLE_ROOM], *field;
	size_t length;

	text = frag_printable(shown, text);
	length = strlen(text);
	field = malloc(2 * length + 2);
	if (!field)
		return false;
	fwrite(field, 1, (size_t)(frag_put_csv(field, text, length) - field), f);
	free(field);
	putc(',', f);
	return true;
}

static void put_value(FILE *f, enum frag_unit unit, bool there, double value)
{
	if (there)
		frag_fprintf(f, unit == FRAG_POINTS ? "%.4f" : "%.0f", value);
	putc(',', f);
}

/* Numbers only: a peak that was cut is none, and left out, with what is made of it. */
static bool is_whole(const struct frag_figure *figure, const struct frag_run *run)
{
	return run && (run->result.status == FRAG_RUN_OK || !frag_figure_is_of_peaks(figure));
}

static bool put_row(FILE *f, const struct frag_group *g, const struct frag_pair *pair,
		    const struct frag_figure *figure)
{
	const struct frag_run *run = pair->run ? pair->run : pair->base;
	const struct frag_change c = frag_pair_change(figure, pair);

	if (!frag_figure_is_listed(figure, &c))
		return true;
	if (!put_field(f, frag_group_path(g)) || !put_field(f, run->policy))
		return false;
	fprintf(f, "%u,%s,%s,", run->result.device,
		pair->run ? frag_run_status_name(pair->run->result.status) : "", figure->path);
	put_value(f, figure->unit, c.has_base && is_whole(figure, pair->base), c.base);
	put_value(f, figure->unit, c.has_value && is_whole(figure, pair->run), c.value);
	put_value(f, figure->unit, c.compared, c.difference);
	if (c.has_percent)
		frag_fprintf(f, "%.4f", c.percent);
	fprintf(f, ",%s\n", c.compared ? frag_verdict_name(c.verdict)
		: (c.has_base && c.has_value) || (c.has_value && !is_whole(figure, pair->run))
		? "unfinished" : "");
	return true;
}

/* A row of the trace itself, in front of its runs. */
static bool put_changed(FILE *f, const struct frag_diff *diff, const struct frag_group *g)
{
	if (!g->changed)
		return true;
	if (!put_field(f, frag_group_path(g)))
		return false;
	fputs(",,,content,", f);
	if (!put_field(f, g->base->content) || !put_field(f, g->runs->content))
		return false;
	fprintf(f, ",,%s\n", diff->gate->traces ? "broken" : "changed");
	return true;
}

static int print(const struct frag_diff *diff, FILE *f, struct frag_error *err)
{
	const struct frag_comparison *c = diff->comparison;

	fputs("trace,policy,device,status,figure,base,value,difference,percent,verdict\n", f);
	for (uint32_t i = 0; i < c->count; i++) {
		if (!put_changed(f, diff, &c->group[i]))
			return frag_fail_nomem(err);
		for (uint32_t k = 0; k < c->group[i].count; k++)
			for (uint32_t n = 0; n < FRAG_FIGURES; n++)
				if (!put_row(f, &c->group[i], &c->group[i].pair[k],
					     &frag_figures[n]))
					return frag_fail_nomem(err);
	}
	return 0;
}

const struct frag_diff_format frag_diff_csv = { .name = "csv", .print = print };
