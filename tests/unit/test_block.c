/* test_block.c - the verbs on blocks, and every way to misuse them. */
#include "support/rig.h"

#define SEGMENT 4096

static int begin(void **state)
{
	static struct rig rig;

	rig_begin(&rig, 0, 512, FRAG_ORDER_SIZE);
	*state = &rig;
	return 0;
}

static int end(void **state)
{
	rig_end(*state);
	return 0;
}

static const struct frag_totals *totals(const struct rig *r)
{
	return frag_heap_totals(r->heap);
}

static void test_take_splits(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 1000, 1024);
	struct frag_block_view k = frag_heap_look(r->heap, b);

	rig_expect(r, b, 0, 1024, FRAG_ALLOCATED);
	rig_expect(r, k.next, 1024, SEGMENT - 1024, FRAG_FREE);
	assert_int_equal(k.requested, 1000);
	assert_int_equal(k.prev, FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_look(r->heap, k.next).prev, b);
	assert_int_equal(frag_heap_look(r->heap, k.next).next, FRAG_NO_BLOCK);
	assert_int_equal(totals(r)->splits, 1);
	assert_int_equal(totals(r)->requested, 1000);
	assert_int_equal(totals(r)->allocated, 1024);
	assert_int_equal(totals(r)->active, 1024);
	assert_int_equal(totals(r)->free, SEGMENT - 1024);
	assert_int_equal(totals(r)->releasable, 0);
	assert_int_equal(totals(r)->blocks, 1);
	assert_int_equal(frag_heap_largest(r->heap), SEGMENT - 1024);
}

static void test_take_whole(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 1, SEGMENT);

	rig_expect(r, b, 0, SEGMENT, FRAG_ALLOCATED);
	assert_int_equal(totals(r)->splits, 0);
	assert_int_equal(totals(r)->free, 0);
	assert_int_equal(frag_heap_largest(r->heap), 0);
	assert_int_equal(frag_heap_find(r->heap, r->list, 1), FRAG_NO_BLOCK);
}

static void test_take_misused(void **state)
{
	static const struct {
		uint64_t requested, keep;
	} cases[] = {
		{ 1, SEGMENT + 1 },     /* more than there is */
		{ 513, 512 },           /* less than was requested */
		{ 0, 0 },
		{ UINT64_MAX, UINT64_MAX },
	};
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT);
	frag_block none = FRAG_NO_BLOCK, far = NO_SUCH;

	for (uint32_t i = 0; i < LENGTH(cases); i++)
		rig_refuses(r, frag_heap_take(r->heap, &b, cases[i].requested, cases[i].keep));
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	rig_refuses(r, frag_heap_take(r->heap, &none, 1, 512));
	rig_refuses(r, frag_heap_take(r->heap, &far, 1, 512));
	b = rig_take(r, b, 1, 512);
	rig_refuses(r, frag_heap_take(r->heap, &b, 1, 512));
	assert_int_equal(totals(r)->blocks, 1);
}

/* Four blocks of 1024; which of the second's neighbours are free when it is given. */
static void test_give_merges(void **state)
{
	static const struct {
		bool prev, next;
		uint64_t offset, bytes, merges;
	} cases[] = {
		{ false, false, 1024, 1024, 0 },
		{ true, false, 0, 2048, 1 },
		{ false, true, 1024, 2048, 1 },
		{ true, true, 0, 3072, 2 },
	};
	struct rig *r = *state;

	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		frag_block b[4], rest = rig_grow(r, SEGMENT), out;
		uint64_t before;

		for (uint32_t k = 0; k < 4; k++) {
			b[k] = rig_take(r, rest, 1024, 1024);
			rest = frag_heap_look(r->heap, b[k]).next;
		}
		if (cases[i].prev)
			rig_give(r, b[0]);
		if (cases[i].next)
			rig_give(r, b[2]);
		before = totals(r)->merges;
		out = rig_give(r, b[1]);
		rig_expect(r, out, cases[i].offset, cases[i].bytes, FRAG_FREE);
		assert_int_equal(totals(r)->merges - before, cases[i].merges);
		/* nothing of this segment may serve the next case */
		rig_take(r, out, 1, cases[i].bytes);
	}
}

