/* fit_search.h - the smallest device on which a run survives, and from which on it always does. */
#ifndef SEARCH_FIT_SEARCH_H
#define SEARCH_FIT_SEARCH_H

#include "search/fit_intervals.h"

/* From here the runs fail, and at `to` one survives again, or nothing further was examined. */
struct frag_failing_range {
	uint64_t from, to;
};

/*
 * Capacities are bytes, those of the lattice: context and others and a whole number of pages.
 * UINT64_MAX: there is none, or it is not known.
 */
struct frag_fit {
	uint64_t floor;                 /* below it nothing survives: what is requested at once */
	uint64_t smallest;              /* the least that survives */
	uint64_t at_most;		/* interrupted before there is one: an upper bound of it */
	uint64_t safe;                  /* the minimum from which all that were examined survive */
	uint64_t examined_to;           /* all below were; UINT64_MAX: all there are */
	uint64_t no_refusal;            /* the minimum from which nothing was refused */
	struct frag_failing_range *holes;     /* above smallest */
	uint32_t hole_count, hole_capacity;
	struct frag_attempt at_smallest, at_safe;       /* where there are those */
	bool peaks;                     /* they have been looked for: these have them */
	uint64_t runs;                  /* capacities that were simulated */
	uint64_t headroom;           /* as frag_fit_headroom() says */
};

struct frag_fit_bounds {
	uint64_t up_to;                 /* the highest capacity; 0: half above the smallest */
	uint64_t runs;                  /* at most; 0: FRAG_FIT_RUNS */
	/* optional: is the time short? Then an upper bound comes before the walk goes on */
	bool (*hurry)(void *ctx);
	void *ctx;
};
#define FRAG_FIT_RUNS 10000

/* Nothing is known. */
void frag_fit_init(struct frag_fit *fit);

/*
 * Upwards from the floor, one interval after the other, none left out. Several survivals, one a
 * trace: a capacity survives where it does on all; the lattice is that of the first. floor: as in
 * the fit. Where this is interrupted, *fit has what is proven, and no `safe`. What is in *fit
 * must be released with frag_fit_fini(), also where this fails.
 */
int frag_fit_walk(struct frag_fit *fit, struct frag_fit_intervals *const *survivals, uint32_t count,
		  uint64_t floor, const struct frag_fit_bounds *bounds, struct frag_error *err);
void frag_fit_fini(struct frag_fit *fit);       /* one that is zeroed is fine */

/* The peaks at smallest and safe, which the walk leaves out. */
int frag_fit_peaks(struct frag_fit *fit, const struct frag_fit_case *subject,
		   struct frag_error *err);

/*
 * The most that someone else can hold of a device of `total` bytes, from before the first step
 * to the end, such that the run survives with that and with every less: a multiple of the
 * granularity. UINT64_MAX: it does not survive at all.
 */
int frag_fit_headroom(const struct frag_fit_case *subject, uint64_t total, uint64_t *room,
		     struct frag_error *err);

#endif
