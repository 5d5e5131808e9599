/* test_record_scan.c - one event decoded: members in any order, what is bad in itself, cuts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"
#include "trace/record_scan.h"

#define SLACK 16
#define ROOM 1024

struct decoded {
	struct frag_scan scan;
	struct frag_record rec;
	struct frag_record_error flaw;
	char *memory;
	const char *end;
	char scratch[ROOM];
};

/* For free_decoded(). */
static struct decoded *decode(const char *text, size_t n)
{
	struct decoded *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	d->memory = calloc(n + SLACK, 1);
	assert_non_null(d->memory);
	memcpy(d->memory, text, n);
	d->scan = (struct frag_scan){ .end = d->memory + n, .scratch = d->scratch };
	d->end = frag_record_scan(&d->scan, d->memory, 1, &d->rec, &d->flaw);
	return d;
}

static void free_decoded(struct decoded *d)
{
	free(d->memory);
	free(d);
}

static struct decoded *decode_good(const char *text)
{
	struct decoded *d = decode(text, strlen(text));

	if (!d->end || d->flaw.kind)
		fail_msg("%s: %s", text, d->end ? d->flaw.text : d->scan.fail_text);
	assert_ptr_equal(d->end, d->scan.end);
	return d;
}

static bool is_text(struct frag_text t, const char *want)
{
	return t.length == strlen(want) && memcmp(t.text, want, t.length) == 0;
}

static bool is_number(struct frag_handle h, uint64_t number)
{
	return !h.text && h.number == number;
}

static bool is_name(struct frag_handle h, const char *want)
{
	return h.text && h.number == strlen(want) && memcmp(h.text, want, h.number) == 0;
}

#define ALLOC (FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE)

static void expect_alloc(const char *text)
{
	struct decoded *d = decode_good(text);

	assert_int_equal(d->rec.members, ALLOC | FRAG_HAS_STREAM | FRAG_HAS_T | FRAG_HAS_TAG
			 | FRAG_HAS_DEVICE | FRAG_HAS_POOL);
	assert_int_equal(d->rec.op, FRAG_OP_ALLOC);
	assert_true(is_number(d->rec.id, 7));
	assert_true(d->rec.size == 536870912);          /* 512 MiB */
	assert_true(is_name(d->rec.stream, "s1"));
	assert_true(d->rec.t == 12.25);
	assert_true(is_text(d->rec.t_text, "1.225e1"));
	assert_true(is_text(d->rec.tag, "caf\xc3\xa9"));
	assert_int_equal(d->rec.device, 3);
	assert_true(is_number(d->rec.pool, 9007199254740991));
	free_decoded(d);
}

static const char *const alloc_members[] = {
	"\"op\":\"alloc\"", "\"id\" : 7", "\"size\":\"512MiB\"", "\"stream\": \"s1\"",
	"\"t\":1.225e1", "\"tag\":\"caf\\u00e9\"", "\"device\":3 ", "\"pool\":9007199254740991",
};
#define MEMBERS LENGTH(alloc_members)

/* All orders of the members from place k on. */
static void permute(uint32_t order[MEMBERS], uint32_t k)
{
	char text[ROOM], *p = text;

	if (k < MEMBERS) {
		for (uint32_t i = k; i < MEMBERS; i++) {
			uint32_t other = order[k];

			order[k] = order[i];
			order[i] = other;
			permute(order, k + 1);
			order[i] = order[k];
			order[k] = other;
		}
		return;
	}
	for (uint32_t i = 0; i < MEMBERS; i++)
		p += sprintf(p, "%c%s", i ? ',' : '{', alloc_members[order[i]]);
	sprintf(p, "}");
	expect_alloc(text);
}

