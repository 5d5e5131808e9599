/*
 * test_json.c - documents as they are written, where the library beneath would
 * print another number or another string.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "support/files.h"
#include "support/unit.h"

/* Writes the document and ends it; its text without white space outside strings. */
static void expect(void **state, struct frag_json *doc, const char *want)
{
	const char *path = files_path(state, "doc.json");
	struct frag_outfile f;
	struct frag_error err;
	bool quoted = false;
	char *text, *to;
	size_t n = 0;

	assert_int_equal(frag_outfile_open(&f, path, &err), 0);
	assert_int_equal(frag_json_write(doc, &f, &err), 0);
	assert_int_equal(frag_outfile_commit(&f, &err), 0);
	text = files_read(path, &n);
	assert_non_null(text);
	assert_true(n > 0 && text[n - 1] == '\n');
	to = text;
	for (const char *p = text; *p; p++) {
		quoted ^= *p == '"' && (p == text || p[-1] != '\\');
		if (quoted || !strchr(" \t\n", *p))
			*to++ = *p;
	}
	*to = '\0';
	assert_string_equal(text, want);
	free(text);
}

static void test_shapes(void **state)
{
	struct frag_json doc;
	struct frag_node_ref top = frag_json_begin(&doc), list, inner;

	frag_json_text(top, "name", "x");
	list = frag_json_array(top, "list");
	frag_json_u64(list, NULL, 1);
	frag_json_null(list, NULL);
	inner = frag_json_object(list, NULL);
	frag_json_bool(inner, "yes", true);
	frag_json_bool(inner, "no", false);
	frag_json_object(top, "empty");
	frag_json_array(top, "none");
	frag_json_raw(top, "raw", "[1,2]");
	frag_json_raw(top, "nothing", NULL);
	frag_json_text(top, "silent", NULL);
	expect(state, &doc, "{\"name\":\"x\",\"list\":[1,null,{\"yes\":true,\"no\":false}],"
	       "\"empty\":{},\"none\":[],\"raw\":[1,2],\"nothing\":null,\"silent\":null}");
}

/* All digits of an integer: a double has 53 bits, and %.15g shows fewer still. */
static void test_integers(void **state)
{
	struct frag_json doc;
	struct frag_node_ref top = frag_json_begin(&doc);

	frag_json_u64(top, "zero", 0);
	frag_json_u64(top, "last", (UINT64_C(1) << 53) - 1);
	frag_json_u64(top, "odd", UINT64_C(1234567890123456789));
	frag_json_u64(top, "most", UINT64_MAX);
	frag_json_i64(top, "least", INT64_MIN);
	frag_json_i64(top, "minus", -9007199254740991);
	expect(state, &doc, "{\"zero\":0,\"last\":9007199254740991,\"odd\":1234567890123456789,"
	       "\"most\":18446744073709551615,\"least\":-9223372036854775808,"
	       "\"minus\":-9007199254740991}");
}

static void test_fixed4(void **state)
{
	struct frag_json doc;
	struct frag_node_ref top = frag_json_begin(&doc);

	frag_json_fixed4(top, "whole", 100);
	frag_json_fixed4(top, "third", 100.0 / 3);
	frag_json_fixed4(top, "small", 0.00004);
	expect(state, &doc, "{\"whole\":100.0000,\"third\":33.3333,\"small\":0.0000}");
}

/* Every string is ASCII and a JSON string, whatever bytes it came from. */
static void test_strings(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "\"\"" },
		{ "a b", "\"a b\"" },
		{ "\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"" },
		{ "tab\there", "\"tab\\there\"" },
		{ "caf\xc3\xa9", "\"caf\\u00e9\"" },
		{ "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"" },
		{ "bad\xff.json", "\"bad\\ufffd.json\"" },
		{ "C:\\trace", "\"C:\\\\trace\"" },
	};

	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_json doc;
		char want[64] = "{\"s\":";

		frag_json_text(frag_json_begin(&doc), "s", cases[i].text);
		strcat(want, cases[i].want);
		strcat(want, "}");
		expect(state, &doc, want);
	}
}

/* A failure anywhere sticks: half a document is never written. */
static void test_failure_sticks(void **state)
{
	const char *path = files_path(state, "doc.json");
	struct frag_json doc;
	struct frag_node_ref top = frag_json_begin(&doc);
	struct frag_node_ref gone = { .doc = &doc, .node = NULL };
	struct frag_outfile f;
	struct frag_error err;

	frag_json_u64(top, "a", 1);
	frag_json_u64(gone, "b", 2);
	frag_json_u64(frag_json_object(gone, "c"), "d", 3);
	frag_json_u64(top, "e", 4);
	assert_int_equal(frag_outfile_open(&f, path, &err), 0);
	assert_int_equal(frag_json_write(&doc, &f, &err), -FRAG_ENOMEM);
	frag_outfile_abandon(&f);
	assert_int_equal(files_count(state), 0);
}

/* An integer of 64 bits is read with all its digits, and found by its own name. */
static void test_integers_read(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
		bool is;
	} cases[] = {
		{ "0", 0, true }, { "-0", 0, true }, { "5e2", 500, true }, { "1.5", 0, false },
		{ "9007199254740991", INT64_C(9007199254740991), true },
		{ "9007199254740993", INT64_C(9007199254740993), true },
		{ "-9007199254740993", -INT64_C(9007199254740993), true },
		{ "9223372036854775807", INT64_MAX, true },
		{ "-9223372036854775808", INT64_MIN, true },
		{ "9223372036854775808", 0, false }, { "99999999999999999999999", 0, false },
		{ "9007199254740993.0", 0, false }, { "1e18", 0, false }, { "1e999", 0, false },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_node_ref root, member;
		struct frag_json doc;
		char text[256];
		int64_t value;

		snprintf(text, sizeof(text), "{\"9223372036854775806\\\"7\":[-1e1,{},%s,"
			 "[9007199254740995],\"-8\"],\"v\":%s,\"w\":1}", cases[i].text, cases[i].text);
		root = frag_json_parse(&doc, text, strlen(text));
		assert_non_null(root.node);
		assert_int_equal(frag_json_member(root, "v", &member), 1);
		assert_int_equal(frag_json_kind(member), FRAG_JSON_NUMBER);
		assert_true(frag_json_integer(member, &value) == cases[i].is);
		if (cases[i].is)
			assert_true(value == cases[i].value);
		assert_int_equal(frag_json_member(root, "w", &member), 1);
		assert_true(frag_json_integer(member, &value) && value == 1);
		frag_json_end(&doc);
	}
}

#define FILES(test) cmocka_unit_test_setup_teardown(test, files_begin, files_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES(test_shapes),
		FILES(test_integers),
		FILES(test_fixed4),
		FILES(test_strings),
		FILES(test_failure_sticks),
		cmocka_unit_test(test_integers_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
