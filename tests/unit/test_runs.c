/* test_runs.c - keys of a policy as text, and names cut to the room that there is. */
#include "support/unit.h"

#include <string.h>

#include "compare/runs.h"

static void keys_and_values(void **state)
{
	/* a list in a value has commas of its own */
	static const char params[] = "align=512,list=[256:1,512:2],release=true,empty=,last=a,b";
	static const struct {
		const char *key, *value;
	} wanted[] = {
		{ "align", "512" }, { "list", "[256:1,512:2]" }, { "release", "true" },
		{ "empty", "" }, { "last", "a,b" }, { "lis", NULL }, { "512", NULL },
		{ "alignx", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t length = 0;
		const char *value = frag_run_param(params, wanted[i].key, strlen(wanted[i].key),
						   &length);

		if (!wanted[i].value) {
			assert_null(value);
			continue;
		}
		assert_non_null(value);
		assert_int_equal(length, strlen(wanted[i].value));
		assert_memory_equal(value, wanted[i].value, length);
	}
}

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
		cmocka_unit_test(keys_and_values),
		cmocka_unit_test(names_are_cut_between_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
