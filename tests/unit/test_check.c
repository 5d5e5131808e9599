/*
 * test_check.c - the checker of the heap, tested by breaking each clause by hand.
 *
 * Each case breaks one thing in a sound heap that has something of everything,
 * and expects the checker to name it.
 */
#include <string.h>

#include "heap/heap_tables.h"
#include "support/unit.h"

#define SEGMENT UINT64_C(4096)
#define PAGE UINT64_C(1024)

struct scene {
	struct frag_device dev;
	struct frag_heap *h;
	frag_list list, slots, foreign;
	/* of segment 0, which is all in use but its end */
	frag_block live, pending, free;
	frag_block idle;        /* all of segment 1 */
	frag_block kept;        /* all of segment 2 */
	frag_block slot, run;   /* of the slab, segment 3; the tail is behind them */
	frag_block page, hole;  /* of the range, segment 4: a mapped page, and no memory */
};

static frag_block grow(struct scene *s, uint64_t bytes)
{
	frag_block b = FRAG_NO_BLOCK;

	assert_int_equal(frag_heap_grow(s->h, s->list, bytes, &b), 0);
	return b;
}

static frag_block take(struct scene *s, frag_block b, uint64_t bytes)
{
	assert_int_equal(frag_heap_take(s->h, &b, bytes - 1, bytes), 0);
	return b;
}

static frag_block next(const struct scene *s, frag_block b)
{
	return frag_heap_look(s->h, b).next;
}

static void begin(struct scene *s)
{
	assert_int_equal(frag_device_open(&s->dev, &frag_device_simulated, 0, 0, 0, 1, NULL), 0);
	s->h = frag_heap_new(&s->dev, FRAG_ORDER_SIZE);
	assert_non_null(s->h);
	assert_int_equal(frag_heap_list(s->h, 0, 0, &s->list), 0);
	assert_int_equal(frag_heap_list(s->h, 0, 1, &s->slots), 0);
	assert_int_equal(frag_heap_list(s->h, 1, 0, &s->foreign), 0);
	s->live = take(s, grow(s, SEGMENT), 1024);
	s->pending = take(s, next(s, s->live), 1024);
	s->free = next(s, take(s, next(s, s->pending), 1024));
	assert_int_equal(frag_heap_defer_free(s->h, s->pending, 0), 0);
	s->idle = grow(s, 2 * SEGMENT);
	s->kept = grow(s, SEGMENT / 2);
	assert_int_equal(frag_heap_keep(s->h, s->kept), 0);
	assert_int_equal(frag_heap_carve(s->h, grow(s, SEGMENT), 1000, s->slots, &s->slot), 0);
	s->slot = take(s, s->slot, 1000);
	s->run = next(s, s->slot);
	assert_int_equal(frag_heap_reserve(s->h, s->list, 8 * PAGE, PAGE, &s->hole), 0);
	assert_int_equal(frag_heap_map(s->h, s->hole, 0, PAGE, &s->page), 0);
	s->hole = next(s, s->page);
}

static void end(struct scene *s)
{
	frag_heap_del(s->h);
	frag_device_close(&s->dev);
}

static struct frag_heap_block *block(struct scene *s, frag_block b)
{
	return &s->h->blocks[b];
}

static struct frag_heap_segment *segment(struct scene *s, frag_block b)
{
	return &s->h->segments[s->h->blocks[b].segment];
}

static struct frag_entry entry(struct scene *s, frag_block b)
{
	return (struct frag_entry){
		.size = block(s, b)->bytes, .offset = block(s, b)->offset,
		.tie = segment(s, b)->tie, .block = b,
	};
}

/* Blocks that do not tile their segment. */
static void gap(struct scene *s) { block(s, s->pending)->offset++; }
static void nothing_left(struct scene *s) { block(s, s->live)->bytes = 0; }
static void bad_prev(struct scene *s) { block(s, s->pending)->prev = s->free; }
static void of_another(struct scene *s) { block(s, s->live)->segment = block(s, s->idle)->segment; }
static void short_segment(struct scene *s) { segment(s, s->live)->bytes++; }
static void cut_short(struct scene *s) { block(s, s->live)->next = FRAG_NO_ENTRY; }
static void live_count(struct scene *s) { segment(s, s->live)->live++; }
static void mapped(struct scene *s) { segment(s, s->page)->mapped += PAGE; }

