/*
 * areas.h - rectangles of addresses and steps: keeps the largest and sums up the others.
 *
 * Rectangles that cover less than a pixel of 4096 columns and 2048 rows, and the smallest beyond a
 * maximum number, go into a raster. Each of its cells counts the bytes x steps covered there. The
 * columns and rows double as the run grows, so the raster takes the same memory for any run.
 */
#pragma once

#include <stdint.h>

#define FRAG_AREAS_COLUMNS 4096
#define FRAG_AREAS_ROWS 2048
#define FRAG_AREAS_MAX 60000
#define FRAG_RASTER_COLUMNS 512         /* at most, as are the rows of all lanes together */
#define FRAG_RASTER_ROWS 256

struct frag_area {
	uint64_t birth, freed, end;     /* steps; freed: it is pending from there on */
	uint64_t y, bytes;
	uint32_t lane;                  /* the end makes it part of y */
	uint32_t who;                   /* of a block; ordinal of a segment */
};

struct frag_lane {
	uint64_t *cells;        /* FRAG_RASTER_COLUMNS a row */
	uint32_t rows, row_capacity;
	uint64_t height;        /* the highest address that was ever in use */
	uint64_t base;          /* where it begins, at the end */
};

/* One that is zeroed is empty. */
struct frag_areas {
	struct frag_area *area;
	uint32_t count, capacity;
	uint64_t height;        /* of all lanes, so far */
	uint64_t dropped;       /* went into the raster */
	uint64_t pixel;         /* bytes x steps, as it was not long ago: */
	uint64_t pixel_until;   /* the next check is at this step */
	struct frag_lane *lanes;
	uint32_t lane_count, lane_capacity, rows;
	uint32_t column_shift, row_shift;
};

/* -FRAG_ENOMEM, as below. */
int frag_areas_add(struct frag_areas *areas, const struct frag_area *area);
/*
 * After the last one: removes those that cover no pixel of a run of these steps and bytes, and the
 * smallest beyond max; sorts the others by first step and address. May be repeated with a smaller
 * max.
 */
int frag_areas_end(struct frag_areas *areas, uint64_t steps, uint64_t height, uint32_t max);
void frag_areas_fini(struct frag_areas *areas);
