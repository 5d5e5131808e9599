/*
 * segment_layout.h - where a segment is on the map: the lowest place that is free as long as it
 * lives.
 *
 * Segments are stacked first fit. An expandable segment reserves more addresses than it maps, so it
 * has a separate lane, as wide as the part that is ever mapped; lanes are stacked at the end, when
 * their widths are known.
 */
#ifndef HTML_REPORT_SEGMENT_LAYOUT_H
#define HTML_REPORT_SEGMENT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "fragsim/heap.h"

/*
 * Rectangles of addresses and steps: keeps the largest and sums up the others.
 *
 * Rectangles that cover less than a pixel of 4096 columns and 2048 rows, and the smallest beyond a
 * maximum number, go into a raster. Each of its cells counts the bytes x steps covered there. The
 * columns and rows double as the run grows, so the raster takes the same memory for any run.
 */

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

/* One that is zeroed is empty, except max. */
struct frag_areas {
	struct frag_area *area;
	uint32_t count, capacity;
	uint32_t max;           /* how many are kept */
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

/* Pages of a range that are mapped, or all of a segment. */
struct frag_layout_piece {
	uint64_t offset, bytes, birth;
};

struct frag_layout_place {
	uint32_t ordinal, lane;         /* lane 0: stacked segments */
	uint64_t y;                     /* in its lane */
	frag_block block;               /* of the heap that stacks; lane 0 */
	struct frag_layout_piece *pieces;      /* by offset */
	uint32_t piece_count, piece_capacity;
	bool used;
};

#define FRAG_LAYOUT_RECENT 64

/* One without segments is zeroed. */
struct frag_segment_layout {
	struct frag_device device;      /* unlimited: what stacks is a heap on it, first fit */
	struct frag_heap *heap;
	frag_list list;
	struct frag_map by_ordinal;     /* -> place */
	uint32_t recent[FRAG_LAYOUT_RECENT]; /* by ordinal, of all that share one the last: place */
	struct frag_layout_place *places;
	uint32_t place_count, place_capacity, unused;
	bool *taken;                    /* by lane: there is a range in it */
	uint32_t lanes, lane_capacity;
};

/* -FRAG_ENOMEM, as below. Release it also where this fails. */
int frag_layout_init(struct frag_segment_layout *layout);
void frag_layout_fini(struct frag_segment_layout *layout);

/* A segment, or an expandable one without mapped pages. */
int frag_layout_add(struct frag_segment_layout *layout, uint32_t ordinal, uint64_t bytes,
		    bool range, uint64_t step);
/* The place of one that is there; NULL: it is not. */
struct frag_layout_place *frag_layout_look_up(struct frag_segment_layout *layout, uint32_t ordinal);
/* The same; most blocks go where others went a moment ago. */
static inline struct frag_layout_place *frag_layout_find(struct frag_segment_layout *layout,
							 uint32_t ordinal)
{
	const uint32_t i = layout->recent[ordinal % FRAG_LAYOUT_RECENT];

	return i < layout->place_count && layout->places[i].ordinal == ordinal
			       && layout->places[i].used
		       ? &layout->places[i]
		       : frag_layout_look_up(layout, ordinal);
}
/* Pages of an expandable segment. Those that end with this step become areas. */
int frag_layout_map(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		    uint64_t step);
int frag_layout_unmap(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		      uint64_t step, struct frag_areas *areas);
/* All of a segment ends so, which is removed also after a failure. */
int frag_layout_remove(struct frag_segment_layout *layout, struct frag_layout_place *place,
		       uint64_t step, struct frag_areas *areas);

#endif
