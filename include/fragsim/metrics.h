/*
 * metrics.h - the numbers that a run produces (fragsim-result(5)).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fragsim/policy.h"

/*
 * Every metric, once: X(name, unit, since, peak, pool, rows, diff, text). The members of struct
 * frag_metrics, rows of steps, results, baselines, their schemas and readers, conditions, the values
 * of comparisons and the names for --columns follow from it.
 *   unit   BYTES; SIGNED: bytes that may be below 0, only of a device with a capacity; COUNT;
 *          PERCENT: with a distribution over the steps (struct frag_result) and no peak
 *   since  the first version of results and baselines that has it: older ones lack it
 *   peak   STEP: the largest after a step; WITHIN: within a step too; NONE
 *   pool   KNOWN of memory in a pool of the driver's own, or HIDDEN there
 *   rows   ALWAYS in rows of steps, in this order, or ASKED for by --columns
 *   diff   APART, if comparisons do not show the peak, or only separately; else they show it
 * A new metric goes to the end, those of the first version come first.
 * src/metrics/run_metrics.c computes it, after each step.
 */
#define FRAG_METRICS(X) FRAG_METRICS_FIRST(X) FRAG_METRICS_LATER(X)
#define FRAG_METRICS_FIRST(X)                                                                  \
	X(requested, BYTES, 1, STEP, KNOWN, ALWAYS, APART,                                  \
	  "requested sizes of the allocated blocks")                                        \
	X(allocated, BYTES, 1, STEP, KNOWN, ALWAYS, APART, "sizes of the allocated blocks") \
	X(active, BYTES, 1, STEP, KNOWN, ALWAYS, APART, "allocated, and pending blocks")    \
	X(reserved, BYTES, 1, WITHIN, KNOWN, ALWAYS, APART, "segments obtained from the device") \
	X(free, BYTES, 1, STEP, KNOWN, ALWAYS, APART, "sizes of the free blocks")           \
	X(largest_free, BYTES, 1, STEP, HIDDEN, ALWAYS, APART, "the largest free block")    \
	X(releasable, BYTES, 1, STEP, HIDDEN, ALWAYS, APART,                                \
	  "segments that could be released to the device")                                \
	X(non_releasable, BYTES, 1, STEP, HIDDEN, ALWAYS, APART,                                  \
	  "free, not releasable: live blocks pin it down")                                  \
	X(waste, BYTES, 1, STEP, KNOWN, ALWAYS, APART, "in no block: tails of slabs")       \
	X(device_free, SIGNED, 1, STEP, KNOWN, ALWAYS, APART, "what the device has left")   \
	X(process_used, BYTES, 1, WITHIN, KNOWN, ALWAYS, APART,                             \
	  "what the process holds of the device")                                           \
	X(fi, PERCENT, 1, NONE, HIDDEN, ALWAYS, APART,                                      \
	  "fragmentation index of the policy's free memory")                                \
	X(fi_device, PERCENT, 1, NONE, HIDDEN, ALWAYS, APART,                               \
	  "fragmentation index of all free memory")                                         \
	X(internal, PERCENT, 1, NONE, KNOWN, ALWAYS, APART, "internal fragmentation")       \
	X(utilization, PERCENT, 1, NONE, KNOWN, ALWAYS, APART, "allocated of reserved")     \
	X(segments, COUNT, 1, WITHIN, KNOWN, ALWAYS, APART, "segments reserved")                \
	X(blocks, COUNT, 1, STEP, KNOWN, ALWAYS, APART, "allocated blocks")
#define FRAG_METRICS_LATER(X)                                                               \
	X(holes, COUNT, 2, STEP, HIDDEN, ASKED, FIGURE, "free blocks")                      \
	X(wasted, BYTES, 2, STEP, HIDDEN, ASKED, FIGURE,                                      \
	  "reserved, neither requested nor releasable")

enum frag_metric_unit {
	FRAG_METRIC_BYTES, FRAG_METRIC_SIGNED, FRAG_METRIC_COUNT, FRAG_METRIC_PERCENT,
};
enum frag_metric_peak { FRAG_PEAK_STEP, FRAG_PEAK_WITHIN, FRAG_PEAK_NONE };