static void test_any_order(void **state)
{
	uint32_t order[MEMBERS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	(void)state;
	permute(order, 0);
}

/* A name is the same with escapes; unknown members hold anything. */
static void test_names(void **state)
{
	(void)state;
	expect_alloc("{ \"\\u006fp\" : \"all\\u006fc\", \"i\\u0064\":7,\"si\\u007ae\":\"512\\u004diB\","
		     "\"x\":[1,{\"op\":\"free\"}],\"stream\":\"\\u0073\\u0031\",\"\\u0074\":1.225e1,"
		     "\"t\\u0061g\":\"caf\xc3\xa9\",\"opx\":1,\"o\":2,\"\":null,\"dev\\u0069ce\":3,"
		     "\"OP\":true,\"x\":false,\"po\\u006fl\":9007199254740991,\"id \":1}");
}

static void test_ops(void **state)
{
	static const struct {
		const char *text;
		enum frag_op op;
		uint32_t members;
	} cases[] = {
		{ "{\"op\":\"alloc\"}", FRAG_OP_ALLOC, 0 },
		{ "{\"op\":\"free\",\"id\":1}", FRAG_OP_FREE, FRAG_HAS_ID },
		{ "{\"op\":\"complete\",\"id\":1}", FRAG_OP_COMPLETE, FRAG_HAS_ID },
		{ "{\"op\":\"record_stream\",\"id\":1,\"stream\":2}", FRAG_OP_RECORD_STREAM,
		  FRAG_HAS_ID | FRAG_HAS_STREAM },
		{ "{\"op\":\"sync\"}", FRAG_OP_SYNC, 0 },
		{ "{\"op\":\"empty_cache\"}", FRAG_OP_EMPTY_CACHE, 0 },
		{ "{\"op\":\"set_fraction\",\"value\":0.5}", FRAG_OP_SET_FRACTION, FRAG_HAS_VALUE },
		{ "{\"value\":\"a:b\",\"op\":\"configure\"}", FRAG_OP_CONFIGURE, FRAG_HAS_VALUE },
		{ "{\"op\":\"mark\",\"name\":\"step 1\"}", FRAG_OP_MARK, FRAG_HAS_NAME },
		{ "{\"op\":\"release_pool\",\"pool\":1}", FRAG_OP_RELEASE_POOL, FRAG_HAS_POOL },
		{ "{\"op\":\"begin_pool\",\"pool\":1}", FRAG_OP_BEGIN_POOL, FRAG_HAS_POOL },
		{ "{\"op\":\"end_pool\",\"pool\":1}", FRAG_OP_END_POOL, FRAG_HAS_POOL },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct decoded *d = decode_good(cases[i].text);
		const char *name = frag_op_name(cases[i].op);
		enum frag_op op;

		assert_int_equal(d->rec.op, cases[i].op);
		assert_int_equal(d->rec.members, cases[i].members | FRAG_HAS_OP);
		assert_non_null(strstr(cases[i].text, name));
		assert_true(frag_op_parse((struct frag_text){ name, (uint32_t)strlen(name) }, &op));
		assert_int_equal(op, cases[i].op);
		free_decoded(d);
	}
	assert_int_equal(LENGTH(cases), FRAG_OPS);
}

static void test_values(void **state)
{
	struct decoded *d = decode_good("{\"op\":\"set_fraction\",\"value\":0.125}");

	(void)state;
	assert_true(d->rec.fraction == 0.125);
	free_decoded(d);
	d = decode_good("{\"op\":\"configure\",\"value\":\"a:\\\"b\\\"\"}");
	assert_true(is_text(d->rec.text, "a:\"b\""));
	free_decoded(d);
	d = decode_good("{\"op\":\"free\",\"id\":\"0x7f\",\"pending\":true}");
	assert_true(d->rec.pending && is_name(d->rec.id, "0x7f"));
	free_decoded(d);
	d = decode_good("{\"op\":\"free\",\"id\":\"\",\"pending\":false,\"t\":-1}");
	assert_true(!d->rec.pending && is_name(d->rec.id, "") && d->rec.t == -1);
	free_decoded(d);
}

/* Members that the op has no use for are unknown ones: their type is no matter, but
 * fragsim-lines(5) names them, so they may stand once only. */
static void test_members_of_other_ops(void **state)
{
	(void)state;
	free_decoded(decode_good("{\"size\":null,\"op\":\"free\",\"id\":1,\"pool\":{}}"));
	free_decoded(decode_good("{\"op\":\"alloc\",\"id\":1,\"size\":1,\"pending\":0,\"value\":[]}"));
	free_decoded(decode_good("{\"op\":\"mark\",\"name\":\"m\",\"value\":true,\"id\":-1}"));
	free_decoded(decode_good("{\"name\":5,\"op\":\"set_fraction\",\"value\":1}"));
}

static const struct {
	const char *text, *kind, *at, *words;
} flaws[] = {
	{ "{}", "a missing member", "{}", "\"op\"" },
	{ "{\"id\":1}", "a missing member", "{\"id\"", "\"op\"" },
	{ "{\"op\":\"alloc2\",\"id\":1}", "an unknown op", "\"alloc2", "alloc2" },
	{ "{\"op\":\"Alloc\"}", "an unknown op", "\"Alloc", "Alloc" },
	{ "{\"op\":\"\"}", "an unknown op", "\"\"", "op" },
	{ "{\"op\":\"alloc\\u0000\"}", "an unknown op", "\"alloc", "alloc" },
	{ "{\"op\":5}", "a mistyped member", "5", "\"op\"" },
	{ "{\"op\":null}", "a mistyped member", "null", "\"op\"" },
	{ "{\"op\":\"sync\",\"op\":\"sync\"}", "a repeated member", "\"sync\"}", "\"op\"" },
	{ "{\"op\":\"free\",\"id\":1,\"\\u0069d\":1}", "a repeated member", "1}", "\"id\"" },
	{ "{\"op\":\"free\",\"id\":1,\"t\":1,\"t\":1}", "a repeated member", "1}", "\"t\"" },
	{ "{\"op\":\"free\",\"id\":1,\"size\":1,\"size\":2}", "a repeated member", "2}", "\"size\"" },
	{ "{\"op\":\"free\",\"id\":-1}", "a mistyped member", "-1", "\"id\"" },
	{ "{\"op\":\"free\",\"id\":1.0}", "a mistyped member", "1.0", "\"id\"" },
	{ "{\"op\":\"free\",\"id\":9007199254740992}", "a mistyped member", "9007", "\"id\"" },
	{ "{\"op\":\"free\",\"id\":true}", "a mistyped member", "true", "\"id\"" },
	{ "{\"op\":\"alloc\",\"id\":1,\"size\":5e2}", "a mistyped member", "5e2", "\"size\"" },
	{ "{\"op\":\"alloc\",\"id\":1,\"size\":-5}", "a mistyped member", "-5", "\"size\"" },
	{ "{\"op\":\"alloc\",\"id\":1,\"size\":\"5 MiB\"}", "a mistyped member", "\"5 MiB", "\"size\"" },
	{ "{\"op\":\"alloc\",\"id\":1,\"size\":\"1.5K\"}", "a mistyped member", "\"1.5K", "\"size\"" },
	{ "{\"op\":\"alloc\",\"id\":1,\"size\":\"8192T\"}", "a mistyped member", "\"8192T", "\"size\"" },
	{ "{\"size\":[],\"op\":\"alloc\",\"id\":1}", "a mistyped member", "[]", "\"size\"" },
	{ "{\"op\":\"sync\",\"stream\":null}", "a mistyped member", "null", "\"stream\"" },
	{ "{\"op\":\"sync\",\"device\":\"0\"}", "a mistyped member", "\"0\"", "\"device\"" },
	{ "{\"op\":\"sync\",\"device\":1.5}", "a mistyped member", "1.5", "\"device\"" },
	{ "{\"op\":\"sync\",\"t\":\"1\"}", "a mistyped member", "\"1\"", "\"t\"" },
	{ "{\"op\":\"sync\",\"t\":1e999}", "a mistyped member", "1e999", "\"t\"" },
	{ "{\"op\":\"sync\",\"tag\":1}", "a mistyped member", "1}", "\"tag\"" },
	{ "{\"op\":\"alloc\",\"pool\":{}}", "a mistyped member", "{}", "\"pool\"" },
	{ "{\"op\":\"free\",\"id\":1,\"pending\":1}", "a mistyped member", "1}", "\"pending\"" },
	{ "{\"op\":\"free\",\"id\":1,\"pending\":null}", "a mistyped member", "null", "\"pending\"" },
	{ "{\"op\":\"set_fraction\",\"value\":\"1\"}", "a mistyped member", "\"1\"", "\"value\"" },
	{ "{\"value\":1,\"op\":\"configure\"}", "a mistyped member", "1,", "\"value\"" },
	{ "{\"op\":\"set_fraction\",\"value\":1.5}", "a value out of range", "1.5", "1.5" },
	{ "{\"op\":\"set_fraction\",\"value\":-0.1}", "a value out of range", "-0.1", "-0.1" },
	{ "{\"value\":1e999,\"op\":\"set_fraction\"}", "a value out of range", "1e999", "1e999" },
	{ "{\"op\":\"mark\",\"name\":7}", "a mistyped member", "7", "\"name\"" },
};

/* Good JSON and a bad event: what, where, in words; and the scan is behind it. */
static void test_flaws(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(flaws); i++) {
		struct decoded *d = decode(flaws[i].text, strlen(flaws[i].text));

		if (d->end != d->scan.end || !d->flaw.kind
		    || strcmp(d->flaw.kind, flaws[i].kind) != 0
		    || memcmp(d->flaw.at, flaws[i].at, strlen(flaws[i].at)) != 0
		    || !strstr(d->flaw.text, flaws[i].words))
			fail_msg("%s: %s, %s", flaws[i].text,
				 d->flaw.kind ? d->flaw.kind : "no flaw", d->flaw.text);
		free_decoded(d);
	}
}

