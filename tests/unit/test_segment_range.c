/* test_segment_range.c - expandable ranges: pages that come and go under blocks. */
#include "support/faulty_device.h"
#include "support/rig.h"

#define PAGE UINT64_C(1000)     /* no power of two, on purpose */
#define PAGES 8

struct fixture {
	struct rig rig;
	frag_segment range;
};

static int begin(void **state)
{
	static struct fixture f;
	frag_block b;

	rig_begin(&f.rig, 6 * PAGE, 1, FRAG_ORDER_SIZE);
	assert_int_equal(frag_heap_reserve(f.rig.heap, f.rig.list, PAGES * PAGE, PAGE, &b), 0);
	rig_check(&f.rig);
	rig_expect(&f.rig, b, 0, PAGES * PAGE, FRAG_UNMAPPED);
	f.range = frag_heap_look(f.rig.heap, b).segment;
	*state = &f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	rig_end(&f->rig);
	return 0;
}

/* The block that holds this page. */
static frag_block at(struct fixture *f, uint64_t page)
{
	frag_block b = frag_heap_look_segment(f->rig.heap, f->range).first;

	for (;;) {
		struct frag_block_view k = frag_heap_look(f->rig.heap, b);

		if (page * PAGE < k.offset + k.bytes)
			return b;
		b = k.next;
	}
}

static frag_block map(struct fixture *f, uint64_t page, uint64_t pages)
{
	frag_block b = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_map(f->rig.heap, at(f, page), page * PAGE, pages * PAGE, &b), 0);
	rig_check(&f->rig);
	return b;
}

static void unmap(struct fixture *f, uint64_t page, uint64_t pages)
{
	frag_block out = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_unmap(f->rig.heap, at(f, page), page * PAGE, pages * PAGE,
					 &out), 0);
	rig_check(&f->rig);
	assert_int_equal(out, at(f, page));
	assert_int_equal(frag_heap_look(f->rig.heap, out).state, FRAG_UNMAPPED);
}

/*
 * The range as a word: for each block a letter (u unmapped, f free, a allocated,
 * p pending) and its size in pages. The device's figures must say the same.
 */
static void expect_blocks(struct fixture *f, const char *want)
{
	static const char letters[] = "fapuh";
	frag_block b = frag_heap_look_segment(f->rig.heap, f->range).first;
	uint64_t mapped = 0;
	char got[64];
	size_t n = 0;

	while (b != FRAG_NO_BLOCK) {
		struct frag_block_view k = frag_heap_look(f->rig.heap, b);

		got[n++] = letters[k.state];
		got[n++] = (char)('0' + k.bytes / PAGE);
		mapped += k.state != FRAG_UNMAPPED ? k.bytes : 0;
		b = k.next;
	}
	got[n] = '\0';
	assert_string_equal(got, want);
	assert_int_equal(faulty.mapped, mapped);
	assert_int_equal(frag_heap_look_segment(f->rig.heap, f->range).mapped, mapped);
	assert_int_equal(frag_heap_totals(f->rig.heap)->reserved, mapped);
	assert_int_equal(f->rig.dev.used, mapped);
	assert_int_equal(faulty.mistakes, 0);
}

static void expect_last_call(struct fixture *f, enum frag_call_kind kind, uint64_t page,
			     uint64_t pages)
{
	uint32_t count;
	const struct frag_call *calls = frag_heap_calls(f->rig.heap, &count);

	assert_true(count > 0);
	assert_int_equal(calls[count - 1].kind, kind);
	assert_int_equal(calls[count - 1].ordinal, 0);
	assert_int_equal(calls[count - 1].offset, page * PAGE);
	assert_int_equal(calls[count - 1].bytes, pages * PAGE);
}

static void test_reserve(void **state)
{
	struct fixture *f = *state;
	const struct frag_totals *totals = frag_heap_totals(f->rig.heap);

	expect_blocks(f, "u8");
	expect_last_call(f, FRAG_CALL_NEW_RANGE, 0, PAGES);
	assert_int_equal(totals->segments, 1);
	assert_int_equal(totals->segment_allocs, 1);
	assert_int_equal(totals->free, 0);
	assert_int_equal(totals->releasable, 0);
	assert_int_equal(frag_heap_look_segment(f->rig.heap, f->range).page, PAGE);
	assert_int_equal(frag_heap_find(f->rig.heap, f->rig.list, 1), FRAG_NO_BLOCK);
}

