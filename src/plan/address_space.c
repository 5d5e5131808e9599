/* address_space.c - the buffers of one address space as numbers, side by side. */
#include "plan/address_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/array_grow.h"
#include "base/bug.h"
#include "base/hash.h"

static int address_space_in_order(const void *one, const void *other)
{
	const struct frag_space_change *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return frag_order_two(a->birth, b->birth, a->buffer, b->buffer);
}

/* Appends a run of a buffer, if it is not empty. */
static void add_run(struct frag_space_change *out, size_t *count, uint64_t from, uint64_t to,
		    uint32_t buffer)
{
	if (from >= to)
		return;
	out[(*count)++] = (struct frag_space_change){ from, buffer, true };
	out[(*count)++] = (struct frag_space_change){ to, buffer, false };
}

struct frag_space_change *frag_plan_changes(const struct frag_plan *plan, size_t *count)
{
	const size_t most = 2 * ((size_t)plan->count + plan->gap_count);
	const struct frag_plan_gap *gap = plan->gaps, *end = gap + plan->gap_count;
	struct frag_space_change *out = malloc((most + 1) * sizeof(*out));

	*count = 0;
	for (uint32_t i = 0; out && i < plan->count; i++) {
		uint64_t from = plan->buffers[i].birth * plan->scale;

		for (; gap < end && gap->buffer == i; gap++) {
			add_run(out, count, from, gap->from, i);
			from = gap->to > from ? gap->to : from;
		}
		add_run(out, count, from, plan->buffers[i].end * plan->scale, i);
	}
	FRAG_ASSERT(gap == end && *count <= most);
	if (*count)
		qsort(out, *count, sizeof(*out), address_space_in_order);
	return out;
}

bool frag_space_meet(const struct frag_space *s, uint32_t a, uint32_t b)
{
	uint32_t i = s->run_at[a], k = s->run_at[b];

	FRAG_ASSERT(a < s->count && b < s->count);
	while (i < s->run_at[a + 1] && k < s->run_at[b + 1]) {
		if (s->runs[i].from < s->runs[k].to && s->runs[k].from < s->runs[i].to)
			return true;
		if (s->runs[i].to < s->runs[k].to)
			i++;
		else
			k++;
	}
	return false;
}

static void lay_out(struct frag_space *s, struct frag_arena *a, uint32_t runs)
{
	const size_t items = (size_t)s->count + 1, times = (size_t)runs + 1;

	s->from = frag_arena_take(a, items, sizeof(*s->from));
	s->to = frag_arena_take(a, items, sizeof(*s->to));
	s->run_at = frag_arena_take(a, items, sizeof(*s->run_at));
	s->runs = frag_arena_take(a, times, sizeof(*s->runs));
	s->first_from = frag_arena_take(a, times, sizeof(*s->first_from));
	s->life = frag_arena_take(a, items, sizeof(*s->life));
	s->size = frag_arena_take(a, items, sizeof(*s->size));
	s->offset = frag_arena_take(a, items, sizeof(*s->offset));
	s->contention = frag_arena_take(a, items, sizeof(*s->contention));
	s->live = frag_arena_take(a, times, sizeof(*s->live));
	s->align = frag_arena_take(a, items, sizeof(*s->align));
	s->fixed = frag_arena_take(a, items, sizeof(*s->fixed));
	s->hint = frag_arena_take(a, items, sizeof(*s->hint));
	s->buffer = frag_arena_take(a, items, sizeof(*s->buffer));
}

/* Keeps the changes of one space, with items in the order of their first ones. */
static void number_items(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
			 struct frag_space_change *changes, size_t *count, uint32_t *item_of)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		const uint32_t b = changes[i].buffer;

		if (plan->buffers[b].space != space)
			continue;
		if (!item_of[b]) {
			s->buffer[s->count++] = b;
			item_of[b] = s->count;
		}
		changes[kept] = changes[i];
		changes[kept++].buffer = item_of[b] - 1;
	}
	*count = kept;
}

