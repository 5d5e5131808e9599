/*
 * compare.h - runs beside other runs: what differs, where, and what it means.
 *
 * The base of a run is the first policy of its own trace (policies are
 * compared), or its counterpart in a file (runs are compared).
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "compare/compared_metrics.h"
#include "compare/runs.h"
#include "fragsim/error.h"

struct frag_pair {
	struct frag_run *run;           /* NULL: the base has it only */
	struct frag_run *base;          /* NULL: there is none to compare with */
	enum frag_verdict verdict;      /* of both */
	struct frag_divergence_point first,
		largest;		/* where they diverge; where they differ most */
	char *conditions;               /* what differs in them, one a line; NULL: nothing */
};

/* A figure of the two, as far as it is there. */
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

/* The trace's name for a message; the base's where there is no other. */
const char *frag_group_path(const struct frag_group *group);

struct frag_comparison {
	bool policies;                  /* the first policy is the base of the others */
	struct frag_run_set now, base;
	struct frag_group *group;
	uint32_t count;
	char *conditions;               /* as above, of the tool */
	bool interrupted;
	struct frag_trace_list *base_list;      /* its own */
};

/*
 * The runs of trace `index` of `now` beside their base, into group[index]; may be
 * called for several traces at once. frag_comparison_begin makes room for them.
 */
int frag_comparison_begin(struct frag_comparison *c, uint32_t traces, struct frag_error *err);
int frag_comparison_trace(struct frag_comparison *c, uint32_t index, struct frag_runs *runs,
			  struct frag_error *err);

/* Both sets are whole: every trace of `now` beside its counterpart in `base`. */
int frag_comparison_files(struct frag_comparison *c, struct frag_error *err);

/* After the last trace: traces and runs that only the base has, and the tool. */
int frag_comparison_end(struct frag_comparison *c, bool with_missing, struct frag_error *err);

void frag_comparison_fini(struct frag_comparison *c);

/* How many pairs came out how. */
struct frag_outcome {
	uint32_t verdict[FRAG_MIXED + 1];
	uint32_t compared;              /* the sum of those */
	uint32_t added, missing;        /* only now; only in the base */
};

struct frag_outcome frag_comparison_outcome(const struct frag_comparison *c);

/* How a policy does over all traces, against the first. */
struct frag_policy_summary {
	const struct frag_run *run;     /* one of its runs: the name; never NULL */
	uint32_t runs, survived;        /* without an OOM */
	uint32_t ratios;                /* runs of the mean: both survived */
	double ratio;                   /* geometric mean of peak reserved over the base's */
	double over_bound;              /* the same of it over the lower bound, in percent above */
	double fi_device;               /* mean difference in points of fi_device.mean */
	const struct frag_group *best, *worst;  /* by ratio; NULL where ratios is 0 */
	double best_ratio, worst_ratio;
};

/* One for each policy that has been compared, in their order; free it. NULL: out of memory. */
struct frag_policy_summary *frag_comparison_standings(const struct frag_comparison *c,
						uint32_t *count);

#endif
