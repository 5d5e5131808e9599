/* histogram.c - percentages counted to a hundredth, for exact nearest-rank percentiles. */
#include "metrics/histogram.h"

double frag_histogram_rank(const struct frag_histogram *h, uint64_t n, uint32_t percent)
{
	/* n * percent cannot pass 2^64: there are fewer than 2^57 steps */
	uint64_t rank = (n * percent + 99) / 100;
	uint64_t seen = 0;
	uint32_t at = 0;

	for (; at < FRAG_HUNDREDTHS - 1; at++) {
		seen += h->count[at];
		if (seen >= rank)
			break;
	}
	return (double)at / 100.0;
}
