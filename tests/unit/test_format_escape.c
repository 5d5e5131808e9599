/* test_format_escape.c - what may stand before people, and how the rest is shown. */
#include "base/format.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

static const struct {
	const char *text, *want;
} cases[] = {
	/* as it is */
	{ "", "" }, { "name", "name" }, { "a\\n", "a\\n" }, { "c10::x", "c10::x" },
	{ "\xc3\xa9 \xe6\xa8\xa1 \xf0\x9f\x98\x80", "\xc3\xa9 \xe6\xa8\xa1 \xf0\x9f\x98\x80" },
	{ "\xc2\xa0 \xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\xa5 \xe2\x81\xaa",
	  "\xc2\xa0 \xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\xa5 \xe2\x81\xaa" },
	{ "a # [b] #[c] ## [d] ##1[e]", "a # [b] #[c] ## [d] ##1[e]" }, { ":a", ":a" },
	/* control characters */
	{ "\x01 \x1b[0m \x1f \x7f", "\\u0001 \\u001b[0m \\u001f \\u007f" },
	{ "a\nb\rc\td", "a\\nb\\rc\\td" },
	{ "\xc2\x80 \xc2\x85 \xc2\x9f", "\\u0080 \\u0085 \\u009f" },
	/* what turns or ends a line */
	{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
	{ "\xe2\x80\xaa \xe2\x80\xae \xe2\x81\xa6 \xe2\x81\xa9", "\\u202a \\u202e \\u2066 \\u2069" },
	/* no UTF-8: cut short, alone, too long, a surrogate, beyond Unicode */
	{ "\xc3", "\\xc3" }, { "\x9b" "1m", "\\x9b1m" }, { "\xc0\xaf", "\\xc0\\xaf" },
	{ "\xe2\x80", "\\xe2\\x80" }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, { "\xff\xc3(", "\\xff\\xc3(" },
	/* commands in logs */
	{ "::error::x", "\\u003a:error::x" }, { " \xc2\xa0::x", " \xc2\xa0\\u003a:x" },
	{ "\xe3\x80\x80:", "\xe3\x80\x80\\u003a" }, { ":", "\\u003a" }, { "x ::y", "x ::y" },
	{ "a ##[error]", "a ##\\u005berror]" }, { "##vso[x", "##vso\\u005bx" },
	{ "###[", "###\\u005b" },
};

static void test_cases(void **state)
{
	char buf[FRAG_PRINTABLE_ROOM], put[FRAG_PRINTABLE_ROOM];

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *text = cases[i].text, *want = cases[i].want;
		const char *got = frag_printable(buf, text);

		assert_string_equal(got, want);
		/* the text itself where nothing changes, and nothing is escaped twice */
		assert_true((got == text) == (strcmp(text, want) == 0));
		assert_ptr_equal(frag_printable(put, want), want);
		*frag_put_printable(put, text, strlen(text)) = '\0';
		assert_string_equal(put, want);
		frag_format_printable(put, sizeof(put), "%s", text);
		assert_string_equal(put, want);
	}
}

/* However little room there is, nothing is cut within an escape or a character. */
static void test_room(void **state)
{
	static const char text[] = "a\n\x1b\xe6\xa8\xa1\xff" "b";
	static const size_t ends[] = { 0, 1, 3, 9, 12, 16, 17 };
	static const char want[] = "a\\n\\u001b\xe6\xa8\xa1\\xff" "b";
	char buf[32];

	(void)state;
	for (size_t size = 1; size <= sizeof(want); size++) {
		size_t max = 0;

		for (size_t i = 0; i < LENGTH(ends); i++)
			if (ends[i] < size)
				max = ends[i];
		memset(buf, '#', sizeof(buf));
		frag_format_printable(buf, size, "%s", text);
		assert_int_equal(strlen(buf), max);
		assert_memory_equal(buf, want, max);
		assert_int_equal(buf[size], '#');
	}
}

static void test_long(void **state)
{
	char *text = malloc(10001), buf[FRAG_PRINTABLE_ROOM];

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 10000);
	text[10000] = '\0';
	assert_ptr_equal(frag_printable(buf, text), text);
	text[9999] = '\n';
	assert_ptr_equal(frag_printable(buf, text), buf);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