/* The table's data of one metric. */
struct frag_metric {
	const char *name;
	const char *text;               /* a few words of what it is */
	enum frag_metric_unit unit;
	enum frag_metric_peak peak;
	uint32_t index;                 /* in the table */
	uint32_t since;
	uint32_t at;                    /* its offset in struct frag_metrics: 8 bytes */
	uint32_t distribution;          /* of a percentage: its offset in struct frag_result */
	bool hidden;                    /* in a pool of the driver's own */
	bool requested;                 /* for rows of steps */
	bool figure;                    /* its peak is compared */
};

#define FRAG_METRIC_ONE(...) 1 +
enum { FRAG_METRIC_ALL = FRAG_METRICS(FRAG_METRIC_ONE) 0 };

/* All of them, FRAG_METRIC_ALL, and after the last one without a name. */
const struct frag_metric *frag_metric_table(void);

#define FRAG_METRIC_TYPE_BYTES uint64_t
#define FRAG_METRIC_TYPE_SIGNED int64_t
#define FRAG_METRIC_TYPE_COUNT uint64_t
#define FRAG_METRIC_TYPE_PERCENT double
#define FRAG_METRIC_MEMBER(name, unit, ...) FRAG_METRIC_TYPE_##unit name;

/* After a step, on one device, under one policy: a member each, by its name. */
struct frag_metrics {
	FRAG_METRICS(FRAG_METRIC_MEMBER)
	bool limited;                   /* the device has a capacity, and so device_free */
	bool opaque;                    /* memory is in a pool of the driver's own */
	uint32_t unread;                /* a bit for each that the file which this is from lacks */
};

/* Does this metric have a value here? False where it is hidden, unlimited or unread. */
bool frag_metric_known(const struct frag_metrics *m, const struct frag_metric *metric);

/* How much of the metrics a run keeps; what is not kept costs nothing. */
enum frag_level {
	FRAG_LEVEL_ALL,         /* each step's, peaks, distributions, marks */
	FRAG_LEVEL_PEAKS,       /* each step's but percentages, and peaks */
	FRAG_LEVEL_SURVIVE,     /* counts, and whether and where memory ran out */
};

/* A percentage over the steps of a run. */
struct frag_distribution {
	uint64_t steps;                 /* 0: nothing else is set */
	double min, mean, p50, p95, p99, max, last;
	bool   weighted;                /* time_weighted_mean is set */
	double time_weighted_mean;
	uint64_t severe_steps;          /* value above 70 */
};

#define FRAG_METRIC_SPREAD_BYTES(name)
#define FRAG_METRIC_SPREAD_SIGNED(name)
#define FRAG_METRIC_SPREAD_COUNT(name)
#define FRAG_METRIC_SPREAD_PERCENT(name) struct frag_distribution name;
#define FRAG_METRIC_SPREAD(name, unit, ...) FRAG_METRIC_SPREAD_##unit(name)

/* How often each happened in the run; hits: requests that needed no call of the device. */
struct frag_counts {
	uint64_t allocs, frees, hits, segment_allocs, segment_frees;
	uint64_t splits, merges, retries, ooms, skipped;
};
#define FRAG_COUNTS(X)                                                                      \
	X(allocs, "alloc events, those that failed too")                                    \
	X(frees, "free events that were not skipped, those of pending blocks too")          \
	X(hits, "allocations without a call of the device, those of size 0 too")            \
	X(segment_allocs, "segments reserved, those of an initial pool too")                \
	X(segment_frees, "segments released")                                               \
	X(splits, "of a block in two")                                                      \
	X(merges, "of two blocks")                                                          \
	X(retries, "second attempts after the device refused, even if nothing could be released") \
	X(ooms, "requests that failed, a refused initial pool too")                         \
	X(skipped, "events about a block whose allocation had failed")

