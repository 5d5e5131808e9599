/*
 * explanation.h - a trace at the moments that matter: the failed request, the blocks that make
 * free memory non-releasable, the move that makes the request succeed, the policies that fit.
 */
#pragma once

#include "base/job.h"
#include "base/oom_verdict.h"
#include "explain/block_classes.h"
#include "explain/find_move.h"
#include "explain/oom_past.h"
#include "search/recommend.h"

enum frag_moment_kind {
	FRAG_MOMENT_OOM, FRAG_MOMENT_PEAK, FRAG_MOMENT_WORST, FRAG_MOMENT_STEP, FRAG_MOMENT_MARK,
};
extern const char *const frag_moment_kind_names[];      /* ended by NULL */

/* A live block in a segment that has free bytes. */
struct frag_blocking_block {
	char *id, *tag;         /* as JSON; NULL: it has none */
	uint64_t bytes, offset;
	uint64_t allocated_at;  /* step */
	uint64_t freed_at;      /* step; UINT64_MAX: never in this trace */
	enum frag_life_class life;
	bool pending;
	bool initial;           /* allocated before the first step */
	uint32_t waits, wait_count;     /* which of those of the moment are its own */
};

/* What a pending block waits for, and of a moment also what several wait for. */
struct frag_pending_use {
	char *stream;           /* as JSON; NULL: a `complete`, the trace has no stream for it */
	uint64_t bytes, blocks;
	uint64_t since;         /* step: the free of the oldest */
	uint32_t number;        /* of the stream; FRAG_ALL */
};

struct frag_blocked_segment {
	uint32_t ordinal;
	uint64_t bytes, non_releasable;
	uint64_t obtained_by;         /* at this step, or before */
	bool range;
	struct frag_blocking_block *blocking;   /* by offset */
	uint32_t blocking_count;
};

/* Memory of the blocks of one tag. */
struct frag_tag_memory {
	char *tag;              /* as JSON; NULL: none */
	uint64_t bytes, blocks, oldest;
	uint64_t of_class[FRAG_LIFE_CLASSES];   /* requested bytes */
	uint8_t evidence[FRAG_LIFE_CLASSES];    /* of each class the weakest */
	uint32_t number;        /* of the tag */
};

/* Memory of the blocks of one stack: its frames from the outermost on, with ';' between them. */
struct frag_folded {
	char *line;             /* the tag where no stack is known */
	uint64_t bytes;
	uint32_t tag, stack;
};

/* A pool of the program's own. */
struct frag_pool_row {
	uint32_t pool;          /* in the order in which the trace names them, from 1 */
	uint32_t segments;
	char *name;             /* as JSON: what the trace calls it */
	uint64_t reserved, live, free, non_releasable;
};

/* The main cause: the kind of block that keeps most of the non-releasable memory reserved. */
enum frag_main_cause { FRAG_MAIN_NONE, FRAG_MAIN_LATE, FRAG_MAIN_LEFT };
/* NULL, "born_late", "left_behind", NULL */
extern const char *const frag_main_cause_names[];

/* One moment of one device. Bytes. */
struct frag_explained {
	uint64_t step;
	uint32_t device;
	bool accounted; /* all except moves and survivors is known */
	enum frag_moment_kind kind;
	enum frag_oom_verdict verdict;      /* FRAG_VERDICT_NONE: no request has failed here */
	bool nearly_full;               /* of fragmentation */
	struct frag_oom_past past;      /* of the request that failed */
	char *past_tag;                 /* as JSON: of what the verdict names; NULL: none */
	struct frag_recorded_failures recorded; /* of the device */
	char *requested_by;             /* as JSON: the innermost own frame; NULL: not known */
	char *frames;                   /* the own ones, as frag_frames_json(); NULL: not known */
	uint64_t frames_at;             /* step of the request that they are of: this one, or where
					 * it has none the last before it; UINT64_MAX: none */
	const struct frag_choice *setting;      /* the recommended one, a survivor; NULL: none */
	uint64_t setting_left;          /* bytes of the device that it leaves reliably
					 * at the end; UINT64_MAX: not known */
	uint64_t lower_bound;           /* peak of the bytes that the trace requests; 0: unknown */
	char *id, *tag;         /* of the request that failed, as JSON; NULL: none */
	char *mark;             /* the last one at or before the step, as JSON; NULL: none */
	uint64_t size, need;    /* as requested, and of a block that satisfies the request */
	uint64_t demand;        /* bytes last requested of the device: a segment, or pages */
	uint64_t missing;       /* bytes of the demand that the device has not left */
	uint64_t live, free, releasable, non_releasable, reserved;
	bool limited;           /* the device has a capacity; else the next two are not set */
	uint64_t device_free, outside;
	uint64_t limit;         /* by a fraction of the program's own; UINT64_MAX: none */
	const char *limit_key;  /* the setting that sets it; NULL: a fraction does */
	uint64_t largest_now, largest_after_flush, largest_after_compaction;
	bool fits_known, fits;  /* the blocks of the whole trace, at their peak */
	uint64_t peak;          /* of them, where it is known */
	struct frag_blocked_segment *segments;   /* the most non-releasable bytes first */
	uint32_t segment_count;
	struct frag_tag_memory *holders; /* by tag, the most bytes first */
	uint32_t holder_count;
	struct frag_folded *folded;     /* if requested; the most bytes first */
	uint32_t folded_count;
	uint64_t pending, pending_blocks;
	uint64_t over, over_blocks;     /* of them, those that nothing uses any more */
	bool waiting_succeeds;    /* the request succeeds after all these waits */
	struct frag_pending_use *uses;  /* by the oldest; a block may wait for several */
	uint32_t use_count;
	uint32_t *waits;        /* of the blocking blocks, in their order: indexes in `uses` */
	uint32_t wait_count;
	struct frag_pool_row *pools;
	uint32_t pool_count;
	struct frag_move *moves;
	uint32_t move_count;
	uint32_t tried;         /* candidates */
	enum frag_main_cause main_cause;
	uint64_t main_non_releasable, main_bytes;       /* bytes that they keep, and theirs */
	const char *main_tag;           /* as JSON, of most of them; borrowed; NULL: none */
	struct frag_choice *survivors;  /* they borrow what they name */
	uint32_t survivor_count;
	uint32_t settings, others;      /* other settings that were tried; with other policies */
};

struct frag_explanation {
	const struct frag_tape *tape;           /* borrowed, as is all of these */
	const struct frag_choice *choice;
	const struct frag_device_figures *devices;
	enum frag_moment_kind at;       /* OOM: the first of each device, or its peak */
	uint64_t at_step;
	const char *at_mark;            /* its name */
	uint32_t moves;                 /* at most, of each device */
	uint64_t block_cost;
	bool folded;                    /* holders by stack too */
	struct frag_job job;            /* shows "events", "candidates" for a move, or "settings" */
	/* results */
	bool is_ranked;                 /* settings have been ranked, for all devices: */
	struct frag_recommendation ranked;
	struct frag_fit_source source;  /* of that */
	struct frag_explained *moments;
	uint32_t count;
};

/*
 * Fills in the results; the caller must release them with frag_explanation_fini(), also on
 * failure. -FRAG_EUSAGE where there is no such step or mark, or the run has ended before it;
 * -FRAG_EINTERRUPTED: of each moment all is known but moves and survivors, and of the last these
 * may be missing; -FRAG_ENOMEM, or a failure of the policy.
 */
int frag_explanation_run(struct frag_explanation *explanation, struct frag_error *err);

void frag_explanation_fini(struct frag_explanation *explanation);       /* zeroed is fine */
