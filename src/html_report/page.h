/*
 * page.h - the data of a run that its HTML report draws: the timeline, and the place of each block.
 *
 * An observer collects all of it in one pass. Its memory grows only with the blocks, segments and
 * tags that exist at the same time, not with the steps. The x axis has the numbers of the steps;
 * the values of a step are those after it.
 */
#pragma once

#include "fragsim/engine.h"
#include "fragsim/heap.h"
#include "html_report/areas.h"
#include "html_report/page_tags.h"
#include "html_report/segment_layout.h"
#include "html_report/step_series.h"

#define FRAG_PAGE_OOMS_MAX 8            /* moments in addition to the peak */
#define FRAG_PAGE_HOLDERS_MAX 400

struct frag_page_share {
	uint32_t share;
	uint64_t bytes, blocks;
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
