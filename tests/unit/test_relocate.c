/* test_relocate.c - blocks under other handles, forks, what a device lacks, and moves that are noted. */
#include "heap/relocate.h"

#include "heap/fork.h"
#include "heap/heap_tables.h"
#include "support/random.h"
#include "support/rig.h"

#define SEGMENT 4096
#define BLOCK 512
#define PAGE UINT64_C(1024)

static int begin(void **state)
{
	static struct rig rig;

	rig_begin(&rig, UINT64_C(8) * SEGMENT, 512, FRAG_ORDER_SIZE);
	*state = &rig;
	return 0;
}

static int end(void **state)
{
	rig_end(*state);
	return 0;
}

static frag_block take(struct rig *r, frag_block b)
{
	assert_int_equal(frag_heap_take(r->heap, &b, BLOCK, BLOCK), 0);
	return b;
}

/* A segment in blocks of 512 bytes: which of them are allocated is told by bits. */
static void tile(struct rig *r, uint32_t live, frag_block blocks[8])
{
	frag_block rest = rig_grow(r, SEGMENT);

	for (uint32_t i = 0; i < 8; i++) {
		blocks[i] = take(r, rest);
		rest = frag_heap_look(r->heap, blocks[i]).next;
	}
	for (uint32_t i = 0; i < 8; i++)
		if (!(live >> i & 1))
			assert_int_equal(frag_heap_give(r->heap, blocks[i], NULL), 0);
}

struct seen {
	struct frag_block_view view[64];
	uint32_t count;
};

static void see(void *ctx, const struct frag_segment_view *s, const struct frag_block_view *b)
{
	struct seen *seen = ctx;

	(void)s;
	if (b)
		seen->view[seen->count++] = *b;
}

/* What there is, whatever it is called. */
static struct seen look(const struct rig *r)
{
	struct seen seen = { .count = 0 };

	frag_heap_walk(r->heap, &seen, see);
	return seen;
}

static void expect_same(const struct rig *r, const struct seen *was)
{
	const struct seen now = look(r);

	assert_int_equal(now.count, was->count);
	for (uint32_t i = 0; i < now.count; i++) {
		assert_int_equal(now.view[i].offset, was->view[i].offset);
		assert_int_equal(now.view[i].bytes, was->view[i].bytes);
		assert_int_equal(now.view[i].state, was->view[i].state);
		assert_int_equal(now.view[i].segment, was->view[i].segment);
	}
}

/* Beside each other and apart, with an allocated block, a free one, a pending one, an unused record. */
static void test_rename(void **state)
{
	struct rig *r = *state;
	frag_block lower[8], upper[8], unused;
	struct seen was;

	tile(r, 0xff, lower);
	tile(r, 0x6d, upper);           /* 1, 4 and 7 are free */
	assert_int_equal(frag_heap_defer_free(r->heap, lower[3], 77), 0);
	was = look(r);
	const struct { frag_block b, as; } pairs[] = {
		{ lower[0], lower[1] }, { lower[0], upper[5] }, { lower[7], lower[3] },
		{ upper[0], upper[1] }, { upper[5], upper[4] }, { lower[0], upper[7] },
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct frag_block_view b = frag_heap_look(r->heap, pairs[i].b);
		const struct frag_block_view as = frag_heap_look(r->heap, pairs[i].as);

		assert_int_equal(frag_heap_rename(r->heap, pairs[i].b, pairs[i].as), 0);
		rig_expect(r, pairs[i].as, b.offset, b.bytes, FRAG_ALLOCATED);
		rig_expect(r, pairs[i].b, as.offset, as.bytes, as.state);
		rig_check(r);
		expect_same(r, &was);
		/* and back */
		assert_int_equal(frag_heap_rename(r->heap, pairs[i].as, pairs[i].b), 0);
		rig_check(r);
		expect_same(r, &was);
	}
	assert_true(frag_heap_is_pending(r->heap, lower[3], 77));
	/* a merge leaves a record that is nobody's */
	assert_int_equal(frag_heap_give(r->heap, upper[0], NULL), 0);
	was = look(r);
	unused = frag_heap_look(r->heap, upper[0]).bytes ? upper[1] : upper[0];
	assert_int_equal(frag_heap_look(r->heap, unused).bytes, 0);
	assert_int_equal(frag_heap_rename(r->heap, upper[2], unused), 0);
	rig_check(r);
	expect_same(r, &was);
	rig_expect(r, unused, 2 * BLOCK, BLOCK, FRAG_ALLOCATED);
	/* the record is used again, under the handle that it has now */
	assert_int_equal(frag_heap_look(r->heap, upper[2]).bytes, 0);
	take(r, frag_heap_find(r->heap, r->list, 2 * BLOCK));
	assert_int_equal(frag_heap_look(r->heap, upper[2]).bytes, BLOCK);
	rig_check(r);
}

