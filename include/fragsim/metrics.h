/*
 * metrics.h - the numbers that a run produces (SPEC 5 and 7).
 */
#ifndef FRAGSIM_METRICS_H
#define FRAGSIM_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/policy.h"

/* After a step, on one device, under one policy. Bytes unless said otherwise. */
struct frag_metrics {
	uint64_t requested, allocated, active, reserved;
	uint64_t free, largest_free, releasable, stranded, waste;
	uint64_t process_used;
	uint64_t segments, blocks;      /* counts */
	int64_t  device_free;           /* only where limited */
	bool     limited;               /* the device has a capacity */
	/* memory is in a pool of the device's own: largest_free, releasable, stranded, fi and
	 * fi_device are not known */
	bool     opaque;
	double   fi, fi_device, internal, utilization;  /* percent */
};

/* How much of the metrics a run keeps; what is not kept costs nothing. */
enum frag_level {
	FRAG_LEVEL_ALL,         /* each step's, peaks, distributions, marks */
	FRAG_LEVEL_PEAKS,       /* each step's but percentages, and peaks */
	FRAG_LEVEL_SURVIVE,     /* counts, and whether and where memory ran out */
};

/* Is it one of those that are not known where memory is opaque? */
bool frag_metric_is_opaque(const char *name);

/* The bytes and counts in the order of the outputs, device_free apart. */
#define FRAG_METRICS_BEFORE_DEVICE(X)                                         \
	X(requested) X(allocated) X(active) X(reserved) X(free)               \
	X(largest_free) X(releasable) X(stranded) X(waste)
#define FRAG_METRICS_PERCENT(X) X(fi) X(fi_device) X(internal) X(utilization)
#define FRAG_METRICS_COUNT(X) X(segments) X(blocks)

/* A percentage over the steps of a run. */
struct frag_distribution {
	uint64_t steps;                 /* 0: nothing else is set */
	double min, mean, p50, p95, p99, max, last;
	bool   weighted;                /* time_weighted_mean is set */
	double time_weighted_mean;
	uint64_t severe_steps;          /* value above 70 */
};

/* How often each happened in the run; hits: requests that needed no call of the device. */
struct frag_counts {
	uint64_t allocs, frees, hits, segment_allocs, segment_frees;
	uint64_t splits, merges, retries, ooms, skipped;
};
#define FRAG_COUNTS(X)                                                        \
	X(allocs) X(frees) X(hits) X(segment_allocs) X(segment_frees)         \
	X(splits) X(merges) X(retries) X(ooms) X(skipped)

enum frag_run_status { FRAG_RUN_OK, FRAG_RUN_OOM, FRAG_RUN_INTERRUPTED };
/* As in the outputs: "ok", "oom", "interrupted". */
const char *frag_run_status_name(enum frag_run_status status);

/* Blocks of one stack among those of a tag. */
struct frag_holder_stack {
	char    *frames;        /* a line for each, the innermost first, as text of JSON */
	uint64_t bytes, blocks;
	uint64_t oldest;        /* step of birth */
};
#define FRAG_HOLDER_STACKS_MOST 3

/* Who held memory at an OOM: live and pending blocks by tag. */
struct frag_holder {
	char    *tag;           /* NULL: blocks without one */
	uint64_t bytes, blocks;
	uint64_t oldest;        /* step of birth */
	/* where whole stacks are asked for: the largest, and how many there are */
	struct frag_holder_stack stacks[FRAG_HOLDER_STACKS_MOST];
	uint32_t stack_count, all_stacks;
};
#define FRAG_HOLDERS_MOST 5

/* The least that had to be freed for the request, and who held it. */
struct frag_hole {
	uint64_t live;          /* bytes of it */
	uint64_t bytes;         /* that come of it in one piece; 0: nothing would do */
	uint64_t offset;
	uint32_t segment;       /* ordinal */
	bool whole;             /* the segment could be given back then */
	struct frag_holder holders[FRAG_HOLDERS_MOST];
	uint32_t holder_count;
};

struct frag_oom {
	uint64_t step;
	char    *id;            /* as JSON: 7 or "text"; NULL: none */
	uint64_t size;          /* requested bytes */
	uint64_t tried;         /* bytes that the device refused last */
	bool     fragmentation; /* enough bytes were free; else: too little memory */
	uint64_t used, limit;   /* bytes of the device then, and what set_fraction allows;
				 * UINT64_MAX: no limit */
	struct frag_metrics metrics;    /* then */
	struct frag_holder holders[FRAG_HOLDERS_MOST];  /* the largest first */
	uint32_t holder_count;
	struct frag_hole hole;
};
#define FRAG_OOMS_MOST 100

