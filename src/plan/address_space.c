/* address_space.c - the buffers of one address space as numbers, side by side. */
#include "plan/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"

/* The first time at or after the step. */
static uint32_t address_space_time_of(const struct frag_space *s, uint64_t step)
{
	uint32_t low = 0, high = s->times;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (s->step[middle] < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int address_space_by_number(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* Items are in order of allocation; an allocation after a free begins the next section. */
static int take_times(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		      struct frag_error *err)
{
	uint64_t *ends = malloc(((size_t)s->count + 1) * sizeof(*ends));
	uint32_t n = 0, ended = 0;
	bool timed = false;

	if (!ends)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->buffers[i].space == space)
			ends[n++] = plan->buffers[i].end;
	qsort(ends, n, sizeof(*ends), address_space_by_number);
	n = 0;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct frag_buffer *b = &plan->buffers[i];

		if (b->space != space)
			continue;
		if (!s->times || ends[ended] <= b->birth)
			s->step[s->times++] = b->birth;
		while (ended < s->count && ends[ended] <= b->birth)
			ended++;
		s->last[s->times - 1] = b->birth;
		s->from[n] = s->times - 1;
		s->size[n] = b->size;
		s->life[n] = b->life;
		timed = timed || b->life > 0;
		s->buffer[n++] = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct frag_buffer *b = &plan->buffers[s->buffer[i]];

		s->to[i] = address_space_time_of(s, b->end);
		if (!timed)
			s->life[i] = (double)(b->end - b->birth);
	}
	free(ends);
	return 0;
}

static int sum_live(struct frag_space *s, struct frag_error *err)
{
	uint64_t *less = calloc((size_t)s->times + 1, sizeof(*less)), sum = 0;

	if (!less)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++) {
		s->live[s->from[i]] += s->size[i];
		less[s->to[i]] += s->size[i];
		s->beside[s->from[i]]++;
		s->beside[s->to[i]]--;
	}
	for (uint32_t t = 0; t < s->times; t++) {
		s->live[t] = sum += s->live[t] - less[t];
		s->beside[t] += t ? s->beside[t - 1] : 0;
		if (sum > s->bound) {
			s->bound = sum;
			s->peak = t;
		}
	}
	free(less);
	return 0;
}

/*
 * Sets the contention of each item. At each level, most[t] is the peak of the live bytes in the
 * interval of `length` sections from t on; the length doubles from level to level. Two intervals of
 * the largest length that fits cover the life of an item.
 */
static int sum_contention(struct frag_space *s, struct frag_error *err)
{
	uint64_t *most = malloc(((size_t)s->times + 1) * sizeof(*most));

	if (!most)
		return frag_fail_nomem(err);
	memcpy(most, s->live, s->times * sizeof(*most));
	for (uint32_t length = 1; length && length <= s->times; length *= 2) {
		for (uint32_t i = 0; i < s->count; i++) {
			const uint32_t n = s->to[i] - s->from[i];
			const uint64_t a = most[s->from[i]];
			const uint64_t b = n >= length ? most[s->to[i] - length] : 0;

			if (n >= length && n / 2 < length)
				s->contention[i] = a > b ? a : b;
		}
		for (uint32_t t = 0; (uint64_t)t + 2 * (uint64_t)length <= s->times; t++)
			if (most[t + length] > most[t])
				most[t] = most[t + length];
	}
	free(most);
	return 0;
}

