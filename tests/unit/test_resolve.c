/*
 * test_resolve.c - records to events, as fragsim-lines(5) says: which are valid, on which
 * device they act, what they end, and what is said of those that are not.
 */
#include <stdlib.h>
#include <string.h>

#include "events/resolve.h"
#include "support/records.h"
#include "support/unit.h"

#define DEVICES 3
#define NUMBER(n) { .number = (n) }
#define NAME(s) { .text = (s), .number = sizeof(s) - 1 }

/* Records as a table writes them. */
#define ID_SIZE (FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE)
#define ALLOC(n) { .members = ID_SIZE, .op = FRAG_OP_ALLOC, .id = NUMBER(n), .size = 100 + (n) }
#define ALLOC_WITH(n, more, ...) { .members = ID_SIZE | (more), .op = FRAG_OP_ALLOC, \
				   .id = NUMBER(n), .size = 100 + (n), __VA_ARGS__ }
#define ON_ID(OP, n) { .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = OP, .id = NUMBER(n) }
#define FREE(n) ON_ID(FRAG_OP_FREE, n)
#define PENDING(n) { .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_PENDING, .op = FRAG_OP_FREE, \
		     .id = NUMBER(n), .pending = true }
#define COMPLETE(n) ON_ID(FRAG_OP_COMPLETE, n)
#define RECORD(n, s) { .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_STREAM, \
		       .op = FRAG_OP_RECORD_STREAM, .id = NUMBER(n), .stream = NUMBER(s) }
#define SYNC { .members = FRAG_HAS_OP, .op = FRAG_OP_SYNC }
#define RELEASE_POOL(n, more, ...) { .members = FRAG_HAS_OP | FRAG_HAS_POOL | (more), \
				     .op = FRAG_OP_RELEASE_POOL, .pool = NUMBER(n), __VA_ARGS__ }
#define BARE(OP) { .members = FRAG_HAS_OP, .op = OP }

static struct frag_trace *begin(const struct frag_source_ops *ops, struct records *source,
				bool lenient)
{
	static const struct frag_device_figures devices[DEVICES] = {
		{ .granularity = 512 }, { .granularity = 512 }, { .granularity = 512 },
	};
	const struct frag_trace_options options = { .lenient = lenient };
	struct frag_trace *t;

	assert_int_equal(frag_trace_from(&t, ops, source, devices, DEVICES, &options, NULL), 0);
	return t;
}

/* The events of good records, resolved one by one. */
static struct frag_trace *resolve_all(const struct frag_record *records, uint32_t count,
				      struct frag_event *events)
{
	static struct records none;
	struct frag_trace *t = begin(&records_source, &none, false);

	for (uint32_t i = 0; i < count; i++) {
		const char *kind = NULL;
		struct frag_error err;

		if (frag_resolve(t, &records[i], &events[i], &kind, &err))
			fail_msg("event %u: %s", i, err.message);
		assert_true(events[i].step == i);
		assert_int_equal(events[i].op, records[i].op);
		assert_int_equal(events[i].members, records[i].members);
		t->step++;
	}
	assert_true(t->info.events == count);
	return t;
}

static void test_slots_are_dense(void **state)
{
	static const struct frag_record records[] = {
		ALLOC(5), ALLOC(9), FREE(5), ALLOC(7), FREE(9), ALLOC(5), FREE(7), FREE(5),
	};
	/* the lowest slots, and a freed one is used again */
	static const uint32_t slots[] = { 0, 1, 0, 0, 1, 1, 0, 1 };
	struct frag_event events[LENGTH(records)];
	struct frag_trace *t = resolve_all(records, LENGTH(records), events);

	(void)state;
	for (uint32_t i = 0; i < LENGTH(records); i++) {
		assert_int_equal(events[i].slot, slots[i]);
		assert_int_equal(events[i].device, 0);
		assert_int_equal(events[i].stream, 0);
		assert_int_equal(events[i].pool, 0);
		assert_int_equal(events[i].tag, 0);
		assert_false(events[i].waits);
		if (events[i].op == FRAG_OP_ALLOC)
			assert_true(events[i].bytes == records[i].size);
	}
	assert_true(t->info.allocs == 4 && t->info.frees == 4);
	frag_trace_close(t);
}