static void test_reserve_misused(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig, plain;
	frag_block b;
	struct frag_device_ops without = faulty_device;

	rig_refuses(r, frag_heap_reserve(r->heap, r->list, PAGE, 0, &b));
	rig_refuses(r, frag_heap_reserve(r->heap, r->list, 0, PAGE, &b));
	rig_refuses(r, frag_heap_reserve(r->heap, r->list, PAGE + 1, PAGE, &b));
	rig_refuses(r, frag_heap_reserve(r->heap, NO_SUCH, PAGE, PAGE, &b));
	/* a device without virtual memory */
	without.reserve = NULL;
	assert_int_equal(frag_device_open(&plain.dev, &without, 0, 0, 0, 1, NULL), 0);
	plain.heap = frag_heap_new(&plain.dev, FRAG_ORDER_SIZE);
	assert_int_equal(frag_heap_list(plain.heap, 0, 0, &plain.list), 0);
	rig_refuses(&plain, frag_heap_reserve(plain.heap, plain.list, PAGE, PAGE, &b));
	frag_heap_del(plain.heap);
	frag_device_close(&plain.dev);
}

static void test_map(void **state)
{
	struct fixture *f = *state;
	const struct frag_totals *totals = frag_heap_totals(f->rig.heap);
	frag_block b = map(f, 0, 2);

	expect_blocks(f, "f2u6");
	expect_last_call(f, FRAG_CALL_MAP, 0, 2);
	rig_expect(&f->rig, b, 0, 2 * PAGE, FRAG_FREE);
	assert_int_equal(totals->free, 2 * PAGE);
	assert_int_equal(totals->releasable, 2 * PAGE);
	assert_int_equal(totals->step_peak_reserved, 2 * PAGE);
	assert_int_equal(frag_heap_find(f->rig.heap, f->rig.list, 2 * PAGE), b);
	/* growth of a free block at the end */
	b = map(f, 2, 1);
	rig_expect(&f->rig, b, 0, 3 * PAGE, FRAG_FREE);
	expect_blocks(f, "f3u5");
	expect_last_call(f, FRAG_CALL_MAP, 2, 1);
	assert_int_equal(totals->segments, 1);
	assert_int_equal(totals->segment_allocs, 1);
}

/* Pages in the middle of nothing, at its end, and the holes between. */
static void test_map_holes(void **state)
{
	struct fixture *f = *state;

	map(f, 2, 1);
	expect_blocks(f, "u2f1u5");
	map(f, 7, 1);
	expect_blocks(f, "u2f1u4f1");
	map(f, 4, 2);
	expect_blocks(f, "u2f1u1f2u1f1");
	rig_expect(&f->rig, map(f, 3, 1), 2 * PAGE, 4 * PAGE, FRAG_FREE);
	expect_blocks(f, "u2f4u1f1");
	rig_expect(&f->rig, map(f, 6, 1), 2 * PAGE, 6 * PAGE, FRAG_FREE);
	expect_blocks(f, "u2f6");
	assert_int_equal(frag_heap_totals(f->rig.heap)->releasable, 6 * PAGE);
	/* the device has no seventh page */
	assert_int_equal(frag_heap_map(f->rig.heap, at(f, 0), PAGE, PAGE, &(frag_block){ 0 }),
			 -FRAG_EDEVMEM);
	rig_check(&f->rig);
	assert_int_equal(frag_heap_totals(f->rig.heap)->tried, PAGE);
	expect_blocks(f, "u2f6");
}

/* A live neighbour is left alone. */
static void test_map_beside_live(void **state)
{
	struct fixture *f = *state;
	frag_block b = rig_take(&f->rig, map(f, 1, 1), PAGE, PAGE);

	rig_expect(&f->rig, map(f, 0, 1), 0, PAGE, FRAG_FREE);
	rig_expect(&f->rig, map(f, 2, 1), 2 * PAGE, PAGE, FRAG_FREE);
	expect_blocks(f, "f1a1f1u5");
	assert_int_equal(frag_heap_defer_free(f->rig.heap, b, 0), 0);
	expect_blocks(f, "f1p1f1u5");
	rig_expect(&f->rig, rig_give(&f->rig, b), 0, 3 * PAGE, FRAG_FREE);
	expect_blocks(f, "f3u5");
}

