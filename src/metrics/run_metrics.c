/* run_metrics.c - metrics after each step, and what is kept of them over a run. */
#include "metrics/run_metrics.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/array_grow.h"
#include "base/inline.h"
#include "metrics/fragmentation.h"
#include "metrics/metric.h"

/* The percentages of every step, counted ---------------------------------------- */

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

/* Where the mask is set a, else b. */
static inline frag_pair percent_series_choose(frag_pair_bits mask, frag_pair a, frag_pair b)
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
	return percent_series_choose(a < b, a, b);
}

static inline frag_pair greater(frag_pair a, frag_pair b)
{
	return percent_series_choose(a > b, a, b);
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
static frag_pair frag_share_pct(const struct frag_sums *m, int half)
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
 * The same formulas, both at once, where all is below 2^52: sums of two are exact then in
 * doubles too. *seen gathers the bits that were set in any of it. Of utilization the sign is turned
 * twice, so that both go through the same subtraction.
 */
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
		return percent_series_choose(whole != 0, part, (frag_pair){ 0, 100 });
	}
	part = lesser(b, (frag_pair){ b[1], b[0] }) + (frag_pair){ a[1], a[1] };
	part = greater(part, (frag_pair){ a[0], a[0] });
	part = (frag_pair){ a[0], part[1] };
	whole = (frag_pair){ b[0], b[0] } + (frag_pair){ 0, a[1] };
	return (frag_pair)((frag_pair_bits)(100.0 * (1.0 - part / whole)) & (whole != 0));
}

/* Before values of two series are counted, and after their least and most are known. */
static void percent_series_cover(struct frag_series *s, int half)
{
	for (int k = 0; k < 2; k++) {
		const int i = 2 * half + k;

		frag_histogram_cover(&s->histograms[i], &s->counted[i], s->min[half][k],
				     s->max[half][k]);
	}
}

/* Counts the batch in two histograms, the slow way: each value separately. */
static void count_odd(struct frag_series *s, int half)
{
	struct frag_histogram *h = &s->histograms[2 * half];

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const frag_pair value = frag_share_pct(&s->waiting[i], half);

		frag_histogram_add(&h[0], value[0]);
		frag_histogram_add(&h[1], value[1]);
	}
}

/*
 * A hundred times a percentage is off by less than 1e-12, so farther than this from the nearest
 * integer, and only there, it may be on the wrong side of a tie.
 */
#define NEAR_TIE 0.499999

/*
 * Counts the batch in two histograms. Rounding to hundredths is that of frag_hundredths():
 * adding 1.5 * 2^52 to a double leaves the integer in its lowest bits, if no value of the batch
 * is near a tie or outside 0 to 100. Otherwise the slow way decides for each value.
 */
static inline void count_half(struct frag_series *s, int half, const frag_pair *shifted, bool odd)
{
	struct frag_histogram *h = &s->histograms[2 * half];

	if (odd)
		count_odd(s, half);
	for (uint32_t i = 0; i < s->waiting_count && !odd; i++) {
		const frag_pair_bits bits = (frag_pair_bits)shifted[i];

		h[0].count[(uint32_t)bits[0]]++;
		h[1].count[(uint32_t)bits[1]]++;
	}
}

/*
 * Two of the series over the batch, whose sums stay in registers. With `small` all bytes must
 * be below 2^52; returns false, and counts nothing, where they are not.
 */
FRAG_INLINE bool add_half(struct frag_series *s, int half, const double *weight, bool timed,
			    bool small)
{
	static const frag_pair_bits unsigned_bits = { INT64_MAX, INT64_MAX };
	frag_pair min = s->min[half], max = s->max[half], sum = s->sum[half];
	frag_pair last = s->last[half], weighted = s->weighted[half];
	frag_pair shifted[FRAG_SERIES_WAITING], farthest = { 0, 0 };
	frag_pair_bits above = s->above[half], seen = { 0, 0 };

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const frag_pair value = small ? divide_small(&s->waiting[i], half, &seen)
					      : frag_share_pct(&s->waiting[i], half);
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
	percent_series_cover(s, half);
	count_half(s, half, shifted, farthest[0] > NEAR_TIE || farthest[1] > NEAR_TIE
		      || min[0] < 0 || min[1] < 0 || max[0] > 100 || max[1] > 100);
	return true;
}

