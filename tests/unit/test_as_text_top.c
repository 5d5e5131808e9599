/* test_as_text_top.c - the highest of many: against a count of those that are higher. */
#include "support/unit.h"

#include "answers/report.h"
#include "support/random.h"

#define MAX 60

static double value_of(const void *list, uint32_t i)
{
	const double *values = list;

	return values[i];
}

/* How many come before element i: the higher ones, and equals that stand before it. */
static uint32_t rank(const double *values, uint32_t count, uint32_t i)
{
	uint32_t before = 0;

	for (uint32_t k = 0; k < count; k++)
		before += values[k] > values[i] || (values[k] == values[i] && k < i);
	return before;
}

static void test_ranks(void **state)
{
	uint64_t random = 1;
	uint32_t worst[FRAG_WORST_MAX];

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		const uint32_t count = round % MAX;
		double values[MAX];
		uint32_t kept;

		for (uint32_t i = 0; i < count; i++)
			values[i] = (double)(random_u64(&random) >> 60) / 4;     /* many equals */
		kept = frag_top_indexes(worst, values, count, value_of);
		assert_int_equal(kept, count < FRAG_WORST_MAX ? count : FRAG_WORST_MAX);
		for (uint32_t i = 0; i < kept; i++)
			assert_int_equal(rank(values, count, worst[i]), i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
