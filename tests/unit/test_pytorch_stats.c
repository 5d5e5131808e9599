/* test_pytorch_stats.c - the allocator's own statistics: pools, large sums, less than nothing. */
#include "policy/pytorch_stats.h"
#include "support/unit.h"

#define HALF (UINT64_C(1) << 63)

static void expect(const struct frag_stat *s, int64_t current, uint64_t peak, uint64_t allocated,
		   uint64_t freed)
{
	assert_int_equal(s->current, current);
	assert_int_equal(s->peak, peak);
	assert_int_equal(s->allocated, allocated);
	assert_int_equal(s->freed, freed);
}

/* One of 100 bytes small, two of 1000 large, of which one goes: peaks are of each and of both. */
static void test_pools(void **state)
{
	const struct frag_stat_alloc small = { .requested = 90, .found = 100, .taken = 100 };
	const struct frag_stat_alloc large = {
		.requested = 700, .found = 1500, .taken = 1000, .large = true,
	};
	const struct frag_stat_free freed = { .large = true, .merged = 1 };
	struct frag_pytorch_stats stats = { .num_ooms = 3 };
	struct frag_memory_stats s;

	(void)state;
	frag_stats_alloc(&stats, &large);
	frag_stats_freed(&stats, &freed, 1000);
	s = frag_stats_show(&stats);
	/* freed, but in use on a stream */
	expect(&s.allocation.all, 0, 1, 1, 1);
	expect(&s.active.large, 1, 1, 1, 0);
	expect(&s.requested_bytes.all, 700, 700, 700, 0);
	frag_stats_ended(&stats, &freed, 700, 1000, 1500);
	frag_stats_alloc(&stats, &small);
	frag_stats_alloc(&stats, &large);
	s = frag_stats_show(&stats);
	expect(&s.allocation.all, 2, 2, 3, 1);
	expect(&s.allocation.small, 1, 1, 1, 0);
	expect(&s.allocated_bytes.large, 1000, 1000, 2000, 1000);
	expect(&s.allocated_bytes.all, 1100, 1100, 2100, 1000);
	expect(&s.active_bytes.all, 1100, 1100, 2100, 1000);
	expect(&s.requested_bytes.all, 790, 790, 1490, 700);
	expect(&s.inactive_split.large, 1, 1, 2, 1);
	expect(&s.inactive_split_bytes.all, 500, 500, 1000, 500);
	assert_int_equal(s.num_ooms, 3);
}

/* All that ever was is more than 64 bits hold; what is there is not. */
static void test_too_much(void **state)
{
	const struct frag_stat_alloc a = { .requested = HALF / 2, .found = HALF, .taken = HALF - 1 };
	const struct frag_stat_free freed = { .large = false };
	struct frag_pytorch_stats stats = { .num_ooms = 0 };
	struct frag_memory_stats s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		frag_stats_alloc(&stats, &a);
		frag_stats_freed(&stats, &freed, HALF - 1);
		frag_stats_ended(&stats, &freed, HALF / 2, HALF - 1, HALF - 1);
	}
	s = frag_stats_show(&stats);
	expect(&s.allocated_bytes.all, 0, HALF - 1, UINT64_MAX, UINT64_MAX);
	expect(&s.requested_bytes.all, 0, HALF / 2, HALF + HALF / 2, HALF + HALF / 2);
}

/* A block counts as oversize when it goes, though it did not when it came. */
static void test_less_than_nothing(void **state)
{
	const struct frag_stat_free freed = { .oversize = true };
	struct frag_pytorch_stats stats = { .num_ooms = 0 };
	struct frag_memory_stats s;

	(void)state;
	frag_stats_freed(&stats, &freed, 1);
	frag_stats_freed(&stats, &freed, 1);
	s = frag_stats_show(&stats);
	expect(&s.oversize_allocations, -2, 0, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_less_than_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
