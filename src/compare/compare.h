/*
 * compare.h - compares runs with other runs: the differences, their places, and a verdict.
 *
 * The base of a run is the first policy of the same trace (policies are compared), or its
 * counterpart in a file (runs are compared).
 */
#pragma once

#include "compare/name_index.h"
#include "compare/runs.h"
#include "fragsim/error.h"
#include "fragsim/metrics.h"

enum frag_unit { FRAG_BYTES, FRAG_POINTS, FRAG_NUMBER, FRAG_NANOSECONDS };

enum frag_verdict {
	FRAG_SAME,
	FRAG_CHANGED,           /* neither better nor worse */
	FRAG_BETTER,
	FRAG_WORSE,
	FRAG_MIXED,             /* of a pair: better here, worse there */
};

struct frag_figure {
	const char *path;       /* a path of frag_result_value(), or another name */
	enum frag_unit unit;
	bool more_is_better;
	bool decides; /* a pair's verdict follows from these, `any` of fragsim-run(1), Conditions */
	bool of_end;            /* how a run ended: compared whether it finished or not */
	bool optional;          /* omitted if neither run has it, except on request */
	bool of_peaks;          /* a peak, or made of peaks: known of a run that finished only */
	/* NULL: the value at the path */
	double (*value)(const struct frag_result *result);
};

/*
 * The values of a comparison, except those of metrics: X(name, path, unit, optional, ...), with further
 * members of struct frag_figure, whose functions compare.c has.
 */
#define FRAG_OWN_FIGURES(X)                                                                     \
	X(PEAK_RESERVED, "peak.reserved", BYTES, false, .decides = true, .of_peaks = true)      \
	X(PEAK_ALLOCATED, "peak.allocated", BYTES, false, .of_peaks = true)                     \
	X(OVER_BOUND, "over_bound", POINTS, false, .of_peaks = true, .value = over_bound)       \
	X(EFFICIENCY, "efficiency", POINTS, false, .more_is_better = true, .of_peaks = true,    \
	  .value = efficiency)                                                                  \
	X(FI_DEVICE_MEAN, "fi_device.mean", POINTS, false, .decides = true)                     \
	X(FI_DEVICE_P95, "fi_device.p95", POINTS, false, .decides = false)                      \
	X(FI_DEVICE_MAX, "fi_device.max", POINTS, false, .decides = true)                       \
	X(FI_MEAN, "fi.mean", POINTS, false, .decides = false)                                  \
	X(SEVERE_STEPS, "fi_device.severe_steps", NUMBER, false, .decides = false)              \
	X(OOMS, "counts.ooms", NUMBER, false, .decides = true, .of_end = true)                  \
	X(RETRIES, "counts.retries", NUMBER, false, .decides = true)                            \
	X(DEVICE_CALLS, "device_calls", NUMBER, false, .value = device_calls)                   \
	X(DRIVER_TIME, "modelled.driver_ns", NANOSECONDS, false, .decides = false)              \
	X(SMALLEST, "smallest", BYTES, true, .decides = true, .of_end = true)
#define FRAG_FIGURE_NAME(name, ...) FRAG_##name,

#define FRAG_FIGURE_ONE_APART
#define FRAG_FIGURE_ONE_FIGURE + 1
#define FRAG_FIGURE_ONE(name, unit, since, peak, pool, rows, diff, text) FRAG_FIGURE_ONE_##diff

/* The metrics that tables show in separate columns. */
enum frag_figure_name {
	FRAG_OWN_FIGURES(FRAG_FIGURE_NAME)
	FRAG_METRIC_FIGURES,    /* and after these the peaks that the table of metrics names */
	FRAG_FIGURES = FRAG_METRIC_FIGURES FRAG_METRICS(FRAG_FIGURE_ONE)
};
extern const struct frag_figure frag_figures[FRAG_FIGURES];

