/* test_parse_suggest.c - distances of words against the definition, and what is near enough. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "support/random.h"
#include "support/unit.h"

static uint32_t distance(const char *a, const char *b)
{
	return frag_distance(a, strlen(a), b, strlen(b));
}

static void test_distances(void **state)
{
	static const struct {
		const char *a, *b;
		uint32_t distance;
	} cases[] = {
		{ "", "", 0 }, { "", "run", 3 }, { "run", "", 3 }, { "run", "run", 0 },
		{ "rnu", "run", 1 }, { "ru", "run", 1 }, { "runs", "run", 1 }, { "rub", "run", 1 },
		{ "RUN", "run", 0 }, { "on_oom", "on-oom", 0 }, { "kitten", "sitting", 3 },
		{ "steps", "stpes", 1 }, { "abcd", "badc", 2 }, { "abc", "cab", 2 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(distance(cases[i].a, cases[i].b), cases[i].distance);
}

/* The definition, without a table: what the last letters may have become. */
static uint32_t plainest(const char *a, size_t n, const char *b, size_t m)
{
	uint32_t best, other;

	if (n == 0 || m == 0)
		return (uint32_t)(n + m);
	best = plainest(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
	other = plainest(a, n - 1, b, m) + 1;
	best = other < best ? other : best;
	other = plainest(a, n, b, m - 1) + 1;
	best = other < best ? other : best;
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
		other = plainest(a, n - 2, b, m - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

static void test_against_the_definition(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (uint32_t round = 0; round < 2000; round++) {
		char a[8] = "", b[8] = "";
		size_t n = random_below(&seed, 7), m = random_below(&seed, 7);

		for (size_t i = 0; i < n; i++)
			a[i] = "abc"[random_below(&seed, 3)];
		for (size_t i = 0; i < m; i++)
			b[i] = "abc"[random_below(&seed, 3)];
		assert_int_equal(frag_distance(a, n, b, m), plainest(a, n, b, m));
	}
}

/* Beyond 63 letters nothing is read, and nothing written where it should not be. */
static void test_long_words(void **state)
{
	char a[200], b[200];

	(void)state;
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	assert_int_equal(frag_distance(a, sizeof(a), a, sizeof(a)), 0);
	assert_int_equal(frag_distance(a, sizeof(a), b, sizeof(b)), 63);
	assert_int_equal(frag_distance(a, sizeof(a), "", 0), 63);
}

static void test_hints(void **state)
{
	static const char *const names[] = {
		"diff", "run", "replay", "policies", "expandable_segments",
		"expandable_segments_reserve", "max_split_size_mb",
	};
	static const struct {
		const char *word, *hint;
	} cases[] = {
		{ "rnu", " did you mean --run?" }, { "Run", " did you mean --run?" },
		{ "dif", " did you mean --diff?" }, { "pol", " did you mean --policies?" },
		{ "policys", " did you mean --policies?" },
		{ "expandable", " did you mean --expandable_segments?" },
		{ "expandable_segment", " did you mean --expandable_segments?" },
		{ "max-split-size", " did you mean --max_split_size_mb?" },
		/* too short, too far, or nothing at all */
		{ "rn", "" }, { "po", "" }, { "bogus", "" }, { "", "" }, { "play", "" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_suggestion near = frag_near_to(cases[i].word, strlen(cases[i].word));
		char buf[FRAG_HINT_ROOM];

		for (uint32_t k = 0; k < LENGTH(names); k++)
			frag_near_offer(&near, names[k]);
		assert_string_equal(frag_near_hint(&near, "--", buf), cases[i].hint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_against_the_definition),
		cmocka_unit_test(test_long_words),
		cmocka_unit_test(test_hints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