/* Blocks in a state that cannot be. */
static void requested_too_much(struct scene *s) { block(s, s->live)->requested = 1025; }
static void detached(struct scene *s) { block(s, s->live)->state = FRAG_DETACHED; }
static void no_range(struct scene *s) { block(s, s->live)->state = FRAG_UNMAPPED; }
static void tail_inside(struct scene *s) { block(s, s->slot)->state = FRAG_UNMAPPED; }

static void half_page(struct scene *s)
{
	block(s, s->page)->bytes += PAGE / 2;
	block(s, s->page)->state = FRAG_ALLOCATED;
	block(s, s->hole)->offset += PAGE / 2;
	block(s, s->hole)->bytes -= PAGE / 2;
}

static void half_slot(struct scene *s)
{
	block(s, s->slot)->bytes -= 500;
	block(s, s->run)->offset -= 500;
	block(s, s->run)->bytes += 500;
}

/* Free lists. */
static void unlisted(struct scene *s)
{
	struct frag_entry e = entry(s, s->idle);

	frag_index_remove(&s->h->index, s->list, &e, e.size);
}

static void higher_listed(struct scene *s)
{
	struct frag_entry e = entry(s, s->idle);

	frag_index_remove(&s->h->index, s->list, &e, e.size);
	e.offset += 1;
	e.tie -= 1;
	frag_index_insert(&s->h->index, s->list, &e, e.size);
	segment(s, s->idle)->tie -= 1;
	block(s, s->idle)->tie -= 1;
}

static void out_of_place(struct scene *s)
{
	block(s, s->idle)->tie += 1;
}

static void listed_twice(struct scene *s)
{
	struct frag_entry e = entry(s, s->free);

	e.size--;
	e.block = s->live;      /* which has no place in any list */
	frag_index_insert(&s->h->index, s->list, &e, e.size);
}

static void listed_larger(struct scene *s)
{
	struct frag_entry e = entry(s, s->idle);

	frag_index_remove(&s->h->index, s->list, &e, e.size);
	e.size++;
	frag_index_insert(&s->h->index, s->list, &e, e.size);
}

static void pool(struct scene *s) { segment(s, s->live)->pool = 1; }
static void foreign_list(struct scene *s) { segment(s, s->live)->list = s->foreign; }
static void no_list(struct scene *s) { segment(s, s->live)->list = UINT32_MAX; }

/* Gaps, and who holds what is pending. */
static void gap_unknown(struct scene *s) { frag_gap_remove(s->h, s->hole); }

static void gap_twice(struct scene *s)
{
	struct frag_entry e = entry(s, s->hole);

	e.offset++;
	frag_index_insert(&s->h->gaps, s->list, &e, e.size);
}

static void not_pending(struct scene *s) { block(s, s->pending)->pending_at = 1; }
static void pending_wrong(struct scene *s) { s->h->pending[0].block = s->live; }
static void pending_many(struct scene *s) { s->h->pending_count++; }

/* Idle segments. */
static void kept(struct scene *s) { segment(s, s->idle)->kept = true; }
static void not_kept(struct scene *s) { segment(s, s->kept)->kept = false; }
static void forgotten(struct scene *s) { segment(s, s->idle)->idle_at = FRAG_NO_ENTRY; }
static void idle_wrong(struct scene *s) { s->h->idle[segment(s, s->idle)->idle_at] = 0; }
static void idle_many(struct scene *s) { s->h->idle[s->h->idle_count++] = 0; }

/* Tables. */
static void ready_many(struct scene *s) { s->h->ready_count = 2; }
static void no_idle_place(struct scene *s) { s->h->idle_capacity = 4; }
static void gaps_many(struct scene *s) { s->h->index.count = 0; }
static void gaps_of_another(struct scene *s) { s->h->gaps.lists[0].which = 1; }

/* Books. */
static void requested(struct scene *s) { s->h->totals.requested++; }
static void allocated(struct scene *s) { s->h->totals.allocated--; }
static void active(struct scene *s) { s->h->totals.active++; }
static void reserved(struct scene *s) { s->h->totals.reserved--; }
static void free_bytes(struct scene *s) { s->h->totals.free++; }
static void releasable(struct scene *s) { s->h->totals.releasable--; }
static void segments(struct scene *s) { s->h->totals.segments++; }
static void holes(struct scene *s) { s->h->totals.holes++; }
static void blocks(struct scene *s) { s->h->totals.blocks--; }

