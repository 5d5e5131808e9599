/*
 * test_fast_scan.c - events known by their spelling: what is taken is what the strict scanner
 * says of the same bytes, and what our writers write is taken.
 */
#include "fuzz/two_ways.h"        /* first: it needs _GNU_SOURCE */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/unit.h"
#include "trace/fast_scan.h"
#include "trace/record_scan.h"

#define ROOM 512
#define SLACK 16

/* A window that holds just these bytes, for a sanitizer to see what is read past it. */
static char *window_of(const char *text, size_t n)
{
	char *window = calloc(1, n + SLACK);

	assert_non_null(window);
	memcpy(window, text, n);
	return window;
}

/* How far the two get into a text; 0: it is left, or no event. */
struct seen {
	size_t usual, strict;
	bool flawed;            /* an event that is bad in itself */
};

/* Where it is taken, the strict scanner has to say the same of it. */
static struct seen look(const char *text, size_t n)
{
	char *window = window_of(text, n), *scratch = malloc(n + 1);
	struct frag_scan s = { .end = window + n, .scratch = scratch, .one_line = true };
	struct frag_record usual, rec;
	struct frag_record_error flaw;
	const char *end = frag_fast_scan_event(window, window + n, &usual), *strict, *differs;
	struct seen seen;

	assert_non_null(scratch);
	strict = frag_record_scan(&s, window, 1, &rec, &flaw);
	if (end) {
		if (end != strict || flaw.kind || end > window + n)
			fail_msg("%.*s: taken, but %s", (int)n, text,
				 strict ? "another end or flawed" : "no event");
		differs = two_ways_differ(&rec, &usual);
		if (differs)
			fail_msg("%.*s: another %s", (int)n, text, differs);
	}
	seen = (struct seen){ .usual = end ? (size_t)(end - window) : 0,
			      .strict = strict ? (size_t)(strict - window) : 0,
			      .flawed = strict && flaw.kind };
	free(scratch);
	free(window);
	return seen;
}

static bool taken(const char *text, size_t n)
{
	return look(text, n).usual != 0;
}

static void test_is_taken(void **state)
{
	static const char *const texts[] = {
		"{\"op\":\"alloc\",\"id\":0,\"size\":0}",
		"{\"op\":\"alloc\",\"id\":12345678,\"size\":1}",
		"{\"op\":\"alloc\",\"id\":123456789012345,\"size\":999999999999999}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"stream\":0,\"t\":35018,\"tag\":\"a | b\"}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"stream\":12,\"tag\":\"\",\"t\":0}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"device\":3,\"stream\":94350007926784}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"t\":12.5,\"tag\":\"0123456789abcdef0123\"}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"t\":-1.5e-3,\"device\":10}",
		"{\"op\":\"alloc\",\"id\":7,\"size\":512,\"t\":9007199254740993}",
		"{\"op\":\"free\",\"id\":1}", "{\"op\":\"free\",\"id\":1,\"t\":2}",
		"{\"op\":\"free\",\"id\":1,\"stream\":5,\"device\":0,\"t\":1E2,\"tag\":\"x\"}",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(texts); i++) {
		size_t n = strlen(texts[i]);

		if (!taken(texts[i], n))
			fail_msg("%s is not taken", texts[i]);
		for (size_t cut = 0; cut < n; cut++)
			if (taken(texts[i], cut))
				fail_msg("%s is taken when cut to %zu bytes", texts[i], cut);
	}
}

/* Good ones that are spelled otherwise, and bad ones. */
static void test_is_left(void **state)
{
	static const char *const texts[] = {
		"{}", "[]", "{\"op\":\"sync\"}", "{ \"op\":\"free\",\"id\":1}",
		"{\"id\":1,\"op\":\"free\"}", "{\"op\":\"free\",\"id\":\"1\"}",
		"{\"op\":\"free\",\"id\":01}", "{\"op\":\"free\",\"id\":00}",
		"{\"op\":\"free\",\"id\":-1}", "{\"op\":\"free\",\"id\":1.0}",
		"{\"op\":\"free\",\"id\":1e0}", "{\"op\":\"free\",\"id\":9007199254740992}",
		"{\"op\":\"free\",\"id\":}", "{\"op\":\"free\",\"id\":1,}", "{\"op\":\"free\",\"id\":1]",
		"{\"op\":\"free\",\"id\":1,\"id\":1}", "{\"op\":\"free\",\"id\":1,\"size\":1}",
		"{\"op\":\"free\",\"id\":1,\"t\":1,\"t\":1}", "{\"op\":\"free\",\"id\":1,\"t\":1e999}",
		"{\"op\":\"free\",\"id\":1,\"t\":01}", "{\"op\":\"free\",\"id\":1,\"t\":1.}",
		"{\"op\":\"free\",\"id\":1,\"t\":\"1\"}", "{\"op\":\"free\",\"id\":1,\"t\":1x}",
		"{\"op\":\"free\",\"id\":1,\"tag\":\"\\n\"}", "{\"op\":\"free\",\"id\":1,\"tag\":\"\t\"}",
		"{\"op\":\"free\",\"id\":1,\"tag\":\"\xc3\xa9\"}", "{\"op\":\"free\",\"id\":1,\"tag\":1}",
		"{\"op\":\"free\",\"id\":1,\"tag\":\"a\"\"}", "{\"op\":\"free\",\"id\":1,\"pending\":true}",
		"{\"op\":\"free\",\"id\":1,\"device\":01}", "{\"op\":\"free\",\"id\":1,\"device\":1.5}",
		"{\"op\":\"free\",\"id\":1,\"device\":1,\"device\":1}",
		"{\"op\":\"free\",\"id\":1,\"stream\":\"a\"}", "{\"op\":\"free\",\"id\":1,\"stream\":1\"t\":1}",
		"{\"op\":\"free\",\"id\":1,\"stream\":1,\"stream\":1}",
		"{\"op\":\"alloc\",\"id\":1}", "{\"op\":\"alloc\",\"id\":1,\"size\":\"1K\"}",
		"{\"op\":\"alloc\",\"size\":1,\"id\":1}", "{\"op\":\"alloc\",\"id\":1,\"size\":1,\"size\":1}",
		"{\"op\":\"alloc\",\"id\":1,\"size\":1.5}", "{\"op\":\"alloc\",\"id\":1,\"size\":}",
		"{\"op\":\"allot\",\"id\":1,\"size\":1}", "{\"op\":\"alloc\",\"id\":1,\"pool\":1,\"size\":1}",
	};

	(void)state;
	for (uint32_t i = 0; i < LENGTH(texts); i++)
		if (taken(texts[i], strlen(texts[i])))
			fail_msg("%s is taken", texts[i]);
}

