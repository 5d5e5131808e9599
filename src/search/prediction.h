/*
 * prediction.h - a program as it was not recorded: after changes, or at numbers (batch sizes,
 * lengths) without a recording; what it needs, and which numbers fit a device.
 *
 * Each predicted trace is a tape. All are fitted alike, and of changes the recorded trace too.
 * A larger number can fit where a smaller one does not, so each is simulated. From the last
 * recorded number on no size falls: what is requested at once has a last number that the device
 * could hold, and beyond it nothing fits.
 */
#pragma once

#include "search/fit_all.h"
#include "search/prime_pool.h"
#include "transform/recordings.h"

/* Numbers of one kind after one another, from the first to the last of those that were tried. */
struct frag_reach_part {
	uint32_t from, to;
	bool fits;
};

/* Which numbers fit, under one policy. */
struct frag_reach {
	struct frag_reach_part *map;       /* rising, all that were tried */
	uint32_t count, capacity;
	uint32_t largest;               /* that fits; FRAG_NO_NUMBER: none does */
	uint32_t reliable;                  /* up to it all that were tried fit; likewise */
};
#define FRAG_NO_NUMBER UINT32_MAX

/* Sizes that are not explained at some number, of one tag. */
struct frag_odd {
	struct frag_text tag;           /* of the tape; text NULL: none */
	char *name;                     /* the same as JSON, of a result; NULL: none */
	uint64_t allocs;
	uint64_t step;                  /* of the first; likewise its sizes */
	const struct frag_sizes *sizes;
	uint64_t bytes;                 /* of the first: the largest at one of `at` */
};
#define FRAG_ODD_MAX 5

struct frag_predicted {
	/* input, borrowed, as is all up to ctx: either recordings that have been read, with the
	 * numbers to predict; or, where recordings is NULL, a trace and its changed form */
	const struct frag_recordings *recordings;
	const uint32_t *at;
	uint32_t at_count;
	const struct frag_tape *changed;
	const struct frag_tape *tape;   /* of the first recording */
	const struct frag_scope *scope; /* of the recording that proves least */
	const struct frag_choice *choices;
	const struct frag_device_figures *devices;
	uint32_t choice_count;
	uint64_t unknown;               /* bytes of blocks that changes of a class leave alone */
	bool scaled, dropped;           /* a change is of sizes of classes; or drops blocks */
	bool primed;                    /* the last change is of FRAG_CHANGE_PRIME_POOL */
	uint64_t total;                 /* capacity that the program is to fit; 0: none */
	bool largest;                   /* find the largest number that fits, too */
	uint32_t up_to, stride;         /* the last to try (0: as far as any could fit), and only
					 * multiples of stride, which is at least 1 */
	uint64_t runs;                  /* at most, of each policy; 0: FRAG_FIT_RUNS */
	const struct frag_driver_model *model;
	bool (*hurry)(void *ctx);	/* optional: as struct frag_fit_bounds has it, with job.ctx */
	struct frag_job job;            /* shows "numbers", and "policies" */

	/* results: one source for each number of `at`; of changes the recorded trace, then the
	 * changed one */
	struct frag_fits fits;
	uint64_t *unexplained;          /* allocs of each source */
	struct frag_reach *reaches;     /* one a policy, if `largest` is set */
	uint32_t first, tried;          /* the first number that was tried, and how many were */
	uint32_t bound;                 /* above it more is requested at once than the device has;
					 * FRAG_NO_NUMBER: not known, or not below up_to */
	struct frag_odd odd[FRAG_ODD_MAX];      /* at `at` and at the largest that fit: of most
						 * allocs first */
	uint64_t odd_allocs;
	uint32_t odd_tags;              /* that there are in all */
	struct frag_prime_search prime; /* if `primed` is set */
	uint64_t *margins;              /* of each source: how much larger its devices are because of
					 * workspaces that may start there; 0: none is counted */
	bool sums;                      /* of these: of sums, which not every kernel takes */
	bool rows_unknown;              /* gradients of an embedding may be sorted at one of `at`, and
					 * nothing shows over how many rows; they are counted */
	/* its own */
	struct frag_tape **tapes;       /* one a source; NULL: it is not ours */
	struct frag_fit_source *sources;
	uint32_t source_count;
	struct frag_fits started;       /* of the sources with such workspaces, */
	struct frag_tape **started_tapes;
	uint32_t started_tape_count;
	struct frag_fit_source *started_sources;
	uint32_t *started_of, started_count;    /* and which these are */
};

/* The number of a source; FRAG_NO_NUMBER: of changes. */
static inline uint32_t frag_predicted_number(const struct frag_predicted *x, uint32_t source)
{
	return x->recordings ? x->at[source] : FRAG_NO_NUMBER;
}

/* Is the source a recording, and no prediction? */
static inline bool frag_predicted_is_recorded(const struct frag_predicted *x, uint32_t source)
{
	return !x->recordings && !source;
}

/* The number, as a multiple of the nearest recorded one. */
double frag_predicted_distance(const struct frag_predicted *x, uint32_t number);

/* The last number that was tried, where any was. */
static inline uint32_t frag_tried_last(const struct frag_predicted *x)
{
	return x->first + (x->tried - 1) * x->stride;
}

/*
 * Fills in the results; the caller must release them with frag_predicted_fini(), also on
 * failure. Results after -FRAG_EINTERRUPTED are proven. -FRAG_EUSAGE where a size would not be
 * below 2^53 at one of `at`.
 */
int frag_predicted_run(struct frag_predicted *x, struct frag_error *err);
void frag_predicted_fini(struct frag_predicted *x);     /* a zeroed one is fine */

/*
 * The peak of requested bytes, of the device with the highest, at a number; recorded: of this tape instead. UINT64_MAX: a
 * size would not be below 2^53. -FRAG_EINTERRUPTED, -FRAG_ENOMEM
 */
int frag_predicted_peak(const struct frag_predicted *x, uint32_t number, const struct frag_tape *recorded, uint64_t *peak,
			struct frag_error *err);
