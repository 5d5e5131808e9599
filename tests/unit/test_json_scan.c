/*
 * test_json_scan.c - JSON as RFC 8259 says, byte class by byte class, against rules
 * written out here in another way: UTF-8 by decoding and looking at the number,
 * numbers by a table of states.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/unit.h"
#include "input/json_scan.h"

#define SLACK 16        /* zeros behind a window, as the scanner requires them */
#define ROOM 512

/* A window that ends where its memory ends, for sanitizers to see. */
struct window {
	char *memory, *begin;
	char scratch[ROOM];
	struct frag_scan scan;
};

static void open_window(struct window *w, const char *bytes, size_t n)
{
	w->memory = malloc(n + SLACK);
	assert_non_null(w->memory);
	w->begin = w->memory;
	memcpy(w->begin, bytes, n);
	memset(w->begin + n, 0, SLACK);
	w->scan = (struct frag_scan){ .end = w->begin + n, .scratch = w->scratch };
}

/* In memory of its own accord: for the loops over very many. */
static void quick_window(struct window *w, char memory[ROOM], const void *bytes, size_t n)
{
	memcpy(memory, bytes, n);
	memset(memory + n, 0, SLACK);
	w->begin = memory;
	w->scan = (struct frag_scan){ .end = memory + n, .scratch = w->scratch };
}

/* UTF-8 by its meaning: bits put together, and no number in two ways. 0: no character. */
static size_t character(const unsigned char *p, size_t n)
{
	size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3
		      : p[0] < 0xf8 ? 4 : 0;
	uint32_t code, shortest;

	if (length <= 1)
		return length;
	if (length > n)
		return 0;
	code = p[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
		code = code * 64 + (p[i] - 0x80U);
	}
	shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	if (shortest != length || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

/* May these bytes, without a backslash, stand before a closing quote? *at: where one does. */
static bool plain_string(const unsigned char *p, size_t n, size_t *at)
{
	for (*at = 0; *at < n && p[*at] != '"';) {
		size_t length = p[*at] < 0x20 ? 0 : character(p + *at, n - *at);

		if (!length)
			return false;
		*at += length;
	}
	return *at < n;
}

/* bytes[0..n) hold no backslash and a quote somewhere. */
static void check_plain(const unsigned char *bytes, size_t n)
{
	struct window w;
	struct frag_text text;
	char memory[ROOM];
	const char *end;
	size_t at;
	bool good = plain_string(bytes, n, &at);

	quick_window(&w, memory, bytes, n);
	end = frag_scan_string(&w.scan, w.begin, &text);
	if (good != !!end || (good && (end != w.begin + at + 1 || text.length != at
				       || text.text != w.begin)))
		fail_msg("%02x %02x %02x %02x is %s", bytes[0], bytes[1], bytes[2], bytes[3],
			 end ? "taken" : "refused");
	if (!end && w.scan.fail != FRAG_SCAN_BAD)
		fail_msg("%02x %02x %02x %02x is no use, more or not", bytes[0], bytes[1],
			 bytes[2], bytes[3]);
}

/* Each sequence of one to three bytes between quotes. */
static void test_every_three_bytes(void **state)
{
	unsigned char bytes[8];

	(void)state;
	for (uint32_t all = 0; all < 1 << 24; all++) {
		memcpy(bytes, (unsigned char[]){ (unsigned char)(all >> 16),
			(unsigned char)(all >> 8), (unsigned char)all, '"', ',', '"' }, 6);
		/* escapes have their own tests; of ASCII's letters a few will do */
		if (bytes[0] == '\\' || bytes[1] == '\\' || bytes[2] == '\\'
		    || (bytes[0] > 'C' && bytes[0] < 'z'))
			continue;
		check_plain(bytes, 6);
	}
}

/* Four bytes: every first and second one, and the borders of the classes of the others. */
static void test_four_bytes(void **state)
{
	static const unsigned char borders[] = {
		0x00, 0x1f, 0x20, 0x22, 0x41, 0x7f, 0x80, 0x81, 0xbe, 0xbf, 0xc0, 0xc2, 0xe0,
		0xf0, 0xff,
	};

	(void)state;
	for (unsigned first = 0xe0; first < 0x100; first++)
		for (unsigned second = 0; second < 0x100; second++)
			for (uint32_t k = 0; k < LENGTH(borders) * LENGTH(borders); k++) {
				const unsigned char bytes[8] = {
					(unsigned char)first, (unsigned char)second,
					borders[k / LENGTH(borders)], borders[k % LENGTH(borders)],
					'"', ' ', '"',
				};

				if (second != '\\')
					check_plain(bytes, 7);
			}
}

/* Each byte at each place of a word of eight, and at each distance from the quote. */
static void test_every_byte_everywhere(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 0x100; byte++)
		for (size_t before = 0; before < 18; before++)
			for (size_t behind = 0; behind < 18; behind++) {
				unsigned char bytes[64];

				if (byte == '\\')
					continue;
				memset(bytes, 'a', sizeof(bytes));
				bytes[before] = (unsigned char)byte;
				bytes[before + 1 + behind] = '"';
				check_plain(bytes, before + behind + 2);
			}
}

/* What stands between the quotes of the JSON text, NULL where it must be refused. */
static void expect_inside(const char *inside, const char *want, size_t length)
{
	char bytes[ROOM];
	size_t n = strlen(inside);
	struct window w;
	struct frag_text text;
	const char *end;

	memcpy(bytes, inside, n);
	memcpy(bytes + n, "\" ,\"", 4);
	open_window(&w, bytes, n + 4);
	end = frag_scan_string(&w.scan, w.begin, &text);
	if (!want) {
		if (end || w.scan.fail != FRAG_SCAN_BAD)
			fail_msg("%s is not refused", inside);
	} else if (!end || end != w.begin + n + 1 || text.length != length
		   || memcmp(text.text, want, length) != 0) {
		fail_msg("%s is not taken, or not as it should be", inside);
	}
	free(w.memory);
}

static void test_short_escapes(void **state)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

	(void)state;
	for (int c = 1; c < 0x100; c++) {
		const char inside[] = { 'x', '\\', (char)c, 'y', '\0' };
		const char *letter = strchr(letters, c);

		if (letter) {
			const char want[] = { 'x', meanings[letter - letters], 'y' };

			expect_inside(inside, want, 3);
		} else {
			expect_inside(inside, NULL, 0);
		}
	}
}

