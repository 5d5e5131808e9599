/* test_runs.c - names cut to the room that there is. */
#include "support/unit.h"

#include "compare/runs.h"

/* The whole of an escape or nothing: what is left has to be JSON still. */
static void names_are_cut_between_escapes(void **state)
{
	static const struct {
		size_t size;
		const char *json, *wanted;
	} cases[] = {
		{ 4, "\"abcdef\"", "abc" }, { 8, "\"abc\"", "abc" }, { 4, "\"ab\\n\"", "ab" },
		{ 5, "\"ab\\n\"", "ab\\n" }, { 8, "\"ab\\u00e9\"", "ab" },
		{ 9, "\"ab\\u00e9\"", "ab\\u00e9" }, { 12, "\"\\ud83d\\ude00\"", "" },
		{ 13, "\"\\ud83d\\ude00\"", "\\ud83d\\ude00" }, { 3, "\"\"", "" },
	};
	char to[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		frag_where_json_name(to, cases[i].size, cases[i].json);
		assert_string_equal(to, cases[i].wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_cut_between_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
