/* test_header_scan.c - what a trace says of itself: devices, defaults, what is refused, cuts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"
#include "trace/header_scan.h"

#define SLACK 16
#define DEFAULT_GRANULARITY 2097152     /* fragsim-lines(5) */

struct read {
	struct frag_document doc;
	struct frag_header header;
	char *memory, *scratch;
	const char *end;
};

/* The members of an object, text being behind its brace. For free_read(). */
static struct read read_header(const char *text, size_t n)
{
	struct read r = { .memory = calloc(n + SLACK, 1), .scratch = malloc(n + 1) };

	assert_true(r.memory && r.scratch);
	memcpy(r.memory, text, n);
	r.doc.scan = (struct frag_scan){ .end = r.memory + n, .scratch = r.scratch };
	r.end = frag_header_scan(&r.header, &r.doc, r.memory);
	return r;
}

static void free_read(struct read *r)
{
	frag_header_fini(&r->header);
	free(r->memory);
	free(r->scratch);
}

static struct read read_good(const char *text)
{
	struct read r = read_header(text, strlen(text));

	if (!r.end || r.doc.wrong_at)
		fail_msg("%s: %s", text, r.doc.wrong_at ? r.doc.wrong : r.doc.scan.fail_text);
	return r;
}

/* Notes only which members there are. */
static const char *look(struct frag_document *d, const char *p, uint32_t *members)
{
	struct frag_header h = { .names_only = true };
	const char *end = frag_header_scan(&h, d, p);

	*members = h.members;
	return end;
}

static void expect_device(const struct frag_device_figures *f, const char *name, uint64_t total,
			  uint64_t context, uint64_t other, uint64_t granularity)
{
	if (name)
		assert_string_equal(f->name, name);
	else
		assert_null(f->name);
	assert_true(f->total == total && f->context == context && f->other == other
		    && f->granularity == granularity);
}

static void test_one_device(void **state)
{
	struct read r = read_good(
		" \"format\" : \"fragsim-trace\", \"version\":1,\r\n\t\"device\":{\"name\":\"RTX \\u0032060\","
		"\"total_bytes\":6442450944,\"x\":{\"name\":[1]},\"context_bytes\":\"446MiB\","
		"\"other_bytes\":0,\"granularity_bytes\":\"2M\"},\"meta\":{\"source\":[{}]} } rest");

	(void)state;
	assert_int_equal(r.header.members, FRAG_HEADER_FORMAT | FRAG_HEADER_VERSION
			 | FRAG_HEADER_DEVICE | FRAG_HEADER_META);
	assert_string_equal(r.end, " rest");
	assert_int_equal(r.header.device_count, 1);
	expect_device(&r.header.devices[0], "RTX 2060", UINT64_C(6) << 30, UINT64_C(446) << 20, 0,
		      2 << 20);
	free_read(&r);
}

static void test_devices(void **state)
{
	struct read r = read_good("\"devices\":[{} , {\"other_bytes\":3},{\"granularity_bytes\":1},"
				  "{\"total_bytes\":9007199254740991,\"name\":\"\"}]}");

	(void)state;
	assert_int_equal(r.header.members, FRAG_HEADER_DEVICES);
	assert_int_equal(r.header.device_count, 4);
	expect_device(&r.header.devices[0], NULL, 0, 0, 0, DEFAULT_GRANULARITY);
	expect_device(&r.header.devices[1], NULL, 0, 0, 3, DEFAULT_GRANULARITY);
	expect_device(&r.header.devices[2], NULL, 0, 0, 0, 1);
	expect_device(&r.header.devices[3], "", (UINT64_C(1) << 53) - 1, 0, 0, DEFAULT_GRANULARITY);
	free_read(&r);
}

static void test_nothing_said(void **state)
{
	struct read r = read_good("}");

	(void)state;
	assert_int_equal(r.header.members, 0);
	assert_int_equal(r.header.device_count, 0);
	free_read(&r);
}

