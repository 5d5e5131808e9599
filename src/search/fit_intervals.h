/*
 * fit_intervals.h - finds the capacities that a run fits.
 *
 * A run that fits a smaller device can fail on a larger one. So a result is valid only for its
 * interval: the capacities on which the run is the same, event for event, as struct frag_result
 * reports them. This module keeps a list of such intervals, which grows with each query.
 */
#pragma once

#include "base/array_grow.h"
#include "base/job.h"
#include "engine/small_requests.h"
#include "fragsim/engine.h"

/*
 * Copies of the last run along its way, where the next one can begin.
 *
 * Runs on two capacities are the same up to the first decision that a capacity changes. So a run
 * on another capacity begins at the last copy whose own run so far has it in [min_capacity,
 * end_capacity).
 */
#define FRAG_CHECKPOINTS 32

struct frag_checkpoint {
	struct frag_sim *sim;
	uint64_t event;                 /* the next one to play */
	struct frag_smallreq_cursor cursor;     /* where small requests are separate */
	uint64_t min_capacity, end_capacity;
	uint64_t bytes;                 /* its approximate size */
};

/* Zeroed: none. All of one tape, choice and device, at FRAG_LEVEL_SURVIVE. */
struct frag_checkpoints {
	struct frag_checkpoint at[FRAG_CHECKPOINTS];    /* by event */
	uint32_t count;
	uint64_t bytes;                 /* of all, approximately: at most the size of the tape */
	uint64_t stride; /* events from one to the next; 0: as many as are worth it */
	struct frag_smallreq *small;    /* of their small requests; or NULL */
};

void frag_checkpoints_forget(struct frag_checkpoints *c);

/* The runs of a search: one policy, and one device whose capacity changes. */
struct frag_fit_case {
	const struct frag_tape *tape;           /* borrowed, as is all here */
	const struct frag_choice *choice;
	/* of all devices; all except the examined one have no limit */
	const struct frag_device_figures *devices;
	uint32_t device;                /* ordinal */
	const struct frag_driver_model *model;  /* of what calls take; NULL: none */
	struct frag_smallreq *small;    /* see frag_fit_intervals_init(); NULL: none is separate */
	struct frag_job job;
};

/* The outcome of a run. */
struct frag_attempt {
	bool fits;
	bool broken;                    /* the policy failed: it does not fit, and had no OOM */
	uint64_t oom_step;              /* where not */
	uint64_t calls, refused, retries;       /* of the device; second tries after a refusal */
	uint64_t peak_reserved;         /* at FRAG_LEVEL_PEAKS, else 0 */
	uint64_t peak_requested;        /* likewise, as the next */
	uint64_t peak_allocated;
	uint64_t peak_used;             /* likewise: of the device, with its context */
	uint64_t driver_ns;             /* with a model */
	uint64_t steps;
};

/* Capacities whose runs are the same, in bytes; end_capacity UINT64_MAX: no end. */
struct frag_interval {
	uint64_t min_capacity, end_capacity;
	struct frag_attempt outcome;
};

/* A new simulation; the capacity as in frag_fit_case_run(). */
int frag_fit_case_begin(const struct frag_fit_case *s, uint64_t total, uint64_t other,
			enum frag_level level, struct frag_sim **sim, struct frag_error *err);
/* The interval of a simulation at FRAG_LEVEL_SURVIVE, as far as it has run. */
struct frag_interval frag_interval_of(struct frag_sim *sim, uint32_t device);

/*
 * One run from the first event on, with this capacity; total 0: without a limit. other: bytes
 * that other processes use in addition to those of the device's description. A policy that fails
 * does not fit, is `broken`, and *err has why. -FRAG_EINTERRUPTED, -FRAG_ENOMEM
 */
int frag_fit_case_run(const struct frag_fit_case *s, uint64_t total, uint64_t other,
		      enum frag_level level, struct frag_interval *out, struct frag_error *err);

/*
 * The run without a limit of the device, with peaks. That of the requested bytes is the whole
 * trace's, also where a limit of the policy ended the run.
 */
int frag_fit_case_unlimited(const struct frag_fit_case *s, struct frag_interval *out,
			    struct frag_error *err);

/*
 * The smallest capacity of at least `bytes` that is context, other processes and a whole number
 * of pages.
 */
uint64_t frag_fit_case_round_up(const struct frag_fit_case *s, uint64_t bytes);

struct frag_fit_intervals {
	struct frag_fit_case subject;
	struct frag_interval *intervals;        /* by capacity; there may be gaps between them */
	uint32_t count, capacity;
	uint64_t runs;                  /* that were simulated */
	const struct frag_fit_intervals *known; /* of the same case, ended: they need no run; NULL */
	struct frag_checkpoints checkpoints;    /* of the last one */
	char *why;                      /* of the first run whose policy failed; NULL: none; owned */
	int64_t offset;                 /* of several at once: bytes of its device beyond those of
					 * the first one's */
};

/* A trace: what it is simulated from. All borrowed. */
struct frag_fit_source {
	const struct frag_tape *tape;
	const struct frag_choice *choices;              /* as many as all sources have */
	const struct frag_device_figures *devices;      /* capacities are not looked at */
	const struct frag_scope *scope; /* NULL: that of the tape's trace */
};

static inline const struct frag_scope *frag_source_scope(const struct frag_fit_source *source)
{
	return source->scope ? source->scope : &frag_tape_info(source->tape)->scope;
}

/* A device of a source, except the host's memory. */
struct frag_place {
	uint32_t source, device;
	struct frag_tape *part;         /* of the device alone; NULL: the source's; owned */
	uint64_t lower_bound;           /* for the user */
};

/* All of these sources, in their order. Freed by the caller, also on failure. -FRAG_ENOMEM */
int frag_places_find(struct frag_place **places, uint32_t *count,
		     const struct frag_fit_source *sources, uint32_t source_count,
		     struct frag_error *err);
void frag_places_free(struct frag_place *places, uint32_t count);

/*
 * part: of the subject's tape what concerns its device, which is simulated in its place; or NULL.
 * cache: the subject shares its small requests with those before it; tapes and choices stay. NULL:
 * none is separate. -FRAG_ENOMEM
 */
int frag_fit_intervals_init(struct frag_fit_intervals *s, const struct frag_fit_case *subject,
			    const struct frag_tape *part, struct frag_smallreq_cache *cache,
			    struct frag_error *err);
void frag_fit_intervals_fini(struct frag_fit_intervals *s);
/*
 * The interval that a capacity is in, 0 being nothing, simulated where it is not known; it stays
 * until the next call. Failures as in frag_fit_case_run().
 */
int frag_fit_intervals_at(struct frag_fit_intervals *s, uint64_t total,
			  const struct frag_interval **out, struct frag_error *err);

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

/* Nothing is known. */
#define FRAG_FIT_UNKNOWN                                                                       \
	{ .smallest = UINT64_MAX, .at_most = UINT64_MAX, .reliable = UINT64_MAX,               \
	  .no_refusal = UINT64_MAX, .headroom = UINT64_MAX }

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

/* The verdict of simulations, one a trace or device: one that fails decides. */
int frag_fit_judge_at(struct frag_fit_intervals *const *intervals, uint32_t count, uint64_t total,
		      struct frag_fit_verdict *v, struct frag_error *err);

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