/*
 * Counts the waiting steps of the series, two series at once. weight: the duration of each
 * preceding step; NULL if the trace has no times.
 */
void frag_percent_batch_x2(struct frag_series *s, const double *weight)
{
	for (int half = 0; half < 2; half++) {
		if (weight && !add_half(s, half, weight, true, true))
			add_half(s, half, weight, true, false);
		if (!weight && !add_half(s, half, weight, false, true))
			add_half(s, half, weight, false, false);
	}
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2"), always_inline)) static inline

/* As divide_small(), of all four. */
AVX2 __m256d divide_four(const struct frag_sums *m, __m256i *seen)
{
	const __m256i first = _mm256_loadu_si256((const void *)&m->largest_free);
	const __m256i second = _mm256_loadu_si256((const void *)&m->requested);
	const __m256d from = _mm256_set1_pd(0x1p52), zero = _mm256_setzero_pd();
	const __m256d a = _mm256_or_pd(_mm256_castsi256_pd(first), from) - from;
	const __m256d b = _mm256_or_pd(_mm256_castsi256_pd(second), from) - from;
	const __m128d room = _mm256_castpd256_pd128(a), hole = _mm256_extractf128_pd(a, 1);
	const __m128d used = _mm256_castpd256_pd128(b), held = _mm256_extractf128_pd(b, 1);
	__m128d piece = _mm_min_pd(hole, _mm_permute_pd(hole, 1)) + _mm_permute_pd(room, 3);
	__m128d all = _mm_permute_pd(hole, 0) + _mm_move_sd(room, _mm_setzero_pd());
	__m256d part, whole;

	*seen = _mm256_or_si256(*seen, _mm256_or_si256(first, second));
	piece = _mm_move_sd(_mm_max_pd(piece, _mm_permute_pd(room, 0)), room);
	part = _mm256_set_m128d(used * _mm_setr_pd(1, -100), piece);
	whole = _mm256_set_m128d(_mm_unpackhi_pd(used, held), all);
	part = (_mm256_setr_pd(1, 1, 1, 0) - part / whole) * _mm256_setr_pd(100, 100, 100, 1);
	return _mm256_blendv_pd(_mm256_setr_pd(0, 0, 0, 100), part,
				_mm256_cmp_pd(whole, zero, _CMP_NEQ_OQ));
}

/* As count_half(), of values that are not odd. */
AVX2 void count_four(struct frag_series *s, const __m256d *shifted)
{
	struct frag_histogram *h = s->histograms;

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		uint64_t bits[FRAG_SERIES];

		memcpy(bits, &shifted[i], sizeof(bits));
		h[0].count[(uint32_t)bits[0]]++;
		h[1].count[(uint32_t)bits[1]]++;
		h[2].count[(uint32_t)bits[2]]++;
		h[3].count[(uint32_t)bits[3]]++;
	}
}

AVX2 __m256d load_four(const frag_pair *two)
{
	return _mm256_loadu_pd((const double *)two);
}