static void test_give_misused(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 512, 512);
	frag_block rest = frag_heap_look(r->heap, b).next;

	rig_refuses(r, frag_heap_give(r->heap, rest, NULL));
	rig_refuses(r, frag_heap_give(r->heap, FRAG_NO_BLOCK, NULL));
	rig_refuses(r, frag_heap_give(r->heap, NO_SUCH, NULL));
	b = rig_give(r, b);
	rig_refuses(r, frag_heap_give(r->heap, b, NULL));
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
}

static void test_defer_free(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 500, 512);

	assert_int_equal(frag_heap_defer_free(r->heap, b, 0), 0);
	rig_check(r);
	rig_expect(r, b, 0, 512, FRAG_PENDING);
	assert_int_equal(frag_heap_look(r->heap, b).requested, 500);
	assert_int_equal(totals(r)->requested, 0);
	assert_int_equal(totals(r)->allocated, 0);
	assert_int_equal(totals(r)->active, 512);
	assert_int_equal(totals(r)->blocks, 0);
	assert_int_equal(totals(r)->releasable, 0);
	rig_refuses(r, frag_heap_defer_free(r->heap, b, 0));
	b = rig_give(r, b);
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	assert_int_equal(totals(r)->active, 0);
	assert_int_equal(totals(r)->releasable, SEGMENT);
	rig_refuses(r, frag_heap_defer_free(r->heap, b, 0));
	rig_refuses(r, frag_heap_defer_free(r->heap, FRAG_NO_BLOCK, 0));
}

/* Who holds what, and who is ready; the last one of a table takes a hole. */
static void test_pending(void **state)
{
	struct rig *r = *state;
	frag_block b[5], rest = rig_grow(r, SEGMENT);

	assert_int_equal(frag_heap_find_pending(r->heap), FRAG_NO_BLOCK);
	for (uint32_t i = 0; i < 5; i++) {
		b[i] = rig_take(r, rest, 512, 512);
		rest = frag_heap_look(r->heap, b[i]).next;
		assert_false(frag_heap_is_pending(r->heap, b[i], 10 + i));
		assert_int_equal(frag_heap_defer_free(r->heap, b[i], 10 + i), 0);
		rig_check(r);
		assert_true(frag_heap_is_pending(r->heap, b[i], 10 + i));
		assert_false(frag_heap_is_pending(r->heap, b[i], 9 + i));
	}
	assert_int_not_equal(frag_heap_find_pending(r->heap), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find_ready(r->heap), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_ready(r->heap, b[3]), 0);
	assert_int_equal(frag_heap_ready(r->heap, b[3]), 0);
	rig_check(r);
	assert_int_equal(frag_heap_find_ready(r->heap), b[3]);
	assert_int_equal(frag_heap_find_pending(r->heap), b[3]);
	assert_int_equal(frag_heap_ready(r->heap, b[1]), 0);
	rig_give(r, b[3]);
	assert_int_equal(frag_heap_find_ready(r->heap), b[1]);
	rig_give(r, b[0]);
	assert_int_equal(frag_heap_find_ready(r->heap), b[1]);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(frag_heap_is_pending(r->heap, b[i], 10 + i), i != 3);
	rig_give(r, b[1]);
	assert_int_equal(frag_heap_find_ready(r->heap), FRAG_NO_BLOCK);
	rig_give(r, b[4]);
	assert_int_equal(frag_heap_find_pending(r->heap), b[2]);
	rig_give(r, b[2]);
	assert_int_equal(frag_heap_find_pending(r->heap), FRAG_NO_BLOCK);
	rig_refuses(r, frag_heap_ready(r->heap, b[2]));
	rig_refuses(r, frag_heap_ready(r->heap, NO_SUCH));
	assert_false(frag_heap_is_pending(r->heap, NO_SUCH, 10));
	assert_false(frag_heap_is_pending(r->heap, b[2], 12));
}