/* UTF-8 as its definition draws it: x bits of the code from the right. */
static size_t encode(uint32_t code, char to[4])
{
	static const uint32_t beyond[] = { 0x80, 0x800, 0x10000, 0x110000 };
	static const unsigned first[] = { 0, 0xc0, 0xe0, 0xf0 };
	size_t length = 1;

	while (code >= beyond[length - 1])
		length++;
	for (size_t i = length; i-- > 1; code /= 64)
		to[i] = (char)(0x80 + code % 64);
	to[0] = (char)(first[length - 1] + code);
	return length;
}

static void test_every_unicode_escape(void **state)
{
	(void)state;
	for (uint32_t unit = 0; unit < 0x10000; unit++) {
		char inside[16], want[4];
		bool surrogate = unit >= 0xd800 && unit < 0xe000;

		snprintf(inside, sizeof(inside), unit % 3 ? "\\u%04x" : "\\u%04X", unit);
		expect_inside(inside, surrogate ? NULL : want, encode(unit, want));
	}
}

/* All pairs of surrogates: each is one character, and all of those beyond 2^16. */
static void test_every_pair(void **state)
{
	(void)state;
	for (uint32_t code = 0x10000; code < 0x110000; code++) {
		char bytes[32], want[4], memory[ROOM];
		struct window w;
		struct frag_text text;
		const char *end;

		memcpy(bytes, "\\ud800\\udc00\"", 14);
		for (int i = 0; i < 4; i++) {
			static const char hex[] = "0123456789aBcDeF";

			bytes[2 + i] = hex[(0xd800 + (code - 0x10000) / 1024) >> (12 - 4 * i) & 15];
			bytes[8 + i] = hex[(0xdc00 + code % 1024) >> (12 - 4 * i) & 15];
		}
		quick_window(&w, memory, bytes, 13);
		end = frag_scan_string(&w.scan, w.begin, &text);
		if (end != w.begin + 13 || text.length != 4 || encode(code, want) != 4
		    || memcmp(text.text, want, 4) != 0)
			fail_msg("%s is not U+%x", bytes, code);
	}
}

