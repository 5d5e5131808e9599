/* test_refusal.c - what a verb that was refused says: itself, the block, and the rule. */
#include <string.h>

#include "heap/refusal.h"
#include "support/rig.h"

#define SEGMENT 4096

/* The verb was refused, and just so. */
static void expect(const struct rig *r, int rc, const char *text)
{
	assert_int_equal(rc, -FRAG_EPOLICY);
	assert_string_equal(frag_refusal(r->heap), text);
}

static void test_no_block(void **state)
{
	struct rig *r = *state;
	frag_block none = FRAG_NO_BLOCK, upper;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 500, 512);

	assert_string_equal(frag_refusal(r->heap), "");
	upper = frag_heap_look(r->heap, b).next;
	expect(r, frag_heap_take(r->heap, &none, 1, 1), "frag_heap_take: FRAG_NO_BLOCK is no block");
	expect(r, frag_heap_give(r->heap, NO_SUCH, NULL),
	       "frag_heap_give: block 1000000: there never was such a block");
	rig_give(r, b);
	expect(r, frag_heap_detach_free(r->heap, upper),
	       "frag_heap_detach_free: block 1: it was merged into another one, or released");
	/* it is forgotten with its step */
	frag_heap_step(r->heap);
	assert_string_equal(frag_refusal(r->heap), "");
}

#define FREE "block 1 (segment 0, offset 512, 3584 bytes, free) "
#define TAKEN "block 0 (segment 0, offset 0, 512 bytes, allocated) "

static void test_states(void **state)
{
	struct rig *r = *state;
	struct frag_heap *h = r->heap;
	frag_block b = rig_take(r, rig_grow(r, SEGMENT), 500, 512);
	frag_block rest = frag_heap_look(h, b).next;

	expect(r, frag_heap_take(h, &b, 1, 1), "frag_heap_take: " TAKEN "is not free");
	expect(r, frag_heap_detach_free(h, b), "frag_heap_detach_free: " TAKEN "is not free");
	expect(r, frag_heap_insert(h, b), "frag_heap_insert: " TAKEN "is not detached");
	expect(r, frag_heap_assign(h, b, 1), "frag_heap_assign: " TAKEN "is not detached");
	expect(r, frag_heap_split(h, b, 1), "frag_heap_split: " TAKEN "is not detached");
	expect(r, frag_heap_merge(h, &b, rest), "frag_heap_merge: " TAKEN "is not detached");
	expect(r, frag_heap_ready(h, b), "frag_heap_ready: " TAKEN "is not pending");
	expect(r, frag_heap_release(h, b), "frag_heap_release: " TAKEN "is not all of its segment");
	expect(r, frag_heap_keep(h, b), "frag_heap_keep: " TAKEN "is not all of a segment, and free");
	expect(r, frag_heap_give(h, rest, NULL),
	       "frag_heap_give: " FREE "is neither allocated nor pending");
	expect(r, frag_heap_detach_live(h, rest),
	       "frag_heap_detach_live: " FREE "is neither allocated nor pending");
	expect(r, frag_heap_defer_free(h, rest, 0),
	       "frag_heap_defer_free: " FREE "is not allocated");
	expect(r, frag_heap_map(h, rest, 512, 512, &b), "frag_heap_map: " FREE "is not unmapped");
	assert_int_equal(frag_heap_defer_free(h, b, 0), 0);
	expect(r, frag_heap_defer_free(h, b, 0),
	       "frag_heap_defer_free: block 0 (segment 0, offset 0, 512 bytes,"
	       " pending) is not allocated");
	rig_give(r, b);
}

