/*
 * test_tree.c - the ordered set of free blocks, against a sorted array.
 *
 * The array is kept in order by insertion, and every question is answered in it
 * by looking at all entries.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/tree.h"
#include "support/random.h"
#include "support/unit.h"

#define MAX 4000

struct model {
	struct frag_entry entries[MAX];
	uint32_t count;
	enum frag_order order;
};

struct fixture {
	struct frag_nodes nodes;
	frag_root root;
	struct model model;
	uint64_t random;
};

static int compare(const struct frag_entry *a, const struct frag_entry *b, enum frag_order order)
{
	if (order != FRAG_ORDER_ADDRESS && a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool same(const struct frag_entry *a, const struct frag_entry *b)
{
	return a->size == b->size && a->offset == b->offset && a->tie == b->tie
	       && a->block == b->block;
}

static uint32_t model_place(const struct model *m, const struct frag_entry *key)
{
	uint32_t i = 0;

	while (i < m->count && compare(&m->entries[i], key, m->order) < 0)
		i++;
	return i;
}

static void model_insert(struct model *m, const struct frag_entry *e)
{
	uint32_t at = model_place(m, e);

	memmove(&m->entries[at + 1], &m->entries[at], (m->count - at) * sizeof(*e));
	m->entries[at] = *e;
	m->count++;
}

static void model_remove(struct model *m, uint32_t at)
{
	m->count--;
	memmove(&m->entries[at], &m->entries[at + 1], (m->count - at) * sizeof(m->entries[0]));
}

static bool model_has_address(const struct model *m, const struct frag_entry *e)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (compare(&m->entries[i], e, FRAG_ORDER_ADDRESS) == 0)
			return true;
	return false;
}

/* By key, `size` is the key, and the test makes the size of the block's number. */
static uint64_t bytes_of(const struct model *m, const struct frag_entry *e)
{
	return m->order == FRAG_ORDER_KEY ? 1 + e->block % 1000 * 77 : e->size;
}

static uint64_t model_largest(const struct model *m)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < m->count; i++)
		if (bytes_of(m, &m->entries[i]) > largest)
			largest = bytes_of(m, &m->entries[i]);
	return largest;
}

static const struct frag_entry *model_fit(const struct model *m, const struct frag_entry *from,
					  uint64_t bytes)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (bytes_of(m, &m->entries[i]) >= bytes
		    && compare(&m->entries[i], from, m->order) >= 0)
			return &m->entries[i];
	return NULL;
}

static const struct frag_entry *model_fit_last(const struct model *m, uint64_t bytes)
{
	for (uint32_t i = m->count; i > 0; i--)
		if (bytes_of(m, &m->entries[i - 1]) >= bytes)
			return &m->entries[i - 1];
	return NULL;
}

static struct fixture *begin(enum frag_order order, uint64_t seed)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_true(frag_nodes_init(&f->nodes));
	f->model.order = order;
	f->random = seed;
	return f;
}

static void end(struct fixture *f)
{
	frag_nodes_fini(&f->nodes);
	free(f);
}

/* few: how many different sizes there are; addresses come from a small range. */
static struct frag_entry random_entry(struct fixture *f, uint64_t few)
{
	return (struct frag_entry){
		.size = 1 + random_below(&f->random, few) * 512,
		.tie = (uint32_t)random_below(&f->random, 40),
		.offset = random_below(&f->random, 1000),
		.block = (uint32_t)random_u64(&f->random),
	};
}

static void insert(struct fixture *f, uint64_t few)
{
	struct frag_entry e = random_entry(f, few);

	if (f->model.count == MAX || model_has_address(&f->model, &e))
		return;
	assert_true(frag_nodes_reserve(&f->nodes));
	frag_tree_insert(&f->nodes, &f->root, f->model.order, &e, bytes_of(&f->model, &e));
	model_insert(&f->model, &e);
}

static void remove_at(struct fixture *f, uint32_t at)
{
	struct frag_entry e = f->model.entries[at];

	frag_tree_remove(&f->nodes, &f->root, f->model.order, &e);
	model_remove(&f->model, at);
}

static void remove_any(struct fixture *f)
{
	if (f->model.count)
		remove_at(f, (uint32_t)random_below(&f->random, f->model.count));
}

static void expect_entry(const struct frag_entry *got, const struct frag_entry *want)
{
	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_true(same(got, want));
}

static const struct frag_entry *near(const struct fixture *f, const struct frag_entry *key,
				     bool before)
{
	return frag_tree_near(&f->nodes, f->root, f->model.order, key, before);
}

/* The one before all and the one after all lead to the first entry and to the last. */
static const struct frag_entry lowest, highest = {
	.size = UINT64_MAX, .offset = UINT64_MAX, .tie = UINT32_MAX,
};

static void ask(struct fixture *f, uint64_t few)
{
	struct model *m = &f->model;
	struct frag_entry key = random_entry(f, few);
	uint32_t at = model_place(m, &key);
	uint64_t bytes;

	expect_entry(near(f, &key, false), at < m->count ? &m->entries[at] : NULL);
	expect_entry(near(f, &lowest, false), m->count ? &m->entries[0] : NULL);
	expect_entry(near(f, &highest, true), m->count ? &m->entries[m->count - 1] : NULL);
	expect_entry(near(f, &key, true), at ? &m->entries[at - 1] : NULL);
	if (m->order == FRAG_ORDER_SIZE)
		return;
	bytes = bytes_of(m, &key);
	assert_int_equal(frag_tree_largest(&f->nodes, f->root, m->order), model_largest(m));
	expect_entry(frag_tree_fit(&f->nodes, f->root, m->order, &key, bytes),
		     model_fit(m, &key, bytes));
	expect_entry(frag_tree_fit_last(&f->nodes, f->root, m->order, bytes),
		     model_fit_last(m, bytes));
}

