/*
 * percent_series.h - the four percentages of every step, counted.
 *
 * Steps wait, as the bytes that their percentages are made of, until there are 64 of them, and are
 * then divided and counted together, two series at once in one register. Each series still adds
 * its values in the order of the steps, so its sums are those of a plain loop. run_metrics.c has
 * the functions.
 */
#pragma once

#include <stdalign.h>
#include <stdint.h>

#include "base/format.h"
#include "fragsim/metrics.h"

/* Percentages counted to a hundredth, for exact nearest-rank percentiles. */
#define FRAG_HUNDREDTHS 10001           /* 0.00 to 100.00 */

/*
 * 80 KB each. Most runs use little of it: memory outside [begin, end) is neither written nor
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

/* The percentages in the order of the table of metrics: fi, fi_device, internal, utilization. */
#define FRAG_SERIES 4
#define FRAG_SERIES_WAITING 64

/*
 * Scales times before they become weights: sums of up to 2^53 of them then stay below the
 * largest double for any times, and a power of two rounds nothing.
 */
#define FRAG_TIME_SCALE 0x1p-64

/* Two numbers side by side, a vector of GCC and clang. */
typedef double frag_pair __attribute__((vector_size(16)));
typedef int64_t frag_pair_bits __attribute__((vector_size(16)));

/* Bytes after a step, those of a pair side by side; below 2^63 each. left: of the device. */
struct frag_sums {
	alignas(16) uint64_t largest_free;
	uint64_t left;
	uint64_t free, releasable;
	uint64_t requested, allocated;
	uint64_t unused, reserved;      /* the first only fills the pair */
};

struct frag_series {
	/* counts those that wait */
	void (*count)(struct frag_series *s, const double *weight);
	frag_pair min[2], max[2], sum[2], last[2];
	frag_pair weighted[2];          /* sum of value * the time that it lasted */
	frag_pair_bits above[2];        /* steps above FRAG_SEVERE_PCT */
	struct frag_sums waiting[FRAG_SERIES_WAITING];
	double t[FRAG_SERIES_WAITING];  /* theirs, or nothing where `untimed` */
	double last_t;                  /* of the last step that was counted */
	double time;                    /* weighted so far, times FRAG_TIME_SCALE */
	uint64_t severe;                /* steps, see frag_result */
	uint32_t waiting_count;
	bool untimed;                   /* a step had no t, so no mean is weighted */
	bool limited;                   /* the device has a capacity, so steps can be severe */
	struct frag_histogram_range counted[FRAG_SERIES];
	struct frag_histogram histograms[FRAG_SERIES];  /* the last member: mostly untouched */
};

/* NULL where the host is out of memory; free() ends it. */
struct frag_series *frag_series_new(void);

/* Counts the waiting steps; must precede the functions below. */
void frag_series_flush(struct frag_series *s);

/* Returns space for a step's bytes, which the caller fills; t: its time, NULL: the trace has no
 * times. */
static inline struct frag_sums *frag_series_add(struct frag_series *s, const double *t)
{
	if (s->waiting_count == FRAG_SERIES_WAITING)
		frag_series_flush(s);
	if (t)
		s->t[s->waiting_count] = *t;
	else
		s->untimed = true;
	return &s->waiting[s->waiting_count++];
}

/* Of series i over `steps` steps, at least one. */
struct frag_distribution frag_series_describe(const struct frag_series *s, int i, uint64_t steps);

/* Counts a full batch two values at once, as every processor can: the reference for the other. */
void frag_percent_batch_x2(struct frag_series *s, const double *weight);
