/* result_fields.h - the members that the runs of a result and of a baseline have, written and read. */
#pragma once

#include "documents/fields.h"
#include "fragsim/metrics.h"
#include "metrics/metric.h"

/*
 * Of a struct frag_metrics: each metric, and the same without percentages. Those of the first edition
 * come first: in a result bytes and counts, then percentages; in a baseline bytes and counts that are
 * never below 0, then percentages, then the others.
 */
extern const struct frag_field frag_metrics_fields[], frag_peak_fields[];
extern const struct frag_field frag_baseline_metrics_fields[], frag_baseline_peak_fields[];

/* Of a struct frag_distribution; without steps its values are null. */
extern const struct frag_field frag_distribution_fields[];

/* Of a struct frag_result: its device, the number of that, and its sizes, */
extern const struct frag_field frag_result_device_fields[], frag_ordinal_field[], frag_device_sizes_fields[];
/* how it ended, how each percentage was distributed, and the time of driver calls. */
extern const struct frag_field frag_status_fields[], frag_distributions_fields[];
extern const struct frag_field frag_modelled_field[];
/* what was moved, and what was placed as planned. */
extern const struct frag_field frag_placed_fields[];

/* Of a struct frag_counts. */
extern const struct frag_field frag_counts_fields[];

#define FRAG_LOWER_BOUND_FIELD(at)                                                              \
	{ "lower_bound", FRAG_TYPE_SUM, at, "the peak of requested: no policy can reserve less" }

/* Of a struct frag_runs: what its trace contains. Of a struct frag_given: each size. */
extern const struct frag_field frag_content_fields[], frag_given_fields[];

/* "capacity", "fragmentation": by whether enough bytes were free. */
extern const char *const frag_oom_kinds[];

/* Of a baseline: the policy, of a struct frag_run; a struct frag_oom, the first; a struct frag_timeline. */
extern const struct frag_field frag_policy_text_fields[], frag_first_oom_fields[], frag_mark_fields[],
	frag_course_fields[];
