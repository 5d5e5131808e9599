/* test_error.c - codes, messages, exit statuses; a bug stops the program. */
#include <string.h>

#include "base/bug.h"
#include "fragsim/error.h"
#include "support/child.h"
#include "support/unit.h"

/* The statuses of fragsim(1), EXIT STATUS, and of 4 that a policy which lies is a bad plug-in. */
static void test_statuses(void **state)
{
	static const struct {
		enum frag_error_code code;
		int status;
	} cases[] = {
		{ FRAG_EOK, 0 }, { FRAG_EUSAGE, 2 }, { FRAG_ETRACE, 4 }, { FRAG_EPOLICY, 4 },
		{ FRAG_EDEVICE, 5 }, { FRAG_EDEVMEM, 3 }, { FRAG_EOUTPUT, 6 }, { FRAG_EPIPE, 6 },
		{ FRAG_ECHECK, 1 }, { FRAG_EINTERRUPTED, 130 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		assert_int_equal(frag_error_status(-(int)cases[i].code), cases[i].status);
	assert_int_not_equal(frag_error_status(-FRAG_ENOMEM), 0);
}

static void test_message(void **state)
{
	struct frag_error err = { .code = 7 };

	(void)state;
	assert_int_equal(frag_fail(&err, FRAG_ETRACE, "%s:%d: %c", "a.json", 12, 'x'),
			 -FRAG_ETRACE);
	assert_int_equal(err.code, -FRAG_ETRACE);
	assert_string_equal(err.message, "a.json:12: x");
	assert_int_equal(frag_fail_nomem(&err), -FRAG_ENOMEM);
	assert_int_equal(err.code, -FRAG_ENOMEM);
	assert_string_equal(err.message, "out of host memory");
}

/* Nobody need listen. */
static void test_no_listener(void **state)
{
	(void)state;
	assert_int_equal(frag_fail(NULL, FRAG_EUSAGE, "%d", 1), -FRAG_EUSAGE);
	assert_int_equal(frag_fail_nomem(NULL), -FRAG_ENOMEM);
}

static void test_long_message(void **state)
{
	struct {
		struct frag_error err;
		char behind[8];
	} box = { .behind = "behind" };
	char text[3000];

	(void)state;
	memset(text, 'm', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	frag_fail(&box.err, FRAG_EUSAGE, "%s", text);
	assert_int_equal(strlen(box.err.message), sizeof(box.err.message) - 1);
	assert_memory_equal(box.err.message, text, sizeof(box.err.message) - 1);
	assert_string_equal(box.behind, "behind");
}

static int stop(void)
{
	FRAG_BUG("cannot be");
}

static int positive_code(void)
{
	return frag_error_status(1);
}

static int unknown_code(void)
{
	return frag_error_status(-1000);
}

static void test_bugs_abort(void **state)
{
	(void)state;
	assert_int_equal(child_run(stop), -1);
	assert_int_equal(child_run(positive_code), -1);
	assert_int_equal(child_run(unknown_code), -1);
}

static int broken_precondition(void)
{
	const int held = 1;

	FRAG_ASSERT(held == 2);
	return 0;
}

/* Where assertions are on, the condition is looked at once; else never. */
static void test_assertions(void **state)
{
	int looked = 0;

	(void)state;
	FRAG_ASSERT(++looked == 1);
#ifdef NDEBUG
	assert_int_equal(looked, 0);
	assert_int_equal(child_run(broken_precondition), 0);
#else
	assert_int_equal(looked, 1);
	assert_int_equal(child_run(broken_precondition), -1);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_no_listener),
		cmocka_unit_test(test_long_message),
		cmocka_unit_test(test_bugs_abort),
		cmocka_unit_test(test_assertions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