/* All entries in order, each found by asking for what comes after the one before. */
static void expect_all(struct fixture *f)
{
	const struct model *m = &f->model;

	for (uint32_t i = 0; i < m->count; i++) {
		struct frag_entry key = m->entries[i];

		expect_entry(near(f, &key, false), &m->entries[i]);
		key.offset++;
		expect_entry(near(f, &key, false),
			     i + 1 < m->count ? &m->entries[i + 1] : NULL);
	}
}

/* Phases in which insertions win, then removals, so that the tree grows and shrinks. */
static void churn(enum frag_order order, uint64_t few, uint64_t seed)
{
	struct fixture *f = begin(order, seed);

	for (uint32_t phase = 0; phase < 6; phase++) {
		for (uint32_t i = 0; i < 1500; i++) {
			if (random_below(&f->random, 10) < (phase % 2 ? 2 : 8))
				insert(f, few);
			else
				remove_any(f);
			ask(f, few);
		}
		expect_all(f);
	}
	while (f->model.count) {
		remove_any(f);
		ask(f, few);
	}
	assert_int_equal(f->root, 0);
	end(f);
}

static void test_random(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 7, 300, 100000 };

	(void)state;
	for (uint32_t i = 0; i < LENGTH(sizes); i++) {
		churn(FRAG_ORDER_SIZE, sizes[i], i);
		churn(FRAG_ORDER_ADDRESS, sizes[i], 100 + i);
		churn(FRAG_ORDER_KEY, sizes[i], 200 + i);
	}
}

/* Removal from one side empties leaf after leaf, and at last the root. */
static void drain_from(enum frag_order order, bool low)
{
	struct fixture *f = begin(order, 7 + low);

	for (uint32_t i = 0; i < 3000; i++)
		insert(f, 50);
	while (f->model.count) {
		remove_at(f, low ? 0 : f->model.count - 1);
		if (f->model.count % 64 == 0)
			expect_all(f);
		ask(f, 50);
	}
	assert_int_equal(f->root, 0);
	end(f);
}

static void test_drains(void **state)
{
	(void)state;
	drain_from(FRAG_ORDER_SIZE, true);
	drain_from(FRAG_ORDER_SIZE, false);
	drain_from(FRAG_ORDER_ADDRESS, true);
	drain_from(FRAG_ORDER_ADDRESS, false);
	drain_from(FRAG_ORDER_KEY, true);
	drain_from(FRAG_ORDER_KEY, false);
}

static void test_empty(void **state)
{
	struct fixture *f = begin(FRAG_ORDER_ADDRESS, 1);
	const struct frag_entry key = { .size = 0 };

	(void)state;
	assert_null(near(f, &key, false));
	assert_null(near(f, &highest, true));
	assert_null(frag_tree_near(&f->nodes, f->root, FRAG_ORDER_SIZE, &key, false));
	assert_null(frag_tree_fit(&f->nodes, f->root, FRAG_ORDER_ADDRESS, &key, 0));
	assert_null(frag_tree_fit_last(&f->nodes, f->root, FRAG_ORDER_KEY, 0));
	assert_int_equal(frag_tree_largest(&f->nodes, f->root, FRAG_ORDER_ADDRESS), 0);
	end(f);
}

static struct frag_entry equal_entry(uint32_t i)
{
	return (struct frag_entry){ .size = 4096, .tie = i / 1000, .offset = i % 1000 * 4096,
				    .block = i };
}

/* Places i * step mod n visit all of n where step and n have no common divisor. */
static void insert_equals(struct frag_nodes *nodes, frag_root *root, uint32_t n, uint32_t step)
{
	for (uint64_t i = 0; i < n; i++) {
		struct frag_entry e = equal_entry((uint32_t)(i * step % n));

		assert_true(frag_nodes_reserve(nodes));
		frag_tree_insert(nodes, root, FRAG_ORDER_SIZE, &e, 0);
	}
}

static void test_equal_sizes(void **state)
{
	const struct frag_entry key = { .size = 4096 };
	const uint32_t n = 100000;
	struct frag_nodes nodes;
	frag_root root = 0;

	(void)state;
	assert_true(frag_nodes_init(&nodes));
	insert_equals(&nodes, &root, n, 39119);
	for (uint32_t i = 0; i < n; i++) {
		const struct frag_entry want = equal_entry(i);

		expect_entry(frag_tree_near(&nodes, root, FRAG_ORDER_SIZE, &key, false), &want);
		frag_tree_remove(&nodes, &root, FRAG_ORDER_SIZE, &want);
	}
	assert_int_equal(root, 0);
	frag_nodes_fini(&nodes);
}

static void test_nodes_are_reused(void **state)
{
	struct frag_nodes nodes;
	frag_root root = 0;
	uint32_t used = 0;

	(void)state;
	assert_true(frag_nodes_init(&nodes));
	for (uint32_t round = 0; round < 20; round++) {
		insert_equals(&nodes, &root, 5000, 1777);
		for (uint32_t i = 0; i < 5000; i++) {
			const struct frag_entry e = equal_entry(i);

			frag_tree_remove(&nodes, &root, FRAG_ORDER_SIZE, &e);
		}
		if (round == 0)
			used = nodes.used;
		assert_int_equal(nodes.used, used);
	}
	frag_nodes_fini(&nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_drains),
		cmocka_unit_test(test_equal_sizes),
		cmocka_unit_test(test_nodes_are_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
