/* test_recordings_curve.c - sizes at another number: by hand, and by polynomials of whole coefficients. */
#include "support/unit.h"

#include "base/parse.h"
#include "support/random.h"
#include "transform/recordings.h"

#define LAST (FRAG_SIZE_LIMIT - 1)

struct curve_case {
	struct frag_numbers numbers;
	uint64_t sizes[FRAG_RECORDINGS_MAX];
	enum frag_growth growth;
	uint32_t x;
	uint64_t size;
	bool explained;
};

static const struct curve_case cases[] = {
	{ { { 2, 4 }, 2 }, { 7, 7 }, FRAG_CONSTANT, 99, 7, true },
	{ { { 2, 4 }, 2 }, { 100, 150 }, FRAG_LINEAR, 8, 250, true },
	{ { { 2, 4 }, 2 }, { 100, 150 }, FRAG_LINEAR, 0, 50, true },
	/* half a byte, and below 0 */
	{ { { 2, 4 }, 2 }, { 10, 13 }, FRAG_LINEAR, 5, 15, false },
	{ { { 2, 4 }, 2 }, { 10, 30 }, FRAG_LINEAR, 1, 0, true },
	{ { { 2, 4 }, 2 }, { 10, 30 }, FRAG_LINEAR, 0, 0, false },
	/* falling: along the line, and beyond the last recording not at all */
	{ { { 2, 4 }, 2 }, { 30, 10 }, FRAG_UNEXPLAINED, 3, 20, false },
	{ { { 2, 4 }, 2 }, { 30, 10 }, FRAG_UNEXPLAINED, 1, 40, false },
	{ { { 2, 4 }, 2 }, { 30, 10 }, FRAG_UNEXPLAINED, 5, 10, false },
	{ { { 2, 4 }, 2 }, { 30, 10 }, FRAG_UNEXPLAINED, 2, 30, true },
	/* three on a line; 3n^2 + n; (n - 1)^2, whose vertex is before the first */
	{ { { 2, 4, 8 }, 3 }, { 20, 40, 80 }, FRAG_LINEAR, 16, 160, true },
	{ { { 2, 4, 8 }, 3 }, { 14, 52, 200 }, FRAG_QUADRATIC, 10, 310, true },
	{ { { 2, 3, 5 }, 3 }, { 1, 4, 16 }, FRAG_QUADRATIC, 9, 64, true },
	/* n(n - 1)/3 at 6, 9, 12 is whole, at 8 it is not: 18 and two thirds */
	{ { { 6, 9, 12 }, 3 }, { 10, 24, 44 }, FRAG_QUADRATIC, 8, 19, false },
	/* a jump at the end, where the parabola would first fall: from the last two */
	{ { { 2, 4, 8 }, 3 }, { 8, 8, 32 }, FRAG_UNEXPLAINED, 16, 80, false },
	{ { { 2, 4, 8 }, 3 }, { 8, 8, 32 }, FRAG_UNEXPLAINED, 3, 8, false },
	/* a jump at the beginning: it bends down */
	{ { { 2, 4, 8 }, 3 }, { 8, 32, 32 }, FRAG_UNEXPLAINED, 16, 32, false },
	{ { { 2, 4, 8 }, 3 }, { 8, 32, 20 }, FRAG_UNEXPLAINED, 16, 20, false },
	/* more than three: all are on the curve, or none is known; the nearest two count then */
	{ { { 2, 4, 8, 16 }, 4 }, { 20, 40, 80, 160 }, FRAG_LINEAR, 32, 320, true },
	{ { { 2, 4, 8, 16 }, 4 }, { 7, 7, 7, 7 }, FRAG_CONSTANT, 32, 7, true },
	{ { { 2, 4, 8, 16 }, 4 }, { 7, 7, 7, 8 }, FRAG_UNEXPLAINED, 32, 10, false },
	{ { { 2, 4, 8, 16, 20 }, 5 }, { 14, 52, 200, 784, 1220 }, FRAG_QUADRATIC, 10, 310, true },
	{ { { 2, 4, 8, 16 }, 4 }, { 14, 52, 200, 785 }, FRAG_UNEXPLAINED, 32, 1955, false },
	{ { { 2, 4, 8, 16 }, 4 }, { 14, 52, 200, 785 }, FRAG_UNEXPLAINED, 6, 126, false },
	{ { { 2, 4, 8, 16 }, 4 }, { FRAG_NO_SIZE, 40, 80, 160 }, FRAG_UNEXPLAINED, 32, 320, true },
	{ { { 2, 4, 8, 16 }, 4 }, { FRAG_NO_SIZE, 40, 80, 160 }, FRAG_UNEXPLAINED, 2, 0, true },
	/* as large as it gets */
	{ { { 1, 2 }, 2 }, { 0, LAST }, FRAG_LINEAR, 3, FRAG_SIZE_LIMIT, true },
	{ { { 0, FRAG_NUMBER_MAX }, 2 }, { 0, LAST }, FRAG_LINEAR, FRAG_NUMBER_MAX, LAST, true },
	{ { { 0, 1, FRAG_NUMBER_MAX }, 3 }, { 0, 1000, LAST }, FRAG_QUADRATIC, FRAG_NUMBER_MAX, LAST,
	  true },
	{ { { 0, FRAG_NUMBER_MAX - 1, FRAG_NUMBER_MAX }, 3 }, { LAST, 0, LAST }, FRAG_UNEXPLAINED, 0,
	  LAST, true },
};

static void test_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct curve_case *c = &cases[i];
		uint64_t size;
		const bool explained = frag_size_at(&c->numbers, c->sizes, c->x, &size);

		if (size != c->size || explained != c->explained
		    || frag_growth_of(&c->numbers, c->sizes) != c->growth)
			fail_msg("case %zu: %llu", i, (unsigned long long)size);
	}
}

static uint64_t value(const uint64_t coefficients[3], uint64_t x)
{
	return coefficients[0] * x * x + coefficients[1] * x + coefficients[2];
}

/* Whatever the three numbers, a parabola is found again. */
static void test_polynomials(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		const uint64_t c[3] = { random_below(&seed, 3) ? random_below(&seed, 5000) : 0,
					random_below(&seed, 100000), random_below(&seed, 100000) };
		struct frag_numbers n = { .count = 3 };
		uint64_t sizes[3], size;
		const uint32_t x = (uint32_t)(random_below(&seed, 100000));

		n.at[0] = (uint32_t)(random_below(&seed, 1000));
		n.at[1] = n.at[0] + 1 + (uint32_t)(random_below(&seed, 1000));
		n.at[2] = n.at[1] + 1 + (uint32_t)(random_below(&seed, 1000));
		for (uint32_t k = 0; k < 3; k++)
			sizes[k] = value(c, n.at[k]);
		assert_true(frag_size_at(&n, sizes, x, &size));
		assert_true(size == value(c, x));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_polynomials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
