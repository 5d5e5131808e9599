/*
 * page.h - the data of a run that its HTML report draws: the timeline, and the place of each block.
 *
 * An observer collects all of it in one pass. Its memory grows only with the blocks, segments and
 * tags that exist at the same time, not with the steps. The x axis has the numbers of the steps;
 * the values of a step are those after it.
 */
#pragma once

#include "base/hash.h"
#include "fragsim/engine.h"
#include "fragsim/heap.h"
#include "html_report/areas.h"
#include "live_blocks/live_blocks.h"
#include "trace/name_tables.h"

/*
 * Metrics over the steps of a run: exact minimum and maximum of each bucket, and single steps
 * around a few of them.
 */
enum frag_line_figure {
	FRAG_LINE_RESERVED, FRAG_LINE_ALLOCATED, FRAG_LINE_REQUESTED, FRAG_LINE_NON_RELEASABLE,
	FRAG_LINE_FIGURES,
};

#define FRAG_LINE_MAX 2048

struct frag_series_bucket {
	uint64_t least[FRAG_LINE_FIGURES], most[FRAG_LINE_FIGURES];
};

/* Bucket i has the steps from i << shift on. One without a step has a least above its most. */
struct frag_line {
	uint32_t count, shift;
	struct frag_series_bucket bucket[FRAG_LINE_MAX];
};

/* A ring of the last steps, or what was taken of it. */
#define FRAG_PAGE_STEPS_MAX 512
struct frag_line_step {
	uint64_t step;
	uint64_t at[FRAG_LINE_FIGURES];
};
struct frag_window_line {
	uint64_t seen;          /* steps so far; of a ring */
	uint32_t count;         /* of what was taken */
	bool taken;
	struct frag_line_step step[FRAG_PAGE_STEPS_MAX];
};

#define FRAG_PAGE_OOMS_MAX 8            /* moments in addition to the peak */
#define FRAG_PAGE_HOLDERS_MAX 400

/*
 * The report numbers tags itself, since a trace can give the number of a tag to another tag once no
 * block has it. A number is by 1 higher than that in `texts`. The first FRAG_TAGS_MAX tags have one
 * each, and their first FRAG_TAG_TEXT bytes are shown; all others share FRAG_TAG_OTHERS. A share is
 * a tag and a stack, on all devices; beyond FRAG_SHARES_MAX it is a tag alone.
 */
#define FRAG_TAGS_MAX 8192
#define FRAG_TAG_TEXT 240
#define FRAG_SHARES_MAX 32768
#define FRAG_TAG_NONE 0
#define FRAG_TAG_OTHERS 1

struct frag_page_share {
	uint32_t share;
	uint64_t bytes, blocks;
};

struct frag_page_tag {
	uint32_t live;          /* blocks */
	uint32_t number;        /* as the trace called it last */
	uint32_t plain;         /* its share without a stack, + 1; 0: none so far */
};

struct frag_page_tags {
	const struct frag_symbols *symbols;     /* borrowed */
	struct frag_tags texts;
	struct frag_page_tag *of;
	uint32_t count, capacity;
	uint32_t *by_number;            /* the trace's -> tag + 1, as last seen; 0: not yet */
	uint32_t number_count, number_capacity;
	struct frag_block_groups shares;        /* bytes and blocks of each are not counted here */
};

/* The freed blocks of a share that were live during the device's peak of this number. */
struct frag_page_sum {
	uint64_t bytes, blocks;
	uint64_t peak;
};

/* A moment whose live bytes are listed by tag. */
struct frag_page_moment {
	uint64_t step;
	struct frag_window_line window; /* each step around it */
	struct frag_page_share shares[FRAG_PAGE_HOLDERS_MAX];   /* the largest first */
	uint32_t share_count;
	uint64_t rest_bytes, rest_blocks;       /* of the omitted ones */
};

/*
 * Where a segment is on the map: the lowest place that is free as long as it lives. Segments are
 * stacked first fit. An expandable segment reserves more addresses than it maps, so it has a
 * separate lane, as wide as the part that is ever mapped; lanes are stacked at the end, when their
 * widths are known.
 */

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

/* One device of a run. */
struct frag_page_device {
	struct frag_line line;
	struct frag_segment_layout layout;
	struct frag_areas blocks;       /* and what they were summed into */
	struct frag_areas segments;     /* what was reserved, page run by page run */
	struct frag_window_line recent; /* a ring, while it lasts */
	struct frag_page_moment peak, ooms[FRAG_PAGE_OOMS_MAX];
	struct frag_page_moment
		worst; /* most non-releasable bytes; without tags */
	struct frag_page_moment look;   /* the step that the report opens at */
	uint32_t oom_count;
	uint64_t window_due;            /* the next one is taken after this many steps */
	uint64_t pending;               /* bytes */
	uint64_t highest[2];            /* reserved and allocated, at the peak so far */
	uint64_t non_releasable;              /* the most so far */
	uint64_t most_allocated, live_step;     /* the most so far, and the first step with it */
	struct frag_page_sum *sums;     /* by share */
	uint32_t sum_capacity;
	uint64_t peaks;                 /* how many there were so far */
	uint64_t end;                   /* after the last step */
	uint64_t height;                /* at the end: of all lanes, one above the other */
	bool begun, has_look;
};

struct frag_page_block;
struct frag_page_pending;

struct frag_page_waits {
	struct frag_page_pending *at;
	uint32_t count, capacity;
};

struct frag_page {
	const struct frag_sim *sim;     /* borrowed */
	uint64_t look;                  /* a step of interest; UINT64_MAX: none */
	struct frag_page_tags who;
	struct frag_page_device *devices;
	uint32_t device_count;
	struct frag_page_block *live;   /* by slot */
	uint32_t live_count, live_capacity;
	struct frag_page_waits waiting, ready;  /* pending; ready: the trace has ended them */
};

/* Observes the simulation from its first step on. Release it after a failure, too. -FRAG_ENOMEM */
int frag_page_init(struct frag_page *page, struct frag_sim *sim, struct frag_error *err);
/* After the last step, before the simulation is retired: ends the live blocks. -FRAG_ENOMEM */
int frag_page_end(struct frag_page *page, struct frag_error *err);
/* After that: keeps the largest rectangles of each device, up to a number. -FRAG_ENOMEM */
int frag_page_keep(struct frag_page *page, uint32_t max, struct frag_error *err);
void frag_page_fini(struct frag_page *page);    /* one that is zeroed is fine */
