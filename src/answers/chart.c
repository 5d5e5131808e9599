/*
 * chart.c - a run over its steps in a few lines of plain characters.
 *
 * A chart has a fixed number of buckets, however long the trace is: when they run
 * out, adjacent buckets are merged and each counts twice as many steps.
 */
#include "answers/report.h"

#include "base/bug.h"
#include "base/format.h"

#define COLUMNS 64
#define COLUMNS_MIN 16
#define LABEL 16        /* columns that precede the picture */
#define ROWS 8

static void chart_cover(struct frag_chart_stretch *to, const struct frag_chart_stretch *with)
{
	if (with->reserved > to->reserved)
		to->reserved = with->reserved;
	if (with->allocated > to->allocated)
		to->allocated = with->allocated;
	if (with->fi_device > to->fi_device)
		to->fi_device = with->fi_device;
}

/*
 * When the buckets run out, adjacent ones are merged and the width doubles, so the
 * chart of any trace costs the same.
 */
int frag_chart_observe(void *ctx, const struct frag_step *step, struct frag_error *err)
{
	struct frag_chart *charts = ctx;
	struct frag_chart *c = &charts[step->device];
	const struct frag_chart_stretch now = {
		.reserved = step->metrics->reserved, .allocated = step->metrics->allocated,
		.fi_device = step->metrics->fi_device,
	};

	FRAG_ASSERT(c->count <= FRAG_CHART_MAX);
	(void)err;
	c->opaque = step->metrics->opaque;
	if (c->width == 0)
		c->width = 1;
	if (c->count == 0 || c->in_last == c->width) {
		if (c->count == FRAG_CHART_MAX) {
			for (uint32_t i = 0; i < FRAG_CHART_MAX / 2; i++) {
				c->stretch[i] = c->stretch[2 * i];
				chart_cover(&c->stretch[i], &c->stretch[2 * i + 1]);
			}
			c->count = FRAG_CHART_MAX / 2;
			c->width *= 2;
		}
		c->stretch[c->count++] = (struct frag_chart_stretch){ .reserved = 0 };
		c->in_last = 0;
	}
	c->in_last++;
	chart_cover(&c->stretch[c->count - 1], &now);
	return 0;
}

/* The buckets under one column of the picture. */
static struct frag_chart_stretch column(const struct frag_chart *c, uint32_t columns, uint32_t x)
{
	uint32_t from = (uint32_t)((uint64_t)x * c->count / columns);
	uint32_t to = (uint32_t)((uint64_t)(x + 1) * c->count / columns);
	struct frag_chart_stretch s = c->stretch[from];

	for (uint32_t i = from + 1; i < to; i++)
		chart_cover(&s, &c->stretch[i]);
	return s;
}

/* At most twice the usual width: any long run has that many buckets. */
static uint32_t fitting(const struct frag_chart *c, int columns)
{
	int room = columns ? columns - LABEL : COLUMNS;

	if (room < COLUMNS_MIN)
		room = COLUMNS_MIN;
	if (room > 2 * COLUMNS)
		room = 2 * COLUMNS;
	return c->count < (uint32_t)room ? c->count : (uint32_t)room;
}

/*
 * From the top row down. The character says the higher of two facts that are
 * nested: allocated never exceeds reserved.
 */
void frag_chart_print(const struct frag_chart *c, int terminal, FILE *f)
{
	uint32_t columns = fitting(c, terminal);
	uint64_t peak = 0;

	if (!c->count)
		return;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->stretch[i].reserved > peak)
			peak = c->stretch[i].reserved;
	if (!peak) {
		fprintf(f, "  nothing was ever reserved\n");
		return;
	}
	for (uint32_t row = ROWS; row > 0; row--) {
		/* a cell is filled where the value reaches its middle */
		double level = (double)peak * ((double)row - 0.5) / ROWS;

		fprintf(f, "  %12s |", row == ROWS ? SIZE(peak) : "");
		for (uint32_t x = 0; x < columns; x++) {
			struct frag_chart_stretch s = column(c, columns, x);

			fputc((double)s.allocated >= level ? '#'
			      : (double)s.reserved >= level ? ':' : ' ', f);
		}
		fputc('\n', f);
	}
	fprintf(f, "  %12s +", "0");
	for (uint32_t x = 0; x < columns; x++)
		fputc('-', f);
	if (!c->opaque)
		fprintf(f, "\n  %12s  ", "fi_device/10");
	for (uint32_t x = 0; x < columns && !c->opaque; x++) {
		int tenth = (int)(column(c, columns, x).fi_device / 10);

		fputc('0' + (tenth > 9 ? 9 : tenth), f);
	}
	fprintf(f, "\n  %12s  # allocated, : reserved, the highest of each range of steps\n", "");
}