/* take in its single steps, and then give in its own. */
static void test_steps(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT), upper;

	assert_int_equal(frag_heap_detach_free(r->heap, b), 0);
	assert_int_equal(totals(r)->free, 0);
	assert_int_equal(frag_heap_find(r->heap, r->list, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_split(r->heap, b, 1024), 0);
	rig_expect(r, b, 0, 1024, FRAG_DETACHED);
	upper = frag_heap_look(r->heap, b).next;
	rig_expect(r, upper, 1024, SEGMENT - 1024, FRAG_FREE);
	assert_int_equal(frag_heap_find(r->heap, r->list, 1), upper);
	assert_int_equal(frag_heap_assign(r->heap, b, 1024), 0);
	rig_check(r);
	assert_int_equal(frag_heap_detach_live(r->heap, b), 0);
	rig_expect(r, b, 0, 1024, FRAG_DETACHED);
	assert_int_equal(totals(r)->active, 0);
	assert_int_equal(frag_heap_merge(r->heap, &b, upper), 0);
	rig_expect(r, b, 0, SEGMENT, FRAG_DETACHED);
	assert_int_equal(frag_heap_insert(r->heap, b), 0);
	rig_check(r);
	rig_expect(r, b, 0, SEGMENT, FRAG_FREE);
	assert_int_equal(totals(r)->splits, 1);
	assert_int_equal(totals(r)->merges, 1);
}

/* The block detached is the upper one: its handle afterwards is the neighbour's place. */
static void test_merge_below(void **state)
{
	struct rig *r = *state;
	frag_block low = rig_take(r, rig_grow(r, SEGMENT), 512, 512);
	frag_block b = rig_take(r, frag_heap_look(r->heap, low).next, 512, 512);

	rig_give(r, low);
	assert_int_equal(frag_heap_detach_live(r->heap, b), 0);
	low = frag_heap_look(r->heap, b).prev;
	assert_int_equal(frag_heap_merge(r->heap, &b, low), 0);
	rig_expect(r, b, 0, 1024, FRAG_DETACHED);
	assert_int_equal(frag_heap_insert(r->heap, b), 0);
	rig_check(r);
	assert_int_equal(totals(r)->free, SEGMENT);
}

/* Without absorb, neighbours stay apart: buddies need that. */
static void test_insert_does_not_merge(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT);

	assert_int_equal(frag_heap_detach_free(r->heap, b), 0);
	assert_int_equal(frag_heap_split(r->heap, b, 2048), 0);
	assert_int_equal(frag_heap_insert(r->heap, b), 0);
	rig_check(r);
	rig_expect(r, b, 0, 2048, FRAG_FREE);
	assert_int_equal(frag_heap_largest(r->heap), 2048);
	assert_int_equal(totals(r)->merges, 0);
}

static void test_steps_misused(void **state)
{
	struct rig *r = *state;
	frag_block a = rig_take(r, rig_grow(r, SEGMENT), 512, 512);
	frag_block free = frag_heap_look(r->heap, a).next, other = rig_grow(r, SEGMENT);
	frag_block far = NO_SUCH;

	rig_refuses(r, frag_heap_detach_free(r->heap, a));
	rig_refuses(r, frag_heap_detach_free(r->heap, NO_SUCH));
	rig_refuses(r, frag_heap_detach_live(r->heap, free));
	rig_refuses(r, frag_heap_detach_live(r->heap, NO_SUCH));
	rig_refuses(r, frag_heap_split(r->heap, free, 512));
	rig_refuses(r, frag_heap_split(r->heap, NO_SUCH, 512));
	rig_refuses(r, frag_heap_insert(r->heap, free));
	rig_refuses(r, frag_heap_insert(r->heap, a));
	rig_refuses(r, frag_heap_insert(r->heap, NO_SUCH));
	rig_refuses(r, frag_heap_assign(r->heap, free, 1));
	rig_refuses(r, frag_heap_assign(r->heap, NO_SUCH, 1));
	rig_refuses(r, frag_heap_merge(r->heap, &a, free));
	rig_refuses(r, frag_heap_merge(r->heap, &far, free));

	assert_int_equal(frag_heap_detach_live(r->heap, a), 0);
	assert_int_equal(frag_heap_split(r->heap, a, 0), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_split(r->heap, a, 512), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_assign(r->heap, a, 513), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_merge(r->heap, &a, a), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_merge(r->heap, &a, other), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_merge(r->heap, &a, NO_SUCH), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_merge(r->heap, &a, FRAG_NO_BLOCK), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_insert(r->heap, a), 0);
	rig_check(r);
}