/* Which device: an alloc's own or 0, a block's own, all where none is named. */
static void test_devices(void **state)
{
	static const struct frag_record records[] = {
		ALLOC_WITH(1, FRAG_HAS_DEVICE, .device = 2),
		ALLOC(2), RECORD(1, 4), FREE(1), FREE(2), SYNC, BARE(FRAG_OP_EMPTY_CACHE),
		{ .members = FRAG_HAS_OP | FRAG_HAS_DEVICE, .op = FRAG_OP_EMPTY_CACHE, .device = 1 },
		{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE | FRAG_HAS_DEVICE,
		  .op = FRAG_OP_SET_FRACTION, .fraction = 0.5, .device = 1 },
		{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_CONFIGURE,
		  .text = { "a:1", 3 } },
		{ .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK, .text = { "m", 1 } },
		{ .members = FRAG_HAS_OP | FRAG_HAS_DEVICE, .op = FRAG_OP_SYNC, .device = 0 },
		RELEASE_POOL(7, 0, .device = 0), RELEASE_POOL(7, FRAG_HAS_DEVICE, .device = 2),
	};
	static const uint32_t devices[] = {
		2, 0, 2, 2, 0, FRAG_ALL, FRAG_ALL, 1, 1, FRAG_ALL, FRAG_ALL, 0, 0, 2,
	};
	struct frag_event events[LENGTH(records)];
	struct frag_trace *t = resolve_all(records, LENGTH(records), events);

	(void)state;
	for (uint32_t i = 0; i < LENGTH(records); i++)
		assert_int_equal(events[i].device, devices[i]);
	assert_true(events[8].fraction == 0.5);
	assert_memory_equal(events[9].text.text, "a:1", 3);
	assert_memory_equal(events[10].text.text, "m", 1);
	frag_trace_close(t);
}

/* Streams and pools are counted as they come; 0 is there from the start, 1 is not "1". */
static void test_names(void **state)
{
	static const struct frag_record records[] = {
		ALLOC_WITH(1, FRAG_HAS_STREAM, .stream = NUMBER(7)),
		ALLOC_WITH(2, FRAG_HAS_STREAM, .stream = NUMBER(0)),
		ALLOC_WITH(3, FRAG_HAS_STREAM, .stream = NAME("7")),
		ALLOC_WITH(4, FRAG_HAS_STREAM, .stream = NUMBER(7)),
		ALLOC_WITH(5, FRAG_HAS_POOL, .pool = NAME("0")),
		ALLOC_WITH(6, FRAG_HAS_POOL, .pool = NUMBER(0)),
		ALLOC_WITH(7, FRAG_HAS_POOL, .pool = NAME("0")),
		ALLOC_WITH(8, FRAG_HAS_TAG, .tag = { "conv", 4 }),
		ALLOC_WITH(9, FRAG_HAS_TAG, .tag = { "", 0 }),
		ALLOC_WITH(10, FRAG_HAS_TAG, .tag = { "conv", 4 }),
		SYNC,
	};
	struct frag_event events[LENGTH(records)];
	struct frag_trace *t = resolve_all(records, LENGTH(records), events);
	struct frag_text tag = frag_symbols_tag(frag_trace_symbols(t), events[7].tag);

	(void)state;
	assert_int_equal(events[0].stream, 1);
	assert_int_equal(events[1].stream, 0);
	assert_int_equal(events[2].stream, 2);
	assert_int_equal(events[3].stream, 1);
	assert_int_equal(events[10].stream, FRAG_ALL);
	assert_int_equal(events[4].pool, 1);
	assert_int_equal(events[5].pool, 0);
	assert_int_equal(events[6].pool, 1);
	assert_int_not_equal(events[7].tag, 0);
	assert_int_not_equal(events[8].tag, 0);
	assert_int_not_equal(events[8].tag, events[7].tag);
	assert_int_equal(events[9].tag, events[7].tag);
	assert_int_equal(tag.length, 4);
	assert_memory_equal(tag.text, "conv", 4);
	assert_null(frag_symbols_tag(frag_trace_symbols(t), 0).text);
	frag_trace_close(t);
}

