/* areas.c - rectangles of addresses and steps: the largest, and the sums of the others. */
#include "html_report/areas.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "fragsim/error.h"

#define ROW_SHIFT_LEAST 9       /* blocks are rarely smaller */
#define PIXEL_MAX 0x1p62        /* larger rectangles are reported at the end */

/* Bytes x steps: may exceed 64 bits, and needs no exact digits. */
static double rectangles_size_of(const struct frag_area *a)
{
	return (double)(a->end - a->birth) * (double)a->bytes;
}

static double pixel(uint64_t steps, uint64_t height)
{
	return (double)steps / FRAG_AREAS_COLUMNS * ((double)height / FRAG_AREAS_ROWS);
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

/* Most are as small as one cell, which is there. False: this one is not. */
static bool drop_in_cell(struct frag_areas *areas, const struct frag_area *a)
{
	struct frag_lane *lane = &areas->lanes[a->lane];
	const uint64_t row = a->y >> areas->row_shift, column = a->birth >> areas->column_shift;

	if (row >= lane->rows || (a->y + a->bytes - 1) >> areas->row_shift != row
	    || column >= FRAG_RASTER_COLUMNS || (a->end - 1) >> areas->column_shift != column)
		return false;
	lane->cells[row * FRAG_RASTER_COLUMNS + column] += a->bytes * (a->end - a->birth);
	areas->dropped++;
	return true;
}

static int rectangles_by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The size of the one that is number `at` from the largest. */
static int rectangles_size_at(const struct frag_areas *areas, uint32_t at, double *out)
{
	double *sizes = malloc((size_t)areas->count * sizeof(*sizes));

	if (!sizes)
		return -FRAG_ENOMEM;
	for (uint32_t i = 0; i < areas->count; i++)
		sizes[i] = rectangles_size_of(&areas->area[i]);
	FRAG_SORT(sizes, areas->count, rectangles_by_size);
	*out = sizes[at];
	free(sizes);
	return 0;
}

/* What is smaller than the pixel goes, and of what is left the smallest beyond max. */
static int prune(struct frag_areas *areas, double least, uint32_t max)
{
	const bool many = areas->count > max;
	double limit = 0;
	uint32_t kept = 0, equal = 0;
	int rc = 0;

	if (many) {
		rc = max ? rectangles_size_at(areas, max - 1, &limit) : 0;
		/* of those that are as large as the last one that fits, the first ones stay */
		equal = max;
		for (uint32_t i = 0; i < areas->count; i++)
			equal -= max && rectangles_size_of(&areas->area[i]) > limit;
	}
	for (uint32_t i = 0; i < areas->count && !rc; i++) {
		const struct frag_area a = areas->area[i];
		const double size = rectangles_size_of(&a);
		bool stays = size >= least && (!many || (max && size >= limit));

		if (stays && many && size <= limit) {
			stays = equal > 0;
			equal -= stays;
		}
		if (stays)
			areas->area[kept++] = a;
		else
			rc = rectangles_drop(areas, &a);
	}
	areas->count = kept;
	return rc;
}

/*
 * A pixel only grows: what it was a little while ago tells most of the small ones, and those that
 * become too small in the meantime are reported at the end.
 */
static bool is_small(struct frag_areas *areas, const struct frag_area *a)
{
	uint64_t size;

	if (a->end >= areas->pixel_until) {
		const double now = pixel(a->end, areas->height);

		/* a little less is fine */
		areas->pixel = now < PIXEL_MAX ? (uint64_t)now : (uint64_t)PIXEL_MAX;
		areas->pixel_until = a->end + a->end / 32 + 1;
	}
	return !__builtin_mul_overflow(a->end - a->birth, a->bytes, &size) && size < areas->pixel;
}

/* Sorting out is dear, so twice as many may gather. */
int frag_areas_add(struct frag_areas *areas, const struct frag_area *a)
{
	struct frag_lane *lane;
	int rc;

	if (!FRAG_EXTEND(areas->lanes, areas->lane_capacity, areas->lane_count, a->lane))
		return -FRAG_ENOMEM;
	lane = &areas->lanes[a->lane];
	if (a->y + a->bytes > lane->height) {
		areas->height += a->y + a->bytes - lane->height;
		lane->height = a->y + a->bytes;
	}
	if (is_small(areas, a))
		return drop_in_cell(areas, a) ? 0 : rectangles_drop(areas, a);
	if (areas->count == 2 * FRAG_AREAS_MAX) {
		rc = prune(areas, pixel(a->end, areas->height), FRAG_AREAS_MAX);
		if (rc)
			return rc;
	}
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

int frag_areas_end(struct frag_areas *areas, uint64_t steps, uint64_t height, uint32_t max)
{
	int rc = prune(areas, pixel(steps, height), max);

	FRAG_SORT(areas->area, areas->count, rectangles_by_birth);
	return rc;
}

void frag_areas_fini(struct frag_areas *areas)
{
	for (uint32_t i = 0; i < areas->lane_count; i++)
		free(areas->lanes[i].cells);
	free(areas->lanes);
	free(areas->area);
}