static void test_bad_escapes(void **state)
{
	static const char *const bad[] = {
		"\\u", "\\u1", "\\u12", "\\u123", "\\u 123", "\\u+123", "\\u12g4", "\\u-001",
		"\\U0041", "\\x41", "\\0", "\\a", "\\'", "\\u0x41",
		"\\ud800", "\\udbff ", "\\udc00", "\\udfff\\ud800", "\\ud800\\ud800",
		"\\ud800x\\udc00", "\\ud800\\n", "\\ud800\\u0041", "\\ud800\\ue000", "\\ud800\\udbff",
		"\\ud83d\\ude0", "\\ud83d\\u", "\\ud83dude00", "\\ud83d\\\\ude00",
		"a\\u00e9\xff", "\\n\x01", "\\n\xed\xa0\x80",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(bad); i++)
		expect_inside(bad[i], NULL, 0);
	for (int place = 0; place < 4; place++)
		for (int c = 1; c < 0x100; c++) {
			char inside[] = "\\u0041";
			bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')
				  || (c >= 'A' && c <= 'F');

			inside[2 + place] = (char)c;
			if (!digit)
				expect_inside(inside, NULL, 0);
		}
}

/* Strings with and without escapes, several in a row: each keeps its own text. */
static void test_strings_in_a_row(void **state)
{
	const char *bytes = "plain\"\\u00e9t\\u00e9\"\"caf\xc3\xa9 \\\"x\\\"\"\\\\\"";
	static const char *const want[] = {
		"plain", "\xc3\xa9t\xc3\xa9", "", "caf\xc3\xa9 \"x\"", "\\",
	};
	struct frag_text texts[5];
	struct window w;
	const char *p;

	(void)state;
	open_window(&w, bytes, strlen(bytes));
	p = w.begin;
	/* without opening quotes: the scanner is called behind them */
	for (uint32_t i = 0; i < LENGTH(texts); i++) {
		p = frag_scan_string(&w.scan, p, &texts[i]);
		assert_non_null(p);
	}
	assert_ptr_equal(p, w.scan.end);
	for (uint32_t i = 0; i < LENGTH(texts); i++) {
		assert_int_equal(texts[i].length, strlen(want[i]));
		assert_memory_equal(texts[i].text, want[i], texts[i].length);
	}
	free(w.memory);
}

/* Cut anywhere, a good value asks for more; it is never refused, and never done too soon. */
static void test_cut_values(void **state)
{
	static const char *const values[] = {
		"\"plain and long enough\"", "\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\"",
		"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "true", "false", "null",
		"{\"a\":[1,-2.5e+10,{\"b\":null}],\"\\u0063\":{}}", "[[],[ ],{ }, \"x\" , true]",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(values); i++) {
		size_t n = strlen(values[i]);

		for (size_t cut = 0; cut <= n; cut++) {
			struct window w;
			const char *end;

			open_window(&w, values[i], cut);
			end = frag_scan_skip(&w.scan, w.begin, 1);
			if (cut == n ? end != w.scan.end : end || w.scan.fail != FRAG_SCAN_MORE)
				fail_msg("%s cut to %zu bytes", values[i], cut);
			if (cut < n)
				assert_ptr_equal(w.scan.fail_at, w.scan.end);
			free(w.memory);
		}
	}
}

