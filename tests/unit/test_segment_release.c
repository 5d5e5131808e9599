/* test_segment_release.c - what is unused goes back to the device in a policy's order. */
#include "support/faulty_device.h"
#include "support/rig.h"

#define SEGMENT UINT64_C(4096)
#define PAGE UINT64_C(1000)

static frag_block reserve(struct rig *r, uint64_t pages)
{
	frag_block b = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_reserve(r->heap, r->list, pages * PAGE, PAGE, &b), 0);
	assert_int_equal(frag_heap_map(r->heap, b, 0, pages * PAGE, &b), 0);
	rig_check(r);
	return b;
}

struct call {
	enum frag_call_kind kind;
	uint32_t ordinal;
	uint64_t offset, bytes;
};

static void expect_calls(const struct rig *r, const struct call *want, uint32_t n)
{
	uint32_t count;
	const struct frag_call *calls = frag_heap_calls(r->heap, &count);

	assert_int_equal(count, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(calls[i].kind, want[i].kind);
		assert_int_equal(calls[i].ordinal, want[i].ordinal);
		assert_int_equal(calls[i].offset, want[i].offset);
		assert_int_equal(calls[i].bytes, want[i].bytes);
	}
}

/* Segment 0 idle, 1 live, 2 a free range, 3 a range with live blocks, 4 idle. */
static void lay_out(struct rig *r)
{
	frag_block b;

	rig_grow(r, SEGMENT);
	rig_take(r, rig_grow(r, SEGMENT), 1, 1);
	reserve(r, 3);
	/* free: half a page, pages 1 and 2 whole, a byte; live; free: page 5 but a byte */
	b = rig_take(r, reserve(r, 6), PAGE / 2, PAGE / 2);
	b = rig_take(r, frag_heap_look(r->heap, b).next, 1, PAGE * 5 / 2 + 1);
	rig_take(r, frag_heap_look(r->heap, b).next, 1, 2 * PAGE);
	rig_give(r, b);
	rig_grow(r, SEGMENT);
	frag_heap_step(r->heap);
}

static void test_by_address(void **state)
{
	static const struct call want[] = {
		{ FRAG_CALL_RELEASE, 0, 0, SEGMENT },
		{ FRAG_CALL_UNMAP, 2, 0, 3 * PAGE },
		{ FRAG_CALL_RELEASE_RANGE, 2, 0, 3 * PAGE },
		{ FRAG_CALL_UNMAP, 3, PAGE, 2 * PAGE },
		{ FRAG_CALL_RELEASE, 4, 0, SEGMENT },
	};
	struct rig *r = *state;

	lay_out(r);
	/* what will go is what the totals call releasable */
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 2 * SEGMENT + 5 * PAGE);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_check(r);
	expect_calls(r, want, LENGTH(want));
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 0);
	assert_int_equal(frag_heap_totals(r->heap)->segments, 2);
	assert_int_equal(r->dev.used, SEGMENT + 4 * PAGE);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	expect_calls(r, want, LENGTH(want));
}

/* The largest first; the blocks of segment 0 stay. */
static bool largest_first(const struct frag_heap *h, frag_block b, void *ctx,
			  uint64_t rank[FRAG_RANKS])
{
	struct frag_block_view k = frag_heap_look(h, b);

	(*(uint32_t *)ctx)++;
	rank[1] = UINT64_MAX - k.bytes;
	return frag_heap_look_segment(h, k.segment).ordinal != 0;
}

static void test_by_rank(void **state)
{
	static const struct call want[] = {
		{ FRAG_CALL_RELEASE, 4, 0, SEGMENT },
		{ FRAG_CALL_UNMAP, 2, 0, 3 * PAGE },
		{ FRAG_CALL_RELEASE_RANGE, 2, 0, 3 * PAGE },
		{ FRAG_CALL_UNMAP, 3, PAGE, 2 * PAGE },
	};
	struct rig *r = *state;
	uint32_t requested = 0;

	lay_out(r);
	assert_int_equal(frag_heap_release_unused(r->heap, largest_first, &requested), 0);
	rig_check(r);
	expect_calls(r, want, LENGTH(want));
	assert_int_equal(requested, 4);
	assert_int_equal(frag_heap_totals(r->heap)->releasable, SEGMENT);
}

/* Several runs of pages in one range, which goes with the last of them. */
static void test_last_page_takes_the_range(void **state)
{
	static const struct call want[] = {
		{ FRAG_CALL_UNMAP, 0, 0, PAGE },
		{ FRAG_CALL_UNMAP, 0, 2 * PAGE, PAGE },
		{ FRAG_CALL_RELEASE_RANGE, 0, 0, 3 * PAGE },
	};
	struct rig *r = *state;
	frag_block b = reserve(r, 3);

	assert_int_equal(frag_heap_unmap(r->heap, b, PAGE, PAGE, &b), 0);
	frag_heap_step(r->heap);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_check(r);
	expect_calls(r, want, LENGTH(want));
}

/* In the order of addresses the walk over a list finds the same blocks. */
static void test_index_by_address(void **state)
{
	struct rig r;

	(void)state;
	rig_begin(&r, 0, 1, FRAG_ORDER_ADDRESS);
	lay_out(&r);
	assert_int_equal(frag_heap_release_idle(r.heap), 0);
	rig_check(&r);
	assert_int_equal(frag_heap_totals(r.heap)->releasable, 0);
	assert_int_equal(r.dev.used, SEGMENT + 4 * PAGE);
	rig_end(&r);
}

/* Whichever call fails: the heap stays sound, and the rest can go later. */
static void test_failures(void **state)
{
	(void)state;
	for (uint32_t k = 1; k <= 5; k++) {
		struct rig r;

		rig_begin(&r, 0, 1, FRAG_ORDER_SIZE);
		lay_out(&r);
		faulty.code = -FRAG_EDEVICE;
		faulty.fail_at = faulty.calls + k;
		assert_int_equal(frag_heap_release_idle(r.heap), -FRAG_EDEVICE);
		rig_check(&r);
		assert_int_equal(frag_heap_release_idle(r.heap), 0);
		rig_check(&r);
		assert_int_equal(frag_heap_totals(r.heap)->releasable, 0);
		rig_end(&r);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_by_address),
		T(test_by_rank),
		T(test_last_page_takes_the_range),
		cmocka_unit_test(test_index_by_address),
		cmocka_unit_test(test_failures),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