/* A handle that a merge has ended is refused by every verb, whatever it was before. */
static void test_dead_handles(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 512, 512), out;
	frag_block dead = rig_take(r, frag_heap_look(r->heap, b).next, 512, 512), same = dead;

	rig_give(r, b);
	out = rig_give(r, dead);
	rig_expect(r, out, 0, SEGMENT, FRAG_FREE);
	assert_int_not_equal(out, dead);
	rig_refuses(r, frag_heap_detach_free(r->heap, dead));
	rig_refuses(r, frag_heap_detach_live(r->heap, dead));
	rig_refuses(r, frag_heap_split(r->heap, dead, 1));
	rig_refuses(r, frag_heap_insert(r->heap, dead));
	rig_refuses(r, frag_heap_assign(r->heap, dead, 0));
	rig_refuses(r, frag_heap_defer_free(r->heap, dead, 0));
	rig_refuses(r, frag_heap_give(r->heap, dead, NULL));
	rig_refuses(r, frag_heap_take(r->heap, &same, 1, 512));
	rig_refuses(r, frag_heap_merge(r->heap, &same, out));
	rig_refuses(r, frag_heap_release(r->heap, dead));
	rig_refuses(r, frag_heap_keep(r->heap, dead));
	rig_refuses(r, frag_heap_carve(r->heap, dead, 512, r->list, &same));
	rig_refuses(r, frag_heap_map(r->heap, dead, 0, 512, &same));
	rig_refuses(r, frag_heap_unmap(r->heap, dead, 0, 512, &same));
}

/* An upper neighbour that was free when it was absorbed leaves no free ghost. */
static void test_dead_free_neighbour(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 512, 512);
	frag_block dead = frag_heap_look(r->heap, b).next;

	rig_give(r, b);
	rig_refuses(r, frag_heap_detach_free(r->heap, dead));
	rig_refuses(r, frag_heap_take(r->heap, &dead, 1, 512));
	rig_refuses(r, frag_heap_release(r->heap, dead));
}

/* A policy's bits stay with the block, and a split copies them. */
static void test_user_bits(void **state)
{
	struct rig *r = *state;
	frag_block b = rig_grow(r, SEGMENT);

	frag_heap_set_user(r->heap, b, 7);
	b = rig_take(r, b, 512, 512);
	assert_int_equal(frag_heap_look(r->heap, b).user, 7);
	assert_int_equal(frag_heap_look(r->heap, frag_heap_look(r->heap, b).next).user, 7);
	frag_heap_set_user(r->heap, b, 9);
	assert_int_equal(frag_heap_look(r->heap, frag_heap_look(r->heap, b).next).user, 7);
	frag_heap_set_user(r->heap, NO_SUCH, 1);
	frag_heap_set_user(r->heap, FRAG_NO_BLOCK, 1);
	rig_check(r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_take_splits),
		T(test_take_whole),
		T(test_take_misused),
		T(test_give_merges),
		T(test_give_misused),
		T(test_defer_free),
		T(test_pending),
		T(test_steps),
		T(test_merge_below),
		T(test_insert_does_not_merge),
		T(test_steps_misused),
		T(test_dead_handles),
		T(test_dead_free_neighbour),
		T(test_user_bits),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