static const struct {
	void (*spoil)(struct scene *s);
	const char *message;
} cases[] = {
	{ gap, "segment 0, offset 1025, 1024 bytes: blocks do not tile the segment" },
	{ nothing_left, "blocks do not tile the segment" },
	{ bad_prev, "blocks do not tile the segment" },
	{ of_another, "blocks do not tile the segment" },
	{ short_segment, "segment 0: its blocks do not add up" },
	{ cut_short, "segment 0: its blocks do not add up" },
	{ live_count, "segment 0: its blocks do not add up" },
	{ mapped, "segment 4: its blocks do not add up" },
	{ requested_too_much, "requested more than the block has" },
	{ detached, "left detached" },
	{ no_range, "unmapped in a segment that is no range" },
	{ tail_inside, "a slab's tail where no tail can be" },
	{ half_page, "unmapped in parts of pages" },
	{ half_slot, "no whole number of slots" },
	{ unlisted, "a free block that its list does not find" },
	{ higher_listed, "a lower free block that its list does not find" },
	{ out_of_place, "a free block that is not where its segment is among all" },
	{ listed_twice, "length of a free list is 5 in the totals and 4 by count" },
	{ listed_larger, "largest_free is 8193 in the totals and 8192 by count" },
	{ gap_unknown, "an unmapped block that the gaps do not know" },
	{ gap_twice, "number of gaps is 2 in the totals and 1 by count" },
	{ not_pending, "pending, but not in the table of pending blocks" },
	{ pending_wrong, "pending, but not in the table of pending blocks" },
	{ pending_many, "number of pending blocks is 2 in the totals and 1 by count" },
	{ pool, "segment 0: its free list is of another pool" },
	{ foreign_list, "segment 0: its free list is of another pool" },
	{ no_list, "segment 0: its free list is of another pool" },
	{ kept, "segment 1: it is idle and not listed so, or the reverse" },
	{ not_kept, "segment 2: it is idle and not listed so, or the reverse" },
	{ forgotten, "segment 1: it is idle and not listed so, or the reverse" },
	{ idle_wrong, "segment 1: it is idle and not listed so, or the reverse" },
	{ idle_many, "number of idle segments is 2 in the totals and 1 by count" },
	{ ready_many, "2 pending blocks are ready, of 1" },
	{ no_idle_place, "5 segments could be idle, and 4 have a place" },
	{ gaps_many, "1 lists have gaps, of 0" },
	{ gaps_of_another, "list 0 has the gaps of another" },
	/* two live blocks of 1024 and a slot of 1000, each asked for one less */
	{ requested, "requested is 3046 in the totals and 3045 by count" },
	{ allocated, "allocated is 3047 in the totals and 3048 by count" },
	{ active, "active is 4073 in the totals and 4072 by count" },
	/* 4096 + 8192 + 2048 + 4096, and a page of the range */
	{ reserved, "reserved is 19455 in the totals and 19456 by count" },
	/* 1024 + 8192 + 2048 + 3000 + 1024 */
	{ free_bytes, "free is 15289 in the totals and 15288 by count" },
	/* the same five, of which the fourth is three slots */
	{ holes, "number of free blocks is 8 in the totals and 7 by count" },
	{ releasable, "releasable is 9215 in the totals and 9216 by count" },
	{ segments, "segments is 6 in the totals and 5 by count" },
	{ blocks, "blocks is 2 in the totals and 3 by count" },
};

static void test_sound(void **state)
{
	struct frag_error err = { .code = 0 };
	struct scene s;

	(void)state;
	begin(&s);
	assert_int_equal(frag_heap_check(s.h, &err), 0);
	assert_int_equal(err.code, 0);
	end(&s);
}

static void test_each_clause(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_error err = { .code = 0 };
		struct scene s;

		begin(&s);
		cases[i].spoil(&s);
		if (frag_heap_check(s.h, &err) != -FRAG_ECHECK
		    || !strstr(err.message, cases[i].message))
			fail_msg("expected \"%s\", got \"%s\"", cases[i].message, err.message);
		end(&s);
	}
}

