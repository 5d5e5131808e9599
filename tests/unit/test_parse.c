/* test_parse.c - sizes and numbers as people write them. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "support/random.h"
#include "support/unit.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define LAST ((UINT64_C(1) << 53) - 1)

struct size_case {
	const char *text;
	uint64_t bytes;
};

static const struct size_case whole[] = {
	{ "0", 0 }, { "1", 1 }, { "007", 7 }, { "960000000", 960000000 },
	{ "9007199254740991", LAST }, { "0K", 0 },
	{ "1K", KIB }, { "1KiB", KIB }, { "20MiB", 20 * MIB }, { "20M", 20 * MIB },
	{ "3G", 3 * GIB }, { "3GiB", 3 * GIB }, { "2T", 2 * TIB }, { "2TiB", 2 * TIB },
	{ "8191T", 8191 * TIB }, { "8796093022207K", 8796093022207 * KIB },
};

static const struct size_case fractions[] = {
	{ "4.5GiB", 4 * GIB + GIB / 2 }, { "0.5K", 512 }, { "1.0", 1 }, { "7.000", 7 },
	{ "0.125K", 128 }, { "0.0009765625K", 1 }, { "1.0009765625K", 1025 },
	{ "8191.5T", 8191 * TIB + TIB / 2 }, { "0.25M", 256 * KIB }, { "2.750G", 2816 * MIB },
	{ "0.00000095367431640625M", 1 }, { "1.00000000000000000000000000000", 1 },
	{ "0.0000000000009094947017729282379150390625T", 1 },
	{ "8191.9999999999990905052982270717620849609375T", LAST },
	{ "0.9999999999990905052982270717620849609375000000T", TIB - 1 },
};

static const char *const refused[] = {
	"", " ", "K", "KiB", "-1", "+1", "1 ", " 1", "1k", "1KB", "1Ki", "1KiBs", "1iB", "1B",
	"0x10", "1e3", "1,000", "1_000", "one", "1MM", "1MiBMiB", "1 KiB", "1P", "1E",
	"9007199254740992", "8192T", "8796093022208K", "18446744073709551616",
	"18446744073709551617", "99999999999999999999999999", "36893488147419103233K",
};

static const char *const refused_fractions[] = {
	"1.", ".5K", "1.5", "0.1K", "0.3", "1.2.3K", "1..5K", "1.5x", "1.-5K", "0.0001K",
	"8192.0T", "9007199254740992.0", "0.99999999999999999T", "1.e3K", "0.00048828125K",
	"0.00000000000045474735088646411895751953125T", "1.00000000000000000000000000001K",
	"0.0000000000000000000000000000000000000000000000000000000000000000000001T",
};

static const struct { const char *text, *advice; } advised[] = {
	{ "80GB", "use 80GiB, or bytes" }, { "80g", "use 80GiB, or bytes" },
	{ "16 GiB", "use 16GiB, or bytes" }, { "4.5 gb", "use 4.5GiB, or bytes" },
	{ "7kIb", "use 7KiB, or bytes" }, { "512m", "use 512MiB, or bytes" },
	{ "2tb", "use 2TiB, or bytes" }, { "1.5", "it is no whole number of bytes; use 1.5GiB" },
	{ "0.1K", "it is no whole number of bytes" }, { "8192T", "it is not below 2^53 bytes" },
	{ "9007199254740992", "it is not below 2^53 bytes" }, { "3PiB", "the largest unit is TiB" },
	{ "-1", "a size has no sign" }, { "+1GiB", "a size has no sign" },
	{ "", "" }, { "GiB", "" }, { "1e9", "" }, { "0x10", "" }, { "much", "" }, { "1GiBs", "" },
	{ "99999999999999999999999999", "" },
};

static void test_advice(void **state)
{
	char buf[FRAG_ADVICE_ROOM];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(advised); i++)
		assert_string_equal(frag_size_advice(buf, advised[i].text,
						     strlen(advised[i].text)), advised[i].advice);
	/* nothing behind the length is looked at */
	assert_string_equal(frag_size_advice(buf, "80GB", 3), "use 80GiB, or bytes");
}

