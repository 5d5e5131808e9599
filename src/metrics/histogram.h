/* histogram.h - percentages counted to a hundredth, for exact nearest-rank percentiles. */
#ifndef METRICS_HISTOGRAM_H
#define METRICS_HISTOGRAM_H

#include <stdint.h>

#include "base/format.h"

#define FRAG_HUNDREDTHS 10001           /* 0.00 to 100.00 */

struct frag_histogram {
	uint64_t count[FRAG_HUNDREDTHS];
};

static inline void frag_histogram_add(struct frag_histogram *h, double percent)
{
	uint32_t at = frag_hundredths(percent);

	h->count[at < FRAG_HUNDREDTHS ? at : FRAG_HUNDREDTHS - 1]++;
}

/* The value at rank ceil(percent / 100 * n) of the n counted, n > 0. */
double frag_histogram_rank(const struct frag_histogram *h, uint64_t n, uint32_t percent);

#endif
