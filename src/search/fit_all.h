/* fit_all.h - every trace under every policy fitted, side by side. */
#pragma once

#include "base/array_grow.h"
#include "search/fit_intervals.h"

/* Runs fail from `from` on; at `to` one fits again, or nothing further was examined. */
struct frag_failing_range {
	uint64_t from, to;
};

/*
 * Capacities are bytes, those of the lattice of a case: context, other processes and a whole
 * number of units of granularity (frag_fit_case_round_up()).
 * UINT64_MAX: there is none, or it is not known.
 */
struct frag_fit {
	uint64_t lower_bound;           /* context, other processes, peak of requested bytes */
	uint64_t smallest;              /* the smallest that fits */
	uint64_t at_most;		/* interrupted before there is one: an upper bound of it */
	uint64_t reliable;              /* the minimum from which all that were examined fit */
	uint64_t examined_to;           /* all below were; UINT64_MAX: all there are */
	uint64_t no_refusal;            /* the minimum from which nothing was refused */
	struct frag_failing_range *failing;     /* ranges above smallest */
	uint32_t failing_count, failing_capacity;
	struct frag_attempt at_smallest, at_reliable; /* of several traces the worst */
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

/* The higher of each count: of several runs the worst. */
static inline void frag_attempt_max(struct frag_attempt *worst, const struct frag_attempt *a)
{
	worst->calls = frag_max(worst->calls, a->calls);
	worst->refused = frag_max(worst->refused, a->refused);
	worst->retries = frag_max(worst->retries, a->retries);
	worst->driver_ns = frag_max(worst->driver_ns, a->driver_ns);
}

/* A capacity: does it fit, and which others have the same answer: [min_capacity, end_capacity). */
struct frag_fit_verdict {
	bool fits, refused;
	uint64_t min_capacity, end_capacity;
	struct frag_attempt outcome;    /* of all traces the worst */
};
typedef int frag_fit_judge(void *ctx, uint64_t total, struct frag_fit_verdict *v,
			   struct frag_error *err);

/*
 * Examines every interval upwards from the lower bound, on the lattice of a case, as judge says.
 * After an interruption *fit has the proven results, and no `reliable`. The caller must free
 * fit->failing, also on failure.
 */
int frag_fit_walk_by(struct frag_fit *fit, frag_fit_judge *judge, void *ctx,
		     const struct frag_fit_case *lattice, uint64_t lower_bound,
		     const struct frag_fit_bounds *bounds, struct frag_error *err);
/*
 * The same of simulations. intervals: one a trace; a capacity fits
 * if it fits all of them; the granularity is that of the first. lower_bound: as in frag_fit.
 */
int frag_fit_walk(struct frag_fit *fit, struct frag_fit_intervals *const *intervals, uint32_t count,
		  uint64_t lower_bound, const struct frag_fit_bounds *bounds,
		  struct frag_error *err);

/* Finds the peaks at smallest and reliable, which the walk omits. */
int frag_fit_peaks(struct frag_fit *fit, const struct frag_fit_case *subject,
		   struct frag_error *err);

/*
 * Finds the headroom: the maximum that other processes can use of a device of `total` bytes
 * during the whole run, such that the run fits with that amount and with every smaller one. A
 * multiple of the granularity. UINT64_MAX: the run does not fit at all.
 */
int frag_fit_headroom(const struct frag_fit_case *subject, uint64_t total, uint64_t *room,
		     struct frag_error *err);

/* One policy on one device of a trace; host memory is omitted. */
struct frag_fitted {
	uint32_t source, choice, device;        /* by their order; `source` of a joint one is 0 */
	uint32_t place;                 /* of a source and device */
	struct frag_fit_intervals intervals;          /* the walk's; a joint one has none */
	struct frag_fit fit;		/* nothing is known of one that was interrupted before */
	struct frag_attempt unlimited;  /* if `unlimited` is set; requested: of the whole trace */
	int64_t offset;         /* joint and together: the last that fails below the smallest */
};

struct frag_fits {
	const struct frag_fit_source *sources;  /* borrowed */
	uint32_t source_count, choice_count;
	struct frag_fit_bounds bounds;
	uint64_t headroom_total;            /* of frag_fit_headroom(); 0: not computed */
	bool unlimited;                 /* a run without a limit of each too, with its peaks */
	bool separate;                  /* skip the capacities that fit all sources */
	/*
	 * joint ones run at the same time: with this offset, or at every one. Each source has one
	 * device that is not the host's. The caller sets `together`, frag_fits_together() the
	 * others
	 */
	bool together, every_offset;    /* every offset; of three programs and more only bounds */
	int64_t offset;                 /* ns where clocks is set, else steps */
	int64_t **clocks;               /* when a source's events happen; NULL: at 0, 1, 2; owned */
	const struct frag_driver_model *model;  /* borrowed; NULL: none */
	uint32_t threads;               /* 0: one a processor */
	bool (*stop)(void *ctx);
	void (*progress)(void *ctx, uint32_t done, uint32_t count);     /* optional */
	void *ctx;
	/* results: by source, policy, device; and, for several sources, by policy and device the
	 * capacities that fit all */
	struct frag_fitted *fitted, *joint;
	struct frag_place *places;
	uint32_t count, joint_count, place_count;
	struct frag_smallreq_cache smalls;      /* what the walks share */
};

/*
 * Fills in the results; the caller must release them with frag_fits_fini(), also on failure.
 * Results after -FRAG_EINTERRUPTED are proven.
 */
int frag_fits_run(struct frag_fits *fits, struct frag_error *err);
void frag_fits_fini(struct frag_fits *fits);

/*
 * Before frag_fits_run(): the clocks of the sources, recorded times where all have them, and the
 * offset: steps, or with recorded times microseconds; NAN: every one. -FRAG_EUSAGE: the sources
 * are not of one device, or the offset is more than a program takes; -FRAG_ENOMEM
 */
int frag_fits_together(struct frag_fits *fits, double offset, struct frag_error *err);

/*
 * A task of frag_fits_run(): fits the programs of joint[index] at the same time. Fills it in as
 * frag_fit_walk() does; `reliable` is proven also after an interruption.
 */
int frag_together_fit(void *fits, uint32_t index, struct frag_error *err);
