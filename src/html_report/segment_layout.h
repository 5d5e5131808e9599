/*
 * segment_layout.h - where each segment is on the map of a report.
 *
 * A segment has the lowest place that is free as long as it lives: segments are
 * stacked first fit. An expandable segment reserves more addresses than it maps, so it has a
 * separate lane, as wide as the part that is ever mapped; lanes are stacked at the end, when their
 * widths are known.
 */
#pragma once

#include "base/hash.h"
#include "fragsim/heap.h"
#include "html_report/areas.h"

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

/* The one segment of a heap whose free blocks are sorted by address: a find is a first fit. */
int frag_layout_init(struct frag_segment_layout *f);
void frag_layout_fini(struct frag_segment_layout *f);

/* A segment, or an expandable one without mapped pages. -FRAG_E... */
int frag_layout_add(struct frag_segment_layout *f, uint32_t ordinal, uint64_t bytes, bool range,
		    uint64_t step);

/* Pages that are mapped at this step. */
int frag_layout_map(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		    uint64_t step);

/*
 * Pages that are unmapped become areas. Of a piece that is cut in its middle, what is left on both
 * sides stays as old as it was.
 */
int frag_layout_unmap(struct frag_layout_place *place, uint64_t offset, uint64_t bytes,
		      uint64_t step, struct frag_areas *areas);

/* All of a segment ends so, which is removed also after a failure. */
int frag_layout_remove(struct frag_segment_layout *f, struct frag_layout_place *place,
		       uint64_t step, struct frag_areas *areas);

/* frag_layout_find() where it was not found lately. */
struct frag_layout_place *frag_layout_look_up(struct frag_segment_layout *f, uint32_t ordinal);

/* The place of one that is there, or NULL; most blocks go where others went a moment ago. */
static inline struct frag_layout_place *frag_layout_find(struct frag_segment_layout *f, uint32_t ordinal)
{
	const uint32_t i = f->recent[ordinal % FRAG_LAYOUT_RECENT];

	return i < f->place_count && f->places[i].ordinal == ordinal && f->places[i].used
		       ? &f->places[i] : frag_layout_look_up(f, ordinal);
}
