/* interval_set.c - ranges of bytes that live at a time, by offset, and the gaps between them. */
#include "plan/interval_set.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"

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

static void note(struct frag_ranges *r, uint32_t n)
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
static uint32_t split(struct frag_ranges *r, uint32_t n, uint64_t offset, uint32_t *upper)
{
	uint32_t rest;

	if (n == FRAG_NO_RANGE) {
		*upper = FRAG_NO_RANGE;
		return n;
	}
	if (r->of[n].offset < offset) {
		rest = split(r, r->of[n].right, offset, upper);
		r->of[n].right = rest;
		note(r, n);
		return n;
	}
	rest = split(r, r->of[n].left, offset, &r->of[n].left);
	note(r, n);
	*upper = n;
	return rest;
}

static uint32_t join(struct frag_ranges *r, uint32_t low, uint32_t high)
{
	if (low == FRAG_NO_RANGE || high == FRAG_NO_RANGE)
		return low == FRAG_NO_RANGE ? high : low;
	if (heavier(low, high)) {
		r->of[low].right = join(r, r->of[low].right, high);
		note(r, low);
		return low;
	}
	r->of[high].left = join(r, low, r->of[high].left);
	note(r, high);
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
	note(r, n);
}

static uint64_t end_of(const struct frag_ranges *r, uint32_t n)
{
	while (n != FRAG_NO_RANGE && r->of[n].right != FRAG_NO_RANGE)
		n = r->of[n].right;
	return n == FRAG_NO_RANGE ? 0 : r->of[n].end;
}

void frag_ranges_add(struct frag_ranges *r, uint32_t buffer, uint64_t offset, uint64_t end)
{
	uint32_t high, low = split(r, r->root, offset, &high);
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
	uint32_t high, one, low = split(r, r->root, x.offset, &high);

	one = split(r, high, x.offset + 1, &high);
	FRAG_ASSERT(one == buffer);
	(void)one;
	begin_gap(r, high, end_of(r, low));
	r->root = join(r, low, high);
}
