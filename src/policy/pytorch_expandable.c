/*
 * pytorch_expandable.c - the expandable segments of PyTorch's allocator: their length, which the
 * device's total decides, and the pages that are mapped into them.
 */
#include "policy/policies.h"
#include "policy/pytorch.h"
#include "policy/pytorch_settings.h"

#define ENDLESS (UINT64_C(1) << 52)     /* an unlimited device, where a total is needed */

/*
 * Bisection finds the smallest total for which the value reaches `bytes`, and the heap compares
 * the total with that. Usually an earlier comparison has already decided.
 */
bool frag_pytorch_total_reaches(struct frag_policy *p, frag_pytorch_figure_fn *figure,
				uint64_t page, uint64_t bytes)
{
	uint64_t low = 1, high = ENDLESS, min_capacity, end_capacity;

	frag_heap_capacity_range(p->heap, &min_capacity, &end_capacity);
	if (min_capacity && min_capacity < ENDLESS && figure(p, min_capacity, page) >= bytes)
		return true;
	/* an unlimited device that is pinned has the bounds 0 and 1, which are no total */
	if (end_capacity > 1 && end_capacity <= ENDLESS && figure(p, end_capacity - 1, page) < bytes)
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
	return frag_heap_capacity_reaches(p->heap, low);
}

static uint64_t range_length(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	const struct pytorch *t = p->state;
	const double reserve = frag_pytorch_real(t->set[RESERVE]);
	uint64_t bytes = total + total / 8;

	if (reserve > 1 << 20 && reserve < (double)bytes)
		bytes = (uint64_t)reserve;
	else if (reserve > 0 && reserve <= 1 << 20 && reserve * (double)total < (double)bytes)
		bytes = (uint64_t)(reserve * (double)total);
	return frag_round_up(bytes ? bytes : 1, page);
}

static uint64_t range_length_of(const struct frag_policy *p, uint64_t total, uint64_t page)
{
	return range_length(p, total && total < ENDLESS ? total : ENDLESS, page);
}

/* Address space that a new expandable segment reserves. */
static uint64_t range_length_now(const struct frag_policy *p, uint64_t page)
{
	return range_length_of(p, frag_heap_capacity(p->heap), page);
}

static bool range_reaches(struct frag_policy *p, uint64_t page, uint64_t bytes)
{
	return frag_pytorch_total_reaches(p, range_length, page, bytes);
}

/* Another length is one that a recording had. */
uint64_t frag_pytorch_range_resized(struct frag_policy *p, uint64_t page, uint64_t bytes,
				    uint64_t end, uint64_t was)
{
	const uint64_t now = range_length_now(p, page);

	if (bytes != range_length_of(p, was, page))
		return bytes;
	/* as note_mapped() would have: the end is mapped for this total */
	if (now == end)
		range_reaches(p, page, now + 1);
	return now;
}

/* Is b the unmapped end of a range that was made so long as the total said? */
static bool is_range_end(const struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct frag_segment_view s;

	if (k.state != FRAG_UNMAPPED || k.next != FRAG_NO_BLOCK)
		return false;
	s = frag_heap_look_segment(p->heap, k.segment);
	return s.bytes == range_length_now(p, s.page);
}

/* b was mapped. Where no address is left after it, a longer range would have had some. */
static void note_mapped(struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct frag_segment_view s;

	if (k.next != FRAG_NO_BLOCK || k.state == FRAG_UNMAPPED)
		return;
	s = frag_heap_look_segment(p->heap, k.segment);
	range_reaches(p, s.page, s.bytes + 1);
}

/* As much as a block could become: with the unmapped addresses after it. */
struct reach {
	uint64_t own, bytes;    /* without them, and with */
	uint64_t end;           /* at a range's end: where that begins */
	uint64_t page;
	bool at_end;            /* the range's length, which the total decides, counts */
};

static struct reach reach_of(const struct frag_policy *p, frag_block b)
{
	const struct frag_block_view k = frag_heap_look(p->heap, b);
	struct reach reach = { .own = k.bytes, .bytes = k.bytes };
	struct frag_block_view next;

	if (k.next == FRAG_NO_BLOCK || !frag_pytorch_in_range(p->heap, b))
		return reach;
	next = frag_heap_look(p->heap, k.next);
	if (next.state != FRAG_UNMAPPED)
		return reach;
	reach.bytes += next.bytes;
	reach.end = next.offset;
	reach.page = frag_heap_page_unchecked(p->heap, b);
	reach.at_end = is_range_end(p, k.next);
	return reach;
}

/* Could the first become less than the second, which is no larger without growth? */
static bool is_less(struct frag_policy *p, frag_block first, frag_block second)
{
	const struct reach a = reach_of(p, first), b = reach_of(p, second);

	/* of two lengths the exact total decides */
	if (a.at_end && b.at_end && a.page != b.page)
		frag_heap_pin_capacity(p->heap);
	/* the length of the one at the end decides, with the known bytes of both */
	if (b.at_end && !a.at_end)
		return range_reaches(p, b.page, a.bytes - b.own + b.end + 1);
	if (a.at_end && !b.at_end)
		return b.bytes > a.own
		       && !range_reaches(p, a.page, b.bytes - a.own + a.end);
	return a.bytes < b.bytes;
}