static void test_map_misused(void **state)
{
	static const struct {
		uint64_t offset, bytes;
	} cases[] = {
		{ 3 * PAGE, 0 },
		{ 3 * PAGE + 1, PAGE },
		{ 3 * PAGE, PAGE + 1 },
		{ 3 * PAGE, 6 * PAGE },         /* past the end */
		{ 1 * PAGE, 2 * PAGE },         /* begins before the block */
		{ 3 * PAGE, UINT64_MAX / PAGE * PAGE },         /* the sum passes 2^64 */
		{ UINT64_MAX / PAGE * PAGE, PAGE },
	};
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block free = map(f, 0, 2), hole = at(f, 2), plain = rig_grow(r, PAGE), out;

	for (uint32_t i = 0; i < LENGTH(cases); i++)
		rig_refuses(r, frag_heap_map(r->heap, hole, cases[i].offset, cases[i].bytes, &out));
	rig_refuses(r, frag_heap_map(r->heap, free, 0, PAGE, &out));
	rig_refuses(r, frag_heap_map(r->heap, plain, 0, PAGE, &out));
	rig_refuses(r, frag_heap_map(r->heap, NO_SUCH, 0, PAGE, &out));
	rig_refuses(r, frag_heap_map(r->heap, FRAG_NO_BLOCK, 0, PAGE, &out));
	rig_refuses(r, frag_heap_detach_free(r->heap, hole));
	rig_refuses(r, frag_heap_take(r->heap, &hole, 1, PAGE));
	rig_refuses(r, frag_heap_give(r->heap, hole, NULL));
	rig_refuses(r, frag_heap_carve(r->heap, free, PAGE, r->list, &out));
}

/* Which part of five mapped pages goes, and what is left. */
static void test_unmap_parts(void **state)
{
	static const struct {
		uint64_t page, pages;
		const char *left;
	} cases[] = {
		{ 1, 5, "u8" },
		{ 1, 2, "u3f3u2" },
		{ 4, 2, "u1f3u4" },
		{ 3, 1, "u1f2u1f2u2" },
	};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		map(f, 1, 5);
		expect_blocks(f, "u1f5u2");
		unmap(f, cases[i].page, cases[i].pages);
		expect_blocks(f, cases[i].left);
		expect_last_call(f, FRAG_CALL_UNMAP, cases[i].page, cases[i].pages);
		for (uint64_t page = 0; page < PAGES; page++)
			if (frag_heap_look(f->rig.heap, at(f, page)).state == FRAG_FREE)
				unmap(f, page, 1);
		expect_blocks(f, "u8");
	}
}

/* Neighbours that are live or free stay as they are, in one list entry each. */
static void test_unmap_beside(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block low = map(f, 0, 6);

	/* two free neighbours that a policy left apart */
	assert_int_equal(frag_heap_detach_free(r->heap, low), 0);
	assert_int_equal(frag_heap_split(r->heap, low, 3 * PAGE), 0);
	assert_int_equal(frag_heap_insert(r->heap, low), 0);
	expect_blocks(f, "f3f3u2");
	unmap(f, 0, 3);
	expect_blocks(f, "u3f3u2");
	rig_take(r, at(f, 3), 1, PAGE);
	unmap(f, 4, 1);
	expect_blocks(f, "u3a1u1f1u2");
	rig_give(r, at(f, 3));
	expect_blocks(f, "u3f1u1f1u2");
	assert_int_equal(frag_heap_totals(r->heap)->merges, 0);
}

static void test_unmap_misused(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block live = rig_take(r, map(f, 0, 4), PAGE / 2, PAGE / 2), free = at(f, 1);
	frag_block plain = rig_grow(r, PAGE), out;

	rig_refuses(r, frag_heap_unmap(r->heap, live, 0, PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, free, 0, PAGE, &out)); /* half is live */
	rig_refuses(r, frag_heap_unmap(r->heap, free, PAGE, 0, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, free, PAGE, PAGE / 2, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, free, PAGE + 1, PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, free, PAGE, 4 * PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, at(f, 5), 5 * PAGE, PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, plain, 0, PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, NO_SUCH, 0, PAGE, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, FRAG_NO_BLOCK, 0, PAGE, &out));
	assert_int_equal(frag_heap_defer_free(r->heap, live, 0), 0);
	rig_refuses(r, frag_heap_unmap(r->heap, live, 0, PAGE, &out));
	unmap(f, 1, 3);
	/* the half page beside the live block keeps its memory */
	rig_expect(r, at(f, 1), PAGE, 7 * PAGE, FRAG_UNMAPPED);
	assert_int_equal(frag_heap_look_segment(r->heap, f->range).mapped, PAGE);
	assert_int_equal(frag_heap_totals(r->heap)->free, PAGE / 2 + PAGE);
}