static void test_sizes(void **state)
{
	struct rig *r = *state;
	struct frag_heap *h = r->heap;
	frag_block b = rig_grow(r, SEGMENT), other = rig_grow(r, SEGMENT), out;

	expect(r, frag_heap_grow(h, 7, SEGMENT, &out), "frag_heap_grow: there is no list 7");
	expect(r, frag_heap_grow(h, r->list, 0, &out), "frag_heap_grow: 0 bytes are no segment");
#define WHOLE "block 0 (segment 0, offset 0, 4096 bytes, free) "
	expect(r, frag_heap_take(h, &b, 1, 4097),
	       "frag_heap_take: " WHOLE "is smaller than 4097 bytes");
	expect(r, frag_heap_take(h, &b, 9, 8),
	       "frag_heap_take: " WHOLE "cannot serve a request of 9 bytes with 8");
	expect(r, frag_heap_take(h, &b, 0, 0),
	       "frag_heap_take: " WHOLE "cannot serve a request of 0 bytes with 0");
	expect(r, frag_heap_unmap(h, b, 0, 512, &out), "frag_heap_unmap: " WHOLE
	       "has no whole pages that are 512 bytes at offset 0");
	assert_int_equal(frag_heap_detach_free(h, b), 0);
#define DETACHED "block 0 (segment 0, offset 0, 4096 bytes, detached) "
	expect(r, frag_heap_split(h, b, 4096),
	       "frag_heap_split: " DETACHED "cannot be split after 4096 bytes");
	expect(r, frag_heap_assign(h, b, 5000),
	       "frag_heap_assign: " DETACHED "is smaller than 5000 bytes");
	expect(r, frag_heap_merge(h, &b, other), "frag_heap_merge: block 1 (segment 1, offset 0,"
	       " 4096 bytes, free) is not adjacent to block 0");
	expect(r, frag_heap_release(h, b), "frag_heap_release: " DETACHED "is not free");
	assert_int_equal(frag_heap_insert(h, b), 0);
	assert_int_equal(frag_heap_keep(h, b), 0);
	expect(r, frag_heap_release(h, b),
	       "frag_heap_release: " WHOLE "is of a segment that is kept");
}

static void test_slabs(void **state)
{
	struct rig *r = *state;
	struct frag_heap *h = r->heap;
	frag_block b = rig_grow(r, SEGMENT);
	frag_list other;

	assert_int_equal(frag_heap_list(h, 5, 0, &other), 0);
	expect(r, frag_heap_carve(h, b, 5000, r->list, &b),
	       "frag_heap_carve: " WHOLE "has no slots of 5000 bytes");
	expect(r, frag_heap_carve(h, b, 1024, other, &b),
	       "frag_heap_carve: there is no list 1 of pool 0");
	expect(r, frag_heap_uncarve(h, 0, r->list),
	       "frag_heap_uncarve: segment handle 0 is no carved slab");
	assert_int_equal(frag_heap_carve(h, b, 1024, r->list, &b), 0);
	expect(r, frag_heap_carve(h, b, 512, r->list, &b),
	       "frag_heap_carve: " WHOLE "is no segment that is in one piece");
	expect(r, frag_heap_take(h, &b, 1, 512), "frag_heap_take: " WHOLE
	       "is made of slots of 1024 bytes: it cannot keep 512");
	expect(r, frag_heap_uncarve(h, 0, other),
	       "frag_heap_uncarve: there is no list 1 of pool 0");
	assert_int_equal(frag_heap_detach_free(h, b), 0);
	expect(r, frag_heap_split(h, b, 512), "frag_heap_split: " DETACHED
	       "is made of slots of 1024 bytes: it cannot be split after 512");
	expect(r, frag_heap_uncarve(h, 0, r->list),
	       "frag_heap_uncarve: " DETACHED "is not all of its slab, and free");
	assert_int_equal(frag_heap_insert(h, b), 0);
}

static void test_ranges(void **state)
{
	struct rig *r = *state;
	struct frag_heap *h = r->heap;
	frag_block b, mapped;

	expect(r, frag_heap_reserve(h, r->list, SEGMENT, 0, &b),
	       "frag_heap_reserve: a page of 0 bytes");
	expect(r, frag_heap_reserve(h, r->list, 1000, 512, &b),
	       "frag_heap_reserve: 1000 bytes are no segment of whole pages");
	assert_int_equal(frag_heap_reserve(h, r->list, SEGMENT, 512, &b), 0);
	expect(r, frag_heap_map(h, b, 100, 512, &mapped), "frag_heap_map: block 0 (segment 0, offset"
	       " 0, 4096 bytes, unmapped) has no whole pages that are 512 bytes at offset 100");
	assert_int_equal(frag_heap_map(h, b, 0, SEGMENT, &mapped), 0);
	expect(r, frag_heap_release(h, mapped), "frag_heap_release: block 0 (segment 0, offset 0,"
	       " 4096 bytes, free) has memory mapped");
	assert_int_equal(frag_heap_unmap(h, mapped, 0, SEGMENT, &b), 0);
	assert_int_equal(frag_heap_release(h, b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_block, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_states, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_sizes, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_slabs, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_ranges, rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