/* What waits at its free, and how many a later step ends. */
static void test_pending(void **state)
{
	static const struct {
		struct frag_record record;
		bool waits;
		uint32_t ended;
	} cases[] = {
		{ ALLOC(1), false, 0 }, { ALLOC(2), false, 0 }, { ALLOC(3), false, 0 },
		{ RECORD(1, 0), false, 0 },     /* its own stream */
		{ FREE(1), false, 0 },
		{ RECORD(2, 5), false, 0 },
		{ SYNC, false, 0 },             /* before the free: nothing */
		{ FREE(2), true, 0 },
		{ PENDING(3), true, 0 },
		{ ALLOC(3), false, 0 },         /* the id may be used again at once */
		{ PENDING(3), true, 0 },
		{ SYNC, false, 1 },             /* 2; those on `complete` stay */
		{ COMPLETE(3), false, 1 },
		{ COMPLETE(3), false, 1 },
		{ ALLOC(4), false, 0 }, { RECORD(4, 6), false, 0 }, { PENDING(4), true, 0 },
		{ COMPLETE(4), false, 0 },      /* the stream is still to come */
		{ SYNC, false, 1 },
		{ SYNC, false, 0 },
	};
	struct frag_record records[LENGTH(cases)];
	struct frag_event events[LENGTH(cases)];
	struct frag_trace *t;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++)
		records[i] = cases[i].record;
	t = resolve_all(records, LENGTH(cases), events);
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		assert_int_equal(events[i].waits, cases[i].waits);
		assert_int_equal(events[i].ended_count, cases[i].ended);
	}
	assert_int_equal(events[12].slot, events[8].slot);      /* the oldest first */
	assert_int_equal(events[13].slot, events[10].slot);
	frag_trace_close(t);
}

/* The records that every bad one below comes after. */
static const struct frag_record before[] = {
	ALLOC(1),                                                               /* step 0 */
	ALLOC_WITH(2, FRAG_HAS_DEVICE, .device = 1),
	FREE(1), ALLOC(3), ALLOC(1), PENDING(3), FREE(1), ALLOC(4), RECORD(4, 1), FREE(4),
	RELEASE_POOL(5, 0, .device = 0),
};

static const struct {
	struct frag_record record;
	const char *kind;
	const char *words[3];
} bad[] = {
	{ ALLOC(2), "an alloc of a live id", { "id 2,", "event 1" } },
	{ FREE(1), "an id that is not live", { "free of id 1,", "was freed at event 6" } },
	{ FREE(3), "an id that is not live", { "was freed at event 5" } },
	{ FREE(8), "an id that is not live", { "id 8,", "was never allocated" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE, .id = NAME("2") },
	  "an id that is not live", { "id \"2\",", "was never allocated" } },
	{ RECORD(1, 0), "an id that is not live", { "record_stream of id 1,", "event 6" } },
	{ COMPLETE(2), "a complete of an id that is not pending", { "complete of id 2," } },
	{ COMPLETE(1), "a complete of an id that is not pending", { "id 1," } },
	{ COMPLETE(4), "a complete of an id that is not pending", { "id 4," } },  /* by streams only */
	{ { .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_DEVICE, .op = FRAG_OP_FREE,
	    .id = NUMBER(2), .device = 0 },
	  "a block of another device", { "id 2", "device 0", "device 1" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_DEVICE, .op = FRAG_OP_COMPLETE,
	    .id = NUMBER(3), .device = 2 },
	  "a block of another device", { "id 3", "device 2", "device 0" } },
	{ ALLOC_WITH(9, FRAG_HAS_DEVICE, .device = 3),
	  "a device that does not exist", { "device 3", "the trace has 3" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_DEVICE, .op = FRAG_OP_SYNC,
	    .device = UINT64_C(1) << 32 },
	  "a device that does not exist", { "device 4294967296" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_DEVICE | FRAG_HAS_NAME, .op = FRAG_OP_MARK,
	    .device = 3, .text = { "m", 1 } },
	  "a device that does not exist", { "device 3" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC, .size = 1 },
	  "a missing member", { "alloc", "\"id\"" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_ALLOC, .id = NUMBER(9) },
	  "a missing member", { "alloc", "\"size\"" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_ID | FRAG_HAS_SIZE, .op = FRAG_OP_ALLOC,
	    .id = NUMBER(9), .size = UINT64_C(1) << 53 },
	  "a value out of range", { "size 9007199254740992", "2^53" } },
	{ BARE(FRAG_OP_FREE), "a missing member", { "free", "\"id\"" } },
	{ BARE(FRAG_OP_COMPLETE), "a missing member", { "complete", "\"id\"" } },
	{ ON_ID(FRAG_OP_RECORD_STREAM, 2), "a missing member", { "record_stream", "\"stream\"" } },
	{ BARE(FRAG_OP_SET_FRACTION), "a missing member", { "set_fraction", "\"value\"" } },
	{ BARE(FRAG_OP_CONFIGURE), "a missing member", { "configure", "\"value\"" } },
	{ BARE(FRAG_OP_MARK), "a missing member", { "mark", "\"name\"" } },
	{ BARE(FRAG_OP_RELEASE_POOL), "a missing member", { "release_pool", "\"pool\"" } },
	{ RELEASE_POOL(0, 0, .device = 0), "a value out of range", { "pool 0" } },
	{ RELEASE_POOL(7, FRAG_HAS_DEVICE, .device = 3),
	  "a device that does not exist", { "device 3" } },
	{ ALLOC_WITH(9, FRAG_HAS_POOL, .pool = NUMBER(5)),
	  "an alloc into a released pool", { "id 9", "pool 5" } },
	{ { .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_SET_FRACTION, .fraction = 1.25 },
	  "a value out of range", { "1.25" } },
	{ BARE(FRAG_OPS), "an unknown op", { "op" } },
};