/* Of a free block only the pages that lie whole in it could be given back. */
static void test_releasable(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	const struct frag_totals *totals = frag_heap_totals(r->heap);
	frag_block a = rig_take(r, map(f, 0, 4), 1, PAGE + 1);
	frag_block rest = frag_heap_look(r->heap, a).next, b;

	assert_int_equal(totals->releasable, 2 * PAGE);
	b = rig_take(r, rest, 1, 2 * PAGE - 2); /* to one byte before the end of page 3 */
	assert_int_equal(totals->free, PAGE + 1);
	assert_int_equal(totals->releasable, PAGE);
	b = rig_take(r, frag_heap_look(r->heap, b).next, 1, 2);
	assert_int_equal(totals->releasable, 0);
	assert_int_equal(totals->free, PAGE - 1);
	rig_give(r, a);
	assert_int_equal(totals->releasable, PAGE);
}

/* Only a range without memory can go; it takes an ordinal like every segment. */
static void test_release(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = map(f, 0, 6);

	rig_refuses(r, frag_heap_release(r->heap, b));
	rig_refuses(r, frag_heap_release(r->heap, at(f, 7)));
	unmap(f, 1, 5);
	rig_refuses(r, frag_heap_release(r->heap, at(f, 0)));
	unmap(f, 0, 1);
	assert_int_equal(frag_heap_release(r->heap, at(f, 0)), 0);
	rig_check(r);
	expect_last_call(f, FRAG_CALL_RELEASE_RANGE, 0, PAGES);
	assert_int_equal(frag_heap_totals(r->heap)->segments, 0);
	assert_int_equal(frag_heap_totals(r->heap)->segment_frees, 1);
	assert_int_equal(faulty.held, 0);
	b = rig_grow(r, PAGE);
	f->range = frag_heap_look(r->heap, b).segment;
	assert_int_equal(frag_heap_look_segment(r->heap, f->range).ordinal, 1);
}

/* The gaps of a list by address, over several ranges. */
static void test_find_unmapped(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block second;
	frag_list other;

	assert_int_equal(frag_heap_reserve(r->heap, r->list, 2 * PAGE, PAGE, &second), 0);
	map(f, 1, 1);
	map(f, 3, 1);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, FRAG_NO_BLOCK), at(f, 0));
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 0)), at(f, 2));
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 1)), at(f, 2));
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 2)), at(f, 4));
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 4)), second);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, second), FRAG_NO_BLOCK);
	map(f, 2, 1);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 0)), at(f, 4));
	unmap(f, 1, 3);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, at(f, 0)), second);
	assert_int_equal(frag_heap_list(r->heap, 1, 0, &other), 0);
	assert_int_equal(frag_heap_find_unmapped(r->heap, other, FRAG_NO_BLOCK), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_unmapped(r->heap, NO_SUCH, FRAG_NO_BLOCK), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, NO_SUCH), FRAG_NO_BLOCK);
}

/* Pages count as they are: the granularity is for segments. */
static void test_granularity(void **state)
{
	struct rig r;
	frag_block b, out;

	(void)state;
	rig_begin(&r, 3500, 1024, FRAG_ORDER_SIZE);
	assert_int_equal(frag_heap_reserve(r.heap, r.list, 8000, 1000, &b), 0);
	assert_int_equal(frag_heap_map(r.heap, b, 0, 4000, &out), -FRAG_EDEVMEM);
	assert_int_equal(frag_heap_map(r.heap, b, 0, 3000, &out), 0);
	assert_int_equal(r.dev.used, 3000);
	assert_int_equal(frag_heap_totals(r.heap)->reserved, 3000);
	assert_int_equal(frag_heap_unmap(r.heap, out, 1000, 1000, &b), 0);
	assert_int_equal(r.dev.used, 2000);
	rig_end(&r);
}

