/* test_name_index.c - names found in a sorted list, beside a search through all of them. */
#include "support/unit.h"

#include <string.h>

#include "base/hash.h"
#include "compare/name_index.h"

#define NAMES 300

static bool equal(const struct frag_name *a, const struct frag_name *b)
{
	return a->device == b->device && strcmp(a->text, b->text) == 0
	       && strcmp(a->more, b->more) == 0;
}

/* One of 5 devices and 7 texts with 3 more: some are there often, some never. */
static struct frag_name draw(struct frag_rng *rng)
{
	static const char *const texts[] = { "", "a", "aa", "ab", "b", "\xff", "z" };
	static const char *const more[] = { "", "a", "x=1,y=2" };

	return (struct frag_name){
		.device = (uint32_t)frag_rng_below(rng, 5), .text = texts[frag_rng_below(rng, 7)],
		.more = more[frag_rng_below(rng, 3)], .index = UINT32_MAX,
	};
}

static void names_are_found_where_they_stand_first(void **state)
{
	static struct frag_name plain[NAMES];
	struct frag_rng rng = { 1 };

	(void)state;
	for (uint32_t count = 0; count <= NAMES; count = 2 * count + 1) {
		struct frag_lookup l;

		assert_true(frag_lookup_init(&l, count));
		for (; l.count < count; l.count++) {
			plain[l.count] = draw(&rng);
			plain[l.count].index = l.count;
			l.name[l.count] = plain[l.count];
		}
		frag_lookup_sort(&l);
		for (uint32_t i = 0; i < NAMES; i++) {
			struct frag_name like = draw(&rng);
			const uint32_t rank = (uint32_t)frag_rng_below(&rng, 5);
			uint32_t wanted = UINT32_MAX, alike = 0, before = 0, ranked = UINT32_MAX;
			bool alone = false;

			for (uint32_t k = count; k--;) {
				if (!equal(&plain[k], &like))
					continue;
				wanted = k;
				alike++;
			}
			assert_int_equal(frag_lookup_find(&l, &like, &alone), wanted);
			assert_int_equal(alone, alike == 1);
			like.index = (uint32_t)frag_rng_below(&rng, (uint64_t)count + 1);
			for (uint32_t k = 0, n = 0; k < count; k++) {
				if (!equal(&plain[k], &like))
					continue;
				before += k < like.index;
				if (n++ <= rank)
					ranked = k;
			}
			assert_int_equal(frag_lookup_rank(&l, &like), before);
			assert_int_equal(frag_lookup_ranked(&l, &like, rank), ranked);
		}
		frag_lookup_fini(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_where_they_stand_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
