/* histogram.h - percentages counted to a hundredth, for exact nearest-rank percentiles. */
#ifndef METRICS_HISTOGRAM_H
#define METRICS_HISTOGRAM_H

#include <stdint.h>

#include "base/format.h"

#define FRAG_HUNDREDTHS 10001           /* 0.00 to 100.00 */

/*
 * 80 KB each, of which most runs need little: memory outside [begin, end) is neither written nor
 * read, and takes no page of the machine where malloc() has just obtained it.
 */
struct frag_histogram_range {
	uint32_t begin, end;            /* all zeros: nothing is counted */
};

struct frag_histogram {
	uint64_t count[FRAG_HUNDREDTHS];
};

/* The counts of all values from `least` to `most`, in per cent, can be raised from here on. */
void frag_histogram_cover(struct frag_histogram *h, struct frag_histogram_range *range,
			  double least, double most);

static inline uint32_t frag_histogram_place(double percent)
{
	return percent <= 0 ? 0 : percent >= 100 ? FRAG_HUNDREDTHS - 1 : frag_hundredths(percent);
}

static inline void frag_histogram_add(struct frag_histogram *h, double percent)
{
	h->count[frag_histogram_place(percent)]++;
}

/* The value at rank ceil(percent / 100 * n) of the n counted, n > 0. */
double frag_histogram_rank(const struct frag_histogram *h, const struct frag_histogram_range *range,
			   uint64_t n, uint32_t percent);

#endif
