/* test_format_wrap.c - text in lines of a terminal, and names that are cut short. */
#include <stdint.h>
#include <string.h>

#include "base/format.h"
#include "support/unit.h"

static void test_lines(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *line;       /* the first one */
	} cases[] = {
		{ "one two three", 13, "one two three" },
		{ "one two three", 12, "one two" },
		{ "one two three", 7, "one two" },
		{ "one two three", 6, "one" },
		{ "one two three", 2, "on" },
		{ "word", SIZE_MAX, "word" },
		{ "", 5, "" },
		/* a number keeps its unit */
		{ "needs 16.03 GiB; or more", 13, "needs" },
		{ "needs 16.03 GiB; or more", 16, "needs 16.03 GiB;" },
		{ "free 7 bytes", 8, "free" },
		{ "free 7 bytesize", 8, "free 7" },
		{ "lost 4.9 % of it", 9, "lost" },
		{ "in 12 segments", 6, "in 12" },
		/* colours take no columns */
		{ "\033[1mfile\033[0m: 12", 8, "\033[1mfile\033[0m: 12" },
		{ "\033[1mfile\033[0m: 12", 7, "\033[1mfile\033[0m:" },
		{ "a\033[1mb\033[0m", 2, "a\033[1mb\033[0m" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		const size_t n = frag_wrap(cases[i].text, cases[i].columns);

		if (n != strlen(cases[i].line) || memcmp(cases[i].text, cases[i].line, n) != 0)
			fail_msg("\"%s\" in %zu columns: %zu bytes", cases[i].text,
				 cases[i].columns, n);
	}
}

static void test_short_names(void **state)
{
	char buf[FRAG_SHORT_NAME], name[64] = "\"", want[FRAG_SHORT_NAME] = "\"";

	(void)state;
	memset(name + 1, 'x', 58);
	memcpy(name + 59, "\"", 2);
	assert_string_equal(frag_short_name(name, buf), name);
	memcpy(name + 59, "x\"", 3);
	memset(want + 1, 'x', 55);
	memcpy(want + 56, "...\"", 5);
	assert_string_equal(frag_short_name(name, buf), want);
	/* an escape is whole, or left out */
	memcpy(name + 52, "\\u00e9", 6);
	memcpy(want + 52, "...\"", 5);
	assert_string_equal(frag_short_name(name, buf), want);
	assert_string_equal(frag_short_name("7", buf), "7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