/* What is skipped is looked at only: the scratch stays for what is kept. */
static void test_skip_leaves_the_scratch(void **state)
{
	const char *bytes = "{\"\\u0041\":[\"\\n\",\"\\ud83d\\ude00x\\u00e9\"]}";
	struct window w;

	(void)state;
	open_window(&w, bytes, strlen(bytes));
	w.scan.scratch = NULL;
	assert_ptr_equal(frag_scan_skip(&w.scan, w.begin, 1), w.scan.end);
	assert_null(w.scan.scratch);
	free(w.memory);
}

/* A number may go on where the window ends. */
static void test_cut_numbers(void **state)
{
	static const char *const numbers[] = { "0", "-", "-0", "12", "1.", "1.5", "1e", "1E-", "1e+5" };

	(void)state;
	for (uint32_t i = 0; i < LENGTH(numbers); i++) {
		struct window w;
		double value;

		open_window(&w, numbers[i], strlen(numbers[i]));
		assert_null(frag_scan_number(&w.scan, w.begin, &value));
		assert_int_equal(w.scan.fail, FRAG_SCAN_MORE);
		free(w.memory);
	}
}

/* RFC 8259, section 6, as states: where the longest number at p ends, or 0. */
static size_t number_length(const char *p)
{
	enum { START, SIGN, ZERO, INT, POINT, FRACTION, E, E_SIGN, EXPONENT, STATES, STOP };
	/* by state: on '-', '+', '0', 1 to 9, '.', 'e' or 'E'; anything else stops */
	static const unsigned char next[STATES][6] = {
		[START] = { SIGN, STOP, ZERO, INT, STOP, STOP },
		[SIGN] = { STOP, STOP, ZERO, INT, STOP, STOP },
		[ZERO] = { STOP, STOP, STOP, STOP, POINT, E },
		[INT] = { STOP, STOP, INT, INT, POINT, E },
		[POINT] = { STOP, STOP, FRACTION, FRACTION, STOP, STOP },
		[FRACTION] = { STOP, STOP, FRACTION, FRACTION, STOP, E },
		[E] = { E_SIGN, E_SIGN, EXPONENT, EXPONENT, STOP, STOP },
		[E_SIGN] = { STOP, STOP, EXPONENT, EXPONENT, STOP, STOP },
		[EXPONENT] = { STOP, STOP, EXPONENT, EXPONENT, STOP, STOP },
	};
	unsigned at = START;
	size_t n = 0;

	for (;; n++) {
		char c = p[n];
		int class = c == '-' ? 0 : c == '+' ? 1 : c == '0' ? 2 : c >= '1' && c <= '9' ? 3
			  : c == '.' ? 4 : c == 'e' || c == 'E' ? 5 : -1;
		unsigned to = class < 0 ? STOP : next[at][class];

		if (to == STOP)
			break;
		at = to;
	}
	if (at == ZERO && p[n] >= '0' && p[n] <= '9')
		return 0;       /* 01 is no number and rubbish behind it, but no number */
	return at == ZERO || at == INT || at == FRACTION || at == EXPONENT ? n : 0;
}

