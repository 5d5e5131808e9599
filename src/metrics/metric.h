/* metric.h - one metric of the table, and the result of a run. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "fragsim/metrics.h"

/* As the unit says: u of bytes and counts, i of signed ones, d of a percentage. */
union frag_metric_value {
	uint64_t u;
	int64_t i;
	double d;
};

static inline union frag_metric_value frag_metric_get(const struct frag_metrics *m,
						      const struct frag_metric *metric)
{
	union frag_metric_value value;

	memcpy(&value, (const char *)m + metric->at, sizeof(value));
	return value;
}

static inline void frag_metric_set(struct frag_metrics *m, const struct frag_metric *metric,
				   union frag_metric_value value)
{
	memcpy((char *)m + metric->at, &value, sizeof(value));
}

static inline uint32_t frag_metric_bit(const struct frag_metric *metric)
{
	return UINT32_C(1) << metric->index;
}

/* frag_metric_known() for callers that test each value of each row. */
static inline bool is_known(const struct frag_metrics *m, const struct frag_metric *metric)
{
	return !(metric->hidden && m->opaque)
	       && (metric->unit != FRAG_METRIC_SIGNED || m->limited)
	       && !(m->unread & frag_metric_bit(metric));
}

/* By enum frag_run_status, ended by NULL. */
extern const char *const frag_run_status_words[];

/* Whatever its unit, as a number. */
double frag_metric_number(const struct frag_metrics *m, const struct frag_metric *metric);

/* Of a percentage: how it was distributed over the steps. */
static inline struct frag_distribution *frag_metric_distribution(struct frag_result *result,
								 const struct frag_metric *metric)
{
	return (struct frag_distribution *)(void *)((char *)result + metric->distribution);
}

static inline const struct frag_distribution *
frag_metric_distribution_of(const struct frag_result *result, const struct frag_metric *metric)
{
	return (const void *)((const char *)result + metric->distribution);
}

/* Finds a metric by its name of `length` characters; NULL: none. */
const struct frag_metric *frag_metric_find(const char *name, size_t length);

/*
 * The copy owns all that it points to, as its source does, and is released with
 * the result that it is in. False: out of memory; it is to be released even so.
 */
bool frag_oom_copy(struct frag_oom *to, const struct frag_oom *from);
bool frag_mark_copy(struct frag_mark *to, const struct frag_mark *from);

/* Is it the path of a metric that the file lacks which this result was read from? */
bool frag_result_unread(const struct frag_result *result, const char *path);
/* Releases what they own, not the array. */
static inline void frag_holders_fini(struct frag_tag_usage *holders, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		for (uint32_t i = 0; i < holders[k].stack_count; i++)
			free(holders[k].stacks[i].frames);
		free(holders[k].tag);
	}
}