/* By address, the list must find the very block. */
static void test_by_address(void **state)
{
	struct frag_error err = { .code = 0 };
	struct frag_device dev;
	struct frag_heap *h;
	struct frag_entry e;
	frag_list list;
	frag_block b;

	(void)state;
	assert_int_equal(frag_device_open(&dev, &frag_device_simulated, 0, 0, 0, 1, NULL), 0);
	h = frag_heap_new(&dev, FRAG_ORDER_ADDRESS);
	assert_int_equal(frag_heap_list(h, 0, 0, &list), 0);
	assert_int_equal(frag_heap_grow(h, list, 512, &b), 0);
	assert_int_equal(frag_heap_check(h, &err), 0);
	e = (struct frag_entry){ .size = 512, .block = b };
	frag_index_remove(&h->index, list, &e, e.size);
	e.offset = 1;
	frag_index_insert(&h->index, list, &e, e.size);
	assert_int_equal(frag_heap_check(h, &err), -FRAG_ECHECK);
	assert_non_null(strstr(err.message, "its list does not find"));
	frag_heap_del(h);
	frag_device_close(&dev);
}

static uint32_t by_sixteens(const void *state, const uint64_t *param,
			    const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)param;
	(void)s;
	return (uint32_t)(b->bytes / 16);
}

static uint64_t from_above(const void *state, const uint64_t *param,
			   const struct frag_segment_view *s, const struct frag_block_view *b)
{
	(void)state;
	(void)param;
	(void)s;
	return 1000 - b->offset;
}

/* A segment of 40 bytes: 8 free, 8 taken, 8 free, 8 taken, 8 free; and where the policy sorts. */
static struct frag_heap *sorted_heap(struct frag_device *dev, enum frag_order order,
				     frag_block at[5])
{
	const struct frag_sorter by = { .which = by_sixteens, .key = from_above };
	struct frag_heap *h = frag_heap_new(dev, order);
	frag_list list;

	assert_non_null(h);
	frag_heap_sort_by(h, &by);
	assert_int_equal(frag_heap_list(h, 0, 0, &list), 0);
	assert_int_equal(frag_heap_list(h, 1, 0, &list), 0);
	list = 0;
	assert_int_equal(frag_heap_grow(h, list, 40, &at[0]), 0);
	for (uint32_t i = 0; i < 4; i++) {
		at[i + 1] = at[i];
		assert_int_equal(frag_heap_take(h, &at[i + 1], 8, 8), 0);
		at[i] = at[i + 1];
		at[i + 1] = frag_heap_look(h, at[i]).next;
	}
	assert_int_equal(frag_heap_give(h, at[0], NULL), 0);
	assert_int_equal(frag_heap_give(h, at[2], NULL), 0);
	assert_int_equal(frag_heap_check(h, NULL), 0);
	return h;
}

/* What the heap keeps of a free block where the policy sorts, spoilt one by one. */
static void test_sorted(void **state)
{
	static const enum frag_order orders[] = {
		FRAG_ORDER_SIZE, FRAG_ORDER_ADDRESS, FRAG_ORDER_KEY,
	};
	static const struct {
		uint32_t list;
		uint64_t key;   /* more than it is */
		const char *message;
	} wrong[] = {
		{ 1, 0, "a free block in a list of another pool" },
		{ 99, 0, "a free block in a list of another pool" },
		/* those of 16 bytes and more, of which there are none now */
		{ 2, 0, "a free block that its list does not find" },
		{ 0, 1, "a free block that its list does not find" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(orders) * LENGTH(wrong); i++) {
		const uint32_t case_at = i % LENGTH(wrong);
		struct frag_error err = { .code = 0 };
		struct frag_device dev;
		struct frag_heap *h;
		frag_block at[5];

		assert_int_equal(frag_device_open(&dev, &frag_device_simulated, 0, 0, 0, 1, NULL), 0);
		h = sorted_heap(&dev, orders[i / LENGTH(wrong)], at);
		h->blocks[at[2]].list = wrong[case_at].list;
		h->blocks[at[2]].key += wrong[case_at].key;
		/* only an order by key has keys to be wrong */
		if (wrong[case_at].key && h->index.order != FRAG_ORDER_KEY) {
			assert_int_equal(frag_heap_check(h, &err), 0);
		} else {
			assert_int_equal(frag_heap_check(h, &err), -FRAG_ECHECK);
			if (!strstr(err.message, wrong[case_at].message))
				fail_msg("expected \"%s\", got \"%s\"", wrong[case_at].message,
					 err.message);
		}
		frag_heap_del(h);
		frag_device_close(&dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_each_clause),
		cmocka_unit_test(test_by_address),
		cmocka_unit_test(test_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