static int make_arrays(struct frag_space *s, uint32_t count, struct frag_error *err)
{
	const size_t n = (size_t)count + 1;

	*s = (struct frag_space){
		.count = count,
		.from = calloc(n, sizeof(uint32_t)), .to = calloc(n, sizeof(uint32_t)),
		.size = calloc(n, sizeof(uint64_t)), .offset = calloc(n, sizeof(uint64_t)),
		.contention = calloc(n, sizeof(uint64_t)), .live = calloc(n, sizeof(uint64_t)),
		.step = calloc(n, sizeof(uint64_t)), .buffer = calloc(n, sizeof(uint32_t)),
		.life = calloc(n, sizeof(double)), .last = calloc(n, sizeof(uint64_t)),
		.beside = calloc(n, sizeof(uint32_t)),
		.align = calloc(n, sizeof(uint64_t)), .fixed = malloc(n * sizeof(uint64_t)),
	};
	if (!s->from || !s->to || !s->size || !s->offset || !s->contention || !s->live || !s->step
	    || !s->buffer || !s->life || !s->last || !s->beside || !s->align || !s->fixed)
		return frag_fail_nomem(err);
	return 0;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Sets the alignments and fixed offsets of the items, and the unit. */
static void take_constraints(struct frag_space *s, const struct frag_plan *plan)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct frag_buffer *b = &plan->buffers[s->buffer[i]];

		s->align[i] = b->align ? b->align : 1;
		s->fixed[i] = b->fixed ? b->offset : UINT64_MAX;
		s->constrained = s->constrained || b->fixed || b->align > 1;
		s->unit = common_divisor(s->unit, s->size[i]);
		if (b->align > 1)
			s->unit = common_divisor(s->unit, b->align);
		if (!b->fixed)
			continue;
		s->unit = common_divisor(s->unit, b->offset);
		s->fixed_count++;
		if (b->offset + b->size > s->fixed_end)
			s->fixed_end = b->offset + b->size;
	}
}

int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err)
{
	int rc = make_arrays(s, plan->spaces[space].count, err);

	rc = rc ? rc : take_times(s, plan, space, err);
	if (!rc)
		take_constraints(s, plan);
	rc = rc ? rc : sum_live(s, err);
	return rc ? rc : sum_contention(s, err);
}

void frag_space_fini(struct frag_space *s)
{
	free(s->from);
	free(s->to);
	free(s->size);
	free(s->offset);
	free(s->contention);
	free(s->live);
	free(s->step);
	free(s->buffer);
	free(s->life);
	free(s->last);
	free(s->beside);
	free(s->align);
	free(s->fixed);
	*s = (struct frag_space){ .count = 0 };
}

int frag_plan_bound(struct frag_plan *plan, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		struct frag_space s;

		rc = frag_space_init(&s, plan, i, err);
		plan->spaces[i].bound = s.bound;
		plan->spaces[i].lower = s.fixed_end > s.bound ? s.fixed_end : s.bound;
		plan->spaces[i].peak_step = !rc && s.count ? s.last[s.peak] : 0;
		frag_space_fini(&s);
	}
	return rc;
}

int frag_ranges_init(struct frag_ranges *r, uint32_t count, struct frag_error *err)
{
	*r = (struct frag_ranges){ .root = FRAG_NO_RANGE };
	r->of = malloc(((size_t)count + 1) * sizeof(*r->of));
	return r->of ? 0 : frag_fail_nomem(err);
}

void frag_ranges_fini(struct frag_ranges *r)
{
	free(r->of);
	*r = (struct frag_ranges){ .root = FRAG_NO_RANGE };
}

/* Its weight never changes, so neither does the shape of a tree of the same ranges. */
static bool heavier(uint32_t a, uint32_t b)
{
	const uint64_t x = frag_hash_mix(a * UINT64_C(0x9e3779b97f4a7c15) + 1);
	const uint64_t y = frag_hash_mix(b * UINT64_C(0x9e3779b97f4a7c15) + 1);

	return x != y ? x > y : a < b;
}

static uint64_t largest_of(const struct frag_ranges *r, uint32_t n)
{
	return n == FRAG_NO_RANGE ? 0 : r->of[n].largest;
}

static void address_space_note(struct frag_ranges *r, uint32_t n)
{
	struct frag_range *x = &r->of[n];
	const uint64_t left = largest_of(r, x->left), right = largest_of(r, x->right);

	x->largest = left > right ? left : right;
	x->largest = x->gap > x->largest ? x->gap : x->largest;
}

