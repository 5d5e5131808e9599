/*
 * test_format.c - numbers as printf prints them, strings as JSON and CSV want them.
 *
 * What printf says is right for numbers; what JSON and CSV should look like is
 * written out by hand, or decided by a small decoder of strict UTF-8 here.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/parse.h"
#include "support/random.h"
#include "support/unit.h"

static void check_fixed4(double value)
{
	char got[FRAG_NUMBER_ROOM + 1], want[400];

	*frag_put_fixed4(got, value) = '\0';
	snprintf(want, sizeof(want), "%.4f", value);
	assert_string_equal(got, want);
	if (!isnan(value))
		assert_true(frag_fixed4(value) == strtod(want, NULL));
}

static void check_hundredths(double percent)
{
	char want[64];
	char *point;

	snprintf(want, sizeof(want), "%.2f", percent);
	point = strchr(want, '.');
	memmove(point, point + 1, strlen(point));
	assert_int_equal(frag_hundredths(percent), strtoul(want, NULL, 10));
}

/* No bytes may stand nowhere; a sanitizer watches. */
static void test_nothing(void **state)
{
	char text[8];

	(void)state;
	*frag_put_json(text, NULL, 0) = '\0';
	assert_string_equal(text, "\"\"");
	assert_ptr_equal(frag_put_utf8(text, NULL, 0), text);
	assert_ptr_equal(frag_put_csv(text, NULL, 0), text);
}

static void check_percent(double percent)
{
	check_fixed4(percent);
	check_hundredths(percent);
	if (percent > 0) {
		check_fixed4(nextafter(percent, 0));
		check_hundredths(nextafter(percent, 0));
	}
	check_fixed4(nextafter(percent, 200));
	check_hundredths(nextafter(percent, 200));
}

/* Where the exact value lies in the middle of two, and next to it. */
static void test_ties(void **state)
{
	(void)state;
	for (uint32_t k = 0; k <= 100 * 32; k++)
		check_percent(k / 32.0);        /* exact ties at the fifth place */
	for (uint32_t k = 0; k <= 100 * 8; k++)
		check_percent(k / 8.0);         /* and at the third */
	for (uint32_t k = 0; k <= 20000; k++) {
		check_percent(100.0 * k / 20000);
		check_percent(k / 20000.0 * 100);
		check_percent(100.0 * (1.0 - k / 20000.0));
	}
	for (uint32_t k = 1; k < 200000; k += 2)
		check_fixed4(k / 20000.0);      /* near ties at the fifth place */
}

static void test_random_percentages(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t whole = random_size(&random, 53);
		uint64_t part = random_below(&random, whole + 1);

		check_fixed4(100.0 * (1.0 - (double)part / (double)whole));
		check_hundredths(100.0 * (1.0 - (double)part / (double)whole));
		check_fixed4(100.0 * (double)part / (double)whole);
		check_fixed4((double)(random_u64(&random) >> 11) * 0x1p-53 * 100);
	}
}

static void test_fixed4_beyond_percentages(void **state)
{
	static const double values[] = {
		0.0, 1e-300, 4.9e-5, 5e-5, 5.1e-5, 0.99995, 999999999.99994, 999999999.99996,
		1e9, 1e9 + 0.00005, 123456789012.5, 9007199254740992.0, 1e20, -0.00001, -1.5, -70,
		INFINITY, -INFINITY, NAN,
	};
	uint64_t random = 3;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(values); i++)
		check_fixed4(values[i]);
	for (uint32_t i = 0; i < 300000; i++)
		check_fixed4(ldexp((double)(random_u64(&random) >> 11),
				   -53 + (int)random_below(&random, 40)));
}

/* -0 is a double too: "exactly as printf's %.4f". */
static void test_fixed4_negative_zero(void **state)
{
	(void)state;
	check_fixed4(-0.0);
}

