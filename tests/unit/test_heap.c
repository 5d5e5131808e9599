/* test_heap.c - whole segments, free lists, calls and totals of the heap. */
#include "support/faulty_device.h"
#include "support/rig.h"

#define SEGMENT 4096

static int begin(void **state)
{
	static struct rig rig;

	rig_begin(&rig, UINT64_C(10) * SEGMENT, 512, FRAG_ORDER_SIZE);
	*state = &rig;
	return 0;
}

static int end(void **state)
{
	rig_end(*state);
	return 0;
}

static void expect_call(const struct rig *r, uint32_t at, enum frag_call_kind kind,
			uint32_t ordinal, uint64_t bytes)
{
	uint32_t count;
	const struct frag_call *calls = frag_heap_calls(r->heap, &count);

	assert_true(at < count);
	assert_int_equal(calls[at].kind, kind);
	assert_int_equal(calls[at].ordinal, ordinal);
	assert_int_equal(calls[at].offset, 0);
	assert_int_equal(calls[at].bytes, bytes);
}

static uint32_t call_count(const struct rig *r)
{
	uint32_t count;

	frag_heap_calls(r->heap, &count);
	return count;
}

static struct frag_segment_view segment_of(const struct rig *r, frag_block b)
{
	return frag_heap_look_segment(r->heap, frag_heap_look(r->heap, b).segment);
}

static void test_grow(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, 700);
	const struct frag_totals *totals = frag_heap_totals(r->heap);

	rig_expect(r, b, 0, 700, FRAG_FREE);
	assert_int_equal(totals->reserved, 700);
	assert_int_equal(totals->free, 700);
	assert_int_equal(totals->releasable, 700);
	assert_int_equal(totals->segments, 1);
	assert_int_equal(totals->segment_allocs, 1);
	assert_int_equal(r->dev.used, 1024);
	assert_int_equal(totals->step_peak_used, 1024);
	assert_int_equal(totals->step_peak_reserved, 700);
	expect_call(r, 0, FRAG_CALL_NEW, 0, 700);
	frag_heap_step(r->heap);
	assert_int_equal(call_count(r), 0);
}

static void test_grow_misused(void **state)
{
	struct rig *r = *state;
	frag_block b;

	rig_refuses(r, frag_heap_grow(r->heap, r->list, 0, &b));
	rig_refuses(r, frag_heap_grow(r->heap, r->list + 1, 512, &b));
	rig_refuses(r, frag_heap_grow(r->heap, UINT32_MAX, 512, &b));
	assert_int_equal(r->dev.used, 0);
	assert_int_equal(frag_heap_totals(r->heap)->segment_allocs, 0);
}

/* No size is so large that the sum comes out small. */
static void test_grow_refused(void **state)
{
	static const uint64_t sizes[] = {
		UINT64_C(10) * SEGMENT + 1, UINT64_C(1) << 53, UINT64_C(1) << 62, UINT64_MAX - 511,
		UINT64_MAX - 10, UINT64_MAX,
	};
	struct rig *r = *state;
	frag_block b;

	for (uint32_t i = 0; i < LENGTH(sizes); i++) {
		assert_int_equal(frag_heap_grow(r->heap, r->list, sizes[i], &b), -FRAG_EDEVMEM);
		assert_int_equal(frag_heap_totals(r->heap)->tried, sizes[i]);
		rig_check(r);
	}
	assert_int_equal(call_count(r), 0);
	/* the ordinal of a refused segment is not spent */
	assert_int_equal(segment_of(r, rig_grow(r, 512)).ordinal, 0);
}

static void test_release(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT), part;

	rig_grow(r, SEGMENT);
	frag_heap_step(r->heap);
	part = rig_take(r, b, 512, 512);
	rig_refuses(r, frag_heap_release(r->heap, part));
	rig_refuses(r, frag_heap_release(r->heap, frag_heap_look(r->heap, part).next));
	assert_int_equal(frag_heap_defer_free(r->heap, part, 0), 0);
	rig_refuses(r, frag_heap_release(r->heap, part));
	b = rig_give(r, part);
	assert_int_equal(frag_heap_release(r->heap, b), 0);
	rig_check(r);
	expect_call(r, 0, FRAG_CALL_RELEASE, 0, SEGMENT);
	assert_int_equal(r->dev.used, SEGMENT);
	assert_int_equal(frag_heap_totals(r->heap)->segments, 1);
	assert_int_equal(frag_heap_totals(r->heap)->step_peak_segments, 2);
	assert_int_equal(frag_heap_totals(r->heap)->segment_frees, 1);
	rig_refuses(r, frag_heap_release(r->heap, b));
	rig_refuses(r, frag_heap_release(r->heap, FRAG_NO_BLOCK));
	rig_refuses(r, frag_heap_release(r->heap, NO_SUCH));
	/* records are used again, ordinals are not */
	assert_int_equal(segment_of(r, rig_grow(r, 512)).ordinal, 2);
}