static void check_number(const char *text)
{
	size_t n = strlen(text), length = number_length(text);
	char memory[ROOM], copy[ROOM];
	struct window w;
	const char *end;
	double value, want;

	quick_window(&w, memory, text, n);
	end = frag_scan_number(&w.scan, w.begin, &value);
	if (!length) {
		if (end || w.scan.fail != FRAG_SCAN_BAD)
			fail_msg("%s is not refused", text);
		return;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	want = strtod(copy, NULL);
	if (end != w.begin + length || memcmp(&value, &want, sizeof(value)) != 0)
		fail_msg("%s is %a, not %a, or ends elsewhere", text, value, want);
}

/* Everything up to seven characters long that looks a little like a number. */
static void test_every_short_number(void **state)
{
	static const char alphabet[] = "-+019.eE";
	char text[16];

	(void)state;
	for (uint32_t length = 1; length <= 7; length++)
		for (uint32_t all = 0; all < 1U << 3 * length; all++) {
			for (uint32_t i = 0; i < length; i++)
				text[i] = alphabet[all >> 3 * i & 7];
			text[length] = ',';
			text[length + 1] = '\0';
			check_number(text);
		}
}

static void test_numbers(void **state)
{
	static const char *const numbers[] = {
		"0 ", "-0 ", "-0.0e-0]", "12.5}", "9007199254740991,", "9007199254740992,",
		"9007199254740993,", "-9007199254740993,", "18446744073709551616,", "1e308,",
		"1.7976931348623157e308,", "2.2250738585072014e-308,", "4.9e-324,", "1e-400,",
		"0.1,", "0.30000000000000004,", "3.141592653589793238462643383279502884,",
		"123456789012345.6,", "0.0000000000000001,", "1000000000000000000000000000000,",
		"1.,", "1.e5,", ".5,", "+1,", "--1,", "-,", "- 1,", "00,", "01,", "-01,", "1e,",
		"1e+,", "1e1.5,", "0x10,", "1f,", "Infinity,", "NaN,", "nan,", "-Infinity,", "1_0,",
	};
	uint64_t random = 1;
	char text[64];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(numbers); i++)
		check_number(numbers[i]);
	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t n = random_size(&random, 63);
		int places = (int)random_below(&random, 18);

		snprintf(text, sizeof(text), "%s%llu.%0*llu%s,", i % 2 ? "-" : "",
			 (unsigned long long)random_size(&random, 50), places + 1,
			 (unsigned long long)(n % (uint64_t)pow(10, places)),
			 i % 5 ? "" : i % 10 ? "e-17" : "E9");
		check_number(text);
	}
	assert_true(isinf(strtod("1e999", NULL)));
	check_number("1e999,");
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
		int length;             /* 0: it is no such integer */
	} cases[] = {
		{ "0,", 0, 1 }, { "7}", 7, 1 }, { "10 ", 10, 2 }, { "9007199254740991]", 9007199254740991, 16 },
		{ "1", 1, 1 }, { "9007199254740992,", 0, 0 }, { "9999999999999999,", 0, 0 },
		{ "10000000000000000,", 0, 0 }, { "18446744073709551617,", 0, 0 },
		{ "00,", 0, 0 }, { "01,", 0, 0 }, { "-1,", 0, 0 }, { "-0,", 0, 0 }, { "+1,", 0, 0 },
		{ "5.0,", 0, 0 }, { "5e2,", 0, 0 }, { "5E2,", 0, 0 }, { "5.", 0, 0 }, { "5e", 0, 0 },
		{ "\"5\"", 0, 0 }, { "", 0, 0 }, { ",", 0, 0 }, { "null", 0, 0 }, { " 5", 0, 0 },
		{ "0000000000000000000000001,", 0, 0 }, { "36893488147419103233,", 0, 0 },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		uint64_t value = 77;
		struct window w;
		const char *end;

		open_window(&w, cases[i].text, strlen(cases[i].text));
		end = frag_scan_integer(w.begin, &value);
		if (!cases[i].length)
			assert_null(end);
		else
			assert_ptr_equal(end, w.begin + cases[i].length);
		free(w.memory);
		assert_true(value == (cases[i].length ? cases[i].value : 77));
	}
}

static void expect_space(const char *bytes, size_t n, bool one_line, enum frag_scan_fail fail,
			 size_t at)
{
	struct window w;
	const char *end;

	open_window(&w, bytes, n);
	w.scan.one_line = one_line;
	end = frag_scan_space(&w.scan, w.begin);
	assert_int_equal(w.scan.fail, fail);
	if (fail == FRAG_SCAN_FINE)
		assert_ptr_equal(end, w.begin + at);
	else
		assert_null(end);
	free(w.memory);
}

/* White space is these four; a line end is none inside an event of the lines form. */
static void test_space(void **state)
{
	(void)state;
	for (int c = 0; c < 0x100; c++) {
		const char bytes[] = { ' ', (char)c, ',' };
		bool white = c == ' ' || c == '\t' || c == '\n' || c == '\r';

		expect_space(bytes, 3, false, FRAG_SCAN_FINE, white ? 2 : 1);
		expect_space(bytes, 3, true, c == '\n' ? FRAG_SCAN_BAD : FRAG_SCAN_FINE,
			     white ? 2 : 1);
	}
	expect_space("", 0, false, FRAG_SCAN_FINE, 0);
	expect_space(" \t\r", 3, true, FRAG_SCAN_FINE, 3);
}

