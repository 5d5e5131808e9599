/* test_block_slab.c - slabs: carving, taking slots, uncarving, and misuse. */
#include "support/rig.h"

#define SLAB 4096
#define GRAIN 1000              /* four slots, 96 bytes of tail */

struct fixture {
	struct rig rig;
	frag_list slots;
};

static int begin(void **state)
{
	static struct fixture f;

	rig_begin(&f.rig, 0, 512, FRAG_ORDER_SIZE);
	assert_int_equal(frag_heap_list(f.rig.heap, 0, 1, &f.slots), 0);
	*state = &f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	rig_end(&f->rig);
	return 0;
}

static frag_block carve(struct fixture *f, uint64_t slot_size)
{
	frag_block b = rig_grow(&f->rig, SLAB);

	assert_int_equal(frag_heap_carve(f->rig.heap, b, slot_size, f->slots, &b), 0);
	rig_check(&f->rig);
	return b;
}

static void test_carve(void **state)
{
	struct fixture *f = *state;
	frag_block b = carve(f, GRAIN);
	const struct frag_totals *totals = frag_heap_totals(f->rig.heap);
	struct frag_segment_view s;

	s = frag_heap_look_segment(f->rig.heap, frag_heap_look(f->rig.heap, b).segment);
	assert_int_equal(s.slot_size, GRAIN);
	assert_int_equal(s.list, f->slots);
	assert_int_equal(s.mapped, SLAB);
	assert_int_equal(totals->reserved, SLAB);
	assert_int_equal(totals->free, 4 * GRAIN);
	assert_int_equal(totals->holes, 4);
	assert_int_equal(totals->splits, 0);
	/* a slot counts as a block, and the slab is found under its list only */
	assert_int_equal(frag_heap_largest(f->rig.heap), GRAIN);
	assert_int_equal(frag_heap_find(f->rig.heap, f->slots, GRAIN), b);
	assert_int_equal(frag_heap_find(f->rig.heap, f->slots, GRAIN + 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_find(f->rig.heap, f->rig.list, 1), FRAG_NO_BLOCK);
}

/* Slots are taken from below; a freed one below is the next to be found. */
static void test_slots(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b[4];

	carve(f, GRAIN);
	for (uint32_t i = 0; i < 4; i++) {
		b[i] = rig_take(r, frag_heap_find(r->heap, f->slots, GRAIN), 10 + i, GRAIN);
		rig_expect(r, b[i], i * GRAIN, GRAIN, FRAG_ALLOCATED);
	}
	assert_int_equal(frag_heap_find(r->heap, f->slots, GRAIN), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_totals(r->heap)->requested, 10 + 11 + 12 + 13);
	assert_int_equal(frag_heap_totals(r->heap)->holes, 0);
	rig_give(r, b[2]);
	rig_give(r, b[1]);
	assert_int_equal(frag_heap_totals(r->heap)->holes, 2);
	b[1] = rig_take(r, frag_heap_find(r->heap, f->slots, GRAIN), GRAIN, GRAIN);
	rig_expect(r, b[1], GRAIN, GRAIN, FRAG_ALLOCATED);
	assert_int_equal(frag_heap_totals(r->heap)->splits, 0);
	assert_int_equal(frag_heap_totals(r->heap)->merges, 0);
}

static void test_uncarve(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = rig_take(r, carve(f, GRAIN), 1, GRAIN);
	frag_segment s = frag_heap_look(r->heap, b).segment;

	rig_refuses(r, frag_heap_uncarve(r->heap, s, r->list));
	rig_give(r, b);
	assert_int_equal(frag_heap_totals(r->heap)->releasable, SLAB);
	assert_int_equal(frag_heap_uncarve(r->heap, s, r->list), 0);
	rig_check(r);
	b = frag_heap_find(r->heap, r->list, SLAB);
	rig_expect(r, b, 0, SLAB, FRAG_FREE);
	assert_int_equal(frag_heap_find(r->heap, f->slots, 1), FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_totals(r->heap)->free, SLAB);
	assert_int_equal(frag_heap_totals(r->heap)->holes, 1);
	rig_refuses(r, frag_heap_uncarve(r->heap, s, r->list));
}

/* A slot size that divides the slab leaves no tail; one as large as it, one slot. */
static void test_no_tail(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = carve(f, SLAB);

	rig_expect(r, rig_take(r, b, 1, SLAB), 0, SLAB, FRAG_ALLOCATED);
	b = carve(f, SLAB / 4);
	assert_int_equal(frag_heap_look(r->heap, b).next, FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_totals(r->heap)->free, SLAB);
}

static void test_carve_misused(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block part = rig_take(r, rig_grow(r, SLAB), 512, 512), b = rig_grow(r, SLAB), out;
	frag_list foreign;

	assert_int_equal(frag_heap_list(r->heap, 3, 0, &foreign), 0);
	rig_refuses(r, frag_heap_carve(r->heap, part, 512, f->slots, &out));
	part = frag_heap_look(r->heap, part).next;
	rig_refuses(r, frag_heap_carve(r->heap, part, 512, f->slots, &out));
	rig_refuses(r, frag_heap_carve(r->heap, b, 0, f->slots, &out));
	rig_refuses(r, frag_heap_carve(r->heap, b, SLAB + 1, f->slots, &out));
	rig_refuses(r, frag_heap_carve(r->heap, b, 512, foreign, &out));
	rig_refuses(r, frag_heap_carve(r->heap, b, 512, NO_SUCH, &out));
	rig_refuses(r, frag_heap_carve(r->heap, NO_SUCH, 512, f->slots, &out));
	rig_refuses(r, frag_heap_carve(r->heap, FRAG_NO_BLOCK, 512, f->slots, &out));
	rig_refuses(r, frag_heap_carve(r->heap, carve(f, 512), 1024, f->slots, &out));
}

static void test_uncarve_misused(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = carve(f, GRAIN), plain = rig_grow(r, SLAB);
	frag_segment s = frag_heap_look(r->heap, b).segment;
	frag_list foreign;

	assert_int_equal(frag_heap_list(r->heap, 3, 0, &foreign), 0);
	rig_refuses(r, frag_heap_uncarve(r->heap, s, foreign));
	rig_refuses(r, frag_heap_uncarve(r->heap, s, NO_SUCH));
	rig_refuses(r, frag_heap_uncarve(r->heap, NO_SUCH, r->list));
	rig_refuses(r, frag_heap_uncarve(r->heap, FRAG_NO_SEGMENT, r->list));
	rig_refuses(r, frag_heap_uncarve(r->heap, frag_heap_look(r->heap, plain).segment, r->list));
	/* a slot detached is neither free nor live */
	assert_int_equal(frag_heap_detach_free(r->heap, b), 0);
	assert_int_equal(frag_heap_uncarve(r->heap, s, r->list), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_split(r->heap, b, GRAIN), 0);
	assert_int_equal(frag_heap_insert(r->heap, b), 0);
	/* two runs that were not joined are no whole slab */
	rig_refuses(r, frag_heap_uncarve(r->heap, s, r->list));
}

/* A slot is all or nothing, whichever way a policy goes about it. */
static void test_slots_misused(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = carve(f, GRAIN), tail = frag_heap_look(r->heap, b).next, out;

	rig_refuses(r, frag_heap_take(r->heap, &b, 1, GRAIN - 1));
	rig_refuses(r, frag_heap_take(r->heap, &b, 1, 2 * GRAIN));
	rig_expect(r, tail, 4 * GRAIN, SLAB - 4 * GRAIN, FRAG_UNMAPPED);
	rig_refuses(r, frag_heap_detach_free(r->heap, tail));
	rig_refuses(r, frag_heap_give(r->heap, tail, NULL));
	rig_refuses(r, frag_heap_map(r->heap, tail, 4 * GRAIN, SLAB - 4 * GRAIN, &out));
	rig_refuses(r, frag_heap_unmap(r->heap, b, 0, GRAIN, &out));
	assert_int_equal(frag_heap_detach_free(r->heap, b), 0);
	assert_int_equal(frag_heap_split(r->heap, b, GRAIN / 2), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_split(r->heap, b, GRAIN), 0);
	assert_int_equal(frag_heap_assign(r->heap, b, 1), 0);
	rig_check(r);
	rig_give(r, b);
}

/* A slab without live slots is releasable as it is, carved or not. */
static void test_release_carved(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = carve(f, GRAIN);

	b = rig_take(r, b, 1, GRAIN);
	rig_refuses(r, frag_heap_release(r->heap, b));
	rig_refuses(r, frag_heap_release(r->heap, frag_heap_look(r->heap, b).next));
	b = rig_give(r, b);
	assert_int_equal(frag_heap_release(r->heap, b), 0);
	rig_check(r);
	assert_int_equal(frag_heap_totals(r->heap)->reserved, 0);
	carve(f, GRAIN);
	carve(f, SLAB / 2);
	assert_int_equal(frag_heap_release_idle(r->heap), 0);
	rig_check(r);
	assert_int_equal(frag_heap_totals(r->heap)->segments, 0);
	assert_int_equal(r->dev.used, 0);
}

/* The record of a released slab says nothing of slots any more. */
static void test_uncarve_after_release(void **state)
{
	struct fixture *f = *state;
	struct rig *r = &f->rig;
	frag_block b = carve(f, SLAB / 2);
	frag_segment s = frag_heap_look(r->heap, b).segment;

	assert_int_equal(frag_heap_release(r->heap, b), 0);
	rig_refuses(r, frag_heap_uncarve(r->heap, s, r->list));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(test_carve),
		T(test_slots),
		T(test_uncarve),
		T(test_no_tail),
		T(test_carve_misused),
		T(test_uncarve_misused),
		T(test_slots_misused),
		T(test_release_carved),
		T(test_uncarve_after_release),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
