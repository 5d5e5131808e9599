/*
 * test_index.c - free lists, small and spread over bins, against a plain table.
 *
 * The table holds every entry of every list; each question is answered by a walk
 * over all of it.
 */
#include <stdlib.h>

#include "fragsim/heap.h"
#include "heap/index.h"
#include "support/random.h"
#include "support/unit.h"

#define MAX 3000

struct row {
	struct frag_entry entry;
	uint32_t list;
};

struct fixture {
	struct frag_index index;
	struct row rows[MAX];
	uint32_t spare[MAX];    /* numbers of blocks that no row has, from spare[count] on */
	uint32_t count, lists;
	uint64_t random;
};

static bool lower(const struct frag_entry *a, const struct frag_entry *b)
{
	return a->tie != b->tie ? a->tie < b->tie : a->offset < b->offset;
}

/* Does a come before b in that order? */
static bool before(const struct frag_entry *a, const struct frag_entry *b, enum frag_order order)
{
	if (order != FRAG_ORDER_ADDRESS && a->size != b->size)
		return a->size < b->size;
	return lower(a, b);
}

/* By key, `size` is the key, and the test makes the size of the address. */
static uint64_t bytes_of(const struct fixture *f, const struct frag_entry *e)
{
	return f->index.order == FRAG_ORDER_KEY ? 1 + e->offset * 31 % 997 : e->size;
}

/* The first of the list, or the last, at or after `from` that holds bytes. */
static const struct frag_entry *naive(const struct fixture *f, uint32_t list, uint64_t bytes,
				      const struct frag_entry *from, bool last)
{
	const enum frag_order order = f->index.order;
	const struct frag_entry *best = NULL;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct frag_entry *e = &f->rows[i].entry;

		if (f->rows[i].list != list || bytes_of(f, e) < bytes
		    || (from && before(e, from, order)))
			continue;
		if (!best || (last ? before(best, e, order) : before(e, best, order)))
			best = e;
	}
	return best;
}

static const struct frag_entry *naive_find(const struct fixture *f, uint32_t list, uint64_t bytes,
					   const struct frag_entry *from)
{
	return naive(f, list, bytes, from, false);
}

/* list UINT32_MAX: over all lists. */
static uint64_t naive_largest(const struct fixture *f, uint32_t list)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < f->count; i++)
		if ((list == UINT32_MAX || f->rows[i].list == list)
		    && bytes_of(f, &f->rows[i].entry) > largest)
			largest = bytes_of(f, &f->rows[i].entry);
	return largest;
}

static struct fixture *begin(enum frag_order order, uint32_t lists, uint64_t seed)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_true(frag_index_init(&f->index, order));
	f->lists = lists;
	f->random = seed;
	for (uint32_t i = 0; i < MAX; i++)
		f->spare[i] = i;
	for (uint32_t i = 0; i < lists; i++)
		assert_int_equal(frag_index_list(&f->index, i / 3, i % 3), i);
	return f;
}

static void end(struct fixture *f)
{
	frag_index_fini(&f->index);
	free(f);
}

static bool taken(const struct fixture *f, const struct frag_entry *e)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (!lower(&f->rows[i].entry, e) && !lower(e, &f->rows[i].entry))
			return true;
	return false;
}

static void insert(struct fixture *f, uint32_t bits)
{
	struct row *row = &f->rows[f->count];

	*row = (struct row){
		.list = (uint32_t)random_below(&f->random, f->lists),
		.entry = {
			.size = random_size(&f->random, bits),
			.tie = (uint32_t)random_below(&f->random, 100),
			.offset = random_below(&f->random, 5000),
			.block = f->spare[f->count],
		},
	};
	if (f->count + 1 == MAX || taken(f, &row->entry))
		return;
	f->count++;
	assert_true(frag_index_reserve(&f->index));
	frag_index_insert(&f->index, row->list, &row->entry, bytes_of(f, &row->entry));
}

static void remove_any(struct fixture *f)
{
	uint32_t i;

	if (!f->count)
		return;
	i = (uint32_t)random_below(&f->random, f->count);
	frag_index_remove(&f->index, f->rows[i].list, &f->rows[i].entry,
			  bytes_of(f, &f->rows[i].entry));
	f->spare[--f->count] = f->rows[i].entry.block;
	f->rows[i] = f->rows[f->count];
}

static void expect_entry(const struct frag_entry *got, const struct frag_entry *want)
{
	assert_int_equal(!got, !want);
	if (!want)
		return;
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->tie, want->tie);
	assert_int_equal(got->offset, want->offset);
	assert_int_equal(got->block, want->block);
}