/* As add_half(), of all four, where all bytes are below 2^52. */
AVX2 bool add_four(struct frag_series *s, const double *weight, bool timed)
{
	const __m256d sign = _mm256_set1_pd(-0.0), magic = _mm256_set1_pd(0x1.8p52);
	__m256d min = load_four(s->min), max = load_four(s->max), sum = load_four(s->sum);
	__m256d last = load_four(s->last), weighted = load_four(s->weighted);
	__m256d shifted[FRAG_SERIES_WAITING], farthest = _mm256_setzero_pd(), odd;
	__m256i above = _mm256_loadu_si256((const void *)&s->above[0]);
	__m256i seen = _mm256_setzero_si256();

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const __m256d value = divide_four(&s->waiting[i], &seen);
		const __m256d product = value * 1e2;

		min = _mm256_min_pd(value, min);
		max = _mm256_max_pd(value, max);
		sum += value;
		if (timed)
			weighted += last * weight[i];
		last = value;
		above -= (__m256i)_mm256_cmp_pd(value, _mm256_set1_pd(FRAG_SEVERE_PCT), _CMP_GT_OQ);
		shifted[i] = product + magic;
		farthest = _mm256_max_pd(_mm256_andnot_pd(sign, product - (shifted[i] - magic)),
					 farthest);
	}
	if (!_mm256_testz_si256(seen, _mm256_set1_epi64x((int64_t)(UINT64_MAX << 52))))
		return false;
	_mm256_storeu_pd((double *)s->min, min);
	_mm256_storeu_pd((double *)s->max, max);
	_mm256_storeu_pd((double *)s->sum, sum);
	_mm256_storeu_pd((double *)s->last, last);
	_mm256_storeu_pd((double *)s->weighted, weighted);
	_mm256_storeu_si256((void *)&s->above[0], above);
	percent_series_cover(s, 0);
	percent_series_cover(s, 1);
	odd = _mm256_cmp_pd(farthest, _mm256_set1_pd(NEAR_TIE), _CMP_GT_OQ);
	odd = _mm256_or_pd(odd, _mm256_cmp_pd(min, _mm256_setzero_pd(), _CMP_LT_OQ));
	odd = _mm256_or_pd(odd, _mm256_cmp_pd(max, _mm256_set1_pd(100), _CMP_GT_OQ));
	if (_mm256_movemask_pd(odd)) {
		count_odd(s, 0);
		count_odd(s, 1);
	} else {
		count_four(s, shifted);
	}
	return true;
}

__attribute__((target("avx2")))
static void by_four(struct frag_series *s, const double *weight)
{
	if (!(weight ? add_four(s, weight, true) : add_four(s, weight, false)))
		frag_percent_batch_x2(s, weight);
}
#endif

#define IS_BYTES 0
#define IS_SIGNED 0
#define IS_COUNT 0
#define IS_PERCENT 1
#define PERCENTAGE(name, unit, ...) IS_##unit +
_Static_assert(FRAG_METRICS(PERCENTAGE) 0 == FRAG_SERIES,
	       "frag_series_add() takes every percentage of the table, in its order");

struct frag_series *frag_series_new(void)
{
	struct frag_series *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	memset(s, 0, offsetof(struct frag_series, histograms));
	for (int i = 0; i < 2; i++) {
		s->min[i] = (frag_pair){ INFINITY, INFINITY };
		s->max[i] = (frag_pair){ -INFINITY, -INFINITY };
	}
	s->last_t = INFINITY;   /* nothing lasted until the first step */
	s->count = frag_percent_batch_x2;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		s->count = by_four;
#endif
	return s;
}

/* The duration of each preceding step; 0 where the clock decreases. */
static void pass_time(struct frag_series *s, double *weight)
{
	double last = s->last_t * FRAG_TIME_SCALE, time = s->time;

	for (uint32_t i = 0; i < s->waiting_count; i++) {
		const double now = s->t[i] * FRAG_TIME_SCALE, passed = now - last;

		weight[i] = passed > 0 ? passed : 0;
		time += weight[i];
		last = now;
	}
	s->time = time;
	s->last_t = s->t[s->waiting_count - 1];
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
			     && frag_share_pct(m, 0)[1] > FRAG_SEVERE_PCT;
	}
}

void frag_series_flush(struct frag_series *s)
{
	const int64_t above = s->above[0][1];
	double weight[FRAG_SERIES_WAITING];

	if (!s->waiting_count)
		return;
	if (!s->untimed)
		pass_time(s, weight);
	s->count(s, s->untimed ? NULL : weight);
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
		.p50 = frag_histogram_rank(h, &s->counted[i], steps, 50),
		.p95 = frag_histogram_rank(h, &s->counted[i], steps, 95),
		.p99 = frag_histogram_rank(h, &s->counted[i], steps, 99),
		.severe_steps = (uint64_t)s->above[half][k],
		.weighted = time > 0,
		.time_weighted_mean = time > 0 ? s->weighted[half][k] / time : 0,
	};
}

