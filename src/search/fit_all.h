/* fit_all.h - every trace under every policy fitted, side by side. */
#ifndef SEARCH_FIT_ALL_H
#define SEARCH_FIT_ALL_H

#include "search/fit_search.h"
#include "search/fit_intervals.h"

/* A trace: what it is simulated from. All borrowed. */
struct frag_fit_source {
	const struct frag_tape *tape;
	const struct frag_choice *choices;              /* as many as all sources have */
	const struct frag_device_figures *devices;      /* capacities are not looked at */
};

/* One policy on one device of a trace; host memory is omitted. */
struct frag_fitted {
	uint32_t source, choice, device;        /* by their order; `source` of a joint one is 0 */
	struct frag_fit_intervals survival;          /* the walk's; a joint one has none */
	struct frag_fit fit;		/* as frag_fit_init() has it: interrupted before it began */
	struct frag_attempt unlimited;  /* if `unlimited` is set; requested: of the whole trace */
};

struct frag_fits {
	const struct frag_fit_source *sources;  /* borrowed */
	uint32_t source_count, choice_count;
	struct frag_fit_bounds bounds;
	uint64_t headroom_total;            /* of frag_fit_headroom(); 0: not computed */
	bool unlimited;                 /* a run without a limit of each too, with its peaks */
	bool apart;                     /* skip the capacities that fit all sources */
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

#endif