enum frag_run_status { FRAG_RUN_OK, FRAG_RUN_OOM, FRAG_RUN_INTERRUPTED, FRAG_RUN_ERROR };
/* As in the outputs: "fits", "oom", "interrupted". */
const char *frag_run_status_name(enum frag_run_status status);

/* Blocks of one stack among those of a tag. */
struct frag_holder_stack {
	char    *frames;        /* a line for each, the innermost first, as text of JSON */
	uint64_t bytes, blocks;
	uint64_t oldest;        /* allocation step */
};
#define FRAG_HOLDER_STACKS_MAX 3

/* Who held memory at an OOM: live and pending blocks by tag. */
struct frag_tag_usage {
	char    *tag;           /* NULL: blocks without one */
	uint64_t bytes, blocks;
	uint64_t oldest;        /* allocation step */
	/* if whole stacks are requested: the largest, and how many there are */
	struct frag_holder_stack stacks[FRAG_HOLDER_STACKS_MAX];
	uint32_t stack_count, all_stacks;
};
#define FRAG_HOLDERS_MAX 5

/* The minimum that must be freed for the request, and the tags of it. */
struct frag_hole {
	uint64_t live;          /* bytes of it */
	uint64_t bytes;         /* that are contiguous then; 0: there is no such place */
	uint64_t offset;
	uint32_t segment;       /* ordinal */
	bool whole;             /* the whole segment can be released then */
	struct frag_tag_usage holders[FRAG_HOLDERS_MAX];
	uint32_t holder_count;
};

struct frag_oom {
	uint64_t step;
	char    *id;            /* as JSON: 7 or "text"; NULL: none */
	uint64_t size;          /* requested bytes */
	uint64_t tried;         /* bytes that the device refused last, or a limit of the policy */
	bool     fragmentation; /* enough bytes were free; else: too little memory */
	/* the sizes that would satisfy the request: bytes of a block in the list that the policy
	 * searches, and the last size requested from the device, for pages or a segment */
	uint64_t need, demand;
	uint64_t used, limit;   /* bytes of the device then, and what set_fraction allows, or the
				 * policy itself; UINT64_MAX: no limit */
	const char *limit_key;  /* the key of the policy that sets it; NULL: a fraction does */
	struct frag_metrics metrics;    /* then */
	struct frag_tag_usage holders[FRAG_HOLDERS_MAX];   /* the largest first */
	uint32_t holder_count;
	struct frag_hole hole;
};
#define FRAG_OOMS_MAX 100

/* Was it set_fraction, or a limit of the policy's own, that refused? */
static inline bool frag_oom_is_limit(const struct frag_oom *oom)
{
	return oom->limit != UINT64_MAX && oom->used + oom->tried > oom->limit;
}

/* The largest piece there was: of the device with what could be released, or a free block. */
static inline uint64_t frag_oom_piece(const struct frag_oom *oom)
{
	const struct frag_metrics *m = &oom->metrics;
	const uint64_t whole = (m->device_free > 0 ? (uint64_t)m->device_free : 0) + m->releasable;

	return m->largest_free > whole ? m->largest_free : whole;
}

struct frag_mark {
	char    *name;          /* as JSON text with its quotes */
	uint64_t step;
	struct frag_metrics metrics;
};
#define FRAG_MARKS_MAX 10000
/* Of all devices of a policy together, each counting its own: a mark may hold for 1,024. */
#define FRAG_MARKS_ALL_MAX (10 * FRAG_MARKS_MAX)

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

/*
 * The time that the calls of a driver take, according to a device's profile. Modelled, not
 * measured.
 */
struct frag_modelled {
	bool there;                     /* else there was no profile, and nothing is set */
	uint64_t driver_ns, calls;
	uint64_t unmeasured_calls;      /* of kinds that the profile does not have: they count 0 */
};
#define FRAG_MODELLED(X)                                                                    \
	X(driver_ns, "nanoseconds of all calls")                                            \
	X(calls, "those that were refused too")                                             \
	X(unmeasured_calls, "of a kind that the profile does not have: each counts 0 nanoseconds")