static void ask(struct fixture *f, uint32_t bits)
{
	uint32_t list = (uint32_t)random_below(&f->random, f->lists);
	uint64_t bytes = random_size(&f->random, bits);
	const struct frag_entry from = {
		.size = f->index.order == FRAG_ORDER_KEY ? random_size(&f->random, bits) : 0,
		.tie = (uint32_t)random_below(&f->random, 100),
		.offset = random_below(&f->random, 5000),
	};

	expect_entry(frag_index_find(&f->index, list, bytes), naive_find(f, list, bytes, NULL));
	assert_int_equal(f->index.lists[list].largest, naive_largest(f, list));
	assert_int_equal(frag_index_largest(&f->index), naive_largest(f, UINT32_MAX));
	expect_entry(frag_index_find_last(&f->index, list, bytes),
		     naive(f, list, bytes, NULL, true));
	expect_entry(frag_index_near(&f->index, list, &from, false),
		     naive(f, list, 0, &from, false));
	if (f->index.order != FRAG_ORDER_SIZE)
		expect_entry(frag_index_find_from(&f->index, list, bytes, &from),
			     naive_find(f, list, bytes, &from));
}

/* By size and by address: one becomes another of its list, with no third between the two. */
static void replace_any(struct fixture *f, uint32_t bits)
{
	struct row *row = &f->rows[random_below(&f->random, f->count + 1)];
	struct frag_entry now = row->entry;

	if (row == &f->rows[f->count] || f->index.order == FRAG_ORDER_KEY)
		return;
	now.size = random_below(&f->random, 3) ? 1 + now.size * 15 / 16
					       : random_size(&f->random, bits);
	assert_true(frag_index_reserve(&f->index));
	frag_index_replace(&f->index, row->list, &row->entry, &now);
	row->entry = now;
}

/*
 * Grows past the length at which a list gets bins, shrinks to nothing, and again.
 */
static void churn(enum frag_order order, uint32_t lists, uint32_t bits, uint32_t length,
		  uint64_t seed)
{
	struct fixture *f = begin(order, lists, seed);

	for (uint32_t i = 0; i < 4 * length; i++) {
		uint32_t grow = i / length % 2 ? 1 : 9;

		if (random_below(&f->random, 10) < grow)
			insert(f, bits);
		else
			remove_any(f);
		replace_any(f, bits);
		ask(f, bits);
	}
	while (f->count) {
		remove_any(f);
		ask(f, bits);
	}
	assert_int_equal(frag_index_largest(&f->index), 0);
	end(f);
}