/* Holes between blocks are better than the end that can grow. */
frag_block frag_pytorch_prefer_hole(struct frag_policy *p, frag_block b)
{
	while (frag_pytorch_in_range(p->heap, b)) {
		frag_block next = frag_heap_after(p->heap, b);

		if (next == FRAG_NO_BLOCK || !is_less(p, next, b))
			break;
		b = next;
	}
	return b;
}

/* Do the free and unmapped blocks from `start` on total `need` bytes? */
static bool has_run(struct frag_policy *p, frag_block start, uint64_t need)
{
	const uint64_t offset = frag_heap_look(p->heap, start).offset;
	uint64_t bytes = 0;

	for (frag_block b = start; b != FRAG_NO_BLOCK && bytes < need;) {
		const struct frag_block_view k = frag_heap_look(p->heap, b);

		if (k.state != FRAG_FREE && k.state != FRAG_UNMAPPED)
			break;
		if (is_range_end(p, b))
			return range_reaches(p, frag_heap_page_unchecked(p->heap, b),
					     offset + need);
		bytes += k.bytes;
		b = k.next;
	}
	return bytes >= need;
}

/* The lowest place of the list's ranges where the request could grow; or none. */
static frag_block pytorch_find_growth(struct frag_policy *p, const struct alloc_params *w)
{
	const struct frag_heap *h = p->heap;
	frag_block u = frag_heap_find_unmapped(h, w->list, FRAG_NO_BLOCK);

	for (; u != FRAG_NO_BLOCK; u = frag_heap_find_unmapped(h, w->list, u)) {
		frag_block prev = frag_heap_look(h, u).prev;
		frag_block start = u;

		if (prev != FRAG_NO_BLOCK && frag_heap_look(h, prev).state == FRAG_FREE)
			start = prev;
		if (has_run(p, start, w->need))
			return start;
	}
	return FRAG_NO_BLOCK;
}

static int new_range(struct frag_policy *p, const struct alloc_params *w, uint64_t page,
		     frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t bytes = range_length_now(p, page);
	int rc = frag_heap_reserve(p->heap, w->list, bytes, page, out);

	if (rc || range_reaches(p, page, w->need))
		return rc;
	/* up to 2.14 the range stays where it is, empty */
	if (t->set[VERSION] >= 15)
		rc = frag_heap_release(p->heap, *out);
	return rc ? rc : -FRAG_EDEVMEM;
}

/* Maps what is missing, as much as `bytes` of block u needs. */
static int pytorch_map_pages(struct frag_heap *h, frag_block u, uint64_t bytes, uint64_t page,
			     frag_block *out)
{
	struct frag_block_view k = frag_heap_look(h, u);

	return frag_heap_map(h, u, k.offset, frag_round_up(bytes < k.bytes ? bytes : k.bytes, page),
			     out);
}

/* Pages that a failed growth has mapped stay, as free memory. */
int frag_pytorch_grow_range(struct frag_policy *p, const struct alloc_params *w, frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t page = w->large ? t->large_segment : SMALL_SEGMENT;
	frag_block b = pytorch_find_growth(p, w);
	struct frag_block_view k;
	int rc = 0;

	if (b == FRAG_NO_BLOCK)
		rc = new_range(p, w, page, &b);
	if (rc)
		return rc;
	page = frag_heap_page_unchecked(p->heap, b);
	if (frag_heap_look(p->heap, b).state == FRAG_UNMAPPED)
		rc = pytorch_map_pages(p->heap, b, w->need, page, &b);
	while (!rc) {
		k = frag_heap_look(p->heap, b);
		if (k.bytes >= w->need)
			break;
		rc = pytorch_map_pages(p->heap, k.next, w->need - k.bytes, page, &b);
	}
	note_mapped(p, b);
	frag_heap_set_user_unchecked(p->heap, b, t->searches);
	*out = b;
	return rc;
}

/* A range as it was: reserved, and its runs mapped. */
int frag_pytorch_restore_range(struct frag_policy *p, const struct frag_restored_segment *seg,
			       frag_list list, frag_block *out)
{
	const struct pytorch *t = p->state;
	uint64_t page = seg->large ? t->large_segment : SMALL_SEGMENT;
	uint64_t bytes = range_length_now(p, page);
	frag_block b = FRAG_NO_BLOCK;
	frag_segment range;
	int rc;

	*out = FRAG_NO_BLOCK;
	for (uint32_t i = 0; i < seg->run_count; i++)
		if (seg->runs[i].offset % page || seg->runs[i].bytes % page)
			return 0;
	if (!range_reaches(p, page, seg->bytes))
		bytes = frag_round_up(seg->bytes, page);
	rc = frag_heap_reserve(p->heap, list, bytes, page, &b);
	range = frag_heap_look(p->heap, b).segment;
	for (uint32_t i = 0; i < seg->run_count && !rc; i++) {
		frag_block mapped;

		/* the runs rise, so what is not mapped yet is the last block */
		rc = frag_heap_map(p->heap, b, seg->runs[i].offset, seg->runs[i].bytes, &mapped);
		if (!rc) {
			note_mapped(p, mapped);
			b = frag_heap_look(p->heap, mapped).next;
		}
	}
	if (!rc)
		*out = frag_heap_look_segment(p->heap, range).first;
	return rc;
}