/* The metrics of a run --------------------------------------------------------- */

/* The layout of a pool of the device's own is unknown, only how much there is. */
static void read_pool(struct frag_metrics *m, const struct frag_device_pool *pool)
{
	m->allocated = m->active = pool->used;
	m->reserved = pool->reserved;
	m->free = pool->reserved > pool->used ? pool->reserved - pool->used : 0;
	m->waste = 0;
	m->opaque = true;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++)
		if (k->hidden)
			frag_metric_set(m, k, (union frag_metric_value){ .u = 0 });
}

#define ONE(...) 1 +
_Static_assert(CHANGING(ONE) CHANGING_BY_TWO(ONE) BY_CALLS(ONE) FRAG_SERIES == FRAG_METRIC_ALL,
	       "each metric of the table is read here, or a percentage");

#define READ(name, value) m->name = value;
#define READ_MORE(name, one, other) m->name = more(one, other);
#define READ_AFTER(name, after, within) READ(name, after)

/* How much more the one is than the other. */
static uint64_t more(uint64_t one, uint64_t other)
{
	return one > other ? one - other : 0;
}

/* Bytes and counts. */
static void read_totals(struct frag_metrics *m, const struct frag_heap *heap,
			       const struct frag_device *dev)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(READ)
	CHANGING_BY_TWO(READ_MORE)
	BY_CALLS(READ_AFTER)
	m->limited = dev->total != 0;
}

/* The same of a pool of the device's own too. */
static void read_heap(struct frag_metrics *m, const struct frag_heap *heap,
		      const struct frag_device *dev)
{
	*m = (struct frag_metrics){ .requested = 0 };
	read_totals(m, heap, dev);
	if (dev->pool)
		read_pool(m, dev->pool);
}

static void find_percentages(struct frag_metrics *m)
{
	const uint64_t left = m->device_free > 0 ? (uint64_t)m->device_free : 0;

	m->fi = m->fi_device = 0;
	if (!m->opaque) {
		m->fi = frag_index_pct(m->largest_free, m->free);
		m->fi_device = frag_index_device_pct(m->largest_free, m->free, m->releasable,
						     left);
	}
	m->internal = frag_internal_pct(m->requested, m->allocated);
	m->utilization = frag_utilization_pct(m->allocated, m->reserved);
}

#define RAISE(name, value)                                                    \
	if ((value) > peak->name)                                             \
		peak->name = (value);
#define RAISE_MORE(name, one, other) RAISE(name, more(one, other))
#define RAISE_WITHIN(name, after, within) RAISE(name, within)

/* After a step of a heap that knows its memory; within: there were calls. */
static void raise_peaks(struct frag_metrics *peak, const struct frag_heap *heap,
			       const struct frag_device *dev, bool within)
{
	const struct frag_totals *b = &heap->totals;

	CHANGING(RAISE)
	CHANGING_BY_TWO(RAISE_MORE)
	if (within) {
		BY_CALLS(RAISE_WITHIN)
	}
}

void frag_metrics_read(struct frag_metrics *out, const struct frag_heap *heap,
		       const struct frag_device *dev)
{
	read_heap(out, heap, dev);
	find_percentages(out);
}

void frag_run_metrics_look(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			   const struct frag_device *dev)
{
	frag_metrics_read(&metrics->now, heap, dev);
}

bool frag_run_metrics_copy(struct frag_run_metrics *metrics, const struct frag_run_metrics *from)
{
	*metrics = (struct frag_run_metrics){
		.now = from->now, .peak = from->peak, .series = from->series,
		.level = from->level, .steps = from->steps, .peak_step = from->peak_step,
		.at_peak = from->at_peak,
	};
	return frag_array_copy(&metrics->series, metrics->series != NULL, 0,
			       sizeof(*metrics->series));
}

