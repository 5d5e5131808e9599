/* test_recordings_number.c - texts that tell at which number a program was recorded. */
#include "support/unit.h"

#include <string.h>

#include "transform/recordings.h"

struct text_case {
	const char *a;
	uint32_t a_number;
	const char *b;
	uint32_t b_number;
	const char *at_1024;            /* NULL: they are not the same */
};

static const struct text_case cases[] = {
	{ "step0 len256", 256, "step0 len512", 512, "step0 len1024" },
	{ "", 2, "", 4, "" },
	{ "fwd", 2, "fwd", 4, "fwd" },
	{ "2", 2, "4", 4, "1024" },
	{ "2x2", 2, "4x2", 4, "1024x2" },
	{ "a9", 9, "a10", 10, "a1024" },
	/* a step and a layer are no number of the recording's, though they look like it */
	{ "step2 batch2", 2, "step2 batch4", 4, "step2 batch1024" },
	/* not its own, a digit beside it, a zero before it, the wrong way round */
	{ "len344", 2, "len872", 4, NULL },
	{ "len12", 2, "len14", 4, NULL },
	{ "len20", 2, "len40", 4, NULL },
	{ "len02", 2, "len04", 4, NULL },
	{ "len4", 2, "len2", 4, NULL },
	{ "len2", 2, "len2 ", 4, NULL },
	{ "len2", 2, "len4 ", 4, NULL },
	{ "len2x", 2, "len4", 4, NULL },
	{ "xlen2", 2, "ylen4", 4, NULL },
	{ "", 2, "4", 4, NULL },
	{ "len0", 0, "len16777215", 16777215, "len1024" },
};

static struct frag_text text_of(const char *text)
{
	return (struct frag_text){ .text = text, .length = (uint32_t)strlen(text) };
}

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct text_case *c = &cases[i];
		const struct frag_text a = text_of(c->a), b = text_of(c->b);
		char out[FRAG_OWN_NUMBER_ROOM(16)];
		struct frag_text at;

		if (frag_text_same_except_number(a, c->a_number, b, c->b_number) != (c->at_1024 != NULL)
		    || frag_text_same_except_number(b, c->b_number, a, c->a_number) != (c->at_1024 != NULL))
			fail_msg("'%s' and '%s'", c->a, c->b);
		if (!c->at_1024)
			continue;
		at = frag_own_number_at(a, b, 1024, out);
		if (at.length != strlen(c->at_1024) || memcmp(at.text, c->at_1024, at.length) != 0)
			fail_msg("'%s' at 1024 is '%.*s'", c->a, (int)at.length, at.text);
	}
}

/* Every digit may be a number of its own, and each becomes the longest there is. */
static void test_room(void **state)
{
	static const char a[] = "1 1 1 1 1 1 1 1 ", b[] = "2 2 2 2 2 2 2 2 ";
	char out[FRAG_OWN_NUMBER_ROOM(sizeof(a) - 1)];
	const struct frag_text at = frag_own_number_at(text_of(a), text_of(b), UINT32_MAX, out);

	(void)state;
	assert_int_equal(at.length, 8 * 11);
	assert_memory_equal(at.text, "4294967295 4294967295 ", 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
