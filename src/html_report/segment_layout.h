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

#include "base/hash.h"
#include "fragsim/heap.h"

/* Pages of a range that are mapped, or all of a segment. */
struct frag_layout_piece {
	uint64_t offset, bytes, birth;
};

struct frag_floor_place {
	uint32_t ordinal, lane;         /* lane 0: stacked segments */
	uint64_t y;                     /* in its lane */
	frag_block block;               /* of the heap that stacks; lane 0 */
	struct frag_layout_piece *pieces;      /* by offset */
	uint32_t piece_count, piece_capacity;
	bool used;
};

#define FRAG_FLOOR_RECENT 64

/* One without segments is zeroed. */
struct frag_segment_layout {
	struct frag_device device;      /* unlimited: what stacks is a heap on it, first fit */
	struct frag_heap *heap;
	frag_list list;
	struct frag_map by_ordinal;     /* -> place */
	uint32_t recent[FRAG_FLOOR_RECENT]; /* by ordinal, of all that share one the last: place */
	struct frag_floor_place *places;
	uint32_t place_count, place_capacity, unused;
	bool *taken;                    /* by lane: there is a range in it */
	uint32_t lanes, lane_capacity;
};

/* -FRAG_ENOMEM, as below. Release it also where this fails. */
int frag_floor_init(struct frag_segment_layout *floor);
void frag_floor_fini(struct frag_segment_layout *floor);

/* A segment, or an expandable one without mapped pages. */
int frag_floor_add(struct frag_segment_layout *floor, uint32_t ordinal, uint64_t bytes, bool range,
		   uint64_t step);
/* The place of one that is there; NULL: it is not. */
struct frag_floor_place *frag_floor_look_up(struct frag_segment_layout *floor, uint32_t ordinal);
/* The same; most blocks go where others went a moment ago. */
static inline struct frag_floor_place *frag_floor_find(struct frag_segment_layout *floor,
						       uint32_t ordinal)
{
	const uint32_t i = floor->recent[ordinal % FRAG_FLOOR_RECENT];

	return i < floor->place_count && floor->places[i].ordinal == ordinal
	       && floor->places[i].used ? &floor->places[i] : frag_floor_look_up(floor, ordinal);
}
void frag_floor_remove(struct frag_segment_layout *floor, struct frag_floor_place *place);

/* Pages of an expandable segment. `ended` is called for the pages mapped since its first step. */
int frag_floor_map(struct frag_floor_place *place, uint64_t offset, uint64_t bytes, uint64_t step);
typedef int frag_piece_fn(void *ctx, const struct frag_floor_place *place,
			  const struct frag_layout_piece *piece);
int frag_floor_unmap(struct frag_floor_place *place, uint64_t offset, uint64_t bytes, void *ctx,
		     frag_piece_fn *ended);

#endif