static void test_rename_refused(void **state)
{
	struct rig *r = *state;
	frag_block blocks[8];

	tile(r, 0x01, blocks);
	assert_int_equal(frag_heap_rename(r->heap, blocks[1], blocks[0]), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_rename(r->heap, 1000, blocks[0]), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_rename(r->heap, blocks[0], 1000), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_rename(r->heap, blocks[0], blocks[0]), 0);
	assert_int_equal(frag_heap_detach_free(r->heap, blocks[1]), 0);
	assert_int_equal(frag_heap_rename(r->heap, blocks[0], blocks[1]), -FRAG_EPOLICY);
	assert_int_equal(frag_heap_insert(r->heap, blocks[1]), 0);
	rig_check(r);
}

/* The unmapped end of a range is in the list of gaps, by its handle. */
static void test_rename_gap(void **state)
{
	struct rig *r = *state;
	frag_block range, b, gap;

	assert_int_equal(frag_heap_reserve(r->heap, r->list, 4 * PAGE, PAGE, &range), 0);
	assert_int_equal(frag_heap_map(r->heap, range, 0, PAGE, &b), 0);
	b = take(r, b);
	gap = frag_heap_find_unmapped(r->heap, r->list, FRAG_NO_BLOCK);
	assert_int_equal(frag_heap_rename(r->heap, b, gap), 0);
	rig_expect(r, gap, 0, BLOCK, FRAG_ALLOCATED);
	assert_int_equal(frag_heap_find_unmapped(r->heap, r->list, FRAG_NO_BLOCK), b);
	rig_check(r);
	assert_int_equal(frag_heap_map(r->heap, b, PAGE, PAGE, &b), 0);
	rig_check(r);
}