/* In whichever order segments became idle, they go in the order of their ordinals. */
static void test_release_idle(void **state)
{
	static const uint32_t order[] = { 3, 0, 4, 1 };
	struct rig *r = *state;
	frag_block b[5];

	for (uint32_t i = 0; i < LENGTH(b); i++)
		b[i] = rig_take(r, rig_grow(r, SEGMENT), SEGMENT, SEGMENT);
	for (uint32_t i = 0; i < LENGTH(order); i++)
		rig_give(r, b[order[i]]);
	frag_heap_step(r->heap);
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 4 * SEGMENT);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_check(r);
	assert_int_equal(call_count(r), 4);
	expect_call(r, 0, FRAG_CALL_RELEASE, 0, SEGMENT);
	expect_call(r, 1, FRAG_CALL_RELEASE, 1, SEGMENT);
	expect_call(r, 2, FRAG_CALL_RELEASE, 3, SEGMENT);
	expect_call(r, 3, FRAG_CALL_RELEASE, 4, SEGMENT);
	assert_int_equal(r->dev.used, SEGMENT);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	assert_int_equal(call_count(r), 4);
}

static void test_keep(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT), live;

	live = rig_take(r, b, 512, 512);
	rig_refuses(r, frag_heap_keep(r->heap, live));
	rig_refuses(r, frag_heap_keep(r->heap, frag_heap_look(r->heap, live).next));
	rig_refuses(r, frag_heap_keep(r->heap, FRAG_NO_BLOCK));
	rig_refuses(r, frag_heap_keep(r->heap, NO_SUCH));
	b = rig_give(r, live);
	assert_int_equal(frag_heap_keep(r->heap, b), 0);
	rig_check(r);
	assert_true(segment_of(r, b).kept);
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 0);
	rig_refuses(r, frag_heap_release(r->heap, b));
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	/* nor does it become releasable after use */
	b = rig_give(r, rig_take(r, b, 1, SEGMENT));
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 0);
}

/* Every segment as if it were kept, whoever asks. */
static void test_keep_all(void **state)
{
	struct rig *r = *state;
	frag_block b;

	frag_heap_keep_all(r->heap);
	b = rig_grow(r, SEGMENT);
	rig_check(r);
	assert_true(segment_of(r, b).kept);
	assert_int_equal(frag_heap_totals(r->heap)->releasable, 0);
	b = rig_give(r, rig_take(r, b, 1, 512));
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_refuses(r, frag_heap_release(r->heap, b));
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	assert_int_equal(frag_heap_totals(r->heap)->reserved, SEGMENT);
}

