/* test_block_window.c - the least to be freed for a request, against all runs of all segments. */
#include "explain/block_window.h"

#include <stdlib.h>

#include "support/faulty_device.h"
#include "support/random.h"
#include "support/rig.h"

#define KIB UINT64_C(1024)
#define SEGMENTS 6
#define BLOCKS 12               /* of a segment, each of 1 KiB to 4 KiB */

/* A segment of these blocks, in KiB; a negative one is live. */
static void lay(struct rig *r, const int *blocks, uint32_t count)
{
	frag_block rest, taken[BLOCKS];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += (uint64_t)abs(blocks[i]) * KIB;
	rest = rig_grow(r, bytes);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t n = (uint64_t)abs(blocks[i]) * KIB;

		taken[i] = rest;
		rest = rig_take(r, rest, n, n);
		rest = frag_heap_look(r->heap, taken[i]).next;
	}
	for (uint32_t i = 0; i < count; i++)
		if (blocks[i] > 0)
			rig_give(r, taken[i]);
}
#define LAY(r, ...) lay(r, (const int[]){ __VA_ARGS__ },                      \
			LENGTH(((const int[]){ __VA_ARGS__ })))

static void expect(const struct rig *r, uint64_t kib, uint64_t tried, uint64_t left,
		   const struct frag_block_window *want)
{
	const struct frag_failed_request wish = {
		.bytes = kib * KIB, .demand = tried * KIB, .left = left * KIB,
		.list = FRAG_NO_LIST,
	};
	struct frag_block_window got;

	assert_int_equal(frag_window_find(r->heap, &wish, &got), want != NULL);
	if (!want)
		return;
	assert_int_equal(got.ordinal, want->ordinal);
	assert_int_equal(got.whole, want->whole);
	assert_int_equal(got.offset, want->offset * KIB);
	assert_int_equal(got.bytes, want->bytes * KIB);
	assert_int_equal(got.live, want->live * KIB);
}
#define WINDOW(...) &(const struct frag_block_window){ __VA_ARGS__ }

static void test_by_hand(void **state)
{
	struct rig *r = *state;

	expect(r, 1, 8, 0, NULL);       /* there is nothing */
	LAY(r, 2, -1, 2, -3);           /* 0 */
	LAY(r, -3, 3, -2);              /* 1 */
	LAY(r, -9);                     /* 2 */
	/* five in a row: round the block of one; six: with that of two, or of three twice */
	expect(r, 5, 20, 0, WINDOW(.ordinal = 0, .bytes = 5, .live = 1));
	expect(r, 4, 20, 0, WINDOW(.ordinal = 0, .bytes = 5, .live = 1));
	expect(r, 6, 20, 0, WINDOW(.ordinal = 1, .bytes = 6, .live = 3));
	expect(r, 9, 20, 0, WINDOW(.ordinal = 2, .bytes = 9, .live = 9));
	expect(r, 10, 20, 0, NULL);
	/* a hole of three is there, so nothing has to be freed: nor for the device's sake */
	expect(r, 3, 20, 0, NULL);
	expect(r, 6, 20, 20, NULL);
	/* the device lacks 8: segments of 8 and 9 would do, one of them with 4 live bytes */
	expect(r, 7, 20, 12, WINDOW(.ordinal = 0, .bytes = 8, .live = 4));
	expect(r, 8, 20, 12, WINDOW(.ordinal = 0, .bytes = 8, .live = 4));
	expect(r, 10, 20, 12, WINDOW(.ordinal = 0, .bytes = 8, .live = 4, .whole = true));
	expect(r, 10, 20, 11, WINDOW(.ordinal = 2, .bytes = 9, .live = 9, .whole = true));
	expect(r, 10, 20, 10, NULL);
}

