/* test_array_grow_stable.c - a table that grows: nothing in it moves, and nothing is twice. */
#include <pthread.h>
#include <stdlib.h>

#include "base/array_grow.h"
#include "support/unit.h"

#define ELEMENTS 5000

/* Three bytes: no chunk is aligned by chance. */
struct three {
	uint8_t bytes[3];
};

static struct three *at(const struct frag_chunks *c, uint32_t i)
{
	return frag_chunks_at(c, i, sizeof(struct three));
}

/* Each element has its number from when there is room for it, and its place, to the end. */
static void test_nothing_moves(void **state)
{
	static struct three *where[ELEMENTS];
	struct frag_chunks c = { .capacity = 0 };

	(void)state;
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		assert_true(frag_chunks_grow(&c, (uint64_t)i + 1, sizeof(struct three)));
		assert_true(c.capacity > i);
		where[i] = at(&c, i);
		*where[i] = (struct three){ { (uint8_t)i, (uint8_t)(i >> 8), 77 } };
	}
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		assert_ptr_equal(at(&c, i), where[i]);
		assert_int_equal(where[i]->bytes[0] | where[i]->bytes[1] << 8, i);
		assert_int_equal(where[i]->bytes[2], 77);
	}
	frag_chunks_fini(&c);
	assert_int_equal(c.capacity, 0);
	frag_chunks_fini(&c);
}

/* 64, and twice as many each time: 64 (2^n - 1) in n chunks. */
static void test_sizes(void **state)
{
	struct frag_chunks c = { .capacity = 0 };

	(void)state;
	assert_true(frag_chunks_grow(&c, 1, 8));
	assert_int_equal(c.capacity, 64);
	assert_true(frag_chunks_grow(&c, 64, 8));
	assert_int_equal(c.capacity, 64);
	assert_true(frag_chunks_grow(&c, 65, 8));
	assert_int_equal(c.capacity, 192);
	assert_true(frag_chunks_grow(&c, 1000, 8));
	assert_int_equal(c.capacity, 64 * 31);
	assert_false(frag_chunks_grow(&c, (UINT64_C(1) << 31) + 1, 8));
	assert_int_equal(c.capacity, 64 * 31);
	frag_chunks_fini(&c);
}

struct told {
	struct frag_chunks chunks;
	uint32_t count;         /* handed over by an atomic store */
};

static void *read_along(void *arg)
{
	struct told *told = arg;
	uint32_t seen = 0, wrong = 0;

	while (seen < ELEMENTS) {
		const uint32_t count = __atomic_load_n(&told->count, __ATOMIC_ACQUIRE);

		for (; seen < count; seen++)
			wrong += *(uint64_t *)frag_chunks_at(&told->chunks, seen, 8) != seen * 3;
	}
	return (void *)(uintptr_t)wrong;
}

/* For the thread sanitizer above all: another thread reads while it grows. */
static void test_read_while_it_grows(void **state)
{
	struct told told = { .count = 0 };
	pthread_t reader;
	void *wrong;

	(void)state;
	assert_int_equal(pthread_create(&reader, NULL, read_along, &told), 0);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		assert_true(frag_chunks_grow(&told.chunks, (uint64_t)i + 1, 8));
		*(uint64_t *)frag_chunks_at(&told.chunks, i, 8) = (uint64_t)i * 3;
		__atomic_store_n(&told.count, i + 1, __ATOMIC_RELEASE);
	}
	pthread_join(reader, &wrong);
	assert_null(wrong);
	frag_chunks_fini(&told.chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_moves),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_read_while_it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