/* What a policy that moves blocks has moved. */
struct frag_compaction {
	bool there;                     /* else the policy moves none */
	uint64_t moves;                 /* requests that succeeded after a move */
	uint64_t blocks, bytes;         /* that were moved; bytes with the sizes before the move */
};
#define FRAG_COMPACTION(X)                                                                  \
	X(moves, COUNT, "requests that succeeded after blocks were moved")                  \
	X(blocks, COUNT, "that were moved, each as often as it was")                        \
	X(bytes, SUM, "of them, before their move")

/* Of struct frag_planned in policy.h. */
#define FRAG_PLANNED(X)                                                                     \
	X(hits, "requests that were placed as planned")                                     \
	X(misses, "all others of more than 0 bytes: the sum of the members below")               \
	X(too_large, "larger than the buffer")                                              \
	X(other_pool, "of another pool than the buffer")                                    \
	X(not_free, "the addresses were not free, or the device refused the pool's segment") \
	X(beyond, "the plan had no more buffers")                                           \
	X(before, "before the first mark that period names")

/* The largest single cudaMalloc that a GPU would have given, after a step. */
struct frag_probe {
	uint64_t step;
	char *mark;                     /* as JSON text with its quotes; NULL: at none */
	uint64_t free;                  /* bytes that could have been, in whole pages */
	uint64_t largest;               /* bytes in one piece */
	double   fi;                    /* percent of free that this piece is not */
};
#define FRAG_PROBES_MAX 10000

struct frag_probes {
	struct frag_probe *probe;       /* the first of them */
	uint32_t kept;
	uint64_t count;                 /* of all; 0: not requested */
};

struct frag_driver_costs;               /* what the calls of a GPU's driver took */

/* What the trace had on a device before its first event; 0 where it says nothing of it. */
struct frag_beginning {
	uint64_t segments;              /* bytes of them */
	uint64_t live;                  /* bytes of the blocks in them, as requested */
	bool as_requests;               /* the segments did not fit: the run begins with nothing,
					 * and each block is a request as any */
};

/* One policy on one device. Owns what it points to but ops. */
struct frag_result {
	struct frag_choice choice;
	uint32_t device;                /* ordinal */
	const char *device_name;        /* NULL: none; borrowed from the simulation */
	uint64_t total, context, other, granularity;
	uint64_t small_max, small_granularity;  /* as in frag_device_figures; 0: none */
	struct frag_beginning beginning;
	enum frag_run_status status;
	/* with any total in [min_capacity, end_capacity) the run would have been the same, event for
	 * event; end_capacity UINT64_MAX: no bound. Of a simulated device only */
	uint64_t min_capacity, end_capacity;
	uint64_t calls, refused;        /* as in struct frag_device; of a simulated one only */
	enum frag_level level;          /* which of the next members are kept; the others are 0 */
	uint64_t steps;                 /* rows of metrics */
	struct frag_metrics peak;       /* no percentages */
	struct frag_metrics last;
	/* of the steps of the trace with the peak of reserved the one with the most allocated,
	 * and the bytes and counts after it */
	uint64_t peak_step;
	struct frag_metrics at_peak;
	/* of a limited device: steps with fi_device above 70 while all free bytes are at least a
	 * hundredth of the reserved bytes: with fewer the index means little */
	uint64_t severe_steps;
	FRAG_METRICS(FRAG_METRIC_SPREAD)        /* of each percentage, by its name */
	uint64_t lower_bound;           /* the peak of requested */
	struct frag_counts counts;
	struct frag_oom *ooms;
	uint32_t oom_count, oom_capacity;       /* kept: counts.ooms may be more */
	struct frag_mark *marks;
	uint32_t mark_count, mark_capacity;
	bool has_stats;                 /* the policy keeps its own statistics */
	bool marks_cut;                 /* of all devices there were more than are kept */
	struct frag_memory_stats stats;
	/* bytes: the smallest device that the trace fits, if a search found it (fragsim-fit(1)).
	 * UINT64_MAX: it fits none; 0: not searched for, as a single run does not search */
	uint64_t smallest;
	struct frag_modelled modelled;
	struct frag_compaction compaction;
	struct frag_planned planned;
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