static void test_hundredths_by_hand(void **state)
{
	(void)state;
	assert_int_equal(frag_hundredths(0), 0);
	assert_int_equal(frag_hundredths(100), 10000);
	assert_int_equal(frag_hundredths(3.125), 312);          /* a tie, to even */
	assert_int_equal(frag_hundredths(3.375), 338);
	assert_int_equal(frag_hundredths(70), 7000);
	assert_int_equal(frag_hundredths(1.005), 100);          /* the double is just below */
	assert_int_equal(frag_hundredths(0.005), 1);            /* and this one just above */
	assert_int_equal(frag_hundredths(99.995), 10000);       /* likewise */
}

static void check_u64(uint64_t value)
{
	char got[FRAG_NUMBER_ROOM + 1], want[64];

	*frag_put_u64(got, value) = '\0';
	snprintf(want, sizeof(want), "%" PRIu64, value);
	assert_string_equal(got, want);
	*frag_put_i64(got, (int64_t)value) = '\0';
	snprintf(want, sizeof(want), "%" PRId64, (int64_t)value);
	assert_string_equal(got, want);
}

static void test_integers(void **state)
{
	uint64_t random = 5, power = 1;

	(void)state;
	for (uint64_t i = 0; i < 2000; i++)
		check_u64(i);
	for (uint32_t i = 0; i < 20; i++, power *= 10) {
		check_u64(power - 1);
		check_u64(power);
		check_u64(power + 1);
	}
	check_u64(UINT64_MAX);
	check_u64((uint64_t)INT64_MAX);
	check_u64((uint64_t)INT64_MIN);
	for (uint32_t i = 0; i < 100000; i++)
		check_u64(random_u64(&random) >> random_below(&random, 64));
}

static void expect_json(const char *text, size_t length, const char *want)
{
	char got[4096];

	assert_true(6 * length + 3 <= sizeof(got));
	*frag_put_json(got, text, length) = '\0';
	assert_string_equal(got, want);
	assert_true(strlen(got) <= 6 * length + 2);
}