struct frag_mark {
	char    *name;          /* as JSON text with its quotes */
	uint64_t step;
	struct frag_metrics metrics;
};
#define FRAG_MARKS_MOST 10000
/* Of all devices of a policy together, each counting its own: a mark may hold for 1,024. */
#define FRAG_MARKS_ALL_MOST (10 * FRAG_MARKS_MOST)

/*
 * A replay: what the simulated device predicted, and what was measured on the
 * GPU. Bytes; `used` is device memory at the highest, without the context.
 */
struct frag_prediction {
	bool there;                     /* else this was a simulation, and nothing is set */
	bool differs;                   /* a decision did, at this step for the first time: */
	uint64_t first_difference;
	uint64_t steps;                 /* that were compared */
	uint64_t reserved_predicted, reserved_measured;
	uint64_t used_predicted, used_measured;
	int64_t free_predicted, free_measured;  /* at the lowest */
	bool oom_predicted, oom_measured;       /* the first one at these steps: */
	uint64_t oom_step_predicted, oom_step_measured;
	int64_t error_bytes;            /* of used: predicted - measured */
	double error_percent;           /* the same, without sign, of what was measured */
};

/* Those that conditions may name. */
#define FRAG_PREDICTION(X)                                                    \
	X(differs) X(steps) X(reserved_predicted) X(reserved_measured)        \
	X(used_predicted) X(used_measured) X(free_predicted) X(free_measured) \
	X(error_bytes) X(error_percent)

/* What the calls of a driver would take: a device's profile says so. Modelled, not measured. */
struct frag_modelled {
	bool there;                     /* else there was no profile, and nothing is set */
	uint64_t driver_ns, calls;
	uint64_t unmeasured_calls;      /* of kinds that the profile does not have: they count 0 */
};
#define FRAG_MODELLED(X) X(driver_ns) X(calls) X(unmeasured_calls)

/* The largest single cudaMalloc that a GPU would have given, after a step. */
struct frag_probe {
	uint64_t step;
	char *mark;                     /* as JSON text with its quotes; NULL: at none */
	uint64_t free;                  /* bytes that could have been, in whole pages */
	uint64_t largest;               /* bytes in one piece */
	double   fi;                    /* percent of free that this piece is not */
};
#define FRAG_PROBES_MOST 10000

struct frag_probes {
	struct frag_probe *probe;       /* the first of them */
	uint32_t kept;
	uint64_t count;                 /* of all; 0: nobody asked */
};

struct frag_driver_costs;               /* what the calls of a GPU's driver took */

/* One policy on one device. Owns what it points to but ops. */
struct frag_result {
	struct frag_choice choice;
	uint32_t device;                /* ordinal */
	const char *device_name;        /* NULL: none; borrowed from the simulation */
	uint64_t total, context, other, granularity;
	uint64_t small_most, small_granularity; /* as in frag_device_figures; 0: none */
	enum frag_run_status status;
	/* with any total in [least, beyond) the run would have been the same, event for event;
	 * beyond UINT64_MAX: no bound. Of a simulated device only */
	uint64_t least, beyond;
	enum frag_level level;          /* what of the next fields is kept; the rest is 0 */
	uint64_t steps;                 /* rows of metrics */
	struct frag_metrics peak;       /* no percentages */
	struct frag_metrics last;
	struct frag_distribution fi, fi_device, internal, utilization;
	uint64_t lower_bound;           /* the peak of requested */
	struct frag_counts counts;
	struct frag_oom *ooms;
	uint32_t oom_count;             /* kept: counts.ooms may be more */
	struct frag_mark *marks;
	uint32_t mark_count;
	bool has_stats;                 /* the policy keeps statistics of its own */
	bool marks_cut;                 /* of all devices there were more than are kept */
	struct frag_memory_stats stats;
	struct frag_modelled modelled;
	struct frag_prediction prediction;
	const struct frag_driver_costs *costs;  /* NULL: a simulation; borrowed */
	const struct frag_probes *probes;       /* likewise */
};

/* Releases what the result owns, not the result itself; one that is zeroed is fine. */
void frag_result_fini(struct frag_result *result);

/*
 * The value at a path such as "peak.reserved", "fi_device.max", "counts.ooms" or
 * "steps". *absent: it exists, but has no value in this run. False where there is
 * no such path.
 */
bool frag_result_value(const struct frag_result *result, const char *path, double *value,
		       bool *absent);

#endif
