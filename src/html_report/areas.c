/* areas.c - rectangles of addresses and steps, and the sums of those that are too many. */
#include "html_report/areas.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "fragsim/error.h"

#define ROW_SHIFT_LEAST 9       /* blocks are rarely smaller */

/* The square of what is compared. It may exceed 64 bits, and needs no exact digits. */
static double shown(const struct frag_area *a)
{
	return (double)a->bytes * (double)a->bytes * (double)(a->end - a->birth);
}

static void join_columns(struct frag_areas *areas)
{
	for (uint32_t l = 0; l < areas->lane_count; l++)
		for (uint32_t r = 0; r < areas->lanes[l].rows; r++) {
			uint64_t *row = &areas->lanes[l].cells[(size_t)r * FRAG_RASTER_COLUMNS];

			for (uint32_t i = 0; i < FRAG_RASTER_COLUMNS / 2; i++)
				row[i] = row[2 * i] + row[2 * i + 1];
			memset(row + FRAG_RASTER_COLUMNS / 2, 0,
			       FRAG_RASTER_COLUMNS / 2 * sizeof(*row));
		}
	areas->column_shift++;
}

static void join_rows(struct frag_areas *areas)
{
	areas->rows = 0;
	for (uint32_t l = 0; l < areas->lane_count; l++) {
		struct frag_lane *lane = &areas->lanes[l];
		const uint32_t rows = lane->rows;

		for (uint32_t r = 0; r < rows; r++) {
			const uint64_t *from = &lane->cells[(size_t)r * FRAG_RASTER_COLUMNS];
			uint64_t *to = &lane->cells[(size_t)(r / 2) * FRAG_RASTER_COLUMNS];

			for (uint32_t i = 0; i < FRAG_RASTER_COLUMNS; i++)
				to[i] = r % 2 ? to[i] + from[i] : from[i];
		}
		lane->rows = (rows + 1) / 2;
		areas->rows += lane->rows;
	}
	areas->row_shift++;
}

/* So that the cell of the last byte and the last step is there. */
static bool make_cells(struct frag_areas *areas, const struct frag_area *a)
{
	struct frag_lane *lane = &areas->lanes[a->lane];
	const uint64_t last = a->y + a->bytes - 1;
	uint64_t rows;

	if (!areas->row_shift)
		areas->row_shift = ROW_SHIFT_LEAST;
	while ((a->end - 1) >> areas->column_shift >= FRAG_RASTER_COLUMNS)
		join_columns(areas);
	rows = (last >> areas->row_shift) + 1;
	while (rows > lane->rows && areas->rows - lane->rows + rows > FRAG_RASTER_ROWS
	       && rows > 1) {
		join_rows(areas);
		rows = (last >> areas->row_shift) + 1;
	}
	if (rows <= lane->rows)
		return true;
	if (!frag_grow(&lane->cells, &lane->row_capacity, rows,
		       FRAG_RASTER_COLUMNS * sizeof(*lane->cells)))
		return false;
	memset(&lane->cells[(size_t)lane->rows * FRAG_RASTER_COLUMNS], 0,
	       (rows - lane->rows) * FRAG_RASTER_COLUMNS * sizeof(*lane->cells));
	areas->rows += (uint32_t)rows - lane->rows;
	lane->rows = (uint32_t)rows;
	return true;
}

/* How much of [from, to) is in cell i of those that are 1 << shift long. */
static uint64_t rectangles_share(uint64_t from, uint64_t to, uint64_t i, uint32_t shift)
{
	const uint64_t begin = i << shift, end = (i + 1) << shift;

	return (to < end ? to : end) - (from > begin ? from : begin);
}

/* In every cell that it covers, its part of it. */
static void rectangles_cover(struct frag_areas *areas, const struct frag_area *a)
{
	const uint64_t y_end = a->y + a->bytes;
	const uint64_t first = a->birth >> areas->column_shift;
	const uint64_t last = (a->end - 1) >> areas->column_shift;

	for (uint64_t r = a->y >> areas->row_shift; r <= (y_end - 1) >> areas->row_shift; r++) {
		const uint64_t bytes = rectangles_share(a->y, y_end, r, areas->row_shift);
		uint64_t *row = &areas->lanes[a->lane].cells[r * FRAG_RASTER_COLUMNS];

		for (uint64_t i = first; i <= last; i++)
			row[i] +=
				bytes * rectangles_share(a->birth, a->end, i, areas->column_shift);
	}
}

static int rectangles_drop(struct frag_areas *areas, const struct frag_area *a)
{
	areas->dropped++;
	if (a->end == a->birth || !a->bytes)
		return 0;
	if (!make_cells(areas, a))
		return -FRAG_ENOMEM;
	rectangles_cover(areas, a);
	return 0;
}

static int rectangles_by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* What the one shows that is number `at` from the first. */
static int shown_at(const struct frag_areas *areas, uint32_t at, double *out)
{
	double *sizes = malloc((size_t)areas->count * sizeof(*sizes));

	if (!sizes)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < areas->count; i++)
		sizes[i] = shown(&areas->area[i]);
	FRAG_SORT(sizes, areas->count, rectangles_by_size);
	*out = sizes[at];
	free(sizes);
	return 0;
}

