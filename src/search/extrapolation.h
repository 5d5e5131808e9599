/*
 * extrapolation.h - a program at numbers (batch sizes, lengths) that it was not recorded at: what
 * it needs, and which of them fit a device.
 *
 * A larger number can fit where a smaller one does not, so each is simulated. From the last
 * recorded number on no size falls: what is requested at once has a last number that the device
 * could hold, and beyond it nothing fits.
 */
#pragma once

#include "search/fit_all.h"
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
	uint64_t allocs;
	uint64_t step;                  /* of the first; likewise its sizes */
	const struct frag_sizes *sizes;
};
#define FRAG_ODD_MAX 5

struct frag_extrapolation {
	const struct frag_recordings *recordings;       /* read; borrowed, as is all up to ctx */
	const struct frag_tape *tape;   /* of the first of them */
	const struct frag_scope *scope; /* of the one that proves least */
	const struct frag_choice *choices;
	const struct frag_device_figures *devices;
	uint32_t choice_count;
	const uint32_t *at;             /* numbers to be fitted */
	uint32_t at_count;
	uint64_t total;                 /* capacity that numbers are to fit; 0: none */
	bool largest;                   /* find the largest number that fits, too */
	uint32_t up_to, stride;         /* the last to try (0: as far as any could fit), and only
					 * multiples of stride, which is at least 1 */
	uint64_t runs;                  /* at most, of each policy; 0: FRAG_FIT_RUNS */
	const struct frag_driver_model *model;
	bool (*hurry)(void *ctx);	/* optional: as struct frag_fit_bounds has it, with job.ctx */
	struct frag_job job;            /* shows "numbers", and "policies" */

	/* results: one source for each number of `at`; none if `at` is empty */
	struct frag_fits fits;
	uint64_t *unexplained;          /* allocs at each of them */
	struct frag_reach *reaches;     /* one a policy, if `largest` is set */
	uint32_t first, tried;          /* the first number that was tried, and how many were */
	uint32_t bound;                 /* above it more is requested at once than the device has;
					 * FRAG_NO_NUMBER: not known, or not below up_to */
	struct frag_odd odd[FRAG_ODD_MAX];      /* at `at` and at the largest that fit: of most
						 * allocs first */
	uint64_t odd_allocs;
	uint32_t odd_tags;              /* that there are in all */
	/* its own */
	struct frag_tape **tapes;
	struct frag_fit_source *sources;
};

/* The last number that was tried, where any was. */
static inline uint32_t frag_tried_last(const struct frag_extrapolation *x)
{
	return x->first + (x->tried - 1) * x->stride;
}

/*
 * Fills in the results; the caller must release them with frag_extrapolation_fini(), also on
 * failure. Results after -FRAG_EINTERRUPTED are proven. -FRAG_EUSAGE where a size would not be
 * below 2^53 at one of `at`.
 */
int frag_extrapolation_run(struct frag_extrapolation *x, struct frag_error *err);
void frag_extrapolation_fini(struct frag_extrapolation *x);     /* a zeroed one is fine */