/* The bracket of the events ends it; what follows is another's. */
static void test_events(void **state)
{
	struct read r = read_good("\"version\":1,\"events\" : [{\"op\":1}],\"version\":1}");
	uint32_t members;

	(void)state;
	assert_int_equal(r.header.members, FRAG_HEADER_VERSION | FRAG_HEADER_EVENTS);
	assert_string_equal(r.end, "{\"op\":1}],\"version\":1}");
	assert_string_equal(look(&r.doc, r.memory, &members),
			    "{\"op\":1}],\"version\":1}");
	assert_int_equal(members, FRAG_HEADER_VERSION | FRAG_HEADER_EVENTS);
	free_read(&r);
}

/* A look tells only which members there are: an event, or a header. */
static void test_look(void **state)
{
	static const struct {
		const char *text;
		uint32_t members;
	} cases[] = {
		{ "}", 0 }, { " }", 0 }, { "\"op\":\"alloc\",\"id\":1}", FRAG_HEADER_OP },
		{ "\"device\":0,\"op\":5}", FRAG_HEADER_OP | FRAG_HEADER_DEVICE },
		{ "\"f\\u006frmat\":null,\"format\":1}", FRAG_HEADER_FORMAT },
		{ "\"x\":{\"op\":1},\"version\":[]}", FRAG_HEADER_VERSION },
		{ "\"events\":{},\"meta\":1}", FRAG_HEADER_EVENTS | FRAG_HEADER_META },
		{ "\"devices\":[],\"OP\":1}", FRAG_HEADER_DEVICES },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct read r = read_header(cases[i].text, strlen(cases[i].text));
		uint32_t members;

		r.doc.scan.fail = FRAG_SCAN_FINE;
		assert_ptr_equal(look(&r.doc, r.memory, &members), r.doc.scan.end);
		assert_int_equal(members, cases[i].members);
		free_read(&r);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *at, *words;
	} cases[] = {
		{ "\"format\":\"fragsim\"}", "\"fragsim\"", "\"format\"" },
		{ "\"format\":\"fragsim-trace2\"}", "\"fragsim-", "\"format\"" },
		{ "\"format\":1}", "1}", "\"format\"" },
		{ "\"version\":2}", "2}", "\"version\"" },
		{ "\"version\":\"1\"}", "\"1\"", "\"version\"" },
		{ "\"version\":1.0}", "1.0", "\"version\"" },
		{ "\"version\":true}", "true", "\"version\"" },
		{ "\"version\":1,\"version\":1}", "\"version\":1}", "\"version\" is specified more than once" },
		{ "\"x\":1,\"meta\":{},\"x\":2,\"m\\u0065ta\":{}}", "\"m\\u", "\"meta\" is specified more than once" },
		{ "\"meta\":[]}", "[]", "\"meta\"" },
		{ "\"events\":{}}", "{}", "\"events\"" },
		{ "\"device\":[]}", "[]", "\"device\"" },
		{ "\"device\":null}", "null", "\"device\"" },
		{ "\"device\":{},\"device\":{}}", "\"device\":{}}", "\"device\" is specified more than once" },
		{ "\"device\":{},\"devices\":[{}]}", "\"devices\"", "both" },
		{ "\"devices\":[{}],\"device\":{}}", "\"device\"", "both" },
		{ "\"devices\":{}}", "{}", "\"devices\"" },
		{ "\"devices\":[]}", "]}", "\"devices\"" },
		{ "\"devices\":[{},1]}", "1]", "\"device\"" },
		{ "\"device\":{\"name\":1}}", "1}", "\"name\"" },
		{ "\"device\":{\"name\":\"a\",\"name\":\"a\"}}", "\"name\":\"a\"}", "\"name\" is specified more than once" },
		{ "\"device\":{\"total_bytes\":-1}}", "-1", "\"total_bytes\"" },
		{ "\"device\":{\"total_bytes\":1.5}}", "1.5", "\"total_bytes\"" },
		{ "\"device\":{\"total_bytes\":9007199254740992}}", "9007", "\"total_bytes\"" },
		{ "\"device\":{\"total_bytes\":\"6GB\"}}", "\"6GB\"", "\"total_bytes\"" },
		{ "\"device\":{\"total_bytes\":\"4.5GiB\"}}", "\"4.5", "\"total_bytes\"" },
		{ "\"device\":{\"context_bytes\":null}}", "null", "\"context_bytes\"" },
		{ "\"device\":{\"other_bytes\":[]}}", "[]", "\"other_bytes\"" },
		{ "\"device\":{\"granularity_bytes\":0}}", "0}", "\"granularity_bytes\"" },
		{ "\"device\":{\"granularity_bytes\":\"0K\"}}", "\"0K\"", "\"granularity_bytes\"" },
		{ "\"device\":{\"other_bytes\":1,\"\\u006fther_bytes\":1}}", "\"\\u006f", "specified more than once" },
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		struct read r = read_header(cases[i].text, strlen(cases[i].text));

		if (r.end || !r.doc.wrong_at
		    || strncmp(r.doc.wrong_at, cases[i].at, strlen(cases[i].at)) != 0
		    || !strstr(r.doc.wrong, cases[i].words))
			fail_msg("%s: %s", cases[i].text, r.doc.wrong);
		free_read(&r);
	}
}

