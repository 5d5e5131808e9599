/* metrics_order.h - in which order the members of an object of metrics stand. */
#ifndef DOCUMENTS_METRICS_ORDER_H
#define DOCUMENTS_METRICS_ORDER_H

#include "metrics/metric.h"

struct frag_metrics_order {
	const struct frag_metric *metric[FRAG_METRIC_ALL];
	uint32_t count;
};

/*
 * Those of the first edition come first, then what the second one added, and so on;
 * in each edition bytes and counts before percentages. A result has signed bytes
 * among the former, a baseline after the latter. A peak has no percentages.
 */
struct frag_metrics_order frag_result_order(bool percents);
struct frag_metrics_order frag_baseline_order(bool percents);

#endif
