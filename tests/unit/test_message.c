/* test_message.c - verdicts of points by hand, and of ranges by all their points. */
#include "support/unit.h"

#include "messages/message.h"
#include "support/random.h"

#define M (INT64_C(1) << 20)
#define G (INT64_C(1) << 30)
#define RANGES 4000
#define POINTS 300      /* of each */

struct by_hand {
	int64_t at[FRAG_AT_ALL];        /* asked, total, free, allocated, unallocated */
	enum frag_shortage verdict;
};

static const struct by_hand by_hand[] = {
	{ { 9 * G, 8 * G, 8 * G, 0, 0 }, FRAG_SHORT_OVER_DEVICE },
	/* as much as the device has, of which 1 GiB is outside */
	{ { 8 * G, 8 * G, 7 * G, 0, 0 }, FRAG_SHORT_CAPACITY },
	/* a segment is free, to the byte: of 2 MiB, of 20 MiB, of a multiple of 2 MiB */
	{ { 1 * M, 8 * G, 2 * M, 8 * G - 2 * M, 0 }, FRAG_SHORT_REFUSED },
	{ { 1 * M, 8 * G, 2 * M - 1, 8 * G - 2 * M, 0 }, FRAG_SHORT_TIGHT },
	{ { 1 * M + 1, 8 * G, 20 * M, 8 * G - 20 * M, 0 }, FRAG_SHORT_REFUSED },
	{ { 1 * M + 1, 8 * G, 20 * M - 1, 8 * G - 20 * M, 0 }, FRAG_SHORT_TIGHT },
	{ { 11 * M, 8 * G, 12 * M, 8 * G - 12 * M, 0 }, FRAG_SHORT_REFUSED },
	{ { 11 * M, 8 * G, 12 * M - 1, 8 * G - 12 * M, 0 }, FRAG_SHORT_TIGHT },
	/* nothing outside; then 5 % of 100 GiB, which is not more than that; then a byte more */
	{ { 2 * G, 100 * G, 0, 99 * G, 1 * G }, FRAG_SHORT_CAPACITY },
	{ { 2 * G, 100 * G, 0, 94 * G, 1 * G }, FRAG_SHORT_CAPACITY },
	{ { 2 * G, 100 * G, 0, 94 * G - 1, 1 * G }, FRAG_SHORT_OUTSIDE },
	/* beside 90 GiB there are 10, and 2 belong to the context */
	{ { 8 * G, 100 * G, 0, 90 * G, 0 }, FRAG_SHORT_OUTSIDE },
	{ { 8 * G + 1, 100 * G, 0, 90 * G, 0 }, FRAG_SHORT_CAPACITY },
	/* exactly as much as there is; 5 % would be left, less a byte */
	{ { 2 * G, 100 * G, 1 * G, 98 * G, 1 * G }, FRAG_SHORT_TIGHT },
	{ { 2 * G, 100 * G, 1 * G, 93 * G, 6 * G - 1 }, FRAG_SHORT_TIGHT },
	{ { 2 * G, 100 * G, 1 * G, 93 * G, 6 * G }, FRAG_SHORT_FRAGMENTATION },
	/* more than the device has is in use, as Windows lets it be */
	{ { 1 * G, 8 * G, 0, 16 * G, 0 }, FRAG_SHORT_CAPACITY },
};

static void test_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(by_hand) / sizeof(*by_hand); i++)
		if (frag_shortage_of(by_hand[i].at, true) != by_hand[i].verdict)
			fail_msg("case %zu is %s, not %s", i,
				 frag_oom_verdict_name(
					 frag_shortage_verdicts[frag_shortage_of(by_hand[i].at, true)]),
				 frag_oom_verdict_name(frag_shortage_verdicts[by_hand[i].verdict]));
}

/* Near each other often, so that every condition is near its edge often. */
static int64_t near(uint64_t *seed, int64_t middle, int64_t apart)
{
	const int64_t value = middle + (int64_t)random_below(seed, (uint64_t)(2 * apart + 1)) - apart;

	return value > 0 ? value : 0;
}

static void make_ranges(uint64_t *seed, struct frag_shortage_ranges *r)
{
	const int64_t wide = 1 + (int64_t)random_below(seed, 6 * M);
	const int64_t total = near(seed, 4 * G, 3 * G);
	const int64_t allocated = near(seed, total / 2, total / 2);
	const int64_t unallocated = near(seed, total / 20, total / 20);
	const int64_t left = total - allocated - unallocated;
	const int64_t free = random_below(seed, 2) || left < 0 ? near(seed, 4 * M, 4 * M) : left;
	const int64_t edges[] = {
		total, free - 2 * M, free + unallocated, total - allocated - total / 50,
		free + unallocated - total / 20,
	};
	const int64_t middle[FRAG_AT_ALL] = {
		near(seed, edges[random_below(seed, LENGTH(edges))], 2 * wide), total, free,
		allocated, unallocated,
	};

	for (int i = 0; i < FRAG_AT_ALL; i++) {
		const int64_t error = random_below(seed, 4) ? wide : 0;

		r->low[i] = middle[i] > error ? middle[i] - error : 0;
		r->high[i] = middle[i] + error;
	}
	r->least_reserved = r->low[FRAG_AT_ALLOCATED] + r->low[FRAG_AT_UNALLOCATED];
	r->most_reserved = r->high[FRAG_AT_ALLOCATED] + r->high[FRAG_AT_UNALLOCATED];
	if (random_below(seed, 2)) {
		r->least_reserved = near(seed, allocated + unallocated - wide / 2, wide / 4);
		r->most_reserved = r->least_reserved + wide;
	}
}

/* An end of the range, or anything between. False: the reserved bytes do not go with it. */
static bool pick(uint64_t *seed, const struct frag_shortage_ranges *r, int64_t at[FRAG_AT_ALL])
{
	int64_t reserved;

	for (int i = 0; i < FRAG_AT_ALL; i++) {
		const int64_t width = r->high[i] - r->low[i];

		at[i] = r->low[i];
		if (random_below(seed, 3))
			at[i] += random_below(seed, 2) ? width
				 : (int64_t)random_below(seed, (uint64_t)width + 1);
	}
	reserved = at[FRAG_AT_ALLOCATED] + at[FRAG_AT_UNALLOCATED];
	return reserved >= r->least_reserved && reserved <= r->most_reserved;
}

/* Whatever a point within the ranges comes to is possible. */
static void test_ranges(void **state)
{
	uint32_t seen[FRAG_SHORTAGES] = { 0 }, several = 0;
	uint64_t seed = 5;

	(void)state;
	for (uint32_t i = 0; i < RANGES; i++) {
		struct frag_shortage_ranges r;
		int64_t at[FRAG_AT_ALL];
		uint32_t possible;

		make_ranges(&seed, &r);
		r.segments = i % 2;
		possible = frag_shortages_of(&r);
		several += (possible & (possible - 1)) != 0;
		for (uint32_t k = 0; k < POINTS; k++) {
			enum frag_shortage verdict;

			if (!pick(&seed, &r, at))
				continue;
			verdict = frag_shortage_of(at, r.segments);
			seen[verdict]++;
			if (!(possible >> verdict & 1))
				fail_msg("ranges %u: %s is not possible", i,
					 frag_oom_verdict_name(frag_shortage_verdicts[verdict]));
		}
	}
	assert_true(several > RANGES / 10);
	for (int i = 0; i < FRAG_SHORTAGES; i++)
		assert_true(seen[i] > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
