/* test_parse_glob.c - patterns of names. */
#include "support/unit.h"

#include <string.h>

#include "base/parse.h"

static void test_fits(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} cases[] = {
		{ "", "", true }, { "", "a", false }, { "a", "", false }, { "*", "", true },
		{ "?", "", false }, { "step", "step", true }, { "step", "step0", false },
		{ "step0", "step", false }, { "step*", "step", true }, { "step*", "step12 fwd", true },
		{ "step? fwd*", "step1 fwd len992", true }, { "step? fwd*", "step12 fwd", false },
		{ "*fwd", "step fwd fwd", true }, { "*fwd", "fwd fw", false },
		{ "a*b*c", "a-b-b-c", true }, { "a*b*c", "a-c-b", false }, { "**", "x", true },
		{ "a*", "ba", false }, { "[0-9]", "1", false }, { "[0-9]", "[0-9]", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(frag_glob_fits(cases[i].pattern, cases[i].text,
						strlen(cases[i].text)), cases[i].fits);
	/* a text ends where its length says */
	assert_true(frag_glob_fits("ab", "abc", 2));
}

/* All patterns and texts of up to four characters, against the definition, which tries all. */
static bool fits_slowly(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (*pattern == '*')
		return fits_slowly(pattern + 1, text) || (*text && fits_slowly(pattern, text + 1));
	return *text && (*pattern == '?' || *pattern == *text) && fits_slowly(pattern + 1, text + 1);
}

/* The i-th word of the letters, the shorter ones first. */
static void word(char out[8], unsigned i, const char *letters)
{
	const unsigned n = (unsigned)strlen(letters);
	unsigned length = 0;

	for (; i; i = (i - 1) / n)
		out[length++] = letters[(i - 1) % n];
	out[length] = '\0';
}

static void test_all(void **state)
{
	char pattern[8], text[8];

	(void)state;
	for (unsigned i = 0; i < 1 + 4 + 16 + 64 + 256 + 1024; i++)
		for (unsigned k = 0; k < 1 + 2 + 4 + 8 + 16 + 32; k++) {
			word(pattern, i, "ab*?");
			word(text, k, "ab");
			assert_int_equal(frag_glob_fits(pattern, text, strlen(text)),
					 fits_slowly(pattern, text));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
