/*
 * page.h - what is kept of a run so that it can be drawn: its timeline, and who was where.
 *
 * All of it is collected in one pass by an observer, and none of it grows with the steps: only
 * with the blocks, segments and tags that are there at the same time. A step's number is its
 * place on the x axis; what a step left behind is what counts for it.
 */
#ifndef HTML_REPORT_PAGE_H
#define HTML_REPORT_PAGE_H

#include "base/hash.h"
#include "fragsim/engine.h"
#include "html_report/rectangles.h"
#include "html_report/segment_layout.h"
#include "html_report/step_series.h"
#include "html_report/tag_timeline.h"

#define FRAG_PAGE_OOMS_MAX 8            /* moments beside the peak */
#define FRAG_PAGE_HOLDERS_MAX 400

/* A moment at which somebody asks who holds the memory. */
struct frag_page_moment {
	uint64_t step;
	struct frag_window_line window; /* each step around it */
	struct frag_page_share shares[FRAG_PAGE_HOLDERS_MAX];   /* the largest first */
	uint32_t share_count;
	uint64_t rest_bytes, rest_blocks;       /* of those that are left out */
};

/* One device of a run. */
struct frag_page_device {
	struct frag_line line;
	struct frag_segment_layout floor;
	struct frag_areas blocks;       /* and what they were summed into */
	struct frag_areas segments;     /* what was reserved, page run by page run */
	struct frag_window_line recent; /* a ring, while it lasts */
	struct frag_page_moment peak, ooms[FRAG_PAGE_OOMS_MAX];
	struct frag_page_moment
		worst; /* where most is non-releasable; nobody asks who holds then */
	struct frag_page_moment look;   /* the step that somebody looks at */
	uint32_t oom_count;
	uint64_t window_due;            /* one is to be taken once so many steps were seen */
	uint64_t pending;               /* bytes */
	uint64_t highest[2];            /* reserved and allocated, at the peak so far */
	uint64_t non_releasable;              /* the most so far */
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
	struct frag_tag_timeline who;
	struct frag_page_device *devices;
	uint32_t device_count;
	struct frag_page_block *live;   /* by slot */
	uint32_t live_count, live_capacity;
	struct frag_page_waits waiting, ready;  /* pending; ready: the trace has ended them */
};

/* For a simulation of so many devices. Release it also where this fails. -FRAG_ENOMEM */
int frag_page_init(struct frag_page *page, const struct frag_sim *sim, uint32_t devices,
		   struct frag_error *err);
/* Observer; ctx is the struct frag_page. */
int frag_page_observe(void *ctx, const struct frag_step *step, struct frag_error *err);
/* After the last step, before the simulation is retired: what lives on ends here. -FRAG_ENOMEM */
int frag_page_end(struct frag_page *page, struct frag_error *err);
/* After that: of each device so many rectangles at most, the largest. -FRAG_ENOMEM */
int frag_page_keep(struct frag_page *page, uint32_t max, struct frag_error *err);
void frag_page_fini(struct frag_page *page);    /* one that is zeroed is fine */

#endif
