/* test_parse_list.c - names in a sentence, and what does not fit into one. */
#include <string.h>

#include "base/parse.h"
#include "support/unit.h"

static void test_sentences(void **state)
{
	static const struct {
		const char *names[4], *text;
	} cases[] = {
		{ { NULL }, "" },
		{ { "a", NULL }, "a" },
		{ { "a", "b", NULL }, "a or b" },
		{ { "top", "all", "none", NULL }, "top, all or none" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_name_list l = { .used = 0 };

		for (uint32_t k = 0; cases[i].names[k]; k++)
			frag_listed_add(&l, cases[i].names[k]);
		assert_string_equal(frag_listed_text(&l, " or "), cases[i].text);
	}
}

static void test_what_does_not_fit(void **state)
{
	struct frag_name_list l = { .used = 0 };
	const char *text;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		frag_listed_add(&l, "minimalloc");
	text = frag_listed_text(&l, " or ");
	assert_int_equal(strlen(text), sizeof(l.text) - 1);
	assert_memory_equal(text, "minimalloc, minimalloc, ", 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