/* A copy of a heap is one of its device: that of the rig keeps a table, and cannot be copied. */
static void test_fork(void **state)
{
	struct rig plain, *r = &plain;
	struct frag_fork fork;
	frag_block blocks[8], b;
	struct seen was;

	assert_false(frag_heap_can_fork(((struct rig *)*state)->heap));
	assert_int_equal(frag_device_open(&r->dev, &frag_device_simulated, UINT64_C(8) * SEGMENT, 0,
					  0, 512, NULL), 0);
	r->heap = frag_heap_new(&r->dev, FRAG_ORDER_SIZE);
	assert_non_null(r->heap);
	assert_int_equal(frag_heap_list(r->heap, 0, 0, &r->list), 0);
	tile(r, 0x0f, blocks);
	was = look(r);
	assert_true(frag_heap_can_fork(r->heap));
	assert_int_equal(frag_heap_fork(&fork, r->heap), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(frag_heap_give(fork.heap, blocks[i], NULL), 0);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(frag_heap_grow(fork.heap, r->list, SEGMENT, &b), 0);
	assert_int_equal(frag_heap_grow(fork.heap, r->list, SEGMENT, &b), -FRAG_EDEVMEM);
	frag_heap_del(fork.heap);
	expect_same(r, &was);
	rig_check(r);
	assert_int_equal(r->dev.used, SEGMENT);
	assert_int_equal(r->dev.end_capacity, UINT64_MAX);
	frag_heap_del(r->heap);
	assert_int_equal(r->dev.used, 0);
	frag_device_close(&r->dev);
}

/* 8 segments: 7 are there, and 2 are asked for at once. So one is missing. */
static void test_lack(void **state)
{
	struct rig *r = *state;
	struct frag_shortfall lack;
	frag_block b;

	for (uint32_t i = 0; i < 7; i++)
		rig_grow(r, SEGMENT);
	assert_int_equal(frag_heap_grow(r->heap, r->list, 2 * SEGMENT, &b), -FRAG_EDEVMEM);
	assert_true(r->dev.end_capacity > r->dev.min_capacity + 1);
	lack = frag_heap_shortfall(r->heap, UINT64_MAX);
	assert_int_equal(lack.left, SEGMENT);
	assert_int_equal(lack.missing, SEGMENT);
	/* it stands for no other total */
	assert_int_equal(r->dev.min_capacity, UINT64_C(8) * SEGMENT);
	assert_int_equal(r->dev.end_capacity, UINT64_C(8) * SEGMENT + 1);
	/* a limit of the policy's own leaves less, and what it tried counts */
	frag_heap_note_tried(r->heap, 3 * SEGMENT);
	lack = frag_heap_shortfall(r->heap, UINT64_C(7) * SEGMENT + 512);
	assert_int_equal(lack.left, 512);
	assert_int_equal(lack.missing, 3 * SEGMENT - 512);
	/* and so does half of the total, which is full */
	frag_heap_limit(r->heap, 0.5);
	assert_int_equal(frag_heap_shortfall(r->heap, UINT64_MAX).left, 0);
}

static void test_note(void **state)
{
	struct rig *r = *state;
	const frag_block some[] = { 3, 1, 2 };
	struct frag_moves moves;

	assert_int_equal(frag_heap_note_move(r->heap, some, 3, 1000), 0);
	assert_int_equal(r->heap->moved_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(r->heap->moved[i], some[i]);
	frag_heap_step(r->heap);
	assert_int_equal(r->heap->moved_count, 0);
	assert_int_equal(frag_heap_note_move(r->heap, some, 1, 24), 0);
	moves = frag_heap_moves(r->heap);
	assert_int_equal(moves.moves, 2);
	assert_int_equal(moves.blocks, 4);
	assert_int_equal(moves.bytes, 1024);
}

/* Blocks come and go, and change their handles: the heap stays sound, each where it was. */
static void test_random(void **state)
{
	struct rig *r = *state;
	struct { frag_block b; uint64_t offset; frag_segment segment; } live[24];
	uint64_t random = 5;
	uint32_t count = 0;

	for (uint32_t i = 0; i < 3; i++)
		rig_grow(r, SEGMENT);
	for (uint32_t i = 0; i < 3000; i++) {
		const uint64_t draw = random_below(&random, 3);
		const uint32_t at = count ? (uint32_t)random_below(&random, count) : 0;

		if (draw == 0 && count < 20) {
			live[count].b = take(r, frag_heap_find(r->heap, r->list, BLOCK));
			live[count].offset = frag_heap_look(r->heap, live[count].b).offset;
			live[count].segment = frag_heap_look(r->heap, live[count].b).segment;
			count++;
		} else if (draw == 1 && count) {
			assert_int_equal(frag_heap_give(r->heap, live[at].b, NULL), 0);
			live[at] = live[--count];
		} else if (count) {
			/* up to 24 records there have been: some of them are unused */
			const frag_block as = (frag_block)random_below(&random, 6 + count);
			const frag_block b = live[at].b;

			if (frag_heap_rename(r->heap, b, as))
				continue;
			for (uint32_t k = 0; k < count; k++)
				live[k].b = live[k].b == b ? as : live[k].b == as ? b : live[k].b;
		}
		rig_check(r);
		for (uint32_t k = 0; k < count; k++) {
			const struct frag_block_view v = frag_heap_look(r->heap, live[k].b);

			assert_int_equal(v.state, FRAG_ALLOCATED);
			assert_int_equal(v.offset, live[k].offset);
			assert_int_equal(v.segment, live[k].segment);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rename, begin, end),
		cmocka_unit_test_setup_teardown(test_rename_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_rename_gap, begin, end),
		cmocka_unit_test_setup_teardown(test_fork, begin, end),
		cmocka_unit_test_setup_teardown(test_lack, begin, end),
		cmocka_unit_test_setup_teardown(test_note, begin, end),
		cmocka_unit_test_setup_teardown(test_random, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
