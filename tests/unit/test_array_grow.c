/* test_array_grow.c - arrays that grow by doubling: room, contents, refusal. */
#include <stdlib.h>

#include "base/array_grow.h"
#include "support/unit.h"

#define LARGE 4000000           /* elements: some copies are released part by part */

static void test_keeps_contents(void **state)
{
	uint64_t *array = NULL;
	uint32_t capacity = 0, moves = 0;

	(void)state;
	for (uint64_t n = 0; n < LARGE; n++) {
		uint32_t before = capacity;

		assert_true(frag_grow(&array, &capacity, n + 1, sizeof(*array)));
		assert_true(capacity > n);
		moves += capacity != before;
		array[n] = n * n;
	}
	for (uint64_t n = 0; n < LARGE; n++)
		assert_true(array[n] == n * n);
	assert_in_range(moves, 1, 22);          /* doubling: at most log2 of the length */
	free(array);
}

static void test_enough_is_enough(void **state)
{
	char *array = NULL, *before;
	uint32_t capacity = 0, room;

	(void)state;
	assert_true(frag_grow(&array, &capacity, 1000, 1));
	assert_true(capacity >= 1000);
	before = array;
	room = capacity;
	for (uint32_t n = 0; n <= room; n++)
		assert_true(frag_grow(&array, &capacity, n, 1));
	assert_ptr_equal(array, before);
	assert_int_equal(capacity, room);
	free(array);
}

/* More than 2^31 elements, or more bytes than there are addresses: as it was. */
static void test_refusal(void **state)
{
	char *array = NULL, *before;
	uint32_t capacity = 0, room;

	(void)state;
	assert_true(frag_grow(&array, &capacity, 5, 1));
	array[4] = 'x';
	before = array;
	room = capacity;
	assert_false(frag_grow(&array, &capacity, UINT64_C(1) << 32, 1));
	assert_false(frag_grow(&array, &capacity, (UINT64_C(1) << 31) + 1, 1));
	assert_false(frag_grow(&array, &capacity, UINT64_MAX, 1));
	assert_false(frag_grow(&array, &capacity, 1 << 20, SIZE_MAX / 1024));
	assert_ptr_equal(array, before);
	assert_int_equal(capacity, room);
	assert_int_equal(array[4], 'x');
	free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_contents),
		cmocka_unit_test(test_enough_is_enough),
		cmocka_unit_test(test_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