static void check_skip(const char *text, size_t n, uint32_t depth, bool good)
{
	struct window w;
	const char *end;

	open_window(&w, text, n);
	end = frag_scan_skip(&w.scan, w.begin, depth);
	if (good ? end != w.scan.end - 1 : end || w.scan.fail != FRAG_SCAN_BAD)
		fail_msg("%s", text);
	free(w.memory);
}

static void test_values(void **state)
{
	/* each with a comma behind */
	static const char *const good[] = {
		"true", "false", "null", "0", "-1.5e3", "\"\"", "{}", "[]", "[1]", "[ 1 , 2 ]",
		"{\"a\":1}", "{ \"a\" : 1 , \"a\" : [ { } ] }", "[[[]],{}]", "[\r\n\t]",
		"{\"\\u0000\":\"\\u0000\"}",
	};
	static const char *const bad[] = {
		"", "truE", "tru", "nul", "nulL", "fals", "True", "None", "undefined", "'a'", "[,]",
		"[1,]", "[,1]", "[1 2]", "[1,,2]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
		"{\"a\" 1}", "{\"a\":1 \"b\":2}", "{1:2}", "{\"a\":1]", "[1}", "[//]", "[1/**/]", "]",
		"}", ":", "[tru]", "[\"\t\"]", "[\"\n\"]", "{\"a\\x\":1}", "[01]", "[1.]", "[.5]",
		"[+1]", "[1e]", "[\x01]", "[\xff]", "[nan]", "[\f]", "[\v1]", "[\xc2\xa0]",
	};
	char text[64];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(good); i++) {
		snprintf(text, sizeof(text), "%s,", good[i]);
		check_skip(text, strlen(text), 1, true);
	}
	for (uint32_t i = 0; i < LENGTH(bad); i++) {
		snprintf(text, sizeof(text), "%s,", bad[i]);
		check_skip(text, strlen(text), 1, false);
	}
	check_skip("[\0],", 4, 1, false);
	check_skip("\0,", 2, 1, false);
	check_skip("[\"\0\"],", 6, 1, false);
	check_skip("{\"\0\":1},", 8, 1, false);
	check_skip("tr\0e,", 5, 1, false);
	check_skip("1\0", 2, 1, true);         /* the number is good, what follows is not ours */
}

/* 64 levels are the most, counted from the outermost value, of any mixture. */
static void test_depth(void **state)
{
	(void)state;
	for (uint32_t outer = 1; outer <= FRAG_DEPTH_MAX + 1; outer += 9)
		for (uint32_t levels = 1; levels < 80; levels++)
			for (uint32_t mixture = 0; mixture < 3; mixture++) {
				char text[ROOM] = "";
				char *p = text;

				for (uint32_t i = 0; i < levels; i++) {
					bool object = mixture == 2 ? i % 2 : mixture;

					p += sprintf(p, object ? i + 1 < levels ? "{\"\":" : "{" : "[");
				}
				for (uint32_t i = levels; i-- > 0;)
					*p++ = (mixture == 2 ? i % 2 : mixture) ? '}' : ']';
				*p++ = ',';
				check_skip(text, (size_t)(p - text), outer,
					   outer + levels - 1 <= FRAG_DEPTH_MAX);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_three_bytes),
		cmocka_unit_test(test_four_bytes),
		cmocka_unit_test(test_every_byte_everywhere),
		cmocka_unit_test(test_short_escapes),
		cmocka_unit_test(test_every_unicode_escape),
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_bad_escapes),
		cmocka_unit_test(test_strings_in_a_row),
		cmocka_unit_test(test_cut_values),
		cmocka_unit_test(test_skip_leaves_the_scratch),
		cmocka_unit_test(test_cut_numbers),
		cmocka_unit_test(test_every_short_number),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
