/* percent_batch.h - a stretch of steps, divided and counted; for the files of this room only. */
#ifndef METRICS_PERCENT_BATCH_H
#define METRICS_PERCENT_BATCH_H

#include "metrics/percent_series.h"

/* The percentages of one half by fragmentation.h, of any bytes. */
frag_pair frag_share_pct(const struct frag_sums *m, int half);

/*
 * Counts the steps of the series that wait, two series at a time. weight: how long the one before
 * each lasted; NULL: nobody knows.
 */
void frag_percent_batch_x2(struct frag_series *s, const double *weight);

/* The same, or all four at a time where this processor can. */
void (*frag_stretch_count(void))(struct frag_series *s, const double *weight);

#endif