uint32_t frag_ranges_meet(const struct frag_ranges *r, uint64_t offset, uint64_t end)
{
	uint32_t n = r->root;

	while (n != FRAG_NO_RANGE) {
		const struct frag_range *x = &r->of[n];

		if (x->end <= offset)
			n = x->right;
		else if (x->offset >= end)
			n = x->left;
		else
			return n;
	}
	return FRAG_NO_RANGE;
}

uint64_t frag_ranges_lowest(const struct frag_ranges *r, uint64_t bytes)
{
	uint32_t n = r->root;
	uint64_t top = 0;

	if (largest_of(r, n) < bytes) {
		for (; n != FRAG_NO_RANGE; n = r->of[n].right)
			top = r->of[n].end;
		return top;
	}
	for (;;) {
		const struct frag_range *x = &r->of[n];

		if (largest_of(r, x->left) >= bytes)
			n = x->left;
		else if (x->gap >= bytes)
			return x->offset - x->gap;
		else
			n = x->right;
	}
}

/* The tree n without what begins at or after the offset, which becomes *upper. */
static uint32_t address_space_split(struct frag_ranges *r, uint32_t n, uint64_t offset,
				    uint32_t *upper)
{
	uint32_t rest;

	if (n == FRAG_NO_RANGE) {
		*upper = FRAG_NO_RANGE;
		return n;
	}
	if (r->of[n].offset < offset) {
		rest = address_space_split(r, r->of[n].right, offset, upper);
		r->of[n].right = rest;
		address_space_note(r, n);
		return n;
	}
	rest = address_space_split(r, r->of[n].left, offset, &r->of[n].left);
	address_space_note(r, n);
	*upper = n;
	return rest;
}

static uint32_t join(struct frag_ranges *r, uint32_t low, uint32_t high)
{
	if (low == FRAG_NO_RANGE || high == FRAG_NO_RANGE)
		return low == FRAG_NO_RANGE ? high : low;
	if (heavier(low, high)) {
		r->of[low].right = join(r, r->of[low].right, high);
		address_space_note(r, low);
		return low;
	}
	r->of[high].left = join(r, low, r->of[high].left);
	address_space_note(r, high);
	return high;
}

/* The gap in front of the lowest range of a tree begins there. */
static void begin_gap(struct frag_ranges *r, uint32_t n, uint64_t begin)
{
	if (n == FRAG_NO_RANGE)
		return;
	if (r->of[n].left != FRAG_NO_RANGE)
		begin_gap(r, r->of[n].left, begin);
	else
		r->of[n].gap = r->of[n].offset - begin;
	address_space_note(r, n);
}

static uint64_t end_of(const struct frag_ranges *r, uint32_t n)
{
	while (n != FRAG_NO_RANGE && r->of[n].right != FRAG_NO_RANGE)
		n = r->of[n].right;
	return n == FRAG_NO_RANGE ? 0 : r->of[n].end;
}

void frag_ranges_add(struct frag_ranges *r, uint32_t buffer, uint64_t offset, uint64_t end)
{
	uint32_t high, low = address_space_split(r, r->root, offset, &high);
	const uint64_t before = end_of(r, low);

	FRAG_ASSERT(before <= offset && offset < end);
	r->of[buffer] = (struct frag_range){
		.offset = offset, .end = end, .gap = offset - before, .largest = offset - before,
		.left = FRAG_NO_RANGE, .right = FRAG_NO_RANGE,
	};
	begin_gap(r, high, end);
	r->root = join(r, join(r, low, buffer), high);
}

void frag_ranges_remove(struct frag_ranges *r, uint32_t buffer)
{
	const struct frag_range x = r->of[buffer];
	uint32_t high, one, low = address_space_split(r, r->root, x.offset, &high);

	one = address_space_split(r, high, x.offset + 1, &high);
	FRAG_ASSERT(one == buffer);
	(void)one;
	begin_gap(r, high, end_of(r, low));
	r->root = join(r, low, high);
}
