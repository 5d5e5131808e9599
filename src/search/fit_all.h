/* fit_all.h - every trace under every policy fitted, side by side. */
#ifndef SEARCH_FIT_ALL_H
#define SEARCH_FIT_ALL_H

#include "search/fit_intervals.h"

/* Runs fail from `from` on; at `to` one fits again, or nothing further was examined. */
struct frag_failing_range {
	uint64_t from, to;
};

/*
 * Capacities are bytes, those of the lattice: context and others and a whole number of pages.
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
void frag_attempt_add(struct frag_attempt *worst, const struct frag_attempt *a);

/* Nothing is known. */
void frag_fit_init(struct frag_fit *fit);

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
 * After an interruption *fit has the proven results, and no `reliable`. The caller must release
 * *fit with frag_fit_fini(), also on failure.
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
void frag_fit_fini(struct frag_fit *fit);       /* one that is zeroed is fine */

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

/* A trace: what it is simulated from. All borrowed. */
struct frag_fit_source {
	const struct frag_tape *tape;
	const struct frag_choice *choices;              /* as many as all sources have */
	const struct frag_device_figures *devices;      /* capacities are not looked at */
};

/* One policy on one device of a trace; host memory is omitted. */
struct frag_fitted {
	uint32_t source, choice, device;        /* by their order; `source` of a joint one is 0 */
	struct frag_fit_intervals intervals;          /* the walk's; a joint one has none */
	struct frag_fit fit;		/* as frag_fit_init() has it: interrupted before it began */
	struct frag_attempt unlimited;  /* if `unlimited` is set; requested: of the whole trace */
	int64_t offset;                 /* of a joint one, `together`: as in struct frag_together */
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
	 * device that is not the host's. frag_fits_together() sets all except the first
	 */
	bool together, every_offset;
	int64_t offset;
	int64_t **clocks;               /* see struct frag_together; owned */
	const struct frag_driver_model *model;  /* borrowed; NULL: none */
	uint32_t threads;               /* 0: one a processor */
	bool (*stop)(void *ctx);
	void (*progress)(void *ctx, uint32_t done, uint32_t count);     /* optional */
	void *ctx;
	/* results: by source, policy, device; and, for several sources, by policy and device the
	 * capacities that fit all */
	struct frag_fitted *fitted, *joint;
	struct frag_tape **parts; /* by source and device; NULL: the source's own */
	uint32_t count, joint_count, part_count;
	struct frag_smallreq_cache smalls;      /* what the walks share */
};

/*
 * Fills in the results; the caller must release them with frag_fits_fini(), also on failure.
 * Results after -FRAG_EINTERRUPTED are proven.
 */
int frag_fits_run(struct frag_fits *fits, struct frag_error *err);
void frag_fits_fini(struct frag_fits *fits);

/*
 * The smallest device on which several programs run at the same time.
 *
 * Each program has its own context and its own allocator; memory of the others is in use by other
 * processes. So a refused request releases the cache of that program only. A program keeps its
 * memory after its last event. The programs run on one clock, and each next one begins a number of
 * ticks, the offset, after the one before it; of events at the same time those of the first program
 * come first.
 *
 * Programs affect each other by calls of the device alone. So a run is the same, event for event,
 * for all offsets that leave these calls in their order, and every offset of two programs can be
 * simulated. Where no request is refused, the order does not matter: the sum of the memory that
 * each program reserves alone is enough whatever they do.
 */
struct frag_together {
	const struct frag_fit_case *programs;   /* borrowed; of one granularity and other memory */
	/* of each program: when its events happen, rising; NULL: at 0, 1, 2 */
	const int64_t *const *clocks;
	uint32_t count;
	bool every;                     /* every offset; of three programs and more only bounds */
	/* the only one; or a result: the last that fails below the smallest device */
	int64_t offset;
};

/*
 * Before frag_fits_run(): the clocks of the sources, recorded times where all have them, and the
 * offset: steps, or with recorded times microseconds; NAN: every one. -FRAG_EUSAGE: the sources
 * are not of one device, or the offset is more than a program takes; -FRAG_ENOMEM
 */
int frag_fits_together(struct frag_fits *fits, double offset, struct frag_error *err);

/* Fills in *fit, as frag_fit_walk() does; `reliable` is proven also after an interruption. */
int frag_together_fit(struct frag_fit *fit, struct frag_together *t,
		      const struct frag_fit_bounds *bounds, struct frag_error *err);

#endif
