/* test_address_ranges.c - runs of addresses, against a map that has a byte for each. */
#include <string.h>

#include "snapshot/address_ranges.h"
#include "support/random.h"
#include "support/unit.h"

#define BYTES 400
#define NOBODY 0xff

/* Every question, for every address. */
static void compare(struct frag_spans *s, const uint8_t *map)
{
	for (uint64_t addr = 0; addr < BYTES; addr++) {
		uint32_t at = frag_spans_at(s, addr), from = frag_spans_from(s, addr);
		uint64_t next = addr;

		assert_int_equal(at == FRAG_NO_SPAN, map[addr] == NOBODY);
		if (at != FRAG_NO_SPAN)
			assert_int_equal(s->spans[at].what, map[addr]);
		while (next < BYTES && map[next] == NOBODY)
			next++;
		assert_int_equal(from == FRAG_NO_SPAN, next == BYTES);
		if (from != FRAG_NO_SPAN)
			assert_int_equal(s->spans[from].what, map[next]);
	}
}

static bool is_free(const uint8_t *map, uint64_t start, uint64_t end)
{
	while (start < end)
		if (map[start++] != NOBODY)
			return false;
	return true;
}

static uint64_t clear(uint8_t *map, uint64_t start, uint64_t end)
{
	uint64_t taken = 0;

	for (; start < end; start++) {
		taken += map[start] != NOBODY;
		map[start] = NOBODY;
	}
	return taken;
}

static void test_against_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct frag_spans s;
		uint64_t random = seed, taken;
		uint8_t map[BYTES];

		memset(map, NOBODY, sizeof(map));
		frag_spans_init(&s, seed);
		for (uint32_t i = 0; i < 200; i++) {
			uint64_t start = random_below(&random, BYTES - 40);
			uint64_t end = start + 1 + random_below(&random, 39);
			uint32_t span = frag_spans_at(&s, start);

			if (is_free(map, start, end)) {
				memset(map + start, (int)(i % 200), end - start);
				assert_true(frag_spans_add(&s, start, end, i % 200) != FRAG_NO_SPAN);
			} else if (span != FRAG_NO_SPAN && i % 3 == 0) {
				clear(map, s.spans[span].start, s.spans[span].end);
				frag_spans_remove(&s, span);
			} else if (i % 3 == 1) {
				assert_true(frag_spans_cut(&s, start, end, &taken));
				assert_int_equal(taken, clear(map, start, end));
			}
			compare(&s, map);
		}
		frag_spans_fini(&s);
	}
}

/* What falls and what rises is as deep as chance makes it. */
static void test_many_in_order(void **state)
{
	struct frag_spans s;

	(void)state;
	frag_spans_init(&s, 1);
	for (uint64_t i = 0; i < 200000; i++)
		assert_true(frag_spans_add(&s, i * 2, i * 2 + 1, 0) != FRAG_NO_SPAN);
	for (uint64_t i = 400000; i-- > 0;)
		assert_int_equal(frag_spans_at(&s, i) != FRAG_NO_SPAN, i % 2 == 0);
	for (uint64_t i = 0; i < 200000; i++)
		frag_spans_remove(&s, frag_spans_at(&s, i * 2));
	assert_int_equal(s.root, FRAG_NO_SPAN);
	frag_spans_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_bytes),
		cmocka_unit_test(test_many_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
