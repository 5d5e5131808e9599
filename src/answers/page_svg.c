/* page_svg.c - the timeline of a run as a picture without a script. */
#include "answers/page_svg.h"

#include <inttypes.h>
#include <string.h>

#include "base/format.h"

#define LEFT 84
#define RIGHT 12
#define TOP 34
#define BOTTOM 26
#define COLUMNS 432             /* of the picture: each as wide as two of its units */
#define TEXT_FAR 1.35           /* a device that is larger than so many peaks is an arrow */

/* Where things are in a panel. */
struct panel {
	const struct frag_line *line;
	double scale;                   /* units a byte */
	uint32_t columns;
	FILE *f;
};

static const struct { enum frag_line_figure figure; const char *colour, *name; } figures[] = {
	{ FRAG_LINE_RESERVED, "#b9c6d3", "reserved" },
	{ FRAG_LINE_ALLOCATED, "#0072b2", "allocated" },
	{ FRAG_LINE_NON_RELEASABLE, "#d55e00", "non_releasable" },
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

void frag_put_markup(const char *text, size_t length, FILE *f)
{
	for (const char *p = text, *end = text + length; p < end; ) {
		const char c = *p;

		if (c & ~0x7f) {
			fprintf(f, "&#%" PRIu32 ";", frag_code_point(&p, end));
			continue;
		}
		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			fprintf(f, "&#%d;", c);
		else if (c == '\n' || (c >= ' ' && c < 0x7f))
			fputc(c, f);
		else
			fputs("&#65533;", f);
		p++;
	}
}

static uint64_t most_of(const struct panel *p, uint32_t column, enum frag_line_figure figure)
{
	const uint64_t count = p->line->count;
	const uint64_t from = column * count / p->columns, to = (column + 1) * count / p->columns;
	uint64_t most = 0;

	for (uint64_t i = from; i < to; i++)
		if (p->line->bucket[i].most[figure] > most)
			most = p->line->bucket[i].most[figure];
	return most;
}

/* Steps of whole units from the left, and up and down to the next value. */
static void put_area(const struct panel *p, enum frag_line_figure figure, const char *colour)
{
	const int bottom = FRAG_SVG_HEIGHT - BOTTOM;
	int last = bottom;

	fprintf(p->f, "<path fill=\"%s\" d=\"M%d %d", colour, LEFT, bottom);
	for (uint32_t i = 0; i < p->columns; i++) {
		const int y = bottom - (int)((double)most_of(p, i, figure) * p->scale + 0.5);

		if (y != last)
			fprintf(p->f, "H%" PRIu32 "V%d", LEFT + i * (FRAG_SVG_WIDTH - LEFT - RIGHT)
				/ p->columns, y);
		last = y;
	}
	fprintf(p->f, "H%dV%dZ\"/>\n", FRAG_SVG_WIDTH - RIGHT, bottom);
}

static void page_svg_put_ooms(const struct panel *p, const struct frag_result *run, uint64_t end)
{
	for (uint32_t i = 0; i < run->oom_count && i < 20 && end; i++) {
		const int x = LEFT + (int)((double)run->ooms[i].step / (double)end
					   * (FRAG_SVG_WIDTH - LEFT - RIGHT));

		fprintf(p->f, "<path stroke=\"#a00\" stroke-width=\"2\" d=\"M%d %dV%d\"/>\n", x,
			TOP, FRAG_SVG_HEIGHT - BOTTOM);
	}
}

static void put_axis(const struct panel *p, const struct frag_result *run, uint64_t top,
		     uint64_t end)
{
	const int bottom = FRAG_SVG_HEIGHT - BOTTOM;
	const uint64_t room = run->total > run->context + run->other
			      ? run->total - run->context - run->other : 0;

	fprintf(p->f, "<path stroke=\"#888\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP,
		bottom, FRAG_SVG_WIDTH - RIGHT);
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
		bottom - (int)((double)run->peak.reserved * p->scale) + 4,
		SIZE(run->peak.reserved));
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n",
		LEFT - 6, bottom + 4);
	fprintf(p->f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">step %" PRIu64 "</text>\n",
		FRAG_SVG_WIDTH - RIGHT, FRAG_SVG_HEIGHT - 8, end ? end - 1 : 0);
	if (room && room <= top)
		fprintf(p->f, "<path stroke=\"#a00\" stroke-dasharray=\"6 4\" d=\"M%d %dH%d\"/>\n",
			LEFT, bottom - (int)((double)room * p->scale), FRAG_SVG_WIDTH - RIGHT);
}

static void put_legend(const struct panel *p)
{
	int x = LEFT;

	for (size_t i = 0; i < FIGURES; i++, x += 96)
		fprintf(p->f, "<path fill=\"%s\" d=\"M%d %dh10v10h-10z\"/><text x=\"%d\" y=\"%d\">"
			"%s</text>\n", figures[i].colour, x, FRAG_SVG_HEIGHT - 17, x + 14,
			FRAG_SVG_HEIGHT - 8, figures[i].name);
}

void frag_svg_begin(uint32_t panels, FILE *f)
{
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32 "\""
		" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		FRAG_SVG_WIDTH, panels * FRAG_SVG_HEIGHT);
}

void frag_svg_end(FILE *f)
{
	fputs("</svg>\n", f);
}

/* Scaled to the peak; a device far above it is said in words. */
void frag_svg_panel(const struct frag_result *run, const struct frag_page_device *d,
		    const char *name, uint32_t number, FILE *f)
{
	const uint64_t room = run->total > run->context + run->other
			      ? run->total - run->context - run->other : 0;
	const uint64_t peak = run->peak.reserved ? run->peak.reserved : 1;
	const bool near = room > peak && (double)room < TEXT_FAR * (double)peak;
	const uint64_t top = near ? room : peak;
	const struct panel p = {
		.line = &d->line, .f = f,
		.scale = (FRAG_SVG_HEIGHT - TOP - BOTTOM) / (double)top,
		.columns = d->line.count < COLUMNS ? d->line.count : COLUMNS,
	};

	fprintf(f, "<g transform=\"translate(0 %" PRIu32 ")\">\n<text x=\"%d\" y=\"20\""
		" font-weight=\"bold\">", number * FRAG_SVG_HEIGHT, LEFT);
	if (name) {
		frag_put_markup(name, strlen(name), f);
		fputs(", ", f);
	}
	frag_put_markup(run->choice.text, strlen(run->choice.text), f);
	if (room)
		fprintf(f, ", device %" PRIu32 ", %s usable", run->device,
			SIZE(room));
	fputs("</text>\n", f);
	for (size_t i = 0; i < FIGURES && p.columns; i++)
		put_area(&p, figures[i].figure, figures[i].colour);
	page_svg_put_ooms(&p, run, d->end);
	put_axis(&p, run, top, d->end);
	put_legend(&p);
	fputs("</g>\n", f);
}