/*
 * Did both runs end at the same step? The metrics of a run that ended early describe its
 * beginning: only a run that ended at the same step is comparable. Its peaks are never
 * comparable, as later steps could exceed them.
 */
bool frag_results_comparable(const struct frag_result *base, const struct frag_result *result);
static inline bool frag_peaks_comparable(const struct frag_result *base,
					 const struct frag_result *result)
{
	return base->status == FRAG_RUN_OK && result->status == FRAG_RUN_OK;
}

/* The value in the precision of the output: percentages with four decimals. False: no value. */
bool frag_figure_value(const struct frag_figure *figure, const struct frag_result *result,
		       double *value);

struct frag_change {
	bool has_base, has_value;
	bool compared;          /* both are there, and both runs went as far as it takes */
	double base, value;
	double difference;      /* compared */
	bool has_percent;       /* compared, and the base is not 0 */
	double percent;         /* of the base */
	enum frag_verdict verdict;
};

const char *frag_verdict_name(enum frag_verdict verdict);
extern const char *const frag_verdict_words[];  /* by enum frag_verdict, ended by NULL */

struct frag_pair {
	struct frag_run *run;           /* NULL: the base has it only */
	struct frag_run *base;          /* NULL: there is none to compare with */
	enum frag_verdict verdict;      /* of both */
	struct frag_divergence_point first,
		largest;		/* where they diverge; where they differ most */
	char *conditions;               /* what differs in them, one a line; NULL: nothing */
};

/* The change of one metric of the pair, for the runs that exist. */
struct frag_change frag_pair_change(const struct frag_figure *figure,
				    const struct frag_pair *pair);

/* One trace. */
struct frag_group {
	struct frag_runs *runs;         /* NULL: the base has it only */
	struct frag_runs *base;         /* the same trace there; NULL: none */
	struct frag_pair *pair;
	uint32_t count;
	bool many_devices;              /* a run is on another than the first */
	bool changed;                   /* the base has this trace with another content */
	char *conditions;               /* as above, of the trace */
};

/* How many pairs came out how. */
struct frag_outcome {
	uint32_t verdict[FRAG_MIXED + 1];
	uint32_t compared;              /* the sum of those */
	uint32_t added, missing;        /* only now; only in the base */
};

/* How a policy does over all traces, against the first. */
struct frag_policy_summary {
	const struct frag_run *run;     /* one of its runs: the name; never NULL */
	uint32_t runs, survived;        /* without an OOM */
	uint32_t ratios;                /* runs of the mean: both fit */
	double ratio;                   /* geometric mean of peak reserved over the base's */
	double over_bound;              /* the same of it over the lower bound, in percent above */
	double fi_device;               /* mean difference in points of fi_device.mean */
	const struct frag_group *best, *worst;  /* by ratio; NULL where ratios is 0 */
	double best_ratio, worst_ratio;
};

struct frag_comparison {
	bool policies;                  /* the first policy is the base of the others */
	struct frag_run_set now, base;
	struct frag_group *group;
	uint32_t count;
	char *conditions;               /* as above, of the tool */
	bool interrupted;
	/* set at the end */
	struct frag_outcome outcome;
	struct frag_policy_summary *standings;  /* one a compared policy, in their order */
	uint32_t standing_count;
	struct frag_lookup base_names;  /* of the traces of the base */
};

/*
 * Compares the runs of trace `index` of `now` with their base, into group[index]; threads may
 * call it for several traces at once. frag_comparison_begin allocates the groups.
 */
int frag_comparison_begin(struct frag_comparison *c, uint32_t traces, struct frag_error *err);
int frag_comparison_trace(struct frag_comparison *c, uint32_t index, struct frag_runs *runs,
			  struct frag_error *err);

/* After the last trace: traces and runs that only the base has, the tool, and the outcome. */
int frag_comparison_end(struct frag_comparison *c, bool with_missing, struct frag_error *err);

void frag_comparison_fini(struct frag_comparison *c);
