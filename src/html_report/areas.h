/*
 * areas.h - rectangles of addresses and steps: all of them, or of too many those that show most.
 *
 * A rectangle shows as bytes x the root of its steps. Those beyond a maximum number go into a raster, whose cells count
 * the bytes x steps that they cover, and into sums: what they hold together at each event of the others. The columns and
 * rows of the raster double as the run grows, so it takes the same memory for any run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAG_AREAS_MAX (1U << 19)       /* twice as many may gather */
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

/* The maximum of what the dropped hold together, from this step until that of the next sum. */
struct frag_area_sum {
	uint64_t step, most;
};

/* One that is zeroed is empty. */
struct frag_areas {
	struct frag_area *area;
	uint32_t count, capacity;
	uint64_t height;        /* of all lanes, so far */
	uint64_t dropped;       /* went into the raster and the sums */
	uint64_t steps;         /* the last end, so far */
	struct frag_area_sum *sums;
	uint32_t sum_count, sum_capacity;
	struct frag_lane *lanes;
	uint32_t lane_count, lane_capacity, rows;
	uint32_t column_shift, row_shift;
};

/* -FRAG_ENOMEM, as below. */
int frag_areas_add(struct frag_areas *areas, const struct frag_area *area);
/* Must frag_areas_thin() be called? */
static inline bool frag_areas_are_many(const struct frag_areas *areas)
{
	return areas->count >= 2 * FRAG_AREAS_MAX;
}
/*
 * Keeps the max that show most. begun: the first steps of `count` rectangles that are to come, which end later than all that
 * are here: sums are exact at these steps too. NULL: there are none.
 */
int frag_areas_thin(struct frag_areas *areas, uint32_t max, const uint64_t *begun, uint32_t count);
/* After the last one: thins, and sorts by first step and address. May be repeated with a smaller max. */
int frag_areas_end(struct frag_areas *areas, uint32_t max);
void frag_areas_fini(struct frag_areas *areas);
