/* pytorch_total.c - what PyTorch's allocator takes from the device's total. */
#include "policy/pytorch_total.h"

#include <math.h>

#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"

#define ENDLESS (UINT64_C(1) << 52)     /* an unlimited device, where a total is needed */

/* A value that rises with the total. */
typedef uint64_t figure_fn(const struct frag_policy *p, uint64_t total, uint64_t page);

static uint64_t pytorch_total_floor_of(double fraction, uint64_t whole)
{
	return (uint64_t)(fraction * (double)whole);
}

/*
 * Bisection finds the smallest total for which the value reaches `bytes`, and the heap compares
 * the total with that. Usually an earlier comparison has already decided.
 */
static bool reaches(const struct frag_policy *p, figure_fn *figure, uint64_t page, uint64_t bytes)
{
	uint64_t low = 1, high = ENDLESS, min_capacity, end_capacity;

	frag_heap_total_range(p->heap, &min_capacity, &end_capacity);
	if (min_capacity && min_capacity < ENDLESS && figure(p, min_capacity, page) >= bytes)
		return true;
	if (end_capacity <= ENDLESS && figure(p, end_capacity - 1, page) < bytes)
		return false;
	if (figure(p, high, page) < bytes)
		return false;   /* for no total there is */
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (figure(p, middle, page) >= bytes)
			high = middle;
		else
			low = middle + 1;
	}
	return frag_heap_total_reaches(p->heap, low);
}

/* The same of a limit: an unlimited device has none. */
static bool pytorch_total_within(const struct frag_policy *p, figure_fn *figure, uint64_t bytes)
{
	return reaches(p, figure, 0, bytes) || !frag_heap_total_figure(p->heap);
}

/* To the nearest byte: the one product that PyTorch does not cut off; up to 2.12 it did. */
static uint64_t pytorch_total_limit(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	(void)page;
	if (t->set[VERSION] <= 12)
		return pytorch_total_floor_of(t->fraction, total);
	return (uint64_t)llround(t->fraction * (double)total);
}

static uint64_t limit_at_first(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	(void)page;
	return pytorch_total_floor_of(frag_pytorch_real(t->set[FRACTION]), total);
}

static uint64_t threshold(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;

	return pytorch_total_floor_of(t->threshold, pytorch_total_limit(p, total, page));
}

static uint64_t range(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;
	const double reserve = frag_pytorch_real(t->set[RESERVE]);
	uint64_t bytes = total + total / 8;

	if (reserve > 1 << 20 && reserve < (double)bytes)
		bytes = (uint64_t)reserve;
	else if (reserve > 0 && reserve <= 1 << 20 && reserve * (double)total < (double)bytes)
		bytes = pytorch_total_floor_of(reserve, total);
	return frag_round_up(bytes ? bytes : 1, page);
}

bool frag_pytorch_may_reserve(const struct frag_policy *p, uint64_t bytes)
{
	const struct pytorch *t = p->state;

	return !t->limited || pytorch_total_within(p, pytorch_total_limit, bytes);
}

bool frag_pytorch_may_at_first(const struct frag_policy *p, uint64_t bytes)
{
	return pytorch_total_within(p, limit_at_first, bytes);
}

bool frag_pytorch_may_keep(const struct frag_policy *p, uint64_t bytes)
{
	return pytorch_total_within(p, threshold, bytes);
}

/* An unlimited device never collects, one with any limit does. */
bool frag_pytorch_collects(const struct frag_policy *p)
{
	const struct pytorch *t = p->state;

	if (!t->limited || t->threshold <= 0)
		return false;
	return frag_heap_total_figure(p->heap) || frag_heap_total(p->heap);
}

static uint64_t range_of(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	return range(p, total && total < ENDLESS ? total : ENDLESS, page);
}

uint64_t frag_pytorch_range_bytes(const struct frag_policy *p, uint64_t page)
{
	return range_of(p, frag_heap_total_figure(p->heap), page);
}

/* Another length is one that a recording had. */
uint64_t frag_pytorch_range_resized(const struct frag_policy *p, uint64_t page, uint64_t bytes,
				    uint64_t end, uint64_t was)
{
	const uint64_t now = frag_pytorch_range_bytes(p, page);

	if (bytes != range_of(p, was, page))
		return bytes;
	/* as frag_pytorch_note_mapped() would have: the end is mapped for this total */
	if (now == end)
		frag_pytorch_range_reaches(p, page, now + 1);
	return now;
}

bool frag_pytorch_range_reaches(const struct frag_policy *p, uint64_t page, uint64_t bytes)
{
	return reaches(p, range, page, bytes);
}

bool frag_pytorch_is_end(const struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct frag_segment_view s;

	if (k.state != FRAG_UNMAPPED || k.next != FRAG_NO_BLOCK)
		return false;
	s = frag_heap_look_segment(p->heap, k.segment);
	return s.bytes == frag_pytorch_range_bytes(p, s.page);
}

void frag_pytorch_note_mapped(const struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct frag_segment_view s;

	if (k.next != FRAG_NO_BLOCK || k.state == FRAG_UNMAPPED)
		return;
	s = frag_heap_look_segment(p->heap, k.segment);
	frag_pytorch_range_reaches(p, s.page, s.bytes + 1);
}

void frag_pytorch_pin_total(const struct frag_policy *p)
{
	frag_heap_total(p->heap);
}

uint64_t frag_pytorch_limit(const struct frag_policy *p)
{
	const struct pytorch *t = p->state;
	const uint64_t total = frag_heap_total_figure(p->heap);

	return total && t->limited ? pytorch_total_limit(p, total, 0) : UINT64_MAX;
}
