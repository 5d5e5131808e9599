/* histogram.c - percentages counted to a hundredth, for exact nearest-rank percentiles. */
#include "metrics/histogram.h"

#include <string.h>

static void histogram_clear(struct frag_histogram *h, uint32_t begin, uint32_t end)
{
	memset(&h->count[begin], 0, (end - begin) * sizeof(h->count[0]));
}

void frag_histogram_cover(struct frag_histogram *h, struct frag_histogram_range *range,
			  double least, double most)
{
	const uint32_t begin = frag_histogram_place(least), end = frag_histogram_place(most) + 1;

	if (range->begin == range->end) {
		*range = (struct frag_histogram_range){ .begin = begin, .end = end };
		histogram_clear(h, begin, end);
	}
	if (begin < range->begin) {
		histogram_clear(h, begin, range->begin);
		range->begin = begin;
	}
	if (end > range->end) {
		histogram_clear(h, range->end, end);
		range->end = end;
	}
}

double frag_histogram_rank(const struct frag_histogram *h, const struct frag_histogram_range *range,
			   uint64_t n, uint32_t percent)
{
	/* n * percent cannot pass 2^64: there are fewer than 2^57 steps */
	uint64_t rank = (n * percent + 99) / 100;
	uint64_t seen = 0;
	uint32_t at = range->begin;

	for (; at + 1 < range->end; at++) {
		seen += h->count[at];
		if (seen >= rank)
			break;
	}
	return (double)at / 100.0;
}
