/*
 * test_trace_formats.c - the trace format written, against fragsim-lines(5): the bytes of each
 * kind of event, and that the reader takes them back as they were.
 */
#include <string.h>

#include "support/files.h"
#include "support/unit.h"
#include "trace/trace_formats.h"

#define HEADER "{\"format\":\"fragsim-trace\",\"version\":1"
#define NOTHING ",\"events\":[]}\n"
#define GRANULARITY (2 << 20)
#define TEXT(s) { .text = s, .length = sizeof(s) - 1 }
#define NAMED(s) { .text = s, .number = sizeof(s) - 1 }

static char name_a[] = "RTX \"2060\"";

static const struct frag_device_figures plain = { .granularity = GRANULARITY };
static const struct frag_device_figures two[] = {
	{ .name = name_a, .total = UINT64_C(6442450944), .context = 467664896, .other = 7,
	  .granularity = 1 },
	{ .granularity = GRANULARITY },
};

/* Every op, and every member somewhere; valid in this order on two devices. */
static const struct frag_record records[] = {
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC,
	  .id.number = 0, .size = 0 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_STREAM | FRAG_HAS_POOL
		     | FRAG_HAS_DEVICE | FRAG_HAS_T | FRAG_HAS_TAG,
	  .op = FRAG_OP_ALLOC, .id.number = UINT64_C(9007199254740991),
	  .size = UINT64_C(9007199254740991), .stream.number = 3, .pool = NAMED("p\n"),
	  .device = 1, .t = 12.5, .t_text = TEXT("1.25e1"), .tag = TEXT("a\"b\\\x01\xc3\xa9") },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE | FRAG_HAS_STREAM,
	  .op = FRAG_OP_ALLOC, .id = NAMED("0x7f"), .size = 5, .stream = NAMED("side") },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_STREAM, .op = FRAG_OP_RECORD_STREAM,
	  .id = NAMED("0x7f"), .stream.number = 2 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_PENDING | FRAG_HAS_T,
	  .op = FRAG_OP_FREE, .id = NAMED("0x7f"), .pending = true, .t = 0.1 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_COMPLETE, .id = NAMED("0x7f") },
	{ .members = FRAG_HAS_OP | FRAG_HAS_STREAM, .op = FRAG_OP_SYNC, .stream.number = 2 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_PENDING, .op = FRAG_OP_FREE,
	  .id.number = 0 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_DEVICE, .op = FRAG_OP_EMPTY_CACHE, .device = 1 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_SET_FRACTION, .fraction = 0.5 },
	{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_CONFIGURE,
	  .text = TEXT("max_split_size_mb:128") },
	{ .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK, .text = TEXT("epoch 1") },
	{ .members = FRAG_HAS_OP | FRAG_HAS_POOL, .op = FRAG_OP_RELEASE_POOL, .pool = NAMED("p") },
};

static const char *const lines[] = {
	"{\"op\":\"alloc\",\"id\":0,\"size\":0}",
	("{\"op\":\"alloc\",\"id\":9007199254740991,\"size\":9007199254740991,\"stream\":3,"
	 "\"pool\":\"p\\n\",\"device\":1,\"t\":1.25e1,\"tag\":\"a\\\"b\\\\\\u0001\\u00e9\"}"),
	"{\"op\":\"alloc\",\"id\":\"0x7f\",\"size\":5,\"stream\":\"side\"}",
	"{\"op\":\"record_stream\",\"id\":\"0x7f\",\"stream\":2}",
	"{\"op\":\"free\",\"id\":\"0x7f\",\"pending\":true,\"t\":0.1}",
	"{\"op\":\"complete\",\"id\":\"0x7f\"}",
	"{\"op\":\"sync\",\"stream\":2}",
	"{\"op\":\"free\",\"id\":0,\"pending\":false}",
	"{\"op\":\"empty_cache\",\"device\":1}",
	"{\"op\":\"set_fraction\",\"value\":0.5}",
	"{\"op\":\"configure\",\"value\":\"max_split_size_mb:128\"}",
	"{\"op\":\"mark\",\"name\":\"epoch 1\"}",
	"{\"op\":\"release_pool\",\"pool\":\"p\"}",
};