/* Whatever stands in a range when the heap ends: rig_end() asks the figures. */
static void test_del(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = rig_take(r, map(f, 1, 3), 1, 5);

	rig_take(r, frag_heap_look(r->heap, b).next, 1, PAGE);
	assert_int_equal(frag_heap_defer_free(r->heap, b, 0), 0);
	map(f, 5, 1);
	rig_take(r, map(f, 7, 1), 1, PAGE);
	assert_int_equal(frag_heap_reserve(r->heap, r->list, PAGE, PAGE, &b), 0);
	assert_int_equal(faulty.held, 2);
	assert_int_equal(faulty.mapped, 5 * PAGE);
}

/* Where the device fails, nothing has happened. */
static void test_failures(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = map(f, 1, 3), out;

	faulty.code = -FRAG_EDEVICE;
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_map(r->heap, at(f, 0), 0, PAGE, &out), -FRAG_EDEVICE);
	rig_check(r);
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_unmap(r->heap, b, 2 * PAGE, PAGE, &out), -FRAG_EDEVICE);
	rig_check(r);
	expect_blocks(f, "u1f3u4");
	unmap(f, 1, 3);
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_release(r->heap, at(f, 0)), -FRAG_EDEVICE);
	rig_check(r);
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_reserve(r->heap, r->list, PAGE, PAGE, &out), -FRAG_EDEVICE);
	rig_check(r);
	expect_blocks(f, "u8");
}

/* Where all is kept, a range's pages are not releasable, and nobody takes them away. */
static void test_keep_all(void **state)
{
	struct rig r;
	frag_block b;

	(void)state;
	rig_begin(&r, 0, 1, FRAG_ORDER_SIZE);
	frag_heap_keep_all(r.heap);
	assert_int_equal(frag_heap_reserve(r.heap, r.list, PAGES * PAGE, PAGE, &b), 0);
	assert_int_equal(frag_heap_map(r.heap, b, 0, 2 * PAGE, &b), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_totals(r.heap)->free, 2 * PAGE);
	assert_int_equal(frag_heap_totals(r.heap)->releasable, 0);
	assert_int_equal(frag_heap_release_idle(r.heap), 0);
	rig_refuses(&r, frag_heap_unmap(r.heap, b, 0, PAGE, &b));
	assert_int_equal(frag_heap_totals(r.heap)->reserved, 2 * PAGE);
	rig_end(&r);
}

/* The order of addresses keeps ranges and their holes apart too. */
static void test_by_address(void **state)
{
	struct rig r;
	frag_block b, low, high, out;

	(void)state;
	rig_begin(&r, 0, 1, FRAG_ORDER_ADDRESS);
	assert_int_equal(frag_heap_reserve(r.heap, r.list, PAGES * PAGE, PAGE, &b), 0);
	assert_int_equal(frag_heap_map(r.heap, b, 4 * PAGE, PAGE, &high), 0);
	assert_int_equal(frag_heap_map(r.heap, b, 0, PAGE, &low), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_find(r.heap, r.list, PAGE), low);
	assert_int_equal(frag_heap_find_from(r.heap, r.list, 1, 0, 1), high);
	assert_int_equal(frag_heap_unmap(r.heap, low, 0, PAGE, &out), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_find(r.heap, r.list, PAGE), high);
	rig_end(&r);
}

/* A range that is kept is released no more, and so are its pages, which were free to release. */
static void test_keep_mapped(void **state)
{
	struct rig r;
	frag_block whole, mapped;

	(void)state;
	rig_begin(&r, 6 * PAGE, 1, FRAG_ORDER_SIZE);
	assert_int_equal(frag_heap_reserve(r.heap, r.list, 2 * PAGE, PAGE, &whole), 0);
	assert_int_equal(frag_heap_map(r.heap, whole, 0, 2 * PAGE, &mapped), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_totals(r.heap)->releasable, 2 * PAGE);
	assert_int_equal(frag_heap_keep(r.heap, mapped), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_totals(r.heap)->releasable, 0);
	rig_end(&r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_reserve),
		T(test_map),
		T(test_map_holes),
		T(test_map_beside_live),
		T(test_map_misused),
		T(test_unmap_parts),
		T(test_unmap_beside),
		T(test_unmap_misused),
		T(test_releasable),
		T(test_release),
		T(test_find_unmapped),
		T(test_del),
		T(test_failures),
		T(test_reserve_misused),
		cmocka_unit_test(test_keep_all),
		cmocka_unit_test(test_keep_mapped),
		cmocka_unit_test(test_by_address),
		cmocka_unit_test(test_granularity),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