static void test_random(void **state)
{
	static const struct {
		uint32_t lists, bits, length;
	} cases[] = {
		{ 1, 3, 600 }, { 1, 12, 600 }, { 1, 53, 600 }, { 1, 63, 600 }, { 4, 6, 600 },
		{ 20, 40, 600 }, { 200, 30, 600 }, { 1, 4, 2000 }, { 1, 30, 2000 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		churn(FRAG_ORDER_SIZE, cases[i].lists, cases[i].bits, cases[i].length,
		      i);
		churn(FRAG_ORDER_ADDRESS, cases[i].lists, cases[i].bits, cases[i].length,
		      50 + i);
		churn(FRAG_ORDER_KEY, cases[i].lists, cases[i].bits, cases[i].length,
		      100 + i);
	}
}

/*
 * Every power of two, its neighbours and its multiples by (parts + 1)/parts up to 63 bits: where
 * bins begin and end. Each size must find itself, and one byte more the next.
 */
static uint32_t border_sizes(uint64_t *sizes, uint32_t parts)
{
	uint32_t n = 0;

	for (uint64_t size = 1; size < 2 * parts; size++)
		sizes[n++] = size;
	for (uint32_t bit = 1 + (uint32_t)__builtin_ctz(parts); bit < 63; bit++) {
		uint64_t power = UINT64_C(1) << bit, part = power / parts;

		for (uint64_t k = 0; k < parts; k += parts / 8 + 1) {
			sizes[n++] = power + k * part;
			if (part > 2)
				sizes[n++] = power + k * part + part - 1;
		}
	}
	return n;
}

static void find_borders(uint32_t parts)
{
	uint64_t sizes[MAX];
	uint32_t n = border_sizes(sizes, parts);
	struct fixture *f = begin(FRAG_ORDER_SIZE, 1, 0);

	for (uint32_t i = 0; i < n; i++) {
		f->rows[i].entry = (struct frag_entry){ .size = sizes[i], .offset = i, .block = i };
		assert_true(frag_index_reserve(&f->index));
		frag_index_insert(&f->index, 0, &f->rows[i].entry, sizes[i]);
		f->count++;
	}
	for (uint32_t i = 0; i < n; i++) {
		expect_entry(frag_index_find(&f->index, 0, sizes[i]),
			     naive_find(f, 0, sizes[i], NULL));
		expect_entry(frag_index_find(&f->index, 0, sizes[i] + 1),
			     naive_find(f, 0, sizes[i] + 1, NULL));
	}
	end(f);
}

static void test_bin_borders(void **state)
{
	(void)state;
	find_borders(32);
	find_borders(256);
}

static void test_lists_have_keys(void **state)
{
	struct frag_index index;

	(void)state;
	assert_true(frag_index_init(&index, FRAG_ORDER_SIZE));
	assert_int_equal(frag_index_list(&index, 0, 0), 0);
	assert_int_equal(frag_index_list(&index, 0, 1), 1);
	assert_int_equal(frag_index_list(&index, 1, 0), 2);
	assert_int_equal(frag_index_list(&index, UINT32_MAX, UINT32_MAX), 3);
	assert_int_equal(frag_index_list(&index, 0, 1), 1);
	assert_int_equal(frag_index_list(&index, UINT32_MAX, UINT32_MAX), 3);
	assert_int_equal(index.lists[2].pool, 1);
	assert_int_equal(index.lists[2].which, 0);
	frag_index_fini(&index);
}

/* Lists that were reserved are made without memory. */
static void test_reserved_lists(void **state)
{
	(void)state;
	for (uint32_t before = 0; before < 70; before++) {
		struct frag_index index;
		const void *lists, *top;

		assert_true(frag_index_init(&index, FRAG_ORDER_SIZE));
		for (uint32_t i = 0; i < before; i++)
			assert_int_equal(frag_index_list(&index, 0, i), i);
		assert_true(frag_index_reserve_lists(&index, 9));
		lists = index.lists;
		top = index.top;
		for (uint32_t i = before; i < before + 9; i++)
			assert_int_equal(frag_index_list(&index, 0, i), i);
		assert_ptr_equal(index.lists, lists);
		assert_ptr_equal(index.top, top);
		frag_index_fini(&index);
	}
}

/* New lists come while old ones hold blocks: the tournament must carry these over. */
static void test_largest_over_many_lists(void **state)
{
	struct fixture *f = begin(FRAG_ORDER_SIZE, 0, 0);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct frag_entry e = {
			.size = 1 + (uint64_t)i * 7919 % 1000, .tie = i, .block = i,
		};

		assert_int_equal(frag_index_list(&f->index, i, 0), i);
		f->rows[i] = (struct row){ .entry = e, .list = i };
		f->count++;
		assert_true(frag_index_reserve(&f->index));
		frag_index_insert(&f->index, i, &e, e.size);
		assert_int_equal(frag_index_largest(&f->index), naive_largest(f, UINT32_MAX));
	}
	while (f->count) {
		f->count--;
		frag_index_remove(&f->index, f->rows[f->count].list, &f->rows[f->count].entry,
				  f->rows[f->count].entry.size);
		assert_int_equal(frag_index_largest(&f->index), naive_largest(f, UINT32_MAX));
	}
	end(f);
}

static void test_many_equal_sizes(void **state)
{
	struct frag_index index;

	(void)state;
	assert_true(frag_index_init(&index, FRAG_ORDER_SIZE));
	assert_int_equal(frag_index_list(&index, 0, 0), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		struct frag_entry e = { .size = 512, .offset = 512 * (uint64_t)(99999 - i),
					.block = i };

		assert_true(frag_index_reserve(&index));
		frag_index_insert(&index, 0, &e, e.size);
		assert_int_equal(frag_index_find(&index, 0, 1)->block, i);
		assert_null(frag_index_find(&index, 0, 513));
	}
	for (uint32_t i = 100000; i-- > 0;) {
		struct frag_entry e = *frag_index_find(&index, 0, 512);

		assert_int_equal(e.block, i);
		frag_index_remove(&index, 0, &e, e.size);
	}
	assert_null(frag_index_find(&index, 0, 0));
	frag_index_fini(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_have_keys),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_bin_borders),
		cmocka_unit_test(test_largest_over_many_lists),
		cmocka_unit_test(test_reserved_lists),
		cmocka_unit_test(test_many_equal_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