/* meta NULL: none. */
static void write_events(const char *path, bool object, const struct frag_device_figures *devices,
			 uint32_t device_count, const char *meta, size_t count)
{
	const struct frag_trace_info info = {
		.devices = devices, .device_count = device_count,
		.meta = { .text = meta, .length = meta ? (uint32_t)strlen(meta) : 0 },
	};
	struct frag_outfile out;
	struct frag_sink s = { .ops = frag_sink_named(object ? "object" : "lines"), .out = &out };

	assert_int_equal(frag_outfile_open(&out, path, NULL), 0);
	assert_int_equal(s.ops->begin(&s, &info, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(s.ops->event(&s, &records[i], NULL, NULL), 0);
	assert_int_equal(s.ops->end(&s, NULL), 0);
	assert_int_equal(s.events, count);
	assert_int_equal(frag_outfile_commit(&out, NULL), 0);
}

static void write_all(const char *path, bool object)
{
	write_events(path, object, two, 2, "{\"source\":\"a \\\"test\\\"\"}", LENGTH(records));
}

/* Appends; the buffer is large enough for all that this file expects. */
static void add(char *buf, const char *text)
{
	memcpy(buf + strlen(buf), text, strlen(text) + 1);
}

static void expect_all(char *buf, bool object)
{
	*buf = '\0';
	add(buf, HEADER ",\"devices\":[{\"name\":\"RTX \\\"2060\\\"\",\"total_bytes\":6442450944,"
		 "\"context_bytes\":467664896,\"other_bytes\":7,\"granularity_bytes\":1},"
		 "{\"total_bytes\":0}],\"meta\":{\"source\":\"a \\\"test\\\"\"}");
	add(buf, object ? ",\"events\":[" : "}");
	for (size_t i = 0; i < LENGTH(lines); i++) {
		add(buf, object && i ? ",\n" : "\n");
		add(buf, lines[i]);
	}
	add(buf, object ? "\n]}\n" : "\n");
}

static void test_bytes(void **state)
{
	char expected[4096];

	for (int object = 0; object < 2; object++) {
		const char *path = files_path(state, "trace");

		write_all(path, object);
		expect_all(expected, object);
		assert_true(files_holds(path, expected));
	}
}

static void same_event(const struct frag_event *ev, const struct frag_record *rec)
{
	uint32_t given = rec->members;

	assert_int_equal(ev->op, rec->op);
	assert_int_equal(ev->members, given);
	if (given & FRAG_HAS_ID) {
		assert_int_equal(ev->id.number, rec->id.number);
		assert_int_equal(ev->id.text != NULL, rec->id.text != NULL);
	}
	if (given & FRAG_HAS_SIZE)
		assert_int_equal(ev->bytes, rec->size);
	if (given & FRAG_HAS_T)
		assert_true(ev->t == rec->t);
	if (rec->op == FRAG_OP_SET_FRACTION)
		assert_true(ev->fraction == rec->fraction);
	else if (given & (FRAG_HAS_NAME | FRAG_HAS_VALUE))
		assert_memory_equal(ev->text.text, rec->text.text, rec->text.length);
}

static void test_read_back(void **state)
{
	static const struct frag_trace_options options = { .lenient = false };

	for (int object = 0; object < 2; object++) {
		const char *path = files_path(state, "trace");
		struct frag_error err = { .code = 0 };
		struct frag_trace *trace;
		struct frag_batch batch;

		write_all(path, object);
		assert_int_equal(frag_trace_open(&trace, path, &options, &err), 0);
		assert_int_equal(frag_trace_info(trace)->device_count, 2);
		assert_int_equal(frag_trace_info(trace)->devices[0].total, two[0].total);
		assert_int_equal(frag_trace_info(trace)->devices[0].granularity, 1);
		assert_int_equal(frag_trace_info(trace)->devices[1].granularity, GRANULARITY);
		assert_int_equal(frag_trace_next(trace, &batch, &err), 0);
		assert_int_equal(batch.count, LENGTH(records));
		for (uint32_t i = 0; i < batch.count; i++)
			same_event(&batch.events[i], &records[i]);
		frag_trace_close(trace);
	}
}

/* What says nothing is left out, and read as what it was; lines without an event are no trace. */
static void test_headers(void **state)
{
	static const struct {
		const struct frag_device_figures *devices;
		uint32_t count;
		const char *meta, *expected;
	} cases[] = {
		{ &plain, 1, NULL, HEADER NOTHING },
		{ &plain, 1, "{\"source\":\"s\"}", HEADER ",\"meta\":{\"source\":\"s\"}" NOTHING },
		{ &two[0], 1, NULL, HEADER ",\"device\":{\"name\":\"RTX \\\"2060\\\"\","
		  "\"total_bytes\":6442450944,\"context_bytes\":467664896,\"other_bytes\":7,"
		  "\"granularity_bytes\":1}" NOTHING },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *path = files_path(state, "trace");
		const struct frag_trace_info *info;
		struct frag_trace *trace;

		write_events(path, false, cases[i].devices, cases[i].count, cases[i].meta, 0);
		assert_true(files_holds(path, cases[i].expected));
		assert_int_equal(frag_trace_open(&trace, path, NULL, NULL), 0);
		info = frag_trace_info(trace);
		assert_int_equal(info->device_count, 1);
		assert_int_equal(info->devices[0].granularity, cases[i].devices->granularity);
		assert_int_equal(info->devices[0].total, cases[i].devices->total);
		frag_trace_close(trace);
	}
}

static void test_no_events(void **state)
{
	const char *path = files_path(state, "trace");

	write_events(path, true, &plain, 1, NULL, 0);
	assert_true(files_holds(path, HEADER ",\"events\":[\n]}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_read_back, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_headers, files_begin, files_end),
		cmocka_unit_test_setup_teardown(test_no_events, files_begin, files_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
