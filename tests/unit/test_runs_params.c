/* test_runs_params.c - the parameters of a policy as text, and found in it. */
#include "support/unit.h"

#include <stdlib.h>
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
		const char *value = frag_params_find(params, wanted[i].key,
						     strlen(wanted[i].key), &length);

		if (!wanted[i].value) {
			assert_null(value);
			continue;
		}
		assert_non_null(value);
		assert_int_equal(length, strlen(wanted[i].value));
		assert_memory_equal(value, wanted[i].value, length);
	}
}

/* The defaults of bestfit in fragsim-policies(7), and what was given. */
static void every_key_has_its_value(void **state)
{
	static const char *const wanted[][2] = {
		{ "bestfit", "align=512,segment=2097152,pool=0,min_split=512,release=true" },
		{ "bestfit:release=false,align=1KiB",
		  "align=1024,segment=2097152,pool=0,min_split=1024,release=false" },
		{ "direct", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct frag_choice choice;
		char *text;

		assert_int_equal(frag_choice_parse(&choice, wanted[i][0], NULL), 0);
		text = frag_params_text(&choice);
		assert_non_null(text);
		assert_string_equal(text, wanted[i][1]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_values),
		cmocka_unit_test(every_key_has_its_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