static bool parse(const char *text, bool fraction, uint64_t *bytes)
{
	return frag_parse_size(text, strlen(text), fraction, bytes);
}

static void test_whole_sizes(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(whole); i++) {
		uint64_t plain = ~whole[i].bytes, with = ~whole[i].bytes;

		assert_true(parse(whole[i].text, false, &plain));
		assert_true(parse(whole[i].text, true, &with));
		assert_int_equal(plain, whole[i].bytes);
		assert_int_equal(with, whole[i].bytes);
	}
}

static void test_fractions(void **state)
{
	uint64_t bytes;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(fractions); i++) {
		assert_false(parse(fractions[i].text, false, &bytes));
		if (!parse(fractions[i].text, true, &bytes) || bytes != fractions[i].bytes)
			fail_msg("%s", fractions[i].text);
	}
}

static void test_junk(void **state)
{
	uint64_t bytes;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(refused); i++)
		if (parse(refused[i], false, &bytes) || parse(refused[i], true, &bytes))
			fail_msg("\"%s\" is taken for a size", refused[i]);
	for (uint32_t i = 0; i < LENGTH(refused_fractions); i++)
		if (parse(refused_fractions[i], true, &bytes))
			fail_msg("\"%s\" is taken for a size", refused_fractions[i]);
}

/* The text need not end in a NUL, and a NUL is as bad as any other byte. */
static void test_length_counts(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_true(frag_parse_size("12345K", 3, true, &bytes));
	assert_int_equal(bytes, 123);
	assert_true(frag_parse_size("1KiBx", 4, true, &bytes));
	assert_int_equal(bytes, 1024);
	assert_false(frag_parse_size("1\0K", 3, true, &bytes));
	assert_false(frag_parse_size("1K\0", 3, true, &bytes));
	assert_false(frag_parse_size("1.5K", 2, true, &bytes));
}

/* n/1024 of a KiB, MiB, ...: written out in full, it comes to whole bytes. */
static void test_every_binary_fraction(void **state)
{
	static const char letters[] = "KMGT";

	(void)state;
	for (uint32_t n = 0; n < 1024; n++) {
		for (uint32_t unit = 0; unit < 4; unit++) {
			uint64_t bytes, shift = 10 * (unit + 1);
			char text[64];

			snprintf(text, sizeof(text), "3.%010llu%c",
				 (unsigned long long)n * 9765625, letters[unit]);
			assert_true(parse(text, true, &bytes));
			assert_int_equal(bytes, (UINT64_C(3) << shift)
						| (uint64_t)n << (shift - 10));
		}
	}
}

static void test_counts(void **state)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "1K", "1.0", "0x1", "9007199254740992", "1e1",
		"18446744073709551617", "999999999999999999999999",
	};
	uint64_t n;

	(void)state;
	assert_true(frag_parse_count("0", 1, &n));
	assert_int_equal(n, 0);
	assert_true(frag_parse_count("9007199254740991", 16, &n));
	assert_true(n == LAST);
	for (uint32_t i = 0; i < LENGTH(bad); i++)
		assert_false(frag_parse_count(bad[i], strlen(bad[i]), &n));
}

static void test_random_numbers(void **state)
{
	uint64_t random = 2;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		uint64_t want = random_u64(&random) >> random_below(&random, 64), got;
		char text[64];
		bool good;

		snprintf(text, sizeof(text), "%llu", (unsigned long long)want);
		good = frag_parse_count(text, strlen(text), &got);
		assert_int_equal(good, want < FRAG_SIZE_LIMIT);
		assert_int_equal(parse(text, i % 2, &got), want < FRAG_SIZE_LIMIT);
		if (good)
			assert_true(got == want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_sizes),
		cmocka_unit_test(test_advice),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_junk),
		cmocka_unit_test(test_length_counts),
		cmocka_unit_test(test_every_binary_fraction),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
