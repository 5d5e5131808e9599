/* step_series.c - metrics over the steps of a run: buckets of all steps, and the last single ones. */
#include "html_report/step_series.h"

static void step_series_cover(struct frag_series_bucket *to, const struct frag_series_bucket *with)
{
	for (int i = 0; i < FRAG_LINE_FIGURES; i++) {
		if (with->least[i] < to->least[i])
			to->least[i] = with->least[i];
		if (with->most[i] > to->most[i])
			to->most[i] = with->most[i];
	}
}

/* Merges adjacent buckets. */
static void step_series_halve(struct frag_line *line)
{
	for (uint32_t i = 0; 2 * i < line->count; i++) {
		line->bucket[i] = line->bucket[2 * i];
		if (2 * i + 1 < line->count)
			step_series_cover(&line->bucket[i], &line->bucket[2 * i + 1]);
	}
	line->count = (line->count + 1) / 2;
	line->shift++;
}

struct frag_series_bucket *frag_line_make(struct frag_line *line, uint64_t step)
{
	static const struct frag_series_bucket none = {
		.least = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	};

	while (step >> line->shift >= FRAG_LINE_MAX)
		step_series_halve(line);
	while (line->count <= step >> line->shift)
		line->bucket[line->count++] = none;
	return &line->bucket[step >> line->shift];
}

void frag_line_fill(struct frag_line *line)
{
	for (uint32_t i = 1; i < line->count; i++)
		if (line->bucket[i].least[0] > line->bucket[i].most[0])
			line->bucket[i] = line->bucket[i - 1];
	if (line->count && line->bucket[0].least[0] > line->bucket[0].most[0])
		line->bucket[0] = (struct frag_series_bucket){ .least = { 0 } };
}

void frag_window_take(struct frag_window_line *to, const struct frag_window_line *ring)
{
	const uint64_t first = ring->seen > FRAG_PAGE_STEPS_MAX ? ring->seen - FRAG_PAGE_STEPS_MAX : 0;

	to->count = 0;
	to->taken = true;
	for (uint64_t i = first; i < ring->seen; i++)
		to->step[to->count++] = ring->step[i % FRAG_PAGE_STEPS_MAX];
}
