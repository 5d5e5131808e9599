/*
 * test_free_set.c - a set of free blocks, few and many, against a plain sorted array.
 *
 * The array is sorted anew by the test's own comparison, and each question is answered by a walk.
 */
#include <stdlib.h>

#include "heap/free_set.h"
#include "support/random.h"
#include "support/unit.h"

#define BLOCKS 60

struct fixture {
	struct frag_free_set_storage shared;
	struct frag_free_set set;
	struct frag_entry all[BLOCKS];  /* by number of block; size 0: not in the set */
	uint64_t random;
};

/* By size, then tie, then offset. */
static int order(const struct frag_entry *a, const struct frag_entry *b)
{
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The least at or after the key, or the greatest before it; NULL: there is none. */
static const struct frag_entry *naive(const struct fixture *f, const struct frag_entry *key,
				      bool before)
{
	const struct frag_entry *best = NULL;

	for (uint32_t i = 0; i < BLOCKS; i++) {
		const struct frag_entry *e = &f->all[i];

		if (!e->size || (order(e, key) < 0) != before)
			continue;
		if (!best || (order(e, best) < 0) != before)
			best = e;
	}
	return best;
}

static void expect(const struct frag_entry *got, const struct frag_entry *want)
{
	assert_int_equal(!got, !want);
	if (want) {
		assert_int_equal(got->block, want->block);
		assert_int_equal(order(got, want), 0);
	}
}

static void ask(struct fixture *f, uint64_t sizes)
{
	static const struct frag_entry low = { .size = 0 }, high = { .size = UINT64_MAX };
	const struct frag_entry key = {
		.size = random_below(&f->random, sizes + 2), .offset = random_below(&f->random, 9),
		.tie = (uint32_t)random_below(&f->random, 9),
	};
	const struct frag_entry fits = { .size = key.size };
	const struct frag_entry *first = naive(f, &low, false);

	expect(frag_free_set_fit(&f->shared, &f->set, key.size), naive(f, &fits, false));
	expect(frag_free_set_near(&f->shared, &f->set, &key, false), naive(f, &key, false));
	expect(frag_free_set_near(&f->shared, &f->set, &key, true), naive(f, &key, true));
	assert_int_equal(f->set.count == 0, first == NULL);
	if (!first)
		return;
	expect(frag_free_set_fit(&f->shared, &f->set, 0), first);
	expect(frag_free_set_near(&f->shared, &f->set, &high, true), naive(f, &high, true));
}

static struct frag_entry made(struct fixture *f, uint32_t b, uint64_t sizes)
{
	return (struct frag_entry){
		.size = 1 + random_below(&f->random, sizes), .offset = b / 8, .tie = b % 8,
		.block = b,
	};
}

/* One that is in becomes another one, which may be a block that is not. */
static void replace(struct fixture *f, uint64_t sizes)
{
	struct frag_entry *old = &f->all[random_below(&f->random, BLOCKS)];
	struct frag_entry *now = &f->all[random_below(&f->random, BLOCKS)];
	const struct frag_entry was = *old;

	if (!was.size || (now != old && now->size))
		return;
	old->size = 0;
	*now = made(f, (uint32_t)(now - f->all), sizes);
	assert_true(frag_free_set_storage_reserve(&f->shared));
	frag_free_set_replace(&f->shared, &f->set, &was, now);
}

/* One that is in goes, one that is out comes, so many of ten times. */
static void change(struct fixture *f, uint64_t sizes, uint32_t grow)
{
	const uint32_t b = (uint32_t)random_below(&f->random, BLOCKS);
	struct frag_entry *e = &f->all[b];
	const bool comes = random_below(&f->random, 10) < grow;

	if (comes == (e->size != 0))
		return;
	if (!comes) {
		frag_free_set_remove(&f->shared, &f->set, e);
		e->size = 0;
		return;
	}
	*e = made(f, b, sizes);
	assert_true(frag_free_set_storage_reserve(&f->shared));
	frag_free_set_insert(&f->shared, &f->set, e);
}

/* A few blocks only, many, none again; of one size, a few, all different. */
static void test_random(void **state)
{
	static const uint64_t sizes[] = { 1, 3, 1000000 };
	static const uint32_t grow[] = { 1, 9, 2, 5, 0 };

	(void)state;
	for (uint32_t i = 0; i < LENGTH(sizes); i++) {
		struct fixture f = { .random = i };

		assert_true(frag_free_set_storage_init(&f.shared));
		for (uint32_t k = 0; k < 4000; k++) {
			change(&f, sizes[i], grow[k / 400 % LENGTH(grow)]);
			replace(&f, sizes[i]);
			ask(&f, sizes[i]);
		}
		frag_free_set_storage_fini(&f.shared);
	}
}

/* A full array, and one entry more: a copy of each changes alone. */
static void test_copy(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= FRAG_FREE_ARRAY_MAX + 2; n++) {
		struct fixture f = { .random = n }, copy;

		assert_true(frag_free_set_storage_init(&f.shared));
		for (uint32_t b = 0; b < n; b++) {
			f.all[b] = (struct frag_entry){ .size = 100 - b, .block = b };
			assert_true(frag_free_set_storage_reserve(&f.shared));
			frag_free_set_insert(&f.shared, &f.set, &f.all[b]);
		}
		copy = f;
		assert_true(frag_free_set_storage_copy(&copy.shared, &f.shared));
		for (uint32_t b = 0; b < n; b++)
			frag_free_set_remove(&f.shared, &f.set, &f.all[b]);
		assert_int_equal(f.set.count, 0);
		ask(&copy, 100);
		frag_free_set_storage_fini(&f.shared);
		frag_free_set_storage_fini(&copy.shared);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
