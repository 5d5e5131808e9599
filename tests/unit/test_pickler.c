/*
 * test_pickler.c - opcodes of a pickle, byte by byte.
 *
 * The bytes are what Python's pickle module writes for these values, protocol 2,
 * and by its documentation those that it never writes but reads.
 */
#include "answers/pickler.h"
#include "support/unit.h"

static void check(const char *from, const char *to, const char *want, size_t length)
{
	assert_int_equal(to - from, length);
	assert_memory_equal(from, want, length);
}

#define BYTES(text) text, sizeof(text) - 1

static void test_whole_numbers(void **state)
{
	static const struct {
		uint64_t value;
		const char *want;
		size_t length;
	} cases[] = {
		{ 0, BYTES("K\0") },
		{ 255, BYTES("K\xff") },
		{ 256, BYTES("M\0\1") },
		{ 65535, BYTES("M\xff\xff") },
		{ 65536, BYTES("J\0\0\1\0") },
		{ 2147483647, BYTES("J\xff\xff\xff\x7f") },
		/* the highest bit would be the sign */
		{ 2147483648, BYTES("\x8a\5\0\0\0\x80\0") },
		{ 549755813887, BYTES("\x8a\5\xff\xff\xff\xff\x7f") },
		{ 549755813888, BYTES("\x8a\6\0\0\0\0\x80\0") },
		{ UINT64_C(1) << 44, BYTES("\x8a\6\0\0\0\0\0\x10") },
		{ INT64_MAX, BYTES("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f") },
		{ UINT64_C(1) << 63, BYTES("\x8a\x09\0\0\0\0\0\0\0\x80\0") },
		{ UINT64_MAX, BYTES("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0") },
	};
	char got[FRAG_PICKLE_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(got, frag_pickle_u64(got, cases[i].value), cases[i].want, cases[i].length);
}

static void test_signed_numbers(void **state)
{
	char got[FRAG_PICKLE_ROOM];

	(void)state;
	check(got, frag_pickle_i64(got, 7), BYTES("K\7"));
	check(got, frag_pickle_i64(got, -1), BYTES("J\xff\xff\xff\xff"));
	check(got, frag_pickle_i64(got, INT32_MIN), BYTES("J\0\0\0\x80"));
	check(got, frag_pickle_i64(got, (int64_t)INT32_MIN - 1),
	      BYTES("\x8a\x08\xff\xff\xff\x7f\xff\xff\xff\xff"));
}

static void test_the_rest(void **state)
{
	char got[64];

	(void)state;
	check(got, frag_pickle_real(got, 0.5), BYTES("G?\xe0\0\0\0\0\0\0"));
	check(got, frag_pickle_bool(got, true), BYTES("\x88"));
	check(got, frag_pickle_bool(got, false), BYTES("\x89"));
	check(got, frag_pickle_op(got, FRAG_PICKLE_TUPLE2), BYTES("\x86"));
	check(got, frag_pickle_text(got, "ab", 2), BYTES("X\2\0\0\0ab"));
	check(got, frag_pickle_text(got, "", 0), BYTES("X\0\0\0\0"));
	/* the length is that of what is written */
	check(got, frag_pickle_text(got, "a\xff", 2), BYTES("X\4\0\0\0a\xef\xbf\xbd"));
	check(got, frag_pickle_put(got, 255), BYTES("q\xff"));
	check(got, frag_pickle_put(got, 256), BYTES("r\0\1\0\0"));
	check(got, frag_pickle_get(got, 7), BYTES("h\7"));
	check(got, frag_pickle_get(got, 4096), BYTES("j\0\x10\0\0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_signed_numbers),
		cmocka_unit_test(test_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