void frag_run_metrics_begin(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev)
{
	frag_run_metrics_look(metrics, heap, dev);
	metrics->peak = (struct frag_metrics){
		.limited = metrics->now.limited, .opaque = metrics->now.opaque,
		.device_free = metrics->now.limited ? INT64_MIN : 0,
	};
	if (metrics->series)
		metrics->series->limited = metrics->now.limited;
}

/* After a step in a pool of the device's own: by the table, as some values are hidden there. */
static void raise_pool_peaks(struct frag_metrics *peak, const struct frag_metrics *now,
			     const struct frag_totals *b, const struct frag_device *dev)
{
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		const union frag_metric_value value = frag_metric_get(now, k);
		const union frag_metric_value highest = frag_metric_get(peak, k);

		if (k->peak == FRAG_PEAK_STEP && (k->unit == FRAG_METRIC_SIGNED
						  ? value.i > highest.i : value.u > highest.u))
			frag_metric_set(peak, k, value);
	}
	peak->reserved = frag_max(peak->reserved, dev->pool->peak_reserved);
	peak->segments = frag_max(peak->segments, b->step_peak_segments);
	peak->process_used = frag_max(peak->process_used, dev->context + b->step_peak_used);
}

/* Of the steps with the highest reserved, the one with the most allocated. */
static void run_metrics_note_peak(struct frag_run_metrics *metrics, const struct frag_heap *heap,
				  const struct frag_device *dev, uint64_t step, uint64_t highest)
{
	const struct frag_device_pool *pool = dev->pool;
	const uint64_t reserved = pool ? pool->reserved : heap->totals.reserved;
	const uint64_t allocated = pool ? pool->used : heap->totals.allocated;

	if (metrics->peak.reserved == highest
	    && (reserved != highest || allocated <= metrics->at_peak.allocated))
		return;
	metrics->peak_step = step;
	read_heap(&metrics->at_peak, heap, dev);
}

void frag_run_metrics_raise(struct frag_run_metrics *metrics, const struct frag_heap *heap,
			    const struct frag_device *dev, uint64_t step)
{
	const uint64_t highest = metrics->peak.reserved;

	raise_peaks(&metrics->peak, heap, dev, frag_heap_call_count(heap) || !metrics->steps);
	run_metrics_note_peak(metrics, heap, dev, step, highest);
}

void frag_run_metrics_step_in_pool(struct frag_run_metrics *metrics, const struct frag_heap *heap,
				   const struct frag_device *dev, uint64_t step, const double *t)
{
	const uint64_t highest = metrics->peak.reserved;

	frag_run_metrics_look(metrics, heap, dev);
	raise_pool_peaks(&metrics->peak, &metrics->now, &heap->totals, dev);
	run_metrics_note_peak(metrics, heap, dev, step, highest);
	if (metrics->level == FRAG_LEVEL_ALL)
		*frag_series_add(metrics->series, t) = (struct frag_sums){
			.requested = metrics->now.requested, .allocated = metrics->now.allocated,
			.reserved = metrics->now.reserved,
		};
}

/* A metric that the run could not measure has a distribution without steps. */
void frag_run_metrics_result(struct frag_run_metrics *metrics, struct frag_result *result)
{
	int series = 0;

	if (metrics->series)
		frag_series_flush(metrics->series);
	result->level = metrics->level;
	result->steps = metrics->steps;
	result->peak_step = metrics->peak_step;
	result->at_peak = metrics->at_peak;
	result->severe_steps = metrics->series ? metrics->series->severe : 0;
	result->last = metrics->now;
	if (metrics->level == FRAG_LEVEL_SURVIVE)
		result->peak = (struct frag_metrics){ .limited = metrics->now.limited };
	else
		result->peak = metrics->steps ? metrics->peak : metrics->now;
	result->lower_bound = result->peak.requested;
	for (const struct frag_metric *k = frag_metric_table(); k->name; k++) {
		if (k->unit != FRAG_METRIC_PERCENT)
			continue;
		*frag_metric_distribution(result, k) =
			metrics->steps && metrics->series && frag_metric_known(&metrics->now, k)
			? frag_series_describe(metrics->series, series, metrics->steps)
			: (struct frag_distribution){ .steps = 0 };
		series++;
	}
}
