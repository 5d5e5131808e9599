/* segment_layout.c - where a segment is on the map. */
#include "html_report/segment_layout.h"

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
	qsort(sizes, areas->count, sizeof(*sizes), rectangles_by_size);
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

	if (areas->count)
		qsort(areas->area, areas->count, sizeof(*areas->area), rectangles_by_birth);
	return rc;
}

void frag_areas_fini(struct frag_areas *areas)
{
	for (uint32_t i = 0; i < areas->lane_count; i++)
		free(areas->lanes[i].cells);
	free(areas->lanes);
	free(areas->area);
}

#define HEIGHT (UINT64_C(1) << 61)      /* of all segments together; others are at its foot */

/* The one segment of a heap whose free blocks are sorted by address: a find is a first fit. */
int frag_layout_init(struct frag_segment_layout *f)
{
	struct frag_error err;
	frag_block all;
	int rc = frag_device_open(&f->device, &frag_device_simulated, 0, 0, 0, 1, &err);

	if (rc)
		return rc;
	f->heap = frag_heap_new(&f->device, &frag_index_address);
	if (!f->heap || !frag_map_init(&f->by_ordinal, frag_hash_seed()))
		return -FRAG_ENOMEM;
	rc = frag_heap_list(f->heap, 0, 0, &f->list);
	f->unused = UINT32_MAX;
	f->lanes = 1;
	return rc ? rc : frag_heap_grow(f->heap, f->list, HEIGHT, &all);
}

void frag_layout_fini(struct frag_segment_layout *f)
{
	for (uint32_t i = 0; i < f->place_count; i++)
		free(f->places[i].pieces);
	free(f->places);
	free(f->taken);
	frag_map_fini(&f->by_ordinal);
	if (f->heap) {
		frag_heap_del(f->heap);
		frag_device_close(&f->device);
	}
}

/* The lowest lane that no range is in. */
static bool find_lane(struct frag_segment_layout *f, uint32_t *out)
{
	uint32_t lane = 1;

	while (lane < f->lanes && f->taken[lane])
		lane++;
	*out = lane;
	if (!FRAG_GROW(f->taken, f->lane_capacity, lane))
		return false;
	f->taken[lane] = true;
	if (lane == f->lanes)
		f->lanes++;
	return true;
}

static int stack(struct frag_segment_layout *f, struct frag_layout_place *place, uint64_t bytes)
{
	int rc;

	place->block = frag_heap_find(f->heap, f->list, bytes);
	if (place->block == FRAG_NO_BLOCK)
		return 0;
	rc = frag_heap_take(f->heap, &place->block, bytes, bytes);
	place->y = frag_heap_look(f->heap, place->block).offset;
	return rc;
}

static struct frag_layout_place *new_place(struct frag_segment_layout *f, uint32_t ordinal)
{
	uint32_t i = f->unused;

	if (i == UINT32_MAX) {
		if (!FRAG_GROW(f->places, f->place_capacity, f->place_count))
			return NULL;
		i = f->place_count++;
		f->places[i] = (struct frag_layout_place){ .used = false };
	} else {
		f->unused = f->places[i].ordinal;
	}
	if (!frag_map_add(&f->by_ordinal, ordinal, i))
		return NULL;
	f->places[i].ordinal = ordinal;
	f->places[i].used = true;
	return &f->places[i];
}

int frag_layout_add(struct frag_segment_layout *f, uint32_t ordinal, uint64_t bytes, bool range,
		    uint64_t step)
{
	struct frag_layout_place *place = new_place(f, ordinal);
	int rc;

	if (!place)
		return -FRAG_ENOMEM;
	place->lane = 0;
	place->y = 0;
	place->piece_count = 0;
	if (range)
		return find_lane(f, &place->lane) ? 0 : -FRAG_ENOMEM;
	rc = stack(f, place, bytes);
	return rc ? rc : frag_layout_map(place, 0, bytes, step);
}

struct frag_layout_place *frag_layout_look_up(struct frag_segment_layout *f, uint32_t ordinal)
{
	const uint32_t i = frag_map_get(&f->by_ordinal, ordinal);

	if (i == FRAG_MAP_NONE)
		return NULL;
	f->recent[ordinal % FRAG_LAYOUT_RECENT] = i;
	return &f->places[i];
}

/* The number of pieces that end at or before the offset. */
static uint32_t pieces_before(const struct frag_layout_place *place, uint64_t offset)
{
	uint32_t low;

	FRAG_COUNT_WHILE(low, place->piece_count,
				 place->pieces[low].offset + place->pieces[low].bytes <= offset);
	return low;
}

int frag_layout_map(struct frag_layout_place *place, uint64_t offset, uint64_t bytes, uint64_t step)
{
	const uint32_t at = pieces_before(place, offset);

	if (!FRAG_GROW(place->pieces, place->piece_capacity, place->piece_count))
		return -FRAG_ENOMEM;
	memmove(&place->pieces[at + 1], &place->pieces[at],
		(place->piece_count - at) * sizeof(*place->pieces));
	place->piece_count++;
	place->pieces[at] = (struct frag_layout_piece){ offset, bytes, step };
	return 0;
}

/* Of one that is cut in its middle, what is left on both sides stays as old as it was. */
int frag_layout_unmap(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		      uint64_t step, struct frag_areas *areas)
{
	const uint64_t end = offset + bytes;
	uint32_t i = pieces_before(place, offset), gone = i;
	struct frag_layout_piece before = { .bytes = 0 }, after = { .bytes = 0 };
	int rc = 0;

	if (gone == place->piece_count)
		return 0;
	for (; i < place->piece_count && place->pieces[i].offset < end && !rc; i++) {
		const struct frag_layout_piece p = place->pieces[i];
		const uint64_t p_end = p.offset + p.bytes, from = p.offset > offset ? p.offset : offset;

		if (p.offset < offset)
			before = (struct frag_layout_piece){ p.offset, offset - p.offset, p.birth };
		if (p_end > end)
			after = (struct frag_layout_piece){ end, p_end - end, p.birth };
		rc = frag_areas_add(areas, &(struct frag_area){
			.birth = p.birth, .freed = step, .end = step, .y = place->y + from,
			.bytes = (p_end < end ? p_end : end) - from, .lane = place->lane,
			.who = place->ordinal,
		});
	}
	memmove(&place->pieces[gone], &place->pieces[i],
		(place->piece_count - i) * sizeof(*place->pieces));
	place->piece_count -= i - gone;
	if (!rc && before.bytes)
		rc = frag_layout_map(place, before.offset, before.bytes, before.birth);
	if (!rc && after.bytes)
		rc = frag_layout_map(place, after.offset, after.bytes, after.birth);
	return rc;
}

int frag_layout_remove(struct frag_segment_layout *f, struct frag_layout_place *place, uint64_t step,
		       struct frag_areas *areas)
{
	const uint32_t i = (uint32_t)(place - f->places);
	const int rc = frag_layout_unmap(place, 0, UINT64_MAX, step, areas);

	frag_map_remove(&f->by_ordinal, place->ordinal, i);
	if (place->lane)
		f->taken[place->lane] = false;
	else if (place->block != FRAG_NO_BLOCK)
		(void)frag_heap_give(f->heap, place->block, NULL);
	place->used = false;
	place->ordinal = f->unused;
	f->unused = i;
	return rc;
}
