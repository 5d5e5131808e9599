/*
 * fit_intervals.h - on which capacities a run survives.
 *
 * A larger device can fail where a smaller one survives, so nothing is concluded from one
 * capacity for another, but for those on which the run would have been the same, event for
 * event: struct frag_result says which. What is known is a list of such intervals, which grows
 * as it is asked.
 */
#ifndef SEARCH_FIT_INTERVALS_H
#define SEARCH_FIT_INTERVALS_H

#include "fragsim/engine.h"
#include "search/checkpoints.h"

/* What is simulated again and again: one policy, and one device that changes. */
struct frag_fit_case {
	const struct frag_tape *tape;           /* borrowed, as is all here */
	const struct frag_choice *choice;
	/* of all devices; but for the one that is looked at they have no limit */
	const struct frag_device_figures *devices;
	uint32_t device;                /* ordinal */
	const struct frag_driver_model *model;  /* of what calls take; NULL: none */
	struct frag_smallreq *small;    /* see frag_fit_case_share(); NULL: none is separate */
	bool (*stop)(void *ctx);        /* optional: asked before each run */
	void *ctx;
};

/* What a run came to. */
struct frag_attempt {
	bool survives;
	uint64_t oom_step;              /* where not */
	uint64_t calls, refused, retries;       /* of the device; second tries after a refusal */
	uint64_t peak_reserved;         /* at FRAG_LEVEL_PEAKS, else 0 */
	uint64_t peak_requested;        /* likewise, as the next */
	uint64_t peak_allocated;
	uint64_t peak_used;             /* likewise: of the device, with its context */
	uint64_t driver_ns;             /* with a model */
	uint64_t steps;
};

/* Capacities whose runs are the same: [least, beyond), beyond UINT64_MAX: no end. Bytes. */
struct frag_interval {
	uint64_t least, beyond;
	struct frag_attempt outcome;
};

/*
 * One run from the first event on, with this capacity; total 0: without a limit. other: bytes
 * that others hold above what the figures say. -FRAG_EINTERRUPTED, -FRAG_ENOMEM, or a failure of
 * the policy.
 */
int frag_subject_run(const struct frag_fit_case *s, uint64_t total, uint64_t other,
		     enum frag_level level, struct frag_interval *out, struct frag_error *err);

/*
 * What the program requests of the device at once at the most, whatever the policy. free_run: the
 * subject's own run without a limit, which says it unless a limit of the policy's own ended it.
 */
int frag_subject_requested(const struct frag_fit_case *s, const struct frag_attempt *free_run,
			   uint64_t *bytes, struct frag_error *err);

/* A simulation at FRAG_LEVEL_SURVIVE with this capacity; and what one has come to so far. */
int frag_subject_begin(const struct frag_fit_case *s, uint64_t total, struct frag_sim **sim,
		       struct frag_error *err);
struct frag_interval frag_survival_of(struct frag_sim *sim, uint32_t device);

/* The least capacity that is a whole number of pages beside context and others, and not below. */
uint64_t frag_subject_lattice(const struct frag_fit_case *s, uint64_t bytes);

struct frag_fit_intervals {
	struct frag_fit_case subject;
	struct frag_interval *intervals;        /* by capacity; there may be gaps between them */
	uint32_t count, capacity;
	uint64_t runs;                  /* that were simulated */
	struct frag_checkpoints checkpoints;    /* of the last one */
};

/* The subject shares its small requests with those before it. Tapes and choices stay. -FRAG_ENOMEM */
int frag_fit_case_share(struct frag_fit_case *s, struct frag_smallreq_cache *cache,
			struct frag_error *err);

void frag_survival_init(struct frag_fit_intervals *s, const struct frag_fit_case *subject);
void frag_survival_fini(struct frag_fit_intervals *s);
/*
 * The interval that a capacity is in, 0 being nothing, simulated where it is not known; it stays
 * until the next call. Failures as in frag_subject_run().
 */
int frag_survival_at(struct frag_fit_intervals *s, uint64_t total, const struct frag_interval **out,
		     struct frag_error *err);

#endif
