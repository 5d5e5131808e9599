/* series.c - the four percentages of every step, counted. */
#include "metrics/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "metrics/fragmentation.h"

#define IS_BYTES 0
#define IS_SIGNED 0
#define IS_COUNT 0
#define IS_PERCENT 1
#define PERCENTAGE(name, unit, ...) IS_##unit +
_Static_assert(FRAG_METRICS(PERCENTAGE) 0 == FRAG_SERIES,
	       "frag_series_add() takes every percentage of the table, in its order");

struct frag_series *frag_series_new(void)
{
	struct frag_series *s = calloc(1, sizeof(*s));

	for (int i = 0; s && i < 2; i++) {
		s->min[i] = (frag_pair){ INFINITY, INFINITY };
		s->max[i] = (frag_pair){ -INFINITY, -INFINITY };
	}
	if (s)
		s->last_t = INFINITY;   /* nothing lasted until the first step */
	return s;
}

/* Where the mask is set a, else b. */
static inline frag_pair choose(frag_pair_bits mask, frag_pair a, frag_pair b)
{
	return (frag_pair)(((frag_pair_bits)a & mask) | ((frag_pair_bits)b & ~mask));
}

/* The lesser and the greater of each two: one instruction where the processor has it. */
#ifdef __SSE2__
static inline frag_pair lesser(frag_pair a, frag_pair b)
{
	return _mm_min_pd(a, b);
}

static inline frag_pair greater(frag_pair a, frag_pair b)
{
	return _mm_max_pd(a, b);
}
#else
static inline frag_pair lesser(frag_pair a, frag_pair b)
{
	return choose(a < b, a, b);
}

static inline frag_pair greater(frag_pair a, frag_pair b)
{
	return choose(a > b, a, b);
}
#endif

static inline frag_pair_bits load(const uint64_t *at)
{
	frag_pair_bits pair;

	memcpy(&pair, at, sizeof(pair));
	return pair;
}

/* Integers below 2^52 as the low bits of doubles from there on, less that much. */
static inline frag_pair real(frag_pair_bits integers)
{
	return (frag_pair)(integers | INT64_C(0x4330000000000000)) - 0x1p52;
}

/* The percentages of one half by fragmentation.h, of any bytes. */
static frag_pair divide(const struct frag_sums *m, int half)
{
	if (half == 0)
		return (frag_pair){
			frag_index_pct(m->largest_free, m->free),
			frag_index_device_pct(m->largest_free, m->free, m->releasable, m->left),
		};
	return (frag_pair){
		frag_internal_pct(m->requested, m->allocated),
		frag_utilization_pct(m->allocated, m->reserved),
	};
}

/*
 * The same formulas, both at a time, where all is below 2^52: sums of two are exact then in
 * doubles too. *seen gathers the bits that were set in any of it. Of utilization the sign is turned
 * twice, so that both go through the same subtraction.
 */
__attribute__((always_inline))
static inline frag_pair divide_small(const struct frag_sums *m, int half, frag_pair_bits *seen)
{
	const frag_pair_bits first = load(half ? &m->requested : &m->largest_free);
	const frag_pair_bits second = load(half ? &m->unused : &m->free);
	const frag_pair a = real(first), b = real(second);
	frag_pair part, whole;

	*seen |= first | second;
	if (half) {
		whole = (frag_pair){ a[1], b[1] };
		part = a * (frag_pair){ 1, -100 } / whole;
		part = ((frag_pair){ 1, 0 } - part) * (frag_pair){ 100, 1 };
		return choose(whole != 0, part, (frag_pair){ 0, 100 });
	}
	part = lesser(b, (frag_pair){ b[1], b[0] }) + (frag_pair){ a[1], a[1] };
	part = greater(part, (frag_pair){ a[0], a[0] });
	part = (frag_pair){ a[0], part[1] };
	whole = (frag_pair){ b[0], b[0] } + (frag_pair){ 0, a[1] };
	return (frag_pair)((frag_pair_bits)(100.0 * (1.0 - part / whole)) & (whole != 0));
}

/*
 * Counts the stretch in two histograms. Rounding to hundredths is that of frag_hundredths(): the
 * lowest bits of a double that has 1.5 * 2^52 added to it are the integer, if no value of the
 * stretch is near a tie or outside 0 to 100. Else the slow way decides, of each.
 */
static inline void count_stretch(struct frag_series *s, int half, const frag_pair *shifted,
				 bool odd)
{
	struct frag_histogram *h = &s->histograms[2 * half];

	for (uint32_t i = 0; i < s->waiting_count && odd; i++) {
		const frag_pair value = divide(&s->waiting[i], half);

		frag_histogram_add(&h[0], value[0]);
		frag_histogram_add(&h[1], value[1]);
	}
	for (uint32_t i = 0; i < s->waiting_count && !odd; i++) {
		const frag_pair_bits bits = (frag_pair_bits)shifted[i];

		h[0].count[(uint32_t)bits[0]]++;
		h[1].count[(uint32_t)bits[1]]++;
	}
}