static void test_json(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "\"\"" },
		{ "conv1.weight", "\"conv1.weight\"" },
		{ " !#[]~/", "\" !#[]~/\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"" },
		{ "\xc2\x80", "\"\\u0080\"" },
		{ "\xc3\xa9\xdf\xbf", "\"\\u00e9\\u07ff\"" },
		{ "\xe0\xa0\x80\xe2\x82\xac", "\"\\u0800\\u20ac\"" },
		{ "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", "\"\\ud7ff\\ue000\\uffff\"" },
		{ "\xf0\x90\x80\x80", "\"\\ud800\\udc00\"" },
		{ "\xf0\x9f\x98\x80!", "\"\\ud83d\\ude00!\"" },
		{ "\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\"" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		expect_json(cases[i].text, strlen(cases[i].text), cases[i].want);
	expect_json("a\0b", 3, "\"a\\u0000b\"");
}

/* Length of the well-formed sequence at p (Unicode 3.9, table 3-7), or 0. */
static size_t strict_length(const unsigned char *p, size_t n)
{
	uint32_t code;

	if (n >= 1 && p[0] < 0x80)
		return 1;
	if (n >= 2 && (p[0] & 0xe0) == 0xc0 && (p[1] & 0xc0) == 0x80)
		return ((p[0] & 0x1fU) << 6 | (p[1] & 0x3fU)) >= 0x80 ? 2 : 0;
	if (n >= 3 && (p[0] & 0xf0) == 0xe0 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80) {
		code = (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
		return code >= 0x800 && (code < 0xd800 || code > 0xdfff) ? 3 : 0;
	}
	if (n >= 4 && (p[0] & 0xf8) == 0xf0 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80
	    && (p[3] & 0xc0) == 0x80) {
		code = (p[0] & 7U) << 18 | (p[1] & 0x3fU) << 12;
		return code >= 0x10000 && code <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

/* Is every \u escape of the JSON text a whole character? */
static bool whole_characters(const char *json)
{
	for (const char *p = json; (p = strstr(p, "\\u")); p += 6) {
		unsigned long unit = strtoul((char[]){ p[2], p[3], p[4], p[5], 0 }, NULL, 16);

		if (unit >= 0xdc00 && unit <= 0xdfff)
			return false;
		if (unit < 0xd800 || unit > 0xdbff)
			continue;
		unit = p[6] == '\\' ? strtoul((char[]){ p[8], p[9], p[10], p[11], 0 }, NULL, 16) : 0;
		if (unit < 0xdc00 || unit > 0xdfff)
			return false;
		p += 6;
	}
	return true;
}

/* What is no UTF-8 becomes U+FFFD: never a lone surrogate, never another character. */
static void check_broken_utf8(const char *bytes, size_t n)
{
	char got[64];

	*frag_put_json(got, bytes, n) = '\0';
	if (strict_length((const unsigned char *)bytes, n) == n)
		return;
	if (!strstr(got, "\\ufffd") || !whole_characters(got))
		fail_msg("%02x %02x %02x %02x gives %s", (unsigned char)bytes[0],
			 (unsigned char)bytes[1], n > 2 ? (unsigned char)bytes[2] : 0,
			 n > 3 ? (unsigned char)bytes[3] : 0, got);
}

static void test_json_of_broken_utf8(void **state)
{
	static const unsigned char second[] = { 0x00, 0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
						0xbf, 0xc0, 0xff };

	(void)state;
	for (unsigned first = 0x80; first < 0x100; first++) {
		for (uint32_t i = 0; i < LENGTH(second); i++) {
			const char bytes[4] = { (char)first, (char)second[i], (char)0x80,
						(char)0xbf };

			for (size_t n = 2; n <= 4; n++)
				if (first >= 0xc0 || n == 2)
					check_broken_utf8(bytes, n);
		}
	}
}

static void test_csv(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "" },
		{ "plain 0x7f", "plain 0x7f" },
		{ "a,b", "\"a,b\"" },
		{ "say \"hi\"", "\"say \"\"hi\"\"\"" },
		{ "\"", "\"\"\"\"" },
		{ "two\nlines", "\"two\nlines\"" },
		{ "cr\r", "\"cr\r\"" },
		{ "caf\xc3\xa9;\t'", "caf\xc3\xa9;\t'" },
	};
	char got[64];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		*frag_put_csv(got, cases[i].text, strlen(cases[i].text)) = '\0';
		assert_string_equal(got, cases[i].want);
	}
}

/* A unit begins at 1 of it, or where two decimals would say 1024 of the one below. */
static void test_sizes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0 bytes" }, { 1, "1 byte" }, { 2, "2 bytes" }, { 1023, "1023 bytes" },
		{ 1024, "1.00 KiB" }, { 1536, "1.50 KiB" }, { 1048570, "1023.99 KiB" },
		{ 1048571, "1.00 MiB" }, { 1 << 20, "1.00 MiB" }, { UINT64_C(916) << 20, "916.00 MiB" },
		{ 1 << 30, "1.00 GiB" }, { UINT64_C(80) << 30, "80.00 GiB" },
		{ UINT64_C(1) << 40, "1.00 TiB" }, { UINT64_C(3) << 39, "1.50 TiB" },
		{ UINT64_C(1) << 50, "1.00 PiB" }, { (UINT64_C(1) << 53) - 1, "8.00 PiB" },
		{ UINT64_C(1) << 60, "1024.00 PiB" },
	};
	char got[FRAG_NUMBER_ROOM];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		assert_string_equal(frag_size_text(got, cases[i].bytes), cases[i].want);
}

/* In the largest unit in which it is a whole number, but no larger than GiB; read back, the same. */
static void test_utf8(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xef\xbf\xbd", "\xef\xbf\xbd" },     /* U+FFFD itself */
		{ "\xc3", "\xef\xbf\xbd" },             /* cut off */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },     /* a surrogate */
		{ "\xc0\xaf/", "\xef\xbf\xbd\xef\xbf\xbd/" },   /* longer than need be */
	};
	char got[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		*frag_put_utf8(got, cases[i].text, strlen(cases[i].text)) = '\0';
		assert_string_equal(got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_random_percentages),
		cmocka_unit_test(test_fixed4_beyond_percentages),
		cmocka_unit_test(test_fixed4_negative_zero),
		cmocka_unit_test(test_hundredths_by_hand),
		cmocka_unit_test(test_integers),
			cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_of_broken_utf8),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