/* What a block of another pool, or a slab's slots, hold is no use. */
static void test_pools_and_slabs(void **state)
{
	struct rig *r = *state;
	const struct frag_failed_request other = { .bytes = 4 * KIB, .pool = 1, .list = FRAG_NO_LIST,
		.demand = 20 * KIB };
	struct frag_block_window got;
	frag_block slab, slot;
	frag_list slots;

	LAY(r, 2, -1, 2);
	assert_false(frag_window_find(r->heap, &other, &got));
	assert_int_equal(frag_heap_list(r->heap, 0, 7, &slots), 0);
	slab = rig_grow(r, 8 * KIB);
	assert_int_equal(frag_heap_carve(r->heap, slab, KIB, slots, &slot), 0);
	rig_take(r, slot, 1, KIB);
	expect(r, 5, 20, 0, WINDOW(.ordinal = 0, .bytes = 5, .live = 1));
	expect(r, 6, 20, 0, NULL);
	/* but a slab can be given back; not so what the policy keeps, of fewer live bytes */
	expect(r, 6, 20, 12, WINDOW(.ordinal = 1, .bytes = 8, .live = 1, .whole = true));
	slab = rig_grow(r, 30 * KIB);
	assert_int_equal(frag_heap_keep(r->heap, slab), 0);
	rig_take(r, slab, 512, 512);
	expect(r, 31, 60, 30, NULL);
}

struct block {
	uint64_t offset, bytes, live;
	uint32_t segment;       /* ordinal */
};

struct list {
	struct block blocks[SEGMENTS * BLOCKS];
	uint32_t count;
};

static void list_block(void *ctx, const struct frag_segment_view *s,
		       const struct frag_block_view *b)
{
	struct list *l = ctx;

	if (b)
		l->blocks[l->count++] = (struct block){
			.offset = b->offset, .bytes = b->bytes, .segment = s->ordinal,
			.live = b->state == FRAG_FREE ? 0 : b->bytes,
		};
}

/* The fewest live bytes of all runs that come to so much; UINT64_MAX: there are none. */
static uint64_t min(const struct list *l, uint64_t need)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < l->count; i++) {
		uint64_t bytes = 0, live = 0;

		for (uint32_t k = i; k < l->count && l->blocks[k].segment == l->blocks[i].segment;
		     k++) {
			bytes += l->blocks[k].bytes;
			live += l->blocks[k].live;
			if (bytes >= need && live < best)
				best = live;
		}
	}
	return best;
}

/* What is answered lies there, has so many live bytes, and nothing has fewer. */
static void check(const struct rig *r, const struct list *l, uint64_t need)
{
	const struct frag_failed_request wish = { .bytes = need, .demand = UINT64_MAX / 2,
		.list = FRAG_NO_LIST };
	const uint64_t want = min(l, need);
	uint64_t bytes = 0, live = 0;
	struct frag_block_window got;

	assert_int_equal(frag_window_find(r->heap, &wish, &got), want && want != UINT64_MAX);
	if (!want || want == UINT64_MAX)
		return;
	assert_int_equal(got.live, want);
	assert_true(got.bytes >= need && !got.whole);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct block *b = &l->blocks[i];

		if (b->segment != got.ordinal || b->offset < got.offset
		    || b->offset + b->bytes > got.offset + got.bytes)
			continue;
		bytes += b->bytes;
		live += b->live;
	}
	assert_int_equal(bytes, got.bytes);
	assert_int_equal(live, got.live);
}

static void test_random(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (uint32_t round = 0; round < 100; round++) {
		struct list l = { .count = 0 };
		struct rig r;

		rig_begin(&r, 0, 1, FRAG_ORDER_SIZE);
		for (uint32_t s = 0; s < SEGMENTS; s++) {
			int blocks[BLOCKS];

			for (uint32_t i = 0; i < BLOCKS; i++) {
				blocks[i] = 1 + (int)(random_below(&random, 4));
				blocks[i] *= random_below(&random, 2) ? 1 : -1;
			}
			lay(&r, blocks, BLOCKS);
		}
		frag_heap_walk(r.heap, &l, list_block);
		for (uint64_t need = 1; need < 52; need++)
			check(&r, &l, need * KIB);
		rig_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_hand, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_pools_and_slabs, rig_setup, rig_teardown),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
