/* test_atomic_file_path.c - paths, as messages speak of them. */
#include "support/unit.h"

#include "base/atomic_file.h"

static void test_names(void **state)
{
	static const char *const cases[][3] = {
		{ "-", "standard input", "-" }, { "a/b.json", "a/b.json", "b.json" },
		{ "--", "--", "--" }, { "", "\"\"", "" }, { "/x/", "/x/", "" }, { "/y", "/y", "y" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(frag_input_name(cases[i][0]), cases[i][1]);
		assert_string_equal(frag_file_name(cases[i][0]), cases[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