static void test_not_json(void **state)
{
	static const char *const bad[] = {
		"[]", "null", "\"op\"", "{,}", "{\"op\"}", "{\"op\":}", "{\"op\":\"sync\",}",
		"{\"op\":\"sync\"]", "{op:\"sync\"}", "{\"op\" \"sync\"}", "{\"op\":\"sync\" \"t\":1}",
		"{\"op\":\"sync\"\"t\":1}", "{\"op\":\"free\",\"id\":01}", "{\"id\":+1}", "{\"id\":.5}",
		"{\"id\":1x}", "{\"t\":1.}", "{\"t\":01}", "{\"t\":NaN}", "{\"pending\":truE}",
		"{\"pending\":True}", "{\"tag\":\"\t\"}", "{\"tag\":\"\\ud800\"}", "{\"tag\":\"\xff\" }    ",
		"{\"x\":[1,]}", "{\"size\":0x10}", "{\"size\":00}", "{\"id\":1//\n}", "{'op':1}",
		"{\"op\":\"sync\",\"op\":tru}", "{\"id\":-}", "{\"id\":truth}",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(bad); i++) {
		struct decoded *d = decode(bad[i], strlen(bad[i]));

		if (d->end || d->scan.fail != FRAG_SCAN_BAD)
			fail_msg("%s is taken for JSON", bad[i]);
		free_decoded(d);
	}
}