/* One list a (pool, which), always the same; each finds its own blocks only. */
static void test_lists(void **state)
{
	struct rig *r = *state;
	frag_list a, b, again;
	frag_block x, y;

	assert_int_equal(frag_heap_list(r->heap, 1, 0, &a), 0);
	assert_int_equal(frag_heap_list(r->heap, 0, 1, &b), 0);
	assert_int_equal(frag_heap_list(r->heap, 1, 0, &again), 0);
	assert_int_equal(a, again);
	assert_int_not_equal(a, b);
	assert_int_not_equal(a, r->list);
	assert_int_equal(frag_heap_grow(r->heap, a, 1024, &x), 0);
	assert_int_equal(frag_heap_grow(r->heap, b, 2048, &y), 0);
	rig_check(r);
	assert_int_equal(segment_of(r, x).pool, 1);
	assert_int_equal(segment_of(r, y).pool, 0);
	assert_int_equal(frag_heap_find(r->heap, a, 1), x);
	assert_int_equal(frag_heap_find(r->heap, b, 1), y);
	assert_int_equal(frag_heap_find(r->heap, r->list, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_largest(r->heap), 2048);
}

static void test_questions_misused(void **state)
{
	struct rig *r = *state;
	struct frag_block_view k;

	rig_grow(r, SEGMENT);
	assert_int_equal(frag_heap_find(r->heap, NO_SUCH, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find(r->heap, UINT32_MAX, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_largest(r->heap, NO_SUCH), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_from(r->heap, NO_SUCH, 1, 0, 0), FRAG_NO_BLOCK);
	k = frag_heap_look(r->heap, FRAG_NO_BLOCK);
	assert_int_equal(k.bytes, 0);
	assert_int_equal(k.segment, FRAG_NO_SEGMENT);
	assert_int_equal(k.prev, FRAG_NO_BLOCK);
	assert_int_equal(k.next, FRAG_NO_BLOCK);
	assert_int_not_equal(k.state, FRAG_ALLOCATED);
	assert_int_equal(frag_heap_look(r->heap, NO_SUCH).bytes, 0);
	assert_int_equal(frag_heap_look_segment(r->heap, FRAG_NO_SEGMENT).bytes, 0);
	assert_int_equal(frag_heap_look_segment(r->heap, NO_SUCH).first, FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_after(r->heap, NO_SUCH), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_before(r->heap, FRAG_NO_BLOCK), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_smaller(r->heap, NO_SUCH, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_idle(r->heap, 1), FRAG_NO_SEGMENT);
	assert_int_equal(frag_heap_look_list(r->heap, NO_SUCH).count, 0);
	frag_heap_set_list_user(r->heap, NO_SUCH, 1);
	frag_heap_set_list_user(r->heap, r->list, 5);
	assert_int_equal(frag_heap_look_list(r->heap, r->list).user, 5);
	frag_heap_set_segment_user(r->heap, NO_SUCH, 1);
	frag_heap_set_segment_user(r->heap, FRAG_NO_SEGMENT, 1);
	rig_check(r);
}

/* Free blocks of 1024, 512, 2048, 512 at rising addresses, with live ones between. */
static void lay_out(struct rig *r)
{
	static const uint64_t sizes[] = { 1024, 512, 2048, 512 };
	frag_block rest = rig_grow(r, 2 * SEGMENT), holes[4];

	for (uint32_t i = 0; i < LENGTH(sizes); i++) {
		holes[i] = rig_take(r, rest, 1, sizes[i]);
		rest = frag_heap_look(r->heap, holes[i]).next;
		rest = frag_heap_look(r->heap, rig_take(r, rest, 1, 512)).next;
	}
	rig_take(r, rest, 1, frag_heap_look(r->heap, rest).bytes);
	for (uint32_t i = 0; i < LENGTH(sizes); i++)
		rig_give(r, holes[i]);
}

static void expect_found(struct rig *r, frag_block b, uint64_t offset)
{
	assert_int_not_equal(b, FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_look(r->heap, b).offset, offset);
}

static void test_find_by_size(void **state)
{
	struct rig *r = *state;

	lay_out(r);     /* holes at 0, 1536, 2560 and 5120 */
	expect_found(r, frag_heap_find(r->heap, r->list, 1), 1536);
	expect_found(r, frag_heap_find(r->heap, r->list, 512), 1536);
	expect_found(r, frag_heap_find(r->heap, r->list, 513), 0);
	expect_found(r, frag_heap_find(r->heap, r->list, 1025), 2560);
	assert_int_equal(frag_heap_find(r->heap, r->list, 2049), FRAG_NO_BLOCK);
	expect_found(r, frag_heap_find_largest(r->heap, r->list), 2560);
	assert_int_equal(frag_heap_largest(r->heap), 2048);
	/* this list is not in order of address */
	assert_int_equal(frag_heap_find_from(r->heap, r->list, 1, 0, 0), FRAG_NO_BLOCK);
}

/* The list in its order, forwards and backwards; sizes 512, 512, 1024, 2048. */
static void test_neighbours_in_order(void **state)
{
	static const uint64_t offsets[] = { 1536, 5120, 0, 2560 };
	struct rig *r = *state;
	frag_block b;

	lay_out(r);
	b = frag_heap_find(r->heap, r->list, 1);
	assert_int_equal(frag_heap_before(r->heap, b), FRAG_NO_BLOCK);
	for (uint32_t i = 1; i < LENGTH(offsets); i++) {
		frag_block last = b;

		b = frag_heap_after(r->heap, b);
		expect_found(r, b, offsets[i]);
		assert_int_equal(frag_heap_before(r->heap, b), last);
	}
	assert_int_equal(frag_heap_after(r->heap, b), FRAG_NO_BLOCK);
	expect_found(r, frag_heap_find_smaller(r->heap, r->list, UINT64_MAX), 2560);
	expect_found(r, frag_heap_find_smaller(r->heap, r->list, 2048), 0);
	expect_found(r, frag_heap_find_smaller(r->heap, r->list, 1024), 5120);
	assert_int_equal(frag_heap_find_smaller(r->heap, r->list, 512), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_look_list(r->heap, r->list).count, 4);
	assert_int_equal(frag_heap_look_list(r->heap, r->list).largest, 2048);
}

static void test_find_by_address(void **state)
{
	struct rig r;

	(void)state;
	rig_begin(&r, 0, 512, FRAG_ORDER_ADDRESS);
	lay_out(&r);
	expect_found(&r, frag_heap_find(r.heap, r.list, 1), 0);
	expect_found(&r, frag_heap_find(r.heap, r.list, 1025), 2560);
	expect_found(&r, frag_heap_find_from(r.heap, r.list, 1, 0, 1), 1536);
	expect_found(&r, frag_heap_find_from(r.heap, r.list, 1, 0, 1536), 1536);
	expect_found(&r, frag_heap_find_from(r.heap, r.list, 513, 0, 1), 2560);
	assert_int_equal(frag_heap_find_from(r.heap, r.list, 513, 0, 2561), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_from(r.heap, r.list, 1, 1, 0), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find(r.heap, r.list, 2049), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_largest(r.heap), 2048);
	rig_end(&r);
}

static void test_limit(void **state)
{
	struct rig *r = *state;
	frag_block b;

	frag_heap_limit(r->heap, 0.025);
	b = rig_grow(r, 1024);
	assert_int_equal(frag_heap_grow(r->heap, r->list, 1, &b), -FRAG_EDEVMEM);
	frag_heap_limit(r->heap, 1);
	rig_grow(r, 1);
	assert_int_equal(frag_heap_capacity(r->heap), 10 * SEGMENT);
	assert_int_equal(frag_heap_granularity(r->heap), 512);
	assert_int_equal(frag_heap_round(r->heap, 513), 1024);
}

/* The highest figures are those since the step began. */
static void test_step_peaks(void **state)
{
	struct rig *r = *state;
	const struct frag_totals *totals = frag_heap_totals(r->heap);
	frag_block b = rig_grow(r, SEGMENT);

	assert_int_equal(frag_heap_release(r->heap, b), 0);
	rig_grow(r, 512);
	assert_int_equal(totals->step_peak_reserved, SEGMENT);
	assert_int_equal(totals->step_peak_used, SEGMENT);
	assert_int_equal(totals->step_peak_segments, 1);
	frag_heap_step(r->heap);
	assert_int_equal(totals->step_peak_reserved, 512);
	assert_int_equal(totals->step_peak_used, 512);
	frag_heap_count_retry(r->heap);
	assert_int_equal(totals->retries, 1);
}

struct count {
	uint32_t segments, blocks;
	uint64_t bytes;
};

static void count_one(void *ctx, const struct frag_segment_view *s,
		      const struct frag_block_view *b)
{
	struct count *c = ctx;

	c->segments += !b;
	c->blocks += b != NULL;
	c->bytes += b ? b->bytes : 0;
	assert_true(!b || b->offset + b->bytes <= s->bytes);
}

static void test_walk(void **state)
{
	struct rig *r = *state;
	struct count c = { .segments = 0 };

	assert_int_equal(frag_heap_release(r->heap, rig_grow(r, SEGMENT)), 0);
	lay_out(r);
	rig_grow(r, 512);
	frag_heap_walk(r->heap, &c, count_one);
	/* four holes, four live blocks between, the rest; and the second segment's */
	assert_int_equal(c.segments, 2);
	assert_int_equal(c.blocks, 4 + 4 + 1 + 1);
	assert_int_equal(c.bytes, 2 * SEGMENT + 512);
}

/* A device that fails to give back leaves the heap as it was; the next try may do. */
static void test_release_fails(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT);

	rig_grow(r, SEGMENT);
	faulty.code = -FRAG_EDEVICE;
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_release(r->heap, b), -FRAG_EDEVICE);
	rig_check(r);
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	faulty.fail_at = faulty.calls + 2;
	assert_int_equal(frag_heap_release_idle(r->heap), -FRAG_EDEVICE);
	rig_check(r);
	assert_int_equal(frag_heap_totals(r->heap)->segments, 1);
	faulty.fail_at = faulty.calls + 1;
	assert_int_equal(frag_heap_grow(r->heap, r->list, 512, &b), -FRAG_EDEVICE);
	rig_check(r);
}

static void test_del_of_nothing(void **state)
{
	(void)state;
	frag_heap_del(NULL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_grow),
		T(test_grow_misused),
		T(test_grow_refused),
		T(test_release),
		T(test_release_idle),
		T(test_keep),
		T(test_keep_all),
		T(test_lists),
		T(test_questions_misused),
		T(test_find_by_size),
		T(test_neighbours_in_order),
		T(test_limit),
		T(test_step_peaks),
		T(test_walk),
		T(test_release_fails),
		cmocka_unit_test(test_find_by_address),
		cmocka_unit_test(test_del_of_nothing),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