static void test_not_json(void **state)
{
	static const char *const bad[] = {
		",}", "\"format\"}", "\"version\":1,}", "\"version\":1]", "version:1}",
		"\"version\":1 \"x\":1}", "\"device\":{,}}", "\"device\":{\"name\":\"\x01\"}}",
		"\"device\":{\"name\" \"x\"}}", "\"devices\":[{},]}", "\"devices\":[{}}", "\"x\":01}",
		"\"device\":{\"x\":tru}}", "\"meta\":{\"x\":1,}}", "\"format\":\"\\x\"}",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(bad); i++) {
		struct read r = read_header(bad[i], strlen(bad[i]));

		/* a device that is none is told as such; for the rest the scanner speaks */
		if (r.end || (r.doc.scan.fail != FRAG_SCAN_BAD && !r.doc.wrong_at))
			fail_msg("%s is taken for JSON", bad[i]);
		free_read(&r);
	}
}

/* Cut anywhere, also between a colon and its value: more is asked for, nothing is wrong. */
static void test_cuts(void **state)
{
	static const char *const texts[] = {
		"\"format\":\"fragsim-trace\",\"version\":1,\"device\":{\"name\":\"x\",\"total_bytes\":"
		"\"6GiB\",\"context_bytes\":1,\"y\":[{}]},\"meta\":{\"a\":null},\"events\":[",
		"\"devices\":[{},{\"granularity_bytes\":512}],\"meta\":{},\"x\":-1.5}",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(texts); i++)
		for (size_t cut = 0; cut < strlen(texts[i]); cut++) {
			struct read r = read_header(texts[i], cut);
			uint32_t members;

			if (r.end || r.doc.wrong_at || r.doc.scan.fail != FRAG_SCAN_MORE)
				fail_msg("%.*s: %s", (int)cut, texts[i], r.doc.wrong);
			r.doc.scan.fail = FRAG_SCAN_FINE;
			assert_null(look(&r.doc, r.memory, &members));
			assert_int_equal(r.doc.scan.fail, FRAG_SCAN_MORE);
			free_read(&r);
		}
}

static void test_many_devices(void **state)
{
	(void)state;
	for (uint32_t count = FRAG_DEVICES_MAX; count <= FRAG_DEVICES_MAX + 1; count++) {
		char *text = malloc(20 + 3 * (size_t)count);
		char *p = text;
		struct read r;

		assert_non_null(text);
		p += sprintf(p, "\"devices\":[");
		for (uint32_t i = 0; i < count; i++)
			p += sprintf(p, "%s{}", i ? "," : "");
		p += sprintf(p, "]}");
		r = read_header(text, (size_t)(p - text));
		if (count == FRAG_DEVICES_MAX)
			assert_int_equal(r.header.device_count, count);
		assert_int_equal(r.end != NULL, count == FRAG_DEVICES_MAX);
		free_read(&r);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_device),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_nothing_said),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_many_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