/* Cut anywhere an event asks for more, be it good or flawed. */
static void test_cuts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LENGTH(flaws) + 1; i++) {
		const char *text = i < LENGTH(flaws) ? flaws[i].text :
			"{\"op\":\"alloc\",\"id\":\"\\u0031\",\"size\":\"1KiB\",\"t\":-1.5e+3,\"tag\":"
			"\"\xc3\xa9\\ud83d\\ude00\",\"pending\":false,\"x\":[{\"y\":null}]}";

		for (size_t cut = 0; cut < strlen(text); cut++) {
			struct decoded *d = decode(text, cut);

			if (d->end || d->scan.fail != FRAG_SCAN_MORE)
				fail_msg("%s cut to %zu bytes", text, cut);
			free_decoded(d);
		}
	}
}

/* The event is itself at the depth that the caller says. */
static void test_depth(void **state)
{
	(void)state;
	for (uint32_t levels = 60; levels < 68; levels++) {
		char text[ROOM] = "{\"op\":\"sync\",\"x\":";
		size_t n = strlen(text);
		struct decoded *d;

		memset(text + n, '[', levels);
		memset(text + n + levels, ']', levels);
		text[n + 2 * levels] = '}';
		d = decode(text, n + 2 * levels + 1);
		assert_int_equal(d->end != NULL, 1 + levels <= 64);
		free_decoded(d);
	}
}

/* What a message shows of the input is one line of printable ASCII, not too long. */
static void test_excerpt(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "5e2,", "5e2" }, { "\"a\" }", "\"a\" " }, { "x]", "x" }, { "{,", "{" },
		{ "a\tb\xc3\xa9\n", "a?b??" }, { "1\r\n", "1" }, { "", "" },
		{ "0123456789012345678901234567890123456789more", "0123456789012345678901234567890123456789" },
	};
	char got[64];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct frag_scan s = { .end = cases[i].text + strlen(cases[i].text) };

		assert_string_equal(frag_excerpt(&s, cases[i].text, got), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_members_of_other_ops),
		cmocka_unit_test(test_flaws),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_excerpt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