/* Each is refused in words, and nothing has changed: what follows is as without it. */
static void test_bad_records(void **state)
{
	const struct frag_record after[] = { COMPLETE(3), SYNC, FREE(2), ALLOC(2), ALLOC(11) };
	struct frag_record plain[LENGTH(before) + LENGTH(after)];
	struct frag_event want[LENGTH(plain)], got;
	struct frag_trace *without, *t;

	(void)state;
	memcpy(plain, before, sizeof(before));
	memcpy(plain + LENGTH(before), after, sizeof(after));
	without = resolve_all(plain, LENGTH(plain), want);
	for (uint32_t i = 0; i < LENGTH(bad); i++) {
		struct records source = { .records = before, .count = LENGTH(before) };
		struct frag_error err;
		const char *kind = NULL;
		uint64_t content;

		t = begin(&records_source, &source, false);
		for (uint32_t k = 0; k < LENGTH(before); k++, t->step++)
			assert_int_equal(frag_resolve(t, &before[k], &got, &kind, NULL), 0);
		content = t->info.content;
		assert_int_equal(frag_resolve(t, &bad[i].record, &got, &kind, &err), -FRAG_ETRACE);
		assert_non_null(kind);
		assert_string_equal(kind, bad[i].kind);
		assert_memory_equal(err.message, "records: event 11: ", 18);
		for (uint32_t k = 0; k < 3 && bad[i].words[k]; k++)
			if (!strstr(err.message, bad[i].words[k]))
				fail_msg("\"%s\" lacks \"%s\"", err.message, bad[i].words[k]);
		assert_true(t->info.content == content);
		for (uint32_t k = 0; k < LENGTH(after); k++, t->step++) {
			assert_int_equal(frag_resolve(t, &after[k], &got, &kind, NULL), 0);
			assert_int_equal(got.slot, want[LENGTH(before) + k].slot);
			assert_int_equal(got.ended_count, want[LENGTH(before) + k].ended_count);
		}
		assert_true(t->info.content == without->info.content);
		assert_true(t->info.events == without->info.events);
		assert_true(t->info.allocs == without->info.allocs);
		frag_trace_close(t);
	}
	frag_trace_close(without);
}

/* Of a source that cannot be read twice no more is known than that the id is not live. */
static void test_no_history(void **state)
{
	struct records source = { .records = before, .count = LENGTH(before) };
	const struct frag_record again = FREE(1);
	struct frag_trace *t = begin(&records_stream_source, &source, false);
	struct frag_event ev;
	struct frag_error err;
	const char *kind;

	(void)state;
	assert_int_equal(frag_resolve(t, &again, &ev, &kind, &err), -FRAG_ETRACE);
	assert_string_equal(err.message, "stream: event 0: free of id 1, which is not live");
	frag_trace_close(t);
}