/*
 * Two of the series over the stretch, whose figures stay in registers. With `small` all bytes must
 * be below 2^52: false, and nothing is counted, where they are not.
 */
__attribute__((always_inline))
static inline bool flush_half(struct frag_series *s, int half, const double *weight, bool timed,
			      bool small)
{
	static const frag_pair_bits unsigned_bits = { INT64_MAX, INT64_MAX };
	frag_pair min = s->min[half], max = s->max[half], sum = s->sum[half];
	frag_pair last = s->last[half], weighted = s->weighted[half];
	frag_pair shifted[FRAG_SERIES_WAITING], farthest = { 0, 0 };
	frag_pair_bits above = s->above[half], seen = { 0, 0 };

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const frag_pair value = small ? divide_small(&s->waiting[i], half, &seen)
					      : divide(&s->waiting[i], half);
		const frag_pair product = value * 1e2;
		frag_pair rest;

		min = lesser(value, min);
		max = greater(value, max);
		sum += value;
		if (timed)
			weighted += last * weight[i];
		last = value;
		above -= value > FRAG_SEVERE_PCT;       /* true is -1 */
		shifted[i] = product + 0x1.8p52;
		rest = product - (shifted[i] - 0x1.8p52);
		farthest = greater((frag_pair)((frag_pair_bits)rest & unsigned_bits), farthest);
	}
	if (small && (uint64_t)(seen[0] | seen[1]) >> 52)
		return false;
	s->min[half] = min;
	s->max[half] = max;
	s->sum[half] = sum;
	s->last[half] = last;
	s->weighted[half] = weighted;
	s->above[half] = above;
	count_stretch(s, half, shifted, farthest[0] > 0.4999 || farthest[1] > 0.4999
		      || min[0] < 0 || min[1] < 0 || max[0] > 100 || max[1] > 100);
	return true;
}

/* The four of them; weight NULL: untimed. Each variant is compiled for itself. */
__attribute__((always_inline))
static inline void flush_both(struct frag_series *s, const double *weight)
{
	if (weight) {
		if (!flush_half(s, 0, weight, true, true))
			flush_half(s, 0, weight, true, false);
		if (!flush_half(s, 1, weight, true, true))
			flush_half(s, 1, weight, true, false);
	} else {
		if (!flush_half(s, 0, weight, false, true))
			flush_half(s, 0, weight, false, false);
		if (!flush_half(s, 1, weight, false, true))
			flush_half(s, 1, weight, false, false);
	}
}

static void flush_plain(struct frag_series *s, const double *weight)
{
	flush_both(s, weight);
}

/*
 * The same in instructions that name a result of their own: a quarter fewer. The arithmetic is the
 * same to the last bit, as nothing is multiplied and added in one.
 */
#ifdef __x86_64__
__attribute__((target("avx2")))
static void flush_avx2(struct frag_series *s, const double *weight)
{
	flush_both(s, weight);
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define flush_avx2 flush_plain
static bool has_avx2(void)
{
	return false;
}
#endif

/* How long the step before each one lasted. */
static void pass_time(struct frag_series *s, double *weight)
{
	for (uint32_t i = 0; i < s->waiting_count; i++) {
		weight[i] = s->t[i] > s->last_t
			? s->t[i] * FRAG_TIME_SCALE - s->last_t * FRAG_TIME_SCALE : 0;
		s->time += weight[i];
		s->last_t = s->t[i];
	}
}

/*
 * Steps are severe where the device has a limit, as one without refuses nothing, and where enough
 * is free: of few bytes the index is noise, as early in a run, when little is reserved.
 */
static void count_severe(struct frag_series *s)
{
	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const struct frag_sums *m = &s->waiting[i];

		s->severe += frag_real(m->free + m->left) >= 0.01 * frag_real(m->reserved)
			     && divide(m, 0)[1] > FRAG_SEVERE_PCT;
	}
}

void frag_series_flush(struct frag_series *s)
{
	const int64_t above = s->above[0][1];
	double weight[FRAG_SERIES_WAITING];

	if (!s->untimed)
		pass_time(s, weight);
	(has_avx2() ? flush_avx2 : flush_plain)(s, s->untimed ? NULL : weight);
	if (s->limited && s->above[0][1] != above)
		count_severe(s);
	s->waiting_count = 0;
}

struct frag_distribution frag_series_describe(const struct frag_series *s, int i, uint64_t steps)
{
	const struct frag_histogram *h = &s->histograms[i];
	const double time = s->untimed ? 0 : s->time;
	const int half = i / 2, k = i % 2;

	return (struct frag_distribution){
		.steps = steps,
		.min = s->min[half][k],
		.max = s->max[half][k],
		.mean = s->sum[half][k] / (double)steps,
		.last = s->last[half][k],
		.p50 = frag_histogram_rank(h, steps, 50),
		.p95 = frag_histogram_rank(h, steps, 95),
		.p99 = frag_histogram_rank(h, steps, 99),
		.severe_steps = (uint64_t)s->above[half][k],
		.weighted = time > 0,
		.time_weighted_mean = time > 0 ? s->weighted[half][k] / time : 0,
	};
}