static const char *any_of(uint64_t *random, const char *const *list, size_t n)
{
	return list[random_below(random, n)];
}
#define ANY_OF(random, list) any_of(random, list, LENGTH(list))

/* A number as it may stand in an id, a size and so on: nearly always a good one. */
static char *put_number(char *p, uint64_t *random)
{
	static const char *const odd[] = {
		"01", "-1", "1.5", "1e3", "\"7\"", "9007199254740991", "9007199254740992", "00", "",
		"0.0", "99999999999999999999", "null", "1.25e-2",
	};

	if (random_below(random, 20) == 0)
		return p + sprintf(p, "%s", ANY_OF(random, odd));
	return p + sprintf(p, "%" PRIu64, random_size(random, 50) - 1);
}

static char *put_tag(char *p, uint64_t *random)
{
	static const char *const odd[] = { "\\\"", "\\u00e9", "\xc3\xa9", "\t", "\xff", "\\", "\x7f" };

	for (uint64_t n = random_below(random, 40); n; n--)
		*p++ = (char)('!' + 2 + random_below(random, '[' - '#'));
	if (random_below(random, 10) == 0)
		p += sprintf(p, "%s", ANY_OF(random, odd));
	return p;
}

/* A line as one of our writers has it, or one that is not far from that. */
static char *put_line(char *p, uint64_t *random)
{
	static const char *const ops[] = { "alloc", "alloc", "alloc", "free", "free", "sync" };
	static const char *const names[] = { "stream", "t", "device", "t", "tag", "tag", "pool", "x" };
	const char *op = ANY_OF(random, ops);
	char *begin = p;

	p += sprintf(p, "{\"op\":\"%s\",\"id\":", op);
	p = put_number(p, random);
	if (*op == 'a')
		p = put_number(p + sprintf(p, ",\"size\":"), random);
	for (uint32_t i = 0; i < LENGTH(names); i++) {
		if (random_below(random, 3))
			continue;
		p += sprintf(p, ",\"%s\":", names[i]);
		if (strcmp(names[i], "tag") == 0)
			p = stpcpy(put_tag(stpcpy(p, "\""), random), "\"");
		else
			p = put_number(p, random);
	}
	p = stpcpy(p, random_below(random, 50) ? "}" : random_below(random, 2) ? "} \r" : "}}");
	if (random_below(random, 8) == 0) {     /* a slip */
		static const char bytes[] = "0123456789{}[]\",: .eE-\\\tat";
		char *at = begin + random_below(random, (uint64_t)(p - begin));

		if (random_below(random, 2)) {
			*at = bytes[random_below(random, sizeof(bytes) - 1)];
		} else {
			memmove(at, at + 1, (size_t)(p - at - 1));
			p--;
		}
	}
	return stpcpy(p, "\n");
}

/* Each line, and a few of its beginnings. */
static void test_random_events(void **state)
{
	uint64_t random = 1;
	uint32_t count = 0;
	char line[ROOM];

	(void)state;
	for (uint32_t i = 0; i < 50000; i++) {
		size_t n = (size_t)(put_line(line, &random) - line);

		count += taken(line, n);
		taken(line, random_below(&random, n));
	}
	assert_in_range(count, 10000, 40000);
}

/* Files of some windows; after the first line that is no JSON, another file. */
static void test_random_files(void **state)
{
	const size_t room = (size_t)1 << 20;
	char *file = malloc(room);
	uint64_t random = 2, records = 0, line_count = 0;

	(void)state;
	assert_non_null(file);
	for (uint32_t i = 0; i < 400; i++) {
		const uint64_t lines = random_below(&random, 200);
		char *p = file;

		for (uint64_t j = 0; j < lines; j++)
			p = put_line(p, &random);
		p -= random_below(&random, 3) ? 0 : lines != 0;         /* no line end at the end */
		records += two_ways(file, (size_t)(p - file));
		line_count += lines;
	}
	assert_in_range(records, line_count / 50, line_count);
	for (uint32_t i = 0; i < 3; i++) {
		char *p = file;
		uint64_t lines = 0, usual = 0;

		while ((size_t)(p - file) < room - ROOM) {
			char *end = put_line(p, &random);
			const struct seen seen = look(p, (size_t)(end - p));

			/* a line that is no JSON would be the last one */
			if (seen.strict != (size_t)(end - p) - 1)
				continue;
			lines += !seen.flawed;
			usual += seen.usual != 0;
			p = end;
		}
		assert_int_equal(two_ways(file, (size_t)(p - file)), lines);
		assert_in_range(usual, lines / 4, lines - lines / 10);
	}
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_taken),
		cmocka_unit_test(test_is_left),
		cmocka_unit_test(test_random_events),
		cmocka_unit_test(test_random_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