/* An id in a message: JSON, not too long, not cut inside a character. */
static void test_shown_ids(void **state)
{
	static const struct {
		const char *id, *shown;
	} cases[] = {
		{ "0x7f", "of id \"0x7f\"," }, { "", "of id \"\"," }, { "a\nb\"", "of id \"a\\nb\\\"\"," },
		{ "0123456789012345678901234567890123456789more",
		  "of id \"0123456789012345678901234567890123456789\"," },
		{ "012345678901234567890123456789012345678\xc3\xa9",
		  "of id \"012345678901234567890123456789012345678\"," },
	};
	static struct records none;
	struct frag_trace *t = begin(&records_source, &none, false);

	(void)state;
	for (uint32_t i = 0; i < LENGTH(cases); i++) {
		const struct frag_record rec = {
			.members = FRAG_HAS_OP | FRAG_HAS_ID, .op = FRAG_OP_FREE,
			.id = records_name(cases[i].id),
		};
		struct frag_event ev;
		struct frag_error err;
		const char *kind;

		assert_int_equal(frag_resolve(t, &rec, &ev, &kind, &err), -FRAG_ETRACE);
		if (!strstr(err.message, cases[i].shown))
			fail_msg("%s", err.message);
	}
	frag_trace_close(t);
}

/* Any difference in what an event says gives another content. */
static void test_content(void **state)
{
	static const struct frag_record variants[] = {
		ALLOC(1), ALLOC(2),
		{ .members = ID_SIZE, .op = FRAG_OP_ALLOC, .id = NUMBER(1), .size = 5 },
		{ .members = ID_SIZE, .op = FRAG_OP_ALLOC, .id = NAME("1"), .size = 101 },
		ALLOC_WITH(1, FRAG_HAS_STREAM, .stream = NUMBER(0)),
		ALLOC_WITH(1, FRAG_HAS_STREAM, .stream = NUMBER(1)),
		ALLOC_WITH(1, FRAG_HAS_STREAM, .stream = NAME("1")),
		ALLOC_WITH(1, FRAG_HAS_POOL, .pool = NUMBER(1)),
		ALLOC_WITH(1, FRAG_HAS_POOL, .pool = NAME("1")),
		ALLOC_WITH(1, FRAG_HAS_TAG, .tag = { "1", 1 }),
		ALLOC_WITH(1, FRAG_HAS_TAG, .tag = { "", 0 }),
		ALLOC_WITH(1, FRAG_HAS_T, .t = 1),
		ALLOC_WITH(1, FRAG_HAS_T, .t = 2),
		ALLOC_WITH(1, FRAG_HAS_DEVICE, .device = 0),
		ALLOC_WITH(1, FRAG_HAS_DEVICE, .device = 1),
		SYNC, BARE(FRAG_OP_EMPTY_CACHE),
		{ .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK, .text = { "a", 1 } },
		{ .members = FRAG_HAS_OP | FRAG_HAS_NAME, .op = FRAG_OP_MARK, .text = { "b", 1 } },
		{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_CONFIGURE, .text = { "a", 1 } },
		{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_SET_FRACTION, .fraction = 1 },
		{ .members = FRAG_HAS_OP | FRAG_HAS_VALUE, .op = FRAG_OP_SET_FRACTION, .fraction = 0.5 },
	};
	uint64_t contents[LENGTH(variants)];

	(void)state;
	for (uint32_t i = 0; i < LENGTH(variants); i++) {
		struct frag_event ev;
		struct frag_trace *t = resolve_all(&variants[i], 1, &ev);

		contents[i] = t->info.content;
		frag_trace_close(t);
		t = resolve_all(&variants[i], 1, &ev);
		assert_true(t->info.content == contents[i]);
		frag_trace_close(t);
		for (uint32_t k = 0; k < i; k++)
			if (contents[k] == contents[i])
				fail_msg("%u and %u are the same", k, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_are_dense),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_no_history),
		cmocka_unit_test(test_shown_ids),
		cmocka_unit_test(test_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
