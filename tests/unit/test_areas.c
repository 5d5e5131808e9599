/* test_areas.c - what is kept of too many rectangles, and the sums of the others, against all of them. */
#include <string.h>

#include "html_report/areas.h"
#include "support/random.h"
#include "support/unit.h"

#define STEPS 120
#define BLOCKS 90

struct all {
	struct frag_area of[BLOCKS];
	uint32_t count;
};

static double worth(const struct frag_area *a)
{
	return (double)a->bytes * (double)a->bytes * (double)(a->end - a->birth);
}

static bool is_kept(const struct frag_areas *areas, const struct frag_area *a)
{
	for (uint32_t i = 0; i < areas->count; i++)
		if (memcmp(&areas->area[i], a, sizeof(*a)) == 0)
			return true;
	return false;
}

static bool is_event(const struct frag_areas *areas, uint64_t step)
{
	for (uint32_t i = 0; i < areas->count; i++)
		if (areas->area[i].birth == step || areas->area[i].end == step)
			return true;
	return false;
}

static uint64_t sum_at(const struct frag_areas *areas, uint64_t step)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < areas->sum_count && areas->sums[i].step <= step; i++)
		most = areas->sums[i].most;
	return most;
}

/* Between two events of what is kept the highest sum is the most that the others hold there, and none is below. */
static void compare_sums(const struct frag_areas *areas, const struct all *all)
{
	for (uint64_t from = 0, to; from < STEPS; from = to) {
		uint64_t most = 0, highest = 0;

		for (to = from; to < STEPS && (to == from || !is_event(areas, to)); to++) {
			uint64_t now = 0;

			for (uint32_t i = 0; i < all->count; i++)
				if (all->of[i].birth <= to && to < all->of[i].end && !is_kept(areas, &all->of[i]))
					now += all->of[i].bytes;
			most = now > most ? now : most;
			highest = sum_at(areas, to) > highest ? sum_at(areas, to) : highest;
			assert_true(sum_at(areas, to) >= now);
		}
		assert_int_equal(highest, most);
	}
}

/* They come in the order of their ends, and are thinned twice on the way: those that come begin before that, too. */
static void test_sums(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct frag_areas areas = { .count = 0 };
		struct all all = { .count = 0 };
		uint64_t random = seed, begun[BLOCKS];
		uint32_t dropped = 0;

		for (uint64_t end = 2; end < STEPS && all.count < BLOCKS; end++) {
			struct frag_area *a = &all.of[all.count];

			if (random_below(&random, 4) == 0)
				continue;
			*a = (struct frag_area){ .birth = random_below(&random, end - 1), .freed = end, .end = end,
						 .y = random_below(&random, 4000), .bytes = 1 + random_below(&random, 900), .who = all.count };
			all.count++;
		}
		for (uint32_t i = 0; i < all.count; i++) {
			uint32_t n = 0;

			assert_int_equal(frag_areas_add(&areas, &all.of[i]), 0);
			if (i != all.count / 3 && i != all.count / 2)
				continue;
			for (uint32_t k = i + 1; k < all.count; k++)
				if (all.of[k].birth <= all.of[i].end)
					begun[n++] = all.of[k].birth;
			assert_int_equal(frag_areas_thin(&areas, 10, begun, n), 0);
		}
		assert_int_equal(frag_areas_end(&areas, 12), 0);
		assert_int_equal(areas.count, all.count < 12 ? all.count : 12);
		for (uint32_t i = 0; i < all.count; i++)
			dropped += !is_kept(&areas, &all.of[i]);
		assert_int_equal(areas.dropped, dropped);
		compare_sums(&areas, &all);
		frag_areas_fini(&areas);
	}
}

/* Those that show most are kept, sorted by their first step. */
static void test_kept(void **state)
{
	struct frag_areas areas = { .count = 0 };
	struct all all = { .count = 40 };
	uint64_t random = 7;

	(void)state;
	for (uint32_t i = 0; i < all.count; i++) {
		all.of[i] = (struct frag_area){ .birth = random_below(&random, i + 1), .freed = i + 1, .end = i + 1,
						.bytes = 1 + random_below(&random, 99), .who = i };
		assert_int_equal(frag_areas_add(&areas, &all.of[i]), 0);
	}
	assert_int_equal(frag_areas_end(&areas, 15), 0);
	for (uint32_t i = 0; i < all.count; i++)
		for (uint32_t k = 0; k < all.count; k++)
			if (is_kept(&areas, &all.of[i]) && !is_kept(&areas, &all.of[k]))
				assert_true(worth(&all.of[i]) >= worth(&all.of[k]));
	for (uint32_t i = 1; i < areas.count; i++)
		assert_true(areas.area[i - 1].birth <= areas.area[i].birth);
	frag_areas_fini(&areas);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_kept) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
