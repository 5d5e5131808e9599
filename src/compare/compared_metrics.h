/* compared_metrics.h - the figures that are compared, and how two of them differ. */
#ifndef COMPARE_COMPARED_METRICS_H
#define COMPARE_COMPARED_METRICS_H

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
	const char *path;       /* as frag_result_value() knows it, or a name of its own */
	enum frag_unit unit;
	bool more_is_better;
	bool decides; /* a pair's verdict follows from these, `any` of fragsim-run(1), Conditions */
	bool of_end;            /* how a run ended: compared whether it finished or not */
	bool optional;          /* left out where neither run has it, and nobody asked */
	bool of_peaks;          /* made of peaks: says nothing where those are cut */
	/* NULL: the value at the path */
	double (*value)(const struct frag_result *result);
};

#define FRAG_FIGURE_ONE_APART
#define FRAG_FIGURE_ONE_FIGURE + 1
#define FRAG_FIGURE_ONE(name, unit, since, peak, pool, rows, diff, text) FRAG_FIGURE_ONE_##diff

/* The names of those that tables show by themselves. */
enum frag_figure_name {
	FRAG_PEAK_RESERVED, FRAG_PEAK_ALLOCATED, FRAG_OVER_BOUND, FRAG_EFFICIENCY,
	FRAG_FI_DEVICE_MEAN, FRAG_FI_DEVICE_P95, FRAG_FI_DEVICE_MAX, FRAG_FI_MEAN,
	FRAG_SEVERE_STEPS, FRAG_OOMS, FRAG_RETRIES, FRAG_DEVICE_CALLS, FRAG_DRIVER_TIME,
	FRAG_SMALLEST,
	FRAG_METRIC_FIGURES,    /* and after these the peaks that the table of metrics names */
	FRAG_FIGURES = FRAG_METRIC_FIGURES FRAG_METRICS(FRAG_FIGURE_ONE)
};
extern const struct frag_figure frag_figures[FRAG_FIGURES];

/*
 * Went both equally far? The figures of a run that ended early are those of its beginning:
 * they can be held against one that ended at the same step, and no other. Its peaks cannot:
 * how high they would have gone nobody knows.
 */
bool frag_results_comparable(const struct frag_result *base, const struct frag_result *result);
bool frag_peaks_comparable(const struct frag_result *base, const struct frag_result *result);

/* Is it a peak, or made of peaks? Those are known of a run that finished only. */
bool frag_figure_is_of_peaks(const struct frag_figure *figure);

/* As it is shown: percentages with four decimals. False: it has none here. */
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

/* Either result may be NULL. */
struct frag_change frag_figure_change(const struct frag_figure *figure,
				      const struct frag_result *base,
				      const struct frag_result *result);

/* Is it one that a list of all figures has a line for? */
bool frag_figure_is_listed(const struct frag_figure *figure, const struct frag_change *change);

const char *frag_verdict_name(enum frag_verdict verdict);

#endif