/* An allocation after a free begins the next section. Sets runs, lives and the bound. */
static void take_times(struct frag_space *s, const struct frag_plan *plan,
		       const struct frag_space_change *changes, size_t count)
{
	uint64_t sum = 0;
	bool ended = true;

	for (size_t i = 0; i < count; i++)
		s->run_at[changes[i].buffer + 1] += changes[i].birth;
	for (uint32_t i = 0; i < s->count; i++) {
		s->gapped = s->gapped || s->run_at[i + 1] > 1;
		s->run_at[i + 1] += s->run_at[i];
		s->to[i] = s->run_at[i];
	}
	for (size_t i = 0; i < count; i++) {
		const uint32_t item = changes[i].buffer;
		struct frag_space_run *run = &s->runs[s->to[item]];

		if (!changes[i].birth) {
			run->to = s->times;
			s->to[item]++;
			sum -= s->size[item];
			ended = true;
			continue;
		}
		s->times += ended;
		ended = false;
		run->from = s->times - 1;
		s->live[run->from] = sum += s->size[item];
		if (sum > s->bound) {
			s->bound = sum;
			s->peak_step = changes[i].time / plan->scale;
		}
	}
	for (uint32_t i = 0; i < s->count; i++) {
		s->from[i] = s->runs[s->run_at[i]].from;
		s->to[i] = s->runs[s->run_at[i + 1] - 1].to;
		FRAG_ASSERT(s->from[i] < s->to[i] && (!i || s->from[i - 1] <= s->from[i]));
	}
	for (uint32_t t = 0, i = 0; t <= s->times; s->first_from[t++] = i)
		while (i < s->count && s->from[i] < t)
			i++;
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

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Sets the sizes, alignments, fixed offsets and hints of the items, and the unit. */
static void take_buffers(struct frag_space *s, const struct frag_plan *plan)
{
	bool timed = false;

	s->placed = plan->placed;
	for (uint32_t i = 0; i < s->count; i++)
		timed = timed || plan->buffers[s->buffer[i]].life > 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct frag_buffer *b = &plan->buffers[s->buffer[i]];

		FRAG_ASSERT(b->size && (!b->fixed || b->align <= 1 || b->offset % b->align == 0));
		s->size[i] = b->size;
		s->life[i] = timed ? b->life : (double)(b->end - b->birth);
		s->align[i] = b->align ? b->align : 1;
		s->fixed[i] = b->fixed ? b->offset : UINT64_MAX;
		s->hint[i] = b->hinted ? b->hint : UINT64_MAX;
		s->hinted = s->hinted || b->hinted;
		s->placed = s->placed && b->hinted;
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

/*
 * The lower bound of a section where all offsets are multiples of a number: each item is followed
 * by a gap up to the next multiple, except the highest one. The section with the largest sum of
 * such sizes is taken.
 */
static int aligned_bound(struct frag_space *s, struct frag_error *err)
{
	uint64_t *sums = calloc((size_t)s->times + 1, sizeof(*sums)), unit = 0, most = 0;
	uint32_t peak = 0;

	if (!sums)
		return frag_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++)
		unit = common_divisor(unit, s->align[i]);
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++) {
			sums[s->runs[r].from] += (s->size[i] + unit - 1) / unit * unit;
			sums[s->runs[r].to] -= (s->size[i] + unit - 1) / unit * unit;
		}
	for (uint32_t t = 1; t < s->times; t++) {
		sums[t] += sums[t - 1];
		peak = sums[t] > sums[peak] ? t : peak;
	}
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++)
			if (s->runs[r].from <= peak && peak < s->runs[r].to)
				most = frag_max(most, (unit - s->size[i] % unit) % unit);
	s->lower = frag_max(s->lower, sums[peak] - most);
	free(sums);
	return 0;
}

int frag_space_init(struct frag_space *s, const struct frag_plan *plan, uint32_t space,
		    struct frag_error *err)
{
	const uint32_t items = plan->spaces[space].count;
	struct frag_arena measure = { .used = 0 }, arena = measure;
	uint32_t *item_of = calloc((size_t)plan->count + 1, sizeof(*item_of));
	size_t count = 0;
	struct frag_space_change *changes = frag_plan_changes(plan, &count);

	*s = (struct frag_space){ .count = items };
	lay_out(s, &measure, items + plan->gap_count);
	s->memory = arena.base = calloc(measure.used, 1);
	if (item_of && changes && arena.base) {
		lay_out(s, &arena, items + plan->gap_count);
		s->count = 0;
		number_items(s, plan, space, changes, &count, item_of);
		FRAG_ASSERT(s->count == items);
		take_buffers(s, plan);
		take_times(s, plan, changes, count);
	}
	free(item_of);
	free(changes);
	if (s->count != items || !arena.base || !s->from)
		return frag_fail_nomem(err);
	s->lower = frag_max(s->bound, s->fixed_end);
	if (s->constrained && s->count && aligned_bound(s, err))
		return -FRAG_ENOMEM;
	return sum_contention(s, err);
}

/* Counted first, so that list_at[t + 1] is where the next item of t goes, and then where they end. */
int frag_space_list(struct frag_space *s, struct frag_error *err)
{
	size_t sum = 0;

	s->list_at = calloc((size_t)s->times + 2, sizeof(*s->list_at));
	for (uint32_t r = 0; r < s->run_at[s->count]; r++)
		sum += s->runs[r].to - s->runs[r].from;
	s->list = malloc((sum + 1) * sizeof(*s->list));
	if (!s->list_at || !s->list)
		return frag_fail_nomem(err);
	for (uint32_t r = 0; r < s->run_at[s->count]; r++)
		for (uint32_t t = s->runs[r].from; t < s->runs[r].to; t++)
			s->list_at[t + 2]++;
	for (uint32_t t = 0; t < s->times; t++)
		s->list_at[t + 1] += s->list_at[t];
	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t r = s->run_at[i]; r < s->run_at[i + 1]; r++)
			for (uint32_t t = s->runs[r].from; t < s->runs[r].to; t++)
				s->list[s->list_at[t + 1]++] = i;
	return 0;
}

void frag_space_fini(struct frag_space *s)
{
	free(s->list_at);
	free(s->list);
	free(s->memory);
	*s = (struct frag_space){ .count = 0 };
}

int frag_plan_bound(struct frag_plan *plan, struct frag_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < plan->space_count && !rc; i++) {
		struct frag_space s;

		rc = frag_space_init(&s, plan, i, err);
		plan->spaces[i].bound = s.bound;
		plan->spaces[i].lower = s.lower;
		plan->spaces[i].peak_step = s.peak_step;
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

	FRAG_ASSERT(offset < end);
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

	FRAG_ASSERT(bytes);
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
