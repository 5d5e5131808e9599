/* fit_all.h - every trace under every policy fitted, side by side, or as fit_together.h does it. */
#pragma once

#include "base/job.h"
#include "scope/claim.h"
#include "search/fit_intervals.h"

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
	struct frag_claim claim;        /* what its capacities prove of the program */
	struct frag_attempt unlimited;  /* if `unlimited` is set; requested: of the whole trace */
	int64_t offset;         /* joint and together: the last that fails below the smallest */
};

struct frag_recommendation;     /* search/recommend.h */

struct frag_fits {
	const struct frag_fit_source *sources;  /* borrowed */
	uint32_t source_count, choice_count;
	struct frag_fit_bounds bounds;
	uint64_t headroom_total;            /* of frag_fit_headroom(); 0: not computed */
	uint64_t device_total;          /* of the device that the answer is about; 0: none */
	bool unlimited;                 /* a run without a limit of each too, with its peaks */
	bool separate;                  /* skip the capacities that fit all sources */
	/*
	 * joint ones run at the same time. Each source has one device that is not the host's.
	 * begins_apart: from one's begin to the next's, in steps or, where all have recorded times,
	 * microseconds; NAN: every offset. The others follow
	 */
	bool together;
	double begins_apart;
	bool every_offset;      /* of two every offset; of three programs and more only bounds */
	int64_t offset;                 /* ns where clocks is set, else steps */
	int64_t **clocks;               /* when a source's events happen; NULL: at 0, 1, 2; owned */
	const struct frag_driver_model *model;  /* borrowed; NULL: none */
	/* of the same sources, devices and model, borrowed: its simulations need not be repeated; NULL */
	const struct frag_recommendation *ranked;
	struct frag_job job;            /* shows "policies" */
	/* results: by source, policy, device; and, for several sources, by policy and device the
	 * capacities that fit all */
	struct frag_fitted *fitted, *joint;
	struct frag_place *places;
	uint32_t count, joint_count, place_count;
	struct frag_smallreq_cache smalls;      /* what the walks share */
};

/*
 * Fills in the results; the caller must release them with frag_fits_fini(), also on failure.
 * Results after -FRAG_EINTERRUPTED are proven. -FRAG_EUSAGE: the sources of `together` are not of
 * one device, or the offset is more than a program takes.
 */
int frag_fits_run(struct frag_fits *fits, struct frag_error *err);
void frag_fits_fini(struct frag_fits *fits);