/* Moves those that show less than the first max to `gone`, in the same order; of equal ones the first stay. */
static int set_apart(struct frag_areas *areas, uint32_t max, struct frag_area *gone)
{
	double limit = 0;
	uint32_t kept = 0, dropped = 0, equal = max;
	int rc = max ? shown_at(areas, max - 1, &limit) : 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < areas->count; i++)
		equal -= max && shown(&areas->area[i]) > limit;
	for (uint32_t i = 0; i < areas->count; i++) {
		const struct frag_area a = areas->area[i];
		const double size = shown(&a);
		const bool stays = max && (size > limit || (size >= limit && equal > 0));

		equal -= stays && size <= limit;
		if (stays)
			areas->area[kept++] = a;
		else
			gone[dropped++] = a;
	}
	areas->count = kept;
	return 0;
}

/* By how much the dropped change at a step; shown: it is an event of a rectangle that stays or comes. */
struct change {
	uint64_t step, change;          /* modulo 2^64 */
	bool shown;
};

static int changes_by_step(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->step < y->step ? -1 : x->step > y->step;
}

static int put_sum(struct frag_areas *areas, uint64_t step, uint64_t bytes, bool begins)
{
	struct frag_area_sum *last = areas->sum_count ? &areas->sums[areas->sum_count - 1] : NULL;

	if (last && !begins) {
		last->most = last->most > bytes ? last->most : bytes;
		return 0;
	}
	if (!FRAG_GROW(areas->sums, areas->sum_capacity, areas->sum_count))
		return -FRAG_ENOMEM;
	areas->sums[areas->sum_count++] = (struct frag_area_sum){ step, bytes };
	return 0;
}

/* Of equal ones in a row one is enough. */
static void join_sums(struct frag_areas *areas)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < areas->sum_count; i++)
		if (!kept || areas->sums[kept - 1].most != areas->sums[i].most)
			areas->sums[kept++] = areas->sums[i];
	areas->sum_count = kept;
}

/* The changes become sums: between two events that are shown only the dropped change, so their most is exact. */
static int replace_sums(struct frag_areas *areas, struct change *changes, uint32_t count)
{
	uint64_t now = 0;
	int rc = 0;

	FRAG_SORT(changes, count, changes_by_step);
	areas->sum_count = 0;
	for (uint32_t i = 0, next; i < count && !rc; i = next) {
		bool begins = false;

		for (next = i; next < count && changes[next].step == changes[i].step; next++) {
			now += changes[next].change;
			begins |= changes[next].shown;
		}
		rc = put_sum(areas, changes[i].step, now, begins);
	}
	join_sums(areas);
	return rc;
}

static int sum_up(struct frag_areas *areas, const struct frag_area *gone, uint32_t gone_count,
		  const uint64_t *births, uint32_t birth_count)
{
	const size_t room = 2 * ((size_t)areas->count + gone_count) + areas->sum_count + birth_count + 1;
	struct change *changes = malloc(room * sizeof(*changes));
	uint64_t before = 0;
	uint32_t n = 0;
	int rc;

	if (!changes)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < areas->sum_count; i++) {
		changes[n++] = (struct change){ areas->sums[i].step, areas->sums[i].most - before, false };
		before = areas->sums[i].most;
	}
	for (uint32_t i = 0; i < gone_count; i++) {
		changes[n++] = (struct change){ gone[i].birth, gone[i].bytes, false };
		changes[n++] = (struct change){ gone[i].end, 0 - gone[i].bytes, false };
	}
	for (uint32_t i = 0; i < areas->count; i++) {
		changes[n++] = (struct change){ areas->area[i].birth, 0, true };
		changes[n++] = (struct change){ areas->area[i].end, 0, true };
	}
	for (uint32_t i = 0; i < birth_count; i++)
		changes[n++] = (struct change){ births[i], 0, true };
	changes[n++] = (struct change){ areas->steps, 0, true };
	rc = replace_sums(areas, changes, n);
	free(changes);
	return rc;
}

int frag_areas_thin(struct frag_areas *areas, uint32_t max, const uint64_t *births, uint32_t count)
{
	const uint32_t over = areas->count > max ? areas->count - max : 0;
	struct frag_area *gone;
	int rc;

	if (!over)
		return 0;
	gone = malloc(over * sizeof(*gone));
	rc = gone ? set_apart(areas, max, gone) : -FRAG_ENOMEM;
	rc = rc ? rc : sum_up(areas, gone, over, births, count);
	for (uint32_t i = 0; i < over && !rc; i++)
		rc = rectangles_drop(areas, &gone[i]);
	free(gone);
	return rc;
}

int frag_areas_add(struct frag_areas *areas, const struct frag_area *a)
{
	struct frag_lane *lane;

	if (!FRAG_EXTEND(areas->lanes, areas->lane_capacity, areas->lane_count, a->lane))
		return -FRAG_ENOMEM;
	lane = &areas->lanes[a->lane];
	if (a->y + a->bytes > lane->height) {
		areas->height += a->y + a->bytes - lane->height;
		lane->height = a->y + a->bytes;
	}
	areas->steps = a->end > areas->steps ? a->end : areas->steps;
	if (!FRAG_GROW(areas->area, areas->capacity, areas->count))
		return -FRAG_ENOMEM;
	areas->area[areas->count++] = *a;
	return 0;
}

static int rectangles_by_birth(const void *a, const void *b)
{
	const struct frag_area *x = a, *y = b;

	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return frag_order_two(x->lane, y->lane, x->y, y->y);
}

int frag_areas_end(struct frag_areas *areas, uint32_t max)
{
	int rc = frag_areas_thin(areas, max, NULL, 0);

	FRAG_SORT(areas->area, areas->count, rectangles_by_birth);
	return rc;
}

void frag_areas_fini(struct frag_areas *areas)
{
	for (uint32_t i = 0; i < areas->lane_count; i++)
		free(areas->lanes[i].cells);
	free(areas->lanes);
	free(areas->area);
	free(areas->sums);
}
